"""Centroidal quantities against Pinocchio: the momentum matrix, its rate and the locked inertia."""

import numpy as np
import pinocchio as pin
from comparison import TOLERANCE, ZERO, relative_error
from pinocchio_peer import ANGULAR_FIRST, Pinocchio
from real_robots import FILES, load, random_states, skip_if_faulty, sweep

SOME = {("panda.urdf", "fixed"), ("a1.urdf", "floating")}
N = 10  # states


def compare(name: str, base: str) -> None:
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, N)
    expected: dict[str, list[np.ndarray]] = {"A": [], "A_dot": [], "h": [], "I": []}
    for q, v in zip(peer.q(states.q), states.v @ peer.G.T, strict=True):
        pin.dccrba(peer.model, peer.data, q, v)
        expected["A"].append(peer.data.Ag[ANGULAR_FIRST] @ peer.G)
        expected["A_dot"].append(peer.data.dAg[ANGULAR_FIRST] @ peer.G)
        expected["h"].append(peer.data.hg.vector[ANGULAR_FIRST])
        pin.ccrba(peer.model, peer.data, q, v)
        expected["I"].append(peer.data.Ig.inertia.copy())
    ours = {
        "A": robot.centroidal_momentum_matrix(states.q),
        "A_dot": robot.centroidal_momentum_matrix_dot(states.q, states.v),
        "h": robot.centroidal_momentum(states.q, states.v),
        "I": robot.locked_inertia(states.q),
    }
    floor = ZERO * np.abs(ours["A"]).max(
        initial=0.0
    )  # wheels that spin about their own axis leave A as it is
    errors = {key: relative_error(ours[key], np.array(expected[key]), floor) for key in ours}
    assert all(error <= TOLERANCE for error in errors.values()), errors


@sweep(FILES, SOME, alternate=True)
def test_every_robot(name: str, base: str) -> None:
    skip_if_faulty(name, base)
    compare(name, base)
