"""Robots that walk: the task, the plants, and the sweep over seeds."""
