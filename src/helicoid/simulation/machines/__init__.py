"""Robots that something else than torques drives, as what flies: their equations, laws and loops."""

from helicoid.simulation.machines.laws import LoopLaw
from helicoid.simulation.machines.machine import Machine, is_machine
from helicoid.simulation.machines.simulate import simulate_machine

__all__ = ["LoopLaw", "Machine", "is_machine", "simulate_machine"]
