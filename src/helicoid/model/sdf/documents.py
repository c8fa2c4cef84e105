"""SDF files: their XML, the selected model, and the models that it includes or contains."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from helicoid.errors import InputError, RobotDescriptionError
from helicoid.model.urdf.markup import MAX_BYTES, Element, Source, parse_xml, quoted
from helicoid.model.urdf.roots import Roots

VERSIONS = tuple(f"1.{k}" for k in range(6, 12))
_MAX_MODELS = 1000  # included or nested
_MAX_INCLUDES = 20  # one in the other
IGNORABLE = {
    "gravity": "a link without gravity",
    "kinematic": "a link that forces do not move",
    "velocity_decay": "damping of a link",
    "fluid_added_mass": "added mass of a fluid",
    "static": "a model that does not move",
}
"""Kinds of elements that `ignore` may name, each with its meaning."""


class Document(NamedTuple):
    """A file: its root element, its source in messages, its folder, and the minor number of its version."""

    root: Element
    source: Source
    folder: str
    version: int


class Context:
    """State that all files of one description share: folders to read from, ignored features, counts."""

    def __init__(self, roots: Roots, ignore: Iterable[str]) -> None:
        names = [ignore] if isinstance(ignore, str) else list(ignore or ())
        for name in names:
            if name not in IGNORABLE:
                raise InputError(f"ignore names what SDF states: {', '.join(IGNORABLE)}; got {name!r}")
        self.roots, self.ignore = roots, frozenset(names)
        self.sources: list[Source] = []
        self.models = 0

    def document(self, data: bytes, encoding: str | None, name: str, folder: str) -> Document:
        """A parsed file.

        Raises:
            RobotDescriptionError: it is faulty, or of another version.
        """
        source = Source(name)
        self.sources.append(source)
        root = parse_xml(data, encoding, source)
        if root.tag != "sdf":
            raise source.error(root, f'it starts with <{root.tag}>; an SDF starts with <sdf version="1.9">')
        stated = root.attrib.get("version", "")
        if stated not in VERSIONS:
            raise source.error(
                root,
                f"version {quoted(stated)} is not read, but {VERSIONS[0]} to {VERSIONS[-1]}",
            )
        return Document(root, source, folder, int(stated.partition(".")[2]))

    def file(self, path: str) -> Document:
        """The document of a file, which has to be in one of the folders."""
        place = self.roots.check(path)
        with open(place, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        return self.document(data, None, place, os.path.dirname(place))

    def refuse(self, source: Source, element: Element) -> None:
        """Raise for an unsupported feature that acts on the motion, or warn where it is ignored."""
        kind = element.tag
        if kind not in self.ignore:
            raise source.error(
                element,
                f"<{kind}> ({IGNORABLE[kind]}) is not supported. It acts on the motion; "
                f'ignore=["{kind}"] loads the robot without it',
            )
        source.add_warning(element, f"ignored, as asked: <{kind}>")


@dataclass(eq=False)
class Scope:
    """A model with the prefix of its names, such as "gripper::" of a nested one.

    `pose` and `placement_frame` are those of the include where there is one.
    """

    element: Element
    document: Document
    prefix: str = ""
    parent: Scope | None = None
    include: Element | None = None
    nested: list[Scope] = field(default_factory=list)

    @property
    def source(self) -> Source:
        """The file in messages."""
        return self.document.source

    def all(self) -> Iterator[Scope]:
        """This model and all inside it."""
        yield self
        for one in self.nested:
            yield from one.all()


def text_of(element: Element | None, default: str = "") -> str:
    """The text of an element, without space around it."""
    return default if element is None else element.text.strip()


def truth(element: Element | None, source: Source, default: bool = False) -> bool:
    """The truth value of an element."""
    if element is None:
        return default
    text = text_of(element).lower()
    if text not in ("true", "false", "1", "0"):
        raise source.error(element, f"{element.tag} {quoted(text)} must be true or false")
    return text in ("true", "1")


def chosen_model(document: Document, wanted: str | None, context: Context) -> Scope:
    """The selected model: the only one, or that of the given name.

    Raises:
        RobotDescriptionError: there is none, or several.
    """
    root, source = document.root, document.source
    worlds = root.findall("world")
    if len(worlds) > 1:
        raise source.error(worlds[1], "it has several <world>; keep one")
    for element in root.children:
        if element.tag not in ("model", "world", "light", "actor"):
            raise source.error(element, f"<{element.tag}> in <sdf> is not understood; correct or remove it")
    places = [*root.findall("model"), *(one for world in worlds for one in world.children)]
    found: dict[str, Scope] = {}
    for element in places:
        if element.tag == "model":
            scope = Scope(element, document)
        elif element.tag == "include":
            scope = included(element, document, context, ())
        else:
            continue
        name = _name(scope)
        if name in found:
            raise source.error(element, f"there are two models {quoted(name)}; names must be unique")
        found[name] = scope
    if wanted is None and len(found) > 1:
        moving = [name for name, one in found.items() if not truth(one.element.find("static"), one.source)]
        names = ", ".join(map(repr, found))
        if len(moving) != 1:
            raise source.error(root, f"it has the models {names}: say which, hc.load(..., model=...)")
        wanted = moving[0]
    if not found:
        raise source.error(root, "it has no <model>")
    if wanted is not None and wanted not in found:
        raise source.error(root, f"it has no model {wanted!r}, but {', '.join(map(repr, found))}")
    scope = found[next(iter(found)) if wanted is None else wanted]
    _nest(scope, context, ())
    return scope


def _name(scope: Scope) -> str:
    stated = None if scope.include is None else scope.include.find("name")
    name = text_of(stated) or scope.element.attrib.get("name", "")
    if not name:
        raise scope.source.error(scope.element, '<model> lacks its name; write <model name="...">')
    return name


def model_name(scope: Scope) -> str:
    """The name of a model, which an include may change."""
    return _name(scope)


def _nest(scope: Scope, context: Context, stack: tuple[str, ...]) -> None:
    """Find the models inside of a model, with their prefixes."""
    context.models += 1
    if context.models > _MAX_MODELS:
        raise scope.source.error(scope.element, f"more than {_MAX_MODELS} models are nested or included")
    if scope.document.source.name not in stack:
        stack = (*stack, scope.document.source.name)
    for element in scope.element.children:
        if element.tag == "model":
            one = Scope(element, scope.document, parent=scope)
        elif element.tag == "include":
            one = included(element, scope.document, context, stack)
            one.parent = scope
        else:
            continue
        one.prefix = f"{scope.prefix}{_name(one)}::"
        scope.nested.append(one)
        _nest(one, context, stack)


def included(element: Element, document: Document, context: Context, stack: tuple[str, ...]) -> Scope:
    """The model of an `<include>` of a local file or folder."""
    source = document.source
    uri = text_of(element.find("uri"))
    if not uri:
        raise source.error(element, "<include> lacks its <uri>")
    if element.attrib.get("merge", "false") not in ("false", "0"):
        raise source.error(element, "<include merge=...> is not supported; include it as a nested model")
    for child in element.children:
        if child.tag not in ("uri", "name", "pose", "placement_frame", "static", "plugin"):
            raise source.error(child, f"<{child.tag}> in <include> is not understood; correct or remove it")
    try:
        path = _model_file(uri, document.folder, context.roots)
        if path in (*stack, source.name) or len(stack) > _MAX_INCLUDES:
            raise RobotDescriptionError(f"{path} includes itself")
        made = context.file(path)
    except RobotDescriptionError as error:
        if re.match(r"[^\s:]+:\d+: ", str(error)):
            raise
        raise source.error(element, str(error)) from error
    models = made.root.findall("model")
    if len(models) != 1:
        raise made.source.error(made.root, f"an included file has one <model>; it has {len(models)}")
    return Scope(models[0], made, include=element)


def _model_file(uri: str, folder: str, roots: Roots) -> str:
    """The file of a URI; of a folder, the one that its model.config names."""
    path = local_path(uri, folder, roots.packages)
    if path is None:
        raise RobotDescriptionError(
            f"{uri} is not known: hc.load(..., packages={{{_package(uri)!r}: folder}}), or a local path"
        )
    if not os.path.isdir(path):
        return os.path.normpath(path)
    config = os.path.join(path, "model.config")
    if os.path.isfile(config):
        with open(config, encoding="utf-8", errors="replace") as file:
            named = re.findall(r"<sdf[^>]*>\s*([\w./-]+)\s*</sdf>", file.read(MAX_BYTES))
        if named:
            return os.path.normpath(os.path.join(path, named[-1]))
    return os.path.normpath(os.path.join(path, "model.sdf"))


def local_path(uri: str, folder: str, packages: Mapping[str, str]) -> str | None:
    """The local path of a URI; None for an unknown model or package, or a URL."""
    scheme, mark, rest = uri.partition("://")
    if not mark:
        return os.path.abspath(os.path.join(folder, uri))
    if scheme == "file":
        return os.path.abspath(os.path.join(folder, rest))
    if scheme not in ("model", "package"):
        return None
    name, _, inside = rest.partition("/")
    return os.path.join(packages[name], inside) if name in packages else None


def _package(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[0] or "name"
