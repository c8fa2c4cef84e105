"""Pairs of capsules that can collide, their distances, and the Jacobian of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Function, Input, Output
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.model.model import WORLD, Model
from helicoid.robot.collision.shapes import PlacedCapsule, closest_points, norm

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot

SAMPLES = 2000  # random configurations
ALWAYS_SHARE = 0.95  # of the configurations: pairs within the margin in more are always so
_N_STARTS = 6  # nearest configurations, from which a distance is minimised
_MAX_ITERATIONS = 60  # of that descent
_FIRST_STEP = 0.3  # rad or m


class Pair(NamedTuple):
    """Two capsules, by their numbers."""

    one: int
    other: int


def separate_pairs(model: Model, shapes: Sequence[PlacedCapsule]) -> tuple[Pair, ...]:
    """All pairs but those on one body, on neighbours, or of links whose collisions are disabled."""
    bodies = [model.frame(shape.link or "").body for shape in shapes]
    disabled = model.semantics.disabled
    return tuple(
        Pair(i, j)
        for i in range(len(shapes))
        for j in range(i + 1, len(shapes))
        if bodies[i] != bodies[j]
        and not _neighbours(model, bodies[i], bodies[j])
        and frozenset((shapes[i].link, shapes[j].link)) not in disabled
    )


def _neighbours(model: Model, a: int, b: int) -> bool:
    return any(one != WORLD and model.bodies[one].parent == other for one, other in ((a, b), (b, a)))


def distances(
    model: Model, q: Expression, shapes: Sequence[PlacedCapsule], pairs: Sequence[Pair]
) -> tuple[Expression, Expression]:
    """The distances d (pairs) at q, negative where capsules overlap, and their rates by v (pairs × nv).

    With the nearest points x and y of two axes and n = (x - y) / |x - y|, ḋ = n · (ẋ - ẏ): the motion
    of the points along their axes does not enter, since the distance is minimal there. A joint moves a point
    by its twist (ω, v) about the world's origin, n · (ω × x + v) = ω · (x × n) + v · n, and x × n = y × n. So
    joints below both bodies, or neither, have no effect; all others have one product of twist and wrench.
    """
    motions = joint_motions(model, q)
    poses = world_poses(model, motions)
    needed = sorted({number for pair in pairs for number in pair})
    axes = {number: _axis(model, poses, shapes[number]) for number in needed}
    twists = []
    for (R, p), motion in zip(poses, motions, strict=True):
        ω = R @ motion.S[:3, :]
        v = R @ motion.S[3:, :]
        moment = [ca.cross(p, ω[:, k]) for k in range(ω.shape[1])]
        twists.append(ca.vertcat(ω, v + ca.horzcat(*moment) if moment else v))
    d, J = [], ca.SX(len(pairs), model.nv)
    for row, (i, j) in enumerate(pairs):
        x, y = closest_points(axes[i], axes[j], (shapes[i].length ** 2, shapes[j].length ** 2))
        length = norm(x - y)
        n = (x - y) / length
        wrench = ca.vertcat(ca.cross(x, n), n)
        d.append(length - shapes[i].radius - shapes[j].radius)
        moved, other = (_carriers(model, shapes[number]) for number in (i, j))
        for body in sorted(moved ^ other):
            sign = model.bodies[body].multiplier * (1.0 if body in moved else -1.0)
            part = model.bodies[body].v
            J[row, part] += sign * (wrench.T @ twists[body])
    return ca.vertcat(ca.SX(0, 1), *d), J


def _axis(
    model: Model, poses: Sequence[tuple[Expression, Expression]], shape: PlacedCapsule
) -> list[Expression]:
    """The ends of a capsule's axis in the world, one where they are the same."""
    body, placement = model.frame(shape.link or "")
    ends = [np.asarray(point, dtype=np.float64) for point in (shape.start, shape.end)]
    if np.array_equal(ends[0], ends[1]):
        ends = ends[:1]
    local = [placement.translation + placement.rotation @ end for end in ends]
    if body == WORLD:
        return [ca.SX(point) for point in local]
    R, p = poses[body]
    return [p + R @ ca.SX(point) for point in local]


def _carriers(model: Model, shape: PlacedCapsule) -> set[int]:
    """The bodies whose joints move a capsule."""
    found, body = set(), model.frame(shape.link or "").body
    while body != WORLD:
        found.add(body)
        body = model.bodies[body].parent
    return found


def distance_function(model: Model, shapes: Sequence[PlacedCapsule], pairs: Sequence[Pair]) -> Function:
    """`q -> distance` of the pairs."""
    q = ca.SX.sym("q", model.nq)
    d, _ = distances(model, q, shapes, pairs)
    return Function.from_expressions(
        "self_distances", [(Input("q", (model.nq,)), q)], [(Output("distance", (len(pairs),)), d)]
    )


def could_meet(
    robot: Robot, shapes: Sequence[PlacedCapsule], pairs: Sequence[Pair], margin: float
) -> tuple[Pair, ...]:
    """See `Capsules.could_meet`."""
    if not pairs:
        return ()
    postures = np.vstack([robot.neutral()[None], robot.random(0, SAMPLES)])
    q = ca.SX.sym("q", robot.nq)
    d, _ = distances(robot.model, q, shapes, pairs)
    # On CasADi's virtual machine, which needs no compilation.
    seen = np.array(ca.Function("d", [q], [ca.cse(d)])(postures.T)).T  # (postures, pairs)
    always = np.mean(seen <= margin, axis=0) >= ALWAYS_SHARE
    least = seen.min(axis=0)
    for k, pair in enumerate(pairs):
        if not always[k] and least[k] > margin:
            nearest = postures[np.argsort(seen[:, k])[:_N_STARTS]]
            least[k] = _minimum_distance(robot, shapes, pair, nearest, margin)
    return tuple(pair for k, pair in enumerate(pairs) if not always[k] and least[k] <= margin)


def _minimum_distance(
    robot: Robot, shapes: Sequence[PlacedCapsule], pair: Pair, starts: Array, margin: float
) -> float:
    """The smallest distance of a pair by gradient descent within the joint limits; quaternions stay fixed.

    A step that does not improve is halved; all starts run in parallel.
    """
    q = ca.SX.sym("q", robot.nq)
    d, _ = distances(robot.model, q, shapes, [pair])
    slope = ca.densify(ca.jacobian(d, q))
    both = ca.Function("d", [q], [d, slope.T])
    turning = [k for part in robot.model.quaternions for k in range(robot.nq)[part]]

    def seen(postures: Array) -> tuple[Array, Array]:
        here, along = (np.array(one, dtype=np.float64) for one in both(postures.T))
        along[turning] = 0.0
        return here.ravel(), along.T

    lower, upper = robot.limits.lower, robot.limits.upper
    postures, length = starts, np.full((len(starts), 1), _FIRST_STEP)
    here, along = seen(postures)
    for _ in range(_MAX_ITERATIONS):
        size = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
        tried = np.clip(postures - length * along / size, lower, upper)
        there, next_along = seen(tried)
        better = (there < here)[:, None]
        postures, along = np.where(better, tried, postures), np.where(better, next_along, along)
        here, length = np.minimum(here, there), np.where(better, 1.2 * length, 0.5 * length)
        if here.min() <= margin:
            break
    return float(here.min())
