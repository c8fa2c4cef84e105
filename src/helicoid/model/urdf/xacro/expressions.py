"""Expressions of xacro, evaluated by walking their syntax tree: arithmetic, names, calls of known functions.

xacro itself hands expressions to Python's `eval`, and checks names of the outermost level only; from there
any function of Python can be reached, and `$(eval ...)` has all built-in functions. Here nothing exists but
what is listed, and the size of every result is bounded.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from helicoid.errors import RobotDescriptionError

MAX_SIZE = 100_000  # elements or characters of a value
_MAX_STEPS = 100_000  # parts of an expression that are evaluated
_MAX_BITS = 4096  # of an integer
_MAX_LENGTH = 100_000  # characters of an expression
_MAX_COUNT = 1000  # argument of a factorial


class ExpressionError(RobotDescriptionError):
    """An expression that is not allowed, or whose value is too large."""


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and abs(b) * a.bit_length() > _MAX_BITS:
        raise ExpressionError(f"{a} ** {b} is too large")
    return a**b


def _product(a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, (str, list, tuple)) and isinstance(other, int) and len(one) * other > MAX_SIZE:
            raise ExpressionError(f"a value repeated {other} times is too large")
    return a * b


def _remainder(a: Any, b: Any) -> Any:
    if isinstance(a, str) and re.search(r"\d{4}|\*", a):
        raise ExpressionError(f"the width in the format {a!r} is too large")
    return a % b


def _left_shift(a: Any, b: Any) -> Any:
    return _product(a, _power(2, b))


_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.LShift: _left_shift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        [
            "capitalize",
            "count",
            "endswith",
            "find",
            "index",
            "isalnum",
            "isalpha",
            "isdigit",
            "isspace",
            "lower",
            "lstrip",
            "removeprefix",
            "removesuffix",
            "rfind",
            "rsplit",
            "rstrip",
            "split",
            "splitlines",
            "startswith",
            "strip",
            "swapcase",
            "title",
            "upper",
            "replace",
            "join",
        ]
    ),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
    dict: frozenset(("get", "items", "keys", "values")),
}
"""Methods that may be called, by the type of the value; the results of two are bounded below."""


def _replaced(text: str, old: str, new: str) -> str:
    if (len(text) + 1) * len(new) > MAX_SIZE:
        raise ExpressionError("the result of replace is too large")
    return text.replace(old, new)


def _joined(text: str, parts: Iterable[str]) -> str:
    items = bounded(list(parts))
    if len(text) * len(items) > MAX_SIZE:
        raise ExpressionError("the result of join is too large")
    return text.join(items)


def bounded(value: Any) -> Any:
    """The value, if it is not too large, with what it contains."""
    count, stack = 0, [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            count += len(one)
        elif isinstance(one, int):
            count += one.bit_length() // 64
            if one.bit_length() > _MAX_BITS:
                raise ExpressionError("a number is too large")
        elif isinstance(one, Mapping):
            count += len(one)
            stack += [*dict.keys(one), *dict.values(one)] if isinstance(one, dict) else []
        elif isinstance(one, (list, tuple, set, frozenset)):
            count += len(one)
            stack += list.__iter__(one) if isinstance(one, list) else one
        if count > MAX_SIZE:
            raise ExpressionError(f"a value has more than {MAX_SIZE} elements or characters")
    return value


def _range(*numbers: Any) -> range:
    found = range(*(int(number) for number in numbers))
    if len(found) > MAX_SIZE:
        raise ExpressionError(f"a range has {len(found)} numbers, more than {MAX_SIZE}")
    return found


def _counted(function: Callable[..., int]) -> Callable[..., int]:
    def checked(*numbers: int) -> int:
        if any(abs(number) > _MAX_COUNT for number in numbers):
            raise ExpressionError(f"{function.__name__} takes numbers up to {_MAX_COUNT}")
        return function(*numbers)

    return checked


FUNCTIONS: dict[str, Any] = {
    **{
        one.__name__: one
        for one in (list, dict, map, len, str, float, int, bool, min, max, round, abs, all, any, complex)
    },
    **{one.__name__: one for one in (divmod, enumerate, filter, frozenset, isinstance, ord, repr, reversed)},
    **{one.__name__: one for one in (set, slice, sorted, sum, tuple, zip)},
    "range": _range,
}
"""Functions of Python that expressions may call."""

MATH: dict[str, Any] = {name: value for name, value in vars(math).items() if not name.startswith("_")} | {
    name: _counted(getattr(math, name)) for name in ("factorial", "comb", "perm")
}
"""The module math."""


class Namespace(dict[str, Any]):
    """Names behind a dot, such as those of `math.pi`."""


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """Value of an expression.

    Args:
        names: values and functions by name; functions that are not among them cannot be called.

    Raises:
        ExpressionError: it is not allowed, or too large.
        Exception: what its operations raise, such as ZeroDivisionError.

    >>> evaluate("2 * max(a, 1) + math.pi", {"a": 3, "max": max, "math": Namespace(pi=math.pi)})
    9.141592653589793
    """
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"an expression of {len(text)} characters is too long")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError(f"not an expression: {error}") from error
    return _Evaluation(names).value(tree.body)


class _Evaluation:
    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names, self._steps = names, 0
        self._local: dict[str, Any] = {}

    def value(self, node: ast.AST) -> Any:
        """The value of a node, whose size is bounded."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise ExpressionError(f"an expression takes more than {_MAX_STEPS} steps")
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise ExpressionError(f"{type(node).__name__} is not allowed in expressions")
        return bounded(method(node))

    def _Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id.startswith("_"):
            raise ExpressionError(f"the name {node.id!r} is not allowed in expressions")
        if node.id in self._local:
            return self._local[node.id]
        try:
            return self._names[node.id]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def _Attribute(self, node: ast.Attribute) -> Any:
        owner, name = self.value(node.value), node.attr
        if name.startswith("_"):
            raise ExpressionError(f"the attribute {name!r} is not allowed in expressions")
        if isinstance(owner, Mapping) and name in owner:
            return owner[name]
        for kind, methods in _METHODS.items():
            if isinstance(owner, kind) and name in methods:
                if isinstance(owner, str) and name in ("replace", "join"):
                    limited = _replaced if name == "replace" else _joined
                    return functools.partial(limited, owner)
                return getattr(owner, name)
        raise ExpressionError(f"a {type(owner).__name__} has no {name!r} that expressions may use")

    def _Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        positional: list[Any] = []
        for one in node.args:
            positional += list(self.value(one.value)) if isinstance(one, ast.Starred) else [self.value(one)]
        if any(one.arg is None for one in node.keywords):
            raise ExpressionError("** is not allowed in expressions")
        keywords = {str(one.arg): self.value(one.value) for one in node.keywords}
        return function(*positional, **keywords)

    def _BinOp(self, node: ast.BinOp) -> Any:
        if type(node.op) not in _BINARY:
            raise ExpressionError(f"{type(node.op).__name__} is not allowed in expressions")
        return _BINARY[type(node.op)](self.value(node.left), self.value(node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        stop = isinstance(node.op, ast.Or)
        found: Any = None
        for one in node.values:
            found = self.value(one)
            if bool(found) is stop:
                break
        return found

    def _Compare(self, node: ast.Compare) -> Any:
        left, found = self.value(node.left), True
        for kind, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other)
            found = _COMPARISONS[type(kind)](left, right)
            if not found:
                break
            left = right
        return found

    def _IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _Subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _Slice(self, node: ast.Slice) -> slice:
        return slice(
            *(None if one is None else self.value(one) for one in (node.lower, node.upper, node.step))
        )

    def _List(self, node: ast.List) -> list[Any]:
        return [self.value(one) for one in node.elts]

    def _Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(one) for one in node.elts)

    def _Set(self, node: ast.Set) -> set[Any]:
        return {self.value(one) for one in node.elts}

    def _Dict(self, node: ast.Dict) -> dict[Any, Any]:
        if None in node.keys:
            raise ExpressionError("** is not allowed in expressions")
        return {
            self.value(key): self.value(one) for key, one in zip(node.keys, node.values, strict=True) if key
        }

    def _ListComp(self, node: ast.ListComp) -> list[Any]:
        found: list[Any] = []
        self._each(node.generators, lambda: found.append(self.value(node.elt)))
        return found

    _GeneratorExp = _ListComp

    def _DictComp(self, node: ast.DictComp) -> dict[Any, Any]:
        found: dict[Any, Any] = {}

        def add() -> None:
            found[self.value(node.key)] = self.value(node.value)

        self._each(node.generators, add)
        return found

    def _each(self, generators: list[ast.comprehension], do: Callable[[], None]) -> None:
        if not generators:
            do()
            return
        first, *others = generators
        if not isinstance(first.target, (ast.Name, ast.Tuple)):
            raise ExpressionError("the variable of a comprehension is a name, or a tuple of names")
        before = dict(self._local)
        for item in self.value(first.iter):
            names = first.target.elts if isinstance(first.target, ast.Tuple) else [first.target]
            values = list(item) if isinstance(first.target, ast.Tuple) else [item]
            if len(names) != len(values) or not all(isinstance(one, ast.Name) for one in names):
                raise ExpressionError("the variable of a comprehension is a name, or a tuple of names")
            self._local |= {
                one.id: x for one, x in zip(names, values, strict=True) if isinstance(one, ast.Name)
            }
            if all(self.value(one) for one in first.ifs):
                self._each(others, do)
        self._local = before
