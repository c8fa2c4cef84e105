"""Kinematic constraints, and the motion of constrained robots."""
