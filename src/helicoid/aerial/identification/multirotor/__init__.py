"""Identification of multirotors."""
