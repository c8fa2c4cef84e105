"""The equations of motion, and the steps in time that solve them."""

from helicoid.simulation.equations.motion import (
    FIXED,
    acceleration,
    rate_function,
    repeated,
    settling_function,
    step_function,
)

__all__ = ["FIXED", "acceleration", "rate_function", "repeated", "settling_function", "step_function"]
