"""The identified robot: its description with the estimated unknowns in their places."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.elastic_columns import with_elastic
from helicoid.identification.linear.equations.regression import Regression, stated
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot


def identified_robot(regression: Regression, x: Array) -> Robot:
    """The robot with the unknowns x in place of the described values."""
    robot, parameters = regression.robot, regression.parameters
    if "inertia" in parameters.groups:
        robot = robot.with_parameters(parameters.of(x, "inertia"))
    if "elastic" in parameters.groups:
        robot = with_elastic(robot, parameters.of(x, "elastic"))
    if regression.wrenches:
        return robot
    values: dict[str, Array] = {}
    for group in sorted(regression.covered - {"inertia", "elastic", "spring", "stribeck"}):
        values[group] = _spread(regression, x, group)
    values = {TERMS[group].field or group if group in TERMS else group: own for group, own in values.items()}
    if "spring" in parameters.groups:
        robot = robot.with_joints(stiffness=_stiffness(regression, x))
        offset = values.get("offset", stated(robot, "offset"))
        # K q = K (q - rest) + K rest: the torque K rest belongs to the offset.
        values["offset"] = offset + _spread(regression, x, "spring") * regression.rest
    shapes = dict(regression.shape_values)
    if regression.covered & {"coulomb", "stribeck"}:
        width = shapes.pop("stribeck_velocity", np.zeros(robot.nv))
        values |= _static(regression, x, values.get("friction", stated(robot, "coulomb")), width)
    return robot.with_joints(**values, **shapes)


def impossible_bodies(regression: Regression, x: Array) -> list[str]:
    """Names of bodies whose parameters in x no mass distribution has."""
    bodies = regression.parameters.of(x, "inertia").reshape(-1, 10)
    names = [body.name for body in regression.robot.model.bodies]
    pairs = zip(names, bodies, strict=False)
    return [name for name, pi in pairs if pi[0] <= 0 or Inertia.from_parameters(pi).doubts()]


def _spread(regression: Regression, x: Array, group: str) -> Array:
    """A group's unknowns by velocity (nv), 0 where a velocity has none."""
    values = np.zeros(regression.robot.nv)
    if group in regression.parameters.groups:
        values[list(regression.velocities(group))] = regression.parameters.of(x, group)
    return values


def _static(regression: Regression, x: Array, coulomb: Array, width: Array) -> dict[str, Array]:
    """Static friction that exceeds Coulomb's by what was identified, or by as much as described."""
    if "stribeck" in regression.covered:
        excess = _spread(regression, x, "stribeck")
        return {
            "static_friction": np.where(excess > 0, coulomb + excess, 0.0),
            "stribeck_velocity": np.where(excess > 0, width, 0.0),
        }
    described = stated(regression.robot, "stribeck")
    excess = np.where(described != 0, described - stated(regression.robot, "coulomb"), 0.0)
    return {"static_friction": np.where(excess > 0, coulomb + excess, 0.0)}


def _stiffness(regression: Regression, x: Array) -> dict[str, Array]:
    values = _spread(regression, x, "spring")
    own = [body for body in regression.robot.model.bodies if body.v.start in regression.velocities("spring")]
    return {body.joint.name: values[body.v] for body in own if body.joint.mimic is None}
