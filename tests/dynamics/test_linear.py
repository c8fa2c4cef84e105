"""The symbolic factors of a mass matrix: against NumPy, with a tree's zeros kept, and where there is none."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import helicoid as hc
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Prismatic, Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link

squares = st.integers(1, 6).flatmap(
    lambda n: arrays.arrays(np.float64, (n, n), elements=st.floats(-2.0, 2.0))
)


@given(squares)
def test_solve_and_inverse(A: np.ndarray) -> None:
    M = A @ A.T + np.eye(len(A))
    symbol = ca.SX.sym("M", *M.shape)
    b = np.arange(2.0 * len(A)).reshape(len(A), 2)
    f = ca.Function("f", [symbol], [solve(factor(symbol), ca.SX(b)), inverse(symbol)])
    x, M_inverse = (np.array(value) for value in f(M))
    np.testing.assert_allclose(M @ x, b, atol=1e-9)
    np.testing.assert_allclose(M_inverse, np.linalg.inv(M), atol=1e-9)
    np.testing.assert_array_equal(M_inverse, M_inverse.T)


def test_no_fill_in_for_a_tree() -> None:
    """Two branches on a base stay apart: the factor has no element that couples them."""
    M = ca.SX.sym("M", 4, 4) * ca.DM([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 0], [1, 0, 0, 1]])
    assert [sorted(row) for row in factor(M).L] == [[], [0], [0, 1], [0]]


def test_nothing_to_solve() -> None:
    assert inverse(ca.SX(0, 0)).shape == (0, 0)
    assert solve(factor(ca.SX(0, 0)), ca.SX(0, 1)).shape == (0, 1)


def hinge(tip: Inertia | None, armature: float = 0.0) -> hc.Robot:
    """Two joints, the last of which carries `tip`."""
    first = Inertia.from_com(1.0, [0.1, 0.0, 0.0], np.eye(3) * 0.01)
    joints = (
        Joint("slide", Prismatic([0, 0, 1]), "world", "cart"),
        Joint("hinge", Revolute([0, 0, 1]), "cart", "tip", armature=armature),
    )
    return hc.Robot(Model("hinge", (Link("world"), Link("cart", first), Link("tip", tip)), joints))


@pytest.mark.parametrize("tip", [None, Inertia.from_com(2.0, [0.0, 0.0, 0.3], np.zeros((3, 3)))])
@pytest.mark.parametrize("function", ["forward_dynamics", "forward_dynamics_crba"])
def test_motion_that_nothing_resists_is_refused(tip: Inertia | None, function: str) -> None:
    """No mass, or a point mass on the axis; armature cures it."""
    q = np.zeros(2)
    with pytest.raises(
        hc.ModelError, match=r"the mass matrix is singular in the row of 'hinge': .* mass, or armature"
    ):
        getattr(hinge(tip), function)(q, q, q)
    with pytest.raises(hc.ModelError, match="the mass matrix is singular in the row of 'hinge'"):
        hinge(tip).mass_matrix_inverse(q)
    a = getattr(hinge(tip, armature=0.5), function)(q, q, np.array([0.0, 1.0]))
    np.testing.assert_allclose(a, [-9.81, 2.0], atol=1e-12)
