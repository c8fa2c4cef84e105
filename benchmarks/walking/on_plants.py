"""Walks on two plants: MuJoCo with its default contacts, and `hc.simulate`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.walking import Walker

DT, FRICTION = 0.002, 0.6
Plant = Literal["mujoco", "helicoid"]


class Fell(Exception):
    """It fell."""


class Walk(Protocol):
    """Controller of a walk: torques of a state; raises `Fell`, or StopIteration where all is done."""

    @property
    def dog(self) -> Walker:
        """The controller that is tried."""
        ...

    @property
    def mass(self) -> float:
        """True mass over that of the model."""
        ...

    def push(self, t: float) -> Array:
        """Force on the trunk (N, world)."""
        ...

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Torques."""
        ...


def on_plant(
    walk: Walk, plant: Plant, longest: float, heights: Array | None = None, impratio: float = 1.0
) -> str:
    """Let it walk; returns how it ended: "done", "fell at ... s", "late" after `longest` seconds.

    `heights` (m, every 10 cm) and `impratio` are of MuJoCo.
    """
    try:
        if plant == "mujoco":
            _on_mujoco(walk, longest, heights, impratio)
        else:
            _on_helicoid(walk, longest)
    except (Fell, hc.SimulationError) as error:
        return str(error)
    except StopIteration:
        return "done"
    return "late"


def _feet(dog: Walker) -> tuple[tuple[str, ...], float]:
    return dog.gait.feet, max(dog.foot_radius, 0.005)


def _on_mujoco(walk: Walk, longest: float, heights: Array | None, impratio: float) -> None:
    from benchmarks.walking.mujoco_ground import MuJoCoGround, balls

    dog = walk.dog
    with tempfile.TemporaryDirectory() as folder:
        made = MuJoCoGround(
            dog.robot, dog.posture, balls(*_feet(dog)), Path(folder), FRICTION, walk.mass, heights
        )
    made.model.opt.impratio = impratio
    for k in range(round(longest / DT)):
        made.hold(walk(k * DT, *made.state()), DT, walk.push(k * DT))


def _on_helicoid(walk: Walk, longest: float) -> None:
    dog = walk.dog
    feet, radius = _feet(dog)
    robot = dog.robot.with_parameters(walk.mass * dog.robot.parameters.values)
    start = dog.posture + np.array([0, 0, radius - dog.foot_radius + 1e-6, *np.zeros(robot.nq - 3)])
    hc.simulate(
        robot,
        start,
        duration=longest,
        controller=walk,
        dt=DT,
        substeps=round(DT / 1e-3),
        ground=hc.Ground(friction=FRICTION),
        contacts=[hc.ContactPoint(foot, radius=radius) for foot in feet],
        f_ext={dog.trunk: lambda t, q, v: np.concatenate([np.zeros(3), walk.push(t)])},
        expressed_in="world",
        progress=False,
    )
