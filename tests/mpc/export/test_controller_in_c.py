"""A controller exported to C: the torques of the one in Python, whatever happens in the loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from mpc.export.exported import Exported
from mpc.problems import START, arm, reset

pytestmark = pytest.mark.needs_compiler

Event = Callable[[Any, np.random.Generator, np.ndarray], np.ndarray]
_POINTER = ctypes.POINTER(ctypes.c_double)
Plant = Callable[[np.ndarray, np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    problem = arm()
    reset(problem)
    return Exported(Controller(problem), tmp_path_factory.mktemp("arm"))


def split(problem: Problem, state: np.ndarray) -> tuple[np.ndarray, ...]:
    return (state,) if problem.robot is None else (state[: problem.robot.nq], state[problem.robot.nq :])


def robot_plant(robot: hc.Robot, period: float) -> Plant:
    def move(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        q, v = x[: robot.nq], x[robot.nq :]
        v = v + period * robot.forward_dynamics(q, v, tau)
        return np.concatenate([robot.integrate(q, period * v), v])

    return move


def compare(
    controller: Controller, exported: Exported, x: np.ndarray, steps: int, plant: Plant, event: Event
) -> set[str]:
    """Two loops beside each other, each with its own plant; all kinds of status that were seen."""
    pair, states = (controller, exported), [x.copy(), x.copy()]
    seen = set()
    for k in range(steps):
        taus = []
        for i, one in enumerate(pair):
            measured = event(one, np.random.default_rng([k, 7]), states[i])
            taus.append(one.step(*split(controller.problem, measured)))
            assert np.isfinite(taus[i]).all()
            states[i] = plant(states[i], taus[i])
        scale = max(1.0, np.abs(taus[0]).max())
        np.testing.assert_allclose(taus[1], taus[0], rtol=0, atol=1e-12 * scale, err_msg=f"step {k}")
        assert (exported.ok, exported.status) == (controller.ok, controller.status), k
        assert ("braking" in controller.message) == (exported.applied == 2)
        assert ("applying the plan" in controller.message) == (exported.applied == 1)
        mine, others = controller.statistics, exported.statistics
        for name in set(others) - {"seconds"}:
            np.testing.assert_allclose(others[name], mine[name], rtol=1e-9, atol=1e-12)
        seen |= {controller.status, f"applied {exported.applied}"}
    return seen


def change(one: Controller | Exported, **values: Any) -> bool:
    """Set numbers in either; whether they were taken."""
    if isinstance(one, Exported):
        return all(one.set(name, value) == 0 for name, value in values.items())
    try:
        one.set(**values)
    except hc.InputError:
        return False
    return True


def test_disturbance_estimate_in_c_equals_python(exported: Exported) -> None:
    heavy = hc.load("planar_2r").with_payload("tip", 0.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    problem = arm()
    reset(problem)
    controller, plant = Controller(problem), robot_plant(heavy, 0.05)
    exported.start_again()
    compare(controller, exported, np.concatenate([START, np.zeros(2)]), 60, plant, lambda one, rng, x: x)
    assert np.abs(controller.disturbance).max() > 1.0
    np.testing.assert_allclose(exported.disturbance, controller.disturbance, rtol=1e-12)


def test_thousand_steps_with_faults(exported: Exported) -> None:
    """Targets that move, sensors that fail for a moment and for long, limits that cannot be kept, pushes."""
    robot = hc.load("planar_2r")
    problem = arm()
    reset(problem)
    controller, count = Controller(problem), {"k": 0}
    exported.start_again(shift=8)

    def event(one: Any, rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        k = count["k"] // 2
        count["k"] += 1
        measured = x + 1e-4 * rng.normal(size=4)
        if k % 50 == 0:
            change(
                one, position=[0.7 * rng.uniform(-1, 1), 0.0, 1.2 * rng.uniform(-1, 1)]
            )  # often out of reach
        if k in (150, 500):
            (
                change(one, velocity_limit_upper=6.0),
                change(one, velocity_limit_lower=5.0),
            )  # nothing can do that
        if k in (170, 520):
            change(one, velocity_limit_lower=-2.0), change(one, velocity_limit_upper=2.0)
        if 200 <= k < 203 or 300 <= k < 330:
            measured[rng.integers(4)] = rng.choice([np.nan, np.inf])
        if k in (400, 401, 700):
            measured[2:] += 8.0  # far beyond the limit
        if k == 800:
            measured[:] = 1e200
        if k == 600:
            change(one, torque_limit_lower=-5.0), change(one, torque_limit_upper=[5.0, 3.0])
        return np.asarray(measured)

    x = np.concatenate([START, np.zeros(2)])
    seen = compare(controller, exported, x, 1000, robot_plant(robot, controller.period), event)
    assert seen >= {"ok", "infeasible", "bad measurement", "applied 0", "applied 1", "applied 2"}


def test_what_is_set_is_refused_or_taken_as_in_python(exported: Exported, rng: np.random.Generator) -> None:
    problem = arm()
    reset(problem)
    controller = Controller(problem)
    exported.start_again()
    nodes, nan, inf = problem.intervals + 1, np.nan, np.inf
    for name, value in [
        *[("position", v) for v in ([1.0, 0.0, 0.5], 0.3, [1.0, 2.0], [nan, 0, 0], [inf, 0, 0])],
        *[("posture", v) for v in (rng.normal(size=(nodes, 2)), rng.normal(size=(nodes - 1, 2)))],
        *[("velocity_weight", v) for v in (-1.0, 0.2, [0.1, 0.2], [0.1, -0.2], nan)],
        *[("velocity_end_weight", v) for v in (3.0, [1.0, -1e-9])],
        *[("torque_weight", rng.uniform(1e-4, 1e-3, (nodes - 1, 2)))],
        *[("velocity_limit_lower", v) for v in (3.0, -3.0, [-1.0, 2.5], nan, inf, -inf, [1.0, 1.0, 1.0])],
        *[("velocity_limit_upper", v) for v in (-4.0, -inf, inf, [1.0, 4.0])],
        *[("torque_limit_upper", v) for v in ([30.0, 20.0], [-50.0, 20.0])],
    ]:
        assert change(exported, **{name: value}) == change(controller, **{name: value}), (name, value)
        state = START + 0.01 * rng.normal(size=2), rng.normal(size=2)
        np.testing.assert_allclose(exported.step(*state), controller.step(*state), rtol=0, atol=1e-10)
    low, high = np.array([-1.0, -2.0]), np.array([0.5, 0.4])
    both = exported.library.model_set_velocity_limit_bounds
    assert both(exported.handle, *(x.ctypes.data_as(_POINTER) for x in (high, low)), 2) == -4
    assert both(exported.handle, *(x.ctypes.data_as(_POINTER) for x in (low, high)), 2) == 0
    controller.set(velocity_limit_lower=low, velocity_limit_upper=high)
    np.testing.assert_allclose(exported.step(*state), controller.step(*state), rtol=0, atol=1e-10)


def test_what_the_plan_misses_has_a_name(exported: Exported) -> None:
    exported.start_again()
    exported.step(START, np.zeros(2))
    assert exported.missed is None
    assert exported.set("velocity_limit_upper", 6.0) == exported.set("velocity_limit_lower", 5.0) == 0
    exported.step(START, np.zeros(2))
    name, amount, node = exported.missed  # type: ignore[misc]
    assert name.startswith("velocity_limit: joint_") and amount > 0.5 and 1 <= node <= 12


def test_before_the_first_plan_a_bad_state_gives_no_motion(exported: Exported) -> None:
    exported.start_again()
    assert not exported.step([np.nan, 0.0], [0.0, 0.0]).any()  # type: ignore[arg-type]
    assert exported.status == "bad measurement" and not exported.ok
    exported.step(START, np.zeros(2))
    assert exported.ok


def pendulum() -> tuple[Controller, np.ndarray, Plant]:
    robot = hc.load("double_pendulum").parametric(
        "payload", payload_link=hc.load("double_pendulum").link_names[-1]
    )
    problem = Problem(robot, horizon=15, dt=0.04, formulation="forward_dynamics")
    problem.add_posture_cost([1.0, 0.5], 1.0, 10.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    controller = Controller(problem, period=0.01, iterations=2)
    plain = robot_plant(hc.load("double_pendulum"), 0.01)
    return controller, np.array([0.1, 0.2, 0.0, 0.0]), plain


def cart() -> tuple[Controller, np.ndarray, Plant]:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u - 0.1 * x[1] ** 3), horizon=20, dt=0.1)
    problem.add_cost("state", x, 1.0, end_weight=10.0)
    problem.add_cost("effort", u, 0.1)
    problem.add_control_rate_cost(1e-3)
    problem.add_constraint("force", u, -0.5, 0.5)
    problem.add_constraint("speed", x[1], -0.4, 0.4)

    def move(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return x + 0.1 * np.array([x[1], u[0] - 0.1 * x[1] ** 3])

    return Controller(problem), np.array([1.0, 0.0]), move


def in_a_hurry() -> tuple[Controller, np.ndarray, Plant]:
    """No step is ever done in time: what fails must fail alike."""
    problem = arm()
    reset(problem)
    controller = Controller(problem, budget=1e-9)
    return controller, np.concatenate([START, np.zeros(2)]), robot_plant(hc.load("planar_2r"), 0.05)


def arriving() -> tuple[Controller, np.ndarray, Plant]:
    """A free duration: the plan is shifted by a part of its grid that changes."""
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=10, dt=0.1, duration=(0.1, 20.0))
    problem.add_constraint("force", u, -1, 1)
    problem.add_cost("state", x - ca.DM([1.0, 0.0]), 1.0, end_weight=100.0)
    problem.add_cost("time", problem.duration, 0.0, end_weight=1.0, square=False)

    def move(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return x + 0.02 * np.array([x[1] + 0.01 * u[0], u[0]])

    return Controller(problem, period=0.02), np.zeros(2), move


def six_joints() -> tuple[Controller, np.ndarray, Plant]:
    robot = hc.load("ur5")
    problem = Problem(robot, horizon=10, dt=0.05)
    problem.add_position_cost("tool0", [0.4, 0.2, 0.5], 10.0, 100.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_torque_cost(1e-4)
    problem.add_limits()
    return Controller(problem), np.r_[0.0, -1.0, 1.0, 0.0, 0.5, np.zeros(7)], robot_plant(robot, 0.05)


def on_four_feet() -> tuple[Controller, np.ndarray, Plant]:
    """A floating base, whose quaternions are rounded; forces at the feet that hold it are controls."""
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    feet = [link for link in robot.link_names if link.endswith("_foot")]
    q[2] -= min(robot.pose(foot)(q)[2, 3] for foot in feet)
    for foot in feet:
        robot = robot.with_contact(foot, kind="point", q=q)
    problem = Problem(robot, horizon=6, dt=0.02)
    problem.add_cost("trunk", problem.q[:3] - (q[:3] + np.array([0.03, 0.0, -0.05])), 100.0, 1000.0)
    problem.add_posture_cost(q, 1.0, 1.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(np.concatenate([np.full(18, 1e-4), np.full(12, 1e-6)]))
    problem.add_limits(position=None)

    def move(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        a = robot.constrained_forward_dynamics(x[: robot.nq], x[robot.nq :], tau)[0]
        v = x[robot.nq :] + 0.02 * a
        return np.concatenate([robot.integrate(x[: robot.nq], 0.02 * v), v])

    return Controller(problem), np.concatenate([q, np.zeros(robot.nv)]), move


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [pendulum, cart, in_a_hurry, arriving, six_joints, on_four_feet], ids=lambda make: make.__name__
)
def test_other_problems_step_alike(make: Any, tmp_path: Path) -> None:
    controller, x, plant = make()
    exported = Exported(controller, tmp_path)
    count = {"k": 0}

    def event(one: Any, rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        k = count["k"] // 2
        count["k"] += 1
        measured = x + 1e-5 * rng.normal(size=len(x)) * (k % 3)
        if k % 57 > 50 or 400 <= k < 460:
            measured[0] = np.nan
        if make is pendulum and k % 100 == 99:
            change(one, theta=rng.uniform(0.0, 0.2, 10), posture=rng.uniform(-1, 1, 2))
        return np.asarray(measured)

    steps = {arriving: 60, on_four_feet: 100}.get(make, 1000)
    seen = compare(controller, exported, x, steps, plant, event)
    assert "bad measurement" in seen and ("time limit" if make is in_a_hurry else "ok") in seen


def test_narrower_vectors_use_the_same_sparsity(tmp_path: Path) -> None:
    """Sparsity is stored by vectors of the exporting processor; others have narrower vectors."""
    x, u = ca.SX.sym("x", 40), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, ca.vertcat(x[1:], u) - x, horizon=3, dt=0.1)
    problem.add_cost("state", x, 1.0, end_weight=10.0)
    problem.add_cost("effort", u, 0.1)
    controller, state = Controller(problem), np.linspace(-1.0, 1.0, 40)
    exported = Exported(controller, tmp_path, "-DPLAIN_C")
    for _ in range(3):
        np.testing.assert_allclose(exported.step(state), controller.step(state), rtol=1e-9, atol=1e-12)
        assert controller.ok and exported.ok
