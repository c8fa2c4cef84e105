"""The library `xacro`, in a copy of its own whose evaluation, files and messages are replaced.

The copy leaves the module `xacro` of other users as it is. Its state is global: one expansion at a time.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import sys
import xml.dom.minidom as dom
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from threading import RLock
from typing import Any

from helicoid.errors import RobotDescriptionError, optional_import
from helicoid.model.urdf.roots import Roots
from helicoid.model.urdf.xacro.documents import MAX_BYTES, Place, Written, parse_document, place_of, written
from helicoid.model.urdf.xacro.expressions import (
    FUNCTIONS,
    MATH,
    ExpressionError,
    Namespace,
    bounded,
    evaluate,
)

REQUIREMENT = "helicoid[xacro]"
MAX_ELEMENTS = 100_000  # that an expansion visits
_MAX_FILES = 200  # that an expansion includes
_MAX_TEXT = 100_000  # characters of a text or attribute
_MAX_CALLS = 3  # macro calls that a message names
_COPY = "_helicoid_xacro"

_lock = RLock()


class Arguments(dict[str, str]):
    """Values of `<xacro:arg>` by name, which remember the names that were asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__({name: _text(value) for name, value in given.items()})
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


class Expansion:
    """One expansion: its file, folders and arguments, and what it has done."""

    def __init__(self, name: str, roots: Roots, arguments: Mapping[str, Any]) -> None:
        self.name, self.roots, self.arguments = name, roots, Arguments(arguments)
        self.warnings: list[str] = []
        self.place: Place | None = None
        self.elements = self.files = 0

    def expand(self, data: bytes) -> Written:
        """The expanded document.

        Raises:
            RobotDescriptionError: with file and line of the xacro.
        """
        optional_import("xacro", f"{self.name}: reading xacro", REQUIREMENT)
        with _lock:
            xacro = _library()
            document = parse_document(data, self.name)
            self.place = place_of(document.documentElement)
            xacro.helicoid_expansion = self
            xacro.init_stacks(self.name)
            try:
                xacro.process_doc(document, mappings=self.arguments)
                found = written(document)
            except RobotDescriptionError as error:
                raise self._located(error, str(error)) from error
            except Exception as error:
                text = " ".join(str(error).split()) or type(error).__name__
                if "maximum recursion depth" in text:
                    text = "macros, includes or properties need each other without end"
                raise self._located(error, text) from error
            finally:
                xacro.helicoid_expansion = None
        if len(found.text) > MAX_BYTES:
            raise RobotDescriptionError(f"{self.name}: it expands to more than {MAX_BYTES // 10**6} MB")
        return found

    def visit(self, node: Any) -> None:
        """Remember the place of the work."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise RobotDescriptionError(f"it expands to more than {MAX_ELEMENTS} elements")
        self.place = place_of(node) or self.place

    def _located(self, error: BaseException, text: str) -> RobotDescriptionError:
        place = getattr(error, "helicoid_place", None) or self.place or self.name
        calls: list[str] = getattr(error, "helicoid_calls", [])
        chain = "".join(f", in the macro called at {one}" for one in calls[:_MAX_CALLS])
        if re.match(r"[^\s:]+:\d+: ", text):  # of a document that has said where
            return RobotDescriptionError(f"{text}{chain}")
        return RobotDescriptionError(f"{place}: {text}{chain}")


@cache
def _library() -> Any:
    """The copy of the library, with everything replaced that reads, evaluates or prints."""
    spec = importlib.util.find_spec("xacro")
    assert spec is not None and spec.origin is not None
    folders = spec.submodule_search_locations
    spec = importlib.util.spec_from_file_location(_COPY, spec.origin, submodule_search_locations=folders)
    assert spec is not None and spec.loader is not None
    xacro = importlib.util.module_from_spec(spec)
    write = dom.Element.writexml
    sys.modules[_COPY] = xacro
    try:
        spec.loader.exec_module(xacro)
    finally:
        dom.Element.writexml = write  # type: ignore[method-assign]  # which the library replaces
    state: Any = xacro
    state.helicoid_expansion = None
    _replace_evaluation(state)
    _replace_files(state)
    _follow_places(state)
    return state


def _replace_evaluation(xacro: Any) -> None:
    """Names, expressions and substitutions."""

    def said(*parts: Any, **_: Any) -> str:
        text = " ".join(map(str, parts))
        if text:
            place = xacro.helicoid_expansion.place
            xacro.helicoid_expansion.warnings.append(f"{place}: {text}" if place else text)
        return ""

    def silent(*_: Any, **__: Any) -> str:
        return ""

    def fatal(*parts: Any) -> None:
        raise RobotDescriptionError(" ".join(map(str, parts)))

    def argument(name: str) -> str:
        return _argument(xacro, name)

    own: dict[str, Any] = {
        "load_yaml": lambda filename: xacro.load_yaml(filename),
        "abs_filename": xacro.abs_filename_spec,
        "dotify": xacro.YamlDictWrapper,
    }
    messages = {"message": silent, "warning": said, "error": said, "print_location": silent, "fatal": fatal}
    names = {**FUNCTIONS, **MATH, **own, "math": Namespace(MATH), "python": Namespace(FUNCTIONS)}
    names["xacro"] = Namespace(own | messages | {"arg": argument, "tokenize": _tokens})
    xacro._global_symbols.clear()
    xacro._global_symbols.update(names)
    xacro.warning, xacro.error, xacro.message, xacro.print_location = said, said, silent, silent
    xacro.safe_eval = lambda text, names, _=None: evaluate(str(text), names)
    # The library's own takes exponential time where a quotation mark is missing.
    default = r"""\$\{.*?\}|\$\(.*?\)|(?:'[^']*+'|"[^"]*+"|[^\s'"]++)++|"""
    xacro.re_macro_arg = re.compile(
        r"^\s*([^\s:=]+?)\s*:?=\s*(\^\|?)?(" + default + r")(?:\s+|$)(.*)", re.DOTALL
    )
    eval_text = xacro.eval_text

    def checked_text(text: str, symbols: Any) -> Any:
        if isinstance(text, str) and len(text) > _MAX_TEXT:
            raise ExpressionError(f"a text has more than {_MAX_TEXT} characters")
        return bounded(eval_text(text, symbols))

    xacro.eval_text = checked_text
    xacro.eval_extension = lambda text: _substituted(xacro, text)


def _substituted(xacro: Any, text: str) -> str:
    """The value of `$(command ...)`."""
    command, _, rest = text[2:-1].strip().partition(" ")
    words, expansion = rest.split(), xacro.helicoid_expansion
    if command == "arg" and len(words) == 1:
        return _argument(xacro, words[0])
    if command == "find" and len(words) == 1:
        return str(expansion.roots.find(words[0]))
    if command == "dirname" and not words:
        return os.path.dirname(os.path.abspath(xacro.filestack[-1]))
    if command == "cwd" and not words:
        return os.getcwd()
    if command == "optenv" and words:
        return os.environ.get(words[0], " ".join(words[1:]))
    if command == "env" and len(words) == 1:
        if words[0] not in os.environ:
            raise RobotDescriptionError(f"there is no environment variable {words[0]}")
        return os.environ[words[0]]
    if command == "eval" and rest:
        names = {**FUNCTIONS, **MATH, **{name: _literal(x) for name, x in expansion.arguments.items()}}
        names |= {"true": True, "false": False, "find": expansion.roots.find}
        names |= {"arg": lambda name: _literal(_argument(xacro, name))}
        return str(evaluate(rest, names))
    raise RobotDescriptionError(f"{text} is none of $(arg), $(find), $(dirname), $(env), $(optenv), $(eval)")


def _argument(xacro: Any, name: str) -> str:
    arguments = xacro.helicoid_expansion.arguments
    if name not in arguments:
        raise RobotDescriptionError(
            f"the argument {name!r} has no value: hc.load(..., arguments={{{name!r}: ...}})"
        )
    return str(arguments[name])


def _replace_files(xacro: Any) -> None:
    """Files that are read: only in the roots, a bounded number, none that includes itself."""
    load_yaml = xacro.load_yaml

    def read(path: str) -> bytes:
        expansion = xacro.helicoid_expansion
        expansion.files += 1
        if expansion.files > _MAX_FILES:
            raise RobotDescriptionError(f"it includes more than {_MAX_FILES} files")
        with open(expansion.roots.check(path), "rb") as file:
            return file.read(MAX_BYTES + 1)

    def parsed(_: Any, filename: str) -> Any:
        try:
            if filename in xacro.filestack[:-1]:
                raise RobotDescriptionError(f"{filename} includes itself")
            data = read(filename)
        except RobotDescriptionError as error:
            xacro.filestack.pop()
            # Optional includes may be absent.
            raise xacro.XacroException(str(error), exc=OSError()) from error
        return parse_document(data, filename)

    def yaml(filename: str) -> Any:
        path = xacro.abs_filename_spec(filename)
        if len(read(path)) > MAX_BYTES:
            raise RobotDescriptionError(f"{path}: larger than {MAX_BYTES // 10**6} MB")
        return bounded(load_yaml(path))

    def included(spec: str, symbols: Any) -> Iterator[str]:
        name = xacro.abs_filename_spec(str(xacro.eval_text(spec, symbols)))
        if re.search(r"[*?\[]", name):
            matches = sorted(glob.glob(name))
            if not matches:
                xacro.warning(f"<xacro:include filename={spec!r}> finds no file")
            yield from map(os.path.normpath, matches)
        else:
            yield os.path.normpath(name)

    xacro.parse, xacro.load_yaml, xacro.get_include_files = parsed, yaml, included


def _follow_places(xacro: Any) -> None:
    """Wrap the handlers of elements, so that errors name file and line."""

    def follow(name: str, calls: bool = False) -> None:
        function: Callable[..., Any] = getattr(xacro, name)

        def followed(node: Any, *arguments: Any, **options: Any) -> Any:
            expansion = xacro.helicoid_expansion
            expansion.visit(node)
            called = expansion.place if calls and node.tagName.startswith("xacro:") else None
            try:
                return function(node, *arguments, **options)
            except Exception as error:
                known: Any = error
                if not hasattr(error, "helicoid_place"):
                    known.helicoid_place, known.helicoid_calls = expansion.place, []
                if called is not None and called != known.helicoid_place:
                    known.helicoid_calls.append(called)
                raise

        setattr(xacro, name, followed)

    for name in ("eval_all", "process_include", "grab_property", "grab_macro", "check_attrs", "reqd_attrs"):
        follow(name)
    follow("handle_macro_call", calls=True)


def _tokens(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    found = re.split(f"[{re.escape(sep)}]", text)
    return [one for one in found if one] if skip_empty else found


def _literal(text: str) -> Any:
    """A number or truth value, as `$(eval ...)` takes arguments."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
