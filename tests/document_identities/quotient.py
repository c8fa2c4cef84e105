"""The difference quotient of identities that are strings."""

from __future__ import annotations

MOVED = "(lambda f, h: (f(h) - f(-h)) / (2 * h))"  # difference quotient along a motion
