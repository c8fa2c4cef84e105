"""Commissioning of arms with hidden plants: tracking errors with the description, commissioned, and exact.

    python -m benchmarks.commissioning [arms] [seed]        # arms: a number, or names with commas

For each arm of `plants.ARMS`, `hc.commission` with its defaults on a plant in MuJoCo that differs from the
description in masses (up to 30 %), payload, friction (viscous, Coulomb, Stribeck), armature, delay (1 to 3
samples), encoder quantisation, torque noise and gains (5 %). Then computed torque and MPC track a motion that
was not used, with the description, with the commissioned robot and with the true one: the last with the same
rules for gains, and the true delay.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
import warnings
from typing import Any

import numpy as np

import helicoid as hc
from benchmarks.commissioning.plants import ARMS, Hidden, MujocoArm, described, hidden
from helicoid.commissioning.controllers import computed_torque, tracking_mpc
from helicoid.commissioning.margins import allowed_frequency
from helicoid.commissioning.motions import MotionSettings, planned_motion
from helicoid.identification.excitation.bounds import find_bounds
from helicoid.identification.excitation.start import start_problem

SECONDS, MPC_STEPS = 4.0, 10
MAX_LOAD = 0.25  # of the effort, by gravity at the start
MAX_CLEAR_LOAD = 0.45  # where other postures have links too near


def start_of(robot: hc.Robot) -> Any:
    """The middle of the joints' ranges, if it is clear of the robot itself and gravity loads the arm little.

    Else the posture with least load of those that are clear, among 500 about the middle or 500 farther away.
    """
    lower, upper = (np.where(np.isfinite(x), x, 0.0) for x in (robot.limits.lower, robot.limits.upper))
    middle, half, rng = (lower + upper) / 2, (upper - lower) / 2, np.random.default_rng(0)
    bounds, _ = find_bounds(robot, 0.9, 1.0, None, MAX_CLEAR_LOAD / 0.9 * robot.limits.effort, None, 0.02)
    for width in (0.6, 0.85):
        tried = np.vstack([middle, middle + width * half * rng.uniform(-1, 1, (500, robot.nv))])
        load = np.abs(np.asarray(robot.gravity(tried)) / robot.limits.effort).max(axis=1)
        load[0] = 0.0 if load[0] < MAX_LOAD else load[0]
        for q in tried[np.argsort(load, kind="stable")]:
            if not start_problem(robot, bounds, q):
                return q
    return middle


def tracked(plant: MujocoArm, law: Any, motion: Any, q0: Any, mpc: bool) -> dict[str, Any]:
    """RMS of the measured tracking error (rad, m), and the share of ok steps."""
    plant.start(q0)
    law.reset()
    errors, fine = [], []
    nodes = law.period * np.arange(21) if mpc else None
    n = round(SECONDS / plant.period)
    q_ref, v_ref, a_ref = motion.at(plant.period * np.arange(n))
    for k in range(n):
        sample = plant.measure()
        if not mpc:
            tau = law.step(sample.q, sample.v, q_ref[k], v_ref[k], a_ref[k])
        elif k % MPC_STEPS == 0:
            law.set(posture=motion.at(k * plant.period + nodes)[0])
            tau = law.step(sample.q, sample.v)
        fine.append(bool(law.ok) or law.status == "saturated")
        plant.apply(tau)
        errors.append(sample.q - q_ref[k])
    return {"rms": float(np.sqrt(np.mean(np.square(errors)))), "ok": float(np.mean(fine))}


def arena(name: str, seed: int) -> dict[str, Any]:
    """Figures of one arm."""
    robot = described(name)
    true: Hidden = hidden(name, robot, seed)
    q0 = start_of(robot)
    plant = MujocoArm(true, q0, seed)
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = hc.commission(robot, plant, folder, progress=False)
    row: dict[str, Any] = {"arm": name, "seed": seed, "joints": robot.nv, "status": str(result.status)}
    row |= {"message": result.message, "payload": true.payload, "delay": true.delay}
    row |= {"processor": round(time.process_time() - began, 1), "broken": int(plant.broken)}
    if result.delay is not None:
        row["delay found"] = 1e3 * result.delay.seconds
    if not result.success:
        return row | {"excess": plant.largest.round(4).tolist(), "nan": plant.not_finite}
    row["relative"] = float(np.median(result.validation.relative))
    row["coverage"] = float(result.validation.coverage.min())
    row["frequency"] = result.frequency
    exact = true.robot
    motion = planned_motion(exact, q0, MotionSettings("test", 0.5, 0.8, SECONDS, 3, 1000 + seed, 15), None)
    frequency = allowed_frequency((true.delay + 1.5) * plant.period, plant.period, 40.0)
    for label, model, w in (
        ("description", robot, result.frequency),
        ("commissioned", None, result.frequency),
        ("exact", exact, frequency),
    ):
        law = result.controllers.computed_torque if model is None else computed_torque(model, w, plant.period)
        row[f"torque {label}"] = tracked(plant, law, motion, q0, False)
        mpc = result.controllers.mpc if model is None else tracking_mpc(model, q0, 0.8 * w, 0.01)
        row[f"mpc {label}"] = tracked(plant, mpc, motion, q0, True)
        if label == "commissioned":
            row["broken"], row["nan"] = int(plant.broken), plant.not_finite
            row["excess"] = plant.largest.round(4).tolist()
        if label == "description":
            plant.broken, plant.not_finite, plant.largest = row["broken"], 0, 0 * plant.largest
    for kind in ("torque", "mpc"):
        row[f"{kind} ratio"] = row[f"{kind} commissioned"]["rms"] / row[f"{kind} exact"]["rms"]
    return row


def main() -> None:
    """Run, print a line for each arm, and a summary."""
    chosen = sys.argv[1] if len(sys.argv) > 1 else str(len(ARMS))
    names = list(ARMS)[: int(chosen)] if chosen.isdigit() else chosen.split(",")
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rows = []
    for name in names:
        try:
            rows.append(arena(name, seed))
        except Exception:
            traceback.print_exc()
            rows.append({"arm": name, "status": "raised"})
        print(json.dumps(rows[-1]), flush=True)
    for kind in ("torque", "mpc"):
        ratios = [row[f"{kind} ratio"] for row in rows if f"{kind} ratio" in row]
        if ratios:
            print(f"{kind}: median {np.median(ratios):.2f}, worst {max(ratios):.2f} of {len(ratios)}")


if __name__ == "__main__":
    main()
