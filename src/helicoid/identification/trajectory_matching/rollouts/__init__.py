"""Rollouts of a robot under servos, and their sensitivities."""
