"""Loops in a URDF: `<helicoid>` under `<robot>`, with one `<loop>` for each.

    <helicoid>
      <loop name="closing" kind="line" link_a="rocker" link_b="coupler" xyz_a="0 0 0.4" xyz_b="0.7 0 0"/>
    </helicoid>

`xyz_a`, `rpy_a` place frame a on `link_a`, `xyz_b`, `rpy_b` frame b on `link_b`; zero when not stated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from helicoid.errors import ModelError
from helicoid.geometry import euler
from helicoid.model.loops import ROWS, Loop, check_loop
from helicoid.model.model import Model
from helicoid.model.parts import Placement
from helicoid.model.urdf.syntax import Element, Source, index, numbers, quoted


def with_loops(model: Model, root: Element, source: Source) -> Model:
    """The model with the loops of a checked URDF; an error names the line of the loop that is wrong."""
    extension = root.find("helicoid")
    if extension is None:
        return model
    loops = []
    for element in index(extension, "loop", source).values():
        loops.append(_loop(element, source))
        try:
            check_loop(model, loops[-1])
        except ModelError as error:
            raise source.error(element, str(error).removeprefix(f"loop {loops[-1].name!r}: ")) from error
    return replace(model, loops=tuple(loops))


def _loop(element: Element, source: Source) -> Loop:
    kind: Any = element.get("kind")
    if kind not in ROWS:
        raise source.error(element, f"unknown kind {quoted(kind)}; there are {', '.join(ROWS)}")
    frames = (_placement(element, end, source) for end in "ab")
    return Loop(element.get("name"), kind, element.get("link_a"), element.get("link_b"), *frames)


def _placement(element: Element, end: str, source: Source) -> Placement:
    values = []
    for key in (f"rpy_{end}", f"xyz_{end}"):
        values.append(numbers(element, key, 3, source) if key in element.attrib else [0.0, 0.0, 0.0])
    return Placement(euler.from_rpy(np.array(values[0])), np.array(values[1]))


def loop_attributes(loop: Loop) -> dict[str, Any]:
    """What `<loop>` states of a loop: names as they are, frames as three numbers each."""
    attributes: dict[str, Any] = {
        "name": loop.name,
        "kind": loop.kind,
        "link_a": loop.link_a,
        "link_b": loop.link_b,
    }
    for end, placed in (("a", loop.placement_a), ("b", loop.placement_b)):
        attributes[f"xyz_{end}"] = placed.translation
        attributes[f"rpy_{end}"] = euler.to_rpy(placed.rotation)
    return attributes


def add_loops(root: Element, model: Model, words: Any) -> None:
    """Write the loops of a model; `words` turns numbers into text, or refuses them."""
    if not model.loops:
        return
    extension = etree.SubElement(root, "helicoid")
    for loop in model.loops:
        stated = {
            key: value if isinstance(value, str) else words(value, f"{key} of loop {loop.name!r}")
            for key, value in loop_attributes(loop).items()
        }
        etree.SubElement(extension, "loop", stated)
