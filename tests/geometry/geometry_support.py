"""Strategies and derivative helpers shared by the tests of the geometry."""

from __future__ import annotations

import casadi as ca
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from helicoid.geometry import quaternion, se3, so3

quick = settings(deadline=None, max_examples=max(10, settings.default.max_examples))
fewest = settings(deadline=None, max_examples=max(5, settings.default.max_examples // 2))

# Angles where formulas break: none, tiny, the limits of the series, just short of a half turn.
SPECIAL_ANGLES = [
    0.0,
    1e-160,
    1e-12,
    1e-8,
    1e-4,
    0.5,
    2.0,
    np.nextafter(2.0, 0),
    3.0,
    np.pi - 1e-6,
    np.pi - 1e-10,
]


@st.composite
def unit_vectors(draw, n=3):
    x = np.array(draw(st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n)))
    length = np.linalg.norm(x)
    return x / length if length > 1e-3 else np.eye(n)[draw(st.integers(0, n - 1))]


def vectors(n, size=10.0):
    return st.lists(st.floats(-size, size), min_size=n, max_size=n).map(np.array)


@st.composite
def rotation_vectors(draw, largest=np.pi - 1e-10):
    """Of a length in [0, largest], the special angles often."""
    special = [angle for angle in SPECIAL_ANGLES if angle <= largest]
    angle = draw(st.one_of(st.sampled_from(special), st.floats(0.0, largest)))
    return angle * draw(unit_vectors())


rotations = st.builds(so3.exp, rotation_vectors())
quaternions = st.builds(
    lambda r, sign: sign * quaternion.exp(r), rotation_vectors(), st.sampled_from([1, -1])
)
poses = st.builds(se3.pose, rotations, vectors(3))


def twists(largest=np.pi - 1e-10):
    return st.builds(lambda w, v: np.concatenate([w, v]), rotation_vectors(largest), vectors(3))


def derivatives(function, point, kind=ca.SX):
    """Value (m,), Jacobian (m, n) and second derivatives (m, n, n) of the flattened function, by AD."""
    point = np.atleast_1d(point)
    n = len(point)
    x = kind.sym("x", n)
    value = ca.densify(ca.vec(function(x)))
    first = ca.densify(ca.jacobian(value, x))
    second = ca.densify(ca.jacobian(ca.vec(first), x))
    f, df, ddf = (out.full() for out in ca.Function("f", [x], [value, first, second])(point))
    m = len(f)
    return f[:, 0], df, ddf.reshape(m, n, n, order="F")


def rate(function, x, x_dot):
    """d/dt function(x(t)) with the shape of the function, by AD."""
    symbol = ca.SX.sym("x", len(x))
    value = ca.densify(function(symbol))
    directional = ca.jtimes(value, symbol, ca.DM(x_dot))
    return ca.Function("rate", [symbol], [directional])(x).full()


def flatten(matrix):
    """Column by column, as CasADi's vec."""
    return np.asarray(matrix).ravel(order="F")
