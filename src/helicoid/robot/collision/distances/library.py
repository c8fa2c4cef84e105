"""Distance computations in C, called through ctypes: one library for all robots and scenes."""

from __future__ import annotations

import ctypes
import functools
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.compiler import CHeader, compile_runtime, get_num_threads, new_lock
from helicoid.errors import CompileError, HelicoidError

RUNTIME = Path(__file__).parent / "runtime"
KINDS = {name: k for k, name in enumerate(CHeader(RUNTIME / "convex.h").enumeration("POINT"))}
"""Numbers of the kinds of shapes in C, by name."""

SHAPE = np.dtype(
    [
        ("kind", np.int64),
        ("body", np.int64),
        ("tree", np.int64),
        ("n_points", np.int64),
        ("points", np.int64),
        ("radius", np.float64),
        ("numbers", np.float64, 4),
        ("pose", np.float64, 12),
        ("center", np.float64, 3),
        ("half", np.float64, 3),
        ("ball", np.float64),
    ]
)
"""`shape` of runtime/convex.h."""

LANES = 8
"""Points of a hull that are compared at a time; runtime/convex.h has the same number."""
RESULT = 11  # numbers of a pair: distance, index, point of each, normal
HALF_SPACE = 7  # numbers of one: normal, point of the body in its frame, offset
_MIN_CONFIGURATIONS = 64  # per thread


@functools.cache
def _library() -> Any:
    try:
        found = compile_runtime("distances", '#include "distances.c"\n', RUNTIME).library
    except CompileError as error:
        raise CompileError(f"{error}. Distances are compiled C and cannot do without") from error
    address, number, size = ctypes.c_void_p, ctypes.c_double, ctypes.c_int64
    found.helicoid_tree.restype = address
    found.helicoid_tree.argtypes = [size, size, address, address, number, size]
    found.helicoid_tree_free.argtypes = [address]
    found.helicoid_tree_free.restype = None
    found.helicoid_tree_bytes.argtypes = [address]
    found.helicoid_tree_bytes.restype = size
    found.helicoid_distances.restype = size
    found.helicoid_distances.argtypes = [
        *(address, size, address, size, size, address, size, size, number, size, address),
    ]
    found.helicoid_half_spaces_bytes.restype = size
    found.helicoid_half_spaces_bytes.argtypes = [size, size, size, size]
    found.helicoid_half_spaces.restype = None
    found.helicoid_half_spaces.argtypes = [
        *(address, size, address, size, size, address, size, size, size),
        *(number, number, address, address),
    ]
    return found


class Tree:
    """A bounding volume hierarchy over the elements of a shape, freed with this object."""

    def __init__(
        self, kind: str, points: Array, corners: NDArray[np.int32] | None, bottom: float, solid: bool
    ) -> None:
        library = _library()
        self._arrays = points, corners  # the tree refers to them
        count = len(points) if corners is None else len(corners)
        if count >= 2**31:
            raise HelicoidError(f"a shape has {count} elements; a tree holds fewer than {2**31}")
        given = None if corners is None else corners.ctypes.data
        self.address = library.helicoid_tree(KINDS[kind], count, points.ctypes.data, given, bottom, solid)
        if not self.address:
            raise MemoryError(f"no memory for a tree over {count} elements")
        self.memory = int(library.helicoid_tree_bytes(self.address))
        weakref.finalize(self, library.helicoid_tree_free, self.address)


def nearest(
    shapes: Array, pairs: NDArray[np.int32], groups: int, bodies: Array, enough: float, stop: bool
) -> Array:
    """The nearest pair of each group at each configuration, (N, groups, RESULT); see runtime/distances.c."""
    count, n_bodies = bodies.shape[:2]
    out = np.empty((count, groups, RESULT))
    call = _library().helicoid_distances

    def run(first: int, last: int) -> None:
        if call(
            *(shapes.ctypes.data, len(shapes), pairs.ctypes.data, len(pairs), groups),
            *(bodies[first:last].ctypes.data, n_bodies, last - first, enough, stop),
            out[first:last].ctypes.data,
        ):
            raise MemoryError("no memory for distances")

    threads = min(get_num_threads(), count // _MIN_CONFIGURATIONS)
    if threads <= 1:
        run(0, count)
    else:
        ends = np.linspace(0, count, threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, ends[:-1], ends[1:]))
    return out


class HalfSpaces:
    """Half-spaces at the nearest objects of each body along a trajectory; see runtime/half_spaces.h.

    `pairs` (n, 4) are shape, shape, place among the chosen bodies, object, sorted by the last two.
    """

    def __init__(
        self, shapes: Array, pairs: NDArray[np.int32], chosen: int, n_bodies: int, nearest: int, none: float
    ) -> None:
        library = _library()
        self._call, self._n_bodies, self._settings = library.helicoid_half_spaces, n_bodies, (nearest, none)
        size = library.helicoid_half_spaces_bytes(len(shapes), n_bodies, len(pairs), nearest)
        self._kept = shapes, np.ascontiguousarray(pairs, dtype=np.int32), np.zeros(size // 8 + 1)
        table, listed, self._work = (array.ctypes.data for array in self._kept)
        self._first = table, len(shapes), listed, len(pairs), chosen
        self._columns = chosen * nearest * HALF_SPACE
        self._lock = new_lock()  # of the work: controllers in several threads may share a scene

    def __call__(self, poses: Array, within: float) -> Array:
        """The numbers (nodes, bodies, nearest, HALF_SPACE) by nodes, for contiguous poses by nodes."""
        nodes, (nearest, none) = len(poses), self._settings
        out = np.empty((nodes, self._columns))
        where = poses.ctypes.data, self._n_bodies, nodes
        with self._lock:
            self._call(*self._first, *where, nearest, within, none, self._work, out.ctypes.data)
        return out
