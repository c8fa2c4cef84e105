"""The loop of inverse kinematics: its problem, its memory, its C."""
