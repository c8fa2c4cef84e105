"""The plant of a commissioning: its protocol, motions recorded on it, the brake, and errors of its wiring."""

from helicoid.commissioning.plant.protocol import CheckedPlant, CommissioningPlant, PlantSample

__all__ = ["CheckedPlant", "CommissioningPlant", "PlantSample"]
