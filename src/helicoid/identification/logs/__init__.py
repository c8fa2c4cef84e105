"""Logs: reading, checks, filtering, and preparation for regression."""
