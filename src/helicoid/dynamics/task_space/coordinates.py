"""The pose of a frame as coordinates χ, and the analytic Jacobian J_A of χ̇ = J_A v.

χ is the position and then the orientation, each in a representation of `helicoid.geometry`, seen from the
world. With ẋ = (ω, v) in world axes and of the frame's origin, ẋ = E(χ) χ̇ makes J_A = E(χ)⁻¹ J. Where the
representation is singular (gimbal lock, the z axis of cylindrical and spherical positions, no rotation for
angle and axis), E has no inverse and entries of J_A are infinite or NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import frames
from helicoid.errors import InputError
from helicoid.geometry import coordinates, dual_quaternion, euler, quaternion, se3, so3
from helicoid.model.model import Model

POSITIONS = ("cartesian", "cylindrical", "spherical")
"""(x, y, z), (ρ, θ, z) or (r, θ, φ): see `helicoid.geometry.coordinates`."""
ORIENTATIONS = ("rpy", *euler.ORDERS, "rotation_vector", "quaternion", "angle_axis")
"""Roll, pitch, yaw; Euler angles in an intrinsic order; θ n; (w, x, y, z); (θ, n)."""
DUAL_QUATERNION = "dual_quaternion"
"""Position and orientation in one, eight numbers."""

_REDUNDANT_COORDINATES = {"quaternion": 4, "angle_axis": 4, DUAL_QUATERNION: 8}


@dataclass(frozen=True)
class PoseCoordinates:
    """The coordinates of a frame's pose; `position` or `orientation` is None where it is left out."""

    frame: str
    orientation: str | None
    position: str | None
    damping: float = 0.0

    @property
    def size(self) -> int:
        """Number of coordinates."""
        turning = _REDUNDANT_COORDINATES.get(self.orientation, 3) if self.orientation else 0
        return turning + (3 if self.position else 0)

    def value(self, model: Model, q: Expression) -> Expression:
        """χ(q)."""
        return self._chart(model, q)[0]

    def jacobian(self, model: Model, q: Expression) -> Expression:
        """J_A(q) = E(χ)⁻¹ J, size × nv."""
        return self._chart(model, q)[1]

    def _chart(self, model: Model, q: Expression) -> tuple[Expression, Expression]:
        R, p = frames.frame_pose(model, q, self.frame)
        if self.orientation == DUAL_QUATERNION:
            chi = dual_quaternion.from_pose(se3.pose(R, p))
            return chi, dual_quaternion.rate_matrix(chi) @ frames.jacobian(model, q, self.frame, "body")
        J = frames.jacobian(model, q, self.frame, "world_aligned")
        values, rates = [], []
        if self.position is not None:
            chi, E_inverse = _position(p, self.position)
            values, rates = [chi], [E_inverse @ J[3:, :]]
        if self.orientation is not None:
            chi, E_inverse = _orientation(R, self.orientation)
            values, rates = [*values, chi], [*rates, E_inverse @ J[:3, :]]
        return ca.vertcat(*values), ca.vertcat(*rates)


def pose_task(
    frame: str, orientation: str | None, position: str | None, minimal: bool = False
) -> PoseCoordinates:
    """Task with checked arguments; `minimal` requires as many coordinates as degrees of freedom."""
    if orientation not in (None, DUAL_QUATERNION, *ORIENTATIONS):
        known = ", ".join((*ORIENTATIONS, DUAL_QUATERNION))
        raise InputError(f"orientation must be one of {known}, or None; got {orientation!r}")
    if position not in (None, *POSITIONS):
        raise InputError(f"position must be one of {', '.join(POSITIONS)}, or None; got {position!r}")
    if orientation == DUAL_QUATERNION:
        position = None  # it holds the position itself
    elif orientation is None and position is None:
        raise InputError("position and orientation are both None: nothing is left of the pose")
    if minimal and orientation in _REDUNDANT_COORDINATES:
        raise InputError(
            f"orientation {orientation!r} has more numbers than degrees of freedom, so that no Λ exists for "
            "it; Euler angles and 'rotation_vector' are minimal"
        )
    return PoseCoordinates(frame, orientation, position)


def task_coordinates(model: Model, q: Expression, task: PoseCoordinates) -> Expression:
    """χ(q): position (m, rad), then orientation (rad, or the numbers of a quaternion)."""
    return task.value(model, q)


def analytic_jacobian(model: Model, q: Expression, task: PoseCoordinates) -> Expression:
    """J_A(q), size × nv, with χ̇ = J_A v."""
    return task.jacobian(model, q)


def _position(p: Expression, representation: str) -> tuple[Expression, Expression]:
    """χ of a point and E(χ)⁻¹ of χ̇ = E⁻¹ ṗ."""
    if representation == "cylindrical":
        chi = coordinates.cartesian_to_cylindrical(p)
        return chi, coordinates.velocity_to_cylindrical_rate(chi)
    if representation == "spherical":
        chi = coordinates.cartesian_to_spherical(p)
        return chi, coordinates.velocity_to_spherical_rate(chi)
    return p, ca.SX.eye(3)


def _orientation(R: Expression, representation: str) -> tuple[Expression, Expression]:
    """χ of a rotation and E(χ)⁻¹ of χ̇ = E⁻¹ ω, ω in world axes."""
    if representation == "quaternion":
        chi = quaternion.from_matrix(R)
        return chi, quaternion.rate_matrix(chi, "world")
    if representation == "rotation_vector":
        chi = so3.log(R)
        return chi, so3.left_jacobian_inverse(chi)
    if representation == "angle_axis":
        angle, axis = so3.to_angle_axis(R)
        return ca.vertcat(angle, axis), so3.angular_velocity_to_angle_axis_rate(angle, axis, "world")
    order, kind = ("xyz", "extrinsic") if representation == "rpy" else (representation, "intrinsic")
    chi = euler.to_euler(R, order, kind)  # type: ignore[arg-type]
    return chi, euler.angular_velocity_to_euler_rate(chi, order, "world", kind)  # type: ignore[arg-type]
