"""The tables of a run, once for the terminal and once for a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from helicoid.benchmark import published
from helicoid.benchmark.results import OURS, Results, Timing, distinct
from helicoid.benchmark.targets import outcomes


@dataclass(frozen=True)
class Sheet:
    """A table: a title, columns, rows, and a line below."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        """As a section of a Markdown file."""
        lines = [f"## {self.title}", "", _line(self.columns)]
        lines.append(_line(tuple(":--" if k == 0 else "--:" for k in range(len(self.columns)))))
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])

    def rich(self) -> Group:
        """For the terminal."""
        table = Table(box=box.SIMPLE_HEAD, title=escape(self.title), title_justify="left", title_style="bold")
        for k, column in enumerate(self.columns):
            table.add_column(escape(column), justify="left" if k == 0 else "right")
        for row in self.rows:
            table.add_row(*(escape(cell) for cell in row))
        return Group(table, *([Text(self.note, style="dim"), Text()] if self.note else []))


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def sheets(results: Results) -> Iterator[Sheet]:
    """All tables of a run."""
    yield target_sheet(results)
    yield from _call_sheets(results)
    if any(results.of_kind("batch")):
        yield _batch_sheet(results)
    yield from _growth_sheets(results)
    if results.figures:
        rows = [(f.what, _figure(f.value, f.unit), f.note) for f in results.figures]
        yield Sheet("Starting, compiling, memory, the limit", ("what", "figure", "note"), rows)
    yield _absent_sheet(results)


def target_sheet(results: Results) -> Sheet:
    """What was wanted and what was reached."""
    marks = {True: "yes", False: "NO", None: "–"}
    rows = [(o.what, o.target, o.reached, marks[o.met], o.detail) for o in outcomes(results)]
    note = "Ratios say how many times longer the other takes. Least and greatest over the cases listed."
    return Sheet("Targets", ("what", "target", "reached", "met", "each"), rows, note)


def _call_sheets(results: Results) -> Iterator[Sheet]:
    timings = list(results.of_kind("call"))
    libraries = _libraries(timings)
    for robot in distinct(t.robot for t in timings):
        rows = []
        for label in distinct(t.quantity for t in timings if t.robot == robot):
            found = {t.library: t for t in timings if (t.robot, t.quantity) == (robot, label)}
            ours = found[OURS].seconds or 0.0
            cells = [_compared(found.get(name), ours) for name in libraries]
            rows.append((label, f"{found[OURS].operations:,}", f"{ours * 1e6:.3f}", *cells))
        velocities = next(t.velocities for t in timings if t.robot == robot)
        title = f"One call, µs: {robot}, {velocities} velocities"
        yield Sheet(title, ("quantity", "operations", OURS, *libraries), rows, "In brackets: times Helicoid's.")


def _compared(timing: Timing | None, ours: float) -> str:
    if timing is None or timing.seconds is None:
        differs = timing is not None and timing.note.startswith(("differs", "fails"))
        return timing.note.split(":")[0] if differs and timing else "–"
    return f"{timing.seconds * 1e6:.3g} ({timing.seconds / ours:.3g})"


def _batch_sheet(results: Results) -> Sheet:
    rows = []
    pairs = list(dict.fromkeys((t.robot, t.quantity) for t in results.of_kind("batch")))
    for robot, label in pairs:
        cells = []
        for name in (OURS, "Pinocchio"):
            for n in (1, 2):
                seconds = results.seconds("batch", robot, label, name, n)
                cells.append("–" if seconds is None else f"{seconds * 1e9:.3g}")
        ratios = [results.ratio("batch", robot, label, "Pinocchio", n) for n in (1, 2)]
        cells += ["–" if ratio is None else f"{ratio:.3g}" for ratio in ratios]
        one, two = (results.seconds("batch", robot, label, OURS, n) for n in (1, 2))
        cells.append("–" if not one or not two else f"{one / two:.2f}")
        call = results.seconds("call", robot, label, "Pinocchio")
        cells.append("–" if not one or not call else f"{call / one:.3g}")
        rows.append((f"{robot} {label}", *cells))
    columns = (
        *("", f"{OURS}, 1 thread", "2 threads", "Pinocchio, 1 thread", "2 threads", "ratio, 1 thread"),
        *("ratio, 2 threads", f"{OURS}: 2 threads to 1", "Pinocchio's Python call to ours, 1 thread"),
    )
    note = (
        "Every call makes its own result. Pinocchio's is rneaInParallel, abaInParallel on columns, the form it "
        "takes; ours takes rows. Pinocchio has no batches of derivatives: the last column compares its single call."
    )
    return Sheet("Batches, ns a state", columns, rows, note)


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
            rows.append((str(n), *counts, f"{ours * 1e6:.3f}", *(_compared(found.get(name), ours) for name in libraries)))
        columns = ("joints", "operations", "published (urdf2casadi)", f"{OURS}, µs", *libraries)
        yield Sheet(f"Growth with the number of joints: {label}", columns, rows)


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
    return Sheet("Not timed", ("library", "what", "why"), rows, " ".join(f"{r}." for r in results.remarks))


def _libraries(timings: list[Timing]) -> list[str]:
    return [name for name in distinct(t.library for t in timings) if name != OURS]


def _figure(value: float, unit: str) -> str:
    if unit == "s" and value < 0.1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.0%}" if not unit else f"{value:.3g} {unit}"


def show(results: Results, console: Console) -> None:
    """Print every table."""
    for sheet in sheets(results):
        console.print(sheet.rich())
