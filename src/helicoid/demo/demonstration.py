"""Adaptive MPC demonstration: three closed-loop runs with a live table, a summary and a report."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from helicoid.demo.report import write_report
from helicoid.demo.results import Results
from helicoid.demo.scenario import DURATION, MASS, PICKED_UP, Scenario
from helicoid.mpc.loop.closed_loop import Sample
from helicoid.mpc.loop.comparison import ADAPTIVE, FIXED, INFORMED, LABELS

ROW_DURATION = 0.5  # s of the motion per row
COLORS = {FIXED: "dark_orange", INFORMED: "green", ADAPTIVE: "bright_blue"}


def run(folder: Path, seed: int = 0, console: Console | None = None, duration: float = DURATION) -> Path:
    """Show the demonstration in the terminal and write `report.html` into a folder; returns its path."""
    console = Console() if console is None else console
    scenario = Scenario(seed, duration)
    console.print(
        f"A Panda follows a path by model predictive control at 1 kHz. At {PICKED_UP:g} s it picks up "
        f"a payload of {MASS:g} kg that its model does not contain.\n"
    )
    began = time.perf_counter()
    with console.status("preparing the controller (compiled once, then cached)"):
        scenario.plant.measure()
        scenario.problem.compile()
        identifier = scenario.identifier()
        del identifier
    console.print(f"prepared in {time.perf_counter() - began:.1f} s\n", style="dim")
    # Drawn between steps: a drawing thread would disturb the measured step times.
    with Live(console=console, auto_refresh=False) as live:
        table = LiveTable(live, PICKED_UP)
        results = Results(scenario.compare(watch=table))
        live.update(table.table(), refresh=True)
    console.print()
    console.print(summary(results))
    console.print()
    for sentence in results.sentences:
        console.print(sentence)
    with console.status("writing the report"):
        path = write_report(scenario, results, folder)
    return path


class LiveTable:
    """Live table of three runs, one row per half second."""

    def __init__(self, live: Live, picked_up: float) -> None:
        self._live, self._picked_up = live, picked_up
        self._rows: dict[int, dict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
        self._count = 0

    def __call__(self, label: str, sample: Sample) -> None:
        self._rows[int(sample.time / ROW_DURATION + 1e-9)][label].append(sample)
        self._count += 1
        if self._count % 10 == 0:
            self._live.update(self.table(), refresh=True)

    def table(self) -> Table:
        """Table of the rows so far."""
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1))
        table.add_column("\ntime", justify="right")
        for label, heading in zip(LABELS, ("error:\nfixed", "true\nmodel", "\nadaptive"), strict=True):
            table.add_column(heading, justify="right", style=COLORS[label], min_width=9)
        table.add_column("payload\nestimated", justify="right", style=COLORS[ADAPTIVE], min_width=18)
        table.add_column("\ntrue", justify="right", min_width=9)
        table.add_column("step\nmedian", justify="right", min_width=9)
        for index in sorted(self._rows):
            table.add_row(*self._cells(index, self._rows[index]))
        return table

    def _cells(self, index: int, row: dict[str, list[Sample]]) -> list[str | Text]:
        errors = [self._error(row.get(label, [])) for label in LABELS]
        latest = next(samples[-1] for samples in row.values())
        learned = row.get(ADAPTIVE)
        estimate = (
            "" if not learned else f"{learned[-1].estimate[0]:.3f} ± {2 * learned[-1].deviation[0]:.3f} kg"
        )
        times = [sample.seconds for samples in row.values() for sample in samples]
        picked = index == int(self._picked_up / ROW_DURATION + 1e-9)
        true = Text(f"{latest.true_theta[0]:.3f} kg", "bold red" if picked else "")
        return [
            f"{ROW_DURATION * (index + 1):.1f} s",
            *errors,
            estimate,
            true,
            f"{1e6 * float(np.median(times)):.0f} µs",
        ]

    @staticmethod
    def _error(samples: list[Sample]) -> str:
        if not samples:
            return ""
        return f"{1e3 * float(np.sqrt(np.mean([sample.error**2 for sample in samples]))):.1f} mm"


def summary(results: Results) -> Table:
    """Table that compares the three controllers."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1))
    table.add_column("\ncontroller", min_width=12)
    for name in results.columns:
        table.add_column(name.replace(", ", "\n"), justify="right", min_width=8)
    for label, cells in results.rows:
        table.add_row(label, *cells, style=COLORS[label])
    return table
