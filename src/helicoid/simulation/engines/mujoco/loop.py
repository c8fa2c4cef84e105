"""The loop around MuJoCo's step: compiled where there is a C compiler, else in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function, compile_is_on, compile_with_functions, get_num_threads
from helicoid.errors import CompileError, PerformanceWarning, warn
from helicoid.simulation.engines.mujoco.library import (
    RUNTIME,
    address,
    guarded,
    headers,
    mujoco_module,
)


@dataclass(frozen=True, eq=False)
class LoopFunctions:
    """Functions around the step, all of one robot.

    All inputs and outputs are vectors.

    Args:
        before: (q, v, states of a law, inputs) -> (qfrc, next states).
        after: (qpos, qvel) -> (q, v).
        states: number of states of a law.
    """

    before: Function
    after: Function
    states: int
    _libraries: dict[int, ctypes.CDLL | None] = field(default_factory=dict)

    def library(self, slots: int) -> ctypes.CDLL | None:
        """The compiled loop that records so many contacts; None where nothing is compiled."""
        if not compile_is_on():
            return None
        if slots not in self._libraries:
            self._libraries[slots] = _library(self, slots)
        return self._libraries[slots]


class LoopArrays(NamedTuple):
    """Arrays (rows or 1, rollouts or 1, size), in the order of the functions' inputs, and what is recorded.

    States with one row are overwritten in each step. `qacc` has the accelerations of MuJoCo of each row;
    `contacts` (rows, rollouts, 6 · slots) mean forces and points, `depth` the largest penetration of a row.
    """

    q: Array
    v: Array
    states: tuple[Array, ...]
    inputs: tuple[Array, ...]
    qacc: Array
    contacts: Array
    depth: Array


class _Rows(ctypes.Structure):
    _fields_ = (
        ("first", ctypes.c_void_p),
        ("row", ctypes.c_int64),
        ("rollout", ctypes.c_int64),
        ("size", ctypes.c_int64),
    )


_COUNTS = ["saved_size", "first_rollout", "last_rollout", "first", "last", "end", "substeps", "forward_first"]


class _Run(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("step", "forward", "contact_force", "get_state", "set_state")),
        *((name, ctypes.c_void_p) for name in ("model", "data", "rows", "slot", "saved")),
        *((name, ctypes.c_int64) for name in _COUNTS),
    )


def _library(functions: LoopFunctions, slots: int) -> ctypes.CDLL | None:
    before, after = functions.before, functions.after
    shapes = [one.shape for one in before.inputs] + [one.shape for one in before.outputs]
    sizes = [int(np.prod(shape, initial=1)) for shape in shapes]
    numbers = {
        "NQ": sizes[0],
        "NV": sizes[1],
        "STATES": functions.states,
        "INPUTS": len(before.inputs) - 2 - functions.states,
        "BEFORE_IN": sum(sizes[: len(before.inputs)]),
        "BEFORE_OUT": sum(sizes[len(before.inputs) :]),
        "SLOTS": slots,
    }
    text = "".join(f"#define {name} {value}\n" for name, value in numbers.items())
    text += f'/* MuJoCo {mujoco_module().__version__} */\n#include "mujoco_loop.c"\n'
    made = {"before": lambda: before.casadi, "after": lambda: after.casadi}
    try:
        return compile_with_functions(
            "the simulation in MuJoCo", text, RUNTIME / "loop", made, 1, include=[headers()]
        )
    except CompileError as error:
        warn(PerformanceWarning(f"MuJoCo is stepped from Python, ten times slower than from C: {error}"))
        return None


class CompiledLoop:
    """Computes rows in C: rollouts in parallel, each thread with its own state of MuJoCo.

    Args:
        start: qpos (rollouts, nq) and qvel (rollouts, nv) at the beginning.
        slot: the slot of each geom whose contacts are recorded, or -1.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        model: Any,
        arrays: LoopArrays,
        start: tuple[Array, Array],
        slot: Array,
        substeps: int,
    ) -> None:
        mujoco = mujoco_module()
        self._library, self._model, self._arrays = library, model, arrays
        rollouts = arrays.q.shape[1]
        self._threads = max(min(get_num_threads(), rollouts), 1)
        self._data = [mujoco.MjData(model) for _ in range(self._threads)]
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._saved = np.zeros((rollouts, mujoco.mj_stateSize(model, kind)))
        for r in range(rollouts):
            self._data[0].qpos[:], self._data[0].qvel[:] = start[0][r], start[1][r]
            mujoco.mj_getState(model, self._data[0], self._saved[r], kind)
        values = (arrays.q, arrays.v, *arrays.states, *arrays.inputs)
        values = (*values, arrays.qacc, arrays.contacts, arrays.depth)
        self._rows = (_Rows * len(values))(*(_rows(one) for one in values))
        self._slot = np.ascontiguousarray(slot, dtype=np.int32)
        names = ("mj_step", "mj_forward", "mj_contactForce", "mj_getState", "mj_setState")
        bounds = np.linspace(0, rollouts, self._threads + 1).astype(int)
        self._runs = [
            _Run(
                *map(address, names),
                model._address,
                data._address,
                ctypes.addressof(self._rows),
                self._slot.ctypes.data,
                self._saved.ctypes.data if rollouts > 1 else None,
                self._saved.shape[1],
                int(first),
                int(last),
                end=len(arrays.q) - 1,
                substeps=substeps,
                forward_first=_forward_first(model),
            )
            for data, first, last in zip(self._data, bounds[:-1], bounds[1:], strict=True)
        ]
        if rollouts == 1:
            mujoco.mj_setState(model, self._data[0], self._saved[0], kind)

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last."""
        for one in self._runs:
            one.first, one.last = first, last
        if len(self._runs) == 1:
            self._guarded(self._runs[0])
            return
        with ThreadPoolExecutor(len(self._runs)) as pool:
            list(pool.map(self._guarded, self._runs))

    def _guarded(self, run: _Run) -> None:
        guarded(self._library.hc_mujoco_run, ctypes.byref(run))


class PythonLoop:
    """The same rows, step by step in Python, where nothing is compiled."""

    def __init__(
        self,
        functions: LoopFunctions,
        model: Any,
        arrays: LoopArrays,
        start: tuple[Array, Array],
        slot: Array,
        substeps: int,
    ) -> None:
        mujoco = mujoco_module()
        self._functions, self._model, self._arrays = functions, model, arrays
        self._slot, self._substeps = slot, substeps
        self._forward_first = _forward_first(model)
        self._data = [mujoco.MjData(model) for _ in range(arrays.q.shape[1])]
        for data, qpos, qvel in zip(self._data, *start, strict=True):
            data.qpos[:], data.qvel[:] = qpos, qvel

    def run(self, first: int, last: int) -> None:
        """Compute rows first + 1 to last."""
        for r, data in enumerate(self._data):
            for k in range(first, last):
                self._step(r, k, data)
            if last == len(self._arrays.q) - 1:
                mujoco_module().mj_forward(self._model, data)
                self._arrays.qacc[last, r] = data.qacc

    def _step(self, r: int, k: int, data: Any) -> None:
        mujoco, x = mujoco_module(), self._arrays
        values = [_row(one, k, r) for one in (x.q, x.v, *x.states, *x.inputs)]
        results = _called(self._functions.before, values)
        data.qfrc_applied[:] = results[0]
        for state, value in zip(x.states, results[1:], strict=True):
            row = state[k + 1 if len(state) > 1 else 0]
            row[r] = value.reshape(row[r].shape)
        slots = x.contacts.shape[2] // 6
        found, depth = np.zeros((slots, 7)), 0.0
        for substep in range(self._substeps):
            first = substep == 0
            if first and self._forward_first:
                mujoco.mj_forward(self._model, data)
                x.qacc[k, r] = data.qacc
            mujoco.mj_step(self._model, data)
            if first and not self._forward_first:
                x.qacc[k, r] = data.qacc
            depth = max(depth, self._contacts(data, found)) if slots else 0.0
        if slots:
            points = found[:, 3:6] / np.where(found[:, 6:] > 0, found[:, 6:], np.inf)
            x.contacts[k, r] = np.column_stack([found[:, :3] / self._substeps, points]).ravel()
            x.depth[k, r] = depth
        x.q[k + 1, r], x.v[k + 1, r] = _called(self._functions.after, [data.qpos, data.qvel])

    def _contacts(self, data: Any, found: Array) -> float:
        """Add forces and weighted points of contacts to their slots; the depth of the deepest."""
        local, depth = np.zeros(6), 0.0
        for c, one in enumerate(data.contact):
            if min(one.geom) < 0 or one.efc_address < 0:
                continue
            mujoco_module().mj_contactForce(self._model, data, c, local)
            force = one.frame.reshape(3, 3).T @ local[:3]
            for geom, sign in zip(one.geom, (-1.0, 1.0), strict=True):
                if self._slot[geom] >= 0:
                    found[self._slot[geom]] += [*(sign * force), *(local[0] * one.pos), local[0]]
            depth = max(depth, -one.dist)
        return depth


def _forward_first(model: Any) -> bool:
    """Whether a step leaves accelerations of another time behind, as the stages of Runge and Kutta do."""
    return bool(model.opt.integrator == mujoco_module().mjtIntegrator.mjINT_RK4)


def _rows(x: Array) -> _Rows:
    rows, rollouts = x.shape[:2]
    size = int(np.prod(x.shape[2:], initial=1))
    return _Rows(x.ctypes.data, rollouts * size if rows > 1 else 0, size if rollouts > 1 else 0, size)


def _row(x: Array, k: int, r: int) -> Array:
    return np.asarray(x[k if len(x) > 1 else 0, r if x.shape[1] > 1 else 0])


def _called(function: Function, values: Sequence[Any]) -> tuple[Array, ...]:
    results = function(*(value.ravel() for value in values))
    return results if isinstance(results, tuple) else (results,)
