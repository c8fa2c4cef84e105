"""Every joint type against what its coordinates say: pose, velocity, limits, and itself turned around."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from helicoid.errors import ModelError
from helicoid.geometry import se3
from helicoid.model.joint_type import JointType
from helicoid.model.joints import (
    TYPES,
    Continuous,
    Fixed,
    Floating,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    unit,
)
from random_trees import KINDS, ONE_AXIS, Array, assert_close, joint_type, seeds

kinds = st.sampled_from(KINDS)


def drawn(kind: str, seed: int) -> tuple[JointType, Array, Array]:
    """A joint, and random q and v."""
    rng = np.random.default_rng(seed)
    joint = joint_type(kind, rng)
    free = np.full(joint.nq, np.inf)
    return joint, joint.random(rng, -free, free), rng.normal(size=joint.nv)


def number(expression: Any) -> Array:
    return np.array(ca.evalf(ca.SX(expression)), dtype=np.float64)


def matrix(joint: JointType, q: Array) -> Array:
    R, p = joint.pose(ca.SX(q))
    return np.asarray(se3.pose(number(R), number(p).ravel()))


def subspace(joint: JointType, q: Array) -> Array:
    return number(joint.subspace(ca.SX(q)))


def along(joint: JointType, expression: Any, q: Any, at: Array, v: Array) -> Array:
    """d/dt of an expression of the symbol q at q = at, q̇ = Γ v."""
    rate = ca.jtimes(ca.densify(expression), q, joint.rate_matrix(q) @ v)
    return np.array(ca.Function("rate", [q], [rate])(at), dtype=np.float64)


@given(kinds, seeds)
def test_subspace_is_the_twist_of_the_pose(kind: str, seed: int) -> None:
    """T⁻¹ Ṫ = [S v], and Ṡ v is the rate of S v at constant v."""
    joint, at, v = drawn(kind, seed)
    q = ca.SX.sym("q", joint.nq)
    T_dot = along(joint, se3.pose(*joint.pose(q)), q, at, v)
    assert_close(np.linalg.inv(matrix(joint, at)) @ T_dot, se3.hat(subspace(joint, at) @ v))
    rate = along(joint, joint.subspace(q) @ v, q, at, v) if kind in ("universal", "planar") else np.zeros(6)
    assert_close(number(joint.subspace_rate(ca.SX(at), ca.SX(v))).ravel(), rate.ravel())


@given(kinds, seeds)
def test_pose_is_a_rigid_motion_and_neutral_the_identity(kind: str, seed: int) -> None:
    joint, q, _ = drawn(kind, seed)
    R = matrix(joint, q)[:3, :3]
    assert_close(R @ R.T, np.eye(3), 1e-13)
    assert np.linalg.det(R) > 0
    np.testing.assert_array_equal(matrix(joint, joint.neutral()), np.eye(4))


@given(st.sampled_from(ONE_AXIS), seeds)
def test_one_axis_is_a_screw(kind: str, seed: int) -> None:
    """Its pose is the exponential of its constant subspace."""
    joint, q, _ = drawn(kind, seed)
    assert_close(matrix(joint, q), expm(se3.hat(subspace(joint, q)[:, 0] * q[0])), 1e-12)


def test_poses_against_scipy() -> None:
    q = np.array([0.3, -1.2])
    turned = Rotation.from_rotvec([0.3, 0, 0]) * Rotation.from_rotvec([0, -1.2, 0])
    assert_close(matrix(Universal(), q)[:3, :3], turned.as_matrix(), 1e-14)
    ball = np.array([0.5, -0.5, 0.1, 0.7])
    ball /= np.linalg.norm(ball)
    rotation = Rotation.from_quat(np.roll(ball, -1)).as_matrix()  # SciPy puts w last
    assert_close(matrix(Spherical(), ball)[:3, :3], rotation, 1e-14)
    free = matrix(Floating(), np.concatenate([[1.0, 2.0, 3.0], ball]))
    assert_close(free, se3.pose(rotation, np.array([1.0, 2.0, 3.0])), 1e-14)
    plane = matrix(Planar([0, 0, 1]), np.array([1.0, 2.0, 0.4]))
    assert_close(plane[:3, :3], Rotation.from_rotvec([0, 0, 0.4]).as_matrix(), 1e-14)
    assert_close(plane[:3, 3], [1.0, 2.0, 0.0], 1e-14)
    assert_close(matrix(Helical([0, 0, 2.0], 0.5), np.array([np.pi]))[:3, 3], [0, 0, np.pi / 2], 1e-14)


@given(kinds, seeds)
def test_integrate(kind: str, seed: int) -> None:
    """It begins as q̇ = Γ v; where S is constant it follows the screw; difference undoes it."""
    joint, q, v = drawn(kind, seed)
    dv = v / max(1.0, np.linalg.norm(v) / 3.0)
    step = ca.SX.sym("dv", joint.nv)
    derivative = ca.Function("f", [step], [ca.jacobian(joint.integrate(ca.SX(q), step), step)])(
        np.zeros(joint.nv)
    )
    assert_close(np.array(derivative), number(joint.rate_matrix(ca.SX(q))))
    moved = number(joint.integrate(ca.SX(q), ca.SX(dv))).ravel()
    if kind not in ("universal", "planar"):
        followed = matrix(joint, q) @ expm(se3.hat(subspace(joint, q) @ dv))
        assert_close(matrix(joint, moved), followed, 1e-11, scale=1.0)
    assert_close(number(joint.difference(ca.SX(q), ca.SX(moved))).ravel(), dv, 1e-9)


@given(kinds, seeds)
def test_turned_around_it_is_the_inverse(kind: str, seed: int) -> None:
    """Seen from its child a joint is of the same kind; twice turned it is itself."""
    joint, q, _ = drawn(kind, seed)
    back = joint.reversed()
    assert back.kind == joint.kind
    q_back = joint.reversed_coordinates(q)
    assert_close(matrix(back, q_back), np.linalg.inv(matrix(joint, q)), 1e-12, scale=1.0)
    again = back.reversed()
    assert_close(matrix(again, back.reversed_coordinates(q_back)), matrix(joint, q), 1e-12, scale=1.0)


def test_turned_around_universal_swaps_what_belongs_to_its_axes() -> None:
    np.testing.assert_array_equal(Universal().reversed_order(np.array([1.0, 2.0])), [2.0, 1.0])
    np.testing.assert_array_equal(Planar().reversed_order(np.arange(3.0)), [0.0, 1.0, 2.0])


RANGES = [(-0.2, 0.3), (5.0, np.inf), (-np.inf, -7.0), (-0.5, np.inf), (-np.inf, np.inf), (2.0, 2.0)]


@pytest.mark.parametrize("kind", (*ONE_AXIS, "universal", "planar"))
@pytest.mark.parametrize("limits", RANGES)
def test_random_keeps_within_limits(kind: str, limits: tuple[float, float], rng: np.random.Generator) -> None:
    """Also where one side is open and the limit lies beyond the range that open sides get."""
    joint = joint_type(kind, rng)
    lower, upper = (np.full(joint.nq, limit) for limit in limits)
    samples = np.array([joint.random(rng, lower, upper) for _ in range(50)])
    assert samples.shape == (50, joint.nq)
    assert np.all((samples >= lower) & (samples <= upper))
    if limits[0] < limits[1]:
        assert np.all(np.ptp(samples, axis=0) > 0.2 * np.minimum(joint.widths, upper - lower))


@pytest.mark.parametrize("limits", [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0), (0.3, 0.3), (-1.7e308, 1.7e308)])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_random_within_limits_that_touch_or_overflow(kind: str, limits: tuple[float, float]) -> None:
    lower, upper = (np.array([limit]) for limit in limits)
    drawn = joint_type(kind, np.random.default_rng(0)).random(np.random.default_rng(1), lower, upper)
    assert np.isfinite(drawn).all() and lower <= drawn <= upper


@pytest.mark.parametrize("kind", KINDS)
def test_tangent_range_leads_to_the_ends_of_the_range(kind: str) -> None:
    joint, q, _ = drawn(kind, 3)
    free = np.full(joint.nq, np.inf)
    low, high = joint.tangent_range(q, -free, free)
    assert low.shape == high.shape == (joint.nv,) and np.all(low <= 0) and np.all(high >= 0)
    if joint.nq == joint.nv:
        ends = joint.range(-free, free)
        for dv, end in zip((low, high), ends, strict=True):
            assert_close(number(joint.integrate(ca.SX(q), ca.SX(dv))).ravel(), end)


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_takes_off_what_rounding_leaves(kind: str) -> None:
    joint, q, _ = drawn(kind, 4)
    assert_close(joint.nearest(q), q)
    if joint.quaternion is not None:
        longer = np.array(q)
        longer[joint.quaternion] *= 1.01
        assert_close(joint.nearest(longer), q)


def test_random_covers_turns_and_lengths(rng: np.random.Generator) -> None:
    free = np.array([np.inf])
    turns = np.array([Continuous().random(rng, -free, free) for _ in range(500)])
    lengths = np.array([Prismatic().random(rng, -free, free) for _ in range(500)])
    assert 3.0 < np.abs(turns).max() <= np.pi
    assert 0.95 < np.abs(lengths).max() <= 1.0


def test_random_quaternions_are_unit_and_positions_limited(rng: np.random.Generator) -> None:
    upper = np.array([0.1, 0.2, 0.3, np.inf, np.inf, np.inf, np.inf])
    for _ in range(20):
        q = Floating().random(rng, -upper, upper)
        assert np.all(np.abs(q[:3]) <= upper[:3])
        assert_close([np.linalg.norm(q[3:]), np.linalg.norm(Spherical().random(rng, q, q))], [1, 1], 1e-14)


def test_axes_become_unit_and_stay_exact() -> None:
    np.testing.assert_array_equal(Revolute([0, 0, -3]).axis, [0, 0, -1])
    assert_close(Prismatic([1, 2, 2]).axis, [1 / 3, 2 / 3, 2 / 3], 1e-15)
    np.testing.assert_array_equal(Revolute().axis, [1, 0, 0])
    for axis in np.eye(3):  # exact zeros and ones keep expressions short
        R = matrix(Revolute(axis), np.array([0.3]))[:3, :3]
        assert np.sum(R == 0.0) == 4 and np.sum(R == 1.0) == 1


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "helical", "universal", "planar"])
@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ([0, 0, 0], "a joint axis must not be zero"),
        ([1, 0], "three finite numbers"),
        ([1, 0, np.nan], "three finite numbers"),
    ],
)
def test_impossible_axes(kind: str, axis: list[float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        TYPES[kind](axis=axis)  # type: ignore[call-arg]


def test_parallel_axes_are_no_universal_joint() -> None:
    with pytest.raises(ModelError, match="two axes of a universal joint must not be parallel"):
        Universal([0, 0, 1], [0, 0, -2])
    Universal([0, 0, 1], [0, 0.1, 1])


def test_types_know_their_sizes() -> None:
    sizes = {kind: (cls.nq, cls.nv) for kind, cls in TYPES.items()}
    assert sizes == {
        "fixed": (0, 0),
        "revolute": (1, 1),
        "continuous": (1, 1),
        "prismatic": (1, 1),
        "helical": (1, 1),
        "universal": (2, 2),
        "planar": (3, 3),
        "spherical": (4, 3),
        "floating": (7, 6),
    }
    assert matrix(Fixed(), np.zeros(0)).tolist() == np.eye(4).tolist()
    assert Fixed().subspace(ca.SX(0, 1)).shape == (6, 0)
    assert isinstance(Fixed().reversed(), Fixed)


def test_types_are_frozen() -> None:
    joint = Helical([0, 0, 1], 0.1)
    with pytest.raises(FrozenInstanceError):
        joint.pitch = 0.2  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        joint.axis[0] = 1.0
    assert not unit([1, 1, 0]).flags.writeable
