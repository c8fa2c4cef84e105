"""Linear quadratic control of a rotorcraft about a trim."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_are

from helicoid._typing import Array, Expression
from helicoid.aerial.control.law import FlightLaw, References, Wanted
from helicoid.aerial.trim import Trim
from helicoid.aerial.vehicle import Vehicle
from helicoid.control.laws.step import Number
from helicoid.errors import InputError
from helicoid.geometry import quaternion, so3
from helicoid.simulation.equations.actuated import clipped


class LinearQuadraticControl(FlightLaw):
    """u = u₀ - K x about a hover, K from Riccati's equation for ∫ xᵀ Q x + uᵀ R u dt.

    x is the error of position (world), velocity (body), attitude (rotation vector) and rates (body), z up.
    Own states, as lagging rotors, are taken as following at once. References: `position` (3), `yaw` (rad, z
    down).

    Args:
        vehicle: without joints.
        trim: a hover; the vehicle's own unless given.
        position, velocity, attitude, rates: weights of Q, one or three each.
        effort: of R, for controls in shares of their range.
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
        about = vehicle.trim() if trim is None else trim
        if not about.ok or about.speed != 0 or vehicle.robot.nv != 6:
            raise InputError(
                "LinearQuadraticControl is about a hover that is ok, of a vehicle without joints"
            )
        A, B = _reduced(about)
        lower, upper = vehicle.control_limits
        weights = [
            np.broadcast_to(np.asarray(w, np.float64), 3) for w in (position, velocity, attitude, rates)
        ]
        Q, R = np.diag(np.concatenate(weights)), np.diag(effort / (upper - lower) ** 2)
        P = solve_continuous_are(A, B, Q, R)
        self.gain: Array = np.linalg.solve(R, B.T @ P)
        numbers = {"gain": Number(self.gain, self.gain.shape), "u": Number(about.u, about.u.shape)}
        references: References = {"position": ((3,), np.zeros(3)), "yaw": ((), 0.0)}
        super().__init__(vehicle, "linear_quadratic_control", references, numbers)

    def _wanted(self, x: Mapping[str, Expression]) -> Wanted:
        R = quaternion.to_matrix(x["q"][3:7])
        ψ = -x["yaw"]
        turned = ca.vertcat(
            ca.horzcat(ca.cos(ψ), -ca.sin(ψ), 0), ca.horzcat(ca.sin(ψ), ca.cos(ψ), 0), ca.horzcat(0, 0, 1)
        )
        R_e = turned.T @ R
        away = so3.vee((R_e - R_e.T) / 2)
        place = turned.T @ (x["q"][:3] - x["position"])
        error = ca.vertcat(place, x["v"][3:6], away, x["v"][:3])
        wanted = x["u"] - x["gain"] @ error
        kept = clipped(self.vehicle, wanted)
        return Wanted(kept, {}, ca.sumsqr(kept - wanted) > 1e-12)


def _reduced(trim: Trim) -> tuple[Array, Array]:
    """A and B of (position, velocity, rotation vector, rates), z up, own states settled."""
    lin = trim.linearise()
    A, B = lin.A, lin.B
    if len(A) > 8:
        settled = np.linalg.solve(A[8:, 8:], np.hstack([A[8:, :8], B[8:]]))
        A, B = A[:8, :8] - A[:8, 8:] @ settled[:, :8], B[:8] - A[:8, 8:] @ settled[:, 8:]
    flip = np.diag([1.0, -1.0, -1.0])
    F = np.zeros((12, 12))
    F[:3, 3:6] = np.eye(3)
    F[3:6, 3:6], F[3:6, 9:] = flip @ A[:3, :3] @ flip, flip @ A[:3, 3:6] @ flip
    F[9:, 3:6], F[9:, 9:] = flip @ A[3:6, :3] @ flip, flip @ A[3:6, 3:6] @ flip
    turn = np.array([[1.0, 0, 0], [0, -1.0, 0]])  # roll and pitch of a small rotation vector
    F[3:6, 6:9], F[9:, 6:9] = flip @ A[:3, 6:8] @ turn, flip @ A[3:6, 6:8] @ turn
    F[6:9, 9:] = np.eye(3)
    G = np.zeros((12, B.shape[1]))
    G[3:6], G[9:] = flip @ B[:3], flip @ B[3:6]
    return F, G
