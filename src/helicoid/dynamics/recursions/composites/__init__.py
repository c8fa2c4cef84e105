"""Composite bodies of the recursions: their mass, their motion, and the wrenches that they transmit."""
