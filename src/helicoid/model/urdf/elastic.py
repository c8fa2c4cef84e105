"""Elastic elements in a URDF: `<helicoid>` under `<robot>`, with one `<spring>` for each.

    <helicoid>
      <spring name="compensator" link_a="base" link_b="arm" xyz_a="0 0 0.5" xyz_b="0.3 0 0" stiffness="900"
              rest_length="0.2" damping="5"/>
    </helicoid>

`xyz_a` and `xyz_b` are points in the frames of the links (m); the link "world" is the world.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.connections.elastic import NUMBERS, ElasticElement, check_element
from helicoid.model.model import Model
from helicoid.model.urdf.markup import Element, Source
from helicoid.model.urdf.syntax import index, numbers


def with_elastic_elements(model: Model, root: Element, source: Source) -> Model:
    """The model with the springs of a checked URDF; an error names the line of the spring that is wrong."""
    extension = root.find("helicoid")
    if extension is None:
        return model
    found = []
    for element in index(extension, "spring", source).values():
        try:
            found.append(_element(element, source))
            check_element(model, found[-1])
        except ModelError as error:
            text = str(error).removeprefix(f"elastic element {element.attrib['name']!r}: ")
            raise source.error(element, text) from error
    return replace(model, elastic=tuple(found))


def _element(element: Element, source: Source) -> ElasticElement:
    k, rest, c = (numbers(element, key, 1, source)[0] if key in element.attrib else 0.0 for key in NUMBERS)
    a, b = (_point(element, f"xyz_{end}", source) for end in "ab")
    name, link_a, link_b = (element.attrib[key] for key in ("name", "link_a", "link_b"))
    return ElasticElement(name, link_a, link_b, k, rest, c, a, b)


def _point(element: Element, key: str, source: Source) -> Array:
    return np.array(numbers(element, key, 3, source) if key in element.attrib else [0.0, 0.0, 0.0])
