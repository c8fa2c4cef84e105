"""Comparison of a fixed, an informed and an adaptive controller on one task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid._typing import Array
from helicoid.mpc.loop.adaptive import Adaptive
from helicoid.mpc.loop.closed_loop import Run, Sample, TrackingError, run_on_plant
from helicoid.mpc.loop.controller import Controller
from helicoid.simulation.inputs.stepped import Targets
from helicoid.simulation.plant import Plant

if TYPE_CHECKING:
    from helicoid.identification.online.identifier import OnlineIdentifier
    from helicoid.mpc.problem import Problem

FIXED, INFORMED, ADAPTIVE = "fixed model", "true model", "adaptive"
LABELS = (FIXED, INFORMED, ADAPTIVE)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Three runs of the same task with the same noise: `fixed`, `informed` of the true θ, and `adaptive`."""

    fixed: Run
    informed: Run
    adaptive: Run

    @property
    def runs(self) -> tuple[Run, Run, Run]:
        """All of them, in the order of `LABELS`."""
        return self.fixed, self.informed, self.adaptive

    def ratio(self, start: float, end: float = np.inf) -> float:
        """The adaptive controller's tracking error (rms) between two times, over the informed one's."""
        return self.adaptive.rms(start, end) / self.informed.rms(start, end)

    def recovered(self, since: float, tolerance: float = 0.1, window: float = 1.0) -> float:
        """Seconds after `since` from which on the adaptive controller tracks like the informed one.

        That is, the rms error of every later window (s) is within `tolerance` of the informed controller's;
        `np.inf` if that is never so.
        """
        t, period = self.adaptive.t, self.adaptive.t[1] - self.adaptive.t[0]
        n = max(1, round(window / period))
        ours, theirs = (_moving_rms(run.error, n) for run in (self.adaptive, self.informed))
        starts = t[: len(ours)]
        after = starts >= since - 1e-9
        worse = (ours > (1 + tolerance) * theirs)[after]
        times = starts[after] - since
        if not len(times) or worse[-1]:
            return float(np.inf)
        return float(times[np.flatnonzero(worse)[-1] + 1]) if worse.any() else 0.0

    def overhead(self) -> float:
        """Time for identification and hand-over over that of the controller alone.

        The ratio of typical times: medians of the means of a hundred steps, which include work that is not
        done in every step, and exclude pauses by other programs.
        """
        run = self.adaptive
        learning, own = run.learning_seconds, run.seconds - run.learning_seconds
        return _typical(learning) / _typical(own)


def compare(
    problem: Problem,
    plant: Plant,
    identifier: OnlineIdentifier,
    duration: float,
    *,
    targets: Targets | None = None,
    error: TrackingError | None = None,
    watch: Callable[[str, Sample], None] | None = None,
    **options: Any,
) -> Comparison:
    """Run a task three times: with the problem's own θ, with the true θ, and with the identified θ.

    None of the controllers estimates a `disturbance`, which would compensate part of a wrong θ.

    Args:
        problem: of a robot that is parametric as the plant's is. Its θ is the model that stays fixed.
        plant: reset before each run, with the same noise.
        identifier: of the last run.
        duration, targets, error: as in `run_on_plant`.
        watch: called with the run's label and a sample, every tenth step.
        options: of `Adaptive`.
    """

    def run(label: str, controller: Controller | Adaptive) -> Run:
        seen = None if watch is None else (lambda sample: watch(label, sample))
        own: dict[str, Any] = {"informed": label == INFORMED, "label": label, "watch": seen}
        return run_on_plant(controller, plant, duration, targets=targets, error=error, **own)

    fresh = [Controller(problem, period=plant.period, disturbance_time=None) for _ in LABELS]
    adaptive = Adaptive(fresh[2], identifier, **options)
    return Comparison(run(FIXED, fresh[0]), run(INFORMED, fresh[1]), run(ADAPTIVE, adaptive))


def _moving_rms(error: Array, n: int) -> Array:
    """Root mean square of the n samples from each on."""
    sums = np.concatenate([[0.0], np.cumsum(error**2)])
    return np.sqrt((sums[n:] - sums[:-n]) / n)


def _typical(seconds: Array) -> float:
    blocks = max(1, len(seconds) // 100)
    return float(np.median([block.mean() for block in np.array_split(seconds, blocks)]))
