"""Joints at rest during a log: their measured motion is noise, and static friction holds some torque."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Stack
from helicoid.identification.linear.solving.whitening import usual_sizes

_MAX_VELOCITY_AT_REST = 0.005  # of its velocity limit (root mean square)
_MAX_STICTION = 0.01  # of its effort limit: torque that static friction may hold


def joints_at_rest(regression: Regression, whole: Stack) -> list[int]:
    """Velocities of joints at rest, by the columns of their viscous friction."""
    own = regression.parameters.groups.get("viscous")
    if own is None or regression.wrenches or len(whole.counts) != regression.robot.nv:
        return []
    _, velocity, _ = usual_sizes(regression.robot)
    found = []
    for k, column in zip(regression.velocities("viscous"), range(own.start, own.stop), strict=True):
        v = np.linalg.norm(whole.factors[k][:, np.searchsorted(whole.supports[k], column)])
        if whole.counts[k] and v < _MAX_VELOCITY_AT_REST * velocity[k] * np.sqrt(whole.counts[k]):
            found.append(k)
    return found


def unexcited(regression: Regression, still: Sequence[int]) -> tuple[int, ...]:
    """Unknowns that only motion of these joints would excite: their friction and armature."""
    found: list[int] = []
    for group, own in regression.parameters.groups.items():
        if group == "armature" or (group in TERMS and TERMS[group].depends_on_velocity):
            pairs = zip(regression.velocities(group), range(own.start, own.stop), strict=True)
            found.extend(index for k, index in pairs if k in still)
    return tuple(sorted(found))


def stiction(regression: Regression, rows: int, still: Sequence[int]) -> Array:
    """Torque (rows) that static friction may hold: 1 % of the effort limit for joints at rest, else 0.

    It bounds the σ of such a row from below: otherwise the row would outweigh all joints that move.
    """
    held = np.zeros(rows)
    if still:
        held[list(still)] = _MAX_STICTION * usual_sizes(regression.robot)[0][list(still)]
    return held
