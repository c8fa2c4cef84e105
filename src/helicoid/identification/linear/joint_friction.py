"""Of all that was identified of friction, what a robot can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.regression import TERMS, JointMotion, Regression
from helicoid.identification.logs.preparation import Samples

_RUBBING = ("viscous", "coulomb", "root", "load")
_MOST = 5000  # samples


class JointFriction(NamedTuple):
    """Per velocity (nv): damping (N·m·s/rad), Coulomb (N·m), armature (kg·m²), stiffness, offset."""

    damping: Array
    coulomb: Array
    armature: Array
    stiffness: Array
    offset: Array


def robot_friction(regression: Regression, stretches: Sequence[Samples], x: Array) -> JointFriction:
    """The viscous and Coulomb friction nearest to all friction terms over the log; the rest as identified.

    What is not among the unknowns stays as the robot's description says.
    """
    robot = regression.robot
    stated = Regression(robot, ("viscous", "coulomb", "armature")).parameters
    values = {}
    for group in ("viscous", "coulomb", "armature", "spring", "offset"):
        values[group] = np.zeros(robot.nv)
        own = regression if group in regression.groups else None
        if own is not None and not regression.wrenches:
            values[group][list(own.velocities(group))] = own.parameters.of(x, group)
        elif group in stated.groups:
            values[group][list(regression.jointed)] = stated.of(stated.nominal, group)
    if not regression.wrenches and any(group in regression.groups for group in ("root", "load")):
        _simplified(regression, stretches, x, values)
    return JointFriction(
        values["viscous"], values["coulomb"], values["armature"], values["spring"], values["offset"]
    )


def _simplified(
    regression: Regression, stretches: Sequence[Samples], x: Array, values: dict[str, Array]
) -> None:
    from scipy.optimize import nnls

    step = max(1, sum(len(samples) for samples in stretches) // _MOST)
    q = np.vstack([samples.q[::step] for samples in stretches])
    v = np.vstack([samples.v[::step] for samples in stretches])
    rubbing = tuple(group for group in regression.groups if group in _RUBBING)
    only = regression.with_groups(rubbing)
    own = np.concatenate([regression.parameters.of(x, group) for group in rubbing])
    friction = only.predict(own, q, v, np.zeros_like(v))
    for k in regression.jointed:
        motion = JointMotion(v[:, k], v[:, k], v[:, k], v[:, k], float(regression.smoothing[k]))
        columns = np.column_stack([TERMS[group](motion) for group in ("viscous", "coulomb")])
        if not columns.any():  # a joint that stood still says nothing: as described
            continue
        values["viscous"][k], values["coulomb"][k] = nnls(columns, friction[:, k])[0]
