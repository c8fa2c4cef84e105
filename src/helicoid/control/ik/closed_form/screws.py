"""Joints of a problem's frame as screws: T(q) = e^{ξ1 θ1} ... e^{ξn θn} T(reference), θ = q - reference.

Murray, Li and Sastry 1994, eq. 3.3. The screws are the columns of the frame's Jacobian in world coordinates,
so that joint types need not be known; random configurations confirm the product.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.control.ik.problem import IKProblem
from helicoid.control.tasks import PoseTask
from helicoid.dynamics.kinematics import frames
from helicoid.geometry import so3

_UNIT_TOLERANCE = 1e-9  # deviation of a column from a screw of unit size
_PRODUCT_TOLERANCE = 1e-9  # deviation of the product from the pose
_SAMPLES, _SEED = 4, 5


class NoClosedForm(Exception):
    """The reason why a problem has no closed form."""


class Screws(NamedTuple):
    """n joints: lines of directions h through points x, or translations along h where `slides`."""

    joints: tuple[str, ...]
    coordinates: list[int]
    h: Array
    x: Array
    slides: NDArray[np.bool_]
    home: Array
    reference: Array

    def exponential(self, k: int, angle: float) -> Array:
        """e^{ξθ} of joint k, 4 × 4."""
        X = np.eye(4)
        if self.slides[k]:
            X[:3, 3] = angle * self.h[k]
        else:
            X[:3, :3] = so3.exp(angle * self.h[k])
            X[:3, 3] = self.x[k] - X[:3, :3] @ self.x[k]
        return X

    def pose(self, q: Array) -> Array:
        """The frame at values of these joints, 4 × 4."""
        X = np.eye(4)
        for k, angle in enumerate(q - self.reference):
            X = X @ self.exponential(k, angle)
        return np.asarray(X @ self.home)

    def shifted(self, q: Array) -> tuple[Array, Array]:
        """h and x at another configuration."""
        X, h, x = np.eye(4), [], []
        for k, angle in enumerate(q - self.reference):
            h.append(X[:3, :3] @ self.h[k])
            x.append(X[:3, :3] @ self.x[k] + X[:3, 3])
            X = X @ self.exponential(k, angle)
        return np.array(h), np.array(x)

    def locked(self, locked: tuple[int, ...], q: Array) -> tuple[Array, Array]:
        """h and x of the other joints with the locked ones at their values of q."""
        X, h, x = np.eye(4), [], []
        for k in range(len(self.h)):
            if k in locked:
                X = X @ self.exponential(k, q[k] - self.reference[k])
                continue
            h.append(X[:3, :3] @ self.h[k])
            x.append(X[:3, :3] @ self.x[k] + X[:3, 3])
        return np.array(h), np.array(x)


def screws(problem: IKProblem) -> Screws:
    """Screws of the joints that move the frame of a pose task.

    Raises:
        NoClosedForm: the problem is none of one pose, or its joints do not form a chain of screws.
    """
    robot, task = problem.robot, problem.tasks[0]
    if len(problem.tasks) > 1 or type(task) is not PoseTask:
        raise NoClosedForm("closed forms are for the pose of one frame")
    if len(problem.levels) > 6:
        raise NoClosedForm("the robot has loops or other constraints")
    if not np.all(problem.weights > 0):
        raise NoClosedForm("a weight is zero: not all of the pose is asked for")
    owners = {}
    for joint in robot.model.independent_joints:
        place, velocities = robot.index(joint.name)
        if joint.type.nq == joint.type.nv:
            for i, k in zip(range(robot.nv)[velocities], range(robot.nq)[place], strict=True):
                owners[i] = joint.name, k
    strange = [k for k in problem.moving if k not in owners]
    if strange:
        raise NoClosedForm("a joint that moves the frame is floating or spherical")
    names, coordinates = zip(*(owners[k] for k in problem.moving), strict=True)
    return _confirmed(problem, task.frame, names, list(coordinates))


def _confirmed(problem: IKProblem, frame: str, names: tuple[str, ...], coordinates: list[int]) -> Screws:
    model, q = problem.robot.model, problem.q
    results = [frames.jacobian(model, q, frame, "world"), frames.pose(model, q, frame)]
    function = ca.Function("screws", [q], [ca.densify(result) for result in results])
    reference = problem.default()
    J, home = (np.array(part) for part in function(reference))
    ω, v = J[:3, problem.moving].T, J[3:, problem.moving].T
    turns, slides = np.linalg.norm(ω, axis=1), np.linalg.norm(ω, axis=1) < _UNIT_TOLERANCE
    h = np.where(slides[:, None], v, ω)
    pitch = np.where(slides, 0.0, np.einsum("ij,ij->i", ω, v))
    usual = np.abs(np.where(slides, np.linalg.norm(v, axis=1), turns) - 1) < _UNIT_TOLERANCE
    for k in np.flatnonzero(~usual | (np.abs(pitch) > _UNIT_TOLERANCE)):
        raise NoClosedForm(
            f"joint {names[k]!r} is no simple rotation or translation, or another joint mimics it"
        )
    found = Screws(names, coordinates, h, np.cross(ω, v), slides, home, reference[coordinates])
    for sample in problem.robot.random(_SEED, size=_SAMPLES):
        at = np.where(problem.moving_coordinates, sample, reference)
        deviation = np.abs(found.pose(at[coordinates]) - np.array(function(at)[1])).max()
        if deviation > _PRODUCT_TOLERANCE * _size(found):
            raise NoClosedForm("joints that move the frame mimic others, or are not independent screws")
    return found


def _size(found: Screws) -> float:
    return float(1 + np.abs(found.x).max() + np.abs(found.home).max())
