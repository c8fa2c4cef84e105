"""Linear quadratic regulator of a rotorcraft about hover."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_are

from helicoid._typing import Array, Expression
from helicoid.aerial.analysis.trim import Trim
from helicoid.aerial.control.law import Command, FlightLaw, References
from helicoid.aerial.frames import FLIP
from helicoid.aerial.vehicle import Vehicle
from helicoid.control.laws.step import Number
from helicoid.errors import InputError
from helicoid.geometry import quaternion, so3
from helicoid.simulation.equations.actuated import clipped


class LinearQuadraticControl(FlightLaw):
    """Linear quadratic regulator u = u₀ - K x about hover: K minimises ∫ xᵀ Q x + uᵀ R u dt.

    x is the error of position (world), velocity (body), attitude (rotation vector) and rates (body), z up;
    K follows from the algebraic Riccati equation. States of the actuators, such as rotor lags, are taken as
    quasi-static. References: `position` (3), `yaw` (rad, z down).

    Args:
        vehicle: a vehicle without joints.
        trim: a hover; by default `vehicle.trim()`.
        position, velocity, attitude, rates: weights of Q, one or three each.
        effort: weight of R, of controls as fractions of their range.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        trim: Trim | None = None,
        position: ArrayLike = 4.0,
        velocity: ArrayLike = 1.0,
        attitude: ArrayLike = 4.0,
        rates: ArrayLike = 0.1,
        effort: float = 1.0,
    ) -> None:
        hover = vehicle.trim() if trim is None else trim
        if not hover.success or hover.speed != 0 or vehicle.robot.nv != 6:
            raise InputError("LinearQuadraticControl needs a hover with success, of a vehicle without joints")
        A, B = _error_dynamics(hover)
        lower, upper = vehicle.control_limits
        weights = [
            np.broadcast_to(np.asarray(w, np.float64), 3) for w in (position, velocity, attitude, rates)
        ]
        Q, R = np.diag(np.concatenate(weights)), np.diag(effort / (upper - lower) ** 2)
        P = solve_continuous_are(A, B, Q, R)
        self.gain: Array = np.linalg.solve(R, B.T @ P)
        numbers = {"gain": Number(self.gain, self.gain.shape), "u": Number(hover.u, hover.u.shape)}
        references: References = {"position": ((3,), np.zeros(3)), "yaw": ((), 0.0)}
        super().__init__(vehicle, "linear_quadratic_control", references, numbers)

    def _command(self, x: Mapping[str, Expression]) -> Command:
        R = quaternion.to_matrix(x["q"][3:7])
        ψ = -x["yaw"]
        R_yaw = ca.vertcat(
            ca.horzcat(ca.cos(ψ), -ca.sin(ψ), 0), ca.horzcat(ca.sin(ψ), ca.cos(ψ), 0), ca.horzcat(0, 0, 1)
        )
        R_e = R_yaw.T @ R
        rotation = so3.vee((R_e - R_e.T) / 2)
        position = R_yaw.T @ (x["q"][:3] - x["position"])
        error = ca.vertcat(position, x["v"][3:6], rotation, x["v"][:3])
        free = x["u"] - x["gain"] @ error
        u = clipped(self.vehicle, free)
        return Command(u, {}, ca.sumsqr(u - free) > 1e-12)


def _error_dynamics(trim: Trim) -> tuple[Array, Array]:
    """A and B of (position, velocity, rotation vector, rates), z up, with quasi-static actuators."""
    lin = trim.linearise()
    A, B = lin.A, lin.B
    if len(A) > 8:
        static = np.linalg.solve(A[8:, 8:], np.hstack([A[8:, :8], B[8:]]))
        A, B = A[:8, :8] - A[:8, 8:] @ static[:, :8], B[:8] - A[:8, 8:] @ static[:, 8:]
    flip = FLIP
    F = np.zeros((12, 12))
    F[:3, 3:6] = np.eye(3)
    F[3:6, 3:6], F[3:6, 9:] = flip @ A[:3, :3] @ flip, flip @ A[:3, 3:6] @ flip
    F[9:, 3:6], F[9:, 9:] = flip @ A[3:6, :3] @ flip, flip @ A[3:6, 3:6] @ flip
    angles = np.array([[1.0, 0, 0], [0, -1.0, 0]])  # roll and pitch of a small rotation vector
    F[3:6, 6:9], F[9:, 6:9] = flip @ A[:3, 6:8] @ angles, flip @ A[3:6, 6:8] @ angles
    F[6:9, 9:] = np.eye(3)
    G = np.zeros((12, B.shape[1]))
    G[3:6], G[9:] = flip @ B[:3], flip @ B[3:6]
    return F, G
