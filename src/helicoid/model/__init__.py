"""The model of a robot: immutable data, no algorithms."""
