"""Compilation of symbolic functions into fast callables; independent of robots.

The other packages import from here, never from the modules within:

Functions
    Function            named inputs and outputs around a CasADi function, called with numbers or symbols
    Input, Output       their names, shapes, tangents and rates; Shape: a tuple of up to two sizes
    Expressions         symbols of the inputs, and expressions of the outputs in them
    Iteration           x[k+1] = f(x[k], u[k]), many steps in one call
    interpreted         a function's value without compilation, for what is computed once
    row_major, from_row_major    matrices as columns in NumPy's order, and back

Loops after straight-line code, for large functions
    MatrixProgram           a head, and steps on matrices: MapColumns, SumToParents, SumFromParents,
                            Zero, Product, Mirror, AddDiagonal, Articulate, Solve, Invert,
                            Multiply, MultiplyRow; SOLVE_OPERATIONS of one element

Settings
    set_compile, compile_is_on, set_num_threads, get_num_threads, open_cache

C runtimes that call functions (solvers, loops)
    compile_batch           CasADi functions as code that other C calls: BatchCode
    compile_runtime         one C file and the functions that it calls
    compile_kernel          C and the functions that it calls as one callable: Kernel
    compile_with_functions  the same as a library, its functions on several samples at once
    CHeader                 enumerations, fields and numbers that a C header defines, by name
    in_parallel             tasks that run compilers, as many at a time as there are cores
    building, new_lock      locks around CasADi's graphs, and locks that survive a fork
    native_lanes            doubles in one vector of this processor
    loop_pragma             the line of C that has a runtime's loops unrolled

Exported C libraries
    export_c, export_library, Precision, Routine, cmake_lists, write_files, runtime_files
    Program, c_source, optimisation_pragma, KERNEL_HEADERS, UnsupportedOperation
    c_identifier, distinct_identifiers, c_number, c_array, c_text, c_comment, c_declaration, c_header

Terms, in the order in which one comes from the other: a Function has a CasADi function; its *flat function*
takes and gives dense columns in NumPy's order; a *program* is the list of its operations; a *writer* puts a
program into C; a *kernel* is that C, compiled and loaded; an *evaluator* computes with a kernel, or with
CasADi's virtual machine.
"""

from typing import TYPE_CHECKING

from helicoid._lazy import lazy_names

if TYPE_CHECKING:
    from helicoid.compiler.build.binding import Kernel as Kernel
    from helicoid.compiler.build.binding import get_num_threads as get_num_threads
    from helicoid.compiler.build.binding import set_num_threads as set_num_threads
    from helicoid.compiler.build.c_header import CHeader as CHeader
    from helicoid.compiler.build.cache import KERNEL_HEADERS as KERNEL_HEADERS
    from helicoid.compiler.build.cache import open_cache as open_cache
    from helicoid.compiler.build.processes import in_parallel as in_parallel
    from helicoid.compiler.build.toolchain import loop_pragma as loop_pragma
    from helicoid.compiler.build.toolchain import native_lanes as native_lanes
    from helicoid.compiler.code.c_names import c_identifier as c_identifier
    from helicoid.compiler.code.c_names import distinct_identifiers as distinct_identifiers
    from helicoid.compiler.code.c_source import c_source as c_source
    from helicoid.compiler.code.c_source import optimisation_pragma as optimisation_pragma
    from helicoid.compiler.code.matrix_program import SOLVE_OPERATIONS as SOLVE_OPERATIONS
    from helicoid.compiler.code.matrix_program import AddDiagonal as AddDiagonal
    from helicoid.compiler.code.matrix_program import Articulate as Articulate
    from helicoid.compiler.code.matrix_program import MapColumns as MapColumns
    from helicoid.compiler.code.matrix_program import MatrixProgram as MatrixProgram
    from helicoid.compiler.code.matrix_program import Mirror as Mirror
    from helicoid.compiler.code.matrix_program import MultiplyRow as MultiplyRow
    from helicoid.compiler.code.matrix_program import Product as Product
    from helicoid.compiler.code.matrix_program import Solve as Solve
    from helicoid.compiler.code.matrix_program import Step as Step
    from helicoid.compiler.code.matrix_program import SumFromParents as SumFromParents
    from helicoid.compiler.code.matrix_program import SumToParents as SumToParents
    from helicoid.compiler.code.matrix_program import Zero as Zero
    from helicoid.compiler.code.program import Program as Program
    from helicoid.compiler.code.program import UnsupportedOperation as UnsupportedOperation
    from helicoid.compiler.code.tree_inverse import Invert as Invert
    from helicoid.compiler.code.tree_inverse import Multiply as Multiply
    from helicoid.compiler.code.tree_inverse import Tree as Tree
    from helicoid.compiler.evaluation.compiled import compile_is_on as compile_is_on
    from helicoid.compiler.evaluation.compiled import set_compile as set_compile
    from helicoid.compiler.evaluation.interpreted import interpreted as interpreted
    from helicoid.compiler.export.c_library import Precision as Precision
    from helicoid.compiler.export.c_library import Routine as Routine
    from helicoid.compiler.export.c_library import export_c as export_c
    from helicoid.compiler.export.c_library import export_library as export_library
    from helicoid.compiler.export.cmake import cmake_lists as cmake_lists
    from helicoid.compiler.export.files import runtime_files as runtime_files
    from helicoid.compiler.export.files import write_files as write_files
    from helicoid.compiler.export.texts import c_array as c_array
    from helicoid.compiler.export.texts import c_comment as c_comment
    from helicoid.compiler.export.texts import c_declaration as c_declaration
    from helicoid.compiler.export.texts import c_header as c_header
    from helicoid.compiler.export.texts import c_number as c_number
    from helicoid.compiler.export.texts import c_text as c_text
    from helicoid.compiler.for_runtimes import BatchCode as BatchCode
    from helicoid.compiler.for_runtimes import compile_batch as compile_batch
    from helicoid.compiler.for_runtimes import compile_kernel as compile_kernel
    from helicoid.compiler.for_runtimes import compile_runtime as compile_runtime
    from helicoid.compiler.for_runtimes import compile_with_functions as compile_with_functions
    from helicoid.compiler.function import Function as Function
    from helicoid.compiler.iteration import Iteration as Iteration
    from helicoid.compiler.locks import building as building
    from helicoid.compiler.locks import new_lock as new_lock
    from helicoid.compiler.symbolic.definition import Expressions as Expressions
    from helicoid.compiler.symbolic.expressions import from_row_major as from_row_major
    from helicoid.compiler.symbolic.expressions import row_major as row_major
    from helicoid.compiler.symbolic.signature import Input as Input
    from helicoid.compiler.symbolic.signature import Output as Output
    from helicoid.compiler.symbolic.signature import Shape as Shape
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
