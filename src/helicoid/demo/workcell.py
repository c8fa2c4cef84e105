"""The workcell of the planning demonstration: a shelf, a bin, a post, and parcels that an arm moves."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.geometry.shapes import Box, Capsule, Cylinder
from helicoid.robot.collision.scene import Scene

HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.8])
HAND = "panda_link8"
PARCEL, TOOL = 0.08, 0.10  # edge of a parcel, length of the tool (m)
POST = (0.50, 0.10, 0.45)  # where the post stands until it is moved (m)
PARCELS = ((0.36, 0.52, 0.355), (0.54, 0.52, 0.625))  # on two boards of the shelf
BIN = (0.45, -0.48)
DROP = 0.03  # height above the bottom of the bin from which a parcel falls (m)
_BOARD = 0.02  # thickness of boards and walls (m)


def workcell() -> Scene:
    """All objects, with the parcels on their shelf and the tool on the hand."""
    scene = Scene()
    scene.add("table", Box((1.0, 1.45, 0.04)), [0.30, 0.04, -0.02])
    scene.allow("table", "panda_link1")  # it turns on its base, which stands on the table
    for k, height in enumerate((0.05, 0.30, 0.57, 0.84)):
        scene.add(f"board {k}", Box((0.50, 0.26, _BOARD)), [0.45, 0.58, height])
    for name, x in (("left", 0.20), ("right", 0.70)):
        scene.add(f"{name} side", Box((_BOARD, 0.26, 0.86)), [x, 0.58, 0.43])
    scene.add("back", Box((0.50, _BOARD, 0.86)), [0.45, 0.71, 0.43])
    x, y = BIN
    for name, dx, dy, size in (
        ("front", 0.16, 0.0, (_BOARD, 0.32, 0.18)),
        ("rear", -0.16, 0.0, (_BOARD, 0.32, 0.18)),
        ("left", 0.0, 0.16, (0.32, _BOARD, 0.18)),
        ("right", 0.0, -0.16, (0.32, _BOARD, 0.18)),
    ):
        scene.add(f"bin {name}", Box(size), [x + dx, y + dy, 0.09])
    scene.add("post", Cylinder(0.05, 0.90), POST)
    scene.add("lamp", Capsule(0.06, 0.35), [0.45, -0.42, 0.95])
    for k, place in enumerate(PARCELS):
        scene.add(f"parcel {k}", Box((PARCEL, PARCEL, PARCEL)), place)
        scene.allow(f"parcel {k}", f"board {k + 1}")
        scene.allow(f"parcel {k}", "tool")
    scene.add("tool", Cylinder(0.018, TOOL))
    return scene


def grasp(k: int) -> Array:
    """Pose (4, 4) of the hand before parcel k: the tool points into the shelf."""
    T = np.eye(4)
    T[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]).T
    T[:3, 3] = np.array(PARCELS[k]) - (TOOL + PARCEL / 2) * T[:3, 2]
    return T


def release(k: int) -> Array:
    """Pose (4, 4) of the hand over the bin, with parcel k at its place: the tool points down."""
    T = np.diag([1.0, -1.0, -1.0, 1.0])
    T[:3, 3] = BIN[0] - 0.07 + 0.14 * k, BIN[1], PARCEL + TOOL + DROP
    return T
