"""Springs and dampers between points of links: energy, torque, derivatives, parameters, URDF, edits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from random_trees import assert_close, fewer, moving_links, robots, seeds, state


def strung(robot: hc.Robot, seed: int) -> hc.Robot:
    """The robot with a spring between its last link and the world, and one between two links."""
    rng = np.random.default_rng(seed)
    links = moving_links(robot)
    robot = robot.with_spring(
        "world", links[-1], 30.0, 0.2, 3.0, point_a=rng.normal(size=3) + 3.0, point_b=rng.normal(size=3)
    )
    bodies = {robot.model.frame(link).body for link in (links[0], links[-1])}
    if len(bodies) == 2:
        robot = robot.with_spring(links[0], links[-1], 50.0, 0.1, 2.0, point_a=rng.normal(size=3) + 2.0)
    return robot


@fewer
@given(robots(max_bodies=4), seeds)
def test_laws_of_mechanics(robot: hc.Robot, seed: int) -> None:
    """τ = ∂U/∂q, a damper takes power, FD inverts ID, and joint wrenches project on the torque."""
    bare, robot = robot, strung(robot, seed)
    q, v, a = state(robot, seed)
    pull = robot.inverse_dynamics(q, v, a) - bare.inverse_dynamics(q, v, a)
    size = float(np.abs(robot.inverse_dynamics(q, v, a)).max())
    assert_close(pull, robot.elastic_torque(q), scale=size)
    stored = robot.potential_energy.jacobian("q")(q) - bare.potential_energy.jacobian("q")(q)
    assert_close(stored, pull, scale=size)
    damped = robot.inverse_dynamics(q, v, a, friction=True) - bare.inverse_dynamics(q, v, a, friction=True)
    assert v @ (damped - pull) >= -1e-9 * size
    numbers = robot.parametric("elastic").theta.values.reshape(-1, 3)
    linear = np.column_stack([numbers[:, 0], numbers[:, 0] * numbers[:, 1], numbers[:, 2]]).ravel()
    assert_close(robot.elastic_regressor(q, v) @ linear, damped, scale=size)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert_close(robot.forward_dynamics(q, v, tau, friction=True), a, 1e-6, scale=1.0)
    twice = robot.parametric("elastic")
    assert_close(twice.inverse_dynamics(q, v, a, twice.theta.values, friction=True), tau, scale=size)


@fewer
@given(robots(max_bodies=3), seeds)
def test_derivatives(robot: hc.Robot, seed: int) -> None:
    """∂τ/∂q, ∂τ/∂v by recursion are those of the expression; second derivatives those of the first."""
    robot = strung(robot, seed)
    q, v, a = state(robot, seed)
    function = robot.inverse_dynamics.with_options(friction=True)
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a, friction=True)
    both = function.jacobian("q", "v")(q, v, a)
    assert_close(dq, both[0], 1e-9, scale=10.0)
    assert_close(dv, both[1], 1e-9, scale=10.0)


def test_energy_is_conserved_and_a_damper_takes_it() -> None:
    arm = hc.load("planar_2r")
    ends = dict(point_a=(0.3, 0.0, 0.8), point_b=(0.1, 0.0, 0.0))
    spring = arm.with_spring("world", "tip", 80.0, 0.3, **ends)
    motion = hc.simulate(spring, [0.4, 0.3], duration=2.0, dt=1e-3)
    energy = motion.kinetic_energy + spring.potential_energy(motion.q)
    assert np.ptp(energy) < 1e-6 * np.abs(energy).max()
    damped = arm.with_spring("world", "tip", 80.0, 0.3, 8.0, **ends)
    motion = hc.simulate(damped, [0.4, 0.3], duration=2.0, dt=1e-3)
    energy = motion.kinetic_energy + damped.potential_energy(motion.q)
    assert np.all(np.diff(energy) < 1e-9) and energy[-1] < energy[0] - 1.0


def test_springs_without_length_compensate_gravity() -> None:
    """A spring of stiffness m g l / (a b) without rest length balances a link at any angle."""
    pendulum = hc.load("double_pendulum").lock({"joint_2": 0.0})
    q = np.linspace(-3.0, 3.0, 7)[:, None]
    weight = np.linalg.lstsq(np.sin(q), pendulum.gravity(q)[:, 0], rcond=None)[0][0]  # m g l
    above, along = 0.5, 0.3
    link = pendulum.model.bodies[0].name
    axis = pendulum.pose(link)([0.0])[:3, 3]
    down = pendulum.center_of_mass([0.0]) - axis
    down = down / np.linalg.norm(down)
    point = np.linalg.inv(pendulum.pose(link)([0.0]))[:3, :3] @ (along * down)
    balanced = pendulum.with_spring(
        "world", link, weight / (above * along), point_a=axis + above * np.eye(3)[2], point_b=point
    )
    held = balanced.gravity(q) + balanced.elastic_torque(q)
    assert np.abs(held).max() < 1e-9 * weight


def test_urdf_and_edits_keep_elastic_elements(tmp_path: Path, rng: np.random.Generator) -> None:
    robot = hc.load("ur5").with_spring(
        "base_link", "forearm_link", 300.0, 0.4, 7.0, point_a=(0.1, 0.0, 0.5), name="compensator"
    )
    robot.to_urdf(tmp_path / "sprung.urdf")
    again = hc.load(tmp_path / "sprung.urdf")
    q, v, a = state(robot, rng)
    for option in (True, False):
        expected = robot.inverse_dynamics(q, v, a, friction=option)
        assert_close(again.inverse_dynamics(q, v, a, friction=option), expected)
    joints = robot.joint_names
    locked = robot.lock({joints[1]: q[1]})
    assert_close(locked.elastic_torque(np.delete(q, 1)), np.delete(robot.elastic_torque(q), 1))
    rigid = robot.lock({joint: 0.0 for joint in joints[:3]})
    assert rigid.model.elastic == ()
    with pytest.raises(hc.ModelError, match="cut the elastic element 'compensator'"):
        robot.chain("forearm_link", "tool0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tool0", "nobody", 1.0), "nobody"),
        (("wrist_3_link", "tool0", 1.0), "do not move against each other"),
        (("world", "tool0", -1.0), "stiffness is zero or positive"),
        (("world", "tool0", np.nan), "stiffness is zero or positive"),
        (("world", "tool0", 1.0, 0.0, "x"), "damping is zero or positive"),
    ],
)
def test_wrong_elements_are_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(hc.ModelError, match=message):
        hc.load("ur5").with_spring(*arguments)  # type: ignore[arg-type]


def test_mpc_and_simulation_count_them() -> None:
    """A plan's torque is that of inverse dynamics with the spring."""
    robot = hc.load("planar_2r").with_spring("world", "tip", 40.0, 0.2, 3.0, point_a=(0.0, 0.0, 1.5))
    problem = hc.mpc.Problem(robot, horizon=5, dt=0.05)
    problem.add_posture_cost([0.2, 0.4], 1.0)
    problem.add_torque_cost(1e-3)
    plan = problem.solve([0.1, 0.3], [0.0, 0.0])
    expected = robot.inverse_dynamics(plan.q[:-1], plan.v[:-1], plan.a, friction=True)
    assert_close(plan.tau, expected, 1e-9)
    rest = hc.mpc.Controller(problem)
    for _ in range(60):
        tau = rest.step([0.2, 0.4], [0.0, 0.0])
    assert_close(tau, robot.inverse_dynamics([0.2, 0.4], np.zeros(2), np.zeros(2)), 0.2)
