"""Tendons, actuators and fluid forces of a compiled MuJoCo model."""
