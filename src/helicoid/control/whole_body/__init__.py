"""Whole-body control: torques for tasks under contacts, friction cones and limits."""

from helicoid.control.whole_body.contacts import PointContact, SurfaceContact
from helicoid.control.whole_body.whole_body import WholeBody

__all__ = ["PointContact", "SurfaceContact", "WholeBody"]
