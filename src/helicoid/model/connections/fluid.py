"""Bodies in a fluid at rest or in a steady wind: boxes and ellipsoids on which it exerts forces."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array
from helicoid.model.parts import Placement

if TYPE_CHECKING:
    from helicoid.model.model import Model


@dataclass(frozen=True, eq=False)
class Fluid:
    """Density (kg/m³), dynamic viscosity (Pa·s) and velocity (m/s, world axes) of a fluid."""

    density: float = 0.0
    viscosity: float = 0.0
    wind: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for number in ("density", "viscosity"):
            if not 0 <= getattr(self, number) < np.inf:
                given = getattr(self, number)
                raise ModelError(f"fluid: {number} is zero or positive, got {given!r}")
        object.__setattr__(self, "wind", frozen_array(self.wind, (3,), "wind"))


class EllipsoidCoefficients(NamedTuple):
    """Coefficients of the ellipsoid model: of drag and lift, and the added mass per density along its axes.

    `scale` multiplies all forces; `virtual_mass` is in m³, `virtual_inertia` in m⁵.
    """

    blunt_drag: float
    slender_drag: float
    angular_drag: float
    kutta_lift: float
    magnus_lift: float
    virtual_mass: Array
    virtual_inertia: Array
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class FluidElement:
    """A box or an ellipsoid on a link, on which a fluid exerts a force at its origin.

    Args:
        name: of the element.
        link: that carries it.
        fluid: around it.
        size: edges of the box, or semi-axes of the ellipsoid (3, m).
        placement: its frame seen from the link.
        ellipsoid: coefficients; None is a box.
    """

    name: str
    link: str
    fluid: Fluid
    size: Array
    placement: Placement = field(default_factory=Placement)
    ellipsoid: EllipsoidCoefficients | None = None

    def __post_init__(self) -> None:
        size = frozen_array(self.size, (3,), f"size of fluid element {self.name!r}")
        if np.any(size < 0):
            raise ModelError(f"fluid element {self.name!r}: its size is zero or positive, got {size}")
        object.__setattr__(self, "size", size)


def check_fluid_element(model: Model, element: FluidElement) -> None:
    """Refuse an element on a link that does not exist."""
    model.frame(element.link)


def elements_on(elements: Sequence[FluidElement], links: Collection[str]) -> tuple[FluidElement, ...]:
    """The elements on links that are kept."""
    return tuple(one for one in elements if one.link in links)
