"""Optimised excitation trajectories."""
