"""A whole run: measure, show, write down."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.harness import batches, rollouts
from benchmarks.harness.limit import measure_limit, measure_second_core
from benchmarks.harness.plan import Plan
from benchmarks.harness.processes import measure_large_compile, measure_memory, measure_start
from benchmarks.harness.subjects import Subject, bundled_subject, chain_subject, humanoid_subject
from benchmarks.peers import find, version_of
from benchmarks.report import plots, tables
from benchmarks.report.comparison import Peers, compare_calls, compare_growth
from benchmarks.report.results import OURS, Results
from helicoid.compiler.build.toolchain import Compiler, cpu_identity, find_compiler, native_lanes
from helicoid.compiler.evaluation.compiled import compile_is_on
from helicoid.errors import HelicoidError


def run(plan: Plan, folder: Path, console: Console) -> Results:
    """Measure, print the tables, and write them with pictures to a folder.

    Raises:
        HelicoidError: functions are not compiled here, and there is nothing to compare.
    """
    require_compiling()
    compiler = find_compiler()
    found, missing = find(plan.libraries)
    for name, why in missing.items():
        console.print(f"[yellow]missing[/] {name}: {why}")
    results = Results(plan.name, plan.batch, machine(compiler), _versions(found), missing)
    results.remarks = [peer.remark for peer in found.values() if getattr(peer, "remark", "")]
    measure(plan, results, found, console)
    tables.show(results, console)
    for path in write(results, folder):
        console.print(str(path), soft_wrap=True, highlight=False)
    return results


def require_compiling() -> None:
    """Raise a HelicoidError where functions are not compiled."""
    if not compile_is_on():
        raise HelicoidError("compiling is off (HELICOID_COMPILE=0): turn it on to measure compiled functions")


def measure(plan: Plan, results: Results, peers: Peers, console: Console) -> None:
    """Fill the results."""
    steps = len(plan.robots) * len(plan.quantities) + len(plan.chains) * len(plan.chain_quantities)
    steps += len(plan.batch_robots) * len(batches.LABELS) + bool(plan.rollouts) * len(rollouts.CASES)
    steps += bool(plan.start) + plan.limit + bool(plan.memory) + bool(plan.large_compile)
    with _progress(steps, console) as step:
        for name in plan.robots:
            subject = _subject(name, results)
            if subject is not None:
                results.timings += compare_calls(subject, plan.quantities, peers, plan, step)
        if plan.limit:
            results.figures.append(measure_second_core(plan.batch_rounds))
        for name in plan.batch_robots:
            subject = _subject(name, results)
            if subject is not None:
                results.timings += batches.compare_batches(subject, peers, plan, step)
        if plan.rollouts:
            subject = rollouts.panda_with_fingers()
            results.timings += rollouts.compare_rollouts(subject, peers, plan, step)
        chains = [chain_subject(n) for n in plan.chains]
        results.timings += compare_growth(chains, plan.chain_quantities, peers, plan, step)
        _measure_figures(plan, results, step)


def _measure_figures(plan: Plan, results: Results, step: Callable[[str], None]) -> None:
    if plan.limit:
        step("what the processor can do")
        results.figures += measure_limit(bundled_subject("panda"), plan)
    if plan.start:
        step("starting and compiling")
        results.figures += measure_start(plan.start)
    if plan.memory:
        step("memory of batches")
        results.figures += measure_memory(plan)
    if plan.large_compile:
        step("compiling a large function")
        results.figures += measure_large_compile(plan.large_compile)


def _subject(name: str, results: Results) -> Subject | None:
    if name != "talos":
        return bundled_subject(name)
    try:
        return humanoid_subject()
    except HelicoidError as error:
        results.missing["Talos"] = str(error)
        return None


def write(results: Results, folder: Path) -> list[Path]:
    """Write the numbers, the tables and the pictures; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, text = folder / f"{results.plan}.json", folder / f"{results.plan}.md"
    results.save(numbers)
    try:
        pictures = plots.draw(results, folder)
    except ImportError:
        pictures = []
    text.write_text(_markdown(results, pictures), encoding="utf-8")
    return [numbers, text, *pictures]


def _markdown(results: Results, pictures: list[Path]) -> str:
    lines = [f"# Benchmark, {results.plan} run", ""]
    lines += [f"- {key}: {value}" for key, value in results.machine.items()]
    lines += [f"- {key}: {value}" for key, value in results.versions.items()]
    lines.append("")
    lines += [sheet.markdown() for sheet in tables.sheets(results)]
    lines += [f"![{path.stem.replace('_', ' ')}]({path.name})\n" for path in pictures]
    return "\n".join(lines)


def machine(compiler: Compiler) -> dict[str, str]:
    """Date, processor, load and tools."""
    load = f"{os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else "unknown"
    return {
        "date": datetime.date.today().isoformat(),
        "processor": cpu_identity().split(":")[0],
        "cores": str(os.cpu_count()),
        "load average": load,
        "lanes": str(native_lanes()),
        "compiler": " ".join(compiler.command),
        "Python": platform.python_version(),
    }


def _versions(found: Peers) -> dict[str, str]:
    ours = {OURS: version_of("helicoid"), "casadi": version_of("casadi"), "numpy": version_of("numpy")}
    return ours | {name: getattr(peer, "version", "") for name, peer in found.items()}


@contextmanager
def _progress(steps: int, console: Console) -> Iterator[Callable[[str], None]]:
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=steps)

        def step(text: str) -> None:
            progress.update(task, description=text)
            progress.advance(task)

        yield step
