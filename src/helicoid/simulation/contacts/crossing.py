"""Links that pass through each other in a simulation, which has contacts with the ground only.

Candidates are found for many samples at once, by spheres and boxes around the convex collision shapes; the
deepest is then decided exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import DoubtfulMotionWarning, warn
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Geometry, Placement
from helicoid.model.shapes import is_solid
from helicoid.robot import Robot
from helicoid.robot.collision.body_poses import body_matrices
from helicoid.simulation.contacts.collision import RIM, shape_points

LINK_CONTACT_REMEDY = "simulate it with engine='mujoco'"
MAX_SAMPLES = 200  # of a trajectory
_SAMPLE_DISTANCE = 0.02  # rad or m: path of a joint between samples
_MIN_DEPTH = 1e-3  # m: boxes may touch
_MIN_SHARE = 0.25  # of the thinner shape: hulls of neighbouring links may overlap a little
_ROUNDING = 1e-9  # m
_N_RIM_POINTS = 16  # of the circles of a cylinder
_SUM_WEIGHT = 1e3  # of the sums of convex combinations, beside the distance in units of the shapes' size


def warn_of_crossing(robot: Robot, times: Array, q: Array, meshes: bool) -> None:
    """Warn of the two links that are deepest inside each other, of those that are apart at q[0].

    Args:
        robot: the robot.
        times: sampling times (s).
        q: coordinates at these (N, nq).
        meshes: whether meshes count, which have then been read for their contacts with the ground.
    """
    solids = robot.memo(("solids", meshes), lambda: Solids.of(robot, meshes))
    found = solids.deepest_crossing(robot, q) if len(solids.pairs) else None
    if found is not None:
        warn(
            DoubtfulMotionWarning(
                f"links {found.links[0]!r} and {found.links[1]!r} pass through each other, from "
                f"t = {times[found.row]:.4g} s on and by up to {found.depth:.2g} m: contacts between links "
                f"are not simulated, only those with the ground. To have them, {LINK_CONTACT_REMEDY}"
            )
        )


class Crossing(NamedTuple):
    """Two links that overlap from a row on, and by how much at most (m)."""

    links: tuple[str, str]
    row: int
    depth: float


class Solid(NamedTuple):
    """The convex hull of balls about points (n, 3), in the frame of a body; `axes` are those of its box."""

    link: str
    body: int
    points: Array
    radius: float
    axes: Array


@dataclass(frozen=True, eq=False)
class Solids:
    """Convex shapes of a robot, the pairs (n, 2) that may meet, and boxes and spheres around the shapes."""

    shapes: tuple[Solid, ...]
    pairs: Array
    bodies: Array
    centers: Array
    axes: Array
    halves: Array
    radii: Array

    @staticmethod
    def of(robot: Robot, meshes: bool) -> Solids:
        """The collision shapes of all links: primitives, and meshes of links that move if these count."""
        model = robot.model
        shapes = tuple(
            _solid(robot, link.name, shape)
            for link in model.links
            for shape in link.collisions
            if is_solid(shape) and (shape.kind != "mesh" or (meshes and model.frame(link.name).body != WORLD))
        )
        bodies = [one.body for one in shapes]
        pairs = [
            (i, j)
            for i in range(len(shapes))
            for j in range(i + 1, len(shapes))
            if bodies[i] != bodies[j] and not _jointed(model, bodies[i], bodies[j])
        ]
        local = [one.points @ one.axes for one in shapes]
        low, high = (np.array([f(x, axis=0) for x in local]).reshape(-1, 3) for f in (np.min, np.max))
        radius = np.array([one.radius for one in shapes])
        axes = np.array([one.axes for one in shapes]).reshape(-1, 3, 3)
        centers = np.einsum("sij,sj->si", axes, (low + high) / 2)
        reach = [np.linalg.norm(s.points - c, axis=1).max() for s, c in zip(shapes, centers, strict=True)]
        return Solids(
            shapes,
            np.array(pairs, dtype=int).reshape(-1, 2),
            np.array(bodies, dtype=int),
            centers,
            axes,
            (high - low) / 2 + radius[:, None],
            np.array(reach) + radius,
        )

    def deepest_crossing(self, robot: Robot, q: Array) -> Crossing | None:
        """The pair that is deepest inside each other at samples of q (N, nq), without those that begin so."""
        rows = _samples(q)
        T = _poses(robot, q[rows])
        depths = self._depths(T)
        deepest = depths.max(axis=0)
        thinner = 2 * self.halves.min(axis=1)[self.pairs].min(axis=1)
        least = np.maximum(_MIN_SHARE * thinner, _MIN_DEPTH)
        for pair in sorted(np.flatnonzero(deepest > least).tolist(), key=lambda k: -deepest[k]):
            at = int(np.argmax(depths[:, pair]))
            depth = self._depth(pair, T[at])
            if depth <= least[pair] or self._depth(pair, T[0]) > 0:
                continue
            # From the last sample before the pair came near, the first row is found by bisection.
            before, last = max(int(np.argmax(depths[:, pair] > _MIN_DEPTH)) - 1, 0), int(rows[at])
            first = int(rows[before])
            while last - first > 1:
                middle = (first + last) // 2
                inside = self._depth(pair, _poses(robot, q[middle : middle + 1])[0]) > 0
                first, last = (first, middle) if inside else (middle, last)
            i, j = self.pairs[pair]
            return Crossing((self.shapes[i].link, self.shapes[j].link), last, depth)
        return None

    def _depths(self, T: Array) -> Array:
        """Bounds of the depths (m) of pairs, (samples, pairs), by spheres and, where these overlap, boxes."""
        i, j = self.pairs.T
        placed = T[:, self.bodies]
        R, p = placed[..., :3], placed[..., 3]
        centers = np.ascontiguousarray(np.moveaxis(np.einsum("nsij,sj->nsi", R, self.centers) + p, 2, 0))
        apart = centers[..., j] - centers[..., i]  # (3, samples, pairs)
        reach = self.radii[i] + self.radii[j]
        squares = apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2
        rows, near = np.nonzero(squares < reach**2)
        depths = np.full(squares.shape, -np.inf)
        if len(rows):
            one, other = (R[rows, x[near]] @ self.axes[x[near]] for x in (i, j))
            halves, between = (self.halves[i[near]], self.halves[j[near]]), apart[:, rows, near].T
            spheres = reach[near] - np.sqrt(squares[rows, near])
            depths[rows, near] = np.minimum(spheres, _box_depths(one, other, *halves, between))
        return depths

    def _depth(self, pair: int, T: Array) -> float:
        """The depth (m) of two shapes inside each other at poses T of all bodies; 0 where they are apart."""
        one, other = (self.shapes[k] for k in self.pairs[pair])
        x, y = (solid.points @ T[solid.body, :, :3].T + T[solid.body, :, 3] for solid in (one, other))
        radius = one.radius + other.radius
        if _hull_distance(x, y) > max(radius, _ROUNDING):
            return 0.0
        axes = [T[solid.body, :, :3] @ solid.axes for solid in (one, other)]
        between = np.mean(y, axis=0) - np.mean(x, axis=0)
        directions = np.vstack([axes[0].T, axes[1].T, _DIRECTIONS])
        if (length := float(np.linalg.norm(between))) > _ROUNDING:
            directions = np.vstack([directions, between / length])
        directions = np.vstack([directions, -directions])
        overlaps = (directions @ x.T).max(axis=1) - (directions @ y.T).min(axis=1) + radius
        return float(overlaps.min())


def _spread(n: int) -> Array:
    """Directions (n, 3) that are evenly spread: a spiral from pole to pole."""
    z = 1 - (2 * np.arange(n) + 1) / n
    turn = np.pi * (1 + np.sqrt(5)) * np.arange(n)
    r = np.sqrt(1 - z**2)
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


_DIRECTIONS = _spread(200)  # along which a depth is measured, beside the axes of the shapes


def _solid(robot: Robot, link: str, shape: Geometry) -> Solid:
    """Points on its surface: the hull of those of a cylinder or a mesh is inside of it."""
    body, placement = robot.model.frame(link)
    points, radius = [], 0.0
    for kind, center, axis, r, angle in shape_points(robot, shape):
        if kind != RIM:
            points.append(np.asarray(center))
            radius = r  # all the same
        elif angle == 0.0:  # one of four points that stand for a circle
            points += list(_circle(np.asarray(center), np.asarray(axis), r))
    placed: Placement = placement @ shape.placement
    local = np.array(points) @ placement.rotation.T + placement.translation
    return Solid(link, body, local, radius, placed.rotation)


def _circle(center: Array, axis: Array, radius: float) -> Array:
    across = np.linalg.svd(axis[None])[2][1:]  # two directions
    angle = 2 * np.pi * np.arange(_N_RIM_POINTS)[:, None] / _N_RIM_POINTS
    return np.asarray(center + radius * (np.cos(angle) * across[0] + np.sin(angle) * across[1]))


def _jointed(model: Model, a: int, b: int) -> bool:
    """Whether a joint that leaves some motion out connects two bodies: these may always overlap."""
    for one, other in ((a, b), (b, a)):
        if one != WORLD and model.bodies[one].parent == other:
            return model.bodies[one].joint.type.nv < 6
    return False


def _samples(q: Array) -> Array:
    """Rows at which q has moved on; the first and the last of all."""
    rows = np.linspace(0, len(q) - 1, min(len(q), MAX_SAMPLES)).astype(int)
    steps = np.abs(np.diff(q[rows], axis=0)).max(axis=1, initial=0.0)
    number = np.floor(np.concatenate([[0.0], np.cumsum(steps)]) / _SAMPLE_DISTANCE)
    moved = np.diff(number, prepend=-1.0) > 0
    moved[-1] = True
    return np.asarray(rows[moved])


def _poses(robot: Robot, q: Array) -> Array:
    """[R p] of all bodies, (N, n_bodies + 1, 3, 4); the last is the world, which `WORLD` finds."""
    T = np.asarray(body_matrices(robot)(q)).reshape(len(q), robot.n_bodies, 3, 4)
    return np.concatenate([T, np.broadcast_to(np.eye(3, 4), (len(q), 1, 3, 4))], axis=1)


def _box_depths(one: Array, other: Array, half: Array, other_half: Array, apart: Array) -> Array:
    """Depths (n) of boxes inside each other: the least overlap over 15 directions (Gottschalk et al. 1996).

    The boxes have axes (n, 3, 3), half edges (n, 3), and centers that are `apart` (n, 3). The directions are
    the normals of their faces and, where these do not separate them, the products of their edges.
    """
    between = np.swapaxes(one, 1, 2) @ other
    extent = np.abs(between)
    first = half + (extent @ other_half[..., None])[..., 0] - np.abs(apart[:, None] @ one)[:, 0]
    second = other_half + (half[:, None] @ extent)[:, 0] - np.abs(apart[:, None] @ other)[:, 0]
    depths = np.minimum(first, second).min(axis=1)
    left = np.flatnonzero(depths > _MIN_DEPTH)
    if len(left):
        depths[left] = np.minimum(
            depths[left], _edge_depths(*(x[left] for x in (one, other, half, other_half, apart)))
        )
    return np.asarray(depths)


def _edge_depths(one: Array, other: Array, half: Array, other_half: Array, apart: Array) -> Array:
    """The least overlap of boxes along the products of their edges."""
    directions = np.cross(one.swapaxes(1, 2)[:, :, None], other.swapaxes(1, 2)[:, None]).reshape(-1, 9, 3)
    size = np.linalg.norm(directions, axis=2)
    reach = np.abs(directions @ one) @ half[..., None] + np.abs(directions @ other) @ other_half[..., None]
    overlap = (reach - np.abs(directions @ apart[..., None]))[..., 0]
    return np.asarray(np.min(overlap / np.maximum(size, 1e-12), axis=1, where=size > 1e-6, initial=np.inf))


def _hull_distance(x: Array, y: Array) -> float:
    """The distance (m) of the convex hulls of points x and y, by nonnegative least squares.

    |Σ λ x - Σ μ y| is minimised over λ, μ ≥ 0 whose sums are 1.
    """
    from scipy.optimize import nnls

    size = float(np.ptp(np.concatenate([x, y]), axis=0).max()) or 1.0
    origin = x.mean(axis=0)
    points = np.concatenate([x - origin, -(y - origin)]).T / size
    sums = np.repeat(np.eye(2), [len(x), len(y)], axis=1)
    target = np.array([0, 0, 0, _SUM_WEIGHT, _SUM_WEIGHT])
    try:
        found, _ = nnls(np.vstack([points, _SUM_WEIGHT * sums]), target)
    except RuntimeError:  # not solved: no reason to warn
        return np.inf
    λ, μ = found[: len(x)], found[len(x) :]
    return float(np.linalg.norm(λ @ x / λ.sum() - μ @ y / μ.sum()))
