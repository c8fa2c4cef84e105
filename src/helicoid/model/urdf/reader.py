"""Strict reader of URDF: unknown content is an error."""

from __future__ import annotations

import os

from helicoid.errors import ModelError, RobotDescriptionError
from helicoid.model.model import Model, located_doubts
from helicoid.model.urdf.elastic import with_elastic_elements
from helicoid.model.urdf.joints import read_joint
from helicoid.model.urdf.links import named_colors, read_link
from helicoid.model.urdf.loops import with_loops
from helicoid.model.urdf.markup import MAX_BYTES, Source, parse
from helicoid.model.urdf.syntax import check, check_references, index


def read_urdf(source: str | os.PathLike[str], *, floating: bool = False) -> Model:
    """The robot that the URDF file `source` describes, on a fixed or on a floating base.

    Raises RobotDescriptionError, with file and line, when the file cannot be understood; warns
    DoubtfulModelWarning where it is legal but probably not meant. See the page "URDF" of the docs.
    """
    name = os.fsdecode(source)
    try:
        if not os.path.isfile(name):
            folder = "is a folder, not a file" if os.path.isdir(name) else "there is no such file"
            raise RobotDescriptionError(f"{name}: {folder}")
        with open(name, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RobotDescriptionError(f"{name}: cannot be read: {error}") from error
    return read_urdf_bytes(data, None, Source(name), os.path.dirname(os.path.abspath(name)), floating)


def read_urdf_text(text: str, *, floating: bool = False, name: str = "<text>", folder: str = "") -> Model:
    """The robot that a URDF text describes; `name` stands in messages, meshes are relative to `folder`.

    >>> read_urdf_text('<robot name="table"><link name="top"/></robot>').root
    'top'
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{name}: not a text: {error}") from error
    return read_urdf_bytes(data, "utf-8", Source(name), folder, floating)


def read_urdf_bytes(data: bytes, encoding: str | None, source: Source, folder: str, floating: bool) -> Model:
    """The robot of a URDF as it stands in a file; `source` locates its lines, meshes are in `folder`."""
    root = parse(data, encoding, source)
    check(root, source)
    links, joints = index(root, "link", source), index(root, "joint", source)
    check_references(links, joints, source)
    colors = named_colors(root, source)
    try:
        model = Model(
            root.attrib["name"],
            tuple(read_link(link, colors, folder, source) for link in links.values()),
            tuple(read_joint(joint, source) for joint in joints.values()),
            floating,
        )
        model = with_elastic_elements(with_loops(model, root, source), root, source)
        found = list(located_doubts(model))
    except ModelError as error:
        raise RobotDescriptionError(f"{source.name}: {error}") from error
    for what, name, text in found:
        source.add_warning((links if what == "link" else joints)[name], text)
    source.emit_warnings()
    return model
