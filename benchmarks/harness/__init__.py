"""Measurements: subjects, plans, timing."""
