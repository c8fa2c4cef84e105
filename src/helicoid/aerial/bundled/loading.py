"""Construction of the bundled vehicles from their parameters."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from helicoid.aerial import bundled
from helicoid.aerial.air import Air, Wind
from helicoid.aerial.fixed_wing import FixedWing, Wing
from helicoid.aerial.frames import FLIP
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.motor import ElectricMotor, Motor
from helicoid.aerial.propulsion.propeller import Propeller
from helicoid.aerial.propulsion.rotor import Rotor
from helicoid.aerial.vehicle import BODY
from helicoid.model.inertia import Inertia, total
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Link, Placement
from helicoid.robot import Robot


@overload
def load(name: Literal["hummingbird", "firefly"], wind: Wind | None = None) -> Multirotor: ...
@overload
def load(name: Literal["aerosonde"], wind: Wind | None = None) -> FixedWing: ...
@overload
def load(name: str, wind: Wind | None = None) -> Multirotor | FixedWing: ...
def load(name: str, wind: Wind | None = None) -> Multirotor | FixedWing:
    """A bundled vehicle: "hummingbird" (quad +), "firefly" (hexa) or "aerosonde" (fixed wing).

    >>> load("firefly").controls
    ('rotor_1', 'rotor_2', 'rotor_3', 'rotor_4', 'rotor_5', 'rotor_6')
    """
    given = bundled.numbers(name)
    return _multirotor(given, wind) if given["kind"] == "multirotor" else _fixed_wing(given, wind)


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
    J, p, m = given["inertia"], given["propeller"], given["motor"]
    inertia = np.diag([J["Jx"], J["Jy"], J["Jz"]])
    inertia[0, 2] = inertia[2, 0] = -J["Jxz"]
    wing = Wing(**given["wing"])
    shapes = (
        _box((1.6, 0.14, 0.14)),
        _box((wing.chord, wing.span, 0.02), (0.05, 0.0, 0.05)),
        _box((0.12, 0.8, 0.015), (-0.95, 0.0, 0.02)),
        _box((0.12, 0.015, 0.25), (-0.95, 0.0, 0.12)),
        _box((0.4, 0.04, 0.04), (-0.7, 0.0, 0.0)),
    )
    body = Link(BODY, Inertia.from_com(given["mass"], np.zeros(3), FLIP @ inertia @ FLIP), shapes)
    return FixedWing(
        wing=wing,
        coefficients=given["coefficients"],
        propeller=Propeller.from_polynomial(p["CT"], p["CQ"], p["radius"]),
        motor=ElectricMotor(
            m["turns_per_minute_per_volt"] * np.pi / 30, m["resistance"], m["no_load_current"], m["voltage"]
        ),
        robot=Robot(Model(given["name"], (body,), (), floating=True)),
        air=Air(density=given["density"]),
        wind=wind,
    )


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
