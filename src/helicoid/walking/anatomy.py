"""Feet, standing posture and trunk of a legged robot, as its description has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import interpreted
from helicoid.errors import InputError
from helicoid.robot.robot import Robot

_POSTURES = ("standing", "stand", "home", "half_sitting", "ready")
_SAME_HEIGHT = 0.2  # of the robot's height: feet end that near to the lowest point
_MIN_LEVER = 0.02  # m of sideways motion of a foot per radian; below, a leg moves in its own plane


def standing_posture(robot: Robot) -> Array:
    """Named posture (SRDF) or keyframe (MJCF) in which the robot stands."""
    named = {name: frame.q for name, frame in robot.keyframes.items()} | dict(robot.postures)
    for word in _POSTURES:
        if fits := sorted(name for name in named if name.startswith(word)):
            return np.array(named[fits[0]])  # a prefix sorts before what begins with it
    known = f"; it has {', '.join(sorted(named))}" if named else ""
    raise InputError(
        f"{robot.name!r} has no posture called {', '.join(_POSTURES[:-1])} or {_POSTURES[-1]}{known}: "
        "give posture=, a configuration q in which it stands"
    )


def on_ground(robot: Robot, q: ArrayLike, feet: Sequence[str], radius: float) -> Array:
    """The posture with its base above the origin and its lowest foot on level ground at z = 0."""
    q = np.array(q, dtype=np.float64)
    q[:2], q[2] = 0.0, 0.0
    q[2] = radius - min(float(interpreted(robot.pose(foot), q)[2, 3]) for foot in feet)
    return q


def feet_of(robot: Robot, q: Array) -> tuple[str, ...]:
    """Frames at the lower ends of the legs: from the front to the rear, the left before the right.

    The end of a limb is the frame that is farthest from its last joint; a name with "foot" or "sole" wins.
    """
    model = robot.model
    leaves = set(range(len(model.bodies))) - {body.parent for body in model.bodies}
    ends = [_end(robot, q, leaf) for leaf in sorted(leaves)]
    at = {name: interpreted(robot.pose(name), q)[:3, 3] for name in ends}
    if not at:
        raise InputError(f"{robot.name!r} has no limbs: give a gait with the names of the feet")
    low = min(float(p[2]) for p in at.values())
    height = float(interpreted(robot.pose(model.root), q)[2, 3]) - low
    feet = [name for name, p in at.items() if p[2] - low <= _SAME_HEIGHT * height]
    middle = np.mean([at[name] for name in feet], axis=0)
    return tuple(sorted(feet, key=lambda name: (at[name][0] < middle[0], at[name][1] < middle[1])))


def _end(robot: Robot, q: Array, leaf: int) -> str:
    model = robot.model
    frames = [link.name for link in model.links if model.frame(link.name).body == leaf]
    origin = interpreted(robot.pose(model.bodies[leaf].name), q)[:3, 3]

    def rank(name: str) -> tuple[bool, float]:
        far = float(np.linalg.norm(interpreted(robot.pose(name), q)[:3, 3] - origin))
        return any(word in name.lower() for word in ("foot", "sole", "toe")), round(far, 6)

    return max(frames, key=rank)


def foot_radius_of(robot: Robot, feet: Sequence[str]) -> float:
    """Radius of the collision spheres at the frames of the feet (m); 0 where they have none."""
    model, found = robot.model, []
    for foot in feet:
        body, at = model.frame(foot)
        for link in model.links:
            other, placed = model.frame(link.name)
            for shape in link.collisions if other == body else ():
                centre = placed.translation + placed.rotation @ shape.placement.translation
                if shape.kind == "sphere" and np.linalg.norm(centre - at.translation) < shape.size[0]:
                    found.append(float(shape.size[0]))
    return min(found, default=0.0)


def steps_sideways(robot: Robot, q: Array, feet: Sequence[str]) -> bool:
    """Whether all feet can be placed sideways, which takes legs with abduction joints."""
    J = [interpreted(robot.jacobian(foot, "world_aligned"), q)[4, 6:] for foot in feet]
    return all(float(np.abs(row).max()) > _MIN_LEVER for row in J)


def longest_stride(robot: Robot, q: Array, feet: Sequence[str]) -> float:
    """Length (m) that the trunk can move over a stance foot, between straight legs, at its height.

    A leg of length l (the sum of the distances between its joints) below a hip at height h reaches
    ±√(l² − h²); four fifths of it are used.
    """
    model, strides = robot.model, []
    for foot in feet:
        point = interpreted(robot.pose(foot), q)[:3, 3]
        length, body, hip = 0.0, model.frame(foot).body, point
        while body >= 0 and model.bodies[body].parent >= 0:
            origin = interpreted(robot.pose(model.bodies[body].name), q)[:3, 3]
            length += float(np.linalg.norm(origin - hip))
            hip, body = origin, model.bodies[body].parent
        strides.append(1.6 * np.sqrt(max(length**2 - float(hip[2] - point[2]) ** 2, 0.0)))
    return float(min(strides))
