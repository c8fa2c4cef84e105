"""Does a new motion lie within what was excited? Joint by joint, and in words."""

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
from helicoid.identification.logs.swings import Swing
from helicoid.robot import Robot
from helicoid.tables import table

_WIDER = {"q": 0.2, "v": 1.3, "a": 1.6}  # of the range; times the largest: so much beyond is still like it
_LEAST = 1e-6
_SPRING = 0.04  # of its usual size: σ of a spring that a log does not tell from inertia


class Range(NamedTuple):
    """What joints did, (nv): least and largest position of those with one coordinate, largest |v|, |a|."""

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


def confused(robot: Robot, swings: Iterable[Swing]) -> tuple[tuple[Swing, float], ...]:
    """Joints that moved with one frequency, and how stiff a spring may be that looks like inertia there."""
    effort, velocity, _ = usual_sizes(robot)
    stiffness = _SPRING * TERMS["spring"].usual_size(effort, velocity)
    return tuple((swing, float(stiffness[swing.v])) for swing in swings)


@dataclass(frozen=True, eq=False, repr=False)
class Trust:
    """Of a motion: for each measured row, whether what was identified covers it, and what speaks against.

    `uncertainty` is σ of the prediction that comes from the parameters, as a part of what is not explained
    even on the log itself; above 1 it is the larger of the two.
    """

    names: tuple[str, ...]
    ok: Array
    uncertainty: Array
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(np.all(self.ok))

    def __repr__(self) -> str:
        return f"Trust({int(np.sum(self.ok))} of {len(self.names)} joints; print it to see all)"

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        lines = [f"{'joint':{width}}  trust  uncertainty"]
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
        return table("Trust", ["joint", "trust", "uncertainty", "why not"], rows, ())


def trust(names: tuple[str, ...], trained: Range, asked: Range, uncertainty: Array) -> Trust:
    """Compare what a motion asks for with what was excited."""
    reasons = []
    for k in range(len(names)):
        why = []
        if k < len(trained.v):
            span = trained.upper[k] - trained.lower[k]
            room = _WIDER["q"] * span if np.isfinite(span) else 0.0
            if asked.lower[k] < trained.lower[k] - room or asked.upper[k] > trained.upper[k] + room:
                why.append(
                    f"moves in [{asked.lower[k]:.3g}, {asked.upper[k]:.3g}], recorded was "
                    f"[{trained.lower[k]:.3g}, {trained.upper[k]:.3g}]"
                )
            for what, now, then in (("v", asked.v[k], trained.v[k]), ("a", asked.a[k], trained.a[k])):
                if now > _WIDER[what] * then + _LEAST:
                    times = f"{now / then:.1f} times" if then > _LEAST else "unlike"
                    why.append(f"{'speed' if what == 'v' else 'acceleration'} {times} what was recorded")
        if uncertainty[k] > 1.0:
            why.append("needs parameters that the log did not tell")
        reasons.append("; ".join(why))
    # A range alone is no harm where the parameters are known: rigid bodies extrapolate, friction does not.
    bad = uncertainty > 1.0
    slow = np.array(["speed" in reason for reason in reasons])
    return Trust(names, ~(bad | slow), uncertainty, tuple(reasons))
