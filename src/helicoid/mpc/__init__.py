"""Optimal control: problems, plans, and controllers that solve them while the robot moves, and learn."""

from helicoid.mpc.controller import Controller
from helicoid.mpc.loop.adaptive import Adaptive
from helicoid.mpc.loop.closed_loop import Run, Sample, closed_loop
from helicoid.mpc.loop.comparison import Comparison, compare
from helicoid.mpc.phases import Phase
from helicoid.mpc.plan import Plan, Violation
from helicoid.mpc.problem import Problem
from helicoid.mpc.system import System
from helicoid.robot.collision import Capsule, Sphere
from helicoid.simulation.plant import Measured, Plant, drift, jump, payload

__all__ = [
    "Adaptive",
    "Capsule",
    "Comparison",
    "Controller",
    "Measured",
    "Phase",
    "Plan",
    "Plant",
    "Problem",
    "Run",
    "Sample",
    "Sphere",
    "System",
    "Violation",
    "closed_loop",
    "compare",
    "drift",
    "jump",
    "payload",
]
