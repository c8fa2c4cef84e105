"""A symbolic function that is called like an ordinary one: with vectors, batches or symbols."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca

from helicoid.compiler.bridges import bridge
from helicoid.compiler.build.binding import direct_call_class
from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.evaluation.arguments import as_matrix, bind
from helicoid.compiler.evaluation.numeric import NumericCall
from helicoid.compiler.export.c_library import Precision, export_c
from helicoid.compiler.export.casadi_external import casadi_external
from helicoid.compiler.locks import building
from helicoid.compiler.symbolic import differentiation
from helicoid.compiler.symbolic.definition import Definition, Given
from helicoid.compiler.symbolic.expressions import build_function, count_operations
from helicoid.compiler.symbolic.signature import (
    Input,
    Output,
    call_signature,
    describe,
    documentation,
    matrix_shape,
)
from helicoid.compiler.symbolic.storage import load_function, save_function
from helicoid.errors import HelicoidError, InputError
from helicoid.interrupts import interruptible
from helicoid.pages.tables import table

__all__ = ["Function", "Input", "Output", "count_operations"]

_CASADI_TYPES = (ca.SX, ca.MX, ca.DM)


class Function:
    """A function with named inputs and outputs, defined by SX expressions.

    Args:
        name: shown in messages, and the name of the CasADi function.
        inputs: in order.
        outputs: in order. One output is returned as itself, several as a named tuple.
        definition: an SX `casadi.Function` of matrices in the form that `Output` describes, or a
            callable without arguments that is called when first needed and returns that, or the pair
            (input symbols, output expressions).
        loops: gives a program with loops for compiled code, or None; for large functions.

    It is called in three ways, by position or by name:

    - numbers: each output is a float64 array of its shape, a scalar is a float. `out=` names the array
      (a tuple for several outputs) to fill instead of a new one.
    - a batch: an input with one axis more, in front, makes every output have that axis. Inputs without
      it are the same for all samples.
    - CasADi SX, MX or DM anywhere: the result is a CasADi matrix, a vector being a column. SX is
      expanded into the caller's expression; MX holds a call of this function.

    Any number of threads may call it at once.

    >>> import casadi as ca
    >>> import helicoid as hc
    >>> from helicoid.compiler import Input, Output
    >>> x, k = ca.SX.sym("x", 2), ca.SX.sym("k")
    >>> spring = hc.Function.from_expressions(
    ...     "spring", [(Input("x", (2,)), x), (Input("k", ()), k)], [(Output("force", (2,)), -k * x)]
    ... )
    >>> spring
    Function spring(x[2], k) -> force[2], 4 operations
    >>> spring([1.0, 2.0], k=10)
    array([-10., -20.])
    >>> spring([[1, 2], [3, 4], [5, 6]], 10)
    array([[-10., -20.],
           [-30., -40.],
           [-50., -60.]])
    >>> spring(ca.SX.sym("p", 2), 10)
    SX(@1=10, [(-(@1*p_0)), (-(@1*p_1))])
    """

    # The slot is where compiled code finds itself without a look-up; the rest is an ordinary instance.
    __slots__ = ("__dict__", "__weakref__", "_kernel")

    def __init__(
        self,
        name: str,
        inputs: Sequence[Input],
        outputs: Sequence[Output],
        definition: Given,
        loops: Callable[[], MatrixProgram | None] = lambda: None,
    ) -> None:
        self._definition = Definition(name, inputs, outputs, definition, loops)
        self.name = name
        self.inputs = self._definition.inputs
        self.outputs = self._definition.outputs
        self._kernel: Any = None
        self._numeric = NumericCall(self._definition)
        self._derived: dict[Any, Function] = {}
        self._bridges: dict[str, Callable[..., Any]] = {}
        self._usage = self._definition.usage
        self._input_names = frozenset(item.name for item in inputs)
        # Of the instance: `help`, notebooks and editors look here. Subclasses may say more.
        self.__doc__ = documentation(self._usage, inputs, outputs)
        self.__signature__ = call_signature(inputs, outputs)

    @classmethod
    def from_expressions(
        cls,
        name: str,
        inputs: Mapping[str, ca.SX] | Sequence[tuple[Input, ca.SX]],
        outputs: Mapping[str, ca.SX] | Sequence[tuple[Output, ca.SX]],
    ) -> Function:
        """The function of expressions that exist already.

        A mapping from names to SX takes the shapes from the SX: 1 x 1 is a scalar, n x 1 a vector. A symbol
        that is in no input is a `HelicoidError`.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> x = ca.SX.sym("x", 3)
        >>> hc.Function.from_expressions("norm2", {"x": x}, {"y": ca.dot(x, x)})([1, 2, 2])
        9.0
        """
        if isinstance(inputs, Mapping):
            inputs = [(Input(key, _shape_of(value)), value) for key, value in inputs.items()]
        if isinstance(outputs, Mapping):
            outputs = [(Output(key, _shape_of(value)), value) for key, value in outputs.items()]
        xs, ys = [item for item, _ in inputs], [item for item, _ in outputs]
        with building():
            function = build_function(name, xs, ys, [e for _, e in inputs], [e for _, e in outputs])
        return cls(name, xs, ys, function)

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Compute the outputs; see the class for the three ways of calling."""
        if kwargs:
            options = {key: value for key, value in kwargs.items() if key not in self._input_names}
            if options:
                rest = {key: value for key, value in kwargs.items() if key in self._input_names}
                return self._variant(**options)(*args, out=out, **rest)
        if kwargs or len(args) != len(self.inputs):
            args = bind(self._usage, self.inputs, args, kwargs)
        return self._evaluate(args, out)

    def _variant(self, **options: Any) -> Callable[..., Any]:
        """The callable for the remaining arguments when some keywords are no inputs.

        A function has no options: this raises. A subclass that has some returns another (cached)
        function, or `functools.partial` of one whose further inputs the options fill.
        """
        unknown = ", ".join(repr(key) for key in options)
        raise InputError(f"{self._usage}: has no input {unknown}")

    def _evaluate(self, values: Sequence[Any], out: Any) -> Any:
        """Results for one value per input, in order: of numbers, of a batch, or of symbols."""
        if any(isinstance(value, _CASADI_TYPES) for value in values):
            return self._evaluate_symbols(values, out)
        result = self._numeric(values, out)
        self._enable_direct_calls()
        return result

    def _evaluate_symbols(self, values: Sequence[Any], out: Any) -> Any:
        if out is not None:
            raise InputError(f"{self._usage}: out takes numbers, this call has CasADi arguments")
        if any(isinstance(value, ca.SX) for value in values) and any(isinstance(v, ca.MX) for v in values):
            kinds = ", ".join(
                f"'{x.name}' {type(v).__name__}" for x, v in zip(self.inputs, values, strict=True)
            )
            raise InputError(f"{self._usage}: SX and MX cannot be mixed in one call; got {kinds}")
        with interruptible():
            matrices = [
                as_matrix(self._usage, x, value) for x, value in zip(self.inputs, values, strict=True)
            ]
            return self._numeric.pack(self.casadi.call(matrices))

    @property
    def casadi(self) -> ca.Function:
        """The CasADi function, with matrices in and out (see `Output`); built when first needed."""
        return self._definition.casadi

    def _enable_direct_calls(self) -> None:
        """From now on, calls with plain arrays go straight to the compiled code (see `evaluation`)."""
        kernel = getattr(self._numeric.evaluator, "kernel", None)
        if kernel is not None and self._kernel is not kernel:
            self._kernel = kernel
            self.__class__ = direct_call_class(type(self))

    def compile(self, batch: bool = False) -> Function:
        """Compile now and not at the first call: for one sample, and with `batch` for batches too.

        Returns the function itself.

        Raises:
            CompileError: there is no C compiler, or it fails.
            UnsupportedOperation: an operation has no counterpart in C.
        """
        for kind in ("scalar", "batch") if batch else ("scalar",):
            self._numeric.compile(kind)
        self._enable_direct_calls()
        return self

    @property
    def n_operations(self) -> int:
        """Number of arithmetic operations of one evaluation; see `count_operations`."""
        return self._definition.n_operations

    def jacobian(self, *names: str) -> Function:
        """The derivatives of every output with respect to the named inputs, all inputs if none is named.

        Output `dy_dx` has shape y.shape + x.shape, element [..., k] being the derivative along x[k].
        For an input on a manifold, q_dot = N(q) v, it is along the velocity, dy/dq N(q), and the last
        axis has nv entries. Applied twice this gives the derivative of dy/dq N(q), which is symmetric
        in the two directions only where N is constant.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> x = ca.SX.sym("x", 2)
        >>> f = hc.Function.from_expressions("f", {"x": x}, {"y": x[0] ** 2 * x[1]})
        >>> f.jacobian("x")
        Function f_jacobian(x[2]) -> dy_dx[2]
        >>> f.jacobian("x")([3.0, 5.0])
        array([30.,  9.])
        """
        return self._derivative("jacobian", names)

    def hessian(self, *names: str) -> Function:
        """The second derivatives of every output along pairs of the named inputs, or of all inputs.

        Output `d2y_dx_dz` has shape y.shape + x.shape + z.shape; of each pair of inputs there is one, in the
        order of the inputs, since the other is its transpose. Inputs on a manifold, q_dot = N(q) v, have nv
        entries: element [..., i, j] is ½ (∂i ∂j y + ∂j ∂i y) with ∂i along the i-th velocity, so that
        vᵀ H v is d²y/dt² while v is constant.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> x = ca.SX.sym("x", 2)
        >>> f = hc.Function.from_expressions("f", {"x": x}, {"y": x[0] ** 2 * x[1]})
        >>> f.hessian("x")
        Function f_hessian(x[2]) -> d2y_dx_dx[2, 2]
        >>> f.hessian("x")([3.0, 5.0])
        array([[10.,  6.],
               [ 6.,  0.]])
        """
        return self._derivative("hessian", names)

    def jvp(self, *names: str) -> Function:
        """The Jacobian times a vector, without the Jacobian: dy = Σ dy/dx dx over the named inputs x.

        It takes the inputs and then, for each named input x (all if none is named), a vector `dx` of its
        shape; on a manifold, q_dot = N(q) v, it is a velocity of nv entries. It gives `dy` of the shape of
        every output y. One sweep forward costs about as much as two to three evaluations of the function,
        whatever the number of inputs.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> x = ca.SX.sym("x", 2)
        >>> f = hc.Function.from_expressions("f", {"x": x}, {"y": x[0] ** 2 * x[1]})
        >>> f.jvp("x")
        Function f_jvp(x[2], dx[2]) -> dy
        >>> f.jvp("x")([3.0, 5.0], [1.0, 10.0])
        120.0
        """
        return self._derivative("jvp", names)

    def vjp(self, *names: str) -> Function:
        """The transposed Jacobian times a vector, without the Jacobian: x_bar = Σ (dy/dx)ᵀ y_bar over all y.

        It takes the inputs and then, for each output y, a vector `y_bar` of its shape. It gives `x_bar` for
        each named input x (all if none is named), of its shape; on a manifold, q_dot = N(q) v, of nv entries.
        One sweep backward costs about as much as three evaluations of the function: the gradient of a single
        output, however many inputs there are.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> x = ca.SX.sym("x", 2)
        >>> f = hc.Function.from_expressions("f", {"x": x}, {"y": x[0] ** 2 * x[1]})
        >>> f.vjp("x")
        Function f_vjp(x[2], y_bar) -> x_bar[2]
        >>> f.vjp("x")([3.0, 5.0], 2.0)
        array([60., 18.])
        """
        return self._derivative("vjp", names)

    def _derivative(self, kind: str, names: Sequence[str]) -> Function:
        """A derivative along the inputs of these names, all if there are none."""
        by_name = {item.name: item for item in self.inputs}
        for name in names:
            if name not in by_name:
                raise InputError(f"{self._usage}: has no input '{name}' to differentiate by")
        along = [by_name[name] for name in dict.fromkeys(names or by_name)]
        key = (kind, *(item.name for item in along))
        if key not in self._derived:
            derived = differentiation.RULES[kind](self._definition, along)
            self._derived[key] = Function(f"{self.name}_{kind}", *derived)
        return self._derived[key]

    def time_derivative(self) -> Function:
        """The time derivative `y_dot` of every output y, while each input moves at its `rate`.

        Rates that are no inputs yet become inputs, after the others; their own rate is called
        `<name>_dot`, so that the result has a time derivative too. Inputs without rate are constant.

        >>> import casadi as ca
        >>> import helicoid as hc
        >>> from helicoid.compiler import Input, Output
        >>> q, v = ca.SX.sym("q"), ca.SX.sym("v")
        >>> p = hc.Function.from_expressions("p", [(Input("q", (), rate="v"), q)], [(Output("y", ()), q**2)])
        >>> p.time_derivative().time_derivative()
        Function p_dot_dot(q, v, v_dot) -> y_dot_dot
        >>> p.time_derivative()(q=3.0, v=2.0)
        12.0
        """
        if "time" not in self._derived:
            derived = differentiation.time_derivative(self._definition)
            self._derived["time"] = Function(f"{self.name}_dot", *derived)
        return self._derived["time"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this function, with its names, shapes and tangents, to one file."""
        save_function(path, self.name, self.inputs, self.outputs, self.casadi)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Function:
        """The function that `save` wrote to this file. Load only files that you trust.

        Raises:
            HelicoidError: the file is missing, damaged, of another kind or of another version.
        """
        name, inputs, outputs, function = load_function(path)
        try:
            return Function(name, inputs, outputs, function)
        except HelicoidError as error:
            raise HelicoidError(f"{path}: the function in this file contradicts itself: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code and the class for direct calls belong to this process: a copy gets its own.
        return Function, (self.name, self.inputs, self.outputs, self.casadi)

    def export_c(self, folder: str | os.PathLike[str], precision: Precision = "double") -> list[Path]:
        """Write it as C99 with nothing but math.h; see `helicoid.compiler.export.c_library`."""
        return export_c(self, folder, precision)

    def casadi_external(self, order: int = 2) -> ca.Function:
        """The compiled function with its derivatives as a CasADi function of MX, for NLPs."""
        return casadi_external(self, order)

    def jax(self) -> Callable[..., Any]:
        """The function of JAX arrays, for `jax.grad`, `jax.vmap` and `jax.jit`; needs `helicoid[jax]`.

        Inputs may have any axes of samples in front, which broadcast. XLA calls the compiled batch code
        itself, on the CPU. Gradients, and gradients of gradients, come from `vjp`, compiled when first
        needed. An input on a manifold has gradients along its entries, as the expression has them: of a
        quaternion four, of which N(q)ᵀ makes what `vjp` gives. JAX must have double precision turned on;
        results have the inputs' type.

        Raises:
            HelicoidError: jax is not installed.
        """
        return self._bridged("jax")

    def torch(self) -> Callable[..., Any]:
        """The function of PyTorch tensors, for `backward`, `torch.func` and `vmap`; needs `helicoid[torch]`.

        Inputs may have any axes of samples in front, which broadcast. It computes in double precision, on
        the CPU; results have the tensors' type, so that of float32 they are rounded to it. Gradients, and
        gradients of gradients, come from `vjp`, forward derivatives from `jvp`, compiled when first
        needed. An input on a manifold has gradients along its entries, as for `jax`.

        Raises:
            HelicoidError: torch is not installed.
        """
        return self._bridged("torch")

    def _bridged(self, package: str) -> Callable[..., Any]:
        if package not in self._bridges:
            inputs = [Input(item.name, item.shape) for item in self.inputs]
            outputs = [
                Output(y.name, y.shape if len(y.shape) < 3 else matrix_shape(y.shape)) for y in self.outputs
            ]
            flat = Function(self.name, inputs, outputs, lambda: self.casadi)
            self._bridges[package] = bridge(package, self, flat)
        return self._bridges[package]

    def __repr__(self) -> str:
        count = f", {self.n_operations} operations" if self._definition.is_built else ""
        return f"Function {self._usage} -> {describe(self.outputs)}{count}"

    def _repr_html_(self) -> str:
        """For notebooks: the call, and a table of inputs and outputs."""
        items = [("input", item) for item in self.inputs] + [("output", item) for item in self.outputs]
        rows = [(kind, item.name, item.shape or "number") for kind, item in items]
        return table(repr(self), ("", "name", "shape"), rows)


def _shape_of(expression: ca.SX) -> tuple[int, ...]:
    rows, columns = ca.SX(expression).shape
    if columns != 1:
        return rows, columns
    return () if rows == 1 else (rows,)
