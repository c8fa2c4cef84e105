"""Offset-free MPC of an ODE or a vehicle: the missing rate is estimated, and the plant comes to rest."""

from __future__ import annotations

import functools
import pickle
import re
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem

PERIOD, WIND = 0.05, -1.5
WALL, TARGET = 1.0, 0.5


@functools.cache
def problem() -> Problem:
    """A cart between walls. `goal` may lie beyond them."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    made = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=20, dt=PERIOD)
    goal = made.parameter("goal", [TARGET])
    made.add_cost("away", x[0] - goal, 10.0, end_weight=100.0)
    made.add_cost("speed", x[1], 0.5, end_weight=5.0)
    made.add_constraint("force", u, -6.0, 6.0)
    made.add_constraint("wall", x[0], -WALL, WALL)
    return made


def blown(x: np.ndarray, u: np.ndarray, wind: float = WIND, weight: float = 1.2) -> np.ndarray:
    """The cart a period later, heavier than the model and in a wind."""
    a = u[0] / weight + wind
    return np.array([x[0] + PERIOD * x[1] + PERIOD**2 / 2 * a, x[1] + PERIOD * a])


def run(controller: Controller, steps: int = 200) -> tuple[np.ndarray, float]:
    """All states, and the rms of the velocity in the last second."""
    seen = [np.zeros(2)]
    for _ in range(steps):
        seen.append(blown(seen[-1], controller.step(seen[-1])))
    states = np.array(seen)
    return states, float(np.sqrt((states[-20:, 1] ** 2).mean()))


def test_a_wrong_ode_rests_where_it_should() -> None:
    controller = Controller(problem())
    states, rms = run(controller)
    assert rms < 1e-3 and abs(states[-1, 0] - TARGET) < 1e-3 and controller.ok
    u = controller.plan.u[0]
    np.testing.assert_allclose(controller.disturbance, [0.0, u[0] / 1.2 + WIND - u[0]], atol=1e-2)


def test_without_the_estimate_it_does_not() -> None:
    controller = Controller(problem(), disturbance_time=None)
    states, _ = run(controller)
    assert abs(states[-1, 0] - TARGET) > 0.02
    assert not controller.disturbance.any() and controller.disturbance.shape == (2,)


def test_it_rests_at_a_wall_and_keeps_it() -> None:
    controller = Controller(problem())
    controller.set(goal=[2.0])
    states, rms = run(controller)
    assert rms < 1e-3 and controller.ok
    assert WALL - 5e-3 < states[-1, 0] < WALL + 2e-3


def test_an_exact_model_keeps_the_bound_and_has_no_disturbance_estimate() -> None:
    controller = Controller(problem())
    controller.set(goal=[2.0])
    x, farthest = np.zeros(2), 0.0
    for _ in range(100):
        x = blown(x, controller.step(x), wind=0.0, weight=1.0)
        farthest = max(farthest, x[0])
    assert farthest < 1.0015 * WALL and abs(x[1]) < 1e-3
    assert np.abs(controller.disturbance).max() < 1e-9


@pytest.mark.parametrize("jump", [(0.3, 0.0), (0.0, 1.0), (np.nan, 0.0)])
def test_one_wrong_sample_is_no_disturbance(jump: tuple[float, float]) -> None:
    """One sample that is wrong: what it shows of a rate, 6 m/s or 20 m/s², is not learned."""
    controller = Controller(problem())
    states, _ = run(controller)
    x, before = states[-1], controller.disturbance
    for k in range(8):
        measured = x + np.array(jump) if k == 2 else x
        x = blown(x, controller.step(measured))
        assert np.all(np.abs(controller.disturbance - before) < [0.02, 0.2])


@pytest.mark.parametrize("size", [1e20, 1e160, 1e300])
def test_absurd_measurements_have_no_lasting_effect(size: float) -> None:
    controller = Controller(problem())
    run(controller, 20)
    for _ in range(5):
        assert np.isfinite(controller.step([size, -size])).all()
        assert not controller.ok
    assert np.isfinite(controller.disturbance).all()
    states, rms = run(controller, 1500)
    assert rms < 1e-3 and abs(states[-1, 0] - TARGET) < 1e-3 and controller.ok


def test_copies_keep_what_is_disturbed() -> None:
    system = pickle.loads(pickle.dumps(problem().system))
    assert system.disturbed == slice(0, 2) and system.disturbance.numel() == 2
    copied = pickle.loads(pickle.dumps(Controller(problem(), disturbance_time=0.3)))
    np.testing.assert_allclose(run(copied, 60)[0], run(Controller(problem(), disturbance_time=0.3), 60)[0])


def test_a_free_duration_counts_the_period_as_it_is() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    made = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=10, dt=0.1, duration=(0.1, 20.0))
    made.add_constraint("force", u, -4, 4)
    made.add_cost("state", x - ca.DM([1.0, 0.0]), 1.0, end_weight=100.0)
    made.add_cost("time", made.duration, 0.0, end_weight=1.0, square=False)
    controller, state = Controller(made, period=PERIOD), np.zeros(2)
    for _ in range(60):
        state = blown(state, controller.step(state), weight=1.0)
    np.testing.assert_allclose(controller.disturbance, [0.0, WIND], atol=0.15)


def test_an_uncontrollable_cart_pole_has_no_estimate() -> None:
    """A joint that neither motor nor constraint holds: an estimate would do more harm than good."""
    from benchmarks.swing_ups import TASKS, robot_of

    robot, up = robot_of(TASKS["cart-pole"]), np.array([0.0, np.pi])
    made = Problem(robot, horizon=40, dt=0.03)
    made.add_posture_cost(up, [5.0, 20.0], end_weight=[50.0, 200.0])
    made.add_velocity_cost(0.2, end_weight=2.0)
    made.add_torque_cost(1e-3)
    controller = Controller(made)
    heavier = robot.with_payload(robot.link_names[-1], 0.15, [0.0, 0.0, -1.0], np.zeros((3, 3)))
    q, v = up + np.array([0.3, 0.1]), np.zeros(2)
    for _ in range(200):
        tau = controller.step(q, v)
        for _ in range(15):
            v = v + 0.002 * heavier.forward_dynamics(q, v, tau)
            q = q + 0.002 * v
    assert np.abs(v).max() < 1e-3 and np.abs(q - up).max() < 1e-3
    assert controller.disturbance.shape == (2,) and not controller.disturbance.any()


def test_constraints_that_carry_all_make_an_estimate_possible() -> None:
    """The base of a quadruped has no motor: three feet carry it, two let it tip over."""
    from helicoid.mpc.system.robot_system import is_driven

    dog = hc.load("quadruped", base="floating")
    assert not is_driven(dog)
    standing = dog.neutral()
    feet = [link for link in dog.link_names if link.endswith("_foot")]
    for number, foot in enumerate(feet, start=1):
        dog = dog.with_contact(foot, kind="point", q=standing)
        assert is_driven(dog) == (number >= 3)


@pytest.mark.slow
@pytest.mark.parametrize("number", [21, 25, 57])
def test_a_quadruped_that_is_heavier_than_its_model_rests_and_is_ok(number: int) -> None:
    from benchmarks import mpc_trust as trust

    make = next(one for one in trust.cases(quick=False) if one.__name__ == "quadruped")
    result = trust.loop(make(), np.random.default_rng([7, number]), wrong=True, noisy=False, moving=False)
    assert result["still"] and result["rms"] < trust.MAX_SPEED_AT_REST and result["false_ok"] == 0
    assert result["ok"] > 0.95 * result["steps"]


@pytest.mark.parametrize("number", [33, 69])
def test_a_quadrotor_in_a_corner_that_is_heavier_than_its_model_rests(number: int) -> None:
    from benchmarks import mpc_trust as trust

    make = next(one for one in trust.cases(quick=True) if one.__name__ == "quadrotor")
    result = trust.loop(make(), np.random.default_rng([1, number]), wrong=True, noisy=False, moving=False)
    assert result["still"] and result["rms"] < trust.MAX_SPEED_AT_REST and result["false_ok"] == 0


@pytest.mark.slow
def test_a_vehicle_in_an_unmodelled_wind_hovers_at_its_target() -> None:
    quad = hc.aerial.load("hummingbird")
    made = Problem(quad, horizon=15, dt=0.05, substeps=2)
    made.add_cost("away", made.q[:3], 200.0, end_weight=200.0)
    made.add_cost("turned", made.q[4:7], 20.0, end_weight=10.0)
    made.add_cost("moving", made.v, 1.0, end_weight=5.0)
    made.add_cost("rotors", (made.u - quad.trim().u) / 100, 0.02)
    hover, windy = quad.trim(), quad.with_wind(hc.aerial.Wind((4.0, 0.0, 0.0)))
    ends = {}
    for time in (None, "auto"):
        controller = Controller(made, period=0.02, disturbance_time=time)  # type: ignore[arg-type]

        def law(t, q, v, z, controller=controller):  # type: ignore[no-untyped-def]
            return controller.step(np.concatenate([q, v, z]))

        start = np.r_[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        flown = hc.simulate(
            windy, start, np.zeros(6), 8.0, controller=law, dt=0.02, substeps=4, states0=hover.z
        )
        ends[time] = np.linalg.norm(flown.q[-1, :3])
        assert np.abs(flown.v[-50:]).max() < 0.02
    assert ends["auto"] < 0.3 * ends[None]


@pytest.mark.parametrize(
    ("low", "high"),
    [(5.0, np.inf), (-np.inf, -5.0), (-1e300, 1e300), (2.0, 2.0)],
)
def test_any_bounds_of_a_state_do(low: float, high: float) -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    made = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=3, dt=PERIOD)
    made.add_cost("state", x, 1.0, end_weight=10.0)
    made.add_constraint("force", u, -6.0, 6.0)
    made.add_constraint("place", x[0], low, high)
    controller = Controller(made)
    trusted = controller._engine["trusted"]
    assert np.isfinite(trusted).all() and trusted[1] == pytest.approx(6.0, rel=0.1)
    assert np.isfinite(controller.step([0.0, 0.0])).all()


@pytest.mark.slow
def test_a_vehicle_with_a_cost_of_control_rates_has_a_disturbance_estimate() -> None:
    """The control before is one more state, behind the vehicle's own."""
    quad = hc.aerial.load("hummingbird")
    made = Problem(quad, horizon=4, dt=0.05)
    made.add_cost("away", made.q[:3], 200.0, end_weight=200.0)
    made.add_cost("moving", made.v, 1.0, end_weight=5.0)
    made.add_control_rate_cost(1e-6)
    controller, hover = Controller(made, period=0.02), quad.trim()
    state = np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], np.zeros(6), hover.z])
    for _ in range(5):
        assert np.isfinite(controller.step(state)).all()
    assert controller.disturbance.shape == (6,)
    assert 1.0 < controller._engine["trusted"][-1] < 1e3


def cart(horizon: int = 15, wall: float = 1.0, force: float | None = 6.0) -> Problem:
    """Between walls, driven to half of the way, or beyond them."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    made = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=horizon, dt=PERIOD)
    goal = made.parameter("goal", [0.5 * wall])
    made.add_cost("away", x[0] - goal, 10.0 / wall**2, end_weight=100.0 / wall**2)
    made.add_cost("speed", x[1], 0.5 / wall**2, end_weight=5.0 / wall**2)
    if force is not None:
        made.add_constraint("force", u, -force * wall, force * wall)
    made.add_constraint("wall", x[0], -wall, wall)
    return made


@pytest.mark.parametrize("wall", [1.0, 1e-2, 1e-3])
def test_infeasible_bounds_are_relaxed_in_proportion_to_their_distance(wall: float) -> None:
    controller, x = Controller(cart(wall=wall)), np.zeros(2)
    controller.set(goal=[3.0 * wall])
    for _ in range(100):
        x = blown(x, controller.step(x), wind=0.0, weight=1.0)
        assert x[0] < 1.002 * wall


def test_without_bounds_of_the_controls_there_is_no_disturbance_estimate() -> None:
    """A cart that is held, pushed with any force, would wind up d without end."""
    controller = Controller(cart(force=None))
    for _ in range(60):
        controller.step([0.0, 0.0])
    assert not controller.disturbance.any()
    assert controller.step([0.0, 0.0])[0] < 100.0


def test_a_horizon_of_one_interval_keeps_its_bounds() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    speeds = []
    for horizon in (1, 2):
        made = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=horizon, dt=PERIOD)
        made.add_cost("away", x[0] - 9.0, 10.0, end_weight=100.0)
        made.add_constraint("force", u, -6.0, 6.0)
        made.add_constraint("speed", x[1], -0.5, 0.5)
        made.add_constraint("place", x[0], -9.0, 9.0)
        controller = Controller(made)
        controller.step([0.0, 0.45])
        u1 = controller.step([0.0, 0.45])[0]
        assert controller.ok
        speeds.append(0.45 + PERIOD * u1)
    assert speeds == pytest.approx([0.5, 0.5], abs=2e-3)


def test_trusted_bounds_stay_those_of_construction(tmp_path: Path) -> None:
    controller = Controller(problem())
    trusted = controller._engine["trusted"].copy()
    controller.set(force_lower=-60.0, force_upper=60.0)
    copied = pickle.loads(pickle.dumps(controller))
    np.testing.assert_array_equal(copied._engine["trusted"], trusted)
    controller.export_c(tmp_path, name="cart")
    text = (tmp_path / "cart.c").read_text()
    numbers = re.search(r"trusted\[\] = \{([^}]*)\}", text)
    assert numbers is not None
    np.testing.assert_allclose([float(one) for one in numbers[1].split(",")], trusted, rtol=1e-12)
