"""Fluid forces of a compiled MuJoCo model: a box for each body, or ellipsoids in place of its geoms."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.fluid import EllipsoidCoefficients, Fluid, FluidElement
from helicoid.model.mjcf.joints import disabled
from helicoid.model.mjcf.names import Names, fresh
from helicoid.model.mjcf.placements import inertial_placement, placement_of

SPHERE, CAPSULE, CYLINDER = 2, 3, 5  # mjtGeom
_MIN_VALUE = 1e-15  # kg, kg·m²: bodies with less mass feel no fluid

_NO_SIZE = 1e-12  # m: an ellipsoid on which nothing acts, which turns the box of its body off


def fluid_elements(model: Any, names: Names, links: Collection[str]) -> Iterator[FluidElement]:
    """The boxes and ellipsoids of all bodies among `links`; none where there is no fluid."""
    fluid = Fluid(float(model.opt.density), float(model.opt.viscosity), model.opt.wind)
    off = disabled(model, "mjDSBL_SPRING") and disabled(model, "mjDSBL_DAMPER")
    if off or not (fluid.density or fluid.viscosity):
        return
    taken: set[str] = set()
    for body in range(1, model.nbody):
        link = names.bodies[body]
        if model.body_mass[body] < _MIN_VALUE or link not in links:
            continue
        first = int(model.body_geomadr[body])
        geoms = [k for k in range(first, first + int(model.body_geomnum[body])) if model.geom_fluid[k][0] > 0]
        for k in geoms:
            if _semi_axes(model, k).max() < _NO_SIZE:
                continue
            placed = placement_of(model, "geom", k)
            name = fresh(model.geom(k).name or f"{link}_fluid", taken)
            yield FluidElement(name, link, fluid, _semi_axes(model, k), placed, _coefficients(model, k))
        if not geoms:
            placed = inertial_placement(model, body)
            size = equivalent_box(model.body_mass[body], model.body_inertia[body])
            yield FluidElement(fresh(f"{link}_fluid", taken), link, fluid, size, placed)


def equivalent_box(mass: float, moments: Array) -> Array:
    """Edges (m) of the uniform box with a mass (kg) and principal moments of inertia (kg·m²)."""
    return np.sqrt(np.maximum(np.sum(moments) - 2 * np.asarray(moments), _MIN_VALUE) / mass * 6.0)


def _semi_axes(model: Any, geom: int) -> Array:
    """Of the ellipsoid in the place of a geom, as MuJoCo chooses it (m)."""
    x, y, z = map(float, model.geom_size[geom])
    kind = int(model.geom_type[geom])
    axes = {SPHERE: (x, x, x), CAPSULE: (x, x, x + y), CYLINDER: (x, x, y)}
    return np.array(axes.get(kind, (x, y, z)))


def _coefficients(model: Any, geom: int) -> EllipsoidCoefficients:
    numbers = model.geom_fluid[geom]
    scale, blunt, slender, angular, kutta, magnus = map(float, numbers[:6])
    virtual = numbers[6:9].copy(), numbers[9:12].copy()
    return EllipsoidCoefficients(blunt, slender, angular, kutta, magnus, *virtual, scale)
