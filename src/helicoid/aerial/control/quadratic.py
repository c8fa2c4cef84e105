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

_MIN_DAMPING_RATIO = 0.3  # of default gains
_MAX_DOUBLINGS = 20  # of the default effort weight


class LinearQuadraticControl(FlightLaw):
    """Linear quadratic regulator u = u₀ - K x about hover: K minimises ∫ xᵀ Q x + uᵀ R u dt.

    x is the error of position (world), velocity (body), attitude (rotation vector) and rates (body), z up;
    K follows from the algebraic Riccati equation, with actuators, such as lagging rotors, taken as
    quasi-static. The closed loop with their dynamics is then checked. References:
    `position` (3), `yaw` (rad, z down).

    Args:
        vehicle: a vehicle without joints.
        trim: a hover; by default `vehicle.trim()`.
        position, velocity, attitude, rates: weights of Q, one or three each.
        effort: weight of R, of controls as fractions of their range. By default the first of 1, 2, 4,
            ... with which every mode of the closed loop has a damping ratio of 0.3 or more, with rotor lags.

    Raises:
        InputError: the closed loop is unstable with the lags of the rotors.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        trim: Trim | None = None,
        position: ArrayLike = 4.0,
        velocity: ArrayLike = 1.0,
        attitude: ArrayLike = 4.0,
        rates: ArrayLike = 0.1,
        effort: float | None = None,
    ) -> None:
        hover = vehicle.trim() if trim is None else trim
        if not hover.success or hover.speed != 0 or vehicle.robot.nv != 6:
            raise InputError("LinearQuadraticControl needs a hover with success, of a vehicle without joints")
        F, G = _error_dynamics(hover)
        lower, upper = vehicle.control_limits
        weights = [
            np.broadcast_to(np.asarray(w, np.float64), 3) for w in (position, velocity, attitude, rates)
        ]
        Q, R = np.diag(np.concatenate(weights)), np.diag(1 / (upper - lower) ** 2)
        efforts = [2.0**k for k in range(_MAX_DOUBLINGS)] if effort is None else [effort]
        self.gain: Array = _gain(F, G, Q, R, efforts, 0.0 if effort is not None else _MIN_DAMPING_RATIO)
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


def _gain(F: Array, G: Array, Q: Array, R: Array, efforts: list[float], damping_ratio: float) -> Array:
    """K with the least effort weight that leaves the damping ratio to every mode, actuators included."""
    A, B = F[:12, :12], G[:12]
    if len(F) > 12:
        static = np.linalg.solve(F[12:, 12:], np.hstack([F[12:, :12], G[12:]]))
        A, B = A - F[:12, 12:] @ static[:, :12], B - F[:12, 12:] @ static[:, 12:]
    for effort in efforts:
        P = solve_continuous_are(A, B, Q, effort * R)
        K = np.linalg.solve(effort * R, B.T @ P)
        poles = np.linalg.eigvals(F - G @ np.hstack([K, np.zeros((len(K), len(F) - 12))]))
        if np.all(-poles.real > damping_ratio * np.abs(poles)):
            return np.asarray(K)
    raise InputError(
        "LinearQuadraticControl: the closed loop is unstable with the lags of the rotors: "
        "raise effort, or lower the weights of attitude and rates"
    )


def _error_dynamics(trim: Trim) -> tuple[Array, Array]:
    """F and G of (position, velocity, rotation vector, rates), z up, then the states of the actuators."""
    lin = trim.linearise()
    n = len(lin.A) - 8
    T = np.zeros((8 + n, 12 + n))  # states of the linearisation, z down, by those of the error
    T[:3, 3:6] = T[3:6, 9:12] = FLIP
    T[6, 6], T[7, 7] = 1.0, -1.0  # roll and pitch of a small rotation vector
    T[8:, 12:] = np.eye(n)
    A = lin.A @ T
    F, G = np.zeros((12 + n, 12 + n)), np.zeros((12 + n, lin.B.shape[1]))
    F[:3, 3:6] = F[6:9, 9:12] = np.eye(3)
    for rows, source in ((slice(3, 6), slice(0, 3)), (slice(9, 12), slice(3, 6))):
        F[rows], G[rows] = FLIP @ A[source], FLIP @ lin.B[source]
    F[12:], G[12:] = A[8:], lin.B[8:]
    return F, G
