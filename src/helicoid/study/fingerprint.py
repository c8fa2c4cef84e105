"""Fingerprint of a callable: digests of everything of the user's that determines what it returns.

It covers bytecode and constants, defaults, closure variables, global variables that the code reads, functions
and classes that it calls, arguments of a `functools.partial`, and attributes of a callable object. Code of
installed packages and of Python's library counts by its name alone.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import hashlib
import inspect
import math
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

UNREADABLE = "unreadable"
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_PLAIN = (type(None), bool, int, str, bytes, bytearray, complex, range, slice, type(...))
# Of a class: what Python adds, and what differs between two runs of the same text.
_NO_CODE = {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__"}
_NO_CODE |= {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__slotnames__"}
_NO_CODE |= {"__dataclass_fields__", "__dataclass_params__", "_abc_impl", "__orig_bases__", "__parameters__"}


class _Unreadable(Exception):
    """A value that has no digest."""


def fingerprint(function: Any) -> dict[str, str]:
    """Digests of a function, method, `functools.partial`, class or callable object, by what they are of.

    A part that has no readable content is `UNREADABLE`: its changes are not noticed.

    >>> def scaled(gain):
    ...     return lambda case: {"x": gain * case.index}
    >>> one, other = fingerprint(scaled(1.0)), fingerprint(scaled(2.0))
    >>> [name for name in one if one[name] != other[name]]
    ["closure variable 'gain'"]
    """
    parts = {"version of Python": "{}.{}".format(*sys.version_info)}
    for name, value in _parts(function):
        try:
            parts[name] = _Digest().of(value)
        except _Unreadable:
            parts[name] = UNREADABLE
    return parts


def unreadable(record: Any) -> list[str]:
    """Names of the parts in a record of fingerprints that are `UNREADABLE`."""
    if not isinstance(record, Mapping):
        return []
    nested = [name for value in record.values() for name in unreadable(value)]
    return [name for name, value in record.items() if value == UNREADABLE] + nested


def _parts(function: Any) -> Iterator[tuple[str, Any]]:
    """Parts of a callable by name, each to be digested."""
    if isinstance(function, functools.partial):
        yield from _parts(function.func)
        yield from ((f"argument {k} of the partial", value) for k, value in enumerate(function.args))
        yield from ((f"keyword {name!r} of the partial", value) for name, value in function.keywords.items())
    elif isinstance(function, types.MethodType):
        yield from _parts(function.__func__)
        yield "the object of the method", function.__self__
    elif isinstance(function, types.FunctionType):
        yield "the name and the body of the function", (function.__qualname__, function.__code__)
        yield from _variables(function)
    elif inspect.isroutine(function) or isinstance(function, type):
        yield "the function", function
    else:
        yield "its class", type(function)
        yield from ((f"attribute {name!r}", value) for name, value in _attributes(function))


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Values outside of the body of a function that it uses."""
    names = inspect.signature(function, follow_wrapped=False).parameters
    defaulted = [one for one in names.values() if one.default is not one.empty]
    yield from ((f"default of {one.name!r}", one.default) for one in defaulted)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"closure variable {name!r}", cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in sorted(_globals(function.__code__)):
        if name in function.__globals__:
            yield f"global variable {name!r}", function.__globals__[name]


def _globals(code: types.CodeType) -> set[str]:
    names = {
        str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    nested = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return names.union(*(_globals(one) for one in nested))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Attributes of an object as it is pickled, without what it caches."""
    if dataclasses.is_dataclass(value) and not _pickles_itself(type(value)):
        yield from ((one.name, getattr(value, one.name, None)) for one in dataclasses.fields(value))
        return
    make, args, state, items, pairs = _reduced(value)
    if make is not copyreg.__newobj__:  # type: ignore[attr-defined]
        yield "__reduce__", (make, args)
    elif args[1:]:
        yield "__new__", args[1:]
    both = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for one in both:
        if isinstance(one, Mapping):
            cached = {n for n in one if isinstance(getattr(type(value), n, None), functools.cached_property)}
            yield from ((str(name), x) for name, x in one.items() if name not in cached)
        elif one is not None:
            yield "__state__", one
    if items is not None:
        yield "items", list(items)
    if pairs is not None:
        yield "entries", list(pairs)


def _pickles_itself(kind: type) -> bool:
    names = ("__getstate__", "__reduce__", "__reduce_ex__")
    return any(getattr(kind, name, None) is not getattr(object, name, None) for name in names)


def _reduced(value: Any) -> tuple[Any, ...]:
    try:
        own = copyreg.dispatch_table.get(type(value))
        reduced = value.__reduce_ex__(4) if own is None else own(value)
    except Exception as error:  # objects may raise anything when they are pickled
        raise _Unreadable from error
    if isinstance(reduced, str):
        return reduced, (), None, None, None
    return (*reduced, None, None, None)[:5]


class _Digest:
    """Digest of a value by its content, the same in every process."""

    def __init__(self) -> None:
        self._open: list[int] = []  # objects whose digest is being made

    def of(self, value: Any) -> str:
        """Digest of a value.

        Raises:
            _Unreadable: it, or a part of it, has no content that can be read.
        """
        if id(value) in self._open:
            return f"again {len(self._open) - self._open.index(id(value))}"
        self._open.append(id(value))
        try:
            text = "\0".join(self._content(value))
        except RecursionError as error:
            raise _Unreadable from error
        finally:
            self._open.pop()
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]

    def _content(self, value: Any) -> Iterator[str]:
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}"
        if kind in _PLAIN:
            yield repr(value)
        elif kind is float:
            yield "nan" if math.isnan(value) else value.hex()
        elif isinstance(value, (np.ndarray, np.generic)) and not np.asarray(value).dtype.hasobject:
            array = np.asarray(value)
            yield f"{array.dtype.str} {array.shape}"
            yield hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        elif kind in (list, tuple):
            yield from map(self.of, value)
        elif kind in (set, frozenset):
            yield from sorted(map(self.of, value))
        elif kind is dict:
            yield from (self.of(one) for pair in value.items() for one in pair)
        elif isinstance(value, types.CodeType):
            yield from self._code(value)
        elif isinstance(value, types.ModuleType):
            yield value.__name__
        else:
            yield from self._other(value)

    def _code(self, code: types.CodeType) -> Iterator[str]:
        yield from map(repr, (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags))
        yield from map(self.of, code.co_consts)

    def _other(self, value: Any) -> Iterator[str]:
        if isinstance(value, types.FunctionType):
            if _is_library(value):
                yield f"{value.__module__}.{value.__qualname__}"
                # One that was made at run time has no more than its variables to tell it from another.
                value = [cell.cell_contents for cell in value.__closure__ or ()]
                yield from map(self.of, value)
                return
            yield self.of(value.__code__)
            yield from (part for name, x in _variables(value) for part in (name, self.of(x)))
        elif isinstance(value, type):
            yield f"{value.__module__}.{value.__qualname__}"
            if not _is_library(value):
                yield from (self.of(base) for base in value.__bases__)
                own = {name: x for name, x in vars(value).items() if name not in _NO_CODE}
                yield from (part for name, x in own.items() for part in (name, self._member(x)))
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodType)):
            yield str(getattr(value, "__qualname__", value.__name__))
            if value.__self__ is not None and not isinstance(value.__self__, types.ModuleType):
                yield self.of(value.__self__)
        else:
            yield self.of(type(value))
            yield from (part for name, x in _attributes(value) for part in (name, self.of(x)))

    def _member(self, value: Any) -> str:
        """Digest of a member of a class."""
        if isinstance(value, (staticmethod, classmethod)):
            return self.of(value.__func__)
        if isinstance(value, property):
            return self.of([value.fget, value.fset])
        if isinstance(value, functools.cached_property):
            return self.of(value.func)
        if inspect.isdatadescriptor(value):  # slots
            return type(value).__qualname__
        return self.of(value)


def _is_library(value: Any) -> bool:
    """Whether code belongs to Python, to Helicoid or to an installed package."""
    module = getattr(value, "__module__", None) or ""
    if module.partition(".")[0] in (*sys.stdlib_module_names, "helicoid") and module != "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module != "__main__" and file.startswith(_LIBRARIES)
