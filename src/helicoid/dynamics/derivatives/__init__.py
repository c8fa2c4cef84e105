"""Derivatives of the dynamics: along the state, in time, along the parameters."""
