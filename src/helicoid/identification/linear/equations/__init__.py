"""Measurements as equations that are linear in the unknowns: y = Y x, rows of samples, and stacks of rows."""
