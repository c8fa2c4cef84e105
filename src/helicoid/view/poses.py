"""Poses of all bodies of a robot, as viewers take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.robot import Robot
from helicoid.robot.collision.body_poses import body_matrices


def body_poses(robot: Robot, q: ArrayLike) -> Array:
    """Position and quaternion (x, y, z, qw, qx, qy, qz) of every moving body: (..., n_bodies, 7).

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> print(body_poses(robot, robot.neutral())[1, :4])
    [1. 0. 0. 1.]
    """
    q = np.asarray(q, dtype=np.float64)
    if robot.n_bodies == 0:
        return np.zeros((*q.shape[:-1], 0, 7))
    T = body_matrices(robot)(q).reshape(*q.shape[:-1], robot.n_bodies, 3, 4)
    return np.concatenate([T[..., 3], quaternions(T[..., :3])], axis=-1)


def quaternions(R: Array) -> Array:
    """Quaternions (w, x, y, z) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    xyzw = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    return np.asarray(xyzw[:, [3, 0, 1, 2]].reshape(*R.shape[:-2], 4), dtype=np.float64)
