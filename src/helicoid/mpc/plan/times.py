"""A plan between its nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.mpc.plan.plan import Plan, PlanSample
from helicoid.simulation.trajectory.resampling import Rows, between, linear, resampled_states, rounding


def moment(plan: Plan, t: ArrayLike) -> PlanSample:
    """See `Plan.at`."""
    wanted = _checked(plan, t)
    left, s = between(plan.t, wanted.ravel())
    held = np.minimum(left, len(plan.u) - 1)
    x = linear(plan.x, left, s, 0)
    parts: dict[str, Array] = {"u": plan.u[held]}
    if plan.q is not None and plan.v is not None:
        parts["q"], parts["v"] = _states(plan, plan.q, plan.v, left, s)
        x[:, : plan.q.shape[1] + plan.v.shape[1]] = np.hstack([parts["q"], parts["v"]])
        parts |= {name: value[held] for name in ("a", "tau") if (value := getattr(plan, name)) is not None}
    parts["x"] = x
    if wanted.ndim == 0:
        parts = {name: value[0] for name, value in parts.items()}
    return PlanSample(t=wanted if wanted.ndim else wanted.item(), **parts)


def _checked(plan: Plan, t: ArrayLike) -> Array:
    wanted = float_array(t, "a time of a plan is a number (s), or a vector of them")
    if wanted.ndim > 1:
        raise InputError(f"times of a plan are a number (s) or a vector, got shape {wanted.shape}")
    slack = rounding(plan.t)
    outside = wanted[~((wanted >= -slack) & (wanted <= plan.duration + slack))]
    if outside.size:
        raise InputError(
            f"the plan goes from 0 to {plan.duration:g} s and says nothing about {outside.flat[0]:g} s; "
            "plan.at(min(t, plan.duration)) is how it ends"
        )
    return wanted


def _states(plan: Plan, q: Array, v: Array, left: Rows, s: Array) -> tuple[Array, Array]:
    if plan.robot is not None:
        return resampled_states(plan.robot, plan.t, q, v, left, s)
    if q.shape[1] != v.shape[1]:
        raise InputError(
            "between its nodes this plan moves on the robot's manifold: Plan.load(path, robot=...)"
        )
    right = np.minimum(left + 1, len(q) - 1)
    h, s = (plan.t[right] - plan.t[left])[:, None], s[:, None]
    cubic = (s**3 - 2 * s**2 + s) * h * v[left] + (s**3 - s**2) * h * v[right]
    return q[left] + cubic + (3 * s**2 - 2 * s**3) * (q[right] - q[left]), linear(v, left, s[:, 0], 0)
