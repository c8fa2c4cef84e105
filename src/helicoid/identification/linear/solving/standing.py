"""Joints that stood still: what sensors show of their motion is noise, and friction holds some torque."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.whitening import usual_sizes

_STILL = 0.005  # of its velocity limit: a joint whose velocity is less (root mean square) stands still
_STICTION = 0.01  # of its effort limit: torque that friction may hold of such a joint


def standing(regression: Regression, whole: Stack) -> list[int]:
    """The velocities of joints that stood still, as the columns of their viscous friction say."""
    own = regression.parameters.groups.get("viscous")
    if own is None or regression.wrenches or len(whole.counts) != regression.robot.nv:
        return []
    _, velocity, _ = usual_sizes(regression.robot)
    found = []
    for k, column in zip(regression.velocities("viscous"), range(own.start, own.stop), strict=True):
        v = np.linalg.norm(whole.factors[k][:, np.searchsorted(whole.supports[k], column)])
        if whole.counts[k] and v < _STILL * velocity[k] * np.sqrt(whole.counts[k]):
            found.append(k)
    return found


def unmoved(regression: Regression, still: Sequence[int]) -> tuple[int, ...]:
    """The unknowns that only motion of these joints would tell: their friction and armature."""
    found: list[int] = []
    for group, own in regression.parameters.groups.items():
        if group == "armature" or (group in TERMS and TERMS[group].depends_on_velocity):
            pairs = zip(regression.velocities(group), range(own.start, own.stop), strict=True)
            found.extend(index for k, index in pairs if k in still)
    return tuple(sorted(found))


def stiction(regression: Regression, rows: int, still: Sequence[int]) -> Array:
    """The torque (rows) that friction may hold: of joints that stand still what is usual, 0 of others.

    No residual of such a row is believed to be less: it would outweigh all joints that move.
    """
    held = np.zeros(rows)
    if still:
        held[list(still)] = _STICTION * usual_sizes(regression.robot)[0][list(still)]
    return held
