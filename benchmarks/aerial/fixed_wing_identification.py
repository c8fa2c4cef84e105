"""Identification of simulated aircraft from 3-2-1-1 manoeuvres in gusts.

    python -m benchmarks.aerial.fixed_wing_identification [aircraft] [draws] [seed] [wind at 6 m]

Each draw is a description whose derivatives, tables and thrust differ from the aircraft; three flights are
logged with noise, offsets, jitter and lost samples, two to fit and one held out. Errors of that one
are divided by those of the true parameters.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.aerial.identification.fixed_wing.parameters import layout_of
from helicoid.aerial.identification.fixed_wing.result import aircraft_stretches, judge

STEP, SECONDS = 0.01, 32.0
SPEEDS = {"aerosonde": 25.0, "cessna_172": 66.75, "navion": 53.6, "f16": 153.0}
UNITS = {"aerosonde": 0.2, "cessna_172": 0.5, "navion": 0.5, "f16": 0.5}
"""Unit (s) of a 3-2-1-1, about a third of the period of the short period mode."""
AMPLITUDES = {"f16": 0.02}


@dataclass(frozen=True, eq=False)
class Draw:
    """An aircraft, its description, and what the log leaves out."""

    name: str
    described: hc.aerial.FixedWing
    true: hc.aerial.FixedWing
    point: dict[str, float]
    delay: float
    gyro_bias: Array
    accelerometer_bias: Array


def draw(name: str, seed: int) -> Draw:
    """A bundled aircraft, and a description whose derivatives are off by up to 40 %."""
    true = hc.aerial.load(name)
    rng = np.random.default_rng(seed)
    layout = layout_of(true, [], np.zeros(3), np.zeros(3), True)
    point = dict(zip(layout.names, map(float, layout.prior), strict=True))
    wrong = {key: x * rng.uniform(0.65, 1.4) for key, x in point.items()}
    for key in wrong:
        if key.endswith("_0"):
            wrong[key] += 0.01 * rng.normal()
        elif key == "thrust":
            wrong[key] = rng.uniform(0.8, 1.2)
    described = layout.built(np.array([wrong[key] for key in layout.names]))
    for key in wrong:  # the truth is relative to the described tables and thrust
        if key.endswith("factor") or key == "thrust":
            point[key] = 1.0 / wrong[key]
    bias = rng.normal(0, 0.1, 3)
    point |= {f"accelerometer_bias_{a}": float(b) for a, b in zip("xyz", bias, strict=True)}
    point["delay"] = rng.uniform(0.0, 0.04)
    return Draw(name, described, true, point, point["delay"], rng.normal(0, 0.005, 3), bias)


def flight(
    case: Draw, seed: int, wind: float = 7.7, air_data: bool = True, seconds: float = SECONDS
) -> hc.aerial.FlightLog:
    """A log of a flight in gusts with 3-2-1-1 inputs on every surface, twice, and steps of the throttle."""
    rng = np.random.default_rng(seed)
    level = case.true.trim(speed=SPEEDS[case.name])
    aircraft = case.true
    mean = rng.normal(0.0, 0.3 * wind, 2)
    if wind:
        gusts = hc.aerial.Dryden(wind, height=150.0)
        aircraft = aircraft.with_wind(hc.aerial.Wind((*mean, 0.0), gusts=gusts))
    t = STEP * np.arange(round(seconds / STEP))
    u = np.tile(level.u, (len(t), 1))
    unit, size = UNITS[case.name], AMPLITUDES.get(case.name, 0.05)
    length = (seconds - 2.0) / 6
    for k in range(6):
        signed = size * rng.choice([-1, 1]) * rng.uniform(0.8, 1.2)
        manoeuvre = hc.aerial.multistep(t, 1.0 + k * length, unit * rng.uniform(0.8, 1.25), signed)
        u[:, k % 3] += manoeuvre
    if u.shape[1] > 3:
        u[:, 3] += hc.aerial.multistep(t, 3.0, 2.0, 0.1 * rng.choice([-1, 1]), (3, 2, 1, 1, 2))
    lower, upper = case.true.control_limits
    u = np.clip(u, lower, upper)
    q0 = np.array(level.q) + np.array([0, 0, 500, 0, 0, 0, 0])
    v0 = np.array(level.v)
    if wind:
        R = hc.geometry.quaternion.to_matrix(q0[3:7])
        v0[3:6] += R.T @ [*mean, 0.0]
    states0 = None
    if case.true.own_states:
        states0 = np.concatenate([list(level.states.values()), np.zeros(len(aircraft.wind.states))])
    done = hc.simulate(
        aircraft, q0, v0, seconds, u, dt=STEP, substeps=2, seed=seed, states0=states0, saturate=False
    )
    return logged(case, aircraft, done, u, rng, air_data)


def logged(
    case: Draw,
    aircraft: hc.aerial.FixedWing,
    done: hc.Trajectory,
    u: Array,
    rng: np.random.Generator,
    air_data: bool,
) -> hc.aerial.FlightLog:
    """Log of the sensors: 100 Hz, 3 % of samples lost, position and air data at 50 Hz."""
    t, q, v = done.t, done.q, done.v
    R = np.array([hc.geometry.quaternion.to_matrix(x) for x in q[:, 3:7]])
    a = np.gradient(np.einsum("kij,kj->ki", R, v[:, 3:]), STEP, axis=0)
    force = np.einsum("kji,kj->ki", R, a + hc.aerial.frames.GRAVITY * np.eye(3)[2])
    flow = v[:, 3:] - np.array([
        np.asarray(aircraft.wind.in_body(Ri, z, 150.0)).ravel().astype(float) if aircraft.wind.gusts
        else np.zeros(3)
        for Ri, z in zip(R, done.states[:, len(case.true.own_states):] if done.states is not None
                         else np.zeros((len(t), 0)), strict=True)
    ])  # fmt: skip
    down = flow * [1, -1, -1]
    V = np.linalg.norm(down, axis=1)
    air = np.stack([V, np.arctan2(down[:, 2], down[:, 0]), np.arcsin(down[:, 1] / V)], axis=1)
    air += rng.normal(0, 1, air.shape) * [0.3, 0.004, 0.004]
    gyro = v[:, :3] + case.gyro_bias + rng.normal(0, 0.01, v[:, :3].shape)
    accelerometer = force + case.accelerometer_bias + rng.normal(0, 0.15, force.shape)
    kept = rng.uniform(size=len(t)) > 0.03
    jitter = rng.normal(0, 2e-4, len(t))
    slow = slice(0, None, 2)
    attitude = q[:, 3:7] + rng.normal(0, 0.002, q[:, 3:7].shape)
    position = q[slow, :3] + rng.normal(0, 0.02, q[slow, :3].shape)
    velocity = np.einsum("kij,kj->ki", R, v[:, 3:])[slow] + rng.normal(0, 0.05, (len(t[slow]), 3))
    return hc.aerial.FlightLog(
        command=(t[: len(u)] - case.delay, u),
        gyro=((t + jitter)[kept], gyro[kept]),
        accelerometer=((t + jitter)[kept], accelerometer[kept]),
        attitude=(t, attitude),
        position=(t[slow], position),
        velocity=(t[slow], velocity),
        air_data=(t[slow], air[slow]) if air_data else None,
    )


def truth(case: Draw, found: hc.aerial.FixedWingIdentification) -> Array:
    """The true parameters, in the coordinates of a fit."""
    return np.array([case.point.get(name, np.nan) for name in found.names])


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "aerosonde"
    draws = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    wind = float(sys.argv[4]) if len(sys.argv) > 4 else 7.7
    warnings.simplefilter("ignore")
    print(
        "by equation error, then output error: errors of specific force and angular acceleration over those"
    )
    print("of the true parameters, share of parameters within 95 % intervals, their error over that of the")
    print("description; then the errors of a constant, and the parameters that are farthest off, in sigmas")
    rows = []
    for seed in range(first, first + draws):
        case = draw(name, seed)
        logs = [flight(case, 1000 * seed + k, wind) for k in range(3)]
        row, told = [], []
        for method in ("equation_error", "output_error"):
            began = time.process_time()
            found = hc.aerial.identify(case.described, logs[:2], method=method)
            seconds = time.process_time() - began
            point, data = truth(case, found), aircraft_stretches(logs[2])[0]
            layout = found.layout
            best = judge(layout, data, np.where(np.isfinite(point), point, 0.0), found.means, "true")
            ours = found.score(logs[2])
            ratios = [ours.total(at)[0] / best.total(at)[0] for at in (0, 3)]
            off = np.abs(found.point - point) / np.sqrt(np.diag(found.covariance))
            wrong = np.abs(layout.prior - point) > 0
            z = np.abs(found.point - point)[wrong] / np.abs(layout.prior - point)[wrong]
            row += [*ratios, float(np.nanmean(off < 1.96)), float(np.exp(np.nanmean(np.log(z))))]
            if method == "output_error":
                row += [ours.total(at)[1] / best.total(at)[0] for at in (0, 3)]
            worst = [f"{found.names[k]} {off[k]:.1f}" for k in np.argsort(-np.nan_to_num(off))[:3]]
            told.append(f"{found.success} {seconds:.1f} s {' '.join(worst)}")
        rows.append(row)
        print(f"{seed}:", " ".join(f"{x:.2f}" for x in row), "; ".join(told), flush=True)
    print("median:", np.median(rows, axis=0).round(2), "worst:", np.max(rows, axis=0).round(2))


if __name__ == "__main__":
    main()
