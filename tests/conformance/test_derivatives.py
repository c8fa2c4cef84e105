"""Derivatives, the Coriolis matrix and the regressor against Pinocchio on real robots."""

import numpy as np
import pinocchio as pin
import pytest
from comparison import ZERO, relative_error
from pinocchio_peer import Pinocchio
from real_robots import FILES, load, random_states, skip_if_faulty, sweep

TOLERANCE = 1e-9
SOME = {("panda.urdf", "fixed"), ("a1.urdf", "floating")}
N = 5  # states
# Pinocchio's order of the ten parameters, in ours: it has Iyy before Ixz.
PARAMETERS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def compare(name: str, base: str) -> None:
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, N)
    model, data, G = peer.model, peer.data, peer.G
    joints = [model.getJointId(body.joint.name) if body.joint.parent else 1 for body in robot.model.bodies]
    columns = np.concatenate([10 * (j - 1) + np.array(PARAMETERS) for j in joints] or [np.zeros(0)]).astype(
        int
    )
    expected: dict[str, list[np.ndarray]] = {key: [] for key in ("dq", "dv", "Cv", "Y")}
    moved = zip(peer.q(states.q), states.v @ G.T, states.a @ G.T, strict=True)
    for q, v, a in moved:
        dq, dv, _ = pin.computeRNEADerivatives(model, data, q, v, a)
        expected["dq"].append(G.T @ dq @ G)
        expected["dv"].append(G.T @ dv @ G)
        expected["Cv"].append(G.T @ pin.computeCoriolisMatrix(model, data, q, v) @ v)
        expected["Y"].append(G.T @ pin.computeJointTorqueRegressor(model, data, q, v, a)[:, columns])
    ours = robot.inverse_dynamics_derivatives(states.q, states.v, states.a)
    C, M = robot.coriolis_matrix(states.q, states.v), robot.mass_matrix(states.q)
    got = {
        "dq": ours.dtau_dq,
        "dv": ours.dtau_dv,
        "Cv": np.einsum("nij,nj->ni", C, states.v),
        "Y": robot.regressor(states.q, states.v, states.a),
    }
    floor = ZERO * np.abs(M).max(initial=0.0)
    errors = {key: relative_error(got[key], np.array(expected[key]), floor) for key in got}
    errors["M"] = relative_error(ours.M, M, floor)
    M_dot = robot.mass_matrix.time_derivative()(states.q, states.v)
    errors["M_dot - C - C'"] = relative_error(C + np.swapaxes(C, 1, 2), M_dot, floor)
    assert all(error <= TOLERANCE for error in errors.values()), errors


@sweep(FILES, SOME, alternate=True)
def test_every_robot(name: str, base: str) -> None:
    skip_if_faulty(name, base)
    compare(name, base)


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "anymal.urdf"])
def test_forward_dynamics_derivatives(name: str) -> None:
    name = next(file for file in FILES if file.endswith(f"/{name}"))
    base = "fixed" if "ur5" in name else "floating"
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, N)
    ours = robot.forward_dynamics_derivatives(states.q, states.v, states.a)
    back = np.linalg.inv(peer.G)
    for k, (q, v, tau) in enumerate(zip(peer.q(states.q), states.v @ peer.G.T, states.a @ back, strict=True)):
        dq, dv, inverse = pin.computeABADerivatives(peer.model, peer.data, q, v, tau)
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        for got, wanted in zip((x[k] for x in ours), (dq, dv, inverse), strict=True):
            assert (
                relative_error(got, back @ wanted @ (peer.G if wanted is not inverse else back.T))
                <= TOLERANCE
            )
