"""Misprints of the thesis of Cărămizaru."""

from __future__ import annotations

import numpy as np

import helicoid as hc
from document_misprints.common import CHAIN, CĂRĂMIZARU, both, misprint, pose, state, unit
from helicoid.geometry import se3, so3, spatial


@misprint(f"{CĂRĂMIZARU}, 3.1.4")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    a, b = rng.normal(size=(2, 3))
    A, B = so3.hat(a), so3.hat(b)
    return both(so3.hat(np.cross(a, b)), A @ B - B @ A, A @ B)


@misprint(f"{CĂRĂMIZARU}, 3.7")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    T, p_b = pose(rng), rng.normal(size=3)
    p_a = (T @ np.append(p_b, 1.0))[:3]
    return both(p_a, T[:3, 3] + T[:3, :3] @ p_b, T[:3, 3] + T[:3, :3] @ p_a)


@misprint(f"{CĂRĂMIZARU}, 3.1.17")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    w, v = twist = rng.normal(size=(2, 3))
    n = np.linalg.norm(w)
    point = np.cross(w, v) / n**2
    again = [n * se3.twist_from_screw(w / n, point, w @ v / n**k) for k in (2, 1)]
    return both(twist.ravel(), *again)


@misprint(f"{CĂRĂMIZARU}, 3.1.29 (proof)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    w = unit(rng)
    W = so3.hat(w)
    return both(W @ W, np.outer(w, w) - np.eye(3), -W.T)


@misprint(f"{CĂRĂMIZARU}, 3.48 (proof)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    θ, odd = 1.2, np.arange(1, 24, 2)
    terms = θ**odd / np.cumprod(np.arange(1.0, 25.0))[odd - 1]
    return both(np.sin(θ), np.sum(terms * (-1) ** (odd // 2)), np.sum(terms))


@misprint(f"{CĂRĂMIZARU}, 3.1.30")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    trace = np.trace(so3.from_angle_axis(1.2, unit(rng)))
    return both(1.2, np.arccos((trace - 1) / 2), np.arccos(trace / 2 - 1))


@misprint(f"{CĂRĂMIZARU}, 3.51")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    w, θ = unit(rng), 1.2
    W = so3.hat(w)
    G = θ * np.eye(3) + (1 - np.cos(θ)) * W + (θ - np.sin(θ)) * W @ W
    inverse = [
        np.eye(3) / θ - W / 2 + (1 / θ - half / 2) * W @ W for half in (1 / np.tan(θ / 2), np.cos(θ / 2))
    ]
    return both(np.eye(3), *(one @ G for one in inverse))


@misprint(f"{CĂRĂMIZARU}, 3.72, remark 3.1.28")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("pan_tilt_pendulum")
    q = rng.normal(size=2)
    S, M = robot.jacobian("tip", "world")(np.zeros(2)), robot.pose("tip")(np.zeros(2))
    first, second = (se3.exp(q[k] * S[:, k]) for k in range(2))
    return both(robot.pose("tip")(q), first @ second @ M, second @ first @ M)


@misprint(f"{CĂRĂMIZARU}, 3.106")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    X, twist = se3.adjoint(pose(rng)), rng.normal(size=6)
    V = spatial.motion_cross(twist)
    return both(spatial.motion_cross(X @ twist), X @ V @ np.linalg.inv(X), X @ V @ X.T)


@misprint(f"{CĂRĂMIZARU}, 3.124")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    points = rng.normal(size=(20, 3))
    ω = rng.normal(size=3)
    energy = sum(np.sum(np.cross(ω, r) ** 2) for r in points)
    right, printed = (sum(ω @ so3.hat(r) @ so3.hat(sign * r).T @ ω for r in points) for sign in (1, -1))
    return both(energy, right, printed)


@misprint(f"{CĂRĂMIZARU}, 3.159, 3.167, remark 4.1.9")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    (q, v, a), on_body = state(rng), rng.normal(size=6)
    bias, torque = CHAIN.bias(q, v), CHAIN.jacobian("tool0", "body")(q).T @ on_body
    truth = CHAIN.inverse_dynamics(q, v, a, f_ext={"tool0": on_body})
    return both(truth, *(CHAIN.mass_matrix(q) @ a + bias + sign * torque for sign in (-1, 1)))


@misprint(f"{CĂRĂMIZARU}, Algorithm 2, line 6")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    (q, v, a), on_body = state(rng), rng.normal(size=6)
    loaded = CHAIN.joint_wrenches(q, v, a, f_ext={"link_3": on_body})[2]
    alone = CHAIN.joint_wrenches(q, v, a)[2]
    return both(loaded, alone - on_body, alone)


@misprint(f"{CĂRĂMIZARU}, 4.2, second row")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("pan_tilt_pendulum")
    q, v, a = state(rng, 2)
    S = [robot.jacobian(link, "body")(q)[:, k] for k, link in enumerate(("pan_link", "tilt_link"))]
    F = robot.joint_wrenches(q, v, a)
    return both(robot.inverse_dynamics(q, v, a)[1], S[1] @ F[1], S[0] @ F[1])


@misprint(f"{CĂRĂMIZARU}, 3.128 (proof)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    masses, points, (ω, v) = rng.uniform(1, 2, size=5), rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    velocities = v + np.cross(ω, points)
    v_C = v + np.cross(ω, masses @ points / masses.sum())
    return both(masses @ velocities, masses.sum() * v_C, masses.sum() * velocities[0])


@misprint(f"{CĂRĂMIZARU}, remark 3.3.3")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    (q, v, a), A_g = state(rng), [0, 0, 0, 0, 0, -9.81]
    moved = CHAIN.inverse_dynamics(q, v, a, gravity=(0, 0, 0))
    weight = np.zeros(3)
    for k, body in enumerate(CHAIN.model.bodies):
        X = spatial.motion_transform(se3.inverse(CHAIN.pose(f"link_{k + 1}")(q)))
        inertia = spatial.inertia_from_parameters(body.inertia.parameters)
        weight += CHAIN.jacobian(f"link_{k + 1}", "body")(q).T @ inertia @ X @ A_g
    return both(CHAIN.inverse_dynamics(q, v, a), moved - weight, moved + weight)
