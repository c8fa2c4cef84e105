"""Dynamics in task space."""
