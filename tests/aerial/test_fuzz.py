"""Arguments drawn at random, also absurd ones: what cannot be is refused with an error of Helicoid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import helicoid as hc
from helicoid import aerial

JUNK = (
    0,
    0.0,
    -1.0,
    1e-300,
    1e300,
    np.nan,
    np.inf,
    None,
    "wide",
    True,
    [],
    [1.0],
    [1, 2, 3],
    {},
    1 + 2j,
    object(),
)
JUNK_MATRICES = (
    [0, 0, 0],
    np.eye(3),
    -np.eye(3),
    np.full((3, 3), np.nan),
    [[1, 2], [3, 4]],
    [1e-9, 1.0, 1.0],
)
GOOD = aerial.Propeller.from_constants(8.5e-6, 1.4e-7, 0.1)


def pick(rng, good):
    """The good value, or junk."""
    options = (*JUNK, *JUNK_MATRICES)
    return good if rng.random() < 0.6 else options[rng.integers(len(options))]


def constructors(rng):
    x = lambda good: pick(rng, good)  # noqa: E731
    r = np.linspace(0.02, 0.1, 6)
    wing, c = aerial.load("aerosonde").wing, aerial.load("aerosonde").coefficients
    table = aerial.Table({"throttle": [0, 1]}, [0.0, 100.0])

    def multirotor():
        motor = aerial.Motor(x(838.0), x(0.0), x(0.01), x(0.02))
        rotors = aerial.Multirotor.arrangement(x("quad x"), x(0.17), x(GOOD), motor, x(0.02))
        return aerial.Multirotor(
            x(0.7), x([0.007, 0.008, 0.012]), x(rotors), drag_area=x((0, 0, 0)), ground=x(0.0)
        )

    return [
        lambda: aerial.Propeller(
            x(0.1), thrust_curve=x(GOOD.thrust_curve), torque_curve=x(GOOD.torque_curve)
        ),
        lambda: aerial.Propeller.from_constants(x(8e-6), x(1e-7), x(0.1), x(1.2), inertia=x(1e-5)),
        lambda: aerial.Propeller.from_coefficients(x(0.01), x(0.001), x(0.1), x(0.0), x(0.0), x(0.1)),
        lambda: aerial.Propeller.from_polynomial(x([0.1, -0.1]), x(0.01), x(0.1)),
        lambda: aerial.Propeller.from_table(x([0.0, 0.5]), x([0.1, 0.0]), x([0.05, 0.02]), x(0.1)),
        lambda: aerial.Propeller.from_geometry(
            x(r), x(0.02 + 0 * r), x(0.2 + 0 * r), x(2), x(0.1), x(aerial.Airfoil())
        ),
        lambda: GOOD.performance(x(0.0), x(5000.0), x(None)),
        lambda: aerial.Rotor(x([0.1, 0, 0]), x(GOOD), x(aerial.Motor(800.0)), x(1), x([0, 0, 1])),
        multirotor,
        multirotor,
        lambda: aerial.Wing(x(0.5), x(2.9), x(0.19), x(0.9), x(0.4), x(50.0)),
        lambda: aerial.Jet(x(table), x(0.0), x(0.0)),
        lambda: aerial.Table({"alpha": x([0, 1])}, x([0.0, 1.0])),
        lambda: aerial.Air(x(1.2), x(1e-5), x(340.0), x(288.0), x(1e5)),
        lambda: aerial.Air.standard(x(0.0)),
        lambda: aerial.FixedWing(
            x(11.0), x(np.eye(3)), wing=x(wing), coefficients=x(c), deflection=x(0.5), engine=x(None)
        ),
        lambda: aerial.Circle(x([0, 0]), x(10.0), x("left"), x(1.0), x(None)),
        lambda: aerial.Line(x([0, 0]), x([1, 0]), x(5.0)),
        lambda: aerial.minimum_snap(x([[0, 0, 0], [1, 0, 0]]), times=x([0.0, 1.0])),
        lambda: aerial.Battery(x(2.0), x(0.01), x(0.1)),
        lambda: aerial.ElectricMotor(x(100.0), x(0.1), x(0.1), x(12.0)),
    ]


def test_constructors_raise_only_errors_of_helicoid(rng):
    foreign = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        makers = constructors(rng)
        for k in range(1000):
            try:
                makers[k % len(makers)]()
            except hc.HelicoidError:
                pass
            except Exception as error:
                foreign.append((k % len(makers), repr(error)))
    assert not foreign, sorted(set(foreign))


@pytest.mark.parametrize("name", ["hummingbird", "aerosonde", "glider"])
def test_trims_raise_only_errors_of_helicoid(name, rng):
    vehicle = aerial.load("aerosonde" if name == "glider" else name)
    if name == "glider":
        vehicle = aerial.FixedWing(
            wing=vehicle.wing, coefficients=vehicle.coefficients, robot=vehicle.robot, air=vehicle.air
        )
    for _ in range(60):
        speed = pick(rng, rng.uniform(0.0, 60.0))
        climb, turn = pick(rng, rng.uniform(-5, 5)), pick(rng, rng.uniform(-2, 2))
        try:
            trim = vehicle.trim(speed, climb, turn)
        except hc.HelicoidError:
            continue
        assert trim.success or trim.message
        assert np.isfinite(trim.q).all() and np.isfinite(trim.u).all()
