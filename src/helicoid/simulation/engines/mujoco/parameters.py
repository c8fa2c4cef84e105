"""Numbers of a robot that a simulation changes, in the arrays of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.geometry import quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.mjcf.origin import unedited_origin
from helicoid.model.mjcf.writing.writer import body_name
from helicoid.robot import Robot
from helicoid.simulation.engines.mujoco.coordinates import Coordinates
from helicoid.simulation.engines.mujoco.library import mujoco_module

_MIN_INERTIA = 1e-14  # kg, kg·m²: a body without any still has to move
STATED = ("inertia", "payload", "friction", "armature", "gravity")
"""Groups of parameters that MuJoCo's arrays have."""


def set_parameters(model: Any, robot: Robot, coordinates: Coordinates, theta: Array) -> None:
    """Write θ of a parametric robot into a model.

    Raises:
        InputError: MuJoCo has no such parameter, or no such inertia.
    """
    groups = robot.theta.groups
    unknown = [group for group in groups if group not in STATED]
    if unknown:
        raise InputError(
            f"engine='mujoco' has no parameters {', '.join(unknown)}; it has {', '.join(STATED)}"
        )
    if unedited_origin(robot.model) is not None and {"inertia", "payload"} & set(groups):
        raise InputError(
            "engine='mujoco' moves a robot that was read from MJCF with the inertia of its file: leave "
            "'inertia' and 'payload' out of robot.parametric(...), or change the file"
        )
    if robot.model.fluid and {"inertia", "payload"} & set(groups):
        raise InputError(
            "engine='mujoco' takes the forces of a fluid from the inertia of bodies: leave 'inertia' and "
            "'payload' out of robot.parametric(...)"
        )
    physics = robot.theta.selection.physics(robot.model, ca.SX(theta))
    if {"inertia", "payload"} & set(groups):
        for body, pi in zip(robot.model.bodies, physics.inertias, strict=True):
            _set_inertia(model, body_name(body.name), _numbers(pi)[:10])
    owners = coordinates.spread(np.ones(robot.nv)) > 0
    if "friction" in groups:
        model.dof_damping[owners] = coordinates.spread(_numbers(physics.damping))[owners]
        model.dof_frictionloss[owners] = coordinates.spread(_numbers(physics.friction))[owners]
    if "armature" in groups:
        model.dof_armature[owners] = coordinates.spread(_numbers(physics.armature))[owners]
    if "gravity" in groups:
        model.opt.gravity[:] = _numbers(physics.gravity)
    mujoco = mujoco_module()
    mujoco.mj_setConst(model, mujoco.MjData(model))


def set_moments(model: Any, body: str, moments: Array) -> None:
    """Write principal moments that MuJoCo's compiler refuses."""
    model.body(body).inertia[:] = moments


def _set_inertia(model: Any, body: str, pi: Array) -> None:
    inertia = Inertia.from_parameters(pi)
    if inertia.mass < 0:
        raise InputError(f"MuJoCo has no body of negative mass: θ gives {body!r} {inertia.mass:g} kg")
    moments, axes = np.linalg.eigh(inertia.at_com)
    axes = axes * np.sign(np.linalg.det(axes))
    k = model.body(body).id
    model.body_mass[k] = max(inertia.mass, _MIN_INERTIA)
    model.body_ipos[k], model.body_iquat[k] = inertia.com, np.asarray(quaternion.from_matrix(axes))
    model.body_inertia[k] = np.maximum(moments, _MIN_INERTIA)


def _numbers(values: Any) -> Array:
    return np.array(ca.evalf(ca.SX(values)), dtype=np.float64).ravel()
