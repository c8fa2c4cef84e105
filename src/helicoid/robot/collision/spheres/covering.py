"""Few spheres that contain a solid and reach beyond it by no more than a tolerance.

A ball about c of radius tolerance − d(c), d the signed distance of the solid, reaches beyond it by at most
the tolerance. Of many such balls a greedy set cover chooses few (Chvátal 1979) that contain points of the
solid; then an octree proves that they contain all of it: a cell is outside of the solid, or inside of one
ball, or it is divided. Cells for which neither holds at the smallest size give further points, until there
are none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.robot.collision.spheres.solids import Solid

Mask = NDArray[np.bool_]

_MAX_POINTS = 1500  # of the first selection
_MAX_CANDIDATES = 2500
_POINT_MARGIN = 0.12  # of the tolerance: how deep in a ball the points of the selection are
_CELL_MARGIN = 0.08  # of the tolerance: half of the diagonal of the smallest cells
_ROUNDS = 5  # selections from scratch; after that balls are added
_MAX_NEW_POINTS = 300  # per round
_MAX_PRODUCTS = 40_000  # of points and balls at once
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2.0


def cover(solid: Solid, tolerance: float) -> tuple[Array, Array]:
    """Centres (n, 3) and radii (n) of the balls, from the largest to the smallest."""
    rng = np.random.default_rng(0)
    points = _few(_surface(solid, tolerance), _MAX_POINTS, rng)
    candidates = _few(_candidates(solid, points, tolerance, rng), _MAX_CANDIDATES, rng)
    radii = tolerance - solid.distance(candidates)
    inside = _contained(points, candidates, radii, _POINT_MARGIN * tolerance)
    chosen: list[int] = []
    for k in range(1000):
        chosen = _selected(inside, [] if k < _ROUNDS else chosen)
        open_cells = uncovered(solid, candidates[chosen], radii[chosen], _CELL_MARGIN * tolerance)
        if not len(open_cells):
            break
        new = _few(open_cells, _MAX_NEW_POINTS, rng)
        extra = np.concatenate([new, _inwards(solid, _few(new, 40, rng), tolerance)])
        reach = tolerance - solid.distance(extra)
        margin = _POINT_MARGIN * tolerance
        inside = np.vstack([inside, _contained(new, candidates, radii, margin)])
        points = np.concatenate([points, new])
        inside = np.hstack([inside, _contained(points, extra, reach, margin)])
        candidates, radii = np.concatenate([candidates, extra]), np.concatenate([radii, reach])
    order = np.argsort(-radii[chosen], kind="stable")
    return candidates[chosen][order], radii[chosen][order]


def uncovered(solid: Solid, centers: Array, radii: Array, smallest: float) -> Array:
    """Centres of cells of the octree (n, 3) that reach into the solid and are not inside of one ball."""
    low, high = solid.bounds
    size = float((high - low).max()) * (1 + 1e-9) + 1e-12
    counts = np.maximum(np.ceil((high - low) / size), 1).astype(int)
    cells = low + size * (
        np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 3) + 0.5
    )
    half = size * np.sqrt(3) / 2
    while len(cells):
        cells = cells[solid.distance(cells) <= half]
        cells = cells[~_any_contains(cells, centers, radii - half)]
        if half <= smallest:
            return cells
        size, half = size / 2, half / 2
        cells = (cells[:, None] + size * _CORNERS).reshape(-1, 3)
    return cells


def _any_contains(points: Array, centers: Array, radii: Array) -> Mask:
    """Whether some ball contains each point; points are halved until few balls are near their box."""
    found = np.zeros(len(points), dtype=bool)
    stack = [(np.arange(len(points)), np.flatnonzero(radii > 0))]
    while stack:
        own, balls = stack.pop()
        if not len(own) or not len(balls):
            continue
        part = points[own]
        low, high = part.min(axis=0), part.max(axis=0)
        gap = np.maximum(np.maximum(low - centers[balls], centers[balls] - high), 0.0)
        balls = balls[np.einsum("ij,ij->i", gap, gap) <= radii[balls] ** 2]
        if len(own) * len(balls) <= _MAX_PRODUCTS:
            d = part[:, None] - centers[balls]
            found[own] = np.any(np.einsum("ijk,ijk->ij", d, d) <= radii[balls] ** 2, axis=1)
            continue
        axis = int(np.argmax(high - low))
        order = np.argpartition(part[:, axis], len(own) // 2)
        stack += [(own[order[: len(own) // 2]], balls), (own[order[len(own) // 2 :]], balls)]
    return found


def _surface(solid: Solid, tolerance: float) -> Array:
    """Points of the solid near its surface, one per cell of an octree."""
    low, high = solid.bounds
    size = float((high - low).max()) or tolerance
    cells = ((low + high) / 2)[None]
    half = size * np.sqrt(3) / 2
    while True:
        d = solid.distance(cells)
        near = np.abs(d) <= half
        cells, d = cells[near], d[near]
        if half <= 0.4 * tolerance or len(cells) > 2 * _MAX_POINTS:
            break
        size, half = size / 2, half / 2
        cells = (cells[:, None] + size * _CORNERS).reshape(-1, 3)
    for _ in range(2):  # onto the surface
        cells = cells - solid.distance(cells)[:, None] * _gradient(solid, cells)
    cells = np.clip(cells, low, high)
    return cells[solid.distance(cells) <= 0.1 * tolerance]


def _candidates(solid: Solid, points: Array, tolerance: float, rng: np.random.Generator) -> Array:
    some = _few(points, 500, rng)
    low, high = solid.bounds
    n = 12
    grid = low + (high - low) * (np.stack(np.meshgrid(*[np.arange(n)] * 3), -1).reshape(-1, 3) + 0.5) / n
    grid = grid[solid.distance(grid) <= 0]
    return np.concatenate([_few(points, 500, rng), grid, _inwards(solid, some, tolerance)])


def _inwards(solid: Solid, points: Array, tolerance: float) -> Array:
    """Points further inside: against the normal, and towards the middle, as far as the depth grows."""
    middle = solid.bounds.mean(axis=0)
    towards = middle - points
    towards = towards / np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-12)
    found = []
    reach = float((solid.bounds[1] - solid.bounds[0]).min()) / 2 + tolerance
    for direction in (-_gradient(solid, points), towards):
        for step in np.geomspace(0.5 * tolerance, max(reach, tolerance), 8):
            tried = points + step * direction
            found.append(tried[solid.distance(tried) <= 0])
    return np.concatenate(found)


def _gradient(solid: Solid, points: Array) -> Array:
    step = 1e-6
    moved = [
        solid.distance(points + step * axis) - solid.distance(points - step * axis) for axis in np.eye(3)
    ]
    slope = np.stack(moved, axis=1)
    return slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-12)


def _few(points: Array, most: int, rng: np.random.Generator) -> Array:
    if len(points) <= most:
        return points
    return points[np.sort(rng.choice(len(points), most, replace=False))]


def _contained(points: Array, centers: Array, radii: Array, margin: float) -> Mask:
    """Whether balls contain points by a margin, (points, balls)."""
    c, p = centers.astype(np.float32), points.astype(np.float32)  # the margin is far above their rounding
    squares = p @ (-2 * c.T)
    squares += (c * c).sum(axis=1)
    squares += (p * p).sum(axis=1)[:, None]
    return np.asarray(squares <= (np.maximum(radii - margin, 0.0) ** 2).astype(np.float32))


def _selected(inside: Mask, chosen: list[int]) -> list[int]:
    """Columns that together contain every row that any column contains: greedy, without those not needed."""
    left = np.logical_and(inside.any(axis=1), ~inside[:, chosen].any(axis=1))
    chosen = list(chosen)
    gains = inside[left].sum(axis=0)
    while left.any():
        ball = int(np.argmax(gains))
        covered = np.flatnonzero(inside[:, ball] & left)
        chosen.append(ball)
        left[covered] = False
        gains -= inside[covered].sum(axis=0)
    own = inside[:, chosen].T.copy()
    times, needed = own.sum(axis=0), np.ones(len(chosen), dtype=bool)
    for k in np.argsort(own.sum(axis=1), kind="stable"):
        if np.all(times[own[k]] > 1):
            times -= own[k]
            needed[k] = False
    return [ball for ball, keep in zip(chosen, needed, strict=True) if keep]
