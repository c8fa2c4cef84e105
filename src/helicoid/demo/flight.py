"""Flight demonstrations: a quadrotor's figure eight and a fixed-wing mission, both in gusts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from helicoid import aerial
from helicoid._typing import Array
from helicoid.aerial.vehicle import BODY
from helicoid.model.parts import Geometry
from helicoid.pages.html_page import write_page
from helicoid.robot import Robot
from helicoid.simulation import Trajectory, simulate
from helicoid.view import motion_page

PERIOD = 0.005  # s
SPEED = 3.0  # m/s, at the centre of the eight
WIND = (0.0, 5.0, 0.0)  # m/s
LEGS = (
    aerial.Line([0, 0], [700, 0], height=100.0),
    aerial.Circle([700, 250], 250.0, "left", 1.25),
    aerial.Line([950, 250], [950, 900], height=120.0),
    aerial.Circle([700, 900], 250.0, "left", 0.5),
    aerial.Line([450, 900], [450, 0]),
)


class FlightRecord(NamedTuple):
    """A flight, the page that plays it, and its largest and rms tracking error (m)."""

    trajectory: Trajectory
    page: Path
    largest: float
    rms: float


def figure_eight(t: Array) -> list[Array]:
    """Position, velocity, acceleration, jerk and snap of (2 sin wt, sin 2wt, 2)."""
    w = SPEED / np.hypot(2.0, 2.0)
    rows = []
    for k in range(5):
        x, y = 2.0 * w**k * np.sin(w * t + k * np.pi / 2), (2 * w) ** k * np.sin(2 * w * t + k * np.pi / 2)
        rows.append(np.stack([x, y, np.full_like(t, 2.0 if k == 0 else 0.0)], axis=1))
    return rows


def fly_eight(folder: Path, seed: int = 0, duration: float = 12.0) -> FlightRecord:
    """Fly a figure eight with a Hummingbird quadrotor, in wind and gusts unknown to its controller."""
    quad = aerial.load("hummingbird")
    windy = quad.with_wind(aerial.Wind((2.0, 0.0, 0.0), gusts=aerial.Dryden(5.0, height=10.0)))
    law = aerial.GeometricControl(
        quad, frequency=6.0, damping_ratio=0.9, integral=40.0, attitude_frequency=(25, 25, 8), dt=PERIOD
    )
    t = np.asarray(PERIOD * np.arange(round(duration / PERIOD) + 1), np.float64)
    path = figure_eight(t)
    q0, v0 = quad.trim().q.copy(), np.zeros(6)
    q0[:3], v0[3:] = path[0][0], path[1][0]
    names = ("position", "velocity", "acceleration", "jerk", "snap")
    follow = law.following(**dict(zip(names, path, strict=True)))
    flight = simulate(windy, q0, v0, duration, follow, dt=PERIOD, substeps=2, seed=seed)
    away = np.linalg.norm(flight.q[:, :3] - path[0], axis=1)
    return _recorded(flight, away, folder / "figure_eight.html", "A Hummingbird in gusts")


def fly_mission(folder: Path, seed: int = 0, duration: float = 185.0) -> FlightRecord:
    """Fly lines and circles with an Aerosonde's autopilot, in 5 m/s of wind and gusts."""
    aircraft = aerial.load("aerosonde")
    level = aircraft.trim(speed=25.0)
    pilot = aerial.Autopilot(aircraft, LEGS, 25.0, 0.02, wind=WIND)
    gusty = aircraft.with_wind(aerial.Wind(WIND, gusts=aerial.Dryden(5.0, height=100.0)))
    q0 = level.q + np.array([0, 0, 100.0, 0, 0, 0, 0])
    flight = simulate(gusty, q0, level.v, duration, pilot.following(), dt=0.02, seed=seed)
    away = aerial.cross_track(LEGS, flight.q, aerial.leg_indices(LEGS, flight.q))
    return _recorded(
        flight, away, folder / "mission.html", "An Aerosonde on a mission, drawn 30 times its size", 30.0
    )


def _recorded(flight: Trajectory, away: Array, page: Path, title: str, scale: float = 1.0) -> FlightRecord:
    assert flight.robot is not None
    robot = _enlarged(flight.robot, scale)
    write_page(page, motion_page(robot, flight, title=title, trace=BODY))
    return FlightRecord(flight, page, float(away.max()), float(np.sqrt(np.mean(away**2))))


def _enlarged(robot: Robot, scale: float) -> Robot:
    """Robot with enlarged shapes: three metres are invisible on a path of a kilometre."""

    def larger(shape: Geometry) -> Geometry:
        placed = replace(shape.placement, translation=scale * shape.placement.translation)
        return replace(shape, size=tuple(scale * x for x in shape.size), placement=placed)

    links = tuple(replace(x, visuals=tuple(map(larger, x.visuals))) for x in robot.model.links)
    return robot.with_model(robot.model.replaced(links=links))
