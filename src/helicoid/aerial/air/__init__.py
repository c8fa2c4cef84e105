"""The atmosphere: standard air, wind with gusts, and ground effect."""

from helicoid.aerial.air.atmosphere import Air
from helicoid.aerial.air.ground import ground_effect
from helicoid.aerial.air.wind import Dryden, Wind

__all__ = ["Air", "Dryden", "Wind", "ground_effect"]
