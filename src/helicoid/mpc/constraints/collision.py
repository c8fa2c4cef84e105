"""Collision avoidance: distances to obstacles and between links of the robot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.parameter import Parameter
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import Intermediate
from helicoid.robot.collision import Capsules, Shape, distance
from helicoid.robot.collision.pairs import distances


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
            raise InputError(
                f"a distance is between two of hc.mpc.PlacedSphere and hc.mpc.PlacedCapsule; got {shape!r}"
            )
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


def self_collision_constraint(
    symbols: Symbols,
    margin: float = 0.02,
    soft: Soft = 1000.0,
    capsules: Capsules | None = None,
    ignore: Iterable[tuple[str, str]] = (),
    name: str = "self_collision",
) -> Constraint:
    """At least `margin` (m) between any two capsules of the robot that could meet; see `Robot.capsules`.

    The price is high enough that a plan keeps the margin wherever it can; `soft=None` makes it a hard one.
    Neighbours are left out, and so are pairs that touch wherever the robot is, that cannot come within the
    margin, or whose links `ignore` names. `capsules` are those of `robot.capsules()` unless given, such as
    `robot.capsules("visual")` of a description without collision shapes.
    """
    robot = symbols.robot
    if not 0 <= margin < np.inf:
        raise InputError(f"constraint {name!r}: the margin (m) must not be negative, got {margin}")
    shapes = robot.capsules() if capsules is None else capsules
    if not isinstance(shapes, Capsules) or shapes.robot.link_names != robot.link_names:
        raise InputError(f"constraint {name!r}: capsules are those of this robot, robot.capsules()")
    ignored = {frozenset(pair) for pair in ignore}
    unknown = sorted(set().union(*ignored) - set(robot.link_names)) if ignored else []
    if unknown:
        raise InputError(f"constraint {name!r}: robot {robot.name!r} has no link {unknown[0]!r} to ignore")
    pairs = [
        pair
        for pair in shapes.could_meet(margin)
        if frozenset(str(shapes[number].link) for number in pair) not in ignored
    ]
    if not pairs:
        raise InputError(
            f"constraint {name!r}: no two links of robot {robot.name!r} that are not neighbours can come "
            f"within {margin:g} m of each other, so the constraint would be empty"
        )
    d, by_v = distances(robot.model, symbols["q"], shapes, pairs)
    system = symbols.system
    jacobian = ca.SX(len(pairs), system.nu + system.nx)
    jacobian[:, system.nu : system.nu + robot.nv] = by_v
    gap = Intermediate(ca.SX.sym(name, len(pairs)), d, ca.sparsify(jacobian))
    labels = [" and ".join(str(shapes[number].link) for number in pair) for pair in pairs]
    constraint = constraint_on(symbols, name, gap.symbol, margin, soft=soft, scale=5.0, labels=labels)
    return replace(constraint, intermediates=(gap,))
