"""Blade-element momentum theory with swirl and tip loss: performance of a propeller from its geometry.

At every radius the velocity relative to the blade is W = (W_a, W_t), on a circle with the angle ψ (Drela
2007, QPROP formulation): 2 W_a = U_a + U sin ψ, 2 W_t = U_t + U cos ψ, U = (V, Ω r). The circulation of
the wake, Γ = 4π r/B v_t F √(1 + (4 λ R / π B r)²) with Prandtl's F, equals that of the blade, Γ = ½ W c c_l:
one equation for ψ, solved by bisection, which always terminates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from helicoid._typing import Array
from helicoid.aerial.air.atmosphere import Air
from helicoid.aerial.checks import check_positive, is_number
from helicoid.aerial.propulsion.airfoil import Airfoil
from helicoid.aerial.propulsion.polars import Polars
from helicoid.errors import InputError

_BISECTIONS = 60
_BRACKET = 1.5  # rad: width of the interval of ψ, from the undisturbed flow


class BladeStations(NamedTuple):
    """Flow and loads along a blade, at the middle of each element; the last axis is the radius.

    `radius`, `chord` (m), `pitch` (rad); `lift` and `drag`, c_l and c_d; `reynolds`, `mach`; `axial` (m/s),
    the velocity through the disc; `swirl` (m/s), the tangential velocity; `thrust` (N/m) and `torque` (N) of
    all blades per radius.
    """

    radius: Array
    chord: Array
    pitch: Array
    lift: Array
    drag: Array
    reynolds: Array
    mach: Array
    axial: Array
    swirl: Array
    thrust: Array
    torque: Array


@dataclass(frozen=True, eq=False)
class Blade:
    """Geometry of a propeller's blades, interpolated by cubic splines, and their airfoil.

    `r` (m), `chord` (m) and `pitch` (rad) at ascending radii; `radius` R of the propeller (m). There is no
    blade inside the first and outside the last radius.
    """

    r: Array
    chord: Array
    pitch: Array
    blades: int
    radius: float
    airfoil: Airfoil | Polars
    parts: int = 25

    @staticmethod
    def of(
        r: ArrayLike,
        chord: ArrayLike,
        pitch: ArrayLike,
        blades: int,
        radius: float,
        airfoil: Airfoil | Polars,
    ) -> Blade:
        """A blade, with its numbers checked."""
        check_positive("a propeller's radius", radius, "m")
        try:
            columns = [np.array(x, dtype=np.float64) for x in (r, chord, pitch)]
        except (TypeError, ValueError):
            raise InputError("r, chord and pitch are columns of numbers (m, m, rad)") from None
        if any(x.ndim != 1 or len(x) < 4 or len(x) != len(columns[0]) for x in columns):
            raise InputError("r, chord and pitch are columns of one length, of 4 radii or more")
        if not all(np.isfinite(x).all() for x in columns):
            raise InputError("r, chord and pitch are finite numbers (m, m, rad)")
        R = float(radius)
        first, last = columns[0][0], columns[0][-1]
        if np.any(np.diff(columns[0]) <= 0) or not first > 0 or not last <= R * (1 + 1e-9):
            raise InputError(f"r ascends from above 0 to at most radius = {R:g} m; got {first:g} to {last:g}")
        if np.any(columns[1] <= 0) or np.any(np.abs(columns[2]) > np.pi / 2):
            raise InputError("chords are positive (m), and pitch lies between -π/2 and π/2: it is in radians")
        if not is_number(blades) or int(blades) != blades or blades < 1:
            raise InputError(f"a propeller has a whole number of blades; got {blades!r}")
        return Blade(columns[0], columns[1], columns[2], int(blades), R, airfoil)

    def solve(self, speed: Array, omega: Array, air: Air) -> BladeStations:
        """Flow along the blade; speeds (m/s) and rates (rad/s) have one shape; radii are appended."""
        edges = np.linspace(self.r[0], self.r[-1], self.parts + 1)
        r = (edges[1:] + edges[:-1]) / 2
        chord, pitch = CubicSpline(self.r, self.chord)(r), CubicSpline(self.r, self.pitch)(r)
        U_a, U_t = np.broadcast_arrays(speed[..., None], omega[..., None] * r)
        undisturbed = np.arctan2(U_a, U_t)
        lift = self._lift(undisturbed, U_a, U_t, r, chord, pitch, air)[0]
        # With positive lift in the undisturbed flow the blade drives the air and ψ is larger, else smaller.
        side = np.where(lift >= 0, _BRACKET, -_BRACKET)
        near, far = undisturbed, undisturbed + side
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            beyond = side * self._excess(middle, U_a, U_t, r, chord, pitch, air) > 0
            near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
        psi = (near + far) / 2
        c_l, c_d, Re, Ma, W_a, W_t = self._lift(psi, U_a, U_t, r, chord, pitch, air)
        scale = air.density / 2 * np.hypot(W_a, W_t) * self.blades * chord
        thrust, torque = scale * (c_l * W_t - c_d * W_a), scale * (c_l * W_a + c_d * W_t) * r
        return BladeStations(r, chord, pitch, c_l, c_d, Re, Ma, W_a, U_t - W_t, thrust, torque)

    @property
    def part(self) -> float:
        """Radial length of a blade element (m)."""
        return float(self.r[-1] - self.r[0]) / self.parts

    def _lift(
        self, psi: Array, U_a: Array, U_t: Array, r: Array, chord: Array, pitch: Array, air: Air
    ) -> tuple[Array, ...]:
        U = np.hypot(U_a, U_t)
        W_a, W_t = (U_a + U * np.sin(psi)) / 2, (U_t + U * np.cos(psi)) / 2
        W = np.hypot(W_a, W_t)
        Re, Ma = air.density * W * chord / air.viscosity, W / air.sound_speed
        c_l, c_d = self.airfoil.coefficients(pitch - np.arctan2(W_a, W_t), Re, Ma)
        return c_l, c_d, Re, Ma, W_a, W_t

    def _excess(
        self, psi: Array, U_a: Array, U_t: Array, r: Array, chord: Array, pitch: Array, air: Air
    ) -> Array:
        """Circulation of the wake less that of the blade (m²/s)."""
        c_l, _, _, _, W_a, W_t = self._lift(psi, U_a, U_t, r, chord, pitch, air)
        B, R = self.blades, self.radius
        wake = np.maximum(np.abs(r / R * W_a / np.where(np.abs(W_t) < 1e-9, 1e-9, W_t)), 1e-9)  # λ
        F = 2 / np.pi * np.arccos(np.exp(-B / 2 * (1 - r / R) / wake))
        # The circulation changes sign with reversed flow: v_t W_t = v_a W_a.
        swirl_factor = np.sqrt(1 + (4 * wake * R / (np.pi * B * r)) ** 2)
        circulation = np.sign(W_a) * (U_t - W_t) * 4 * np.pi * r / B * F * swirl_factor
        return np.asarray(circulation - np.hypot(W_a, W_t) * chord * c_l / 2)
