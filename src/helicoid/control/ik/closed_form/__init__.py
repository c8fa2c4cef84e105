"""Closed-form inverse kinematics of arms whose axes allow it: recognition, subproblems in C, selection."""
