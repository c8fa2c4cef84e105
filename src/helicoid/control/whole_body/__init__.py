"""Torques for tasks, contacts and limits at once: whole-body control."""

from helicoid.control.whole_body.contacts import PointContact, SurfaceContact
from helicoid.control.whole_body.whole_body import WholeBody

__all__ = ["PointContact", "SurfaceContact", "WholeBody"]
