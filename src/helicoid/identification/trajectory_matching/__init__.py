"""Identification from commands and encoders: measured positions matched by simulated ones."""
