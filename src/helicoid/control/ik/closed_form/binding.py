"""The compiled solver: an arm in the memory of the C runtime, and all solutions of targets."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import CHeader, compile_with_functions, loop_pragma, new_lock
from helicoid.control.ik.closed_form.families import KINDS, MIN_AXIS_SEPARATION, Family
from helicoid.control.ik.closed_form.screws import Screws
from helicoid.errors import HelicoidError

RUNTIME = Path(__file__).parent / "runtime"
_HEADER = CHeader(RUNTIME / "arm.h")
_SOLUTIONS_OF_SIX, _ROW = int(_HEADER.number("SOLUTIONS_OF_SIX")), int(_HEADER.number("MAX_JOINTS")) + 1
_MAX_SOLUTIONS_PER_CALL = 1 << 15  # solutions of one call in C
_EXACT_DEVIATION = 1e-8  # a deviation that is no more than rounding of the description
_EXACT_TOLERANCE = 1e-9  # rad, m: axes of an exact description that are nearer are parallel or meet
_ROUNDING = 1e-7  # by which a cosine may exceed one


class Arm:
    """An arm of a family, whose solutions are computed in C.

    Args:
        lower, upper: limits of its joints.
        tolerance: the greatest error of a solution (rad, m).
    """

    def __init__(self, screws: Screws, family: Family, lower: Array, upper: Array, tolerance: float) -> None:
        self.n, self.family = len(screws.h), family
        self._library = _library()
        self._memory = self._library.closed_form_create()
        if not self._memory:
            raise HelicoidError("no memory for inverse kinematics")
        rough = family.deviation > _EXACT_DEVIATION
        slack = 10 * family.deviation if rough else _ROUNDING
        origin = screws.x[0]
        numbers = {
            "joints": self.n,
            "locked_joints": len(family.locked),
            "kind": KINDS.index(family.kind),
            "first": family.first,
            "locked": [k in family.locked for k in range(self.n)],
            "h": screws.h,
            "x": screws.x - origin,
            "slides": screws.slides,
            "home": screws.home,
            "origin": origin,
            "reference": screws.reference,
            "lower": lower,
            "upper": upper,
            "tolerance": tolerance,
            "slack": slack,
            "spread": np.sqrt(2 * slack) if rough else 0.0,
            "same": min(MIN_AXIS_SEPARATION, max(_EXACT_TOLERANCE, 4 * family.deviation)),
        }
        for name, values in numbers.items():
            self._field(name)[: np.size(values)] = np.ravel(values)
        self._lock = new_lock()
        self._scratch = _Scratch(self._memory, self.n, np.zeros((1, len(family.locked))))

    def __del__(self) -> None:
        if getattr(self, "_memory", None):
            self._library.closed_form_free(self._memory)

    def _field(self, name: str) -> Array:
        size = ctypes.c_int64()
        address = self._library.closed_form_field(self._memory, name.encode(), ctypes.byref(size))
        return np.ctypeslib.as_array((ctypes.c_double * size.value).from_address(address))

    def one(self, T: Array, q0: Array, given: Array) -> Array | None:
        """All solutions (k, n) of a target (4, 4) for values (samples, locked) of the locked joints.

        The same array q0 is read once: it may not change between calls. Nor may `given`.

        Returns:
            Those within the limits, nearest to q0 first. None where T is no pose, or where a singularity
            leaves a joint free and none of the values that were tried is within the limits.
        """
        with self._lock:
            s = self._scratch
            if s.given is not given:
                s = self._scratch = _Scratch(self._memory, self.n, given)
            s.T[...] = T
            if s.about is not q0:
                s.q0[...] = s.about = q0
            count: int = self._library.closed_form_one(s.request)
            return None if count < 0 else s.q[:count].copy()

    def many(self, T: Array, q0: Array, given: Array) -> list[Array | None]:
        """The same of targets (N, 16) and their q0 (N, n)."""
        found: list[Array | None] = []
        most = _SOLUTIONS_OF_SIX * len(given)
        rows, out, counts = (
            np.empty((most, _ROW)),
            np.empty((max(_MAX_SOLUTIONS_PER_CALL, most), self.n)),
            np.empty(len(T), np.int64),
        )
        while len(found) < len(T):
            rest, near = T[len(found) :], q0[len(found) :]
            done = self._library.closed_form_solve(
                self._memory, rest.ctypes.data, len(rest), near.ctypes.data, given.ctypes.data, len(given),
                rows.ctypes.data, most, out.ctypes.data, len(out), counts.ctypes.data,
            )  # fmt: skip
            at, each = 0, counts[:done].tolist()
            kept = out[: sum(count for count in each if count > 0)].copy()
            for count in each:
                found.append(kept[at : at + count] if count >= 0 else None)
                at += max(count, 0)
        return found


class _Request(ctypes.Structure):
    """What C reads and writes for one target; one address takes a third of the time of seven arguments."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("arm", "T", "q0", "given")),
        *((name, ctypes.c_int64) for name in ("samples", "most")),
        ("rows", ctypes.c_void_p),
    ]


class _Scratch:
    """Memory for one target at a time, and its request."""

    def __init__(self, arm: int, n: int, given: Array) -> None:
        most = _SOLUTIONS_OF_SIX * len(given)
        self.given, self.q0, self.T, self.rows = given, np.zeros(n), np.zeros((4, 4)), np.empty((most, _ROW))
        self.about: Array | None = None  # what q0 was read from
        self.q = self.rows[:, 1 : 1 + n]
        T, q0, values, rows = (part.ctypes.data for part in (self.T, self.q0, given, self.rows))
        self._request = _Request(arm, T, q0, values, len(given), most, rows)
        self.request = ctypes.addressof(self._request)


@cache
def _library() -> ctypes.CDLL:
    """The runtime, the same for all robots."""
    text = f'{loop_pragma()}#include "closed_form.c"\n'
    api = compile_with_functions("closed-form inverse kinematics", text, RUNTIME, {}, 4)
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    api.closed_form_create.restype = api.closed_form_field.restype = pointer
    api.closed_form_field.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(integer)]
    api.closed_form_solve.argtypes = [
        pointer, pointer, integer, pointer, pointer, integer, pointer, integer, pointer, integer, pointer,
    ]  # fmt: skip
    api.closed_form_solve.restype = api.closed_form_one.restype = integer
    api.closed_form_one.argtypes = [pointer]
    api.closed_form_free.argtypes, api.closed_form_free.restype = [pointer], None
    return api
