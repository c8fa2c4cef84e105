"""A problem of inverse kinematics in the memory of the loop in C, called through ctypes."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import CHeader, compile_with_functions, loop_pragma, new_lock
from helicoid.control.ik.problem import CONSTRAINT, SECONDARY, IKProblem
from helicoid.control.ik.solution import Solution
from helicoid.errors import CompileError, HelicoidError

RUNTIME = Path(__file__).parent / "runtime"
LANES = 4  # searches per vector, the same on every machine for equal results
TABLE = 512  # configurations that searches start from
SEED = 20  # of the table

_HEADER = CHeader(RUNTIME / "model.h")
SETTINGS, KINDS = _HEADER.enumeration("MOST_ITERATIONS"), _HEADER.enumeration("NUMBERS")
DEFAULTS = {
    "most_iterations": 40,
    "patience": 4,
    "progress": 0.1,
    "damping": 1.0,
    "easier": 0.5,
    "harder": 5.0,
}


class SearchResult(NamedTuple):
    """Results of the loop for n targets; `facts` are success, error, starts and iterations, (n, 4)."""

    q: Array
    e: Array
    facts: Array


class Engine:
    """Compiled IK loop of a problem with its tables, callable from several threads."""

    def __init__(self, problem: IKProblem) -> None:
        self.problem = problem
        self.rows, self.nq = len(problem.levels), problem.robot.nq
        self._library = _compiled(problem)
        self.model = self._memory(self._library.ik_model_create)
        self._idle: list[int] = []
        self._lock = new_lock()
        self._fill()
        self._single = _Single(self, self._memory(self._library.ik_lanes_create))

    def _memory(self, create: ctypes._FuncPointer) -> int:
        address: int | None = create()
        if not address:
            raise HelicoidError("no memory for inverse kinematics")
        return address

    def __del__(self) -> None:
        single = getattr(self, "_single", None)
        for address in [*getattr(self, "_idle", ()), single and single.lanes, getattr(self, "model", None)]:
            if address:
                self._library.ik_free(address)

    def __getitem__(self, name: str) -> Array:
        size = ctypes.c_int64()
        address = self._library.ik_field(self.model, name.encode(), ctypes.byref(size))
        if not address:
            raise KeyError(name)
        return np.ctypeslib.as_array((ctypes.c_double * size.value).from_address(address))

    def _put(self, name: str, values: Array | list[float] | list[int] | list[bool]) -> None:
        self[name][: np.size(values)] = np.ravel(values)

    def _fill(self) -> None:
        p = self.problem
        self._put("lower", p.bounds[0])
        self._put("upper", p.bounds[1])
        self._put("period", p.periods)
        self._put("moves", p.moving_coordinates)
        self._put("coordinate", _own_coordinates(p))
        self._put("usual", p.default())
        self._put("weight", p.weights)
        self._put("level", p.levels)
        self._put("group", p.groups)
        self._put("tolerance", np.full(1 + max(p.groups, default=0), p.tolerance))
        self._put("target_kind", [KINDS.index(task.target_kind) for task in p.tasks])
        self._put("target_at", np.cumsum([0, *p.sizes]))
        self.set(**DEFAULTS)
        features, places, closeness = p.features()
        starts = self.table = _table(p)
        self._put("start", starts)
        self._put("place", places)
        self._put("closeness", closeness)
        numbers = np.ascontiguousarray(np.array(features(starts.T)).T)
        self._library.ik_features(self.model, numbers.ctypes.data)

    def set(self, **settings: float) -> None:
        """Change settings by the names in `SETTINGS`."""
        values = self["settings"]
        for name, value in settings.items():
            values[SETTINGS.index(name)] = value

    def one(self, target: Array, q0: Array | None, most: int) -> Solution | None:
        """Search for one target, in the shape that a user gives or flat; None where it is none."""
        with self._lock:
            memory = self._single
            memory.target[: target.size] = target.ravel()
            if q0 is not None:
                memory.q0[:] = q0
            start = None if q0 is None else memory.start
            if not self._library.ik_one(*memory.given, start, most, *memory.results):
                return None
            success, error, count, iterations = memory.facts.tolist()
            q, e = memory.q.copy(), memory.e.copy()
        return Solution(q, success > 0, error, e, int(count), int(iterations))

    def accepts(self, targets: Array) -> bool:
        """Whether all targets (n, numbers) are finite, and rotations where they should be."""
        return bool(self._library.ik_refuses(self.model, targets.ctypes.data, None, len(targets)) < 0)

    def solve(self, targets: Array, q0: Array | None, most: int) -> SearchResult:
        """Search for targets (n, numbers), each from its row of q0 first, from `most` starts at most."""
        n = len(targets)
        assert targets.flags.c_contiguous and (q0 is None or q0.flags.c_contiguous), "rows as C reads them"
        found = SearchResult(np.empty((n, self.nq)), np.empty((n, self.rows)), np.empty((n, 4)))
        start = None if q0 is None else q0.ctypes.data
        with self._lock:
            lanes = self._idle.pop() if self._idle else self._memory(self._library.ik_lanes_create)
        results = (array.ctypes.data for array in found)
        self._library.ik_solve(self.model, lanes, targets.ctypes.data, start, n, most, *results)
        with self._lock:
            self._idle.append(lanes)
        return found


class _Single:
    """Preallocated memory for one search at a time."""

    def __init__(self, engine: Engine, lanes: int) -> None:
        self.lanes = lanes
        self.target = np.zeros(sum(engine.problem.sizes))
        self.q0, self.q, self.e, self.facts = (np.zeros(n) for n in (engine.nq, engine.nq, engine.rows, 4))
        self.given = engine.model, lanes, self.target.ctypes.data
        self.start = self.q0.ctypes.data
        self.results = tuple(array.ctypes.data for array in (self.q, self.e, self.facts))


def _table(p: IKProblem) -> Array:
    """Random configurations within the limits, always the same; what does not move is at its default.

    A joint that may turn more than three times starts within half a turn of zero, or of what is near it:
    limits of 1e16 rad, which files have, leave no digits for the angle.
    """
    (low, high), turn = p.bounds, p.circles
    Q, many = p.robot.random(SEED, size=TABLE), (turn > 0) & (high - low > 3 * turn)
    middle = np.clip(0.0, low + turn / 2, np.maximum(low, high - turn / 2))
    whole = np.rint(np.divide(Q - middle, turn, out=np.zeros_like(Q), where=many))
    return np.where(p.moving_coordinates, Q - turn * whole, p.default())


def _own_coordinates(p: IKProblem) -> list[int]:
    """The coordinate that each moving velocity changes alone, or -1."""
    own = np.full(p.robot.nv, -1)
    for joint in p.robot.model.independent_joints:
        at_q, at_v = p.robot.index(joint.name)
        if joint.type.nq == joint.type.nv:
            own[at_v] = range(p.robot.nq)[at_q]
    return [int(own[k]) for k in p.moving]


def _compiled(p: IKProblem) -> ctypes.CDLL:
    functions = {"evaluate": p.evaluate}
    manifold = -1 in _own_coordinates(p)
    if manifold:
        functions["retract"] = p.retract
    numbers = {
        "N": len(p.moving),
        "NQ": p.robot.nq,
        "NT": sum(p.sizes),
        "M": len(p.levels),
        "NF": len(p.features()[1]),
        "GROUPS": 1 + max(p.groups, default=0),
        "TASKS": len(p.tasks),
        "STARTS": TABLE,
        "MANIFOLD": int(manifold),
        "HAS_SECONDARY": int(SECONDARY in p.levels),
        "CONSTRAINTS": int(CONSTRAINT in p.levels),
    }
    text = "".join(f"#define {name} {value}\n" for name, value in numbers.items())
    try:
        text += f'{loop_pragma()}#include "ik.c"\n'
        library = compile_with_functions("inverse kinematics", text, RUNTIME, functions, LANES)
    except CompileError as error:
        raise CompileError(
            f"{error}. Inverse kinematics is compiled C; with method='damped' and the other methods of "
            "textbooks it does without, slowly"
        ) from error
    return _declared(library)


def _declared(api: ctypes.CDLL) -> ctypes.CDLL:
    """Declare the types of the loop's functions to ctypes."""
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    api.ik_model_create.restype = api.ik_lanes_create.restype = pointer
    api.ik_field.restype = pointer
    api.ik_field.argtypes = [pointer, ctypes.c_char_p, ctypes.POINTER(integer)]
    api.ik_features.argtypes, api.ik_features.restype = [pointer, pointer], None
    api.ik_refuses.argtypes, api.ik_refuses.restype = [pointer, pointer, pointer, integer], integer
    api.ik_solve.argtypes = [*(4 * [pointer]), integer, integer, *(3 * [pointer])]
    api.ik_solve.restype = None
    api.ik_one.argtypes = [*(4 * [pointer]), integer, *(3 * [pointer])]
    api.ik_one.restype = integer
    api.ik_free.argtypes, api.ik_free.restype = [pointer], None
    return api
