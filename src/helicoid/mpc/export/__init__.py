"""A whole controller as a library in C99: its functions, its solver, its loop, and names for its numbers."""

from helicoid.mpc.export.library import export_controller

__all__ = ["export_controller"]
