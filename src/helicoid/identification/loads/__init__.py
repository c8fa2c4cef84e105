"""Loads: the payload of a known robot, and the gains of drives by a known load."""
