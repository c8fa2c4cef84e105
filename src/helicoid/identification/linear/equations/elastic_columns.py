"""Elastic elements in a regression: stiffness and damping as unknowns, or as known torques.

With d₀ as described, the torque of an element is linear in its stiffness and damping:

    τ = k J_Δᵀ (Δ - d₀ n) + c J_Δᵀ n nᵀ Δ̇

A free rest length would hide k: without d₀, the column of k has the shape of a gravity torque.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.forces.passive import acts
from helicoid.model.connections.elastic import ElasticElement
from helicoid.model.model import Model
from helicoid.robot import Robot

UNKNOWN = ("stiffness", "damping")
"""The numbers of an element that are unknowns."""


def elastic_parameters(model: Model) -> tuple[list[str], Array]:
    """Names and described values of the unknowns of all elements."""
    pairs = [(one, number) for one in model.elastic for number in UNKNOWN]
    values = np.array([getattr(one, number) for one, number in pairs], dtype=np.float64)
    return [f"{one.name}.{number}" for one, number in pairs], values


def elastic_columns(robot: Robot, q: Array, v: Array) -> dict[str, Array]:
    """The column (N, nv) of each unknown, by its name."""
    Y = np.asarray(robot.elastic_regressor(q, v)).reshape(len(q), robot.nv, len(robot.model.elastic), 3)
    found = {}
    for k, one in enumerate(robot.model.elastic):
        found[f"{one.name}.stiffness"] = Y[:, :, k, 0] + one.rest_length * Y[:, :, k, 1]
        found[f"{one.name}.damping"] = Y[:, :, k, 2]
    return found


def with_elastic(robot: Robot, x: Array) -> Robot:
    """The robot with the unknowns x of all elements; what is negative by rounding is zero."""
    rows = np.maximum(x, 0.0).reshape(-1, len(UNKNOWN))
    elements: list[ElasticElement] = []
    for one, (stiffness, damping) in zip(robot.model.elastic, rows, strict=True):
        elements.append(replace(one, stiffness=float(stiffness), damping=float(damping)))
    return robot.with_model(replace(robot.model, elastic=tuple(elements)))


def elastic_wrench(robot: Robot, links: Sequence[str], q: Array, v: Array) -> Array | None:
    """Wrenches (N, 6 links) of springs, tendons and compensation in the joints; None if there are none."""
    model = robot.model
    if not acts(model):
        return None
    links_alone = tuple(replace(link, gravity_compensation=None) for link in model.links)
    bare = robot.with_model(
        replace(model, links=links_alone, elastic=(), couplings=(), tendons=(), actuators=(), fluid=())
    )
    still = np.zeros_like(v)
    # Bodies and their weight need the same wrench in both.
    parts = [robot.sensor_wrench(link)(q, v, still) - bare.sensor_wrench(link)(q, v, still) for link in links]
    return np.hstack(parts)
