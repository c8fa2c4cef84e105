"""The spheres of a robot: per link few that contain its collision geometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from helicoid._typing import Array
from helicoid.arrays import shown
from helicoid.compiler import in_parallel
from helicoid.errors import InputError
from helicoid.model.parts import Geometry
from helicoid.pages.tables import table
from helicoid.robot.collision.link_shapes import GeometryKind, link_shapes
from helicoid.robot.collision.meshes import mesh_points
from helicoid.robot.collision.spheres.covering import cover
from helicoid.robot.collision.spheres.disk_cache import cached_arrays
from helicoid.robot.collision.spheres.hulls import SHARE
from helicoid.robot.collision.spheres.solids import is_hull, union

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot

_FORMAT = "spheres 2"  # of the cache: to be changed with the algorithm
_MIN_TOLERANCE = 1e-4  # m
_HEADS = ("link", "spheres", "largest radius (cm)", "bounding ball (cm)")


@dataclass(frozen=True, eq=False)
class Spheres:
    """Spheres that contain the collision geometry of each link; printed, a table.

    Attributes:
        robot: whose links they are on.
        tolerance: how far spheres reach beyond the geometry at most (m); of several the largest.
        links: names of the links that have geometry.
        centers: of the spheres, (n, 3), in the frames of their links (m).
        radii: (n), in m.
        link_index: (n), the index in `links` of the link of each sphere; ascending.
        ball_centers: of a ball around all spheres of each link, (links, 3), in the frame of the link.
        ball_radii: (links), in m.
    """

    robot: Robot = field(repr=False)
    tolerance: float
    links: tuple[str, ...]
    centers: Array
    radii: Array
    link_index: NDArray[np.intp]
    ball_centers: Array
    ball_radii: Array

    def __len__(self) -> int:
        return len(self.radii)

    def of(self, link: str) -> tuple[Array, Array]:
        """Centres (k, 3) and radii (k) of one link, in its frame; none where it has no geometry."""
        if link not in self.robot.link_names:
            raise InputError(f"robot {self.robot.name!r} has no link {link!r}")
        own = self.link_index == (self.links.index(link) if link in self.links else -1)
        return self.centers[own], self.radii[own]

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                link,
                str(int(np.sum(self.link_index == k))),
                f"{100 * self.radii[self.link_index == k].max():.1f}",
                f"{100 * self.ball_radii[k]:.1f}",
            )
            for k, link in enumerate(self.links)
        ]

    @property
    def _title(self) -> str:
        return f"{len(self)} spheres of {self.robot.name}, within {1e3 * self.tolerance:g} mm of its geometry"

    def __repr__(self) -> str:
        rows = [_HEADS, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADS))]
        return "\n".join([self._title, *("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)])

    def _repr_html_(self) -> str:
        return table(self._title, _HEADS, self._rows())


Tolerance = float | Mapping[str, float]


def fit_spheres(robot: Robot, tolerance: Tolerance, geometry: GeometryKind | None) -> Spheres:
    """See `Robot.spheres`."""
    shapes = link_shapes(robot.model, geometry)
    each = {link: _checked(_own(tolerance, link)) for link in shapes}
    tasks = [lambda link=link: _of_link(shapes[link], each[link]) for link in shapes]
    found = list(in_parallel(tasks))
    balls = [bounding_ball(centers, radii) for centers, radii in found]
    made = Spheres(
        robot,
        max(each.values()),
        tuple(shapes),
        np.concatenate([centers for centers, _ in found]),
        np.concatenate([radii for _, radii in found]),
        np.repeat(np.arange(len(found)), [len(radii) for _, radii in found]),
        np.array([center for center, _ in balls]),
        np.array([radius for _, radius in balls]),
    )
    for array in (made.centers, made.radii, made.link_index, made.ball_centers, made.ball_radii):
        array.setflags(write=False)
    return made


def _own(tolerance: Tolerance, link: str) -> Any:
    if not isinstance(tolerance, Mapping):
        return tolerance
    if link not in tolerance:
        raise InputError(f"tolerances of spheres name every link with geometry; {link!r} has none")
    return tolerance[link]


def _checked(tolerance: Any) -> float:
    real = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, (bool, np.bool_))
    if not real or not _MIN_TOLERANCE <= tolerance < np.inf:
        raise InputError(f"the tolerance of spheres is {_MIN_TOLERANCE} m or more; got {shown(tolerance)}")
    return float(tolerance)


def _of_link(shapes: Sequence[Geometry], tolerance: float) -> tuple[Array, Array]:
    parts: list[bytes] = [_FORMAT.encode(), np.float64(tolerance).tobytes()]
    for shape in shapes:
        numbers = mesh_points(shape) if shape.kind == "mesh" else np.array(shape.size)
        place = shape.placement
        parts += [
            shape.kind.encode(),
            numbers.tobytes(),
            place.rotation.tobytes(),
            place.translation.tobytes(),
        ]

    def make() -> dict[str, Array]:
        if len(shapes) == 1 and shapes[0].kind == "sphere":
            return {"centers": shapes[0].placement.translation[None], "radii": np.array(shapes[0].size)}
        with threadpool_limits(1):  # links are covered side by side, and small products gain nothing
            few = any(map(is_hull, shapes))
            centers, radii = cover(union(shapes, tolerance), SHARE * tolerance if few else tolerance)
        return {"centers": centers, "radii": radii}

    found = cached_arrays(b"\0".join(parts), make)
    return found["centers"], found["radii"]


def bounding_ball(centers: Array, radii: Array) -> tuple[Array, float]:
    """Centre and radius of a ball that contains balls, nearly the smallest (Badoiu and Clarkson 2003)."""
    middle = np.average(centers, axis=0, weights=radii)
    best, size = middle, float((np.linalg.norm(centers - middle, axis=1) + radii).max())
    for k in range(300):
        reach = np.linalg.norm(centers - middle, axis=1) + radii
        far = int(np.argmax(reach))
        if reach[far] < size:
            best, size = middle, float(reach[far])
        middle = middle + (centers[far] - middle) / (k + 2)
    return best, size * (1 + 1e-12)
