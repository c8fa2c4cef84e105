"""The demonstration: a Panda picks up an unknown load and identifies it online while under MPC."""

from helicoid.demo.demonstration import run

__all__ = ["run"]
