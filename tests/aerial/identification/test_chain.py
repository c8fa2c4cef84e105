"""Identified multirotors predict the logs of their own simulated flights: each force is in both models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import ElectricMotor, FlightLog, Motor, Multirotor, Propeller

BASE = hc.aerial.load("hummingbird")
PLAIN = BASE.rotors[0].propeller
CT, CQ = (c.coefficients[0] for c in (PLAIN.thrust_curve, PLAIN.torque_curve))  # type: ignore[union-attr]
STEP = 0.004
ROTORS = dict(radius=PLAIN.radius, inertia=PLAIN.inertia, hub_drag=PLAIN.hub_drag)


def vehicle(propeller: Propeller, motor: Motor | ElectricMotor) -> Multirotor:
    rotors = [replace(rotor, propeller=propeller, motor=motor) for rotor in BASE.rotors]
    return Multirotor(0.716, [0.0070, 0.0085, 0.0115], rotors, drag_area=[0.01, 0.01, 0.02])


def flight(quad: Multirotor, seconds: float = 6.0) -> hc.Trajectory:
    law = hc.aerial.GeometricControl(BASE, dt=STEP)
    points = [[0, 0, 5], [3, 0, 5], [3, 2, 6.5], [0, 2, 5], [1, -1, 5]]
    path = hc.aerial.minimum_snap(points, vehicle=BASE, speed=3.0)
    t = STEP * np.arange(round(seconds / STEP) + 1)
    law = law.following(**{**path.references(np.minimum(t, path.duration)), "yaw": np.sin(1.5 * t)})
    return hc.simulate(quad, [0, 0, 5, 1, 0, 0, 0], duration=seconds, controller=law, dt=STEP, substeps=2)


def log(done: hc.Trajectory, noise: float) -> FlightLog:
    rng = np.random.default_rng(0)
    imu = hc.Sensors(imus=["body"])(done).imus["body"]
    imu = imu + noise * rng.normal(size=imu.shape) * ([0.01] * 3 + [0.1] * 3)
    return FlightLog(
        command=(done.t[: len(done.controls)], done.controls),
        gyro=(done.t, imu[:, :3]),
        accelerometer=(done.t, imu[:, 3:]),
        attitude=(done.t, done.q[:, 3:7]),
        position=(done.t, done.q[:, :3]),
    )


@pytest.mark.parametrize(
    "propeller",
    [
        replace(PLAIN, flapping=0.5),
        Propeller.from_polynomial([CT, -0.1, -0.05], [CQ, -0.004], **ROTORS),
        Propeller.from_table(
            [-0.3, 0.0, 0.2, 0.4, 0.8],
            CT * np.array([1.15, 1.0, 0.85, 0.65, 0.1]),
            CQ * np.array([1.0, 1.0, 0.98, 0.9, 0.5]),
            **ROTORS,
        ),
    ],
    ids=["flapping", "polynomial over the advance ratio", "table over the advance ratio"],
)
def test_identified_vehicles_predict_their_own_flights(propeller: Propeller) -> None:
    true = vehicle(propeller, Motor(900.0, 0.0, 0.03, 0.045))
    result = hc.aerial.identify(true, log(flight(true), 1.0), commands="speed")
    assert result.success
    own = result.score(log(flight(result.vehicle), 0.0))
    assert own.total(0)[0] < 0.03 * own.total(0)[1] and own.total(3)[0] < 0.05 * own.total(3)[1]


def test_the_wind_of_the_description_stays() -> None:
    true = vehicle(PLAIN, Motor(900.0, 0.0, 0.03))
    windy = true.with_wind(hc.aerial.Wind((1.0, 0.0, 0.0)))
    result = hc.aerial.identify(windy, log(flight(true), 1.0), commands="speed")
    assert result.vehicle.wind is windy.wind


def test_electric_motors() -> None:
    """Fractions of the voltage as commands: the identified vehicle is driven by rotor speeds."""
    motor = ElectricMotor(speed_constant=96.0, resistance=0.15, no_load_current=0.3, voltage=12.6)
    true = vehicle(PLAIN, motor)
    d, k = PLAIN.constants(1.225)[1], motor.torque_constant
    x = flight(vehicle(PLAIN, Motor(900.0))).controls
    duty = (k * x + motor.resistance * (d * x**2 / k + motor.no_load_current)) / motor.voltage
    start = [0, 0, 5, 1, 0, 0, 0]
    done = hc.simulate(true, start, None, 1.5, duty[:375], dt=STEP, substeps=8)
    result = hc.aerial.identify(true, log(done, 1.0))
    assert result.success and result.vehicle.trim().success
    np.testing.assert_allclose(result.speeds(duty[100:300]), x[100:300], rtol=0.03)
    with pytest.raises(hc.InputError, match="takes commands of electric motors"):
        hc.aerial.identify_rotors(true, done)
