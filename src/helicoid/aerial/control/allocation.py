"""Control allocation: rotor speeds for a thrust and three moments, within limits and by priorities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.motor import ElectricMotor
from helicoid.control.qp import QuadraticProgram
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError

PRIORITIES = (("roll", "pitch"), ("thrust",), ("yaw",))
"""Default priorities: attitude, then height, then heading."""
_ROWS = {"thrust": 0, "roll": 1, "pitch": 2, "yaw": 3}


@dataclass(frozen=True, eq=False)
class AllocationResult:
    """Result of a control allocation.

    Attributes:
        speeds: of the rotors (rad/s).
        given: thrust (N) and moments (N·m) that these speeds give.
        missing: commanded less given.
        success: whether all of the command is given; `message` names what is missing.
    """

    speeds: Array
    given: Array
    missing: Array
    success: bool
    message: str = ""

    ok = former_attribute("ok", "success")


class Allocation:
    """Control allocation: solves U = A ω² for ω by least squares, or within limits by quadratic programs.

    Args:
        vehicle: a rotorcraft with speed-controlled motors.
        failed: names of rotors that do not turn, such as "rotor_2".
        priorities: groups of "thrust", "roll", "pitch", "yaw", the most important first; within limits,
            a group is met as well as the groups before it allow (lexicographic).

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> allocation = hc.aerial.Allocation(quad)
    >>> easy = allocation(7.0, [0.01, 0.0, 0.0])
    >>> hard = allocation(7.0, [0.2, 0.0, 3.0])  # more yaw than drag torques can give
    >>> print(easy.success, hard.success, (hard.missing[:3].round(4) == 0).all())
    True False True
    """

    def __init__(
        self,
        vehicle: Multirotor,
        failed: Sequence[str] = (),
        priorities: Sequence[Sequence[str]] = PRIORITIES,
    ) -> None:
        check_speeds(vehicle)
        named = [one for group in priorities for one in group]
        if sorted(named) != sorted(_ROWS):
            raise InputError(f"priorities name thrust, roll, pitch and yaw once each; got {priorities!r}")
        rotors = list(vehicle.own_controls)
        unknown = [name for name in failed if name not in rotors]
        if unknown:
            raise InputError(
                f"there is no rotor {', '.join(map(repr, unknown))}; there are {', '.join(rotors)}"
            )
        self.vehicle, self.failed = vehicle, tuple(failed)
        self.matrix = vehicle.allocation_matrix
        works = np.array([name not in failed for name in rotors])
        lower, upper = squared_speed_limits(vehicle)
        self._lower, self._upper = np.where(works, lower, 0.0), np.where(works, upper, 0.0)
        self._scale = np.abs(self.matrix) @ upper  # upper bound of each row
        self._levels = [[_ROWS[one] for one in group] for group in priorities]
        self._works = works

    def by_matrix(self, thrust: float, moments: ArrayLike) -> Array:
        """ω² = A⁺ U without limits; zero for failed rotors."""
        U = np.concatenate([[thrust], np.asarray(moments, np.float64)])
        squares = np.zeros(len(self._works))
        squares[self._works] = np.linalg.pinv(self.matrix[:, self._works]) @ U
        return squares

    def __call__(self, thrust: float, moments: ArrayLike) -> AllocationResult:
        """Rotor speeds within limits for a thrust (N) and moments (3, N·m), by priorities."""
        U = np.concatenate([[thrust], np.asarray(moments, np.float64)])
        if U.shape != (4,) or not np.isfinite(U).all():
            raise InputError(
                f"allocation takes a thrust (N) and three moments (N·m); got {thrust!r}, {moments!r}"
            )
        x = self._lexicographic(U)
        given = self.matrix @ x
        missing = U - given
        short = [name for name, k in _ROWS.items() if abs(missing[k]) > 1e-6 * self._scale[k]]
        message = f"beyond the limits of the rotors: {', '.join(short)}" if short else ""
        return AllocationResult(np.sqrt(x), given, missing, not short, message)

    def _lexicographic(self, U: Array) -> Array:
        """Lexicographic least squares: each level is solved with the values of the previous levels fixed."""
        n = len(self._upper)
        top = np.where(self._upper > 0, self._upper, 1.0)
        A, command = self.matrix / self._scale[:, None] * top, U / self._scale
        lower, upper = self._lower / top, np.where(self._upper > 0, 1.0, 0.0)
        fixed: list[int] = []
        x = np.full(n, 0.5)
        for level in self._levels:
            program = QuadraticProgram(n, max(len(fixed), 1))
            rows = A[fixed] if fixed else np.zeros((1, n))
            values = rows @ x if fixed else np.zeros(1)
            H = A[level].T @ A[level] + 1e-7 * np.eye(n)
            solution = program.solve(
                H,
                -A[level].T @ command[level],
                rows,
                values - 1e-9,
                values + 1e-9,
                lower=lower,
                upper=upper,
                price=1e6,
            )
            x = np.clip(solution.x, lower, upper)
            fixed += level
        return x * top


def check_speeds(vehicle: Multirotor) -> None:
    """Refuse all but a multirotor whose controls are rotor speeds."""
    if not isinstance(vehicle, Multirotor):
        raise InputError(f"this is for rotorcraft, such as hc.aerial.load('hummingbird'); got {vehicle!r}")
    if any(isinstance(rotor.motor, ElectricMotor) for rotor in vehicle.rotors):
        raise InputError(
            "control commands rotor speeds, and an ElectricMotor takes a voltage: use Motor(...) instead"
        )


def squared_speed_limits(vehicle: Multirotor) -> tuple[Array, Array]:
    """Bounds of ω²."""
    limits = np.array(list(vehicle.own_controls.values()))
    return limits[:, 0] ** 2, limits[:, 1] ** 2


def allocated_speeds(vehicle: Multirotor, U: Expression) -> tuple[Expression, Expression]:
    """Rotor speeds for U (4) as expressions, and whether they saturate (0 or 1).

    By the pseudo-inverse. Where a rotor would leave its limits, yaw is reduced first, then thrust is moved
    towards the middle of its range so that roll and pitch fit, and these are reduced last: the attitude
    decides whether the vehicle stays in the air.
    """
    P = np.linalg.pinv(vehicle.allocation_matrix)
    lower, upper = squared_speed_limits(vehicle)
    thrust = P[:, 0]
    lifting = [k for k in range(len(thrust)) if thrust[k] > 1e-9 * np.abs(thrust).max()]
    max_lift = min(upper[k] / thrust[k] for k in lifting)
    min_lift = max(lower[k] / thrust[k] for k in lifting)
    tilting = ca.SX(P[:, 1:3]) @ U[1:3]
    low, high, middle = ca.SX(min_lift), ca.SX(max_lift), (min_lift + max_lift) / 2
    for k in lifting:
        tilt = (1 / thrust[k]) * tilting[k]
        low = ca.fmax(low, lower[k] / thrust[k] - tilt)
        high = ca.fmin(high, upper[k] / thrust[k] - tilt)
    lift = ca.fmax(ca.fmin(U[0], ca.fmax(high, middle)), ca.fmin(low, middle))
    squares = ca.SX(thrust) * lift
    saturated = ca.fabs(lift - U[0]) > 1e-9 * max_lift
    for part in (tilting, ca.SX(P[:, 3]) * U[3]):
        factor = _feasible_factor(squares, part, lower, upper)
        squares = squares + factor * part
        saturated = ca.logic_or(saturated, factor < 1 - 1e-9)
    return ca.sqrt(ca.fmin(ca.fmax(squares, lower), upper)), saturated


def _feasible_factor(base: Expression, part: Expression, lower: Array, upper: Array) -> Expression:
    """Largest s ≤ 1 with lower ≤ base + s part ≤ upper."""
    factor = ca.SX(1)
    for k in range(len(lower)):
        step = part[k]
        size = ca.fmax(ca.fabs(step), 1e-12)
        margin = ca.if_else(step > 0, upper[k] - base[k], base[k] - lower[k])
        factor = ca.fmin(factor, ca.fmax(margin, 0) / size)
    return factor
