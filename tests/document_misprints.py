"""Misprints of the documents: for each, whether the right formula holds, and whether the printed one does."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid.geometry import euler, quaternion, se3, so3, spatial

Array = NDArray[np.float64]
Check = Callable[[np.random.Generator], tuple[bool, bool]]
CHAIN = hc.serial_chain(3)
CĂRĂMIZARU, JOHANNESSEN, GAROFALO = "Cărămizaru", "Johannessen", "Garofalo et al."
SUMMARY, SLIDES = "*Robot Dynamics* summary", "*Robot Dynamics* slides"

MISPRINTS: dict[str, Check] = {}


def misprint(where: str) -> Callable[[Check], Check]:
    def add(check: Check) -> Check:
        MISPRINTS[where] = check
        return check

    return add


def both(truth: Array | float, right: Array | float, printed: Array | float) -> tuple[bool, bool]:
    return bool(np.allclose(truth, right)), bool(np.allclose(truth, printed))


def pose(rng: np.random.Generator) -> Array:
    return np.asarray(se3.exp(rng.normal(size=6)))


def unit(rng: np.random.Generator) -> Array:
    x = rng.normal(size=3)
    return np.asarray(x / np.linalg.norm(x))


def state(rng: np.random.Generator, n: int = 3) -> Array:
    return rng.normal(size=(3, n))


# Cărămizaru -------------------------------------------------------------------------------------------


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


# Johannessen --------------------------------------------------------------------------------------------


@misprint(f"{JOHANNESSEN}, 2.30")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    w, v, f, f_O = rng.normal(size=(4, 3))
    result = np.concatenate([np.cross(w, f_O) + np.cross(v, f), np.cross(w, f)])
    operator = -spatial.motion_cross(np.concatenate([w, v])).T
    return both(result, operator @ np.concatenate([f_O, f]), operator @ np.concatenate([f, f_O]))


@misprint(f"{JOHANNESSEN}, 2.42")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    c, m, I_C = rng.normal(size=3), 2.0, np.diag([0.3, 0.4, 0.5])
    center = spatial.spatial_inertia(m, np.zeros(3), I_C)
    X = np.block([[np.eye(3), so3.hat(c)], [np.zeros((3, 3)), np.eye(3)]])
    I_O = spatial.spatial_inertia(m, m * c, I_C + m * so3.hat(c) @ so3.hat(c).T)
    return both(I_O, X @ center @ X.T, X @ center @ X.T @ center)


@misprint(f"{JOHANNESSEN}, 2.46")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    placement, joint = pose(rng), se3.exp([0, 0, 0.8, 0, 0, 0])
    X_T, X_J = (spatial.motion_transform(se3.inverse(T)) for T in (placement, joint))
    return both(spatial.motion_transform(se3.inverse(placement @ joint)), X_J @ X_T, X_T @ X_J)


@misprint(f"{JOHANNESSEN}, Algorithm 1, line 11")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    urdf = """<robot name="slider"><link name="base"/><link name="carriage"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
        <joint name="rail" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""
    S = hc.load(urdf).jacobian("carriage", "body")([0.3])[:, 0]
    return both(S, np.array([0, 0, 0, 0, 1.0, 0]), np.array([0, 1.0, 0, 0, 0, 0]))


@misprint(f"{JOHANNESSEN}, 3.3")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, _ = state(rng)
    rnea = [CHAIN.inverse_dynamics(q, v, np.zeros(3), gravity=g) for g in ((0, 0, 0), (0, 0, -9.81))]
    return both(CHAIN.coriolis_matrix(q, v) @ v, *rnea)


@misprint(f"{JOHANNESSEN}, 3.9")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    (q, v, a), w = state(rng), rng.normal(size=6)  # what a wrench on the last body adds to the joint before
    free, pushed = (CHAIN.joint_wrenches(q, v, a, f_ext={"link_3": k * w})[1] for k in (0, 1))
    T = se3.inverse(CHAIN.pose("link_2")(q)) @ CHAIN.pose("link_3")(q)
    return both(pushed - free, *(spatial.force_transform(one) @ -w for one in (T, se3.inverse(T))))


def _articulated(rng: np.random.Generator) -> tuple[Array, Array]:
    """The articulated-body inertia of the last body, and its joint's axis as a column (6, 1)."""
    return CHAIN.articulated_inertias(rng.normal(size=3))[2], CHAIN.jacobian("link_3", "body")(np.zeros(3))[
        :, 2:
    ]


@misprint(f"{JOHANNESSEN}, 3.23, 3.24")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    I_A, S = _articulated(rng)
    right = I_A - I_A @ S @ np.linalg.inv(S.T @ I_A @ S) @ S.T @ I_A
    try:
        S @ I_A @ S  # type: ignore[unused-ignore]
        defined = True
    except ValueError:  # 6 × 1 times 6 × 6
        defined = False
    return bool(np.allclose(right @ S, 0)), defined  # free along its axis: no force


@misprint(f"{JOHANNESSEN}, Algorithm 3, line 11")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.serial_chain(1)
    q, v, tau = rng.normal(size=(3, 1))
    I_A, S = robot.articulated_inertias(q)[0], robot.jacobian("link_1", "body")(q)
    twist = (S @ v).ravel()
    fall = spatial.motion_transform(se3.inverse(robot.pose("link_1")(q))) @ [0, 0, 0, 0, 0, 9.81]
    p_A = spatial.force_cross(twist) @ I_A @ twist
    D = float((S.T @ I_A @ S).item())
    right, printed = ((tau - u - S.T @ I_A @ fall) / D for u in (S.T @ p_A, p_A))
    truth = robot.forward_dynamics(q, v, tau)
    return bool(np.allclose(truth, right)), printed.shape == truth.shape


@misprint(f"{JOHANNESSEN}, Algorithm 4, line 12")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q = rng.normal(size=3)
    poses = [robot_pose(q) for robot_pose in (CHAIN.pose(f"link_{k}") for k in (1, 2, 3))]
    I_c = CHAIN.composite_inertias(q)
    S = [CHAIN.jacobian(f"link_{k + 1}", "body")(q)[:, k] for k in range(3)]
    X = [spatial.force_transform(se3.inverse(poses[k]) @ poses[k + 1]) for k in range(2)]  # from k + 1 to k
    F = I_c[2] @ S[2]
    right, printed = S[0] @ X[0] @ X[1] @ F, S[0] @ X[0] @ F
    return both(CHAIN.mass_matrix(q)[2, 0], right, printed)


# Garofalo, Ott and Albu-Schäffer ------------------------------------------------------------------------


@misprint(f"{GAROFALO}, proposition 6")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, _ = state(rng)
    M_dot = np.zeros((3, 3))
    for k, body in enumerate(CHAIN.model.bodies):
        J, J_dot = (
            CHAIN.jacobian(f"link_{k + 1}", "body")(q),
            CHAIN.jacobian_dot(f"link_{k + 1}", "body")(q, v),
        )
        Λ = spatial.inertia_from_parameters(body.inertia.parameters)
        M_dot += J_dot.T @ Λ @ J + J.T @ Λ @ J_dot
    by_state = CHAIN.mass_matrix_derivatives(q)
    return bool(np.allclose(CHAIN.mass_matrix_dot(q, v), M_dot)), M_dot.shape == by_state.shape


@misprint(f"{GAROFALO}, (9) and appendix")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    m, r, I_C, twist = 2.0, rng.normal(size=3), np.diag([0.3, 0.4, 0.5]), rng.normal(size=6)
    I_O = I_C - m * so3.hat(r) @ so3.hat(r)
    Λ = spatial.spatial_inertia(m, m * r, I_O)
    π = [np.array([m, *m * r, *one[np.triu_indices(3)]]) for one in (I_O, I_C)]
    return both(Λ @ twist, *(spatial.inertia_map(twist) @ one for one in π))


@misprint(f"{GAROFALO}, remark 7")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    e, c = unit(rng), rng.normal(size=3)
    linear = se3.twist_from_screw(e, c, 0.0)[3:]
    return both(linear, -np.cross(e, c), -np.cross(e, e))


# Robot Dynamics, summary --------------------------------------------------------------------------------


@misprint(f"{SUMMARY}, 1.3.1")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    z, y, x = 0.4, -0.7, 0.9
    C = euler.from_euler([z, y, x], "zyx")
    return both(y, *(np.arctan2(-C[2, 0], np.hypot(entry, C[2, 2])) for entry in (C[2, 1], x)))


@misprint(f"{SUMMARY}, 1.3.2")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    θ = 0.8
    C = np.array([[1, 0, 0], [0, np.cos(θ), -np.sin(θ)], [0, np.sin(θ), np.cos(θ)]])  # its section 1.2.2
    n = np.array([1.0, 0, 0])
    same = np.cos(θ) * np.eye(3) + (1 - np.cos(θ)) * np.outer(n, n)
    return both(C, *(same + sign * np.sin(θ) * so3.hat(n) for sign in (1, -1)))


@misprint(f"{SUMMARY}, 1.3.2 (singularity)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    return bool(np.allclose(np.sin([0, np.pi]), 0)), bool(np.isclose(np.sin(np.pi / 2), 0))


@misprint(f"{SUMMARY}, 1.3.3 (ξ₃)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    ξ = quaternion.exp([0.3, 0.4, 1.2])
    C = quaternion.to_matrix(ξ)
    right, printed = (np.sqrt(np.abs(entry - C[0, 0] - C[1, 1] + 1)) / 2 for entry in (C[2, 2], C[2, 1]))
    return both(ξ[3], right, printed)


@misprint(f"{SUMMARY}, 1.3.3 (C₃₂)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    ξ = quaternion.exp(rng.normal(size=3))
    C = quaternion.to_matrix(ξ)
    return both(C[2, 1], *(2 * ξ[0] * ξ[1] + sign * 2 * ξ[2] * ξ[3] for sign in (1, -1)))


@misprint(f"{SUMMARY}, 2")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    M = CHAIN.mass_matrix(rng.normal(size=3))
    symmetric = np.allclose(M, M.T) and np.linalg.eigvalsh(M).min() > 0
    return bool(symmetric), bool(np.allclose(M @ M.T, np.eye(3)))


@misprint(f"{SUMMARY}, 2.3")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("planar_2r")
    q, v, a = (ca.SX.sym(name, 2) for name in "qva")
    L = robot.kinetic_energy(q, v) - robot.potential_energy(q)

    def force(x: ca.SX) -> ca.SX:
        p = ca.gradient(L, x)
        return ca.jtimes(p, q, v) + ca.jtimes(p, v, a) - ca.gradient(L, q)

    values = rng.normal(size=(3, 2))
    right, printed = (ca.Function("f", [q, v, a], [force(x)])(*values).full().ravel() for x in (v, q))
    return both(robot.inverse_dynamics(*values), right, printed)


@misprint(f"{SUMMARY}, 4.1")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    φ, θ, ψ = 0.5, 0.3, 0.2
    E = euler.euler_rate_to_angular_velocity([φ, θ, ψ], "xyz", kind="extrinsic")
    return both(E[2, 2], np.cos(φ) * np.cos(θ), np.cos(φ) * np.cos(φ) * np.cos(θ))


@misprint(f"{SUMMARY}, 4.1 (range of the pitch)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    pitch = euler.to_euler(euler.from_euler([0.3, -0.7, 0.2], "zyx"), "zyx")[1]
    return bool(-np.pi / 2 <= pitch <= np.pi / 2), bool(np.isclose(pitch, np.pi / 2))


@misprint(f"{SUMMARY}, 4.2")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    m, g = 0.7, 9.81  # at the desired height and at rest: the terms of the gains are zero
    return both(0.0, *(g - T_z / m for T_z in (m * g, -m * g)))


@misprint(f"{SUMMARY}, 4.2 (position)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    m, T, φ, θ, down = 0.7, 8.0, 0.2, 0.3, np.array([0, 0, 9.81])  # z down: the rotors push along -z
    C = euler.from_euler([0.0, θ, φ], "zyx")
    acceleration = C @ [0, 0, -T] / m + down
    forces = T * np.array([np.sin(θ) * np.cos(φ), -np.sin(φ), np.cos(θ) * np.cos(φ)])
    return both(acceleration, *(sign * forces / m + down for sign in (-1, 1)))


@misprint(f"{SUMMARY}, 4.3.1")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    thrust, A, V, ρ = 5.0, 0.03, 1.0, 1.225
    flow = hc.aerial.stream(thrust, A, climb_rate=V, density=ρ)
    through = ρ * A * (V + flow.induced)
    return both(through, ρ * A * flow.wake_area * (V + flow.wake), ρ * A * (V + flow.wake))


@misprint(f"{SUMMARY}, 6.1")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    ρ, g, h = 1.225, 9.81, np.array([0.0, 10.0])
    p = 1e5 - ρ * g * h  # at rest
    right, printed = (np.diff(g * h + p / divisor)[0] for divisor in (ρ, 2.0))
    return both(0.0, right, printed)


@misprint(f"{SUMMARY}, 6.4")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    m, V, φ = 11.0, 25.0, 0.5
    radius = V / hc.aerial.turn_rate(V, φ)
    inward = hc.aerial.load_factor(φ) * m * 9.81 * np.sin(φ)
    return both(inward, m * V**2 / radius, m * V**2 / 2)


@misprint(f"{SUMMARY}, 6.4.2")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    V, V_dot, γ, g, a = 25.0, 0.5, 0.1, 9.81, 340.0  # a, the letter in print, is no gravity
    energy_rate = (V * V_dot / g + V * np.sin(γ)) / V  # of V²/2g + h, over V
    total = hc.aerial.energy_rates(V_dot, γ).total
    assert np.isclose(total, energy_rate)
    return both(total, V_dot / g + np.sin(γ), V_dot / a + np.sin(γ))


# Robot Dynamics, slides ---------------------------------------------------------------------------------


@misprint(f"{SLIDES}, Coriolis matrices")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("planar_2r")
    q, v, _ = state(rng, 2)
    s = 1.0 * 1.0 * 0.8 * np.sin(q[1])  # m₂ L₁ L₂ sin θ₂ of this arm
    third = [
        np.array([[0, -(2 * v[0] + v[1]) * s], [(v[0] + v[1] / 2) * s, sign * v[0] * s / 2]])
        for sign in (-1, 1)
    ]
    assert np.allclose(robot.coriolis_matrix_classic(q, v)[2], third[0])
    return both(robot.coriolis(q, v), *(C @ v for C in third))


@misprint(f"{SLIDES}, Jacobian")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    J = CHAIN.jacobian("tool0", "body")(rng.normal(size=3))
    return J.shape == (6, 3), J.shape == (3, 6)


@misprint(f"{SLIDES}, constraint of the channel")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    robot = hc.load("planar_2r")
    channel = robot.constrain(holonomic=lambda q: robot.pose("tip")(q)[0, 3] - 1)
    rows = channel.constraint_jacobian([-1.0, 2.0]) @ np.ones(2)
    return rows.shape == (1,), rows.shape == (2,)
