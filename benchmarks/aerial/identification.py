"""Identification of simulated quadrotors with unknown lag, delay, voltage sag and gusts.

    python -m benchmarks.aerial.identification [draws] [seed]

Each draw is a quadrotor whose mass distribution, propellers, motors and sensors differ from the description;
three flights are logged with noise, offsets, jitter and lost samples, two to fit and one to judge. Errors of
the held-out flight are divided by those of the true parameters, which know everything but the gusts.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.aerial.identification.multirotor.result import judge
from helicoid.aerial.identification.sampling import stretches

SECONDS, STEP = 16.0, 0.004


@dataclass(frozen=True, eq=False)
class Draw:
    """A true quadrotor, its description, and what the log leaves out."""

    described: hc.aerial.Multirotor
    true: hc.aerial.Multirotor
    delay: float
    pose_delay: float
    exponent: float
    offset: float
    gain: float
    gyro_bias: Array
    accelerometer_bias: Array
    misalignment: Array


def draw(seed: int) -> Draw:
    """A description, and a quadrotor that differs from it."""
    rng = np.random.default_rng(seed)
    described = hc.aerial.load("hummingbird")
    lag_up = rng.uniform(0.01, 0.06)
    inertia = np.diag(np.asarray(described.robot.model.bodies[0].inertia.at_com)) * rng.uniform(0.8, 1.25, 3)
    inertia[2] = min(inertia[2], 0.95 * (inertia[0] + inertia[1]))
    rotors = []
    torque, hub = rng.uniform(0.7, 1.4), rng.uniform(0.5, 2.0)
    motor = hc.aerial.Motor(900.0, 0.0, lag_up, lag_up * rng.uniform(1.0, 1.6))
    for rotor in described.rotors:
        p = rotor.propeller
        propeller = replace(p, torque_curve=p.torque_curve.times(torque), hub_drag=hub * p.hub_drag)
        rotors.append(replace(rotor, propeller=propeller, motor=motor))
    com = rng.uniform(-0.01, 0.01, 3)
    robot = hc.aerial.vehicle.body_robot("true", described.robot.mass, inertia, com)
    area = rng.uniform(0.005, 0.02, 3)
    true = hc.aerial.Multirotor(robot=robot, rotors=rotors, drag_area=area)
    return Draw(
        described, true, rng.uniform(0.0, 0.03), rng.uniform(0.0, 0.04), rng.uniform(0.7, 1.1),
        rng.uniform(-50.0, 150.0), rng.uniform(600.0, 900.0),
        rng.normal(0, 0.02, 3), rng.normal(0, 0.2, 3), rng.normal(0, 0.02, 3),
    )  # fmt: skip


def flight(
    case: Draw, seed: int, gusts: float = 3.0, seconds: float = SECONDS, tachometers: bool = False
) -> hc.aerial.FlightLog:
    """A log of a flight through random waypoints in wind with gusts."""
    rng = np.random.default_rng(seed)
    quad = case.true
    if gusts:
        wind = hc.aerial.Wind((*rng.normal(0.0, 0.5, 2), 0.0), gusts=hc.aerial.Dryden(gusts, height=10.0))
        quad = quad.with_wind(wind)
    law = hc.aerial.GeometricControl(case.true, dt=STEP)
    points = np.cumsum(rng.uniform(-2.5, 2.5, (10, 3)) * [1, 1, 0.3], axis=0)
    points[:, 2] += 10.0
    path = hc.aerial.minimum_snap(points, vehicle=case.true, speed=2.5)
    t = STEP * np.arange(round(seconds / STEP) + 1)
    yaw = 0.8 * np.sin(0.9 * t)
    law = law.following(**{**path.references(np.minimum(t, path.duration)), "yaw": yaw})
    done = hc.simulate(
        quad, [*points[0], 1, 0, 0, 0], duration=seconds, controller=law, dt=STEP, substeps=2, seed=seed
    )
    return logged(case, done, rng, tachometers)


def logged(
    case: Draw, done: hc.Trajectory, rng: np.random.Generator, tachometers: bool
) -> hc.aerial.FlightLog:
    """Log of the sensors and the flight controller."""
    t, q, v = done.t, done.q, done.v
    speeds = np.vstack([done.controls, done.controls[-1:]])[: len(t)]
    load = np.sum(speeds**3, axis=1) / np.sum(np.full(4, 450.0) ** 3)
    voltage = 12.3 - 0.05 * t - 0.4 * load
    throttle = (speeds / (voltage / 11.5)[:, None] ** case.exponent - case.offset) / case.gain
    R = np.array([hc.geometry.quaternion.to_matrix(x) for x in q[:, 3:7]])
    a = np.gradient(np.einsum("kij,kj->ki", R, v[:, 3:]), STEP, axis=0)
    force = np.einsum("kji,kj->ki", R, a + hc.aerial.frames.GRAVITY * np.eye(3)[2])
    mount = hc.geometry.so3.exp(case.misalignment)
    gyro = v[:, :3] @ mount + case.gyro_bias + rng.normal(0, 0.01, v[:, :3].shape)
    accelerometer = force @ mount + case.accelerometer_bias + rng.normal(0, 0.15, force.shape)
    kept = rng.uniform(size=len(t)) > 0.03  # lost
    jitter = rng.normal(0, 2e-4, len(t))
    slow = slice(0, None, 3)
    attitude = q[slow, 3:7] + rng.normal(0, 1e-3, q[slow, 3:7].shape)
    position = q[slow, :3] + rng.normal(0, 5e-4, q[slow, :3].shape)
    return hc.aerial.FlightLog(
        command=(t - case.delay, throttle),
        voltage=(t[::25], voltage[::25] + rng.normal(0, 0.02, len(t[::25]))),
        gyro=((t + jitter)[kept], gyro[kept]),
        accelerometer=((t + jitter)[kept], accelerometer[kept]),
        attitude=(t[slow] + case.pose_delay, attitude),
        position=(t[slow] + case.pose_delay, position),
        speed=(t, done.states[:, :4] + rng.normal(0, 1.0, speeds.shape)) if tachometers else None,
    )


def truth(case: Draw, found: hc.aerial.FlightIdentification) -> Array:
    """The true parameters, in the coordinates of a fit."""
    layout, true = found.layout, case.true
    body, propeller = true.robot.model.bodies[0].inertia, true.rotors[0].propeller
    motor = true.rotors[0].motor
    reference = (layout.voltage / 11.5) ** case.exponent
    ratio = np.log(np.diag(body.at_com) / np.diag(layout.J))
    torque = propeller.constants(layout.density)[1] / layout.d.mean()
    known = {
        "speed_at_mean": reference * (case.offset + case.gain * layout.command_mean),
        "speed_slope": reference * case.gain * layout.command_scale,
        "voltage_exponent": case.exponent, "lag": 0.5 * np.log(motor.lag_up * motor.lag_down),
        "lag_ratio": np.log(motor.lag_down / motor.lag_up),
        "delay": case.delay, "torque": np.log(torque), "hub_drag": propeller.hub_drag,
        "rotor_inertia": propeller.inertia,
        **{f"com_{a}": x for a, x in zip("xyz", body.com, strict=True)},
        **{f"inertia_{a}": x for a, x in zip("xyz", ratio, strict=True)},
        **{f"drag_area_{a}": x for a, x in zip("xyz", true.drag_area, strict=True)},
        **{f"accelerometer_bias_{a}": x for a, x in zip("xyz", case.accelerometer_bias, strict=True)},
        **{f"misalignment_{a}": x for a, x in zip("xyz", case.misalignment, strict=True)},
    }  # fmt: skip
    return np.array([known.get(name, 0.0) for name in layout.names])


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore", hc.errors.DoubtfulModelWarning)
    print("seed: specific force and angular acceleration, over those of the true parameters; the same of a")
    print("constant; share of parameters within 95 % intervals")
    rows: list[tuple[float, ...]] = []
    for seed in range(first, first + draws):
        case = draw(seed)
        logs = [flight(case, 1000 * seed + k) for k in range(3)]
        began = time.process_time()
        found = hc.aerial.identify(case.described, logs[:2])
        seconds = time.process_time() - began
        point = truth(case, found)
        data = stretches(logs[2])[0]
        best = judge(replace(found.layout, gyro_bias=case.gyro_bias), data, point, found.means, "true")
        ours = found.score(logs[2])
        ratios = [ours.total(at)[0] / best.total(at)[0] for at in (0, 3)]
        constant = [ours.total(at)[1] / best.total(at)[0] for at in (0, 3)]
        off = np.abs(found.point - point) / np.sqrt(np.diag(found.covariance))
        own = [k for k, name in enumerate(found.names) if not name.startswith("wind")]
        rows.append((*ratios, *constant, float(np.mean(off[own] < 1.96))))
        told = " ".join(f"{x:.2f}" for x in rows[-1])
        motor, own_motor = case.true.rotors[0].motor, found.vehicle.rotors[0].motor
        lags = (
            f"lag {1e3 * own_motor.lag_up:.0f} ({1e3 * motor.lag_up:.0f}) "
            f"{1e3 * own_motor.lag_down:.0f} ({1e3 * motor.lag_down:.0f}) "
            f"delay {1e3 * found['delay']:.0f} ({1e3 * case.delay:.0f}) ms"
        )
        print(f"{seed}: {told}; {lags}; {found.success}, {seconds:.1f} s", flush=True)
    print("median, worst:", np.median(rows, axis=0).round(2), np.max(rows, axis=0).round(2))


if __name__ == "__main__":
    main()
