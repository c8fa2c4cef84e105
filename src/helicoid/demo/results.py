"""Figures of the adaptive MPC demonstration, for the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid.demo.scenario import MASS, PICKED_UP
from helicoid.mpc.loop.closed_loop import Run
from helicoid.mpc.loop.comparison import Comparison

SETTLING_TIME = 1.0  # s after picking up, before the tracking error with the payload is evaluated


@dataclass(frozen=True)
class Results:
    """Key figures of the three runs."""

    comparison: Comparison

    columns = (
        "error, before",
        "first s, with load",
        "error, after",
        "max., error",
        "median, step",
        "99th, perc.",
    )

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """Table rows, one per controller, in the order of `columns`."""
        return [(run.label, self._cells(run)) for run in self.comparison.runs]

    @staticmethod
    def _cells(run: Run) -> list[str]:
        errors = (
            run.rms(0.2, PICKED_UP),
            run.rms(PICKED_UP, PICKED_UP + SETTLING_TIME),
            run.rms(PICKED_UP + SETTLING_TIME),
            float(run.error.max()),
        )
        times = np.percentile(run.seconds[1:], [50, 99])
        return [f"{1e3 * x:.1f} mm" for x in errors] + [f"{1e6 * x:.0f} µs" for x in times]

    @property
    def identified_after(self) -> float:
        """Seconds from picking up until the estimated mass stays within 2 %."""
        return self.comparison.adaptive.settled(0, 0.02, since=PICKED_UP)

    @property
    def handed_over_after(self) -> float:
        """Seconds from picking up until the controller's model first has a part of the payload."""
        run = self.comparison.adaptive
        given = (run.t >= PICKED_UP) & (run.theta[:, 0] > 0.02 * MASS)
        return float(run.t[np.argmax(given)] - PICKED_UP) if given.any() else float(np.inf)

    @property
    def recovered_after(self) -> float:
        """Seconds from picking up until the rms error over every later second is within 10 % of the best."""
        return self.comparison.recovered(PICKED_UP)

    @property
    def mass(self) -> tuple[float, float]:
        """Estimated mass (kg) at the end, and two standard deviations."""
        run = self.comparison.adaptive
        return float(run.estimate[-1, 0]), 2 * float(run.deviation[-1, 0])

    def error_after(self, run: Run) -> float:
        """Rms tracking error (m) with the payload, after the first second."""
        return run.rms(PICKED_UP + SETTLING_TIME)

    @property
    def sentences(self) -> list[str]:
        """Summary of the results in sentences."""
        (mass, two_sigma), share = self.mass, 100 * self.comparison.overhead()
        return [
            f"The mass of {MASS:g} kg was estimated to 2 % {self.identified_after:.2f} s after the pick-up; "
            f"final estimate {mass:.3f} ± {two_sigma:.3f} kg.",
            f"The controller received the estimate after {self.handed_over_after:.2f} s; "
            f"from {self.recovered_after:.2f} s on, the rms tracking error over one second was within 10 % "
            "of that with the true model.",
            f"Identification and model updates took {share:.0f} % of the time for control.",
        ]
