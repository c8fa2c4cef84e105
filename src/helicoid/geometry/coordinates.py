"""Positions of a point: Cartesian (x, y, z), cylindrical (ρ, θ, z), spherical (r, θ, φ).

Cylindrical: ρ ≥ 0 is the distance from the z axis and θ the azimuth, from x towards y.
Spherical: r ≥ 0 is the distance from the origin, θ the azimuth from x towards y, φ the angle
from the z axis, in [0, π].
Lengths are in m, angles in radians, vectors of shape (3,). The velocity in the Cartesian frame is
v = E(χ) χ̇; for Cartesian coordinates E is the identity. On the z axis θ is undefined, 0 comes back for
it, and E has no inverse.
"""

from __future__ import annotations

from helicoid.errors import InputError
from helicoid.geometry._array import Array, as_array, cos, is_symbolic, matrix, sin, vector
from helicoid.geometry._functions import polar


def cylindrical_to_cartesian(cylindrical: Array) -> Array:
    """(ρ cos θ, ρ sin θ, z).

    >>> import numpy as np
    >>> print(cylindrical_to_cartesian([2.0, np.pi / 2, 3.0]).round(12))
    [0. 2. 3.]
    """
    chi = as_array(cylindrical, (3,), "cylindrical")
    rho, theta, z = (chi[i] for i in range(3))
    return vector([rho * cos(theta), rho * sin(theta), z])


def cartesian_to_cylindrical(position: Array) -> Array:
    """(√(x² + y²), atan2(y, x), z).

    >>> print(cartesian_to_cylindrical([0.0, 2.0, 3.0]))
    [2. 1.57079633 3. ]
    """
    p = as_array(position, (3,), "position")
    return vector([*polar(p[1], p[0]), p[2]])


def spherical_to_cartesian(spherical: Array) -> Array:
    """(r cos θ sin φ, r sin θ sin φ, r cos φ).

    >>> import numpy as np
    >>> print(spherical_to_cartesian([2.0, 0.0, np.pi / 2]).round(12))
    [2. 0. 0.]
    """
    chi = as_array(spherical, (3,), "spherical")
    r, theta, phi = (chi[i] for i in range(3))
    return vector([r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi)])


def cartesian_to_spherical(position: Array) -> Array:
    """(√(x² + y² + z²), atan2(y, x), atan2(√(x² + y²), z)).

    >>> print(cartesian_to_spherical([0.0, 2.0, 0.0]))
    [2. 1.57079633 1.57079633]
    """
    p = as_array(position, (3,), "position")
    rho, theta = polar(p[1], p[0])
    r, phi = polar(rho, p[2])
    return vector([r, theta, phi])


def cylindrical_rate_to_velocity(cylindrical: Array) -> Array:
    """E(χ) = ∂(x, y, z)/∂(ρ, θ, z), shape (3, 3).

    >>> print(cylindrical_rate_to_velocity([2.0, 0.0, 3.0]) @ [0.0, 1.0, 0.0])
    [0. 2. 0.]
    """
    chi = as_array(cylindrical, (3,), "cylindrical")
    rho, c, s = chi[0], cos(chi[1]), sin(chi[1])
    return matrix([[c, -rho * s, 0.0], [s, rho * c, 0.0], [0.0, 0.0, 1.0]])


def velocity_to_cylindrical_rate(cylindrical: Array) -> Array:
    """E(χ)⁻¹, shape (3, 3); at ρ = 0 NumPy input raises an InputError, CasADi gives inf.

    >>> print(velocity_to_cylindrical_rate([2.0, 0.0, 3.0]) @ [0.0, 2.0, 0.0])
    [0. 1. 0.]
    """
    chi = as_array(cylindrical, (3,), "cylindrical")
    rho, c, s = chi[0], cos(chi[1]), sin(chi[1])
    _require_off_axis(rho, "cylindrical")
    return matrix([[c, s, 0.0], [-s / rho, c / rho, 0.0], [0.0, 0.0, 1.0]])


def spherical_rate_to_velocity(spherical: Array) -> Array:
    """E(χ) = ∂(x, y, z)/∂(r, θ, φ), shape (3, 3).

    >>> import numpy as np
    >>> print((spherical_rate_to_velocity([2.0, 0.0, np.pi / 2]) @ [0.0, 0.0, 1.0]).round(12))
    [ 0. 0. -2.]
    """
    chi = as_array(spherical, (3,), "spherical")
    r, ct, st, cp, sp = chi[0], cos(chi[1]), sin(chi[1]), cos(chi[2]), sin(chi[2])
    return matrix(
        [[ct * sp, -r * st * sp, r * ct * cp], [st * sp, r * ct * sp, r * st * cp], [cp, 0.0, -r * sp]]
    )


def velocity_to_spherical_rate(spherical: Array) -> Array:
    """E(χ)⁻¹, shape (3, 3); where r sin φ = 0 NumPy input raises an InputError, CasADi gives inf.

    >>> import numpy as np
    >>> print((velocity_to_spherical_rate([2.0, 0.0, np.pi / 2]) @ [0.0, 0.0, -2.0]).round(12))
    [0. 0. 1.]
    """
    chi = as_array(spherical, (3,), "spherical")
    r, ct, st, cp, sp = chi[0], cos(chi[1]), sin(chi[1]), cos(chi[2]), sin(chi[2])
    _require_off_axis(r * sp, "spherical")
    return matrix(
        [
            [ct * sp, st * sp, cp],
            [-st / (r * sp), ct / (r * sp), 0.0],
            [ct * cp / r, st * cp / r, -sp / r],
        ]
    )


def _require_off_axis(distance: Array, system: str) -> None:
    if not is_symbolic(distance) and distance == 0.0:
        raise InputError(f"the {system} coordinates are on the z axis, where their rates do not exist")
