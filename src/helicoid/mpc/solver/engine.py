"""The solver in C for one problem: compiled for its sizes, called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import compile_batch, compile_runtime
from helicoid.errors import CompileError, HelicoidError
from helicoid.mpc.stage import Stages

RUNTIME = Path(__file__).parent / "runtime"

# The order of the enumerations in runtime/layout.h.
SETTINGS = (
    *("tolerance", "qp_tolerance", "max_qp_iterations", "budget", "hard_penalty", "max_penalty"),
    *("warm_level", "cold_level", "regularisation", "scale"),
)
# Levels, tolerances and penalties are relative to the problem's scale, which the solver takes from its cost.
DEFAULTS = {
    "tolerance": 1e-6,
    "qp_tolerance": 1e-9,
    "max_qp_iterations": 60,
    "max_penalty": 1e8,
    "hard_penalty": 1e2,
    "warm_level": 1e-3,
    "cold_level": 1.0,
}
RESULTS = (
    *("status", "iterations", "qp_iterations", "cost", "stationarity", "gap", "violation"),
    *("complementarity", "step_length", "qp_gap", "merit", "gap_weight", "step_size", "seconds", "qp_excess"),
    *("decrease", "merit_decrease"),
)
_SETTING_AT = {name: k for k, name in enumerate(SETTINGS)}
_RESULT_AT = {name: k for k, name in enumerate(RESULTS)}
STATUS = (
    "solved",
    "stopped after the allowed iterations",
    "infeasible: some constraints cannot be met together",
    "failed: the model gave numbers that are not finite",
    "stopped: no step improves the plan",
    "stopped after the allowed time",
)


class Engine:
    """The memory and the functions of a compiled solver.

    Arrays of the problem's memory are NumPy views by name: `engine["x"]` is (nodes, nx). Several engines are
    independent of each other; one engine belongs to one thread at a time.
    """

    def __init__(self, stages: Stages, lengths: Array) -> None:
        self.stages, self.intervals = stages, len(lengths)
        try:
            kernels, self._library = self._kernels(), _solver(_definitions(stages))
        except CompileError as error:
            raise CompileError(
                f"{error}. Controllers and the solver 'sqp' are compiled C; "
                "problem.solve(..., solver='ipopt') does without"
            ) from error
        api = self._library
        api.mpc_create.restype = ctypes.c_void_p
        api.mpc_create.argtypes = [ctypes.c_int64, *(6 * [ctypes.c_void_p])]
        api.mpc_field.restype = ctypes.c_void_p
        api.mpc_field.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
        for name in ("mpc_prepare", "mpc_feedback", "mpc_shift", "mpc_destroy", "mpc_reset"):
            getattr(api, name).argtypes = [ctypes.c_void_p]
        api.mpc_solve.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        api.mpc_gains.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        for name in ("mpc_prepare", "mpc_shift", "mpc_destroy", "mpc_reset", "mpc_gains"):
            getattr(api, name).restype = None
        self._handle = api.mpc_create(self.intervals, *kernels)
        if not self._handle:
            raise HelicoidError(f"no memory for a problem of {self.intervals} intervals")
        self._views: dict[str, Array] = {}
        self._settings = self._view("settings")
        self._results = self._view("results")
        self.set(**DEFAULTS)
        self["h"][:-1, 0] = lengths
        self["initial_free"][stages.state_at] = stages.initial_free

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.mpc_destroy(handle)

    def _kernels(self) -> list[int | None]:
        stages = self.stages
        functions = [stages.stage, stages.values, stages.end, stages.end_values]
        if stages.system.tangent is not None:
            functions += [stages.retract, stages.local]
        self._code = compile_batch("the controller", functions)  # kept: addresses end with their libraries
        return [code.address for code in self._code] + [None] * (6 - len(self._code))

    def __getitem__(self, name: str) -> Array:
        if name not in self._views:
            self._views[name] = self._view(name)
        return self._views[name]

    def _view(self, name: str) -> Array:
        size = ctypes.c_int64()
        address = self._library.mpc_field(self._handle, name.encode(), ctypes.byref(size))
        if not address:
            raise KeyError(name)
        once = name in ("theta", "initial", "initial_gap", "initial_free", "settings", "results")
        shape = (size.value,) if once else (self.intervals + 1, size.value)
        kind = ctypes.c_double * int(np.prod(shape))
        return np.ctypeslib.as_array(kind.from_address(address)).reshape(shape)

    def set(self, **settings: float) -> None:
        """Change settings by the names in `SETTINGS`."""
        for name, value in settings.items():
            self._settings[_SETTING_AT[name]] = value

    def result(self, name: str) -> float:
        """One of `RESULTS` of the last call."""
        return float(self._results[_RESULT_AT[name]])

    def prepare(self) -> None:
        """Linearise around the trajectory in x and u."""
        self._library.mpc_prepare(self._handle)

    def feedback(self) -> int:
        """One step from the linearisation for the state in `initial`; the number of its status."""
        return int(self._library.mpc_feedback(self._handle))

    def solve(self, max_iterations: int) -> int:
        """Iterate to convergence; the number of its status."""
        return int(self._library.mpc_solve(self._handle, max_iterations))

    def shift(self) -> None:
        """Move the trajectory and its multipliers by one node."""
        self._library.mpc_shift(self._handle)

    def reset(self) -> None:
        """Forget multipliers, penalties and regularisation."""
        self.set(hard_penalty=DEFAULTS["hard_penalty"])
        self._library.mpc_reset(self._handle)

    def gains(self) -> Array:
        """K of du = K dx at the first node, nu × nx."""
        K = np.empty((self.stages.system.nu, self.stages.system.nx))
        self._library.mpc_gains(self._handle, K.ctypes.data)
        return K


def _solver(definitions: str) -> ctypes.CDLL:
    text = f'{definitions}#pragma GCC optimize ("O3")\n#include "solver.c"\n'
    return compile_runtime("the solver", text, RUNTIME)


def _definitions(stages: Stages) -> str:
    system = stages.system
    numbers = {
        "NU": system.nu,
        "NX": system.nx,
        "NXA": int(system.x.numel()),
        "NPAR": int(stages.parameter_symbol.numel()),
        "NTHETA": int(system.theta.numel()),
        "DOUBLE_INTEGRATOR": int(system.uses_double_integrator),
        "MANIFOLD": int(system.tangent is not None),
        "LANES": stages.lanes,
    }
    texts = {}
    for suffix, prefix, rows in (("", "", stages.path_rows), ("T", "LAST_", stages.end_rows)):
        boxes = [row for row in rows if row.box is not None]
        numbers[f"NB{suffix}"], numbers[f"NG{suffix}"] = len(boxes), len(rows) - len(boxes)
        texts[f"{prefix}BOX_AT"] = _initialiser([str(row.box) for row in boxes])
        texts[f"{prefix}BOX_SCALE"] = _initialiser([repr(row.factor) for row in boxes])
    return "".join(f"#define {name} {value}\n" for name, value in {**numbers, **texts}.items())


def _initialiser(values: Sequence[str]) -> str:
    return "{" + ", ".join(values or ["0"]) + "}"
