"""Running the demonstration: prepare, control three times, tell, write the report."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from helicoid.demo.live import LiveTable, summary
from helicoid.demo.report import write_report
from helicoid.demo.results import Results
from helicoid.demo.scenario import DURATION, MASS, PICKED_UP, Scenario


def run(folder: Path, seed: int = 0, console: Console | None = None, duration: float = DURATION) -> Path:
    """Show the demonstration in the terminal and write `report.html` into a folder; returns its path."""
    console = Console() if console is None else console
    scenario = Scenario(seed, duration)
    console.print(
        f"A Panda follows a path by model predictive control at 1 kHz. After {PICKED_UP:g} s it picks up "
        f"{MASS:g} kg that nobody told it about.\n"
    )
    began = time.perf_counter()
    with console.status("preparing the controller (compiled once, then kept)"):
        scenario.plant.measure()
        scenario.problem.compile()
        identifier = scenario.identifier()
        del identifier
    console.print(f"prepared in {time.perf_counter() - began:.1f} s\n", style="dim")
    # Drawn between steps: a thread that draws would take time from those that are measured.
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
