"""Implementation of `helicoid identify`: from logs to an identified URDF, its parameters and a report."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from helicoid.errors import HelicoidError, InputError
from helicoid.identification.identify import identify
from helicoid.identification.loads.gains import torques_from_currents
from helicoid.identification.logs.log import DoubtfulLogWarning, Log
from helicoid.identification.refinement.friction_models import MODELS
from helicoid.identification.refinement.nonlinear import fit_nonlinear
from helicoid.identification.report.assessment import Assessment
from helicoid.identification.result import Identification
from helicoid.robot import Robot

_COLORS = {"good": "green", "doubtful": "yellow", "bad": "red"}


def run(
    robot: Robot,
    logs: Sequence[Path],
    validate: Path | None,
    output: Path,
    console: Console,
    *,
    friction: str | None = None,
    gains: Sequence[float] | None = None,
    **options: Any,
) -> Assessment:
    """Identify from the logs, write identified.urdf, report.html and parameters.csv, print a summary.

    `friction` names a model of `fit_nonlinear`, which then starts from the linear result; with `gains` logs
    hold currents; `options` are those of `identify`. Warnings about the logs are printed before the summary.
    """
    if friction is not None and friction not in MODELS:
        raise InputError(f"no friction model is called {friction!r}; there are: {', '.join(MODELS)}")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HelicoidError(f"{output}: no folder can be created there: {error}") from error
    with log_warnings(console):
        training = [read_log(path, robot, gains) for path in logs]
        validation = None if validate is None else read_log(validate, robot, gains)
        result = identify(robot, training, **options)
        if friction is not None:
            result = fit_nonlinear(result, training, friction)
        assessment = Assessment(result, training, validation)
        written = _write(result, validation, output)
    _print(assessment, written, console)
    return assessment


@contextmanager
def log_warnings(console: Console) -> Iterator[None]:
    """Collect warnings about logs and print each once at the end of the block."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DoubtfulLogWarning)
        yield
    for text in dict.fromkeys(str(one.message) for one in caught):
        console.print(f"[bold yellow]warning[/] {escape(text)}", soft_wrap=True)


def read_log(path: Path, robot: Robot, gains: Sequence[float] | None = None) -> Log:
    """Log from a file: .npz, a bag (.mcap, .db3, .bag or a folder), or CSV with a header line.

    With drive gains (N·m/A), its torque columns hold currents (A).
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir() or path.suffix in (".mcap", ".db3", ".bag"):
        log = Log.from_bag(path, robot=robot)
    else:
        log = Log.from_npz(path) if path.suffix == ".npz" else Log.from_csv(path)
    return log if gains is None else torques_from_currents(log, gains)


def _write(result: Identification, validation: Log | None, output: Path) -> list[Path]:
    urdf, page, table = (output / name for name in ("identified.urdf", "report.html", "parameters.csv"))
    result.report(page, validation)
    write_parameters(result, table)
    result.to_urdf(urdf)  # last: it fails for parameters that a URDF cannot express
    return [urdf, page, table]


def write_parameters(result: Identification, path: Path) -> None:
    """Write names, values, standard deviations and prior values as CSV, in SI units."""
    own = result.parameters
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["parameter", "value", "sigma", "described"])
            for row in zip(own.names, own.values, own.sigma, own.nominal, strict=True):
                writer.writerow([row[0], *(repr(float(x)) for x in row[1:])])
    except OSError as error:
        raise HelicoidError(f"{path}: cannot be written: {error}") from error


def _print(assessment: Assessment, written: Sequence[Path], console: Console) -> None:
    scores = [("fitted", assessment.fitted)]
    if np.isfinite(assessment.result.held_out.overall_relative):
        scores.append(("cross-validation", assessment.result.held_out))
    if assessment.validation is not None:
        scores.append(("validation", assessment.unseen))
    table = Table(box=None, header_style="bold", title="Relative torque error", title_justify="left")
    table.add_column("joint")
    for name, _ in scores:
        table.add_column(name, justify="right")
    for k, joint in enumerate(assessment.fitted.names):
        table.add_row(escape(joint), *(_percent(score.relative[k]) for _, score in scores))
    table.add_row("[bold]all[/]", *(f"[bold]{_percent(s.overall_relative)}[/]" for _, s in scores))
    console.print(table)
    for check in assessment.checks:
        lamp = f"[{_COLORS[check.light]}]●[/]"
        console.print(f"{lamp} {escape(check.question)} {escape(check.answer)}", soft_wrap=True)
    color = _COLORS[assessment.light]
    console.print(f"\n[bold {color}]{escape(assessment.verdict)}[/]\n", soft_wrap=True)
    for path in written:
        console.print(escape(str(path)), soft_wrap=True, highlight=False)


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %" if np.isfinite(value) else "–"
