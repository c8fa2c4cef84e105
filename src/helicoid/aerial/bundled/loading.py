"""Construction of the bundled vehicles from their parameters."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from helicoid.aerial import bundled
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.bundled.units import Units
from helicoid.aerial.coefficients import Wing
from helicoid.aerial.fixed_wing import SURFACES, FixedWing
from helicoid.aerial.frames import FLIP
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.jet import Jet
from helicoid.aerial.propulsion.motor import ElectricMotor, Motor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.propulsion.rotor import Rotor
from helicoid.aerial.vehicle import BODY
from helicoid.errors import InputError
from helicoid.model.inertia import Inertia, total
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Link, Placement
from helicoid.robot import Robot


@overload
def load(name: Literal["hummingbird", "firefly"], wind: Wind | None = None) -> Multirotor: ...
@overload
def load(
    name: Literal["aerosonde", "navion", "cessna_172", "f16"], wind: Wind | None = None
) -> FixedWing: ...
@overload
def load(name: str, wind: Wind | None = None) -> Multirotor | FixedWing: ...
def load(name: str, wind: Wind | None = None) -> Multirotor | FixedWing:
    """A bundled vehicle, or one from a JSON file of the same form.

    Rotorcraft are "hummingbird" (quad +) and "firefly" (hexa); aircraft "aerosonde" (11 kg, propeller),
    "navion" (light aircraft, derivatives of Nelson), "cessna_172" (Roskam) and "f16" (tables of Stevens and
    Lewis).

    >>> load("firefly").controls
    ('rotor_1', 'rotor_2', 'rotor_3', 'rotor_4', 'rotor_5', 'rotor_6')
    """
    given = bundled.numbers(name)
    try:
        return _multirotor(given, wind) if given["kind"] == "multirotor" else _fixed_wing(given, wind)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: a number is missing or of another form: {error}") from error


def _multirotor(given: dict[str, Any], wind: Wind | None) -> Multirotor:
    p, m = given["propeller"], given["motor"]
    length, width, thickness = 2 * float(p["radius"]), float(p["blade"][1]), float(p["blade"][2])
    mass = given["rotor_mass"]
    # The inertia of a propeller is that of a bar.
    bar = mass / 12 * np.array([width**2 + thickness**2, length**2 + thickness**2, length**2 + width**2])
    propeller = Propeller.from_constants(
        p["thrust"], p["moment"] * p["thrust"], p["radius"],
        hub_drag=p["hub_drag"], rolling=p["rolling"], inertia=float(bar[2]),
    )  # fmt: skip
    motor = Motor(m["max_speed"], lag_up=m["lag_up"], lag_down=m["lag_down"])
    rotors = []
    for one in given["rotors"]:
        angle = np.radians(one["angle"])
        at = np.round([one["arm"] * np.cos(angle), one["arm"] * np.sin(angle), given["rotor_height"]], 12)
        rotors.append(Rotor(at + 0.0, propeller, motor, one["turns"]))
    moments = np.diag([(bar[0] + bar[1]) / 2, (bar[0] + bar[1]) / 2, bar[2]])  # average over a revolution
    parts = [Inertia.from_com(given["mass"], np.zeros(3), np.diag(given["inertia"]))]
    parts += [Inertia.from_com(mass, rotor.position, moments) for rotor in rotors]
    shapes = (
        _box((0.12, 0.08, 0.05)),
        *(_disc(rotor) for rotor in rotors),
        *(_arm(rotor) for rotor in rotors),
    )
    robot = Robot(Model(given["name"], (Link(BODY, total(parts), shapes),), (), floating=True))
    return Multirotor(rotors=rotors, robot=robot, wind=wind)


def _fixed_wing(given: dict[str, Any], wind: Wind | None) -> FixedWing:
    J, units = given["inertia"], Units.of(given.get("units", {}))
    inertia = units.inertia * np.diag([J["Jx"], J["Jy"], J["Jz"]])
    inertia[0, 2] = inertia[2, 0] = -units.inertia * J["Jxz"]
    sizes = {"area": units.length**2, "span": units.length, "chord": units.length, "stall": units.angle}
    wing = Wing(**{name: sizes.get(name, 1.0) * value for name, value in given["wing"].items()})
    b = wing.span / 2.9  # shapes are those of the Aerosonde, scaled
    shapes = (
        _box((1.6 * b, 0.14 * b, 0.14 * b)),
        _box((wing.chord, wing.span, 0.02 * b), (0.05 * b, 0.0, 0.05 * b)),
        _box((0.12 * b, 0.8 * b, 0.015 * b), (-0.95 * b, 0.0, 0.02 * b)),
        _box((0.12 * b, 0.015 * b, 0.25 * b), (-0.95 * b, 0.0, 0.12 * b)),
        _box((0.4 * b, 0.04 * b, 0.04 * b), (-0.7 * b, 0.0, 0.0)),
    )
    body = Inertia.from_com(units.mass * given["mass"], np.zeros(3), FLIP @ inertia @ FLIP)
    deflection = given.get("deflection", 0.7 / units.angle)
    bounds = deflection if isinstance(deflection, dict) else dict.fromkeys(SURFACES, deflection)
    coefficients, tables = given["coefficients"], given.get("tables", {})
    return FixedWing(
        wing=wing,
        coefficients={name: units.coefficient(name) * value for name, value in coefficients.items()},
        tables={name: units.table(one, units.coefficient(name)) for name, one in tables.items()},
        robot=Robot(Model(given["name"], (Link(BODY, body, shapes),), (), floating=True)),
        deflection={name: units.angle * bound for name, bound in bounds.items()},
        air=_air(given, units),
        wind=wind,
        **_propulsion(given, units),
    )


def _air(given: dict[str, Any], units: Units) -> Air:
    if given.get("air") == "standard":
        return Air.varying()
    return Air(density=units.mass / units.length**3 * given["density"])


def _propulsion(given: dict[str, Any], units: Units) -> dict[str, Any]:
    if "engine" in given:
        e = given["engine"]
        thrust = e["thrust"]
        found = units.table(thrust, units.force) if isinstance(thrust, dict) else units.force * thrust
        momentum = units.inertia * e.get("angular_momentum", 0.0)
        return {"engine": Jet(found, e.get("lag", 0.0), momentum, e.get("varies", True))}
    if "propeller" not in given:
        return {}
    p, m = given["propeller"], given["motor"]
    constant = m["turns_per_minute_per_volt"] * np.pi / 30
    return {
        "propeller": Propeller.from_polynomial(p["CT"], p["CQ"], p["radius"]),
        "motor": ElectricMotor(constant, m["resistance"], m["no_load_current"], m["voltage"]),
    }


_GREY, _BLUE, _RED = (0.35, 0.37, 0.4, 1.0), (0.2, 0.4, 0.8, 0.6), (0.85, 0.3, 0.2, 0.6)


def _box(size: tuple[float, float, float], at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Geometry:
    return Geometry("box", size, Placement(translation=np.array(at)), color=_GREY)


def _disc(rotor: Rotor) -> Geometry:
    at = Placement(translation=np.asarray(rotor.position))
    return Geometry("cylinder", (rotor.propeller.radius, 0.006), at, color=_RED if rotor.turns < 0 else _BLUE)


def _arm(rotor: Rotor) -> Geometry:
    x, y, z = np.asarray(rotor.position)
    length, angle = float(np.hypot(x, y)), float(np.arctan2(y, x))
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return Geometry(
        "box", (length, 0.015, 0.015), Placement(rotation, np.array([x / 2, y / 2, z / 2])), color=_GREY
    )
