"""Commissioning of an arm: from a description and a plant to an identified model and checked controllers."""

from helicoid.commissioning.controllers import CommissionedControllers
from helicoid.commissioning.plant import CommissioningPlant
from helicoid.commissioning.result import Commissioning
from helicoid.commissioning.status import CommissioningStatus

__all__ = ["CommissionedControllers", "Commissioning", "CommissioningPlant", "CommissioningStatus"]
