"""Demonstrations: adaptive MPC of a Panda with an unknown payload, flight, walking, planning."""

from helicoid.demo.demonstration import run

__all__ = ["run"]
