"""Model predictive control: optimal control problems, plans, receding-horizon and adaptive controllers."""

from helicoid import simulation
from helicoid.deprecation import warn_renamed
from helicoid.mpc.loop.adaptive import Adaptive
from helicoid.mpc.loop.closed_loop import Run, Sample, closed_loop, run_on_plant
from helicoid.mpc.loop.comparison import Comparison, compare
from helicoid.mpc.loop.controller import Controller
from helicoid.mpc.phases import Phase
from helicoid.mpc.plan import Plan, Violation
from helicoid.mpc.problem import Problem
from helicoid.mpc.system import System
from helicoid.robot.collision import PlacedCapsule, PlacedSphere

__all__ = [
    "Adaptive",
    "Comparison",
    "Controller",
    "Phase",
    "PlacedCapsule",
    "PlacedSphere",
    "Plan",
    "Problem",
    "Run",
    "Sample",
    "System",
    "Violation",
    "closed_loop",
    "compare",
    "run_on_plant",
]

_FORMER = {name: name for name in ("Plant", "drift", "jump", "payload")} | {"Measured": "Measurement"}
"""Names of `helicoid.simulation` that were here, and their present names in `hc`."""

_FORMER_SHAPES = {"Sphere": PlacedSphere, "Capsule": PlacedCapsule}
"""Shapes on links; `hc.Sphere` and `hc.Capsule` are shapes without a place."""


def __getattr__(name: str) -> object:
    if name in _FORMER_SHAPES:
        warn_renamed(f"hc.mpc.{name}", f"hc.mpc.Placed{name}")
        return _FORMER_SHAPES[name]
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed(f"hc.mpc.{name}", f"hc.{_FORMER[name]}")
    return getattr(simulation, _FORMER[name])
