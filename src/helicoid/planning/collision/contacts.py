"""Contacts of one configuration: link, object and penetration depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.planning.collision.obstacles import KINDS, Obstacles
from helicoid.planning.collision.spheres import SphereGroup


class Contact(NamedTuple):
    """A link or carried object, what it touches, and the depth (m) of the deepest of its spheres."""

    link: str
    other: str
    depth: float

    def __str__(self) -> str:
        return f"{self.link} is {1e3 * self.depth:.1f} mm in {self.other}"


def contacts(
    groups: Sequence[SphereGroup],
    centres: Array,
    radii: Array,
    pairs: Sequence[tuple[int, int, NDArray[np.int64]]],
    obstacles: Obstacles,
    ignored: NDArray[np.uint8] | None,
) -> list[Contact]:
    """Contacts with the spheres' centres (n, 3) and radii (n), the deepest first.

    `pairs` are groups and their pairs of spheres (m, 2); `ignored` (groups, obstacles) are allowed contacts.
    """
    found = []
    first = np.cumsum([0, *(len(group.spheres) for group in groups)])
    for g, group in enumerate(groups):
        own = slice(first[g], first[g + 1])
        for k, name in enumerate(obstacles.names):
            if group.body >= 0 and (ignored is None or not ignored[g, k]):
                gap = signed_distance(obstacles, k, centres[own]) - radii[own]
                if gap.min() < 0:
                    found.append(Contact(group.name, name, -float(gap.min())))
    for i, j, both in pairs:
        d = np.linalg.norm(centres[both[:, 0]] - centres[both[:, 1]], axis=1) - radii[both].sum(axis=1)
        if d.min() < 0:
            found.append(Contact(groups[i].name, groups[j].name, -float(d.min())))
    return sorted(found, key=lambda contact: -contact.depth)


def signed_distance(obstacles: Obstacles, which: int, x: Array) -> Array:
    """Signed distance (n) of points x (n, 3) from an obstacle."""
    row = obstacles.table[which]
    R, p, half = row["R"].reshape(3, 3).astype(float), row["p"].astype(float), row["half"].astype(float)
    radius = float(row["radius"])
    match KINDS[row["kind"]]:
        case "plane":
            return np.asarray(x @ R[2] - p[0] - radius)
        case "height_field":
            return obstacles.depth_below(int(row["field"]), (x - p) @ R) - radius
        case "cloud" | "hull":
            return obstacles.field_distance(int(row["field"]), (x - p) @ R) - radius
        case "cylinder":
            y = (x - p) @ R
            e = np.column_stack([np.hypot(y[:, 0], y[:, 1]) - half[0], np.abs(y[:, 2]) - half[2]])
        case _:  # a point, a segment or a box
            e = np.abs((x - p) @ R) - half
    return np.linalg.norm(np.maximum(e, 0), axis=1) + np.minimum(e.max(axis=1), 0) - radius
