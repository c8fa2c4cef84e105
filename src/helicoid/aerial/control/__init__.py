"""Flight control: laws of rotorcraft, an autopilot, control allocation, guidance and trajectories."""

from helicoid.aerial.control.allocation import Allocation
from helicoid.aerial.control.autopilot import Autopilot, leg_indices, legs_flown
from helicoid.aerial.control.geometric import GeometricControl
from helicoid.aerial.control.guidance import Circle, Line, cross_track, dubins
from helicoid.aerial.control.minimum_snap import MinimumSnap, minimum_snap
from helicoid.aerial.control.quadratic import LinearQuadraticControl
from helicoid.aerial.control.rotorcraft import AltitudeControl, AttitudeControl, PositionControl

__all__ = [
    "Allocation",
    "AltitudeControl",
    "AttitudeControl",
    "Autopilot",
    "Circle",
    "GeometricControl",
    "Line",
    "LinearQuadraticControl",
    "MinimumSnap",
    "PositionControl",
    "cross_track",
    "dubins",
    "leg_indices",
    "legs_flown",
    "minimum_snap",
]
