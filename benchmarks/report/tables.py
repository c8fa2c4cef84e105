"""The tables of a run, once for the terminal and once for a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from benchmarks.harness.batches import INTO, WALL
from benchmarks.report import published
from benchmarks.report.results import OURS, Results, Timing, distinct
from benchmarks.report.targets import outcomes


@dataclass(frozen=True)
class Sheet:
    """A table: a title, columns, rows, and a line below."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    shown: int | None = None
    """How many of the columns the terminal shows; all if None, 0 to leave the table to the file."""
    labels: int = 1
    """How many of the columns say what a row is about."""

    def markdown(self) -> str:
        """As a section of a Markdown file."""
        lines = [f"## {self.title}", "", _line(self.columns)]
        lines.append(_line(tuple(":--" if k == 0 else "--:" for k in range(len(self.columns)))))
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])

    def rich(self, width: int) -> Group:
        """For a terminal so wide: columns beyond it go on below, beside the labels again."""
        tables: list[Table] = []
        for columns in self._blocks(width):
            title = escape(self.title) if not tables else None
            table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
            for k in columns:
                side: Literal["left", "right"] = "left" if k == 0 else "right"
                table.add_column(escape(self.columns[k]), justify=side, overflow="fold", no_wrap=k > 0)
            for row in self.rows:
                table.add_row(*(escape(row[k]) for k in columns))
            tables.append(table)
        return Group(*tables, *([Text(self.note, style="dim"), Text()] if self.note else []))

    def _blocks(self, width: int) -> list[list[int]]:
        """The columns that stand beside each other."""
        widths = [3 + max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        labels = list(range(self.labels))
        widths[0] = min(widths[0], 2 * width // 5)  # it may be broken into lines
        taken = sum(widths[k] for k in labels)
        blocks, used = [labels], taken
        for k in range(len(labels), len(self.columns[: self.shown])):
            if len(blocks[-1]) > len(labels) and used + widths[k] > width:
                blocks.append(labels)
                used = taken
            blocks[-1] = [*blocks[-1], k]
            used += widths[k]
        return blocks


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def sheets(results: Results) -> Iterator[Sheet]:
    """All tables of a run."""
    yield target_sheet(results)
    yield from _call_sheets(results)
    if any(results.of_kind("batch")):
        yield _batch_sheet(results)
    if any(results.of_kind("rollout")):
        yield _rollout_sheet(results)
    yield from _growth_sheets(results)
    if results.figures:
        rows = [(f.what, _figure(f.value, f.unit), f.note) for f in results.figures]
        yield Sheet("Starting, compiling, memory, the limit", ("what", "figure", "note"), rows, shown=2)
    yield _absent_sheet(results)


def target_sheet(results: Results) -> Sheet:
    """Table of targets and results."""
    marks = {True: "yes", False: "NO", None: "–"}
    rows = [(o.what, o.target, o.reached, marks[o.met], o.detail) for o in outcomes(results)]
    note = "Ratios say how many times longer the other takes. Least and greatest over the cases listed."
    disturbed, measured = results.disturbed
    if disturbed:
        note += (
            f" Other programs used over a quarter of a core during {disturbed} of {measured} measurements, "
            "marked * below: those can be off by a factor of two, ratios included."
        )
    return Sheet("Targets", ("what", "target", "reached", "met", "each"), rows, note, shown=4)


def _call_sheets(results: Results) -> Iterator[Sheet]:
    timings = list(results.of_kind("call"))
    libraries = _libraries(timings)
    times, ratios = [], []
    for robot, label in dict.fromkeys((t.robot, t.quantity) for t in timings):
        found = {t.library: t for t in timings if (t.robot, t.quantity) == (robot, label)}
        ours = found[OURS].seconds or 0.0
        head = robot, _marked(label, found[OURS]), f"{found[OURS].operations:,}", f"{ours * 1e6:.3f}"
        times.append((*head, *(_cell(found.get(name), 1e-6) for name in libraries)))
        ratios.append((*head, *(_cell(found.get(name), ours) for name in libraries)))
    columns = ("robot", "quantity", "ops", f"{OURS}, µs", *libraries)
    note = "ops: operations of one evaluation. –: not offered by that library, or see the end of the file."
    if timings:
        yield Sheet("One call: how many times longer others take", columns, ratios, note, labels=2)
        yield Sheet("One call, µs", columns, times, shown=0)


def _marked(text: str, timing: Timing) -> str:
    return f"{text} *" if timing.disturbed else text


def _cell(timing: Timing | None, unit: float) -> str:
    """A time in some unit, or why there is none."""
    if timing is None or timing.seconds is None:
        failed = timing is not None and timing.note.startswith(("differs", "fails"))
        return timing.note.split(":")[0] if failed and timing else "–"
    return f"{timing.seconds / unit:.3g}"


def _batch_sheet(results: Results) -> Sheet:
    def cell(value: float | None) -> str:
        return "–" if value is None else f"{value:.3g}"

    def nanoseconds(robot: str, label: str, name: str, n: int) -> float | None:
        seconds = results.seconds("batch", robot, label, name, n)
        return None if seconds is None else 1e9 * seconds

    rows = []
    for robot, label in dict.fromkeys((t.robot, t.quantity) for t in results.of_kind("batch")):
        times = [nanoseconds(robot, label, name, n) for name in (OURS, INTO, "Pinocchio") for n in (1, 2)]
        ratios = [results.ratio("batch", robot, label, "Pinocchio", n) for n in (1, 2)]
        one, two = nanoseconds(robot, label, WALL, 1), times[1]
        gain = one / two if one and two else None
        ours = next(t for t in results.of_kind("batch") if (t.robot, t.quantity) == (robot, label))
        rows.append((robot, _marked(label, ours), *map(cell, (*times, *ratios, gain))))
    columns = (
        *("robot", "quantity", "ours 1T", "2T", "out= 1T", "2T", "Pinocchio 1T", "2T"),
        *("ratio 1T", "2T", "2T gain"),
    )
    note = (
        "nT: on n threads. Batches are smaller where a result would exceed 256 MB. Calls make their own "
        "result but for those with out=. Pinocchio's are rneaInParallel and abaInParallel on columns, the "
        "form that suits it (ours takes rows); it has no batches of derivatives, which come from its Python "
        "calls one by one."
    )
    if not results.has_second_core:
        note += " No second core was free in this run: the times on two threads say nothing."
    return Sheet(f"Batches of {results.batch:,}, ns a state", columns, rows, note, labels=2)


def _rollout_sheet(results: Results) -> Sheet:
    timings = list(results.of_kind("rollout"))
    libraries = _libraries(timings)
    rows = []
    for robot, label, n in dict.fromkeys((t.robot, t.quantity, t.threads) for t in timings):
        found = {t.library: t for t in timings if (t.robot, t.quantity, t.threads) == (robot, label, n)}
        ours = found[OURS].seconds or 0.0
        others = (_both(found.get(name), ours) for name in libraries)
        rows.append((robot, _marked(f"{label}, {n}T", found[OURS]), f"{ours * 1e6:.3g}", *others))
    note = (
        "Runge-Kutta at 1 kHz with given torques, no contacts; the whole call of simulate counts. MuJoCo is "
        "its module rollout, MuJoCo, mj_step a loop in Python; Pinocchio is aba in a loop in Python."
    )
    return Sheet(
        "Simulation, µs a step (times longer)", ("robot", "what", OURS, *libraries), rows, note, labels=2
    )


def _both(timing: Timing | None, ours: float) -> str:
    if timing is None or timing.seconds is None:
        return _cell(timing, 1e-6)
    return f"{timing.seconds * 1e6:.3g} ({timing.seconds / ours:.3g}×)"


def _growth_sheets(results: Results) -> Iterator[Sheet]:
    timings = list(results.of_kind("growth"))
    libraries = _libraries(timings)
    for label in distinct(t.quantity for t in timings):
        known = dict(zip(published.JOINTS, published.CHAINS.get(label, ()), strict=False))
        rows = []
        for n in sorted({t.velocities for t in timings if t.quantity == label}):
            found = {t.library: t for t in timings if (t.quantity, t.velocities) == (label, n)}
            ours = found[OURS].seconds or 0.0
            counts = f"{found[OURS].operations:,}", f"{known[n]:,}" if n in known else "–"
            times = [_cell(found.get(name), 1e-6) for name in libraries]
            rows.append((_marked(str(n), found[OURS]), *counts, f"{ours * 1e6:.3f}", *times))
        columns = ("joints", "ops", "published by urdf2casadi", OURS, *libraries)
        yield Sheet(f"Growth with the number of joints: {label}, µs a call", columns, rows, shown=0)


def _absent_sheet(results: Results) -> Sheet:
    """Libraries that are missing, and what of the others was not timed and why."""
    rows = [(name, "everything", f"missing: {why}") for name, why in results.missing.items()]
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for t in results.timings:
        if t.kind == "call" and t.seconds is None:
            reasons.setdefault((t.library, t.robot, t.note), []).append(t.quantity)
    merged: dict[tuple[str, str, str], list[str]] = {}
    for (library, robot, note), labels in reasons.items():
        merged.setdefault((library, ", ".join(labels), note), []).append(robot)
    rows += [(name, f"{labels} ({', '.join(robots)})", why) for (name, labels, why), robots in merged.items()]
    note = " ".join(f"{remark}." for remark in results.remarks)
    return Sheet("Not timed", ("library", "what", "why"), rows, note, shown=0)


def _libraries(timings: list[Timing]) -> list[str]:
    return [name for name in distinct(t.library for t in timings) if name != OURS]


def _figure(value: float, unit: str) -> str:
    if unit == "s" and value < 0.1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.0%}" if not unit else f"{value:.3g} {unit}".replace(" ×", "×")


def show(results: Results, console: Console) -> None:
    """Print every table."""
    for sheet in sheets(results):
        if sheet.shown != 0:
            console.print(sheet.rich(console.width))
