"""Numbers that describe no vehicle, no path and no flight are refused with an InputError."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid import aerial
from helicoid.aerial import Circle, ElectricMotor, FixedWing, Line, Motor, Multirotor, Propeller

PROPELLER = Propeller.from_constants(8.5e-6, 1.4e-7, 0.1)
ROTORS = Multirotor.arrangement("quad x", 0.17, PROPELLER, Motor(838.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Propeller.from_constants(8.5e-6, 1.4e-7, 0.0), "radius is positive"),
        (lambda: Propeller.from_coefficients(0.01, 0.001, 0.0), "radius is positive"),
        (lambda: Propeller.from_polynomial(0.1, 0.01, 0.0), "radius is positive"),
        (lambda: Propeller(radius=0), "radius is positive"),
        (lambda: Propeller(radius="wide"), "radius is positive"),
        (lambda: Motor(0.0), "min_speed"),
        (lambda: ElectricMotor(0.0, 0.1, 0.1, 12.0), "speed_constant is positive"),
        (lambda: Circle([0, 0], 0.0), "radius of a circle is positive"),
        (lambda: Circle([0, 0], 10.0, turns=0.0), "turns of a circle is positive"),
        (lambda: Circle([0, np.nan], 10.0), "two or three finite numbers"),
        (lambda: Line([0, 0], ["a", 0]), "two or three finite numbers"),
        (lambda: Line([0, 0], [1, 0], height=np.inf), "height of a leg"),
        (lambda: aerial.minimum_snap([[0, 0, 0], [1e300, 0, 0]], times=[0, 1]), "at most 1e.09 m"),
        (lambda: aerial.minimum_snap([[0, 0, 0], [1, 0, 0]], times=[0, np.nan]), "ascend"),
        (lambda: Multirotor(0.7, [0.01, -0.01, 0.01], ROTORS), "positive definite"),
        (lambda: Multirotor(0.7, [[1, 2, 0], [0, 1, 0], [0, 0, 1]], ROTORS), "symmetric"),
        (lambda: Multirotor(0.7, "heavy", ROTORS), "three moments or a 3 × 3 matrix"),
    ],
)
def test_construction(make, message):
    with pytest.raises(hc.InputError, match=message):
        make()


def test_a_motor_without_voltage_on_an_aircraft():
    aircraft = aerial.load("aerosonde")
    given = {"wing": aircraft.wing, "coefficients": aircraft.coefficients, "propeller": aircraft.propeller}
    with pytest.raises(hc.InputError, match="is an ElectricMotor"):
        FixedWing(11.0, [1.0, 1.0, 1.0], motor=Motor(800.0), **given)


@pytest.mark.parametrize(
    ("flight", "message"),
    [
        ({"speed": 0.0}, "needs airspeed"),
        ({"speed": 1e200}, "up to 1000 m/s"),
        ({"speed": 25.0, "turn_rate": 1e6}, "up to 1000 m/s and 100 rad/s"),
        ({"speed": -1.0}, "speed is 0 or more"),
        ({"speed": 10.0, "climb_rate": 11.0}, "climb rate at most"),
        ({"speed": "fast"}, "finite numbers"),
        ({"speed": 25.0, "q": np.zeros(3)}, "7 finite entries"),
    ],
)
def test_trims(flight, message):
    with pytest.raises(hc.InputError, match=message):
        aerial.load("aerosonde").trim(**flight)


def test_trims_of_any_flight_raise_nothing_else(rng):
    for name in ("hummingbird", "aerosonde"):
        vehicle = aerial.load(name)
        for _ in range(8):
            speed, turn_rate = rng.choice([1e-9, 1.0, 60.0, 1e3]), rng.choice([0.0, -3.0, 100.0])
            trim = vehicle.trim(speed, rng.uniform(-1, 1) * speed, turn_rate)
            assert trim.success or trim.message


@pytest.mark.parametrize("inertia", [-1, 1, [[1, 2, 0], [0, 1, 0], [0, 0, 1]], -np.eye(3)])
def test_inertia_of_a_law(inertia):
    law = aerial.GeometricControl(aerial.load("hummingbird"))
    before = law.number("inertia")
    with pytest.raises(hc.InputError, match="positive definite"):
        law.set(inertia=inertia)
    np.testing.assert_array_equal(law.number("inertia"), before)


def test_an_inertia_that_no_body_has_is_doubtful() -> None:
    with pytest.warns(hc.DoubtfulModelWarning, match="break the triangle inequality"):
        Multirotor(0.7, [0.001, 0.001, 0.1], ROTORS)
