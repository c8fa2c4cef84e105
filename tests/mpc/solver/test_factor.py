"""The matrices of the Riccati recursion against NumPy, for sizes that fill no register or tile."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import helicoid as hc
from helicoid.mpc import Controller, Problem
from helicoid.mpc.solver import kernels
from helicoid.mpc.solver.engine import SqpSolver

SIZES = [
    ("inverse_dynamics", 3),
    pytest.param("forward_dynamics", 2, marks=pytest.mark.slow),
    pytest.param("inverse_dynamics", 9, marks=pytest.mark.slow),
    pytest.param("inverse_dynamics", 14, marks=pytest.mark.slow),
    pytest.param("forward_dynamics", 7, marks=pytest.mark.slow),
]


def factored(formulation: str, joints: int, patch: pytest.MonkeyPatch) -> SqpSolver:
    """A chain after some steps, its matrices made once more."""
    text = kernels._text
    more = "EXPORTED int factor_again(mpc *s) { return factor(s); }\n"
    patch.setattr(kernels, "_text", lambda stages: text(stages) + more)
    robot = hc.serial_chain(joints)
    q = np.linspace(0.2, -0.7, joints)
    problem = Problem(robot, horizon=3, dt=0.02, formulation=formulation)
    problem.add_posture_cost(q + 0.3, 1.0, 10.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    problem.add_frame_box("tool0", lower=[-9.0, -9.0, -9.0], upper=[9.0, 9.0, 9.0])  # rows of q alone
    controller = Controller(problem)
    for _ in range(2):
        controller.step(q, np.zeros(joints))
    engine = controller._engine
    rng = np.random.default_rng(joints)
    engine["stiffness"][...] = rng.uniform(0.0, 100.0, engine["stiffness"].shape)
    again = engine._library.factor_again
    again.argtypes = [ctypes.c_void_p]
    assert again(engine._handle) == 1
    return engine


def full_hessian(engine: SqpSolver, node: int) -> np.ndarray:
    """H + Σ stiffness row rowᵀ + damping, without padding."""
    stages, nzp, last = engine.stages, engine.stages.nzp, node == engine.intervals
    H = engine["hessian"][node].reshape(nzp, nzp).copy()
    H += np.diag(engine["settings"][8] * (np.abs(np.diag(H)) + 1e-6 * engine["settings"][9]))
    J = engine["jacobian"][node].reshape(-1, nzp)
    rows = stages.end_rows if last else stages.path_rows
    boxes = [row for row in rows if row.box is not None]
    for k, row in enumerate(boxes):
        H[row.box, row.box] += engine["stiffness"][node, k] * row.factor**2
    for k in range(len(rows) - len(boxes)):
        H += engine["stiffness"][node, len(boxes) + k] * np.outer(J[k], J[k])
    return H[np.ix_(stages.z_at, stages.z_at)]


@pytest.mark.parametrize(("formulation", "joints"), SIZES)
def test_matrices_are_those_of_the_recursion(
    formulation: str, joints: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = factored(formulation, joints, monkeypatch)
    stages, nu = engine.stages, engine.stages.system.nu
    states, at = [stages.nup + k for k in stages.state_at], stages.z_at
    P = full_hessian(engine, engine.intervals)[nu:, nu:]
    for node in range(engine.intervals)[::-1]:
        h, one, zero = engine["h"][node, 0], np.eye(joints), np.zeros((joints, joints))
        if stages.system.uses_double_integrator:
            AB = np.block([[stages.system.control_share * h**2 * one, one, h * one], [h * one, zero, one]])
        else:
            AB = engine["dynamics"][node].reshape(stages.nxp, stages.nzp)[np.ix_(stages.state_at, at)]
        G = full_hessian(engine, node) + AB.T @ P @ AB
        K = -np.linalg.solve(G[:nu, :nu], G[:nu, nu:])
        P = G[nu:, nu:] + G[nu:, :nu] @ K
        swept = engine["swept"][node].reshape(stages.nzp, stages.nzp)  # columns
        size = np.abs(G).max()
        np.testing.assert_allclose(swept[np.ix_(states, states)], P, rtol=1e-9, atol=1e-10 * size)
        np.testing.assert_allclose(swept[np.ix_(states, range(nu))], -K.T, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(swept[np.ix_(range(nu), states)], K, rtol=1e-7, atol=1e-9)
        inverse = np.linalg.inv(G[:nu, :nu])
        np.testing.assert_allclose(swept[:nu, :nu], inverse, rtol=1e-7, atol=1e-9 * np.abs(inverse).max())
