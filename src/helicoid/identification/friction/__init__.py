"""Friction of unknown shape, fitted beside bodies that can exist."""
