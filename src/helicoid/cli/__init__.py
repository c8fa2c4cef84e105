"""The command line."""

from helicoid.cli.app import app

__all__ = ["app"]
