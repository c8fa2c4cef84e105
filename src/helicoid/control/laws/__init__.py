"""Laws of control and observers: one compiled call a step."""
