"""Contact points of links, as rows for the compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.simulation.contacts.collision import collision_points
from helicoid.simulation.ground import ContactPoint, Ground

BALL, RIM = 0, 1  # of runtime/surfaces.h


class Points(NamedTuple):
    """Points that may touch: rows (link, kind, contact, center, axis, radius, angle), names of contacts."""

    links: tuple[str, ...]
    rows: Array
    names: tuple[str, ...]


def points_of(robot: Robot, contacts: Sequence[ContactPoint] | str | None) -> Points:
    """The points of a list of contacts, or of the robot's collision geometry.

    Raises:
        InputError: a contact is on no link of the robot, or on one that cannot move.
    """
    if contacts is None:
        return Points((), np.zeros((0, 11)), ())
    if isinstance(contacts, str):
        if contacts != "collision":
            raise InputError(f"contacts are a list of hc.ContactPoint, or 'collision'; got {contacts!r}")
        found = robot.memo("collision points", lambda: collision_points(robot))
    else:
        found = [_point(robot, one) for one in _listed(contacts)]
    links = tuple(dict.fromkeys(link for link, _, _ in found))
    rows = [
        [links.index(link), kind, number, *center, *axis, radius, angle]
        for number, (link, _, points) in enumerate(found)
        for kind, center, axis, radius, angle in points
    ]
    ordered = sorted(rows, key=lambda row: row[0])  # a pose is looked up once for all points of a link
    return Points(links, np.array(ordered, dtype=np.float64), _unique([name for _, name, _ in found]))


def _unique(names: list[str]) -> tuple[str, ...]:
    """Names with a number where several contacts are on one link."""
    seen = dict.fromkeys(names, 0)
    unique = []
    for name in names:
        unique.append(name if names.count(name) == 1 else f"{name}.{seen[name]}")
        seen[name] += 1
    return tuple(unique)


def _listed(contacts: Any) -> list[Any]:
    if not isinstance(contacts, Sequence) or not contacts:
        raise InputError(
            "contacts are a list of hc.ContactPoint, or 'collision'; without any, leave ground out"
        )
    return list(contacts)


def _point(robot: Robot, one: Any) -> tuple[str, str, list[Any]]:
    if not isinstance(one, ContactPoint):
        raise InputError(f"contacts are a list of hc.ContactPoint; one of them is {one!r}")
    if one.link not in robot.link_names:
        raise InputError(
            f"there is no link {one.link!r} in robot {robot.name!r} for a contact; there are: "
            f"{', '.join(robot.link_names)}"
        )
    if robot.model.frame(one.link).body == WORLD:
        raise InputError(
            f"link {one.link!r} is fixed to the world, so that its contact has no effect; a robot on "
            "the ground is loaded with base='floating'"
        )
    return one.link, one.link, [(BALL, one.point, (0.0, 0.0, 1.0), float(one.radius), 0.0)]


def gaps(row: Array, T: Array, ground: Ground) -> Array:
    """Gaps (m) between one of the points and a ground, with its link at poses T (n, 3, 4); as in C."""
    R, p = T[..., :3], T[..., 3]
    x = R @ row[3:6] + p
    n = np.array(ground.normal)
    if row[1] == RIM:
        axis = R @ row[6:9]
        down = (axis @ n)[:, None] * axis - n
        size = np.linalg.norm(down, axis=1, keepdims=True)
        down = down / np.where(size > 1e-9, size, np.inf)  # level: all of the rim is as high as its center
        x = x + row[9] * (np.cos(row[10]) * down + np.sin(row[10]) * np.cross(axis, down))
    above = (
        x[:, 2] - ground.height_at(x[:, 0], x[:, 1]) if ground.heights is not None else x @ n - ground.height
    )
    if ground.heights is not None:
        above = above / np.sqrt(1 + np.sum(ground.slope_at(x[:, 0], x[:, 1]) ** 2, axis=-1))
    return above - (row[9] if row[1] == BALL else 0.0)
