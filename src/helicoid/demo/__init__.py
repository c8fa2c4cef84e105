"""Demonstrations: adaptive MPC of a Panda with an unknown payload, flight, walking."""

from helicoid.demo.demonstration import run

__all__ = ["run"]
