"""The demonstration: a Panda picks up a load that nobody told it about, and finds out what it carries."""

from helicoid.demo.demonstration import run

__all__ = ["run"]
