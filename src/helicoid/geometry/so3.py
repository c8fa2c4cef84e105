"""Rotations: matrices R in SO(3), rotation vectors φ = θ n, and angle and axis (θ, n).

R_ab maps b-coordinates to a-coordinates. Angles are in radians. Vectors have shape (3,), matrices (3, 3);
`hat`, `vee`, `exp`, `log` and the Jacobians also take NumPy batches of them, (N, 3) or (N, 3, 3).
Notation: φ^ is the skew-symmetric matrix with φ^ x = φ × x.
Reference: Barfoot, State Estimation for Robotics (2017), section 7.1.
"""

from __future__ import annotations

import numpy as np

from helicoid.errors import InputError
from helicoid.geometry._array import (
    Array,
    as_array,
    as_arrays,
    assemble,
    block,
    column,
    components,
    cos,
    is_symbolic,
    promote,
    sin,
)
from helicoid.geometry._components import largest_column, polynomial, rotation_vector
from helicoid.geometry._functions import (
    exponential_coefficients,
    inverse_coefficient,
    magnitude_and_direction,
    unit_axis,
)
from helicoid.geometry._names import Frame, check_frame


def hat(w: Array) -> Array:
    """The skew-symmetric matrix w^ with w^ x = w × x.

    >>> print(hat([1.0, 2.0, 3.0]))
    [[ 0. -3.  2.]
     [ 3.  0. -1.]
     [-2.  1.  0.]]
    """
    x, y, z = components(w, (3,), "w")
    return assemble((0.0, -z, y, z, 0.0, -x, -y, x, 0.0), (3, 3), x)


def vee(matrix_: Array) -> Array:
    """The vector w of w^; of any other matrix, that of its skew-symmetric part (M − Mᵀ)/2.

    >>> print(vee(hat([1.0, 2.0, 3.0])))
    [1. 2. 3.]
    """
    _, xy, xz, yx, _, yz, zx, zy, _ = components(matrix_, (3, 3), "matrix_")
    return assemble(((zy - yz) / 2.0, (xz - zx) / 2.0, (yx - xy) / 2.0), (3,), xy)


def exp(rotvec: Array) -> Array:
    """R = exp(φ^) = 1 + (sin θ/θ) φ^ + ((1 − cos θ)/θ²) φ^², θ = |φ| (Rodrigues).

    >>> import numpy as np
    >>> bool(np.allclose(exp([0.0, 0.0, np.pi / 2]) @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))
    True
    """
    x, y, z = components(rotvec, (3,), "rotvec")
    c1, c2, _ = exponential_coefficients(x * x + y * y + z * z)
    return assemble(polynomial(x, y, z, c1, c2), (3, 3), x)


def log(rotation: Array) -> Array:
    """The shortest rotation vector φ with exp(φ) = R, |φ| ≤ π.

    It goes through the unit quaternion, so it is as accurate near θ = π as elsewhere. At exactly π both
    φ and −φ are right, and one of them comes back.

    >>> print(log(exp([0.1, -0.2, 0.3])).round(12))
    [ 0.1 -0.2  0.3]
    """
    r = components(rotation, (3, 3), "rotation")
    return assemble(rotation_vector(*largest_column(*r)), (3,), r[0])


def left_jacobian(rotvec: Array) -> Array:
    """J(φ) = 1 + ((1 − cos θ)/θ²) φ^ + ((θ − sin θ)/θ³) φ^².

    It maps the rate of the rotation vector to the angular velocity in the world: ω = J φ̇, that is
    d/dt exp(φ) = (J φ̇)^ exp(φ).

    >>> print(left_jacobian([0.0, 0.0, 0.0]).diagonal())
    [1. 1. 1.]
    """
    x, y, z = components(rotvec, (3,), "rotvec")
    _, c2, c3 = exponential_coefficients(x * x + y * y + z * z)
    return assemble(polynomial(x, y, z, c2, c3), (3, 3), x)


def left_jacobian_inverse(rotvec: Array) -> Array:
    """J(φ)⁻¹ = 1 − φ^/2 + ((1 − (θ/2) cot(θ/2))/θ²) φ^²; singular at θ = 2π.

    >>> import numpy as np
    >>> phi = np.array([0.5, 0.2, -1.0])
    >>> bool(np.allclose(left_jacobian_inverse(phi) @ left_jacobian(phi), np.eye(3)))
    True
    """
    x, y, z = components(rotvec, (3,), "rotvec")
    d = inverse_coefficient(x * x + y * y + z * z)
    return assemble(polynomial(x, y, z, -0.5, d), (3, 3), x)


def right_jacobian(rotvec: Array) -> Array:
    """J_r(φ) = J(−φ): the angular velocity in the body is ω = J_r φ̇.

    >>> import numpy as np
    >>> phi = np.array([0.5, 0.2, -1.0])
    >>> bool(np.allclose(exp(phi) @ right_jacobian(phi), left_jacobian(phi)))
    True
    """
    return left_jacobian(-as_arrays(rotvec, (3,), "rotvec"))


def right_jacobian_inverse(rotvec: Array) -> Array:
    """J_r(φ)⁻¹ = J(−φ)⁻¹; singular at θ = 2π.

    >>> import numpy as np
    >>> phi = np.array([0.5, 0.2, -1.0])
    >>> bool(np.allclose(right_jacobian_inverse(phi) @ right_jacobian(phi), np.eye(3)))
    True
    """
    return left_jacobian_inverse(-as_arrays(rotvec, (3,), "rotvec"))


def from_angle_axis(angle: Array, axis: Array) -> Array:
    """R = 1 + sin θ n^ + (1 − cos θ) n^², with n the axis made a unit vector.

    >>> import numpy as np
    >>> bool(np.allclose(from_angle_axis(np.pi / 2, [0.0, 0.0, 2.0]), exp([0.0, 0.0, np.pi / 2])))
    True
    """
    theta, n = promote(as_array(angle, (), "angle"), unit_axis(axis))
    return assemble(polynomial(n[0], n[1], n[2], sin(theta), 1.0 - cos(theta)), (3, 3), n[0] + theta)


def to_angle_axis(rotation: Array) -> tuple[Array, Array]:
    """The angle θ in [0, π] and the unit axis n of R; the axis of no rotation is (1, 0, 0) by choice.

    >>> angle, axis = to_angle_axis(exp([0.0, 0.0, 0.25]))
    >>> print(angle.round(12), axis)
    0.25 [0. 0. 1.]
    """
    return magnitude_and_direction(log(rotation))


def angle_axis_rate_to_angular_velocity(angle: Array, axis: Array, expressed_in: Frame = "body") -> Array:
    """E of shape (3, 4) with ω = E (θ̇, ṅ), for a unit axis n and ṅ perpendicular to it.

    E = [n, sin θ 1 ± (1 − cos θ) n^], + for ω in the world, − in the body.

    >>> print(angle_axis_rate_to_angular_velocity(0.0, [0.0, 0.0, 1.0])[:, 0])
    [0. 0. 1.]
    """
    check_frame(expressed_in)
    theta, n = promote(as_array(angle, (), "angle"), as_array(axis, (3,), "axis"))
    sign = 1.0 if expressed_in == "world" else -1.0
    return block([[column(n), sign * (1.0 - cos(theta)) * hat(n) + sin(theta) * np.eye(3)]])


def angular_velocity_to_angle_axis_rate(angle: Array, axis: Array, expressed_in: Frame = "body") -> Array:
    """E⁻¹ of shape (4, 3) with (θ̇, ṅ) = E⁻¹ ω, for a unit axis n.

    θ̇ = nᵀω and ṅ = −(cot(θ/2) n^² ± n^) ω/2, + for ω in the world, − in the body. The axis has no rate
    at θ = 0: NumPy input raises an InputError there, CasADi gives what the division gives.

    >>> print(angular_velocity_to_angle_axis_rate(1.0, [0.0, 0.0, 1.0])[0])
    [0. 0. 1.]
    """
    check_frame(expressed_in)
    theta, n = promote(as_array(angle, (), "angle"), as_array(axis, (3,), "axis"))
    if not is_symbolic(theta) and theta == 0.0:
        raise InputError("the rate of the axis does not exist at angle 0; use the rotation vector there")
    sign = 1.0 if expressed_in == "world" else -1.0
    half_cotangent = 0.5 * cos(theta / 2.0) / sin(theta / 2.0)
    axis_rate = -half_cotangent * (hat(n) @ hat(n)) - 0.5 * sign * hat(n)
    return block([[column(n).T], [axis_rate]])
