"""Dynamics of an optimal control problem, and the symbols of its costs and constraints."""

from helicoid.mpc.system.system import System

__all__ = ["System"]
