"""Room between a robot's own links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import casadi as ca
import numpy as np

from helicoid.errors import InputError
from helicoid.mpc.constraints.constraint import Constraint, Soft, constraint_on
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import Intermediate
from helicoid.robot.collision import Capsules
from helicoid.robot.collision.pairs import distances


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
            f"within {margin:g} m of each other, so that there is nothing to keep apart"
        )
    d, by_v = distances(robot.model, symbols["q"], shapes, pairs)
    system = symbols.system
    jacobian = ca.SX(len(pairs), system.nu + system.nx)
    jacobian[:, system.nu : system.nu + robot.nv] = by_v
    gap = Intermediate(ca.SX.sym(name, len(pairs)), d, ca.sparsify(jacobian))
    labels = [" and ".join(str(shapes[number].link) for number in pair) for pair in pairs]
    made = constraint_on(symbols, name, gap.symbol, margin, soft=soft, scale=5.0, labels=labels)
    return replace(made, intermediates=(gap,))
