"""One optimal control problem in the memory of the solver in C, called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import BatchCode
from helicoid.errors import HelicoidError
from helicoid.mpc.solver.kernels import KERNELS, LAYOUT, Kernels
from helicoid.mpc.solver.outcome import SolverStatus

SETTINGS, RESULTS = LAYOUT.enumeration("TOLERANCE"), LAYOUT.enumeration("STATUS")
ONCE = frozenset(LAYOUT.fields("ONCE_FIELDS"))
"""The fields of runtime/layout.h that are not for each node."""
# Levels, tolerances and penalties are relative to the scale of the cost.
DEFAULTS = {
    "tolerance": 1e-6,
    "qp_tolerance": 1e-9,
    "max_qp_iterations": 60,
    "max_penalty": 1e8,
    "warm_level": 1e-3,
    "cold_level": 1.0,
}
_SETTING_AT = {name: k for k, name in enumerate(SETTINGS)}
_RESULT_AT = {name: k for k, name in enumerate(RESULTS)}


class SqpSolver:
    """The memory and the functions of a compiled solver.

    Arrays of the problem's memory are NumPy views by name: `engine["x"]` is (nodes, nx). Several engines are
    independent of each other; one engine belongs to one thread at a time.
    """

    def __init__(self, kernels: Kernels, lengths: Array, loop_code: Mapping[str, BatchCode]) -> None:
        self.stages, self.intervals = kernels.stages, len(lengths)
        self._code = {**kernels.code, **loop_code}  # the libraries stay loaded as long as this
        self._library = kernels.solver
        addresses = (self._code[name].address if name in self._code else None for name in KERNELS)
        self._entries = (ctypes.c_void_p * len(KERNELS))(*addresses)
        self._handle = self._library.mpc_create(self.intervals, self._entries)
        if not self._handle:
            raise HelicoidError(f"no memory for a problem of {self.intervals} intervals")
        self._views: dict[str, Array] = {}
        self._settings = self._view("settings")
        self._results = self.floats("results")
        self.set(**DEFAULTS)
        self["h"][:-1, 0] = lengths
        self["initial_free"][self.stages.state_at] = self.stages.initial_free

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.mpc_destroy(handle)

    def __getitem__(self, name: str) -> Array:
        if name not in self._views:
            self._views[name] = self._view(name)
        return self._views[name]

    def _view(self, name: str) -> Array:
        size = ctypes.c_int64()
        address = self._library.mpc_field(self._handle, name.encode(), ctypes.byref(size))
        if not address:
            raise KeyError(name)
        shape = (size.value,) if name in ONCE else (self.intervals + 1, size.value)
        kind = ctypes.c_double * int(np.prod(shape))
        return np.ctypeslib.as_array(kind.from_address(address)).reshape(shape)

    def floats(self, name: str) -> ctypes.Array[ctypes.c_double]:
        """The numbers of a field as an array of ctypes: single ones are read faster than those of NumPy."""
        view = self[name]
        return (ctypes.c_double * view.size).from_address(view.ctypes.data)

    def set(self, **settings: float) -> None:
        """Change settings by the names in `SETTINGS`."""
        for name, value in settings.items():
            self._settings[_SETTING_AT[name]] = value

    def result(self, name: str) -> float:
        """One of `RESULTS` of the last call."""
        return self._results[_RESULT_AT[name]]

    def results(self) -> bytes:
        """All of the last call, in the order of `RESULTS`: doubles, to be decoded on demand."""
        return bytes(self._results)

    def prepare(self) -> None:
        """Linearise around the trajectory in x and u."""
        self._library.mpc_prepare(self._handle)

    def feedback(self) -> SolverStatus:
        """One step from the linearisation for the state in `initial`."""
        return SolverStatus(self._library.mpc_feedback(self._handle))

    def solve(self, max_iterations: int) -> SolverStatus:
        """Iterate to convergence."""
        return SolverStatus(self._library.mpc_solve(self._handle, max_iterations))

    def call(self, name: str, *args: int) -> None:
        """Call another function of the runtime, such as those of the loop; addresses as integers."""
        getattr(self._library, name)(self._handle, *args)

    def bound(self, name: str, *args: int) -> Callable[[], object]:
        """A callable of the same, for calls in every step; valid as long as this engine exists."""
        return partial(getattr(self._library, name), self._handle, *args)

    @property
    def bytes(self) -> int:
        """The size of its memory."""
        return int(self._library.mpc_bytes(self.intervals, self._entries))

    def reset(self) -> None:
        """Reset multipliers, penalties and regularisation."""
        self._library.mpc_reset(self._handle)

    def gains(self) -> Array:
        """K of du = K dx at the first node, nu × nx."""
        K = np.empty((self.stages.system.nu, self.stages.system.nx))
        self._library.mpc_gains(self._handle, K.ctypes.data)
        return K
