"""Inputs of a simulated robot: torques and wrenches, controllers of any kind, symbolic laws."""
