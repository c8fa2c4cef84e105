"""What a log decides where nobody says: cut-off, lag and unknowns, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression, default_groups, stated
from helicoid.identification.linear.lag import estimate_lag
from helicoid.identification.linear.selection import (
    Weighted,
    choose_cutoff,
    choose_terms,
    fitter,
    pays,
    weighted,
)
from helicoid.identification.linear.solving.consistent import Bounds
from helicoid.identification.linear.solving.whitening import usual_sizes
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Judged, Samples, judged, smoothed
from helicoid.identification.logs.swings import swings
from helicoid.progress import Progress
from helicoid.robot import Robot

Estimator = Literal["consistent", "ridge", "ordinary", "weighted", "huber", "total", "instrumental"]
ESTIMATORS: tuple[Estimator, ...] = (
    "consistent", "ridge", "ordinary", "weighted", "huber", "total", "instrumental",
)  # fmt: skip
_FAST = 0.15  # of the velocity limits: joints that stay below do not show how friction grows with speed
_STILL = 0.01  # of the velocity limits


@dataclass(frozen=True)
class Wish:
    """The arguments of `identify`: what is wanted of a fit, and what is left to the log."""

    estimator: Estimator
    form: str
    strength: float | None
    bounds: Bounds | None
    groups: Sequence[str] | None
    cutoff: float | Literal["auto"] | None
    lag: float | None
    dead_zone: float


class Choice(NamedTuple):
    """What a log decides: the cut-off of the low-pass, the lag, and the unknowns; `data`, if made for it."""

    cutoff: float | None
    lag: float
    regression: Regression
    data: Weighted | None = None


def choose(
    robot: Robot, some: Sequence[Log], wish: Wish, tell: Progress
) -> tuple[Choice, list[Samples], list[str]]:
    """What is not given is chosen by cross-validation on some logs; with it their samples, and notes."""
    wrenches = tuple(some[0].wrenches)
    made = _maker(robot, wrenches)
    chosen = _groups(robot, wish, wrenches)
    parts, notes = _judged(robot, some)
    cutoff, rough = (
        choose_cutoff(robot, some, parts, made(chosen), tell)
        if wish.cutoff == "auto"
        else (wish.cutoff, None)
    )
    stretches = [smoothed(robot, one, cutoff, wish.dead_zone) for one in parts]
    lag = _lag(made(chosen), stretches, rough, tell) if wish.lag is None else wish.lag
    stretches = [samples.delayed(lag) for samples in stretches]
    if wish.groups is None and not wrenches and wish.form not in ("power", "energy"):
        slow = [group for group in linear_terms("fast") if not _shaped(robot, stretches, group)]
        chosen = tuple(group for group in chosen if group not in slow)
        alone = swings(robot, stretches).mostly  # a spring cannot be told then, whatever predicts this log
        if alone and not stated(robot, "armature").any():  # nor inertia of rotors from that of bodies
            needed = pays(stretches, made, chosen, "armature", wish.bounds)
            chosen = tuple(group for group in chosen if needed or group != "armature")
        extras = [
            extra
            for extra in linear_terms("candidate")
            if extra not in chosen and not (alone and TERMS[extra].depends_on_position)
        ]
        chosen, data = choose_terms(stretches, made, chosen, extras, wish.bounds, tell)
        return Choice(cutoff, lag, made(chosen), data if wish.form == "torque" else None), stretches, notes
    return Choice(cutoff, lag, made(chosen)), stretches, notes


def _groups(robot: Robot, wish: Wish, wrenches: tuple[str, ...]) -> tuple[str, ...]:
    if wish.groups is not None:
        return tuple(wish.groups)
    if wrenches:
        return ("inertia",)
    if wish.form in ("power", "energy"):
        # One equation a sample carries less: neither offsets nor the curve of friction are identifiable.
        dissipative = (group for group in linear_terms("always") if TERMS[group].nonnegative)
        return ("inertia", *dissipative, "armature")
    default = (*default_groups(), *linear_terms("fast"))
    beyond = (group for group in linear_terms() if group not in default and stated(robot, group).any())
    return (*default, *beyond)


def _shaped(robot: Robot, stretches: Sequence[Samples], group: str) -> bool:
    """Whether friction's curve over speed is to be told: it is described, or joints were fast enough for it.

    A curve through slow samples alone leads anywhere at the speeds that joints are made for.
    """
    fastest = np.quantile(np.abs(np.vstack([samples.v for samples in stretches])), 0.99, axis=0)
    part = fastest / usual_sizes(robot)[1]
    moving = part[part > _STILL]
    return bool(stated(robot, group).any() or (len(moving) and np.median(moving) > _FAST))


def _maker(robot: Robot, wrenches: tuple[str, ...]) -> Callable[[tuple[str, ...]], Regression]:
    cache: dict[tuple[str, ...], Regression] = {}

    def made(groups: tuple[str, ...]) -> Regression:
        if groups not in cache:
            cache[groups] = Regression(robot, groups, wrenches=wrenches)
        return cache[groups]

    return made


def prepared(
    robot: Robot, logs: Sequence[Log], cutoff: float | None, dead_zone: float
) -> tuple[list[Samples], list[str]]:
    """Samples of logs, one stretch without a gap after the other, and what is to be said of them."""
    parts, notes = _judged(robot, logs)
    return [smoothed(robot, one, cutoff, dead_zone) for one in parts], notes


def _judged(robot: Robot, logs: Sequence[Log]) -> tuple[list[Judged], list[str]]:
    parts: list[Judged] = []
    notes: list[str] = []
    for log in logs:
        own, said = judged(robot, log)
        parts.extend(own)
        notes.extend(f"{log.source}: {note}" for note in said)
    return parts, notes


def _lag(
    regression: Regression, stretches: Sequence[Samples], rough: Weighted | None, tell: Progress
) -> float:
    tell("Looking for a lag between motion and torque", 0.0)
    data = weighted(regression, stretches) if rough is None else rough
    return estimate_lag(regression, stretches, fitter("ridge", regression, data, 10.0, None), data.weights)
