"""Friction: what rows allow is what the cone of Coulomb, and four corners of a sole, allow."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from helicoid.control import PointContact, SurfaceContact
from helicoid.control.whole_body.contacts import turn_to

numbers = st.floats(-1.0, 1.0)


def rows(contact, friction):
    return np.array(ca.DM(contact.cone(ca.SX(friction))))


@given(st.integers(3, 20), st.floats(0.05, 2.0), numbers, numbers)
def test_a_pyramid_is_inside_of_the_cone_and_touches_it(sides, friction, x, y):
    C = rows(PointContact("foot", sides=sides), friction)
    force = np.array([x, y, 1.0])
    if np.all(C @ force <= 0):
        assert np.hypot(x, y) <= friction * (1 + 1e-12)
    if np.hypot(x, y) <= friction * np.cos(np.pi / sides) * (1 - 1e-9):
        assert np.all(C @ force <= 0)
    assert np.all(C @ [0.0, 0.0, 1.0] < 0) and np.any(C @ [0.0, 0.0, -1.0] > 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(numbers, min_size=5, max_size=5), st.floats(0.2, 1.0), st.floats(0.05, 0.3), st.floats(0.05, 0.3)
)
def test_a_sole_gives_what_its_four_corners_can_give(parts, friction, length, width):
    """By a linear program: are there four forces at the corners, each in its pyramid, with this wrench?"""
    C = rows(SurfaceContact("sole", friction, size_xy=(length, width)), friction)
    reach = np.array([width, length, friction * (length + width), friction, friction])
    wrench = np.r_[0.6 * reach * parts, 1.0]
    inner = friction / np.sqrt(2)
    corners = [(s * length / 2, t * width / 2, 0.0) for s in (1, -1) for t in (1, -1)]
    to_wrench = np.hstack([np.vstack([ca.DM(ca.skew(ca.DM(r))).full(), np.eye(3)]) for r in corners])
    pyramid = [(1, 0, -inner), (-1, 0, -inner), (0, 1, -inner), (0, -1, -inner)]
    A = np.kron(np.eye(4), np.array(pyramid))
    found = linprog(np.zeros(12), A, np.zeros(16), to_wrench, wrench, bounds=(None, None))
    margin = np.max(C @ wrench)
    if abs(margin) > 1e-6:
        assert (found.status == 0) == (margin < 0)


@given(numbers, numbers, numbers)
def test_axes_are_a_rotation_with_the_normal(x, y, z):
    normal = np.array([x, y, z + 1.001])
    R = turn_to(normal)
    assert np.allclose(R.T @ R, np.eye(3)) and np.isclose(np.linalg.det(R), 1.0)
    assert np.allclose(R[:, 2], normal / np.linalg.norm(normal))
    assert np.array_equal(turn_to(np.array([0.0, 0.0, 2.0])), np.eye(3))
