"""Room between two bodies."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.parameter import Parameter
from helicoid.mpc.system.symbols import Symbols
from helicoid.robot.collision import Shape, distance


def distance_constraint(
    symbols: Symbols,
    one: Shape,
    other: Shape,
    margin: float = 0.0,
    soft: Soft = None,
    name: str | None = None,
) -> Constraint:
    """At least `margin` (m) between two spheres or capsules, on links or in the world.

    A shape without a link is an obstacle; its points are parameters `<name>_point`, `<name>_start` or
    `<name>_end`, so that obstacles may move. The name is `distance_0`, `distance_1` ... by default.
    """
    for shape in (one, other):
        if not isinstance(shape, Shape):
            raise InputError(f"a distance is between two of hc.mpc.Sphere and hc.mpc.Capsule; got {shape!r}")
    name = name or f"distance_{sum(term.startswith('distance_') for term in symbols.taken)}"
    parameters: list[Parameter] = []
    axes = [_axis(symbols, shape, name, parameters) for shape in (one, other)]
    gap = distance(*axes) - one.radius - other.radius
    label = f"{one.link or 'obstacle'} and {other.link or 'obstacle'}"
    return constraint_on(
        symbols, name, gap, margin, soft=soft, scale=5.0, labels=[label], parameters=parameters
    )


def _axis(symbols: Symbols, shape: Shape, name: str, parameters: list[Parameter]) -> list[Expression]:
    """The ends of a shape's axis in the world; those of an obstacle are new parameters."""
    if shape.link is None:
        own = [symbols.parameter(f"{name}_{label}", point, 3) for label, point in shape.points.items()]
        parameters += own
        return [parameter.symbol for parameter in own]
    T = symbols.robot.pose(shape.link)(symbols["q"])
    points = [ca.SX(np.asarray(point, float)) for point in shape.points.values()]
    return [T[:3, :3] @ point + T[:3, 3] for point in points]
