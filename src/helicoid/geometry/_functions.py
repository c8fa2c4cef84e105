"""Scalar functions whose value and derivatives stay finite and accurate where the textbook form is 0/0.

Each picks between a power series and a closed form. CasADi evaluates and differentiates both, and
0·inf is NaN, so the branch that is not taken is always given a harmless argument.
"""

from __future__ import annotations

import math

from helicoid.errors import InputError
from helicoid.geometry._array import Array, as_array, atan2, cos, dot, is_symbolic, sin, sqrt, vector, where

# Below this s the closed forms of the higher Stumpff functions lose digits; the series needs no more
# than the terms below to reach the last bit, its second derivative included.
_STUMPFF_LIMIT = 4.0
_STUMPFF_TERMS = 13

# Numbers have no derivatives to keep accurate: below this s their series are short, above it no term of the
# closed forms, times s, is off by more than the last bit.
_SERIES_LIMIT = 0.25

# The closed form atan(x)/x is accurate at any x > 0, its second derivative only to eps/x⁴.
_ARCTANGENT_LIMIT = 0.0625
_ARCTANGENT_TERMS = 16

# Squares below this lose digits to underflow: a vector shorter than 1e-140 counts as zero.
ZERO_SQUARED = 1e-280


def _horner(coefficients: list[float], x: Array) -> Array:
    """Σ coefficients[k] x^k."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def stumpff(s: Array) -> tuple[Array, ...]:
    """The Stumpff functions c₀ … c₅ at s = θ²: c_n(s) = Σ_k (−s)^k / (2k + n)!.

    With θ = √s: c₀ = cos θ, c₁ = sin θ/θ, c₂ = (1 − cos θ)/θ², c₃ = (θ − sin θ)/θ³; in general
    c_n = 1/n! − s c_{n+2}, and dc_n/ds = (n c_{n+2} − c_{n+1})/2. They are all that exp and the
    Jacobians of SO(3) and SE(3) need.
    """
    small = s < _STUMPFF_LIMIT
    near = where(small, s, 0.0)
    far = where(small, _STUMPFF_LIMIT, s)
    factorials = [math.factorial(n) for n in range(6)]
    # Near zero: the two highest from their series, the others downwards (no subtraction cancels).
    series = [
        _horner([(-1) ** k / math.factorial(2 * k + n) for k in range(_STUMPFF_TERMS)], near) for n in (5, 4)
    ]
    for n in (3, 2, 1, 0):
        series.append(1.0 / factorials[n] - near * series[-2])
    # Away from zero: the two lowest from the trigonometric functions, the others upwards.
    theta = sqrt(far)
    closed = [cos(theta), sin(theta) / theta]
    for n in range(4):
        closed.append((1.0 / factorials[n] - closed[n]) / far)
    return tuple(where(small, a, b) for a, b in zip(reversed(series), closed, strict=True))


def exponential_coefficients(s: Array) -> tuple[Array, Array, Array]:
    """c₁, c₂, c₃ of the Stumpff functions at s = θ², which exp of SO(3) and SE(3) needs."""
    if type(s) is not float:
        _, c1, c2, c3, *_ = stumpff(s)
        return c1, c2, c3
    if not ZERO_SQUARED < s < math.inf:
        return (1.0, 0.5, 1.0 / 6.0) if s < 1.0 else (math.nan, math.nan, math.nan)
    half = 0.5 * math.sqrt(s)
    sine = math.sin(half)
    c1 = sine * math.cos(half) / half
    if s > _SERIES_LIMIT:
        return c1, 2.0 * sine * sine / s, (1.0 - c1) / s
    near = 1 / 39916800 - s * (1 / 6227020800 - s * (1 / 1307674368000 - s / 355687428096000))
    c3 = 1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s * near)))
    return c1, 2.0 * sine * sine / s, c3


def half_angle_coefficients(s: Array) -> tuple[Array, Array]:
    """cos(θ/2) and sin(θ/2)/θ at s = θ², which the exponential of a quaternion needs."""
    if type(s) is not float:
        c0, c1, *_ = stumpff(s / 4.0)
        return c0, 0.5 * c1
    if not ZERO_SQUARED < s < math.inf:
        return (1.0, 0.5) if s < 1.0 else (math.nan, math.nan)
    angle = math.sqrt(s)
    return math.cos(0.5 * angle), math.sin(0.5 * angle) / angle


def inverse_jacobian_coefficient(s: Array) -> tuple[Array, Array]:
    """d(s) = (1 − (θ/2) cot(θ/2))/θ² at s = θ², the coefficient in J⁻¹ = 1 − φ^/2 + d φ^², and dd/ds.

    Written with the Stumpff functions of the half angle, which leaves no 0/0 at all: the only
    singularity is the true one, at θ = 2π.
    """
    _, c1, c2, c3, c4, c5 = stumpff(s / 4.0)
    d = (c2 - c3) / (4.0 * c1)
    numerator_slope = (3.0 * c4 - c3 - 3.0 * c5) / 2.0
    c1_slope = (c3 - c2) / 2.0
    return d, (numerator_slope * c1 - (c2 - c3) * c1_slope) / (16.0 * c1 * c1)


def inverse_coefficient(s: Array) -> Array:
    """d(s) = (1 − (θ/2) cot(θ/2))/θ² at s = θ², the coefficient in J⁻¹ = 1 − φ^/2 + d φ^²."""
    if type(s) is not float:
        return inverse_jacobian_coefficient(s)[0]
    if s < _SERIES_LIMIT:  # Bernoulli's numbers
        near = 1 / 1209600 + s * (1 / 47900160 + s * (691 / 1307674368000 + s / 74724249600))
        return 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * near))
    if not s < math.inf:
        return math.nan
    half = 0.5 * math.sqrt(s)
    return (1.0 - half / math.tan(half)) / s


def arctangent_ratio(n_squared: Array, w: Array) -> Array:
    """atan2(n, w)/n with n = √n_squared and w ≥ 0, smooth through n = 0."""
    if type(n_squared) is float:
        if n_squared > ZERO_SQUARED:
            n = math.sqrt(n_squared)
            return math.atan2(n, w) / n
        return 1.0 / w if w else math.nan
    small = n_squared < _ARCTANGENT_LIMIT * w * w
    w_near = where(small, w, 1.0)
    x_squared = where(small, n_squared, 0.0) / (w_near * w_near)
    near = _horner([(-1) ** k / (2 * k + 1) for k in range(_ARCTANGENT_TERMS)], x_squared) / w_near
    n = sqrt(where(small, 1.0, n_squared))
    return where(small, near, atan2(n, w) / n)


def magnitude_and_direction(x: Array) -> tuple[Array, Array]:
    """|x| and x/|x| of a 3-vector; (0, e_x) with finite derivatives at x = 0."""
    s = dot(x, x)
    nonzero = s > ZERO_SQUARED
    magnitude = sqrt(where(nonzero, s, 1.0))
    return where(nonzero, magnitude, 0.0), where(nonzero, x / magnitude, vector([1.0, 0.0, 0.0]))


def unit_axis(axis: Array) -> Array:
    """The axis divided by its length; a NumPy axis of length zero raises an InputError."""
    n = as_array(axis, (3,), "axis")
    if not is_symbolic(n):
        if not n.any():
            raise InputError("axis is the zero vector; any other vector is right")
        n = n / abs(n).max()  # so that no length, however small or large, is lost in its square
    return magnitude_and_direction(n)[1]


def polar(y: Array, x: Array, tolerance: float = 0.0) -> tuple[Array, Array]:
    """√(x² + y²) and atan2(y, x); (0, 0) with finite derivatives where the radius is within tolerance."""
    s = x * x + y * y
    regular = s > max(tolerance * tolerance, ZERO_SQUARED)
    radius = where(regular, sqrt(where(regular, s, 1.0)), 0.0)
    return radius, where(regular, atan2(where(regular, y, 0.0), where(regular, x, 1.0)), 0.0)
