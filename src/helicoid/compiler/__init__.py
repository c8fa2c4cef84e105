"""A symbolic function in, a fast callable out; knows nothing of robots.

    Function        named inputs and outputs around a CasADi function; called with numbers, batches, symbols
    Input, Output   their names, shapes, tangents and rates
    Iteration       x[k+1] = f(x[k], u[k]), many steps in one call
    compile_batch   CasADi functions as code that other C calls; compile_runtime: that other C itself
    compile_kernel  C of one's own with the functions it calls, as one callable; compile_with_functions: the
                    same as a library, its functions on several samples at once

The words of this room, in the order in which one comes from the other: a Function has a CasADi function; its
*flat function* takes and gives dense columns in NumPy's order; a *program* is what that computes; a *writer*
puts a program into C; a *kernel* is that C, compiled and loaded; an *evaluator* computes with a kernel, or
with CasADi's virtual machine.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helicoid.compiler.for_runtimes import (
        compile_batch,
        compile_kernel,
        compile_runtime,
        compile_with_functions,
    )
    from helicoid.compiler.function import Function
    from helicoid.compiler.iteration import Iteration
    from helicoid.compiler.symbolic.signature import Input, Output

__all__ = [
    "Function",
    "Input",
    "Iteration",
    "Output",
    "compile_batch",
    "compile_kernel",
    "compile_runtime",
    "compile_with_functions",
]

_HOMES = {
    "Function": "function",
    "Input": "symbolic.signature",
    "Iteration": "iteration",
    "Output": "symbolic.signature",
    "compile_batch": "for_runtimes",
    "compile_kernel": "for_runtimes",
    "compile_runtime": "for_runtimes",
    "compile_with_functions": "for_runtimes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
