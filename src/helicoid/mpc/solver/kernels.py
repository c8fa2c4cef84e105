"""The code of one problem, compiled for its sizes: the functions of its nodes, and the solver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import CHeader, UnsupportedOperation, compile_runtime, loop_pragma
from helicoid.errors import CompileError
from helicoid.mpc.solver.nodes.stage import Stages

FIRST_EXACT_ITERATION = 15  # of an arm with exact Hessians: most problems have converged by then
RUNTIME = Path(__file__).parent / "runtime"
LAYOUT = CHeader(RUNTIME / "layout.h")
KERNELS = LAYOUT.fields("KERNELS")
"""The functions that the solver calls; the last six are of a controller."""


class Kernels:
    """Loaded libraries: `solver`, and the `code` of the nodes' functions that it calls, by name."""

    def __init__(self, stages: Stages) -> None:
        self.stages = stages
        functions = node_functions(stages)
        try:
            self.solver, code = compile_runtime(
                "the controller", _text(stages), RUNTIME, list(functions.values())
            )
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
        self.code = dict(zip(functions, code, strict=True))


def node_functions(stages: Stages) -> dict[str, Callable[[], ca.Function]]:
    """Constructors of the functions of the nodes, by their names in `KERNELS`."""
    functions = {"stage": stages.stage, "values": stages.values, "last": stages.end}
    functions["last_values"] = stages.end_values
    second_order = stages.curvature
    if second_order is not None:
        functions["second_order"] = lambda: second_order
    if stages.system.tangent is not None:
        functions |= {"retract": stages.retract, "local": stages.local}
    return functions


def _closed(stages: Stages) -> str:
    """The costs and constraints that call functions without expressions of CasADi."""
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
    return f'{definitions(stages)}{loop_pragma(large=True)}#include "solver.c"\n'


def _declare(api: ctypes.CDLL) -> None:
    """Declare the types of the solver's functions for ctypes."""
    api.mpc_create.restype = ctypes.c_void_p
    api.mpc_create.argtypes = api.mpc_bytes.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    api.mpc_bytes.restype = ctypes.c_size_t
    api.mpc_field.restype = ctypes.c_void_p
    api.mpc_field.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
    loop = ("mpc_loop_prepare", "mpc_loop_shift", "mpc_loop_changed", "mpc_shift")
    for name in ("mpc_prepare", "mpc_feedback", "mpc_destroy", "mpc_reset", *loop):
        getattr(api, name).argtypes = [ctypes.c_void_p]
    for name in ("mpc_loop_feedback", "mpc_loop_start", "mpc_gains"):
        getattr(api, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    api.mpc_solve.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    for name in ("mpc_prepare", "mpc_destroy", "mpc_reset", "mpc_gains", *loop):
        getattr(api, name).restype = None


def definitions(stages: Stages) -> str:
    """The sizes of a problem as macros of C, see runtime/layout.h."""
    system = stages.system
    numbers = {
        "NU": system.nu,
        "NX": system.nx,
        "NXA": int(system.x.numel()),
        "NPAR": int(stages.parameter_symbol.numel()),
        "NTHETA": int(system.constants.numel()),
        "NDIST": int(system.disturbance.numel()),
        "LACKS_RATE": int(system.disturbed is not None),
        "DOUBLE_INTEGRATOR": int(system.uses_double_integrator),
        "NONLINEAR": int(system.is_nonlinear),
        "CURVED": int(stages.curvature is not None),
        "FIRST_CURVED": 0 if system.is_nonlinear or stages.hessian == "exact" else FIRST_EXACT_ITERATION,
        "MANIFOLD": int(system.tangent is not None),
        "NTAU": int(system.symbols["tau"].numel() if "tau" in system.symbols else system.nu),
        "LANES": stages.lanes,
        "SPARSE_ROWS": int(_is_sparse(stages)),
    }
    texts = {}
    for suffix, prefix, rows in (("", "", stages.path_rows), ("T", "LAST_", stages.end_rows)):
        boxes = [row for row in rows if row.box is not None]
        numbers[f"NB{suffix}"], numbers[f"NG{suffix}"] = len(boxes), len(rows) - len(boxes)
        if not suffix:
            numbers["NGF"] = sum(row.box is None and not row.of_place for row in rows)
        texts[f"{prefix}BOX_AT"] = _initialiser([str(row.box) for row in boxes])
        texts[f"{prefix}BOX_SCALE"] = _initialiser([repr(row.factor) for row in boxes])
    if not system.uses_double_integrator:
        texts |= _pattern(stages)
    texts["CONTROL_SHARE"] = repr(system.control_share)
    return "".join(f"#define {name} {value}\n" for name, value in {**numbers, **texts}.items())


def _is_sparse(stages: Stages) -> bool:
    """Whether to exploit zeros in the derivatives of general rows, as for robots with several limbs."""
    J = ca.sparsify(stages.path_jacobian)
    return stages.nzp >= 40 and J.nnz() < 0.5 * J.shape[0] * (stages.system.nu + stages.system.nx)


def _pattern(stages: Stages) -> dict[str, str]:
    """Sparsity of [B A]: the rows of each column, and those of each group of LANES columns."""
    rows, columns = stages.dynamics.sparsity().get_triplet()
    width = stages.lanes
    texts = {}
    for name, count, at in (
        ("COLUMN", stages.nzp, columns),
        ("VECTOR", stages.nzp // width, [k // width for k in columns]),
    ):
        lists = [sorted({row for row, k in zip(rows, at, strict=True) if k == one}) for one in range(count)]
        starts = [sum(len(one) for one in lists[:k]) for k in range(count + 1)]
        texts[f"{name}_START"] = _initialiser([str(k) for k in starts])
        texts[f"{name}_ROWS"] = _initialiser([str(row) for one in lists for row in one])
    return texts


def _initialiser(values: Sequence[str]) -> str:
    return "{" + ", ".join(values or ["0"]) + "}"
