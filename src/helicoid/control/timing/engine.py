"""Time-optimal motion in C, called through ctypes: one library for all robots."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import CHeader, compile_runtime, loop_pragma
from helicoid.errors import CompileError

RUNTIME = Path(__file__).parent / "runtime"


OUTCOMES = CHeader(RUNTIME / "passes.h").enumeration("SOLVED")
VERDICTS = CHeader(RUNTIME / "time_optimal.c").enumeration("ALLOWED")


class Rows(NamedTuple):
    """Limits along a grid: lower ≤ a u + b x + c ≤ upper with u = s̈, x = ṡ², and 0 ≤ x ≤ x_max.

    Args:
        s: (N + 1), the grid, ascending; a value that stands twice is one point seen from both sides.
        a, b, c: (N + 1, m); without c it is zero.
        lower, upper: (m).
        x_max: (N + 1).
    """

    s: Array
    a: Array
    b: Array
    c: Array | None
    lower: Array
    upper: Array
    x_max: Array


class PassResult(NamedTuple):
    """Results of the two passes.

    Args:
        outcome: "solved"; "no_speed": at `point` no speed leads to the end; "no_start": the first speed does
            not; "stands": the path cannot leave `point`.
        profile: (5, N + 1): time, path velocity, path acceleration of the interval that follows, the highest
            controllable path velocity and that of the velocity limits.
        lowest, highest: the path velocities to start with from which the end can be reached; these and what
            follows are told where it failed.
        point: where it failed.
        rows: the two rows that contradict each other there, 2 j of row j or 2 j + 1 of that row at the far
            end of the interval; -1 for a bound of x.
    """

    outcome: str
    profile: Array
    lowest: float = np.nan
    highest: float = np.nan
    point: int = -1
    rows: tuple[int, int] = (-1, -1)


class PathOnGrid(NamedTuple):
    """A path on a grid.

    Args:
        verdict: "allowed"; "leaves": leaves the limits of a joint at a point; "stuck": moves a joint that may
            not.
        block: (7, N + 1, n): q, q, q, 0, 0, q', q''; what `torque_rows` needs of inverse dynamics is in it.
        x_max: (N + 1), the squared path velocity that velocity limits allow.
        joint, point: where it is not allowed.
    """

    verdict: str
    block: Array
    x_max: Array
    joint: int
    point: int


def through(q: Array) -> tuple[Array, Array] | None:
    """Knots (k), the length of the way, and coefficients (k - 1, 4, n) of the cubics through q (k, n).

    None where a number is not finite or two values in a row are equal.
    """
    k, n = q.shape
    knots, c, work = np.empty(k), np.empty((k - 1, 4, n)), np.empty(k * (n + 1))
    moves = _library().topp_through(k, n, _at(q), _at(knots), _at(c), _at(work))
    return (knots, c) if moves else None


def check(bounds: Array) -> tuple[bool, bool, bool]:
    """Whether bounds (4, 2, n) of position, velocity, acceleration and torque make sense; whether some of the
    acceleration and of the torque are finite."""
    found = _library().topp_bounds(bounds.shape[2], _at(bounds))
    return not found & 1, bool(found & 2), bool(found & 4)


def spline(s: Array, q: Array) -> Array:
    """Coefficients (k - 1, 4, n) of the cubics through the knots s (k) with values q (k, n)."""
    k, n = q.shape
    c, work = np.empty((k - 1, 4, n)), np.empty(k * (n + 1))
    _library().topp_spline(k, n, _at(s), _at(q), _at(c), _at(work))
    return c


def evaluate(breaks: Array, c: Array, s: Array) -> Array:
    """q, q', q'' (3, m, n) at ascending s; of two equal s in a row the second is seen from the right."""
    pieces, _, n = c.shape
    q = np.empty((3, len(s), n))
    _library().topp_evaluate(pieces, n, _at(breaks), _at(c), len(s), _at(s), *map(_at, q))
    return q


def lay(breaks: Array, c: Array, s: Array, bounds: Array, fastest: float) -> PathOnGrid:
    """The path on the grid s; `bounds` is (4, n), lower and upper ones of q and of v."""
    (pieces, _, n), m = c.shape, len(s)
    block, x_max, info = np.empty((7, m, n)), np.empty(m), np.zeros(2, np.int64)
    path = pieces, n, _at(breaks), _at(c)
    verdict = _library().topp_lay(*path, m, _at(s), _at(bounds), fastest, _at(block), _at(x_max), _at(info))
    joint, point = info.tolist()
    return PathOnGrid(VERDICTS[verdict], block, x_max, joint, point)


def torque_rows(tau: Array, block: Array | None, taken: Array | None) -> tuple[Array, Array, Array]:
    """a, b, c (m, n) of τ = a u + b x + c, from τ (3 m, n) at rest, with acceleration q', with q' and q''.

    With the block of a path they are (m, 2 n), after rows of accelerations; `taken` is added to c.
    """
    n = tau.shape[1]
    m, width = len(tau) // 3, n if block is None else 2 * n
    a, b, c = (np.empty((m, width)) for _ in range(3))
    given = _at(tau), None if block is None else _at(block), None if taken is None else _at(taken)
    _library().topp_torque_rows(m, n, *given, _at(a), _at(b), _at(c))
    return a, b, c


def solve(rows: Rows, start: float, end: float, both_ends: bool) -> PassResult:
    """The profile of least time from path velocity `start` to `end`; with `both_ends` rows hold at both ends
    of an interval."""
    n, m = rows.a.shape
    out, info, work = np.empty((8, n)), np.zeros(3, np.int64), np.empty(4 * (2 * m + 1))
    s, a, b, c, *bounds = rows
    given = _at(s), _at(a), _at(b), None if c is None else _at(c), *map(_at, bounds)
    ended = _library().topp_solve(n, m, both_ends, *given, start, end, _at(out), _at(info), _at(work))
    outcome = OUTCOMES[ended]
    if outcome == "solved":
        return PassResult(outcome, out[:5])
    point, first, second = info.tolist()
    lowest, highest = np.sqrt(out.ravel()[6 * n : 6 * n + 2]).tolist()
    return PassResult(outcome, out[:5], lowest, highest, point, (first, second))


def motion(breaks: Array, c: Array, s: Array, profile: Array, times: Array) -> Array:
    """q, v, a (3, m, n) at ascending times, s̈ being constant between points of the grid."""
    pieces, _, n = c.shape
    q = np.empty((3, len(times), n))
    grid = len(s), _at(s), _at(profile)
    _library().topp_motion(pieces, n, _at(breaks), _at(c), *grid, len(times), _at(times), _at(q))
    return q


def _at(array: Any) -> int:
    """The address of a contiguous array that has entries."""
    try:
        return _address(_byte(array))  # a quarter of what `array.ctypes.data` costs
    except TypeError:  # read-only
        assert array.flags.c_contiguous
        return int(array.ctypes.data)


_byte, _address = ctypes.c_char.from_buffer, ctypes.addressof


@functools.cache
def _library() -> ctypes.CDLL:
    try:
        library = compile_runtime(
            "time-optimal motion", f'{loop_pragma()}#include "time_optimal.c"\n', RUNTIME
        ).library
    except CompileError as error:
        raise CompileError(f"{error}. Time-optimal motion is computed by compiled C") from error
    pointer, integer, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    path: list[Any] = [integer, integer, pointer, pointer]
    library.topp_through.argtypes, library.topp_through.restype = [integer, integer, *4 * [pointer]], integer
    library.topp_bounds.argtypes, library.topp_bounds.restype = [integer, pointer], integer
    library.topp_spline.argtypes = [*path, pointer, pointer]
    library.topp_evaluate.argtypes = [*path, integer, *4 * [pointer]]
    library.topp_lay.argtypes = [*path, integer, pointer, pointer, number, *3 * [pointer]]
    library.topp_torque_rows.argtypes = [integer, integer, *6 * [pointer]]
    library.topp_solve.argtypes = [*3 * [integer], *7 * [pointer], number, number, *3 * [pointer]]
    library.topp_motion.argtypes = [*path, integer, pointer, pointer, integer, pointer, pointer]
    library.topp_lay.restype = library.topp_solve.restype = integer
    for name in ("topp_spline", "topp_evaluate", "topp_motion"):
        getattr(library, name).restype = None
    return library
