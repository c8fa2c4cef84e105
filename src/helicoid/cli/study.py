"""Implementation of `helicoid study FILE.py`: run the study that a file defines, print its table."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from helicoid.errors import HelicoidError, InputError
from helicoid.study import Study, StudyTable


def run(
    file: Path,
    episodes: int | None,
    on: str | None,
    out: Path,
    workers: int | None,
    time_limit: float | None,
    console: Console,
) -> StudyTable:
    """Run the `Study` named `study` of a file and print its table."""
    table = load(file).run(episodes, on, out, workers=workers, time_limit=time_limit)
    console.print(escape(repr(table)), soft_wrap=True, highlight=False)
    console.print(f"[bold]{escape(str(out))}[/]", soft_wrap=True)
    return table


def load(file: Path) -> Study:
    """Load the study that a file defines.

    Raises:
        InputError: there is none, or the file cannot be run.
    """
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    sys.path.insert(0, str(file.resolve().parent))  # as Python does for a script
    try:
        variables = runpy.run_path(str(file), run_name="helicoid_study_file")
    except HelicoidError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{file}: cannot be run: {type(error).__name__}: {error}") from error
    study = variables.get("study")
    if not isinstance(study, Study):
        raise InputError(
            f"{file}: defines no hc.Study named `study`; write: study = hc.Study(episode, seed=0)"
        )
    return study
