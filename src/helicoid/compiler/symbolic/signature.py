"""Names and shapes of the inputs and outputs of a function."""

from __future__ import annotations

import functools
import inspect
import keyword
import math
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from helicoid.errors import HelicoidError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """One named argument of a function.

    Args:
        name: a Python identifier.
        shape: `()` a scalar, `(n,)` a vector, `(r, c)` a matrix.
        tangent: for a vector q on a manifold, the CasADi function q -> N(q), an nq x nv matrix with
            q_dot = N(q) v. Derivatives with respect to q are then taken along v. None: N is the identity.
        rate: the name of the input that is its time derivative ("q" has "v"). None: constant in time.

    >>> Input("q", (6,), rate="v")
    Input(name='q', shape=(6,), tangent=None, rate='v')
    """

    name: str
    shape: Shape
    tangent: ca.Function | None = None
    rate: str | None = None

    def __post_init__(self) -> None:
        _check_name("input", self.name)
        _check_shape("input", self.name, self.shape)
        if self.name == "out":
            raise HelicoidError("an input cannot be called 'out': that keyword receives the result")
        if len(self.shape) > 2:
            raise HelicoidError(f"input '{self.name}': shape {self.shape} has more than two axes")
        if self.tangent is not None:
            self._check_tangent(self.tangent)

    def _check_tangent(self, tangent: ca.Function) -> None:
        rule = f"input '{self.name}': its tangent must be one matrix N(q) with as many rows as q, a vector"
        if len(self.shape) != 1 or tangent.n_in() != 1 or tangent.n_out() != 1:
            raise HelicoidError(f"{rule}; the input has shape {self.shape} and the tangent is {tangent}")
        if tangent.size_in(0) != (self.shape[0], 1) or tangent.size1_out(0) != self.shape[0]:
            raise HelicoidError(f"{rule}; the input has shape {self.shape} and the tangent is {tangent}")

    @property
    def rate_shape(self) -> Shape:
        """Shape of a velocity along this input: `(nv,)` on a manifold, else `shape`."""
        return self.shape if self.tangent is None else (self.tangent.size2_out(0),)


@dataclass(frozen=True)
class Output:
    """One named result of a function.

    A tensor has as many axes as `shape` has entries. CasADi has matrices only, so a tensor of shape
    (a, ..., b, c) is given as the matrix of a*...*b rows and c columns that NumPy's
    `tensor.reshape(-1, c)` would give: both flatten to the same row-major sequence. A vector (n,) is a
    column, a scalar () is 1 x 1.

    >>> Output("tau", (6,))
    Output(name='tau', shape=(6,))
    """

    name: str
    shape: Shape

    def __post_init__(self) -> None:
        _check_name("output", self.name)
        _check_shape("output", self.name, self.shape)


def matrix_shape(shape: Shape) -> tuple[int, int]:
    """Rows and columns of the CasADi matrix that stands for a tensor of this shape (see `Output`).

    >>> matrix_shape(()), matrix_shape((6,)), matrix_shape((4, 4)), matrix_shape((2, 3, 5))
    ((1, 1), (6, 1), (4, 4), (6, 5))
    """
    if len(shape) < 2:
        return math.prod(shape), 1
    return math.prod(shape[:-1]), shape[-1]


def signature(name: str, inputs: Sequence[Input]) -> str:
    """The call of a function, as error messages show it.

    >>> signature("inverse_dynamics", [Input("q", (6,)), Input("scale", ())])
    'inverse_dynamics(q[6], scale)'
    """
    return f"{name}({describe(inputs)})"


def describe(items: Sequence[Input] | Sequence[Output]) -> str:
    """Names with their shapes, `tau[6], M[6, 6]`; a scalar is its bare name."""
    return ", ".join(f"{item.name}{list(item.shape)}" if item.shape else item.name for item in items)


def call_signature(inputs: Sequence[Input], outputs: Sequence[Output]) -> inspect.Signature:
    """The signature for `inspect.signature`: inputs by position or name, and `out` by name.

    >>> str(call_signature([Input("q", (6,))], [Output("tau", (6,))]))
    "(q, *, out=None) -> 'tau'"
    """
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(item.name, either) for item in inputs]
    parameters.append(inspect.Parameter("out", keyword, default=None))
    return inspect.Signature(parameters, return_annotation=", ".join(item.name for item in outputs))


def documentation(usage: str, inputs: Sequence[Input], outputs: Sequence[Output]) -> str:
    """The text for `help`: the call, inputs and outputs of a function."""
    lines = [
        f"`{usage} -> {describe(outputs)}`",
        "",
        "Inputs, for a batch with one axis more in front:",
        "",
    ]
    lines += [f"- `{item.name}` {_size(item.shape)}{_role(item)}" for item in inputs]
    lines += ["", "Returns:", "", *(f"- `{item.name}` {_size(item.shape)}" for item in outputs)]
    return "\n".join(lines)


def _size(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})" if shape else "(a number)"


def _role(item: Input) -> str:
    rate = f", its rate is `{item.rate}`" if item.rate else ""
    return rate if item.tangent is None else f", on a manifold with {item.rate_shape[0]} velocities{rate}"


def result_type(name: str, outputs: Sequence[Output]) -> Any:
    """The named tuple in which a function returns several outputs.

    >>> result_type("f", [Output("a", ()), Output("b", ())])(1.0, 2.0)
    f_result(a=1.0, b=2.0)
    """
    return _named_tuple(f"{name}_result", tuple(item.name for item in outputs))


@functools.cache
def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    # The class is created here and not found by name: pickle needs a function that creates it again.
    content = {"__slots__": (), "__reduce__": lambda values: (_named, (name, fields, tuple(values)))}
    return type(name, (namedtuple(name, fields),), content)


def _named(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _named_tuple(name, fields)._make(values)


def check_distinct(kind: str, names: Sequence[str]) -> None:
    """Raise when a name occurs twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise HelicoidError(f"two {kind}s are called '{twice[0]}': the names must be distinct")


def _check_name(kind: str, name: str) -> None:
    # A leading underscore is refused because the fields of a named tuple cannot have one.
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise HelicoidError(f"{kind} name {name!r} is not a Python identifier without leading underscore")


def _check_shape(kind: str, name: str, shape: Shape) -> None:
    if not isinstance(shape, tuple) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise HelicoidError(f"{kind} '{name}': shape must be a tuple of sizes such as (6,); got {shape!r}")
