"""Motions that make a robot tell its parameters."""
