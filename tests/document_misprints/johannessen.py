"""Misprints of the thesis of Johannessen."""

from __future__ import annotations

import numpy as np

import helicoid as hc
from document_misprints.common import CHAIN, JOHANNESSEN, Array, both, misprint, pose, state
from helicoid.geometry import se3, so3, spatial


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


@misprint(f"{JOHANNESSEN}, 1.4")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, a = state(rng)
    force_of_acceleration = CHAIN.inverse_dynamics.jacobian("a")(q, v, a)
    acceleration_of_force = CHAIN.forward_dynamics.jacobian("tau")(q, v, a)
    return both(CHAIN.mass_matrix(q), force_of_acceleration, acceleration_of_force.T)


def _chain(q: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Screws and inertias of the bodies, and the force transforms from each to the base."""
    links = [f"link_{k + 1}" for k in range(3)]
    S = [CHAIN.jacobian(link, "body")(q)[:, k] for k, link in enumerate(links)]
    inertias = [spatial.inertia_from_parameters(body.inertia.parameters) for body in CHAIN.model.bodies]
    return S, inertias, [spatial.force_transform(CHAIN.pose(link)(q)) for link in links]


@misprint(f"{JOHANNESSEN}, 3.42")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, _ = state(rng)
    S, inertias, X = _chain(q)
    twists = [v[k] * np.linalg.inv(X[k]).T @ S[k] for k in range(3)]  # of the joints, at the base
    bodies = [X[k] @ inertias[k] @ X[k].T for k in range(3)]

    def energy(supports: list[list[int]]) -> float:
        terms = ((k, i, j) for k in range(3) for i in supports[k] for j in supports[k])
        return 0.5 * sum(float(twists[i] @ bodies[k] @ twists[j]) for k, i, j in terms)

    printed = energy([[0, 1, 2]] * 3)  # each joint supports its own body
    return both(CHAIN.kinetic_energy(q, v), energy([[0], [0, 1], [0, 1, 2]]), printed)


@misprint(f"{JOHANNESSEN}, 3.51 (definition of F)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q = rng.normal(size=3)
    S, _, X = _chain(q)
    I_c, i, j = CHAIN.composite_inertias(q), 2, 0
    right = np.linalg.solve(X[j], X[i]) @ I_c[i] @ S[i]
    printed = np.linalg.solve(X[i], X[j]) @ I_c[j] @ S[j]
    return both(CHAIN.mass_matrix(q)[i, j], right @ S[j], printed @ S[j])


@misprint(f"{JOHANNESSEN}, Algorithms 2 to 4 (backward loops)")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, a = state(rng)
    S, inertias, X = _chain(q)

    def torques(loop: range) -> Array:
        f = []
        for k, inertia in enumerate(inertias):
            link = f"link_{k + 1}"
            V, A = CHAIN.velocity(link, "body")(q, v), CHAIN.acceleration(link, "body")(q, v, a)
            f.append(inertia @ A + spatial.force_cross(V) @ inertia @ V)
        τ = np.zeros(3)
        for i in loop:  # joints 1 to 3
            if i > 0:
                τ[i - 1] = S[i - 1] @ f[i - 1]
            if i > 1:
                f[i - 2] = f[i - 2] + np.linalg.solve(X[i - 2], X[i - 1]) @ f[i - 1]
        return τ

    truth = CHAIN.inverse_dynamics(q, v, a, gravity=(0, 0, 0))
    return both(truth, torques(range(3, 0, -1)), torques(range(2, -1, -1)))


@misprint(f"{JOHANNESSEN}, Algorithm 4, line 8")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q = rng.normal(size=3)
    S, _, _ = _chain(q)
    I_c = CHAIN.composite_inertias(q)
    right = np.array([S[i] @ I_c[i] @ S[i] for i in range(3)])
    printed = np.array([right[i] if CHAIN.model.bodies[i].parent >= 0 else 0.0 for i in range(3)])
    return both(np.diag(CHAIN.mass_matrix(q)), right, printed)
