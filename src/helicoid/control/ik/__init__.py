"""The compiled search of inverse kinematics: its problem, memory and C."""
