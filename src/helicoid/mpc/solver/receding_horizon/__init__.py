"""The receding-horizon loop in C: its settings, its outcome, the bounds of its disturbance estimate."""
