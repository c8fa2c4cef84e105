"""Joint friction in MPC: all terms, both formulations, plans, torques and plants."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from mpc.export.exported import Exported
from mpc.problems import FORMULATIONS

pytestmark = pytest.mark.needs_compiler

EVERY_TERM: dict[str, Any] = {
    "damping": [1.5, 0.8],
    "friction": [2.0, 1.0],
    "static_friction": [3.0, 1.2],
    "stribeck_velocity": [0.1, 0.2],
    "stiffness": [4.0, 2.0],
    "rest": [0.2, -0.1],
    "armature": [0.3, 0.1],
    "offset": [0.5, -0.3],
    "root": [0.4, 0.2],
    "load": [0.05, 0.1],
    "viscous_forward": [0.2, 0.0],
    "coulomb_backward": [0.0, 0.6],
    "sigmoid": [0.3, 0.2],
    "sigmoid_width": [0.1, 0.2],
    "sigmoid_shift": [0.05, 0.0],
}
Q0, TARGET = np.array([0.3, 0.8]), [0.4, 0.0, 0.9]


@functools.cache
def geared() -> hc.Robot:
    """A planar arm with every term of friction, springs and armature."""
    return hc.load("planar_2r").with_joints(**EVERY_TERM)


def reach(robot: hc.Robot, **options: Any) -> Problem:
    """The arm reaches for a point within its limits."""
    problem = Problem(robot, horizon=12, dt=0.05, **options)
    problem.add_position_cost("tip", TARGET, 100.0, 500.0)
    problem.add_posture_cost([0.0, 0.5], 0.1, 0.1)
    problem.add_velocity_cost(0.1, 2.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    return problem


@functools.cache
def arm(formulation: str = "inverse_dynamics") -> Problem:
    return reach(geared(), formulation=formulation)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("v0", [(0.0, 0.0), (-0.4, 0.003)])
def test_torques_of_a_plan_are_those_of_inverse_dynamics_with_friction(
    formulation: str, v0: tuple[float, float]
) -> None:
    """At rest, near rest and in motion; so are the limits that they keep."""
    plan, robot = arm(formulation).solve(Q0, v0), geared()
    assert plan.success, plan.message
    expected = robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, friction=True)
    np.testing.assert_allclose(plan.tau, expected, rtol=0, atol=1e-9)
    assert np.all(np.abs(plan.tau) <= robot.limits.effort * (1 + 1e-6))
    if formulation == "forward_dynamics":  # the torques that are planned are those beyond friction
        rigid = robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, friction=False)
        np.testing.assert_allclose(plan.u, rigid, rtol=0, atol=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_another_solver_finds_the_same_plan(formulation: str) -> None:
    ours, theirs = (arm(formulation).solve(Q0, solver=solver) for solver in ("sqp", "ipopt"))
    assert theirs.success
    assert ours.cost == pytest.approx(theirs.cost, rel=0.01)


def test_without_friction_torques_are_those_of_the_rigid_bodies_and_springs() -> None:
    problem = reach(geared(), friction=False)
    plan = problem.solve(Q0)
    expected = geared().inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, friction=False)
    np.testing.assert_allclose(plan.tau, expected, rtol=0, atol=1e-9)
    assert (arm().friction, problem.friction) == (True, False)


def test_smoothing_is_an_option_as_of_the_robots_functions() -> None:
    problem = reach(geared(), smoothing=0.2)
    plan = problem.solve(Q0)
    assert (arm().smoothing, problem.smoothing) == (0.01, 0.2)
    options = {"friction": True, "smoothing": problem.smoothing}
    expected = geared().inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, **options)
    np.testing.assert_allclose(plan.tau, expected, rtol=0, atol=1e-9)


def test_a_robot_without_friction_has_the_same_code() -> None:
    """Not an operation more than with friction switched off."""
    counts = []
    for friction in (True, False):
        compiled = reach(hc.load("planar_2r"), friction=friction)._compiled
        makers = {**compiled.loop_functions, "stage": compiled.stages.stage, "end": compiled.stages.end}
        counts.append({name: make().n_instructions() for name, make in makers.items()})
    assert counts[0] == counts[1]


def test_torque_costs_count_viscous_friction_and_not_the_sign() -> None:
    """At the price of dry friction a plan would stop short of its target."""
    bare, values = hc.load("planar_2r"), []
    for joints in ({}, {"damping": 1.0}, {"friction": 1.0}, {"offset": 1.0}):
        problem = Problem(bare.with_joints(**joints) if joints else bare, horizon=2, dt=0.1)
        problem.add_torque_cost(2.0)
        residual = problem._structure.costs[0].expression
        (resolved,) = problem.system.resolve([residual])
        f = ca.Function("f", [problem.x, problem.u, problem.system.constants], [resolved])
        constants = np.zeros(problem.system.constants.numel())
        values.append(np.array(f([0.3, 0.8, 1.0, -2.0], [0.0, 0.0], constants)).ravel())
    none, viscous, dry, offset = values
    np.testing.assert_allclose(viscous - none, [1.0, -2.0], atol=1e-12)
    np.testing.assert_allclose(dry, none, atol=1e-12)
    np.testing.assert_allclose(offset, none, atol=1e-12)  # part of the torque at rest


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_passive_joints_are_slowed_by_their_friction(formulation: str) -> None:
    """No motor compensates it: accelerations are those of forward dynamics under the planned torque."""
    swing = hc.load("planar_2r").with_joints(damping=[0.5, 0.4], friction=[0.5, 0.3])
    swing = swing.with_actuators(swing.joint_names[0])
    problem = Problem(swing, horizon=10, dt=0.02, formulation=formulation)  # type: ignore[arg-type]
    problem.add_posture_cost([0.5, 0.0], [10.0, 0.0])
    problem.add_velocity_cost(0.1)
    problem.add_torque_cost(1e-3)
    plan = problem.solve([0.0, 0.5], [0.0, 2.0])
    assert plan.success, plan.message
    np.testing.assert_allclose(plan.tau[:, 1], 0.0, atol=1e-6)
    moving = np.abs(plan.v[:-1, 1]) > 0.3  # where its sign does not depend on the width
    a = swing.forward_dynamics(plan.q[:-1], plan.v[:-1], plan.tau, friction=True)
    assert moving.sum() > 3
    np.testing.assert_allclose(plan.a[moving], a[moving], atol=1e-4)


def test_a_floating_base_with_friction_in_its_joints() -> None:
    with pytest.warns(hc.DoubtfulModelWarning, match="no mass"):
        robot = hc.load("planar_2r", base="floating").with_joints(damping=0.5, friction=0.4)
    problem = Problem(robot, horizon=6, dt=0.05)
    problem.add_velocity_cost(1.0)
    problem.add_control_cost(1e-3)
    v = np.zeros(robot.nv)
    v[6:] = 1.0, -0.5
    plan = problem.solve(robot.neutral(), v)
    assert plan.success, plan.message
    expected = robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, friction=True)
    np.testing.assert_allclose(plan.tau, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(plan.tau[:, :6], 0.0, atol=1e-6)


def test_systems_that_are_no_robot_refuse_its_options() -> None:
    x, u = ca.SX.sym("x"), ca.SX.sym("u")
    for options in ({"smoothing": 0.1}, {"friction": False}):
        with pytest.raises(hc.InputError, match="options of a robot's problem"):
            Problem.from_ode(x, u, u, horizon=2, dt=0.1, **options)
    for options in ({"smoothing": 0.0}, {"smoothing": "x"}, {"friction": "yes"}):
        with pytest.raises(hc.InputError, match=r"smoothing is a velocity|friction is True or False"):
            Problem(hc.load("planar_2r"), horizon=2, dt=0.1, **options)


def test_a_guess_of_torques_is_taken_less_friction() -> None:
    problem = arm("forward_dynamics")
    plan = problem.solve(Q0)
    again = problem.solve(Q0, guess={"t": plan.t, "q": plan.q, "v": plan.v, "tau": plan.tau})
    assert again.success and again.iterations <= 3


# In the loop -------------------------------------------------------------------------------------------


def settle(controller: Controller, plant: hc.Robot, q: np.ndarray, seconds: float, **options: Any) -> Any:
    """The motion of a plant with exact stiction under a controller, and whether each step was ok."""
    fine = []

    class Stepped:
        period = controller.period

        def step(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            tau = controller.step(q, v)
            fine.append(controller.ok)
            return tau

    options = {"dt": controller.period, "substeps": 20, "method": "stiction", "saturate": True} | options
    return hc.simulate(plant, q, duration=seconds, controller=Stepped(), **options), np.array(fine)


def distance(robot: hc.Robot, frame: str, q: np.ndarray, target: Any) -> float:
    return float(np.linalg.norm(robot.pose(frame)(q)[:3, 3] - target))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_loop_ends_at_its_target_and_rests(formulation: str) -> None:
    """Nor does the torque chatter: it changes by less than 1 % of the friction in a step."""
    controller = Controller(arm(formulation))
    motion, fine = settle(controller, geared(), Q0, 2.5)
    assert fine.all()
    assert distance(geared(), "tip", motion.q[-1], TARGET) < 4e-3
    assert np.abs(motion.v[-10:]).max() < 1e-4
    assert np.abs(np.diff(motion.tau[-10:-1], axis=0)).max() < 0.02


@functools.cache
def strong_friction() -> hc.Robot:
    """A UR5 whose friction is a tenth of its strength, at wrists of hardly any inertia."""
    friction = {"damping": [3, 3, 2, 0.6, 0.6, 0.5], "friction": [5, 6, 4, 1, 1, 0.8]}
    return hc.load("ur5").with_joints(**friction)


@functools.cache
def ur5() -> Problem:
    problem = Problem(strong_friction(), horizon=20, dt=0.02)
    problem.add_position_cost("tool0", [0.4, 0.2, 0.5], weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    return problem


UR5_START = np.array([0.0, -1.2, 1.6, -0.4, 0.5, 0.0])
UR5_TARGET = [0.45, 0.30, 0.45]


@pytest.mark.parametrize("factor", [1.0, 0.5, 0.8, 1.2, 1.5])
def test_strong_friction_at_light_joints(factor: float) -> None:
    """It ends near its target and rests, with the model's friction or another."""
    own = strong_friction()
    scaled = {
        "damping": factor * np.array([j.damping[0] for j in own.model.joints if j.type.nv]),
        "friction": factor * np.array([j.friction[0] for j in own.model.joints if j.type.nv]),
    }
    controller = Controller(ur5())
    controller.set(position=UR5_TARGET)
    motion, fine = settle(controller, own.with_joints(**scaled), UR5_START, 6.0, substeps=40)
    missed = distance(own, "tool0", motion.q[-1], UR5_TARGET)
    assert fine.mean() > 0.99
    assert missed < (1e-4 if factor == 1.0 else 1e-3 if factor < 1.5 else 3e-3)
    assert np.abs(motion.v[-20:]).max() < (3e-3 if factor <= 1.0 else 0.02)


def test_on_mujoco_with_its_own_friction(tmp_path: Path) -> None:
    """Its `frictionloss` and `damping`, not ours: as near as without friction, and without chatter."""
    pytest.importorskip("mujoco")
    from mujoco_plant import MuJoCoPlant

    own, missed = strong_friction(), []
    dry = np.array([joint.friction[0] for joint in own.model.joints if joint.type.nv])
    bare = Problem(hc.load("ur5"), horizon=20, dt=0.02)
    bare.add_position_cost("tool0", UR5_TARGET, weight=50.0, end_weight=500.0)
    bare.add_velocity_cost(0.2, end_weight=5.0)
    bare.add_torque_cost(1e-3)
    bare.add_limits()
    for name, problem, robot in (("friction", ur5(), own), ("none", bare, hc.load("ur5"))):
        folder = tmp_path / name
        folder.mkdir()
        plant = MuJoCoPlant(robot, folder)
        assert (plant.model.dof_frictionloss.max() > 5) == (name == "friction")
        plant.start(UR5_START)
        controller = Controller(problem)
        controller.set(position=UR5_TARGET)
        applied = []
        for _ in range(160):
            tau = controller.step(plant.q, plant.v)
            applied.append(np.array(tau))
            for _ in range(20):
                plant.step(tau)
        assert controller.ok
        assert np.median(np.abs(np.diff(applied[-50:], axis=0) / dry).max(axis=1)) < 0.3
        missed.append(distance(own, "tool0", plant.q, UR5_TARGET))
    assert missed[0] < missed[1] + 1e-3


def test_braking_leaves_to_friction_what_it_does_itself() -> None:
    """The torque at rest, and as much against the motion as friction lacks; it never drives a joint on."""
    robot, problem, zero = geared(), arm(), np.zeros(2)
    braking = problem._compiled.loop_functions["braking"]()
    still = robot.inverse_dynamics(Q0, zero, zero, friction=True)
    taken_at_rest = still - robot.inverse_dynamics(Q0, zero, zero, friction=False)
    for v in (np.array([0.02, 0.02]), np.array([3.0, 3.0])):
        tau = np.array(braking([*Q0, *v], np.zeros(6))).ravel()
        brake = -robot.mass_matrix(Q0) @ v / 0.1
        taken = (robot.bias(Q0, v, friction=True) - robot.bias(Q0, v, friction=False)) - taken_at_rest
        np.testing.assert_allclose(tau, still + np.minimum(brake + taken, 0.0), atol=1e-9)
    assert np.all(brake + taken < 0) and np.all(taken > 0)  # in fast motion, with the time constant of 0.1 s
    at_rest = np.array(braking([*Q0, 0.0, 0.0], np.zeros(6))).ravel()
    np.testing.assert_allclose(at_rest, still, atol=1e-9)


def test_what_dry_friction_explains_is_no_disturbance() -> None:
    """A joint at rest is held by any torque up to its friction; what is beyond, and in motion, is one."""
    robot = hc.load("planar_2r").with_joints(friction=[2.0, 1.0])
    unexplained = reach(robot)._compiled.loop_functions["unexplained"]()
    g = robot.gravity(Q0)

    def rest(torque: Any, v: Any, d: Any = (0.0, 0.0)) -> np.ndarray:
        found, _ = unexplained([*Q0, *v], [*Q0, *v], g + np.array(torque), [*d, *np.zeros(4)], 0.05)
        return np.array(found).ravel()[:2]

    np.testing.assert_allclose(rest([1.9, -0.9], [0.0, 0.0]), 0.0, atol=1e-9)
    np.testing.assert_allclose(rest([2.5, -1.5], [0.0, 0.0]), [0.5, -0.5], atol=1e-9)
    np.testing.assert_allclose(rest([1.0, 0.0], [0.0, 0.0], [0.7, 0.2]), [0.7, 0.2], atol=1e-9)
    moving = np.array([0.5, -0.5])
    halfway = Q0 + 0.025 * moving
    needed = robot.inverse_dynamics(halfway, moving, np.zeros(2), friction=True) - g
    np.testing.assert_allclose(rest(needed + np.array([0.3, 0.1]), moving), [0.3, 0.1], atol=1e-9)


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.5), (0.1, 0.6), (-0.1, 0.6), (0.0, 0.0), (-0.5, 0.5)])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_motion_shows_how_much_dry_friction_there_is(before: float, after: float, direction: float) -> None:
    """0.7 times the model's, of a velocity that changes linearly; at rest and on the way back, no change."""
    robot, h = hc.load("planar_2r").with_joints(damping=0.5, friction=[2.0, 1.0]), 0.05
    unexplained = reach(robot)._compiled.loop_functions["unexplained"]()
    plant, k = robot.with_joints(friction=[1.4, 0.7]), np.array([-0.1, 0.0])
    v, v_now = direction * np.array([before, before]), direction * np.array([after, after])
    a, mean = (v_now - v) / h, (v + v_now) / 2
    halfway = Q0 + h / 2 * v + h**2 / 8 * a
    dry = plant.inverse_dynamics(Q0, mean, a, friction=True)
    dry -= plant.with_joints(friction=0.0).inverse_dynamics(Q0, mean, a, friction=True)
    share = 1.0 if before >= 0 else (after + before) / (after - before)  # of the time, forth less back
    tau = plant.with_joints(friction=0.0).inverse_dynamics(halfway, mean, a, friction=True) + share * dry
    found, _ = unexplained([*Q0, *v], [*(Q0 + h * mean), *v_now], tau, [0.0, 0.0, *k, 0.0, 0.0], h)
    expected = [-0.3, -0.3] if share >= 0.5 and after > 0 else k
    np.testing.assert_allclose(np.array(found).ravel()[2:], expected, atol=1e-9)


def test_gains_have_no_positive_feedback_of_velocities() -> None:
    """Friction is feedforward: beside its sign, a gain would be a hundred times that of the rigid robot."""
    dry, none = (
        Controller(reach(hc.load("planar_2r").with_joints(friction=f))) for f in ([2.0, 1.0], [0.0, 0.0])
    )
    for one in (dry, none):
        one.step(Q0, [0.0, 0.0])
    np.testing.assert_allclose(dry.gains, none.gains, rtol=0.05, atol=0.05 * np.abs(none.gains).max())


def test_exported_c_has_the_same_friction(tmp_path: Path) -> None:
    """Plans, fallbacks and braking, to the last digits."""
    controller = Controller(arm())
    exported, robot = Exported(controller, tmp_path), geared()
    states = [np.array([*Q0, 0.0, 0.0])] * 2
    for k in range(40):
        taus = []
        for i, one in enumerate((controller, exported)):
            measured = states[i] if k not in range(20, 34) else np.full(4, np.nan)
            taus.append(one.step(measured[:2], measured[2:]))
            q, v = states[i][:2], states[i][2:]
            v = v + 2e-3 * robot.forward_dynamics(q, v, taus[i], friction=True)
            states[i] = np.concatenate([q + 2e-3 * v, v])
        np.testing.assert_allclose(taus[1], taus[0], rtol=0, atol=1e-12 * max(1.0, np.abs(taus[0]).max()))


def test_adaptive_control_learns_friction_and_plans_with_it() -> None:
    """A payload apart, friction is twice what the description says: θ and the plan's torques follow."""
    described = hc.load("planar_2r").with_joints(damping=1.0, friction=1.0)
    parametric = described.parametric("friction")
    problem = Problem(parametric, horizon=10, dt=0.01)
    problem.add_posture_cost([0.0, 0.5], 200.0, 20.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    identifier = hc.OnlineIdentifier(described, ("friction",))
    adaptive = hc.mpc.Adaptive(Controller(problem, period=1e-3, disturbance_time=None), identifier)

    def target(t: float) -> dict[str, Any]:
        return {"posture": [0.6 * np.sin(3 * t), 0.5 + 0.5 * np.sin(4 * t)]}

    plant = hc.Plant(parametric, [0.0, 0.5], theta=np.full(4, 2.0), period=1e-3, substeps=4)
    run = hc.mpc.run_on_plant(adaptive, plant, 3.0, targets=target)
    np.testing.assert_allclose(run.theta[-1], 2.0, rtol=0.1)
    plan = adaptive.controller.plan
    expected = parametric.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, adaptive.theta, friction=True)
    np.testing.assert_allclose(plan.tau, expected, rtol=0, atol=1e-9)


def test_copies_keep_their_friction() -> None:
    import pickle

    copy = pickle.loads(pickle.dumps(arm()))
    np.testing.assert_allclose(copy.solve(Q0).tau, arm().solve(Q0).tau, rtol=0, atol=1e-9)
