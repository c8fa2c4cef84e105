"""Misprints of the summary of a course."""

from __future__ import annotations

import casadi as ca
import numpy as np

import helicoid as hc
from document_misprints.common import CHAIN, SUMMARY, both, misprint
from helicoid.geometry import coordinates, euler, quaternion, so3


@misprint(f"{SUMMARY}, 1.1 (E of spherical coordinates)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    r, θ, φ, h = 1.2, 0.4, 0.3, 1e-6
    y_plus, y_minus = (coordinates.spherical_to_cartesian([r, θ + step, φ])[1] for step in (h, -h))
    return both((y_plus - y_minus) / (2 * h), *(r * np.cos(θ) * f(φ) for f in (np.sin, np.cos)))


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


@misprint(f"{SUMMARY}, 1.7.3")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    A, B = so3.exp(rng.normal(size=3)), so3.exp(rng.normal(size=3))
    return both(so3.log(B @ A.T), A @ so3.log(A.T @ B), A @ so3.log(B))


@misprint(f"{SUMMARY}, 2.3.2")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    k, d, rest = 200.0, 0.2, 0.3  # compressed
    force = (k * ((d + 1e-6 - rest) ** 2 - (d - 1e-6 - rest) ** 2) / 2) / 2e-6  # ∂U/∂d
    return both(force, k * (d - rest), k * (d - rest) * (d - rest) / abs(d - rest))
