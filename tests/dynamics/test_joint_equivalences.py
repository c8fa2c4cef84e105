"""A joint of several coordinates moves like the simple joints that it stands for, with nothing between them.

Two robots, the joint and its substitute, carry the same arm. At states in which all links are in the same
places and move alike, the generalised forces do the same virtual work: with v = W v', τ' = Wᵀ τ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from helicoid import Robot
from helicoid.geometry import quaternion
from helicoid.model.joints import (
    Floating,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Mimic, Placement
from random_trees import Array, assert_close, inertia, placement

OBLIQUE = np.array([0.48, -0.6, 0.64])
AXES = [
    pytest.param(np.array([0.0, 0.0, 1.0]), marks=pytest.mark.slow),
    pytest.param(np.array([0.0, 0.0, -1.0]), marks=pytest.mark.slow),
    OBLIQUE,
]


def with_arm(*joints: JointType, mimic: Mimic | None = None) -> Robot:
    """A hinge, then these joints with massless links between them, then a massive link and a hinge more."""
    rng = np.random.default_rng(8)
    masses, places = [inertia(rng) for _ in range(3)], [placement(rng) for _ in range(3)]
    names = [f"between{i}" for i in range(len(joints) - 1)] + ["middle"]
    links = [Link("world"), Link("first", masses[0])]
    links += [Link(name, masses[1] if name == "middle" else None) for name in names]
    links += [Link("last", masses[2])]
    chain = [Joint("shoulder", Revolute([0, 1, 0]), "world", "first", places[0])]
    for i, (kind, parent, child) in enumerate(zip(joints, ["first", *names[:-1]], names, strict=True)):
        at = places[1] if i == 0 else Placement()
        follows = mimic if i == 0 else None
        chain.append(Joint(f"joint{i}", kind, parent, child, at, mimic=follows))
    chain.append(Joint("elbow", Revolute([1, 0, 0]), "middle", "last", places[2]))
    return Robot(Model("arm", tuple(links), tuple(chain)))


def twist_map(robot: Robot, q: Array) -> Array:
    return np.vstack([robot.jacobian(link, "body")(q) for link in ("first", "middle", "last")])


def twist_rate(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    links = ("first", "middle", "last")
    return np.concatenate([robot.acceleration(link, "body")(q, v, a) for link in links])


def assert_same_mechanics(joint: Robot, substitute: Robot, to_joint: Callable[[Array], Array]) -> None:
    """`to_joint` gives the coordinates of the joint from those of its substitute."""
    rng = np.random.default_rng(21)
    for _ in range(3):
        q2, v2, a2 = rng.normal(size=(3, substitute.nv)) if substitute.nq == substitute.nv else _ball(rng)
        q1 = np.concatenate([q2[:1], to_joint(q2[1:-1]), q2[-1:]])
        for link in joint.model.frames.keys() & substitute.model.frames.keys():
            assert_close(joint.pose(link)(q1), substitute.pose(link)(q2), scale=1.0)
        J1, J2 = twist_map(joint, q1), twist_map(substitute, q2)
        W = np.linalg.pinv(J1) @ J2
        assert_close(J1 @ W, J2)  # whatever the substitute does, the joint can do
        v1 = W @ v2
        rest = twist_rate(joint, q1, v1, np.zeros(joint.nv))
        a1 = np.linalg.pinv(J1) @ (twist_rate(substitute, q2, v2, a2) - rest)
        assert_close(twist_rate(joint, q1, v1, a1), twist_rate(substitute, q2, v2, a2), 1e-9)

        tau = joint.inverse_dynamics(q1, v1, a1)
        assert_close(W.T @ tau, substitute.inverse_dynamics(q2, v2, a2), 1e-9)
        assert_close(W.T @ joint.mass_matrix(q1) @ W, substitute.mass_matrix(q2))
        assert_close(W.T @ joint.gravity(q1), substitute.gravity(q2), scale=1.0)
        assert_close(joint.kinetic_energy(q1, v1), substitute.kinetic_energy(q2, v2))
        assert_close(substitute.forward_dynamics(q2, v2, W.T @ tau), a2, 1e-6)
        assert_close(joint.forward_dynamics(q1, v1, tau), a1, 1e-6)


def _ball(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A state of hinge, three slides, ball and hinge."""
    ball = rng.normal(size=4)
    q = np.concatenate([rng.normal(size=4), ball / np.linalg.norm(ball), rng.normal(size=1)])
    return q, rng.normal(size=8), rng.normal(size=8)


@pytest.mark.parametrize("axis", AXES)
def test_universal_is_two_hinges(axis: Array) -> None:
    axis2 = np.cross(axis, [0.3, 0.9, -0.1]) + 0.2 * axis
    assert_same_mechanics(
        with_arm(Universal(axis, axis2)), with_arm(Revolute(axis), Revolute(axis2)), lambda q: q
    )


@pytest.mark.parametrize("axis", AXES)
def test_planar_is_two_slides_and_a_hinge(axis: Array) -> None:
    """The plane's x and y complete its normal to a right-handed frame, for any normal."""
    x, y = Planar(axis).plane.T
    assert_close(np.column_stack([x, y, axis]).T @ np.column_stack([x, y, axis]), np.eye(3), 1e-14)
    assert_close(np.cross(x, y), axis, 1e-14)
    substitute = with_arm(Prismatic(x), Prismatic(y), Revolute(axis))
    assert_same_mechanics(with_arm(Planar(axis)), substitute, lambda q: q)


def test_planar_about_z_slides_along_x_and_y() -> None:
    assert_close(Planar([0, 0, 1]).plane, np.eye(3)[:, :2], 1e-15)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("pitch", [pytest.param(0.3, marks=pytest.mark.slow), -0.1])
def test_helical_is_a_hinge_that_drives_a_slide(axis: Array, pitch: float) -> None:
    screw, slide = with_arm(Helical(axis, pitch)), Prismatic(axis)
    assert_same_mechanics(screw, with_arm(slide, Revolute(axis), mimic=Mimic("joint1", pitch)), lambda q: q)


def test_helical_without_pitch_is_a_hinge() -> None:
    axis = OBLIQUE
    assert_same_mechanics(with_arm(Helical(axis, 0.0)), with_arm(Revolute(axis)), lambda q: q)


def test_spherical_is_three_hinges() -> None:
    """Roll, pitch and yaw of a ball: the forces at the hinges are those that the ball's moment does."""

    def to_quaternion(q: Array) -> Array:
        z, y, x = (quaternion.exp(angle * axis) for angle, axis in zip(q, np.eye(3)[::-1], strict=True))
        return np.asarray(quaternion.multiply(quaternion.multiply(z, y), x))

    hinges = with_arm(Revolute([0, 0, 1]), Revolute([0, 1, 0]), Revolute([1, 0, 0]))
    assert_same_mechanics(with_arm(Spherical()), hinges, to_quaternion)


def test_floating_is_three_slides_and_a_ball() -> None:
    slides = [Prismatic(axis) for axis in np.eye(3)]
    assert_same_mechanics(with_arm(Floating()), with_arm(*slides, Spherical()), lambda q: q)
