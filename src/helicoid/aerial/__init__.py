"""Robots that fly: forces of the air on robots with a floating base."""

from helicoid.aerial.air import Air, Dryden, Wind, ground_effect
from helicoid.aerial.propulsion.airfoil import Airfoil
from helicoid.aerial.propulsion.momentum import hover_power, stream
from helicoid.aerial.propulsion.propeller import Performance, Propeller

__all__ = [
    "Air",
    "Airfoil",
    "Dryden",
    "Performance",
    "Propeller",
    "Wind",
    "ground_effect",
    "hover_power",
    "stream",
]
