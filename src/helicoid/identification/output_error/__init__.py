"""Refinement by simulation: the parameters with which the robot moves as it did."""
