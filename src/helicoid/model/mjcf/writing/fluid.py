"""Fluid forces of a written MJCF.

MuJoCo takes one box for each body, from its mass and moments of inertia, or the ellipsoids of its geoms. A
box that is not that of its body is a body of its own, which takes a small part of the inertia.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.fluid import FluidElement
from helicoid.model.inertia import Inertia
from helicoid.model.mjcf.writing.bodies import Losses, pose
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Placement
from helicoid.model.urdf.xml_text import words

_SAME = 1e-9  # relative, of boxes and moments
_PART_OF_BOX = 0.01  # of the mass of its link that the body of a box has
_NO_SIZE = "1e-14"  # m: an ellipsoid without coefficients on which nothing acts


@dataclass(frozen=True, eq=False)
class BodyFluid:
    """The fluid on one body: its inertia without that of boxes, its axes where its own box counts, shapes."""

    inertia: Inertia
    axes: Array | None = None
    ellipsoids: tuple[tuple[FluidElement, Placement], ...] = ()
    boxes: tuple[tuple[FluidElement, Placement, float], ...] = ()


def option(model: Model, losses: Losses) -> dict[str, str]:
    """Attributes of `<option>`: those of the fluid around the first element."""
    if not model.fluid:
        return {}
    fluid = model.fluid[0].fluid
    losses.motion += [f"the fluid around {one.name!r}" for one in model.fluid if not _in_first(model, one)]
    found = {"density": words([fluid.density], "density"), "viscosity": words([fluid.viscosity], "viscosity")}
    return found | ({"wind": words(fluid.wind, "wind")} if fluid.wind.any() else {})


def body_fluid(model: Model, k: int, parts: Sequence[Inertia] = ()) -> BodyFluid:
    """Fluid elements on a moving body, with the inertia that its other `parts` leave."""
    body = model.bodies[k]
    placed = [
        (one, model.frame(one.link).placement @ one.placement)
        for one in model.fluid
        if model.frame(one.link).body == k and _in_first(model, one)
    ]
    ellipsoids = tuple(pair for pair in placed if pair[0].ellipsoid is not None)
    boxes = [pair for pair in placed if pair[0].ellipsoid is None]
    if len(boxes) == 1 and not ellipsoids and not parts and _is_own(body.inertia, *boxes[0]):
        return BodyFluid(body.inertia, boxes[0][1].rotation)
    parameters, found = body.inertia.parameters, []
    for part in parts:
        parameters = parameters - part.parameters
    for one, at in boxes:
        link = model.link(one.link).inertia
        mass = _PART_OF_BOX * (link.mass if link is not None and link.mass > 0 else body.inertia.mass)
        if mass > 0:
            found.append((one, at, mass))
            own = Inertia.from_com(mass, np.zeros(3), np.diag(_moments(one.size, mass)))
            parameters = parameters - own.transformed(at.rotation, at.translation).parameters
    inertia = Inertia.from_parameters(parameters) if parts or found else body.inertia
    return BodyFluid(inertia, None, ellipsoids, tuple(found))


def add_fluid_shapes(element: Element, name: str, fluid: BodyFluid, losses: Losses) -> None:
    """Ellipsoids as geoms, boxes as bodies; without either a geom that turns the body's own box off."""
    for one, at in fluid.ellipsoids:
        what, c = f"fluid element {one.name!r}", one.ellipsoid
        assert c is not None
        if c.scale != 1:
            losses.motion.append(f"the scale {c.scale:g} of {what}")
        drag = (c.blunt_drag, c.slender_drag, c.angular_drag, c.kutta_lift, c.magnus_lift)
        _add_ellipsoid(element, one.name, words(one.size, what), words(np.array(drag), what), at)
    if fluid.axes is None and not fluid.ellipsoids:
        add_no_fluid(element, name)
    for one, at, mass in fluid.boxes:
        what = f"fluid element {one.name!r}"
        body = SubElement(element, "body", {"name": f"{one.name}[box]", **pose(at, what)})
        moments = words(_moments(one.size, mass), what)
        SubElement(body, "inertial", pos="0 0 0", mass=words([mass], what), diaginertia=moments)


def add_no_fluid(element: Element, name: str) -> None:
    """A geom that turns the box of a body off."""
    _add_ellipsoid(element, f"{name}[no fluid]", " ".join([_NO_SIZE] * 3), "0 0 0 0 0", Placement())


def _add_ellipsoid(element: Element, name: str, size: str, coefficients: str, at: Placement) -> None:
    off = {"contype": "0", "conaffinity": "0", "mass": "0", "group": "4"}
    drag = {"fluidshape": "ellipsoid", "fluidcoef": coefficients}
    shape = {"name": name, "type": "ellipsoid", "size": size}
    SubElement(element, "geom", {**shape, **pose(at, f"fluid element {name!r}"), **off, **drag})


def _in_first(model: Model, element: FluidElement) -> bool:
    """Whether an element is in the fluid that the file states."""
    a, b = element.fluid, model.fluid[0].fluid
    on_body = model.frame(element.link).body != WORLD
    return not on_body or (a.density, a.viscosity, *a.wind) == (b.density, b.viscosity, *b.wind)


def _moments(size: Array, mass: float) -> Array:
    """Principal moments of inertia of a uniform box."""
    squared = np.square(size)
    return np.asarray(mass / 12 * (squared.sum() - squared), np.float64)


def _is_own(inertia: Inertia, box: FluidElement, at: Placement) -> bool:
    """Whether a box is that of the whole body's inertia."""
    if inertia.mass <= 0:
        return False
    moments = _moments(box.size, inertia.mass)
    turned = at.rotation.T @ inertia.at_com @ at.rotation
    size = max(float(box.size.max()), 1e-6)
    return bool(
        np.abs(turned - np.diag(moments)).max() <= _SAME * moments.max()
        and np.abs(inertia.com - at.translation).max() <= _SAME * size
    )
