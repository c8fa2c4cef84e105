"""Smallest enclosing capsules of shapes: exact for spheres and capsules, conservative for all others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from helicoid._typing import Array
from helicoid.model.parts import Geometry, Placement
from helicoid.model.shapes import PRIMITIVES
from helicoid.robot.collision.meshes import mesh_points

Names = tuple[tuple[str, str], ...]
"""Contents of a capsule: link and kind of each shape."""

_MAX_BOX_CORNERS = 8  # of a primitive: one of more is fitted as a mesh
_MAX_ITERATIONS = 250  # of the search for the axis
_MAX_SEARCH_POINTS = 200  # vertices in that search; the result then encloses all


@dataclass(frozen=True, eq=False)
class Fit:
    """A capsule (m) around balls: `points` (n, 3) with their `radii` (n), whose hull is the shape.

    `held` is the volume (m³) of the shape, of a mesh that of its convex hull.
    """

    start: Array
    end: Array
    radius: float
    held: float
    points: Array
    radii: Array

    @property
    def volume(self) -> float:
        """π r² (l + 4/3 r)."""
        length = float(np.linalg.norm(self.end - self.start))
        return float(np.pi * self.radius**2 * (length + 4 / 3 * self.radius))

    def moved(self, by: Placement) -> Fit:
        """The same in the frame in which the shape is placed."""
        R, p = by.rotation, by.translation
        start, end = R @ self.start + p, R @ self.end + p
        return replace(self, start=start, end=end, points=self.points @ R.T + p)

    def holds(self, other: Fit) -> bool:
        """Whether the other lies inside of this one, but for rounding."""
        ends = _distances(np.stack([other.start, other.end]), self.start, self.end)
        return bool(ends.max() + other.radius <= self.radius * (1 + 1e-9))


def fit(shape: Geometry) -> Fit:
    """Enclosing capsule of a primitive or a mesh."""
    if shape.kind == "mesh":
        points, held = _hull(mesh_points(shape))
        return around(points, np.zeros(len(points)), held)
    primitive = PRIMITIVES[shape.kind]
    spheres, circles = primitive.spheres(*shape.size), primitive.circles(*shape.size)
    held, extent = primitive.volume(*shape.size), primitive.extent(shape.size)
    if not len(circles) and len(spheres) <= 2:  # a sphere, a capsule
        return _capsule(spheres[-1, :3], spheres[:, 3].max(), held)
    if not len(circles) and len(spheres) > _MAX_BOX_CORNERS:
        return around(spheres[:, :3], spheres[:, 3], held)
    axes = (2,) if len(circles) else (0, 1, 2)
    ends = [(np.eye(3)[k], primitive.distance_from(k, shape.size), extent[k]) for k in axes]
    best = min((_capsule(*_around_rims(*end), held) for end in ends), key=lambda one: one.volume)
    return best if len(circles) else replace(best, points=spheres[:, :3], radii=spheres[:, 3])


def _capsule(end: Array, radius: float, held: float) -> Fit:
    return Fit(-end, end, float(radius), float(held), np.stack([-end, end]), np.full(2, float(radius)))


def _around_rims(axis: Array, thickness: float, half: float) -> tuple[Array, float]:
    """End and radius around rims at `thickness` from an axis and ±`half` along it: thicker, it is shorter."""
    from scipy.optimize import minimize_scalar

    def end(radius: float) -> float:
        return max(half - float(np.sqrt(max(radius**2 - thickness**2, 0.0))), 0.0)

    def volume(radius: float) -> float:
        return radius**2 * (2 * end(radius) + 4 / 3 * radius)

    most = float(np.hypot(thickness, half))
    radii = [thickness, most]
    if half:
        radii.append(float(minimize_scalar(volume, bounds=(thickness, most), method="bounded").x))
    best = min(radii, key=volume)
    return axis * end(best), best


def around(points: Array, radii: Array, held: float) -> Fit:
    """Capsule around balls: the line of its axis is optimised, radius and ends follow from the balls."""
    from scipy.optimize import minimize

    center = (points.min(axis=0) + points.max(axis=0)) / 2
    size = float((np.abs(points - center).max(axis=0) + radii.max()).max()) or 1.0
    some = np.linspace(0, len(points) - 1, min(len(points), _MAX_SEARCH_POINTS)).astype(int)
    local, local_radii = (points[some] - center) / size, radii[some] / size
    axes = np.linalg.eigh(np.cov(local.T))[1] if len(local) > 1 else np.eye(3)
    found: list[tuple[float, Array, Array]] = []
    for k in range(3):
        frame = np.roll(axes, k, axis=1)

        def volume(x: Array, frame: Array = frame) -> float:
            start, end, radius = _on_line(local, local_radii, frame, x)
            return radius**2 * (float(np.linalg.norm(end - start)) + 4 / 3 * radius)

        options = {"initial_simplex": np.vstack([np.zeros(5), 0.1 * np.eye(5)]), "maxiter": _MAX_ITERATIONS}
        search = minimize(volume, np.zeros(5), method="Nelder-Mead", options=options)
        found.append((float(search.fun), frame, search.x))
    _, frame, x = min(found, key=lambda one: one[0])
    start, end, _ = _on_line((points - center) / size, radii / size, frame, x)
    start, end = center + size * start, center + size * end
    # Enclose all balls in spite of rounding.
    radius = float((_distances(points, start, end) + radii).max()) * (1 + 1e-12)
    return Fit(start, end, radius, held, points, radii)


def _on_line(points: Array, radii: Array, frame: Array, x: Array) -> tuple[Array, Array, float]:
    """The shortest capsule around balls whose axis lies on a line, turned and moved from a frame's z by x.

    x has the slope of the line (2), its offset (2), and by how much the capsule is thicker than it must be.
    """
    along = frame @ np.array([x[0], x[1], 1.0])
    along /= np.linalg.norm(along)
    origin = frame[:, 0] * x[2] + frame[:, 1] * x[3]
    z = (points - origin) @ along
    across = np.sqrt(np.maximum(((points - origin) ** 2).sum(axis=1) - z**2, 0.0))
    radius = float((across + radii).max()) + abs(x[4])
    reach = np.sqrt(np.maximum((radius - radii) ** 2 - across**2, 0.0))
    low, high = float((z + reach).min()), float((z - reach).max())
    if low > high:  # a sphere
        low = high = (low + high) / 2
    return origin + low * along, origin + high * along, radius


def fewer(fits: list[tuple[Fit, Names]], more: float) -> list[tuple[Fit, Names]]:
    """Drop fits inside of others, and merge two wherever that adds at most `more` volume (m³)."""
    kept: list[tuple[Fit, Names]] = []
    for one, names in sorted(fits, key=lambda pair: -pair[0].radius):
        if not any(other.holds(one) for other, _ in kept):
            kept.append((one, names))
    while (found := _with_two_merged(kept, more)) is not None:
        kept = found
    return kept


def _with_two_merged(fits: list[tuple[Fit, Names]], more: float) -> list[tuple[Fit, Names]] | None:
    """Merge the nearest two that may be merged; None where there are no such."""
    pairs = [(i, j) for i in range(len(fits)) for j in range(i + 1, len(fits))]
    for i, j in sorted(pairs, key=lambda pair: _between(fits[pair[0]][0], fits[pair[1]][0])):
        (one, names), (other, others) = fits[i], fits[j]
        both = _together(one, other)
        if both.volume <= one.volume + other.volume + more:
            rest = [pair for k, pair in enumerate(fits) if k not in (i, j)]
            return [*rest, (both, names + others)]
    return None


def _between(one: Fit, other: Fit) -> float:
    return float(np.linalg.norm(one.start + one.end - other.start - other.end))


def _together(one: Fit, other: Fit) -> Fit:
    points, radii = np.concatenate([one.points, other.points]), np.concatenate([one.radii, other.radii])
    return around(points, radii, one.held + other.held)


def _hull(points: Array) -> tuple[Array, float]:
    """The corners of the convex hull, and its volume; of points in a plane, all of them and none."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return points, 0.0
    return points[hull.vertices], float(hull.volume)


def _distances(points: Array, start: Array, end: Array) -> Array:
    along = end - start
    s = np.clip((points - start) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
    return np.linalg.norm(points - start - s[:, None] * along, axis=1)
