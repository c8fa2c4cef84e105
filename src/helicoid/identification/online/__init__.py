"""Identification while the robot works."""
