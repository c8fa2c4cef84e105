"""Control laws and observers: one compiled call per step."""
