"""What an optimal control problem moves, and the symbols that its costs and constraints are written with."""

from helicoid.mpc.system.system import System

__all__ = ["System"]
