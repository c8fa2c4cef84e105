"""Time derivatives along a motion, by differentiating the algorithm with the fewest operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from helicoid._typing import Expression
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.tree import along_motion
from helicoid.model.model import Model


@dataclass(frozen=True)  # and no function in a function: robots and their functions are pickled
class TimeDerivative:
    """dy/dt of an algorithm's result y(q, v, a, ...), with one more argument: the rate of the last one.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a, a_dot = (np.array(x) for x in ([0.3, 0.8], [1.0, -2.0], [0.5, 3.0], [0.1, 0.2]))
    >>> dtau_dq, dtau_dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    >>> np.allclose(robot.inverse_dynamics_dot(q, v, a, a_dot), dtau_dq @ v + dtau_dv @ a + M @ a_dot)
    True
    """

    algorithm: Callable[..., Expression]

    def __call__(self, model: Model, physics: Physics, *motion: Expression) -> Expression:
        return along_motion(model, self.algorithm(model, physics, *motion[:-1]), *motion)
