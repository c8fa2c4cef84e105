"""Diagnosis of corrupted logs, of clean logs and of logs with a load that the description lacks.

    python -m benchmarks.diagnosis [--seed 2000] [--logs 200]

Robots are bundled arms and random chains whose bodies differ from the description (`corrupted_logs`). Of the
corrupted logs, and of as many clean ones, it is counted how many `result.diagnosis` would name with kind and
joints ("named"), as something else ("other"), or not at all ("nothing"). A load is named if its body is, and
its mass within 25 % or 0.25 kg.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import helicoid as hc
from benchmarks.corrupted_logs import KINDS, LOADS, Corrupted, make, robots
from helicoid.identification.diagnosis.diagnosis import diagnose
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare

MASS_TOLERANCE = 0.25  # relative, or kg
_NAMES = {
    "sign": ("sign",),
    "swapped torques": ("swapped torques",),
    "swapped joints": ("swapped joints",),
    "degrees": ("motion unit",),
    "millinewton": ("unit",),
    "gear": ("gear", "unit"),
    "current": ("current",),
    "tilted base": ("tilted base",),
    **dict.fromkeys(LOADS, ("load",)),
}
_WORDS = {"degrees": "is it in degrees?", "millinewton": "is it in mN·m?"}


def outcome(case: Corrupted) -> tuple[str, str]:
    """ "named", "other" where something else is named, or "nothing"; and what was said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(case.robot, case.log)
        except hc.InputError as error:
            return ("named" if _WORDS.get(case.kind, "-") in str(error) else "other"), str(error)
        found = diagnose(case.robot, prepare(case.robot, case.log, 8.0)[0])
    if found is None:
        return "nothing", ""
    right = found.kind in _NAMES.get(case.kind, ())
    here = set(found.joints) <= set(case.joints) if case.kind == "current" else found.joints == case.joints
    if right and found.load is not None:
        here &= abs(found.load[0] - case.mass) < MASS_TOLERANCE * max(1.0, case.mass)
    return ("named" if right and here else "other"), found.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2000)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, *LOADS, ""], help="'' is a clean log")
    given = parser.parse_args()
    pool, corrupted = robots(), [kind for kind in given.kinds if kind]
    counts: dict[str, Counter[str]] = {}
    for n in range(given.logs):
        robot, seed = pool[n % len(pool)], given.seed + n
        kinds = [corrupted[n // len(pool) % len(corrupted)]] if corrupted else []
        for kind in [*kinds, ""] if "" in given.kinds else kinds:
            case = make(robot, seed, kind)
            told, text = outcome(case)
            counts.setdefault(kind or "clean", Counter())[told] += 1
            if told != ("named" if kind else "nothing"):
                load = f"{case.mass:.2f} kg" if case.mass else ", ".join(case.joints)
                print(f"{robot.name} {seed} {kind or 'clean'} ({load}): {told}: {text}", flush=True)
    print("| log | named | other | nothing |\n|---|---|---|---|")
    for kind, own in counts.items():
        print(f"| {kind} | {own['named']} | {own['other']} | {own['nothing']} |")


if __name__ == "__main__":
    main()
