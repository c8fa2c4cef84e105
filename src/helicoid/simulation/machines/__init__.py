"""Simulation of actuated systems."""

from helicoid.simulation.equations.actuated import ActuatedSystem as Machine
from helicoid.simulation.equations.actuated import is_actuated_system as is_machine
from helicoid.simulation.inputs.laws import LoopLaw
from helicoid.simulation.machines.simulate import simulate_machine

__all__ = ["LoopLaw", "Machine", "is_machine", "simulate_machine"]
