"""Closed loops towards random targets, half out of reach: settling, limits kept, and whether `ok` is true.

    python -m benchmarks.mpc_trust [--number 16] [--seed 0] [--only panda] [--quick] [--record FILE]

For each system `number` targets, about half of them beyond reach, with default settings, six seconds each.
Every second loop has a plant that is not the model (all masses 20 % more or less; of arms also Coulomb and
viscous friction), and half of these and of the others have noise on what is measured. In one of four the
target moves from where the robot is to a point that may be beyond reach and back in four seconds, and stays
for four more; `back` is the largest distance from it at the end, with the exact model and no noise.

`v rms` is the largest rms of a velocity in the last second (rad/s, m/s), of loops with the exact model, a
wrong one, and noise. One without noise that is above 0.02 is `moving` and goes on, up to 20 s: `settled`
is when the last came to rest (s), `unsettled` those that did not. Excess is beyond hard limits, also between
samples, without noise, with the exact model and with a wrong one (of torque in all loops). A false "ok" is a
step that says ok beside a violation of more than 1 %; `ok` is its share with the exact model and a wrong one.

With `--record` every loop is a line of a file (JSON), and those that it has are not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust_systems import Case, cases
from helicoid.mpc import Controller

SECONDS, LONGEST = 6.0, 20.0
EXCURSION, AFTER = 4.0, 4.0  # s, of a target that moves
NOISE = 1e-4, 2e-3  # rad, rad/s
MAX_SPEED_AT_REST = 0.02  # rad/s, rms over a second

TITLES = (
    *("system", "loops", "v rms", "wrong model", "noise", "moving", "settled", "unsettled", "returned"),
    *("v excess", "wrong model", "q excess", "wrong model", "τ excess", "ok", "wrong model", "false ok"),
)


def loop(case: Case, rng: np.random.Generator, wrong: bool, noisy: bool, moving: bool) -> dict[str, Any]:
    """Closed loop towards one target: its measures by name."""
    controller = Controller(case.problem)
    home, goal = case.place(case.start), case.target(rng)
    controller.set(**{case.goal: home if moving else goal})
    advance = case.plant(rng, wrong)
    robot = case.problem.robot
    second, steps = round(1.0 / controller.period), round(LONGEST / controller.period)
    asked = round((EXCURSION + AFTER if moving else SECONDS) / controller.period)
    x, seen = case.start.copy(), []
    told: dict[str, Any] = dict(
        wrong=wrong, noisy=noisy, moving=moving, steps=0, ok=0, false_ok=0, torque=0.0
    )
    for k in range(steps):
        if moving:
            away = np.sin(np.pi * min(1.0, k * controller.period / EXCURSION)) ** 2
            controller.set(**{case.goal: home + away * (goal - home)})
        measured = x.copy()
        if noisy:
            measured[: case.split] += NOISE[0] * rng.normal(size=case.split)
            measured[case.split :] += NOISE[1] * rng.normal(size=len(x) - case.split)
        both = (measured,) if robot is None else (measured[: case.split], measured[case.split :])
        u = controller.step(*both)
        told["steps"] += 1
        told["ok"] += int(controller.ok)
        told["false_ok"] += int(controller.ok and bool(controller.plan.violation > 0.01))
        told["torque"] = max(told["torque"], float((np.abs(u) / case.limit).max() - 1))
        seen.append(advance(x, u))
        x = seen[-1][-1]
        if k + 1 < asked:
            continue
        last = np.concatenate(seen[-second:])[:, case.split :]
        rms = float(np.sqrt((last**2).mean(axis=0)).max())
        if k + 1 == asked:
            told["rms"] = rms
        back = float(np.linalg.norm(case.place(x) - home)) if moving else 0.0
        told |= {"still": rms <= MAX_SPEED_AT_REST, "rest": (k + 1) * controller.period, "back": back}
        if noisy or told["still"]:
            break
    return told | case.excess(np.concatenate(seen))


def row(name: str, loops: list[dict[str, Any]]) -> str:
    """Table row of a system's closed loops."""
    quiet = [one for one in loops if not one["noisy"]]
    exact = [one for one in quiet if not one["wrong"]]
    late = [one for one in quiet if one["rms"] > MAX_SPEED_AT_REST]

    def most(of: list[dict[str, Any]], key: str) -> float:
        return max((one[key] for one in of), default=0.0)

    def share(key: str, of: list[dict[str, Any]]) -> str:
        return f"{100 * sum(one[key] for one in of) / max(1, sum(one['steps'] for one in of)):.1f} %"

    kinds = exact, [one for one in quiet if one["wrong"]], [one for one in loops if one["noisy"]]
    excess = [most(of, key) for key in ("velocity", "position") for of in kinds[:2]] + [most(loops, "torque")]
    texts = [
        *(name, f"{len(loops)}", *(f"{most(of, 'rms'):.4f}" for of in kinds), f"{len(late)}"),
        f"{most([one for one in late if one['still']], 'rest'):.1f}" if late else "",
        *(f"{sum(not one['still'] for one in quiet)}", f"{most(exact, 'back'):.3f}"),
        *(f"{100 * max(0.0, value):.2f} %" for value in excess),
        *(share("ok", [one for one in loops if one["wrong"] == wrong]) for wrong in (False, True)),
        share("false_ok", loops),
    ]
    return f"| {' | '.join(texts)} |"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--number", type=int, default=16, help="targets for each system")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="systems whose name contains this")
    parser.add_argument("--quick", action="store_true", help="two small systems, four targets")
    parser.add_argument("--record", type=Path, help="a file of loops that were run, to go on from")
    options = parser.parse_args()
    number = min(4, options.number) if options.quick else options.number
    known: dict[tuple[str, int, int], dict[str, Any]] = {}
    if options.record is not None and options.record.exists():
        for line in options.record.read_text().splitlines():
            one = json.loads(line)
            known[one["system"], one["seed"], one["number"]] = one
    print(f"| {' | '.join(TITLES)} |\n{'|---' * len(TITLES)}|", flush=True)
    for make in cases(options.quick):
        system = make.__name__
        if options.only.lower() not in system:
            continue
        case, loops = make(), []
        for k in range(number):
            key = system, options.seed, k
            if key not in known:
                rng = np.random.default_rng([options.seed, k])
                told = loop(case, rng, wrong=k % 2 == 1, noisy=k % 4 > 1, moving=k % 16 > 11)
                known[key] = dict(system=system, seed=options.seed, number=k) | told
                if options.record is not None:
                    with options.record.open("a") as file:
                        file.write(json.dumps(known[key]) + "\n")
            loops.append(known[key])
        print(row(case.name, loops), flush=True)


if __name__ == "__main__":
    main()
