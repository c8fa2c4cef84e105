"""Functions of a robot: options, documentation, and programs with loops of large robots."""
