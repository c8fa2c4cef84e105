"""Estimators: least squares, physically consistent, instrumental variables; whitened coordinates."""
