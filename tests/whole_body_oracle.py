"""The whole program of whole-body control, nothing eliminated, of the robot's functions, solved by daqp."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import daqp
import numpy as np
from numpy.typing import NDArray

from helicoid.control import (
    ForceTask,
    MomentumTask,
    PostureTask,
    SurfaceContact,
    TorqueTask,
    WholeBody,
)
from helicoid.dynamics.tree import along_motion

Array = NDArray[np.float64]


class Answer(NamedTuple):
    """Accelerations and forces in the axes of contacts one below the other, and torques."""

    x: Array
    tau: Array
    flag: int


def number(wb: WholeBody, name: str) -> Array:
    return wb.numbers.values[wb.numbers[name].at]


def contact_jacobian(wb: WholeBody, contact, name: str, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """J, J̇ v and the axes of a contact, by finite arithmetic of its own: poses and Jacobians of the frame."""
    robot = wb.robot
    T, J = robot.pose(contact.frame)(q), robot.jacobian(contact.frame, "world_aligned")(q)
    bias = robot.jacobian_dot_times_velocity(contact.frame, "world_aligned")(q, v)
    twist, R = J @ v, T[:3, :3]
    if isinstance(contact, SurfaceContact):
        r = R @ np.asarray(contact.center)
        point = J[3:] + np.cross(J[:3].T, r).T
        ω = twist[:3]
        acceleration = bias[3:] + np.cross(bias[:3], r) + np.cross(ω, np.cross(ω, r))
        v_point = twist[3:] + np.cross(ω, r)
        stacked = np.vstack([R.T @ J[:3], R.T @ point])
        # components in axes that turn with the body
        turning = np.concatenate([R.T @ bias[:3], R.T @ (acceleration - np.cross(ω, v_point))])
        return stacked, turning, R
    turn = number(wb, f"{name}_normal").reshape(3, 3)
    r, ω = R @ np.asarray(contact.point), twist[:3]
    arm = r - contact.radius * turn[:, 2]
    point = J[3:] + np.cross(J[:3].T, arm).T
    acceleration = bias[3:] + np.cross(bias[:3], arm) + np.cross(ω, np.cross(ω, r))
    return turn.T @ point, turn.T @ acceleration, turn


def solve(wb: WholeBody, q: Array, v: Array) -> Answer:
    """The answer for the numbers of a controller and the contacts that hold now."""
    robot, f = wb.robot, wb.formulation
    nv, nf = robot.nv, f.n_forces
    nx = nv + nf
    M, h = robot.mass_matrix(q), robot.bias(q, v, friction=False)
    J, b, axes = np.zeros((nf, nv)), np.zeros(nf), []
    κ = min(number(wb, "contact_rate")[0], 1 / number(wb, "dt")[0])
    for contact, name, start in zip(f.contacts, f.contact_names, f.starts, strict=True):
        own, bias, turn = contact_jacobian(wb, contact, name, q, v)
        rows = slice(start, start + contact.size)
        J[rows], b[rows] = own, -bias - κ * (own @ v)
        axes.append(turn)
    K = np.hstack([M, -J.T])
    H, g = np.zeros((nx, nx)), np.zeros(nx)
    H[range(nv), range(nv)] = number(wb, "acceleration_weight")[0]
    H[range(nv, nx), range(nv, nx)] = number(wb, "force_weight")[0]
    for task, name in zip(f.tasks, f.names, strict=True):
        A, e = _task(wb, task, name, q, v, K, h, axes)
        w = number(wb, f"{name}_weight")
        H += A.T @ (w[:, None] * A)
        g -= A.T @ (w * e)
    A, low, high = [], [], []
    for contact, start in zip(f.contacts, f.starts, strict=True):
        on = contact.name in wb.contacts
        for k in range(start, start + contact.size):
            A.append(np.concatenate([J[k], np.zeros(nf)]) if on else np.eye(nx)[nv + k])
            low.append(b[k] if on else 0.0)
    for k in robot.unactuated:
        A.append(K[k])
        low.append(-h[k])
    high, equations = low.copy(), len(A)
    for contact, name, start in zip(f.contacts, f.contact_names, f.starts, strict=True):
        cone = np.array(ca.DM(contact.cone(ca.SX(float(number(wb, f"{name}_friction")[0])))))
        for row in cone:
            A.append(np.zeros(nx))
            A[-1][nv + start : nv + start + contact.size] = row
            low.append(-1e30)
            high.append(0.0)
    for k, most in zip(robot.actuated, number(wb, "torque_limit"), strict=True):
        A.append(K[k])
        low.append(-most - h[k])
        high.append(most - h[k])
    lower, upper = np.full(nx, -1e30), np.full(nx, 1e30)
    lower[:nv], upper[:nv] = accelerations(wb, q, v)
    for contact, start in zip(f.contacts, f.starts, strict=True):
        if contact.name in wb.contacts:
            lower[nv + start + contact.size - 1] = 0.0
    return _by_daqp(wb, H, g, np.array(A), np.r_[lower, low], np.r_[upper, high], equations, K, h)


def accelerations(wb: WholeBody, q: Array, v: Array) -> tuple[Array, Array]:
    """The bounds of accelerations, once more in NumPy."""
    robot, dt = wb.robot, number(wb, "dt")[0]
    most, β = number(wb, "velocity_limit"), number(wb, "braking")
    lower, upper = -most.copy(), most.copy()
    shift = robot.nq - robot.nv  # joints of one coordinate after a floating base
    for j in range(6 if robot.model.floating else 0, robot.nv):
        ends = []
        for left in (
            q[j + shift] - number(wb, "position_lower")[j + shift],
            number(wb, "position_upper")[j + shift] - q[j + shift],
        ):
            d = min(max(left, 0.0), 1e9)
            fastest = 2 * d / (dt + np.sqrt(dt**2 + 2 * d / β[j]))
            rate = min(number(wb, "approach")[0], 1 / dt)
            beyond = max(-left, 0.0)
            back = min(rate * beyond, np.sqrt(0.4 * β[j] * beyond))
            ends.append(fastest - back if left < 1e9 else np.inf)
        lower[j], upper[j] = max(lower[j], -ends[0]), min(upper[j], ends[1])
    low = np.minimum((np.minimum(lower, 0) - v) / dt, β)
    low = np.maximum(low, np.minimum((lower - v) / dt, 0.2 * β))
    high = np.maximum((np.maximum(upper, 0) - v) / dt, -β)
    high = np.minimum(high, np.maximum((upper - v) / dt, -0.2 * β))
    return np.minimum(low, high), high


def _task(wb, task, name, q, v, K, h, axes):
    robot, f = wb.robot, wb.formulation
    nx, nv, target = K.shape[1], robot.nv, number(wb, name)
    if isinstance(task, TorqueTask):
        rows = task.velocities(robot)
        return K[rows], target[rows] - h[rows]
    if isinstance(task, ForceTask):
        k = [one.name for one in f.contacts].index(task.contact)
        A = np.eye(nx)[nv + f.starts[k] : nv + f.starts[k] + task.size]
        return A, np.concatenate([axes[k].T @ target[i : i + 3] for i in range(0, task.size, 3)])
    if isinstance(task, MomentumTask):
        J, bias = robot.centroidal_momentum_matrix(q), robot.centroidal_momentum_matrix_dot(q, v) @ v
        wanted = number(wb, f"{name}_rate") + number(wb, f"{name}_gain") * (target - J @ v)
    else:
        ω, ζ = number(wb, f"{name}_frequency")[0], number(wb, f"{name}_damping_ratio")[0]
        x, u = ca.SX.sym("x", robot.nq), ca.SX.sym("u", nv)
        own = task.jacobian(robot, x, ca.DM(target))
        made = ca.Function(
            "task",
            [x, u],
            [own, task.error(robot, x, ca.DM(target)), along_motion(robot.model, own @ u, x, u)],
        )
        J, e, bias = (np.array(part) for part in made(q, v))
        e, bias = e.ravel(), bias.ravel()
        slower = 2 * ζ * ω * (number(wb, f"{name}_velocity") - J @ v)
        wanted = number(wb, f"{name}_acceleration") + ω**2 * e + slower
        if isinstance(task, PostureTask):
            assert not bias.any()
    return np.hstack([J, np.zeros((len(J), nx - nv))]), wanted - bias


def _by_daqp(wb, H, g, A, low, high, equations, K, h) -> Answer:
    scale, nx = wb.formulation.scale, len(g)
    low, high = np.maximum(low, -1e30), np.minimum(high, 1e30)
    sense = np.zeros(len(low), dtype=np.int32)
    sense[nx : nx + equations] = 5
    rows = A * scale
    size = np.maximum(np.abs(rows).max(axis=1), 1e-9)
    low[nx:], high[nx:] = low[nx:] / size, high[nx:] / size
    low[:nx], high[:nx] = low[:nx] / scale, high[:nx] / scale
    x, _, flag, _ = daqp.solve(
        np.ascontiguousarray(H * np.outer(scale, scale)),
        g * scale,
        np.ascontiguousarray(rows / size[:, None]),
        high,
        low,
        sense,
        primal_tol=1e-11,
        dual_tol=1e-12,
    )
    x = x * scale
    tau = K @ x + h
    tau[list(wb.robot.unactuated)] = 0
    return Answer(x, tau, flag)
