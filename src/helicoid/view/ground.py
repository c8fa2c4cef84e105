"""Ground and contact forces of a motion: the floor, triangles of slopes and terrain, arrows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.model.model import WORLD
from helicoid.robot import Robot
from helicoid.simulation.contacts import Ground
from helicoid.view.drawing.drawing import Part
from helicoid.view.drawing.meshes import Color
from helicoid.view.drawing.triangles import Triangles
from helicoid.view.motion import PlayedMotion

GROUND_COLOR: Color = (0.62, 0.65, 0.68, 1.0)
FORCE_COLOR = (0.86, 0.16, 0.26)
_MAX_ARROW_LENGTH = 2.0  # relative to the robot's size; impacts are clipped


def floor_height(grounds: Sequence[Ground], lowest: float) -> float:
    """Height z (m) of the floor: the highest level ground, or else at or below the lowest drawn point."""
    level = [one.height / one.normal[2] for one in grounds if _is_level(one)]
    return float(max(level)) if level else float(min(lowest, 0.0))


def ground_parts(grounds: Sequence[Ground], center: Array, radius: float) -> list[Part]:
    """Slopes, walls and height fields around the centre of a motion; level ground is the floor."""
    return [
        Part(
            WORLD,
            _height_field(one) if one.heights is not None else _plane_patch(one, center, radius),
            GROUND_COLOR,
        )
        for one in grounds
        if not _is_level(one)
    ]


def arrows(robot: Robot, motion: PlayedMotion, size: float) -> Array:
    """Start and end points (N, contacts, 2, 3) of force arrows.

    A force equal to the robot's weight has the length `size` (m).
    """
    weight = 9.81 * float(robot.mass) or 1.0
    vectors = size / weight * motion.forces
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    vectors = vectors * np.minimum(1.0, _MAX_ARROW_LENGTH * size / np.maximum(length, 1e-12))
    return np.stack([motion.points, motion.points + vectors], axis=-2)


def _is_level(ground: Ground) -> bool:
    return ground.heights is None and ground.normal[2] > 1 - 1e-9


def _plane_patch(ground: Ground, center: Array, radius: float) -> Triangles:
    """Square patch of a half-space's surface, centred at the projection of `center`."""
    n = np.array(ground.normal)
    middle = center - (center @ n - ground.height) * n
    x = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    x *= 0.8 * radius / np.linalg.norm(x)
    y = np.cross(n, x)
    square = np.array([middle - x - y, middle + x - y, middle + x + y, middle - x + y])
    return Triangles(square, np.array([[0, 1, 2], [0, 2, 3]]))


def _height_field(ground: Ground) -> Triangles:
    assert ground.heights is not None and ground.origin is not None
    rows, columns = ground.heights.shape
    dx, dy = np.ravel(ground.spacing)
    x, y = np.meshgrid(ground.origin[0] + dx * np.arange(columns), ground.origin[1] + dy * np.arange(rows))
    vertices = np.stack([x, y, ground.heights + ground.height], axis=-1).reshape(-1, 3)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    first = np.stack([corner, corner + 1, corner + columns + 1], axis=1)
    second = np.stack([corner, corner + columns + 1, corner + columns], axis=1)
    return Triangles(vertices, np.concatenate([first, second]))
