"""Results of the demonstration, as the terminal and the report show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid.demo.scenario import MASS, PICKED_UP
from helicoid.mpc.loop.closed_loop import Run
from helicoid.mpc.loop.comparison import Comparison

SETTLED = 1.0  # s after picking up: from then on the tracking error counts as that with the load


@dataclass(frozen=True)
class Results:
    """Figures and sentences about the three runs."""

    comparison: Comparison

    columns = (
        "error, before",
        "first s, with load",
        "after, that",
        "largest, error",
        "median, step",
        "99 %, below",
    )

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """A row for each controller, in the order of `columns`."""
        return [(run.label, self._cells(run)) for run in self.comparison.runs]

    @staticmethod
    def _cells(run: Run) -> list[str]:
        errors = (
            run.rms(0.2, PICKED_UP),
            run.rms(PICKED_UP, PICKED_UP + SETTLED),
            run.rms(PICKED_UP + SETTLED),
            float(run.error.max()),
        )
        times = np.percentile(run.seconds[1:], [50, 99])
        return [f"{1e3 * x:.1f} mm" for x in errors] + [f"{1e6 * x:.0f} µs" for x in times]

    @property
    def identified_after(self) -> float:
        """Seconds from picking up until the estimated mass stays within 2 %."""
        return self.comparison.adaptive.settled(0, 0.02, since=PICKED_UP)

    @property
    def recovered_after(self) -> float:
        """Seconds from picking up until tracking stays within 10 % of the informed controller's."""
        return self.comparison.recovered(PICKED_UP)

    @property
    def mass(self) -> tuple[float, float]:
        """The estimated mass (kg) at the end, and two standard deviations."""
        run = self.comparison.adaptive
        return float(run.estimate[-1, 0]), 2 * float(run.deviation[-1, 0])

    def error_after(self, run: Run) -> float:
        """Tracking error (m, rms) with the load, after the first second."""
        return run.rms(PICKED_UP + SETTLED)

    @property
    def sentences(self) -> list[str]:
        """The outcome in words."""
        (mass, two_sigma), share = self.mass, 100 * self.comparison.overhead()
        return [
            f"The load of {MASS:g} kg was known to 2 % {self.identified_after:.2f} s after it was picked up; "
            f"at the end {mass:.3f} ± {two_sigma:.3f} kg.",
            f"Tracking was within 10 % of the informed controller's after {self.recovered_after:.2f} s.",
            f"Identification and model updates took {share:.0f} % of the time for control.",
        ]
