"""Identifiability: structural, by samples, and base parameters."""
