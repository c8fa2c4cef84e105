"""Bodies and grounds for tests of contacts."""

from __future__ import annotations

import math

import numpy as np

import helicoid as hc
from helicoid._typing import Array

G = 9.81


def body(shape: str, mass: float, inertia: tuple[float, float, float], name: str = "body") -> hc.Robot:
    """A free body of one link with a collision shape, its center at its origin."""
    x, y, z = inertia
    return hc.load(
        f"""<robot name="{name}"><link name="{name}"><inertial><mass value="{mass}"/>
        <inertia ixx="{x}" ixy="0" ixz="0" iyy="{y}" iyz="0" izz="{z}"/></inertial>
        <collision><geometry>{shape}</geometry></collision></link></robot>""",
        "floating",
    )


def box(x: float = 0.2, y: float = 0.3, z: float = 0.1, mass: float = 1.0) -> hc.Robot:
    """A solid box with edges along its axes (m)."""
    a, b, c = (mass * one**2 / 12 for one in (x, y, z))
    return body(f'<box size="{x} {y} {z}"/>', mass, (b + c, a + c, a + b), "box")


def ball(radius: float = 0.1, mass: float = 1.0) -> hc.Robot:
    """A solid ball."""
    inertia = 0.4 * mass * radius**2
    return body(f'<sphere radius="{radius}"/>', mass, (inertia, inertia, inertia), "ball")


def disc(radius: float, length: float, mass: float = 1.0) -> hc.Robot:
    """A solid cylinder about its z axis."""
    across = mass * (3 * radius**2 + length**2) / 12
    return body(
        f'<cylinder radius="{radius}" length="{length}"/>',
        mass,
        (across, across, mass * radius**2 / 2),
        "disc",
    )


def slope(angle: float) -> tuple[float, float, float]:
    """The normal of a plane that falls along x."""
    return math.sin(angle), 0.0, math.cos(angle)


def on_slope(angle: float, height: float) -> Array:
    """q of a body whose z axis is the normal of a slope, its center at a height above it."""
    half = angle / 2
    return np.array([*(height * np.array(slope(angle))), math.cos(half), 0.0, math.sin(half), 0.0])


def world_velocity(robot: hc.Robot, motion: hc.Trajectory, k: int = -1) -> Array:
    """(ω, v) of a free body in world axes at sample k."""
    return np.asarray(robot.velocity(robot.link_names[0], "world_aligned")(motion.q[k], motion.v[k]))


def cone_violation(motion: hc.Trajectory, friction: float) -> float:
    """By how much (N) forces on level ground pull, or leave the friction cone."""
    f = motion.contact_forces
    tangential = np.linalg.norm(f[..., :2], axis=-1)
    return float(max(np.max(-f[..., 2]), np.max(tangential - friction * f[..., 2])))
