"""Generalisation of identified robots to unseen motions: random robots, motions and faults.

`python -m benchmarks.identification_generalisation --cases 300 --out cases.jsonl` draws two thirds of the
cases from the seed that defaults were tuned on and one third from another. A case is a robot, a description
that is wrong by tens of percent, a recording with faults, and another motion. Scores are the errors of the
torques of that motion: of `hc.identify` with its defaults, relative to

(a) the description as given, with friction fitted to the recording,
(b) the best of a grid of fixed settings, chosen with hindsight,
(c) what the noise of the recording allows: its part of the torque times √(unknowns / samples).

The file holds a line for each case that is done; started again it goes on from there.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.identification_cases import MOTIONS, Case, make, robots
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.identification.linear.weighting import fitter, weighted_samples
from helicoid.identification.logs.preparation import prepare
from helicoid.progress import reporting
from helicoid.robot import Robot

TUNED, UNTOUCHED = 20260, 77001
REGULARISATIONS = (1.0, 100.0, 1e4)


def settings(
    case: Case, chosen: hc.Identification
) -> Callable[[tuple[str, ...], Sequence[float]], Iterator[hc.Identification]]:
    """Results of fixed unknowns and weights, with the cut-off and lag of a result; nothing is chosen."""
    stretches, _ = prepare(case.robot, case.train, chosen.cutoff)
    stretches = [samples.delayed(chosen.lag) for samples in stretches]

    def results(groups: tuple[str, ...], weights: Sequence[float]) -> Iterator[hc.Identification]:
        regression = Regression(case.robot, groups)
        with one_blas_thread():
            data = weighted_samples(regression, stretches)
            for weight in weights:
                x = fitter("consistent", regression, data, weight, None)(data.whole)
                yield replace(chosen, regression=regression, x=x)

    return results


def score(case: Case) -> dict[str, Any]:
    """The errors of a case."""
    inner = slice(60, -60)
    assert case.test.tau is not None
    wanted = np.asarray(case.test.tau)[inner]

    def error(result: hc.Identification) -> float:
        off = result.predict(case.test)[inner] - wanted
        return float(np.linalg.norm(off) / np.linalg.norm(wanted))

    started = time.process_time()
    result = hc.identify(case.robot, case.train, progress=False)
    spent = time.process_time() - started
    fixed, basic = settings(case, result), default_groups()[:4]
    a = error(next(fixed(basic, [1e8])))
    grid = [
        error(one)
        for groups in (basic, (*default_groups(), "root"))
        for one in fixed(groups, REGULARISATIONS)
    ]
    unknowns, samples = len(result.x), len(case.train) * case.robot.nv
    found: dict[str, Any] = {"error": error(result), "a": a, "b": min(grid), "seconds": spent}
    found["named"] = any("moved with one frequency" in note for note in result.notes)
    found |= {"c": case.noise * (unknowns / samples) ** 0.5, "held_out": result.held_out.overall_relative}
    low, high = result.prediction_interval(case.test)
    found["covered"] = float(np.mean((low[inner] <= wanted) & (wanted <= high[inner])))
    extra = [group for group in result.regression.groups if group not in basic]
    return {**case.labels, "regularisation": result.regularisation, "groups": extra, **found}


def summary(lines: list[dict[str, Any]]) -> str:
    """Medians, 95 % and worst of the ratios, for each of the two seeds."""
    text = []
    for name, untouched in (("tuned", False), ("untouched", True)):
        own = [line for line in lines if line["untouched"] == untouched]
        if not own:
            continue
        text.append(f"{name}: {len(own)} cases")
        for other in ("a", "b", "c"):
            r = np.array([line["error"] / max(line[other], 1e-12) for line in own])
            text.append(
                f"  error / ({other}): median {np.median(r):.2f}, 95 % {np.quantile(r, 0.95):.2f}, "
                f"worst {r.max():.2f}; above 1.1 {np.mean(r > 1.1):.1%}, 1.3 {np.mean(r > 1.3):.1%}, "
                f"2 {np.mean(r > 2):.1%}"
            )
        for name, some in (("", own), (" after one frequency", [x for x in own if x["motion"] == "one"])):
            covered = [line["covered"] for line in some]
            if covered:
                text.append(
                    f"  95 % intervals cover {np.mean(covered):.1%} of the torques{name}, "
                    f"median {np.median(covered):.1%}, least {min(covered):.1%}"
                )
        one = [line["named"] for line in own if line["motion"] == "one"]
        text.append(f"  one frequency is named in {sum(one)} of {len(one)} cases, and in "
                    f"{sum(x['named'] for x in own) - sum(one)} of {len(own) - len(one)} others")  # fmt: skip
        text.append(f"  processor time: median {np.median([line['seconds'] for line in own]):.2f} s")
    return "\n".join(text)


@functools.cache
def pool() -> list[Robot]:
    """The robots, loaded once a process."""
    return robots()


def line_of(index: int, wanted: str) -> dict[str, Any]:
    """Line of the file for one case."""
    warnings.simplefilter("ignore")
    untouched = index % 3 == 2
    seed = (UNTOUCHED if untouched else TUNED) + 1000 * index
    case = make(pool()[index % len(pool())], seed, wanted)
    return {"index": index, "untouched": untouched, **score(case)}


def run(indices: Sequence[int], wanted: str, limit: float, processes: int) -> Iterator[dict[str, Any]]:
    """Lines of cases as they are done; after `limit` seconds no other case begins."""
    spawn = multiprocessing.get_context("spawn")
    started = time.monotonic()
    with ProcessPoolExecutor(processes, mp_context=spawn) as executor:
        waiting = iter(indices)
        running = {executor.submit(line_of, i, wanted) for i in itertools.islice(waiting, processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            if time.monotonic() - started < limit:
                running |= {executor.submit(line_of, i, wanted) for i in itertools.islice(waiting, len(done))}
            for one in done:
                yield one.result()


def main() -> None:
    """Run the cases that are missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("generalisation.jsonl"))
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which no case begins")
    parser.add_argument("--motion", choices=MOTIONS, default="", help="of all cases; by default any")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="by default one for each core")
    parser.add_argument("--tuned", action="store_true", help="only cases of the seed that may be looked at")
    options = parser.parse_args()
    lines = (
        [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    )
    there = {line["index"] for line in lines}
    missing = [i for i in range(options.cases) if i not in there and not (options.tuned and i % 3 == 2)]
    started = time.monotonic()
    with reporting(None, "Cases") as tell, options.out.open("a") as file:
        for k, line in enumerate(run(missing, options.motion, options.limit, options.processes), 1):
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()
            tell("Cases", k / len(missing))
    print(summary(lines))
    print(f"{len(lines) - len(there)} cases in {(time.monotonic() - started) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
