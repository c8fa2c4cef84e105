"""The planner's C for one robot, called through ctypes."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid.compiler import CHeader, compile_runtime, loop_pragma
from helicoid.errors import CompileError, HelicoidError
from helicoid.model.model import Model
from helicoid.planning.kinematics import kinematics_source

RUNTIME = Path(__file__).parent / "runtime"
LANES = 8  # configurations per vector, the same on every machine for equal results

STATUS = CHeader(RUNTIME / "connect.h").enumeration("SOLVED")
_P, _I, _F = ctypes.c_void_p, ctypes.c_int32, ctypes.c_float

OBSTACLE = np.dtype(
    [
        ("kind", "i4"),
        ("field", "i4"),
        ("R", "f4", 9),
        ("p", "f4", 3),
        ("half", "f4", 3),
        ("radius", "f4"),
    ]
)


class Field(ctypes.Structure):
    """`hp_field` of runtime/obstacles.h."""

    _fields_ = (
        ("n", _I * 3),
        ("origin", _F * 3),
        ("cell", _F),
        ("radius", _F),
        ("first", _P),
        ("points", _P),
    )


class World(ctypes.Structure):
    """`hp_world` of runtime/obstacles.h."""

    _fields_ = (
        ("n", _I),
        ("padded", _I),
        ("obstacle", _P),
        ("low", _P * 3),
        ("high", _P * 3),
        ("field", ctypes.POINTER(Field)),
    )


class RobotTables(ctypes.Structure):
    """`hp_robot` of runtime/check.h."""

    _fields_ = (
        *((name, _I) for name in ("n_groups", "n_clusters", "n_spheres", "n_pairs")),
        *((name, _P) for name in ("slot", "first", "member", "meets_world", "ball", "cluster", "sphere")),
        *((name, _P) for name in ("lever", "pair", "pair_lever", "near", "meeting")),
    )


class Space(ctypes.Structure):
    """`hp_space` of runtime/edge.h."""

    _fields_ = (
        *((name, _P) for name in ("lower", "upper", "weight", "turn", "kind")),
        ("resolution", _F),
        ("finest", _F),
        ("certify", _I),
    )


class Settings(ctypes.Structure):
    """`hp_settings` of runtime/connect.h."""

    _fields_ = (
        ("range", _F),
        ("domain", _F),
        ("least", _F),
        ("shrink", _F),
        ("max_nodes", _I),
        ("max_samples", ctypes.c_int64),
    )


def address(array: NDArray[Any]) -> int:
    """Address of a contiguous array."""
    assert array.flags.c_contiguous, "arrays as C reads them"
    return int(array.ctypes.data)


def filled(struct: type[ctypes.Structure], **values: Any) -> tuple[Any, tuple[NDArray[Any], ...]]:
    """A structure whose pointers are to arrays; these must be kept as long as it is used."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    given = {name: address(value) if name in arrays else value for name, value in values.items()}
    return struct(**given), tuple(arrays.values())


def compile_engine(model: Model, bodies: list[int], curved: bool) -> ctypes.CDLL:
    """The library of a robot whose spheres are on these bodies.

    Raises:
        CompileError: there is no C compiler, or it fails.
    """
    numbers = {"NQ": model.nq, "SLOTS": max(1, len(bodies)), "LANES": LANES, "CURVED": int(curved)}
    text = loop_pragma() + "".join(f"#define HP_{name} {value}\n" for name, value in numbers.items())
    text += '#include "planner.c"\n' + kinematics_source(model, bodies)
    try:
        return _declared(compile_runtime("the motion planner", text, RUNTIME).library)
    except CompileError as error:
        raise CompileError(f"{error}. Motion planning is compiled C") from error


def _declared(api: ctypes.CDLL) -> ctypes.CDLL:
    number, long = _I, ctypes.c_int64
    world = [_P] * 4  # work, robot, world, ignored
    declared: dict[str, tuple[list[Any], Any]] = {
        "planner_work": ([number] * 5, _P),
        "planner_free": ([_P], None),
        "planner_configurations": ([*world, _P, long, _P], None),
        "planner_edges": ([*world, _P, _P, _P, long, _P], long),
        "planner_cubics": ([*world, _P, _P, long, _P], None),
        "planner_begin": (
            [*world, _P, _P, _P, number, _P, number, ctypes.c_uint64, _F, number],
            ctypes.c_int,
        ),
        "planner_advance": ([*world, _P, _P, ctypes.c_double], ctypes.c_int),
        "planner_simplify": ([*world, _P, number, _F], None),
        "planner_set_path": ([_P, _P, number], ctypes.c_int),
        "planner_path": ([_P, _P, number], number),
        "planner_length": ([_P, _P], _F),
        "planner_counts": ([_P, _P], None),
        "planner_tree": ([_P, number, _P, _P], None),
        "planner_centres": ([_P, _P, _P, long, _P], None),
        "planner_meetings": ([_P, _P, number, number, _P, long, _P, long, _P, _F, _P, _P], None),
        "planner_sizes": ([_P], None),
    }
    for name, (arguments, result) in declared.items():
        getattr(api, name).argtypes, getattr(api, name).restype = arguments, result
    sizes = np.zeros(6, np.int64)
    api.planner_sizes(sizes.ctypes.data)
    structs = [ctypes.sizeof(s) for s in (RobotTables, World, Space, Settings)]
    assert [*structs, OBSTACLE.itemsize, ctypes.sizeof(Field)] == sizes.tolist(), (
        "layouts of C and Python differ"
    )
    return api


class Work:
    """Memory of one thread for checks and a query of a robot and a world of limited size."""

    def __init__(self, library: ctypes.CDLL, robot: RobotTables, padded: int) -> None:
        self._library = library
        self._sizes = (*_sizes(robot), max(1, padded))
        self.address = library.planner_work(*self._sizes)
        if not self.address:
            raise HelicoidError("no memory for the motion planner")

    def has_room_for(self, robot: RobotTables, padded: int) -> bool:
        """Whether robot and world fit into it."""
        return all(a <= b for a, b in zip((*_sizes(robot), padded), self._sizes, strict=True))

    def __del__(self) -> None:
        if getattr(self, "address", None):
            self._library.planner_free(self.address)


def _sizes(robot: RobotTables) -> tuple[int, int, int, int]:
    return robot.n_groups, robot.n_clusters, robot.n_spheres, robot.n_pairs
