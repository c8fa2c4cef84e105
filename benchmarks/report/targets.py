"""Targets, beside the results of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.harness.batches import WALL
from benchmarks.harness.rollouts import MANY, ONE
from benchmarks.report.results import OURS, UNCLEAN, Results

ARMS = ("ur5", "panda")
CALLS = ("ID", "FD (ABA)", "M", "G")
JACOBIANS = ("∂ID", "∂ID (AD)")


@dataclass(frozen=True)
class Outcome:
    """A target and what was reached; `met` is None where it was not measured."""

    what: str
    target: str
    reached: str
    met: bool | None
    detail: str = ""


def outcomes(results: Results) -> Iterator[Outcome]:
    """Every target, in the order in which they were set."""
    yield from _calls(results)
    yield from _batches(results)
    yield from _rollouts(results)
    yield _lower("compile ID of a 7-joint arm, empty cache", 1.0, results.figure("cold"), "s")
    yield _lower("load it from the cache", 0.030, results.figure("cached"), "s")
    for kind in ("scalar", "batch"):
        what = f"compile 100,000 operations on one core, {kind} code"
        yield _lower(what, 20.0, results.figure(f"compile {kind}"), "s")
    shares = {key: results.figure(f"share {key}") for key in ("ID", "∂ID", "∂ID (AD)")}
    yield _least("share of the multiply-add limit, batches of ID and its Jacobian", 0.5, shares, "")
    whole = {key: results.figure(f"share+ {key}") for key in shares}
    yield _least("the same, sin and cos counted at what they cost", 0.5, whole, "")
    yield _memory(results)
    yield _registers(results)


def _calls(results: Results) -> Iterator[Outcome]:
    def ratios(library: str, robots: Iterable[str], labels: Iterable[str]) -> dict[str, float | None]:
        pairs = [(robot, label) for robot in robots for label in labels]
        return {f"{r} {label}": results.ratio("call", r, label, library) for r, label in pairs}

    yield _least("one call, against Pinocchio: ID, FD, M, G", 4.0, ratios("Pinocchio", ARMS, CALLS))
    yield _least("one call, against urdf2casadi: the same", 50.0, ratios("urdf2casadi", ARMS, CALLS))
    yield _least("one call of ID's Jacobian, against Pinocchio", 3.0, ratios("Pinocchio", ARMS, JACOBIANS))
    yield _least("one call of ID, Talos, against Pinocchio", 3.0, ratios("Pinocchio", ["talos"], ["ID"]))


def _batches(results: Results) -> Iterator[Outcome]:
    for label, factor in (("ID", 12.0), ("FD (ABA)", 8.0)):
        ratios = {
            f"{robot}, {n} thread{'s' * (n > 1)}": results.ratio("batch", robot, label, "Pinocchio", n)
            for robot in ARMS
            for n in ((1, 2) if results.has_second_core else (1,))
        }
        yield _least(f"batch of {label}, against Pinocchio's in parallel", factor, ratios)
    jacobians: dict[str, float | None] = {}
    gains: dict[str, float | None] = {}
    for robot in ARMS:
        for label in JACOBIANS:
            jacobians[f"{robot} {label}"] = results.ratio("batch", robot, label, "Pinocchio")
        for label in ("ID", "FD (ABA)", "∂ID"):
            one = results.seconds("batch", robot, label, WALL, 1)
            two = results.seconds("batch", robot, label, OURS, 2)
            gains[f"{robot} {label}"] = one / two if one and two else None
    yield _least("batch of ID's Jacobians, against Pinocchio's calls", 25.0, jacobians)
    yield _second_core(_least("two threads against one, large batch", 1.7, gains), results)


def _rollouts(results: Results) -> Iterator[Outcome]:
    robot = next((t.robot for t in results.of_kind("rollout")), "")
    one = {name: results.ratio("rollout", robot, ONE, name) for name in ("MuJoCo", "MuJoCo, mj_step")}
    yield _least("one rollout, against MuJoCo", 5.0, one)
    threads = (1, 2) if results.has_second_core else (1,)
    many = {f"{n} thread{'s' * (n > 1)}": results.ratio("rollout", robot, MANY, "MuJoCo", n) for n in threads}
    yield _least("rollouts side by side, against MuJoCo's rollout", 16.0, many)


def _second_core(outcome: Outcome, results: Results) -> Outcome:
    offered = results.figure("second core")
    if offered is None:
        return outcome
    detail = f"a loop without memory gains {offered:.2f} here; {outcome.detail}"
    if results.has_second_core:
        return replace(outcome, detail=detail)
    return replace(outcome, reached="no core was free", met=None, detail=detail)


def _registers(results: Results) -> Outcome:
    ours = [t for t in results.timings if t.library == OURS and t.threads == 1]
    unclean = [f"{t.robot} {t.quantity} ({t.kind})" for t in ours if t.note == UNCLEAN]
    what, target = "calls that leave vector registers in use, which slows others", "none"
    reached = f"{len(unclean)} of {len(ours)}"
    return Outcome(what, target, reached, not unclean if ours else None, ", ".join(unclean))


def _least(what: str, target: float, values: Mapping[str, float | None], unit: str = "×") -> Outcome:
    goal = f"≥ {target:g}{unit}"
    known = {key: value for key, value in values.items() if value is not None}
    if not known:
        return Outcome(what, goal, "not measured", None)
    least, most = min(known.values()), max(known.values())
    reached = f"{least:.3g}{unit}" if len(known) == 1 else f"{least:.3g} … {most:.3g}{unit}"
    detail = ", ".join(f"{key} {value:.3g}" for key, value in known.items())
    return Outcome(what, goal, reached, least >= target, detail)


def _lower(what: str, target: float, value: float | None, unit: str) -> Outcome:
    goal = f"< {target:g} {unit}"
    if value is None:
        return Outcome(what, goal, "not measured", None)
    return Outcome(what, goal, f"{value:.3g} {unit}", value < target)


def _memory(results: Results) -> Outcome:
    what, target = "memory of a batch call beyond its result", "does not grow with N"
    found = {f.key.removeprefix("memory "): f.value for f in results.figures if f.key.startswith("memory ")}
    # The result itself must have been seen: a peak that lies before the call would hide all that comes.
    if not found or min(found.values()) < -1.0:
        return Outcome(what, target, "not measured", None)
    detail = ", ".join(f"{key} thread(s): {value:.2f} MB" for key, value in found.items())
    # A copy of one input of the largest batch would be tens of MB; pages and stacks of threads are not.
    most = max(found.values())
    return Outcome(what, target, f"at most {most:.2f} MB", most < 4.0, detail)
