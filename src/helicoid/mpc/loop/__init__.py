"""Controllers in a loop: one that learns while it works, runs against a plant, and comparisons of runs."""
