"""The code of one problem, compiled for its sizes: the functions of its nodes, and the solver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import compile_runtime
from helicoid.compiler.code.program import UnsupportedOperation
from helicoid.errors import CompileError
from helicoid.mpc.solver.stage import Stages

RUNTIME = Path(__file__).parent / "runtime"


class Kernels:
    """Loaded libraries: `solver`, and the `entries` of the nodes' functions that it calls."""

    def __init__(self, stages: Stages) -> None:
        self.stages = stages
        functions = [stages.stage, stages.values, stages.end, stages.end_values]
        if stages.system.tangent is not None:
            functions += [stages.retract, stages.local]
        try:
            # The addresses are those of loaded libraries, which live as long as the code that is kept here.
            self.solver, self._code = compile_runtime("the controller", _text(stages), RUNTIME, functions)
        except UnsupportedOperation as error:
            raise CompileError(
                f"{_closed(stages)} calls a function that is closed to CasADi, such as a casadi_external: "
                "what it computes cannot become part of the compiled solver. Write it with expressions, "
                "robot.gravity(problem.q) and not robot.gravity.casadi_external()(problem.q); or use "
                f"problem.solve(..., solver='ipopt'). ({error})"
            ) from error
        except CompileError as error:
            raise CompileError(
                f"{error}. Controllers and the solver 'sqp' are compiled C; "
                "problem.solve(..., solver='ipopt') does without"
            ) from error
        _declare(self.solver)
        self.entries = [code.address for code in self._code] + [None] * (6 - len(self._code))


def _closed(stages: Stages) -> str:
    """The costs and constraints that call functions which CasADi cannot look into."""
    terms: list[tuple[str, Expression]] = [(f"cost {one.name!r}", one.expression) for one in stages.costs]
    terms += [(f"constraint {one.name!r}", one.expression) for one in stages.constraints]
    found = []
    for name, expression in terms:
        f = ca.Function("f", [], [expression], {"allow_free": True})
        if any(f.instruction_id(k) == ca.OP_CALL for k in range(f.n_instructions())):
            found.append(name)
    return " and ".join(found) or "the step of the system"


def _text(stages: Stages) -> str:
    """The C of the solver for the sizes of a problem."""
    return f'{_definitions(stages)}#pragma GCC optimize ("O3")\n#include "solver.c"\n'


def _declare(api: ctypes.CDLL) -> None:
    """Tell ctypes the types of the solver's functions."""
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
    texts["CONTROL_SHARE"] = repr(system.control_share)
    return "".join(f"#define {name} {value}\n" for name, value in {**numbers, **texts}.items())


def _initialiser(values: Sequence[str]) -> str:
    return "{" + ", ".join(values or ["0"]) + "}"
