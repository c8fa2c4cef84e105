"""Flying vehicles: aerodynamic forces on robots with a floating base, their analysis and control."""

from helicoid.aerial.air import Air, Dryden, Wind, ground_effect
from helicoid.aerial.analysis.envelope import Envelope
from helicoid.aerial.analysis.formulas import (
    EnergyRates,
    bank_angle,
    disc_loading,
    energy_rates,
    l1_lateral_acceleration,
    load_factor,
    stall_speed,
    turn_rate,
)
from helicoid.aerial.analysis.identification import RotorIdentification, identify_rotors
from helicoid.aerial.analysis.trim import Linearisation, Trim
from helicoid.aerial.bundled import names
from helicoid.aerial.bundled.loading import load
from helicoid.aerial.coefficients import Wing
from helicoid.aerial.control import (
    Allocation,
    AltitudeControl,
    AttitudeControl,
    Autopilot,
    Circle,
    GeometricControl,
    Line,
    LinearQuadraticControl,
    MinimumSnap,
    PositionControl,
    cross_track,
    dubins,
    leg_indices,
    legs_flown,
    minimum_snap,
)
from helicoid.aerial.fixed_wing import FixedWing
from helicoid.aerial.frames import Angles, angles, attitude, to_z_down
from helicoid.aerial.identification import (
    FixedWingIdentification,
    FlightIdentification,
    FlightLog,
    MultirotorIdentification,
    identify,
    multistep,
)
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.airfoil import Airfoil
from helicoid.aerial.propulsion.jet import Jet
from helicoid.aerial.propulsion.momentum import hover_power, stream
from helicoid.aerial.propulsion.motor import Battery, ElectricMotor, Motor
from helicoid.aerial.propulsion.polars import Polars
from helicoid.aerial.propulsion.propeller import Performance, Propeller
from helicoid.aerial.propulsion.rotor import Rotor
from helicoid.aerial.table import Table
from helicoid.aerial.vehicle import Vehicle

__all__ = [
    "Air",
    "Airfoil",
    "Allocation",
    "AltitudeControl",
    "Angles",
    "AttitudeControl",
    "Autopilot",
    "Battery",
    "Circle",
    "Dryden",
    "ElectricMotor",
    "EnergyRates",
    "Envelope",
    "FixedWing",
    "FixedWingIdentification",
    "FlightIdentification",
    "FlightLog",
    "GeometricControl",
    "Jet",
    "Line",
    "LinearQuadraticControl",
    "Linearisation",
    "MinimumSnap",
    "Motor",
    "Multirotor",
    "MultirotorIdentification",
    "Performance",
    "Polars",
    "PositionControl",
    "Propeller",
    "Rotor",
    "RotorIdentification",
    "Table",
    "Trim",
    "Vehicle",
    "Wind",
    "Wing",
    "angles",
    "attitude",
    "bank_angle",
    "cross_track",
    "disc_loading",
    "dubins",
    "energy_rates",
    "ground_effect",
    "hover_power",
    "identify",
    "identify_rotors",
    "l1_lateral_acceleration",
    "leg_indices",
    "legs_flown",
    "load",
    "load_factor",
    "minimum_snap",
    "multistep",
    "names",
    "stall_speed",
    "stream",
    "to_z_down",
    "turn_rate",
]
