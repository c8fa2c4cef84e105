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

from helicoid.errors import ModelError
from helicoid.geometry import euler
from helicoid.model.connections.loops import ROWS, KinematicLoop, check_loop
from helicoid.model.model import Model
from helicoid.model.parts import Placement
from helicoid.model.urdf.markup import Element, Source, quoted
from helicoid.model.urdf.syntax import index, numbers


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


def _loop(element: Element, source: Source) -> KinematicLoop:
    kind: Any = element.attrib["kind"]
    if kind not in ROWS:
        raise source.error(element, f"unknown kind {quoted(kind)}; there are {', '.join(ROWS)}")
    frames = (_placement(element, end, source) for end in "ab")
    name, link_a, link_b = (element.attrib[key] for key in ("name", "link_a", "link_b"))
    return KinematicLoop(name, kind, link_a, link_b, *frames)


def _placement(element: Element, end: str, source: Source) -> Placement:
    values = []
    for key in (f"rpy_{end}", f"xyz_{end}"):
        values.append(numbers(element, key, 3, source) if key in element.attrib else [0.0, 0.0, 0.0])
    return Placement(euler.from_rpy(np.array(values[0])), np.array(values[1]))
