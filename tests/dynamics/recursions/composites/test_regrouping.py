"""Mass that a joint does not move may be handed to the parent: the motion is the same, with more zeros."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from helicoid import Robot
from helicoid.dynamics.physics import nominal
from helicoid.dynamics.recursions.composites.regrouping import regrouped
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Planar, Prismatic, Revolute, Spherical, Universal
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link
from random_trees import KINDS, Array, assert_close, inertia, joint_type, placement, state


def chain(*types: JointType, seed: int = 0) -> Robot:
    rng = np.random.default_rng(seed)
    names = [f"link{i}" for i in range(len(types))]
    joints = [
        Joint(f"joint{i}", kind, parent, child, placement(rng))
        for i, (kind, parent, child) in enumerate(zip(types, ["world", *names[:-1]], names, strict=True))
    ]
    links = [Link("world"), *(Link(name, inertia(rng)) for name in names)]
    return Robot(Model("chain", tuple(links), tuple(joints)))


# Each kind once as parent and once as child is quick; all pairs are a sweep.
PAIRS = [
    pytest.param(
        parent, child, marks=() if (j - i) % len(KINDS) == 1 else pytest.mark.slow, id=f"{parent}-{child}"
    )
    for i, parent in enumerate(KINDS)
    for j, child in enumerate(KINDS)
]


@pytest.mark.parametrize(("parent", "child"), PAIRS)
def test_same_motion_for_every_pair_of_joint_types(parent: str, child: str) -> None:
    """Against the robot whose inertia is an input: that one cannot be regrouped."""
    rng = np.random.default_rng(KINDS.index(parent) * len(KINDS) + KINDS.index(child))
    robot = chain(joint_type(parent, rng), joint_type(child, rng), seed=int(rng.integers(2**31)))
    whole = robot.parametric("inertia")
    theta = whole.parameters.values
    q, v, a = state(robot, rng)
    tau = whole.inverse_dynamics(q, v, a, theta)
    assert_close(robot.inverse_dynamics(q, v, a), tau)
    assert_close(robot.mass_matrix(q), whole.mass_matrix(q, theta))
    assert_close(robot.forward_dynamics(q, v, tau), a, 1e-7)


def kept(*types: JointType) -> list[Array]:
    robot = chain(*types)
    left = regrouped(robot.model, nominal(robot.model))
    return [np.array(ca.evalf(pi), dtype=np.float64).ravel()[:10] for pi in left]


def test_what_stays_of_a_hinge() -> None:
    """Minimal parameters of a hinge about z: all but hx, hy and five moments are gone, Ixx = -Iyy or so."""
    m, _, _, hz, xx, _, _, yy, _, zz = kept(Spherical(), Revolute([0, 0, 1]))[1]
    assert m == hz == 0.0
    assert xx + yy == zz  # nothing is left along the axis


def test_what_stays_of_a_slide() -> None:
    """A slide does not turn its body against the parent: only mass and first moment stay."""
    body = kept(Spherical(), Prismatic([0, 1, 0]))[1]
    assert body[0] > 0 and np.all(body[1:4] != 0)
    np.testing.assert_array_equal(body[4:], np.zeros(6))


@pytest.mark.parametrize("joint", [Universal(), Spherical()])
def test_what_stays_of_a_fixed_point(joint: JointType) -> None:
    assert kept(Spherical(), joint)[1][0] == 0.0


def test_what_stays_of_a_plane() -> None:
    *_, xx, _, _, yy, _, zz = kept(Spherical(), Planar([0, 0, 1]))[1]
    assert xx + yy == zz


def test_parameters_that_are_inputs_stay() -> None:
    robot = chain(Revolute([0, 0, 1]), Revolute([0, 1, 0]))
    physics = nominal(robot.model)
    symbol = ca.SX.sym("pi", 10)
    mixed = type(physics)(
        (physics.inertias[0], symbol), physics.damping, physics.friction, physics.armature, physics.gravity
    )
    left = regrouped(robot.model, mixed)
    assert ca.is_equal(left[1], symbol)
    assert left[0].is_constant()


def test_fewer_operations() -> None:
    robot = chain(*(Revolute(np.eye(3)[i % 3]) for i in range(4)))
    assert robot.inverse_dynamics.n_operations < robot.parametric("inertia").inverse_dynamics.n_operations


def test_a_light_parent_is_not_given_a_heavy_child() -> None:
    robot = chain(Revolute([0, 0, 1]), Revolute([0, 1, 0]))
    light, heavy = (body.inertia.mass for body in robot.model.bodies)
    physics = nominal(robot.model)
    for at_most, given in ((0.9 * heavy / light, False), (1.1 * heavy / light, True)):
        parent, child = regrouped(robot.model, physics, at_most)
        assert (float(child[0]) == 0.0) == given
        assert float(parent[0]) == 0.0  # the root's mass on its axis moves with nothing at all
