"""Control of what flies: each law is one compiled call a step, with `set`, `ok`, `status` and `export_c`."""

from helicoid.aerial.control.allocation import Allocation
from helicoid.aerial.control.autopilot import Autopilot, legs_flown
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
    "legs_flown",
    "minimum_snap",
]
