"""Simulation: integrators, contacts, controllers in the loop, trajectories, plants, drives and sensors."""

from helicoid.simulation.contacts import ContactPoint, Ground
from helicoid.simulation.drives import Actuators
from helicoid.simulation.equations.actuated_robot import ActuatedRobot
from helicoid.simulation.plant import Plant, drift, jump, payload
from helicoid.simulation.sensors import Measurement, Sensors
from helicoid.simulation.simulate import SimulationError, simulate, simulate_contacts
from helicoid.simulation.trajectory import Trajectory

__all__ = [
    "ActuatedRobot",
    "Actuators",
    "ContactPoint",
    "Ground",
    "Measurement",
    "Plant",
    "Sensors",
    "SimulationError",
    "Trajectory",
    "drift",
    "jump",
    "payload",
    "simulate",
    "simulate_contacts",
]
