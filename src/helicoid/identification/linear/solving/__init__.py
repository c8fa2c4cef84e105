"""Solving stacked equations: least squares, bodies that can exist, instruments, whitened coordinates."""
