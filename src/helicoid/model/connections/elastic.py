"""Elastic elements: springs and dampers between points of two links, or of a link and the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import shown
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array

if TYPE_CHECKING:
    from helicoid.model.model import Model

THE_WORLD = "world"
"""Name of the world as an end of an elastic element, unless a link has it."""

NUMBERS = ("stiffness", "rest_length", "damping")
"""Numbers of an elastic element, in the order of θ."""


@dataclass(frozen=True, eq=False)
class ElasticElement:
    """A spring and damper between `point_a` of `link_a` and `point_b` of `link_b` (m, in the links' frames).

    U = ½ k (d - d₀)² with the distance d of the points, the stiffness k (N/m) and the rest length d₀ (m); a
    damping c (N·s/m) acts against the rate of d. A link "world" is the world.
    """

    name: str
    link_a: str
    link_b: str
    stiffness: float
    rest_length: float = 0.0
    damping: float = 0.0
    point_a: Array = field(default_factory=lambda: np.zeros(3))
    point_b: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for what, given in (("name", self.name), ("link", self.link_a), ("link", self.link_b)):
            if not isinstance(given, str):
                raise ModelError(f"an elastic element has a {what}, a text; got {shown(given)}")
        for end in ("point_a", "point_b"):
            object.__setattr__(self, end, frozen_array(getattr(self, end), (3,), f"{end} of {self.name!r}"))
        for number in NUMBERS:
            try:
                value = float(getattr(self, number))
            except Exception:  # of `__float__` of a foreign type, too
                value = np.nan
            if not 0 <= value < np.inf:
                given = shown(getattr(self, number))
                raise ModelError(f"elastic element {self.name!r}: {number} is zero or positive, got {given}")
            object.__setattr__(self, number, value)

    @property
    def links(self) -> tuple[str, str]:
        """Both ends."""
        return self.link_a, self.link_b


def check_element(model: Model, element: ElasticElement) -> None:
    """Refuse an element whose links do not exist or do not move relative to each other."""
    a, b = (body_of(model, link) for link in element.links)
    if a == b:
        raise ModelError(
            f"elastic element {element.name!r}: links {element.link_a!r} and {element.link_b!r} do not move "
            "against each other"
        )


def body_of(model: Model, link: str) -> int:
    """The body that a link is part of; -1 for the world."""
    return -1 if is_world(model, link) else model.frame(link).body


def is_world(model: Model, link: str) -> bool:
    """Whether an end of an element is the world and not a link of that name."""
    return link == THE_WORLD and link not in model.frames


def still_elastic(model: Model, elements: Sequence[ElasticElement]) -> tuple[ElasticElement, ...]:
    """The elements that remain once joints are locked: between links that are now one body nothing acts."""
    return tuple(one for one in elements if body_of(model, one.link_a) != body_of(model, one.link_b))
