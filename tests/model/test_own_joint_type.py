"""A joint type that Helicoid does not have, defined here alone, works in every package.

`Circle` turns like a revolute joint, but its coordinates are (cos, sin) of the angle: nq 2, nv 1, on the unit
circle. A robot that has it in place of a revolute joint must do what the other does.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid import Robot
from helicoid.geometry import so3
from helicoid.identification.logs.log import Log
from helicoid.identification.refinement.output_error import fit_output_error
from helicoid.model.edits.drives import Drive
from helicoid.model.joint_type import JointType
from helicoid.model.joints import TYPES, unit
from helicoid.model.parts import Limits, Mimic
from helicoid.model.urdf.reader import read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text
from helicoid.mpc import Controller, Problem
from helicoid.robot.bounds import bounds
from helicoid.view.controls import from_handles, handles, neutral_within_limits, to_handles
from random_trees import Array


@dataclass(frozen=True, eq=False)
class Circle(JointType):
    """Rotation about `axis` by the angle whose cosine and sine are the coordinates."""

    axis: Array = field(default_factory=lambda: unit((1, 0, 0)))
    kind = "circle"
    nq = 2
    nv = 1
    labels = ("cos", "sin")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    def pose(self, q: Any) -> tuple[Any, Any]:
        along = np.outer(self.axis, self.axis)
        return along + q[0] * (np.eye(3) - along) + q[1] * so3.hat(self.axis), ca.SX.zeros(3)

    def subspace(self, q: Any) -> Any:
        return ca.vertcat(ca.SX(self.axis), ca.SX.zeros(3))

    def rate_matrix(self, q: Any) -> Any:
        return ca.vertcat(-q[1], q[0])

    def integrate(self, q: Any, dv: Any) -> Any:
        c, s = ca.cos(dv), ca.sin(dv)
        return ca.vertcat(c * q[0] - s * q[1], s * q[0] + c * q[1]) / ca.sqrt(q[0] ** 2 + q[1] ** 2)

    def difference(self, q0: Any, q1: Any) -> Any:
        return ca.atan2(q0[0] * q1[1] - q0[1] * q1[0], q0[0] * q1[0] + q0[1] * q1[1])

    def neutral(self) -> Array:
        return np.array([1.0, 0.0])

    def random(
        self, rng: np.random.Generator, lower: Array, upper: Array, lead: tuple[int, ...] = ()
    ) -> Array:
        angle = rng.uniform(-np.pi, np.pi, lead)
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1)

    def reversed(self) -> Circle:
        return Circle(-self.axis)


@functools.cache
def pair() -> tuple[Robot, Robot]:
    """An arm of two revolute joints without ends, and the same arm with a circle in place of the first."""
    plain = hc.load("planar_2r").with_joints(lower=-np.inf, upper=np.inf, damping=0.3, armature=0.05)
    return plain, with_circles(plain)


def with_circles(robot: Robot) -> Robot:
    """The robot with a circle in place of its first joint."""
    name = robot.joint_names[0]
    free = np.full(2, np.inf)

    def other(joint: Any) -> Any:
        if joint.name != name:
            return joint
        limits = Limits(-free, free, joint.range.velocity, joint.range.effort)
        return replace(joint, type=Circle(joint.type.axis), limits=limits, rest=np.zeros(0))

    return robot.with_model(robot.model.replaced(joints=map(other, robot.model.joints)))


def on_circle(q: Array) -> Array:
    """Coordinates of the robot with the circle from those of the other."""
    return np.concatenate([np.cos(q[..., :1]), np.sin(q[..., :1]), q[..., 1:]], axis=-1)


def angles(q: Array) -> Array:
    """Coordinates of the plain robot from those of the one with the circle."""
    return np.concatenate([np.arctan2(q[..., 1:2], q[..., :1]), q[..., 2:]], axis=-1)


def states(n: int = 5) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    return rng.uniform(-3, 3, (n, 2)), rng.normal(size=(n, 2)), rng.normal(size=(n, 2))


@pytest.mark.parametrize(
    "name",
    [
        *("inverse_dynamics", "forward_dynamics", "forward_dynamics_crba", "inverse_dynamics_derivatives"),
        *("forward_dynamics_derivatives", "mass_matrix", "mass_matrix_inverse", "coriolis_matrix", "bias"),
        *("gravity", "kinetic_energy", "potential_energy", "center_of_mass", "com_jacobian", "regressor"),
    ],
)
def test_dynamics_are_those_of_the_revolute_joint(name: str) -> None:
    plain, circle = pair()
    q, *others = states()
    count = len(getattr(plain, name).inputs) - 1
    expected = getattr(plain, name)(q, *others[:count])
    found = getattr(circle, name)(on_circle(q), *others[:count])
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        assert_allclose(one, other, atol=1e-12)


def test_frames_move_alike() -> None:
    plain, circle = pair()
    q, v, _ = states()
    for reference in ("world", "body", "world_aligned"):
        for function in ("jacobian", "jacobian_dot"):
            states_of = (q,) if function == "jacobian" else (q, v)
            expected = getattr(plain, function)("tip", reference)(*states_of)
            found = getattr(circle, function)("tip", reference)(on_circle(q), *states_of[1:])
            assert_allclose(found, expected, atol=1e-12)
    assert_allclose(circle.pose("tip")(on_circle(q)), plain.pose("tip")(q), atol=1e-12)


def test_coordinates_move_on_the_circle() -> None:
    plain, circle = pair()
    q, dv, _ = states()
    assert (circle.nq, circle.nv) == (3, 2)
    moved = circle.integrate(on_circle(q), dv)
    assert_allclose(moved, on_circle(plain.integrate(q, dv)), atol=1e-12)
    assert_allclose(circle.difference(on_circle(q), moved), dv, atol=1e-12)
    assert_allclose(np.linalg.norm(circle.random(1, size=3)[:, :2], axis=1), 1.0)
    assert circle.model.coordinate_names == ("joint_1[0]", "joint_1[1]", "joint_2")
    assert circle.model.velocity_names == ("joint_1", "joint_2") and circle.model.quaternions == ()


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "adaptive"])
def test_simulation(method: Any) -> None:
    plain, circle = pair()
    q0, v0 = np.array([0.4, -0.3]), np.array([1.0, -2.0])
    options: dict[str, Any] = {"duration": 0.3, "dt": 0.01, "method": method}
    one = hc.simulate(plain, q0, v0, controller=lambda t, q, v: -2.0 * v, **options)
    two = hc.simulate(circle, on_circle(q0), v0, controller=lambda t, q, v: -2.0 * v, **options)
    # Runge and Kutta's stages leave the circle by O(h²), their result by O(h⁵).
    assert_allclose(angles(two.q), one.q, atol=1e-6)
    assert_allclose(np.linalg.norm(two.q[:, :2], axis=1), 1.0, atol=1e-12)
    between = np.array([0.005, 0.015])
    assert_allclose(angles(two.resample(between).q), one.resample(between).q, atol=1e-6)


def test_a_start_off_the_circle_is_refused() -> None:
    _, circle = pair()
    with pytest.raises(hc.HelicoidError, match="q0"):
        hc.simulate(circle, [0.5, 0.0, 0.0], duration=0.01)


def reaching(robot: Robot, formulation: Any) -> Problem:
    problem = Problem(robot, horizon=4, dt=0.05, formulation=formulation)
    problem.add_position_cost("tip", [0.4, 0.0, 0.9], 10.0, 100.0)
    problem.add_posture_cost(robot.neutral(), 0.1, 0.1)
    problem.add_velocity_cost(0.1, 2.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    return problem


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["inverse_dynamics", pytest.param("forward_dynamics", marks=pytest.mark.slow)]
)
def test_mpc(formulation: str) -> None:
    plain, circle = pair()
    problems = reaching(plain, formulation), reaching(circle, formulation)
    q0, v0 = np.array([2.9, 0.8]), np.array([0.5, 0.0])
    one, two = problems[0].solve(q0, v0), problems[1].solve(on_circle(q0), v0)
    assert one.message == two.message == "solved"
    assert_allclose(angles(two.q), angles(on_circle(one.q)), atol=1e-5)
    assert_allclose(two.tau, one.tau, atol=1e-3)
    controllers = Controller(problems[0], iterations=3), Controller(problems[1], iterations=3)
    measured = on_circle(q0) * [1.01, 1.01, 1.0]  # what a sensor's rounding leaves is taken off
    for _ in range(3):
        tau = controllers[0].step(q0, v0), controllers[1].step(measured, v0)
        assert controllers[0].ok and controllers[1].ok
        assert_allclose(tau[1], tau[0], atol=1e-3)
    controllers[1].step(on_circle(q0) * [0.1, 0.1, 1.0], v0)
    assert not controllers[1].ok
    with pytest.raises(hc.InputError):
        problems[1].solve(np.array([0.0, 0.0, 0.0]), v0)


@pytest.mark.slow
def test_mpc_keeps_limits_of_the_coordinates() -> None:
    """What a joint states of its coordinates holds, whatever these are: here cos ≥ 0.5, up to 60°."""
    _, circle = pair()
    limited = circle.with_joints(lower={"joint_1": [0.5, -np.inf]}, upper={"joint_1": np.full(2, np.inf)})
    problem = Problem(limited, horizon=5, dt=0.2)
    problem.add_cost("turn", problem.q[1] - 1.0, 1.0)
    problem.add_torque_cost(1e-6)
    problem.add_limits(velocity=None, torque=None)
    plan = problem.solve(limited.neutral())
    assert plan.q[:, 0].min() > 0.5 - 1e-6 and plan.q[-1, 0] < 0.6


def test_identification() -> None:
    plain, circle = pair()
    rng = np.random.default_rng(5)
    t = np.arange(300) / 100.0
    q, v, a = np.zeros((3, len(t), 2))
    for k in range(2):
        for ω in 2 * np.pi * np.array([0.4, 0.7, 1.1]):
            size, phase = rng.uniform(0.5, 1.2), rng.uniform(0, 2 * np.pi)
            q[:, k] += size * np.sin(ω * t + phase)
            v[:, k] += size * ω * np.cos(ω * t + phase)
            a[:, k] -= size * ω * ω * np.sin(ω * t + phase)
    assert np.ptp(q[:, 0]) > np.pi  # past the end of the sensor's circle
    tau = plain.with_parameters(1.2 * plain.parameters.values).inverse_dynamics(q, v, a, friction=True)
    wish: dict[str, Any] = {"groups": ("inertia",), "cutoff": None, "regularisation": 1.0}
    one = hc.identify(plain, Log.from_arrays(t, q, v=v, tau=tau), **wish)
    for velocities in (v, None):
        two = hc.identify(circle, Log.from_arrays(t, on_circle(q), v=velocities, tau=tau), **wish)
        assert_allclose(two.robot.mass_matrix(on_circle(q[:5])), one.robot.mass_matrix(q[:5]), rtol=0.02)
        assert_allclose(two.robot.gravity(on_circle(q[:5])), one.robot.gravity(q[:5]), rtol=0.02, atol=0.05)
    assert two.held_out.overall_relative < 0.02
    online = hc.OnlineIdentifier(circle)
    expected = hc.OnlineIdentifier(plain)
    for k in range(100):
        online.update(on_circle(q[k]), v[k], a[k], tau[k])
        expected.update(q[k], v[k], a[k], tau[k])
    assert_allclose(online.theta, expected.theta, atol=1e-8)


@pytest.mark.slow
def test_output_error() -> None:
    plain, circle = pair()
    q0, found = np.array([0.5, 0.2]), []
    for robot, start in ((plain, q0), (circle, on_circle(q0))):
        log = Log.from_trajectory(hc.simulate(robot, start, duration=1.0, dt=0.01))
        linear = hc.identify(robot, log, groups=("inertia",), cutoff=None, regularisation=1.0)
        found.append(fit_output_error(linear, log, iterations=3))
    assert_allclose(found[1].x, found[0].x, rtol=1e-2, atol=1e-3)


def test_viewer_controls() -> None:
    _, circle = pair()
    joint = circle.model.joint("joint_1")
    assert [(h.label, h.lower, h.upper) for h in handles(joint)] == [("joint_1", -np.pi, np.pi)]
    assert_allclose(to_handles(joint, on_circle(np.array([2.5]))), [2.5])
    assert_allclose(from_handles(joint, np.array([-0.7])), on_circle(np.array([-0.7])))
    assert_allclose(neutral_within_limits(circle), circle.neutral())


def test_bounds_of_the_equations() -> None:
    plain, circle = pair()
    one, two = (bounds(robot, samples=100, starts=3) for robot in (plain, circle))
    for expected, found in zip(one[:4], two[:4], strict=True):
        assert_allclose(found.value, expected.value, rtol=1e-6)
    assert two.assumed == ()


def test_urdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that is listed in TYPES is read and written by its kind."""
    _, circle = pair()
    monkeypatch.setitem(TYPES, "circle", Circle)
    text = to_urdf_text(circle.model)
    again = Robot(read_urdf_text(text))
    q, v, a = states()
    assert again.model.joint("joint_1").type.kind == "circle"
    assert_allclose(
        again.inverse_dynamics(on_circle(q), v, a), circle.inverse_dynamics(on_circle(q), v, a), atol=1e-12
    )


def test_edits() -> None:
    plain, circle = pair()
    q, v, a = states()
    locked = circle.lock({"joint_1": on_circle(np.array([0.3]))})
    assert_allclose(
        locked.inverse_dynamics(q[:, 1:], v[:, 1:], a[:, 1:]),
        plain.lock({"joint_1": 0.3}).inverse_dynamics(q[:, 1:], v[:, 1:], a[:, 1:]),
        atol=1e-12,
    )
    with pytest.raises(hc.ModelError, match="cannot be"):
        circle.lock({"joint_1": [0.3, 0.3]})
    flexible = circle.with_flexible_joints({"joint_1": 100.0})
    assert (flexible.nq, flexible.nv) == (5, 3)
    turned = [robot.reroot("link_2") for robot in (plain, circle)]
    same = (
        turned[0].mass_matrix(q),
        turned[1].mass_matrix(np.concatenate([q[:, :1], on_circle(q[:, 1:])], axis=1)),
    )
    assert_allclose(*same, atol=1e-12)
    driven = circle.with_drives({"joint_1": Drive(gear_ratio=50, rotor_inertia=1e-5)})
    assert driven.nv == 2
    with pytest.raises(hc.ModelError, match="only joints of one coordinate"):
        replace(circle.model.joint("joint_1"), mimic=Mimic("joint_2"))


def test_no_package_asks_which_type_a_joint_has() -> None:
    """Other files may make a joint of a type, as an edit locks one, but none decides by the type."""
    names = "|".join(cls.__name__ for cls in TYPES.values())
    asking = re.compile(rf"isinstance\([^)]*\b({names})\b|\b(type|cls)\.kind\s*(==|!=|in)\b")
    source = Path(str(hc.__file__)).parent
    found = [path.name for path in source.rglob("*.py") if asking.search(path.read_text(encoding="utf-8"))]
    assert found == []
