"""From a thrust and three moments to speeds of rotors: by the matrix, within limits, with priorities."""

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
from helicoid.errors import InputError

PRIORITIES = (("roll", "pitch"), ("thrust",), ("yaw",))
"""What a vehicle needs most to stay in the air comes first."""
_ROWS = {"thrust": 0, "roll": 1, "pitch": 2, "yaw": 3}


@dataclass(frozen=True, eq=False)
class Allotted:
    """Speeds of rotors (rad/s), and what they give of what was wanted (thrust, then moments).

    `ok` is whether they give all of it; `missing` is wanted less given.
    """

    speeds: Array
    given: Array
    missing: Array
    ok: bool


class Allocation:
    """U = A ω² solved for ω: by least squares, or within limits by a small quadratic program.

    Args:
        vehicle: whose rotors follow speeds.
        failed: names of rotors that stand still, such as "rotor_2".
        priorities: groups of "thrust", "roll", "pitch", "yaw", the most important first. What cannot be met
            is given up from the last group on.

    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> allocation = hc.aerial.Allocation(quad)
    >>> easy = allocation(7.0, [0.01, 0.0, 0.0])
    >>> hard = allocation(7.0, [0.2, 0.0, 3.0])  # more yaw than drag torques can give
    >>> print(easy.ok, hard.ok, (hard.missing[:3].round(4) == 0).all())
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
        lower, upper = square_limits(vehicle)
        self._lower, self._upper = np.where(works, lower, 0.0), np.where(works, upper, 0.0)
        self._scale = np.abs(self.matrix) @ upper  # what each row could be at most
        self._levels = [[_ROWS[one] for one in group] for group in priorities]
        self._works = works

    def by_matrix(self, thrust: float, moments: ArrayLike) -> Array:
        """ω² = A⁺ U, whatever the limits: the document's allocation. Failed rotors stand still."""
        U = np.concatenate([[thrust], np.asarray(moments, np.float64)])
        squares = np.zeros(len(self._works))
        squares[self._works] = np.linalg.pinv(self.matrix[:, self._works]) @ U
        return squares

    def __call__(self, thrust: float, moments: ArrayLike) -> Allotted:
        """Speeds within limits; of a contradiction the more important wins."""
        U = np.concatenate([[thrust], np.asarray(moments, np.float64)])
        if U.shape != (4,) or not np.isfinite(U).all():
            raise InputError(
                f"allocation takes a thrust (N) and three moments (N·m); got {thrust!r}, {moments!r}"
            )
        x = self._lexicographic(U)
        given = self.matrix @ x
        missing = U - given
        return Allotted(np.sqrt(x), given, missing, bool(np.all(np.abs(missing) <= 1e-6 * self._scale)))

    def _lexicographic(self, U: Array) -> Array:
        """Level by level: least squares of a level's rows, with what the levels before have reached kept."""
        n = len(self._upper)
        top = np.where(self._upper > 0, self._upper, 1.0)
        A, wanted = self.matrix / self._scale[:, None] * top, U / self._scale
        lower, upper = self._lower / top, np.where(self._upper > 0, 1.0, 0.0)
        fixed: list[int] = []
        x = np.full(n, 0.5)
        for level in self._levels:
            program = QuadraticProgram(n, max(len(fixed), 1))
            rows = A[fixed] if fixed else np.zeros((1, n))
            kept = rows @ x if fixed else np.zeros(1)
            H = A[level].T @ A[level] + 1e-7 * np.eye(n)
            solution = program.solve(
                H,
                -A[level].T @ wanted[level],
                rows,
                kept - 1e-9,
                kept + 1e-9,
                lower=lower,
                upper=upper,
                price=1e6,
            )
            x = np.clip(solution.x, lower, upper)
            fixed += level
        return x * top


def check_speeds(vehicle: Multirotor) -> None:
    """Refuse what is no multirotor, or one whose controls are no speeds."""
    if not isinstance(vehicle, Multirotor):
        raise InputError(f"this is for rotorcraft, such as hc.aerial.load('hummingbird'); got {vehicle!r}")
    if any(isinstance(rotor.motor, ElectricMotor) for rotor in vehicle.rotors):
        raise InputError(
            "this gives speeds of rotors, and these motors take voltages: take Motor(...) for control"
        )


def square_limits(vehicle: Multirotor) -> tuple[Array, Array]:
    """Least and most of ω²."""
    limits = np.array(list(vehicle.own_controls.values()))
    return limits[:, 0] ** 2, limits[:, 1] ** 2


def allotted_speeds(vehicle: Multirotor, U: Expression) -> tuple[Expression, Expression]:
    """Speeds for U (4) as expressions, and whether less than U is given (0 or 1).

    By the pseudo-inverse; where a rotor would leave its limits, yaw shrinks first; thrust moves towards
    half of what there is so that roll and pitch fit, and only then do these shrink: a vehicle that turns
    over falls.
    """
    P = np.linalg.pinv(vehicle.allocation_matrix)
    lower, upper = square_limits(vehicle)
    thrust = P[:, 0]
    lifting = [k for k in range(len(thrust)) if thrust[k] > 1e-9 * np.abs(thrust).max()]
    most = min(upper[k] / thrust[k] for k in lifting)
    least = max(lower[k] / thrust[k] for k in lifting)
    tilting = ca.SX(P[:, 1:3]) @ U[1:3]
    low, high, middle = ca.SX(least), ca.SX(most), (least + most) / 2
    for k in lifting:
        tilt = (1 / thrust[k]) * tilting[k]
        low = ca.fmax(low, lower[k] / thrust[k] - tilt)
        high = ca.fmin(high, upper[k] / thrust[k] - tilt)
    lift = ca.fmax(ca.fmin(U[0], ca.fmax(high, middle)), ca.fmin(low, middle))
    squares = ca.SX(thrust) * lift
    short = ca.fabs(lift - U[0]) > 1e-9 * most
    for part in (tilting, ca.SX(P[:, 3]) * U[3]):
        share = _share(squares, part, lower, upper)
        squares = squares + share * part
        short = ca.logic_or(short, share < 1 - 1e-9)
    return ca.sqrt(ca.fmin(ca.fmax(squares, lower), upper)), short


def _share(base: Expression, part: Expression, lower: Array, upper: Array) -> Expression:
    """The largest s ≤ 1 with lower ≤ base + s part ≤ upper."""
    share = ca.SX(1)
    for k in range(len(lower)):
        step = part[k]
        size = ca.fmax(ca.fabs(step), 1e-12)
        room = ca.if_else(step > 0, upper[k] - base[k], base[k] - lower[k])
        share = ca.fmin(share, ca.fmax(room, 0) / size)
    return share
