"""Tracking of a plan by whole-body control: targets between the nodes of the plan, in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array, Expression
from helicoid.compiler import Function
from helicoid.control import ForceTask, PointContact, PoseTask, PositionTask, PostureTask, WholeBody
from helicoid.robot.robot import Robot
from helicoid.walking.problem import force_scale

_LANDING_SPEED = 1.0  # m/s


def tracking_control(
    robot: Robot, trunk: str, feet: Sequence[str], radius: float, friction: float, dt: float, ramp: float
) -> WholeBody:
    """Whole-body control with the tasks that `PlanTracking` sets: trunk, swing feet, posture, forces."""
    force_weight = 1e-3 * force_scale(robot)
    return WholeBody(
        robot,
        [
            PoseTask(trunk, weight=[20.0, 20.0, 20.0, 10.0, 10.0, 20.0], name="trunk"),
            *(PositionTask(foot, weight=20.0, name=f"{foot}_swing") for foot in feet),
            PostureTask(weight=1e-3),
            *(ForceTask(foot, weight=force_weight, name=f"{foot}_plan") for foot in feet),
        ],
        [PointContact(foot, friction, radius=radius) for foot in feet],
        dt,
        frequency=[12.0, *(25.0 for _ in feet), 5.0, *(1.0 for _ in feet)],
        ramp=ramp,
    )


class PlanTracking:
    """Writes targets of trunk, feet and joints, and planned forces, into the numbers of whole-body control.

    Between the nodes of a plan q is the cubic Hermite interpolation of positions and velocities in the
    tangent space of the left node, v is linear, and accelerations and forces are constant. Tasks are called
    "trunk", "posture", and, for each foot, "foot_swing" and "foot_plan".
    """

    def __init__(self, robot: Robot, trunk: str, feet: Sequence[str], whole_body: WholeBody) -> None:
        self.feet, self._whole_body = tuple(feet), whole_body
        symbols, targets = _targets(robot, trunk, feet)
        flat: dict[str, ca.SX] = {"targets": ca.vertcat(*targets.values())}  # type: ignore[dict-item]
        self.function = Function.from_expressions("targets", symbols, flat)
        """`(q0, q1, v0, v1, a, s, h) -> targets` of two nodes, at a fraction s of the interval h (s)."""
        numbers = whole_body.numbers
        self._at = np.concatenate([np.arange(numbers.values.size)[numbers[name].at] for name in targets])
        self._forces_at = [numbers[f"{foot}_plan"].at for foot in feet]
        self._active_at = [numbers[f"{foot}_active"].at for foot in feet]
        names = ("swing", "swing_velocity", "swing_acceleration")
        self._swing_at = [[numbers[f"{foot}_{name}"].at for name in names] for foot in feet]
        places: list[Any] = [self._at, *self._forces_at, *self._active_at]
        self._initial = [(at, numbers.values[at].copy()) for at in places]

    def reset(self) -> None:
        """Restore the targets, forces and contacts that whole-body control began with."""
        values = self._whole_body.numbers.values
        for at, initial in self._initial:
            values[at] = initial

    def begin(self, t: Array, motion: tuple[Array, Array, Array, Mapping[str, Array]]) -> None:
        """Track a plan with nodes at t (s) from now on, as `Controller.motion` returns it."""
        self._t, (self._q, self._v, self._a, forces) = t, motion
        self._forces = [forces[foot] for foot in self.feet]

    def set(self, t: float, stance: Sequence[str], added: Array) -> None:
        """Set the targets at t seconds of the plan, or at its end, with these feet in stance.

        `added` (feet, 3) are added to the planned forces (N).
        """
        k = min(int(np.searchsorted(self._t, t + 1e-9, side="right")) - 1, len(self._a) - 1)
        h = float(self._t[k + 1] - self._t[k])
        s = min(max((t - float(self._t[k])) / h, 0.0), 1.0)
        q, v, values = self._q, self._v, self._whole_body.numbers.values
        values[self._at] = self.function(q[k], q[k + 1], v[k], v[k + 1], self._a[k], s, h)
        for at, forces, more in zip(self._forces_at, self._forces, added, strict=True):
            values[at] = forces[k] + more
        for at, foot in zip(self._active_at, self.feet, strict=True):
            values[at] = float(foot in stance)

    def lower(self, feet: NDArray[np.bool_], positions: Array) -> None:
        """Lower these feet from where they are (feet, 3), without load: they have not reached the ground."""
        values = self._whole_body.numbers.values
        for foot in np.flatnonzero(feet):
            at, velocity, acceleration = self._swing_at[foot]
            values[at], values[velocity] = positions[foot], (0.0, 0.0, -_LANDING_SPEED)
            values[acceleration] = 0.0
            values[self._active_at[foot]] = 0.0


def _targets(
    robot: Robot, trunk: str, feet: Sequence[str]
) -> tuple[dict[str, ca.SX], Mapping[str, Expression]]:
    """Symbols of two nodes and of the time in between, and targets by the name of their number."""
    sizes = {"q0": robot.nq, "q1": robot.nq, "v0": robot.nv, "v1": robot.nv, "a": robot.nv, "s": 1, "h": 1}
    symbols = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
    q0, q1, v0, v1, a, s, h = symbols.values()
    # A velocity at the right node is another tangent vector at the left one: d(q1 ⊖ q0)/dt = D v1.
    D, chord = robot.difference.jacobian("q1")(q0, q1), robot.difference(q0, q1)
    tangent = (s**3 - 2 * s**2 + s) * h * v0 + (3 * s**2 - 2 * s**3) * chord + (s**3 - s**2) * h * (D @ v1)
    q, v = robot.integrate(q0, tangent), v0 + s * (v1 - v0)
    frame: Literal["world_aligned"] = "world_aligned"
    targets = {
        "trunk": ca.reshape(robot.pose(trunk)(q).T, 16, 1),
        "trunk_velocity": robot.velocity(trunk, frame)(q, v),
        "trunk_acceleration": robot.acceleration(trunk, frame)(q, v, a),
        "posture": q,
        "posture_velocity": v[6:],
        "posture_acceleration": a[6:],
    }
    for foot in feet:
        targets[f"{foot}_swing"] = robot.pose(foot)(q)[:3, 3]
        targets[f"{foot}_swing_velocity"] = robot.velocity(foot, frame)(q, v)[3:]
        targets[f"{foot}_swing_acceleration"] = robot.acceleration(foot, frame)(q, v, a)[3:]
    return symbols, targets
