"""Legged robots, small and large: tasks, and conditions that their plans must meet."""

from __future__ import annotations

import functools

import numpy as np

import helicoid as hc
from helicoid.mpc import Phase, Plan, Problem

HOPPER = """
<robot name="hopper">
  <link name="rail"/>
  <link name="cart"><inertial><mass value="0.01"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="trunk"><inertial><mass value="5"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="thigh"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
    <inertia ixx="0.002" iyy="0.002" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="shank"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="foot"/>
  <joint name="along" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
  <joint name="up" type="prismatic"><parent link="cart"/><child link="trunk"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="thigh"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="60" velocity="30"/></joint>
  <joint name="knee" type="revolute"><parent link="thigh"/><child link="shank"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 -0.2"/><limit lower="-2.6" upper="-0.2" effort="60" velocity="30"/></joint>
  <joint name="ankle" type="fixed"><parent link="shank"/><child link="foot"/><origin xyz="0 0 -0.2"/></joint>
</robot>"""
FRICTION = 0.6
STAND, FLY = Phase(0.2, ("foot",)), Phase(0.2)


@functools.cache
def hopper() -> tuple[hc.Robot, np.ndarray]:
    """A leg of two joints under a trunk that slides along and up without motors, and its crouch."""
    robot = hc.load(HOPPER).with_actuators("hip", "knee")
    q = np.array([0.0, 0.0, 0.6, -1.2])
    q[1] -= robot.pose("foot")(q)[2, 3]
    return robot, q


@functools.cache
def hop() -> Problem:
    """It jumps forward: stands, flies, stands; one solver for all tests."""
    robot, q = hopper()
    problem = Problem(robot, dt=0.04, phases=[STAND, FLY, STAND])
    problem.add_posture_cost(q + np.array([0.1, 0, 0, 0]), [10.0, 10.0, 1.0, 1.0], [100.0, 100.0, 10.0, 10.0])
    problem.add_velocity_cost(0.01, 1.0)
    problem.add_torque_cost(1e-3, reference=np.zeros(4))
    problem.add_control_cost(1e-6)
    problem.add_friction_cone(friction=FRICTION)
    problem.add_limits()
    problem.add_swing_cost(0.03, 100.0)
    return problem


def contact(robot: hc.Robot, name: str, radius: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a ball around a frame touches level ground, and the Jacobian of the material point there."""
    J = np.asarray(robot.jacobian(name, "world_aligned")(q))
    down = np.array([0.0, 0.0, -radius])
    turned = -np.cross(down, J[:3], axisb=0).T  # ω × down
    return np.asarray(robot.pose(name)(q))[:3, 3] + down, J[3:] + turned


def pushed(robot: hc.Robot, plan: Plan, radius: float, k: int, q: np.ndarray) -> np.ndarray:
    """Jᵀ f of all feet in an interval of a plan, at a configuration."""
    return np.sum([contact(robot, name, radius, q)[1].T @ f[k] for name, f in plan.forces.items()], axis=0)


def check_plan(
    robot: hc.Robot, plan: Plan, holding: dict[str, np.ndarray], radius: float = 0.0, slip: float = 2e-3
) -> None:
    """Newton and Euler, Coulomb, and feet that stand where they stand.

    `holding` says for each foot in which intervals it stands, by the test's own count.
    """
    assert plan.q is not None and plan.v is not None and plan.a is not None and plan.tau is not None
    assert set(plan.forces) == set(holding)
    for name, stands in holding.items():
        at = [contact(robot, name, radius, q) for q in plan.q]
        p, f = np.array([one for one, _ in at]), plan.forces[name]
        np.testing.assert_allclose(f[~stands], 0.0, atol=1e-4)
        assert np.all(f[stands, 2] >= -1e-4)
        assert np.all(np.hypot(f[stands, 0], f[stands, 1]) <= FRICTION * f[stands, 2] + 1e-4)
        v = np.array([J @ w for (_, J), w in zip(at, plan.v, strict=True)])
        touching = np.append(stands, stands[-1]) | np.append(False, stands)
        np.testing.assert_allclose(v[1:][touching[1:]], 0.0, atol=1e-5)
        landing = 1 + np.flatnonzero(stands[1:] & ~stands[:-1])
        np.testing.assert_allclose(p[landing, 2], 0.0, atol=1e-6)
        assert p[:, 2].min() > -slip
        rolls = 0.03 * radius / 0.02  # a ball's lowest point moves along with the leg's turning
        for k in np.flatnonzero(stands):  # from node to node of a stand
            np.testing.assert_allclose(p[k + 1, 2], p[k, 2], atol=slip)
            np.testing.assert_allclose(p[k + 1, :2], p[k, :2], atol=slip + rolls)
    for k, (q, v, a, tau) in enumerate(zip(plan.q, plan.v, plan.a, plan.tau, strict=False)):
        missing = np.asarray(robot.inverse_dynamics(q, v, a)) - pushed(robot, plan, radius, k, q)
        np.testing.assert_allclose(missing, tau, atol=1e-6)  # what the motors give is all that is missing
        np.testing.assert_allclose(tau[list(robot.unactuated)], 0.0, atol=1e-3)


def integrated(robot: hc.Robot, plan: Plan, radius: float, k: int, substeps: int = 20) -> np.ndarray:
    """Where forward dynamics lead from node k in its interval, under the plan's torques and forces."""
    assert plan.q is not None and plan.v is not None and plan.tau is not None
    q, v, h = plan.q[k], plan.v[k], (plan.t[k + 1] - plan.t[k]) / substeps
    for _ in range(substeps):

        def fall(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.asarray(robot.forward_dynamics(q, v, plan.tau[k] + pushed(robot, plan, radius, k, q)))

        middle = v + h / 2 * fall(q, v)
        a = fall(robot.integrate(q, h / 2 * v), middle)
        q, v = robot.integrate(q, h * (v + h / 2 * a)), v + h * a
    return np.concatenate([robot.difference(plan.q[k + 1], q), v - plan.v[k + 1]])
