"""Validity of a result for a new motion: whether it lies within what the log excited, joint by joint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.solving.whitening import usual_sizes
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import motion
from helicoid.identification.logs.single_frequency import SineMotion
from helicoid.pages.tables import table
from helicoid.robot import Robot

_MAX_BEYOND_RANGE = 0.2  # of the recorded range of positions
_MAX_RATIO = {"v": 1.3, "a": 1.6}  # of the largest recorded |v|, |a|
KNOWN_PART = 0.05  # of a joint's torque: where σ is less, the parameters are known well enough
_MIN_RATE = 1e-6  # rad/s, rad/s²: less is no motion
_SPRING_SIGMA = 0.04  # of its usual size: σ of a spring that a log does not separate from inertia


class Range(NamedTuple):
    """Range of a motion, (nv): least and largest position of joints of one coordinate, largest |v|, |a|."""

    lower: Array
    upper: Array
    v: Array
    a: Array


def motion_range(robot: Robot, logs: Sequence[Log], cutoff: float | None) -> Range:
    """The range over several logs, low-passed as for the fit; but for one in a hundred of v and a."""
    found = [x for log in logs for _, _, x in motion(robot, log, cutoff)]
    q, v, a = (np.vstack([x[k] for x in found]) for k in range(3))
    lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for body in robot.model.bodies:
        if body.joint.mimic is None and body.joint.type.nq == 1:
            own = q[:, body.q.start]
            lower[body.v], upper[body.v] = own.min(), own.max()
    return Range(lower, upper, *(np.quantile(np.abs(x), 0.99, axis=0) for x in (v, a)))


def ambiguous_springs(robot: Robot, sines: Iterable[SineMotion]) -> tuple[tuple[SineMotion, float], ...]:
    """Joints that moved along a single sine, and σ of the spring that is ambiguous with inertia there."""
    effort, velocity, _ = usual_sizes(robot)
    stiffness = _SPRING_SIGMA * TERMS["spring"].usual_size(effort, velocity)
    return tuple((sine, float(stiffness[sine.v])) for sine in sines)


@dataclass(frozen=True, eq=False, repr=False)
class Validity:
    """Validity of a result for a motion: whether the log covers it, for each measured row, with reasons.

    `uncertainty` is the σ of the prediction due to the parameters, relative to the held-out residual, or to
    5 % of the joint's torque where that is more.
    """

    names: tuple[str, ...]
    ok: Array
    uncertainty: Array
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(np.all(self.ok))

    def __repr__(self) -> str:
        return f"Validity({int(np.sum(self.ok))} of {len(self.names)} joints; print it to see all)"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'joint':{width}}  valid  uncertainty"]
        for name, ok, size, reason in zip(self.names, self.ok, self.uncertainty, self.reasons, strict=True):
            lines.append(f"{name:{width}}  {'yes' if ok else 'no':5}  {size:11.2f}  {reason}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            [name, "yes" if ok else "no", f"{size:.2f}", reason]
            for name, ok, size, reason in zip(
                self.names, self.ok, self.uncertainty, self.reasons, strict=True
            )
        ]
        return table("Validity", ["joint", "valid", "uncertainty", "why not"], rows, ())


def validity(names: tuple[str, ...], trained: Range, new: Range, uncertainty: Array) -> Validity:
    """Compare the range of a new motion with that of the fitted one."""
    reasons = []
    for k in range(len(names)):
        why = []
        if k < len(trained.v):
            span = trained.upper[k] - trained.lower[k]
            margin = _MAX_BEYOND_RANGE * span if np.isfinite(span) else 0.0
            if new.lower[k] < trained.lower[k] - margin or new.upper[k] > trained.upper[k] + margin:
                why.append(
                    f"moves in [{new.lower[k]:.3g}, {new.upper[k]:.3g}], recorded was "
                    f"[{trained.lower[k]:.3g}, {trained.upper[k]:.3g}]"
                )
            for what, now, then in (("v", new.v[k], trained.v[k]), ("a", new.a[k], trained.a[k])):
                if now > _MAX_RATIO[what] * then + _MIN_RATE:
                    times = f"{now / then:.1f} times" if then > _MIN_RATE else "unlike"
                    why.append(f"{'speed' if what == 'v' else 'acceleration'} {times} what was recorded")
        if uncertainty[k] > 1.0:
            why.append("depends on parameters that the log leaves unidentifiable")
        reasons.append("; ".join(why))
    # Beyond the range of positions known parameters still hold: rigid bodies extrapolate, friction does not.
    bad = uncertainty > 1.0
    slow = np.array(["speed" in reason for reason in reasons])
    return Validity(names, ~(bad | slow), uncertainty, tuple(reasons))
