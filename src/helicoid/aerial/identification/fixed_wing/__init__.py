"""Identification of fixed-wing aircraft."""
