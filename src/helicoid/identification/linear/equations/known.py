"""Known torque of a regression: described terms that are not among its unknowns."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.forces.passive import (
    damper_torque,
    described_damper_torque,
    described_torque,
    elastic_torque,
)
from helicoid.dynamics.forces.springs import spring_torque
from helicoid.dynamics.forces.tendon_inertia import tendon_inertia_torque
from helicoid.dynamics.friction import TERMS, friction_torque
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.rnea import friction_load
from helicoid.model.edits.joint_values import with_joints
from helicoid.model.model import Model
from helicoid.robot import Robot
from helicoid.robot.function import FunctionSpec, RobotFunction


def known_torque(robot: Robot, covered: frozenset[str], q: Array, v: Array, a: Array) -> Array | None:
    """The torque of described terms that are not `covered` by unknowns, (N, nv), if any.

    Springs and armature of a description act always. Described friction acts beside unknown friction;
    where no friction is unknown, the log is taken to have none, as in `inverse_dynamics`.
    """
    function = robot.memo(("known torque", covered), lambda: _known(robot, covered))
    return None if function is None else np.asarray(function(q, v, a))


def _known(robot: Robot, covered: frozenset[str]) -> RobotFunction | None:
    spec = FunctionSpec("known_torque", _torque, "q v a -> tau[nv]", arguments=(tuple(sorted(covered)),))
    function = robot.function(spec)
    symbols = [ca.SX.sym(item.name, *item.shape) for item in function.inputs]
    return None if ca.SX(function(*symbols)).is_zero() else function


def _torque(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, covered: tuple[str, ...]
) -> Expression:
    nothing = ca.SX.zeros(model.nv)
    torque = nothing if "armature" in covered else physics.armature * a
    torque += tendon_inertia_torque(model, q, v, a)
    if "spring" in covered:
        single = [body.joint.name for body in model.bodies if body.joint.type.nq == 1]
        model = with_joints(model, {"stiffness": dict.fromkeys(single, 0.0)})
    torque += spring_torque(model, q)
    acting = described_torque if "elastic" in covered else elastic_torque
    torque += acting(model, physics, q)
    if not any(name in covered for name in TERMS if name != "spring"):
        return torque
    kept = replace(
        physics,
        damping=nothing if "viscous" in covered else physics.damping,
        friction=nothing if "coulomb" in covered else physics.friction,
        friction_entries=tuple(one for one in physics.friction_entries if one.term not in covered),
    )
    friction = friction_torque(kept, v, q, friction_load(model, kept, q))
    damping = described_damper_torque if "elastic" in covered else damper_torque
    return torque + friction + damping(model, kept, q, v)
