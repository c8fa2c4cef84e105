"""Time derivatives along a motion, by differentiating the algorithm with the fewest operations."""

from __future__ import annotations

from helicoid._typing import Expression
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.coriolis import coriolis_matrix
from helicoid.dynamics.recursions.rnea import gravity, inverse_dynamics
from helicoid.dynamics.tree import along_motion
from helicoid.model.model import Model


def coriolis_matrix_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression
) -> Expression:
    """Ċ(q, v, a) = dC/dt, nv × nv, of the Coriolis matrix C(q, v) with Ṁ - 2 C skew-symmetric.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> C_dot, h = robot.coriolis_matrix_dot(q, v, a), 1e-6
    >>> later, before = (robot.coriolis_matrix(q + t * v, v + t * a) for t in (h, -h))
    >>> np.allclose(C_dot, (later - before) / (2 * h))
    True
    """
    return along_motion(model, coriolis_matrix(model, physics, q, v), q, v, a)


def gravity_dot(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """ġ(q, v) = dg/dt, nv (N·m/s or N/s), of the torque g(q) that holds the robot's weight.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> np.allclose(robot.gravity_dot(q, v), robot.gravity_derivatives(q) @ v)
    True
    """
    return along_motion(model, gravity(model, physics, q), q, v)


def inverse_dynamics_dot(
    model: Model, physics: Physics, q: Expression, v: Expression, a: Expression, a_dot: Expression
) -> Expression:
    """τ̇(q, v, a, ȧ) = dτ/dt, nv (N·m/s or N/s), of τ = M(q) a + h(q, v).

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> a_dot = np.array([0.1, 0.2])
    >>> dtau_dq, dtau_dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    >>> np.allclose(robot.inverse_dynamics_dot(q, v, a, a_dot), dtau_dq @ v + dtau_dv @ a + M @ a_dot)
    True
    """
    return along_motion(model, inverse_dynamics(model, physics, q, v, a), q, v, a, a_dot)


def inverse_dynamics_ddot(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    a: Expression,
    a_dot: Expression,
    a_ddot: Expression,
) -> Expression:
    """τ̈ = d²τ/dt², nv (N·m/s² or N/s²), of τ = M(q) a + h(q, v): what a motor behind a spring follows."""
    tau_dot = inverse_dynamics_dot(model, physics, q, v, a, a_dot)
    return along_motion(model, tau_dot, q, v, a, a_dot, a_ddot)
