"""Identification of a vehicle from logs of its flights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from numpy.typing import ArrayLike

from helicoid.aerial.checks import check_not_negative, real_numbers
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.identification.fixed_wing.identify import Method, identify_fixed_wing
from helicoid.aerial.identification.fixed_wing.result import FixedWingIdentification
from helicoid.aerial.identification.flight_log import FlightLog
from helicoid.aerial.identification.multirotor.identify import identify_multirotor
from helicoid.aerial.identification.multirotor.parameters import Commands
from helicoid.aerial.identification.multirotor.result import MultirotorIdentification
from helicoid.aerial.multirotor import Multirotor
from helicoid.errors import InputError


@overload
def identify(
    vehicle: Multirotor,
    flights: FlightLog | Sequence[FlightLog],
    *,
    commands: Commands = "throttle",
    known: Literal["mass", "thrust"] = "mass",
    sensor: ArrayLike = (0.0, 0.0, 0.0),
    attitude_tilt: float = 0.0,
) -> MultirotorIdentification: ...


@overload
def identify(
    vehicle: FixedWing,
    flights: FlightLog | Sequence[FlightLog],
    *,
    sensor: ArrayLike = (0.0, 0.0, 0.0),
    method: Method = "output_error",
) -> FixedWingIdentification: ...


def identify(
    vehicle: Multirotor | FixedWing,
    flights: FlightLog | Sequence[FlightLog],
    *,
    commands: Commands = "throttle",
    known: Literal["mass", "thrust"] = "mass",
    sensor: ArrayLike = (0.0, 0.0, 0.0),
    attitude_tilt: float = 0.0,
    method: Method = "output_error",
) -> MultirotorIdentification | FixedWingIdentification:
    """Identify a multirotor or an aircraft from logs of its flights.

    Of a multirotor: rotor speed as an affine function of the command, times a power of the voltage; lags of
    the motors, up and down; the delay of commands, and that of poses against the gyroscope; drag torque,
    inertia, centre of mass, drag of rotors and body; offset and misalignment of the inertial sensor.

    Of an aircraft: all stability and control derivatives that its description has, zeros among them, factors
    of its aerodynamic tables and of its thrust, the delay of commands, offsets of the accelerometer, and
    the mean wind where no air data are measured. Mass and inertia are those described.

    What the flights do not tell stays at the description: each parameter has a normal prior about it.

    Args:
        vehicle: description, of one body. Of a multirotor: places of the rotors, their thrust constant,
            mass, and estimates of the rest.
        flights: one or more. Angular acceleration comes from gyroscopes, or from attitudes; specific force
            from accelerometers, or from positions and attitudes. Samples need not be even. Of an aircraft
            with attitude, and with `air_data` or velocity or position.
        commands: of a multirotor, "throttle", pulse width and the like, of unknown scale; or "speed", rotor
            speeds (rad/s). Of an aircraft they are its controls: deflections (rad) and throttle.
        known: "mass", or "thrust" where speeds are given or measured: the mass is then found.
        sensor: place of the accelerometer on the root (m).
        attitude_tilt: of a multirotor, standard deviation (rad) of a tilt of the attitude's axes against the
            rotors', such as 0.02 where the axes of a rigid body of motion capture were set by eye; it is
            then estimated. 0: attitudes are those of the body that is described.
        method: of an aircraft: "equation_error", least squares on specific force and angular acceleration at
            the measured states, or "output_error", which from there fits simulated segments of a few
            seconds to all measurements (Klein and Morelli 2006, chapters 5 and 6).

    Of a multirotor, forces of the wind are slow noise, as the residuals show it. A vehicle that predicts
    worse than a constant has `success` False.
    The equations are those of `helicoid.aerial.identification.multirotor.model` and of `FixedWing`.
    """
    logs = [flights] if isinstance(flights, FlightLog) else list(flights)
    if not isinstance(vehicle, (Multirotor, FixedWing)):
        raise InputError(f"identify takes a Multirotor or a FixedWing as description; got {vehicle!r}")
    if not logs or not all(isinstance(log, FlightLog) for log in logs):
        raise InputError(f"flights are hc.aerial.FlightLog, one or several; got {flights!r}")
    place = real_numbers("sensor", sensor)
    check_not_negative("attitude_tilt", attitude_tilt, "rad")
    if place.shape != (3,):
        raise InputError(f"sensor is a place on the root (m), three numbers; got {sensor!r}")
    if isinstance(vehicle, FixedWing):
        if (commands, known, attitude_tilt) != ("throttle", "mass", 0.0):
            raise InputError(
                "commands, known and attitude_tilt are options of multirotors: an aircraft's commands are "
                "its controls"
            )
        return identify_fixed_wing(vehicle, logs, place, method)
    if method != "output_error":
        raise InputError("method is an option of aircraft: a multirotor is identified by output error")
    return identify_multirotor(vehicle, logs, commands, known, place, attitude_tilt)
