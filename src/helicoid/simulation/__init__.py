"""Motion over time: integrators, simulation, trajectories, drives and sensors."""

from helicoid.simulation.contact import ContactMotion, simulate_contacts
from helicoid.simulation.contact_modes import ContactPoint
from helicoid.simulation.drives import Actuators
from helicoid.simulation.plant import Plant
from helicoid.simulation.sensors import Measurement, Sensors
from helicoid.simulation.simulate import SimulationError, simulate
from helicoid.simulation.trajectory import Trajectory

__all__ = [
    "Actuators",
    "ContactMotion",
    "ContactPoint",
    "Measurement",
    "Plant",
    "Sensors",
    "SimulationError",
    "Trajectory",
    "simulate",
    "simulate_contacts",
]
