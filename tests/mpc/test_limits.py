"""Hard limits in a loop with the exact model: kept where they can be, returned to where not."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from mpc.problems import FORMULATIONS

CART = """
<robot name="cart">
  <link name="rail"/>
  <link name="cart"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="2" velocity="3"/></joint>
</robot>"""


@functools.cache
def cart(formulation: str = "inverse_dynamics", integrator: str = "constant_acceleration") -> Problem:
    """A cart of 1 kg on a rail of 2 m, drawn to a point beyond its end."""
    options: dict[str, Any] = {"formulation": formulation, "integrator": integrator}
    problem = Problem(hc.load(CART), horizon=20, dt=0.1, **options)
    problem.add_posture_cost([3.0], 10.0, 10.0)
    problem.add_velocity_cost(0.01, 0.1)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    return problem


def drive(controller: Controller, q: float, v: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity between samples: under a constant force the motion is known."""
    h, parts = controller.period, np.linspace(0.1, 1.0, 10)
    Q, V = [np.array([q])], [np.array([v])]
    for _ in range(steps):
        x, w = Q[-1][-1:], V[-1][-1:]
        a = controller.step(x, w)
        Q.append(x + parts * h * w + 0.5 * (parts * h) ** 2 * a)
        V.append(w + parts * h * a)
    return np.concatenate(Q), np.concatenate(V)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_cart_stops_at_the_end_of_its_rail(formulation: str) -> None:
    q, v = drive(Controller(cart(formulation)), -1.0, 0.0, 40)
    assert v.max() > 1.9  # as fast as its motor can
    assert q.max() < 1.0005 and q[-1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_semi_implicit_steps_run_past_it_by_half_a_period() -> None:
    """What the other integrator is for: h v / 2 at v = 2 m/s."""
    q, v = drive(Controller(cart(integrator="semi_implicit")), -1.0, 0.0, 40)
    assert q.max() == pytest.approx(1.0 + 0.1 * v.max() / 2, abs=0.01)


def test_a_fallback_keeps_velocity_limits() -> None:
    """An acceleration that was planned for a slower cart would lead beyond the limit from here."""
    controller = Controller(cart())
    assert controller.step([-1.0], [0.0])[0] == pytest.approx(2.0, abs=1e-6)
    controller._loop.set(loop_budget=1e-9)  # no time for another plan, on any machine
    controller._engine.set(budget=1e-9)
    a = controller.step([-0.5], [2.95])[0]
    assert "applying the plan" in controller.message
    assert 2.95 + controller.period * a < 3.0 * 1.0021


def test_integrators_have_names() -> None:
    with pytest.raises(hc.InputError, match=r"'constant_acceleration', .*, got 'euler'"):
        Problem(hc.load(CART), horizon=2, dt=0.1, integrator="euler")  # type: ignore[arg-type]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("q", "v", "farthest", "seconds"),
    [
        (1.5, 0.0, 1.5, np.sqrt(0.5)),  # a start outside: 0.5 m under 2 m/s²
        (1.0, 2.0, 2.0, 1.0 + np.sqrt(1.0)),  # a push: 1 s to stop 1 m outside, then back
        (-0.5, 6.0, 8.5, 3.0 + 1.5 + (7.5 - 2.25) / 3.0),  # too fast; on its way back at most 3 m/s
    ],
)
def test_returns_to_its_limits_as_fast_as_its_motor_can(
    formulation: str, q: float, v: float, farthest: float, seconds: float
) -> None:
    """Times by hand; the last part of the third at the limit of velocity, which is kept."""
    controller = Controller(cart(formulation))
    controller.set(posture=[0.0])
    said = []
    for _ in range(100):
        there, speed = drive(controller, q, v, 1)
        said.append((q, controller.ok, controller.status, controller.message))
        farthest_now, q, v = there.max(), float(there[-1]), float(speed[-1])
        assert farthest_now <= farthest + 1e-3
    outside = [(status, details) for where, _, status, details in said if where > 1.35]
    count = sum(where > 1.001 for where, *_ in said)
    assert (count - 1) * controller.period < 1.05 * seconds
    assert outside and all(status == "infeasible" for status, _ in outside)
    assert all("position_limit (slide) is missed by" in details for _, details in outside)
    assert said[-1][1] and abs(q) < 0.05


LIFT = """
<robot name="lift">
  <link name="rail"/>
  <link name="slide"><inertial><mass value="10"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="3"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="up" type="prismatic"><parent link="rail"/><child link="slide"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.35" effort="2000" velocity="0.07"/></joint>
  <joint name="turn" type="revolute"><parent link="slide"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="40" velocity="4"/></joint>
  <joint name="end" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0.6 0 0"/></joint>
</robot>"""


@pytest.mark.parametrize(
    "share", [-0.2, pytest.param(0.0, marks=pytest.mark.slow), pytest.param(0.2, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "kind", ["range of the joint", pytest.param("box of a frame", marks=pytest.mark.slow)]
)
def test_rests_at_a_limit_though_its_model_is_wrong(share: float, kind: str) -> None:
    """Lighter than believed, gravity's torque drives it out in every period. A plan that is to be back in the
    next one makes it chatter: 0.5 rad/s rms, the arm thrown about to help the slide."""
    robot = hc.load(LIFT)
    problem = Problem(robot, horizon=15, dt=0.02)
    problem.add_position_cost("tip", [0.3, 0.0, 0.9], weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits(position=1.0 if kind == "range of the joint" else None)
    if kind == "box of a frame":
        problem.add_frame_box("slide", upper=[9.0, 9.0, 0.35])
    controller, h = Controller(problem), 0.002
    q, v, seen = np.array([0.32, 0.1]), np.zeros(2), []
    for _ in range(120):
        tau = controller.step(q, v) / (1 + share)
        for _ in range(10):
            middle = v + h / 2 * robot.forward_dynamics(q, v, tau)
            a = robot.forward_dynamics(q + h / 2 * v, middle, tau)
            q, v = q + h * middle, v + h * a
            seen.append(np.concatenate([q, v]))
    states = np.array(seen)
    assert states[:, 0].max() < (0.3535 if share else 0.3501)
    assert np.sqrt(np.mean(states[-500:, 2:] ** 2, axis=0)).max() < 0.005


@pytest.mark.slow
def test_rests_wherever_the_target_is() -> None:
    """A small sample of `benchmarks.mpc_trust`: points in and out of reach, limits kept, no false "ok"."""
    robot = hc.load("planar_2r")
    problem = Problem(robot, horizon=15, dt=0.03)
    problem.add_position_cost("tip", np.zeros(3), weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits(velocity=0.3)
    for angle, distance in ((0.4, 0.9), (2.0, 2.5), (4.0, 4.0)):
        controller = Controller(problem)
        controller.set(position=[distance * np.cos(angle), 0.0, distance * np.sin(angle)])
        q, v, speeds = np.array([0.3, 0.8]), np.zeros(2), []
        for _ in range(130):
            tau = controller.step(q, v)
            assert np.all(np.abs(tau) <= robot.limits.effort)
            assert not controller.ok or controller.plan.violation <= 0.01
            for _ in range(5):
                a = robot.forward_dynamics(q, v, tau)
                q, v = q + 0.006 * v + 0.5 * 0.006**2 * a, v + 0.006 * a
                speeds.append(v)
        assert np.abs(speeds).max() < 1.02 * 3.0
        assert np.sqrt(np.mean(np.square(speeds[-150:]), axis=0)).max() < 0.02


@functools.cache
def fast_arm(formulation: str) -> Problem:
    """Two joints that run into their limit of 5 rad/s, with a period in which much happens."""
    problem = Problem(hc.load("planar_2r"), horizon=12, dt=0.05, formulation=formulation)  # type: ignore[arg-type]
    problem.add_position_cost("tip", np.zeros(3), weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits(velocity=0.5, torque=0.5)
    return problem


@pytest.mark.slow
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_velocity_limits_hold_between_samples_too(formulation: str) -> None:
    """Under the torque of the plan alone they are exceeded by 4 % here (3.8 and 3.9)."""
    controller, robot, h = Controller(fast_arm(formulation)), hc.load("planar_2r"), 0.05 / 20
    controller.set(position=4.0 * np.array([np.cos(4.0), 0.0, np.sin(4.0)]))
    q, v, fastest = np.array([0.3, 0.8]), np.zeros(2), 0.0
    for _ in range(40):
        tau = controller.step(q, v)
        assert np.all(np.abs(tau) <= 0.5 * robot.limits.effort * (1 + 1e-12))
        for _ in range(20):
            a = robot.forward_dynamics(q, v, tau)
            q, v = q + h * v + h**2 / 2 * a, v + h * a
            fastest = max(fastest, float(np.abs(v).max()))
    assert 4.9 < fastest < 5.0 * 1.01


def test_torques_stay_within_their_limits_whatever_the_velocity(rng: np.random.Generator) -> None:
    """States far beyond velocity limits, where nothing can keep them."""
    controller = Controller(fast_arm("inverse_dynamics"))
    controller.set(position=[1.0, 0.0, 1.0])
    for _ in range(50):
        tau = controller.step(rng.uniform(-3, 3, 2), rng.uniform(-50, 50, 2))
        assert np.all(np.abs(tau) <= 50.0 * (1 + 1e-12))


def test_a_joint_whose_torque_is_cut_leaves_the_others_to_their_plan() -> None:
    """Gauss's principle: as long as no velocity limit is near, only the joint that cannot follow does not."""
    robot, problem = hc.load("planar_2r"), fast_arm("inverse_dynamics")
    controller, h = Controller(problem), 0.05
    q, v = np.array([0.3, 0.8]), np.array([3.0, -4.0])
    controller.set(position=[1.2, 0.0, 0.9])
    controller.step(q, v)
    wanted = robot.inverse_dynamics(*_after(q, v, controller.plan.a[0], h / 2), controller.plan.a[0])
    cut = np.array([0.7 * wanted[0], 50.0])  # set behind the plan's back
    controller._engine["limit"][:] = np.abs(cut)
    controller.step(q, v)  # the plan of a period later, in the same state
    planned = controller.plan.a[0]
    tau = controller._loop.torque.copy()
    assert abs(tau[0]) == pytest.approx(abs(cut[0]))
    reached = robot.forward_dynamics(*_after(q, v, planned, h / 2), tau)
    assert abs(reached[0] - planned[0]) > 1.0
    assert reached[1] == pytest.approx(planned[1], rel=0.05)


def _after(q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    return q + t * v + t**2 / 2 * a, v + t * a


def test_follows_a_target_out_of_reach_and_back() -> None:
    """It goes to twice the arm's length and returns: no chatter, limits kept, at rest where it began."""
    robot, problem, h = hc.load("planar_2r"), fast_arm("inverse_dynamics"), 0.05 / 5
    controller, q, v = Controller(problem), np.array([0.3, 0.8]), np.zeros(2)
    home = robot.pose("tip")(q)[:3, 3]
    far, speeds = 4.0 * np.array([np.cos(2.0), 0.0, np.sin(2.0)]), []
    for k in range(160):
        controller.set(position=home + np.sin(np.pi * min(1.0, k / 80)) ** 2 * (far - home))
        tau = controller.step(q, v)
        for _ in range(5):
            a = robot.forward_dynamics(q, v, tau)
            q, v = q + h * v + h**2 / 2 * a, v + h * a
            speeds.append(v)
    assert np.abs(speeds).max() < 5.0 * 1.01
    assert np.sqrt(np.mean(np.square(speeds[-100:]), axis=0)).max() < 0.02
    np.testing.assert_allclose(robot.pose("tip")(q)[:3, 3], home, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "quadrotor", "panda", "ur5"])
def test_a_sample_of_the_benchmark_mpc_trust(name: str) -> None:
    """Fixed and moving targets, in and out of reach, with the exact model and with a wrong one."""
    from benchmarks import mpc_trust as trust

    case = next(make for make in trust.cases(False) if make.__name__ == name)()
    loops = [
        trust.loop(case, np.random.default_rng([23, k]), wrong=k % 2 == 1, noisy=k % 4 == 3, moving=k > 5)
        for k in range(8)
    ]
    assert sum(one["false_ok"] for one in loops) == 0
    for one in loops:
        assert one["torque"] < 0.01
        if not one["wrong"]:
            assert max(one["velocity"], one["position"]) < 0.01
            assert one["still"]
            assert one["back"] < 0.01


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_a_quadruped_at_the_limits_of_its_knees_rests_and_is_ok() -> None:
    """Feet held by the ground, a trunk drawn to the side and up: two knees at their limits.

    The rows of the feet bend by more than the costs: steps that do not count it go to and fro.
    """
    from benchmarks import mpc_trust as trust

    case = trust.cases(False)[-1]()
    told = trust.loop(case, np.random.default_rng([20261, 3]), wrong=False, noisy=False, moving=False)
    assert told["still"] and told["false_ok"] == 0
    assert told["ok"] > 0.97 * told["steps"]
    assert max(told["velocity"], told["position"]) < 0.01
