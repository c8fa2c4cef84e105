"""Optimal control: problems, plans, and a controller that solves them while the robot moves."""

from helicoid.mpc.controller import Controller
from helicoid.mpc.plan import Plan, Violation
from helicoid.mpc.problem import Problem
from helicoid.mpc.shapes import Capsule, Sphere
from helicoid.mpc.system import System

__all__ = ["Capsule", "Controller", "Plan", "Problem", "Sphere", "System", "Violation"]
