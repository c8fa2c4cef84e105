"""Constraints of planning: tasks that hold all along a path, axes that keep their direction, closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

import helicoid.compiler as compiler
from helicoid._typing import Expression
from helicoid.arrays import float_array, shown
from helicoid.control.tasks import Task
from helicoid.control.tasks.task import check_motion
from helicoid.errors import InputError
from helicoid.planning.manifold.manifold import Manifold
from helicoid.planning.space import NUMBER, QUATERNION, ConfigurationSpace
from helicoid.robot import Robot


@dataclass(frozen=True, eq=False)
class AxisConstraint:
    """An axis of a frame keeps its direction in the world, as a cup that is carried upright: R a - d = 0.

    Args:
        frame: the name of a link.
        axis: a, in the frame.
        direction: d, in the world; both are normalised.

    >>> import helicoid as hc
    >>> hc.planning.AxisConstraint("tool0", axis=[0, 0, 1], direction=[0, 0, -1])
    AxisConstraint(frame='tool0', axis=[0.0, 0.0, 1.0], direction=[0.0, 0.0, -1.0])
    """

    frame: str
    axis: ArrayLike = (0.0, 0.0, 1.0)
    direction: ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("axis", "direction"):
            given = float_array(getattr(self, name), f"the {name} is a vector of three numbers")
            if given.shape != (3,) or not np.all(np.isfinite(given)) or not np.linalg.norm(given) > 1e-9:
                raise InputError(f"the {name} is a vector (3), finite and not zero; got {shown(given)}")
            object.__setattr__(self, name, (given / np.linalg.norm(given)).tolist())

    def error(self, robot: Robot, q: Expression) -> Expression:
        """R a - d, (3): of length 2 sin(angle / 2)."""
        axis, direction = (ca.DM(np.asarray(x, dtype=np.float64)) for x in (self.axis, self.direction))
        return robot.pose(self.frame)(q)[:3, :3] @ axis - direction


def manifold_of(
    robot: Robot, space: ConfigurationSpace, constraints: Any, tolerance: float
) -> Manifold | None:
    """The manifold on which all constraints, and the closed loops of the robot, hold; None without any.

    Raises:
        InputError: a constraint cannot be planned with: it has no target, is about forces, or the robot has
            rotations among its coordinates.
    """
    given: list[Any] = list(constraints) if isinstance(constraints, (list, tuple)) else [constraints]
    for one in given:
        if not isinstance(one, (Task, AxisConstraint)):
            raise InputError(
                "constraints of planning are tasks of hc.control with a target, or "
                f"hc.planning.AxisConstraint; got {shown(one)}"
            )
    if not given and not robot.constraints:
        return None
    if not (np.ndim(tolerance) == 0 and 0 < tolerance < np.inf):
        raise InputError(f"constraint_tolerance is a number (m, rad) above zero; got {shown(tolerance)}")
    if np.any(space.kind >= QUATERNION):
        raise InputError(
            f"robot {robot.name!r} has rotations among its coordinates (a floating base, ball joints): paths "
            "under constraints are planned for coordinates that are numbers or angles"
        )
    targets, labels, keeps = [], [], []
    if robot.constraints:
        n = int(robot.constraint_position(robot.neutral()).shape[0])
        labels += ["a closed loop" if len(robot.constraints) == 1 else "the closed loops"] * n
    for one in given:
        if isinstance(one, AxisConstraint):
            robot.model.frame(one.frame)
            labels += [f"axis of {one.frame!r}"] * 3
            continue
        one.check(robot)
        check_motion(one, "planning")
        kept = np.flatnonzero(one.weights(robot) > 0)
        if not len(kept):
            raise InputError(f"constraint {one.name!r}: all of its weights are zero: it holds nothing")
        flat = np.ravel(one.numbers(robot))
        if flat.size != one.target_size(robot):
            raise InputError(f"constraint {one.name!r} takes one target, not many")
        targets.append(flat)
        keeps.append(kept)
        labels += [repr(one.name)] * len(kept)
    key = "planning manifold", *(_structure(one) for one in given)
    function = robot.memo(key, lambda: _rows(robot, given, keeps))
    numbers = np.concatenate([np.zeros(0), *targets])
    at = np.where(space.kind == NUMBER, 0.0, 2 * np.pi)
    return Manifold(function, numbers, tuple(labels), float(tolerance), space.lower, space.upper, at)


def _structure(one: Any) -> tuple[Any, ...]:
    """A constraint without its target, hashable: the compiled rows depend on nothing else."""
    if not is_dataclass(one):
        return (one,)
    values = (getattr(one, field.name) for field in fields(one) if field.name != "target")
    return type(one), *(v.tobytes() if isinstance(v, np.ndarray) else repr(v) for v in values)


def _rows(robot: Robot, given: Sequence[Any], keeps: Sequence[NDArray[np.intp]]) -> compiler.Function:
    """(q, targets) -> e (m), de/dq (m, nq)."""
    q = ca.SX.sym("q", robot.nq)
    sizes = [one.target_size(robot) for one in given if isinstance(one, Task)]
    target, at, kept = ca.SX.sym("target", sum(sizes)), 0, iter(keeps)
    rows = [robot.constraint_position(q)] if robot.constraints else []
    for one in given:
        if isinstance(one, AxisConstraint):
            rows.append(one.error(robot, q))
            continue
        size = one.target_size(robot)
        rows.append(one.error(robot, q, target[at : at + size])[next(kept).tolist()])
        at += size
    e = ca.vertcat(*rows)
    inputs = [(compiler.Input("q", (robot.nq,)), q), (compiler.Input("target", (sum(sizes),)), target)]
    m = e.numel()
    outputs = [
        (compiler.Output("e", (m,)), e),
        (compiler.Output("J", (m, robot.nq)), ca.densify(ca.jacobian(e, q))),
    ]
    return compiler.Function.from_expressions("planning_constraints", inputs, outputs)
