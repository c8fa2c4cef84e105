"""Helicoid against Pinocchio on every URDF of example-robot-data, on a fixed and on a floating base."""

import numpy as np
import pytest
from comparison import (
    FORWARD,
    TOLERANCE,
    dynamics_errors,
    evaluate,
    forward_errors,
    frame_errors,
    is_singular,
    relative_error,
)
from pinocchio_peer import Pinocchio
from real_robots import BASES, FILES, QUICK, load, named, random_states, sweep

import helicoid as hc
from helicoid.model.model import WORLD

FAULTS = {
    "alex_description/urdf/alex_psyonic_hands.urdf": (
        r'alex_psyonic_hands.urdf:\d+: joint "Left_index_q2": its <mimic> names "index_q1", '
        "but there is no such joint"
    ),
    "ur_description/urdf/ur3.urdf": r"ur3.urdf:\d+: <robot> lacks its name",
}
every_robot = sweep(name for name in FILES if name not in FAULTS)
N = 100  # states


def above(tolerance: float, errors: dict[str, float]) -> dict[str, float]:
    """Those that are too large, or no number."""
    return {what: error for what, error in errors.items() if not error <= tolerance}


def test_the_files_are_there() -> None:
    assert len(FILES) >= 69
    assert FAULTS.keys() <= FILES.keys()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name: str, base: str) -> None:
    with pytest.raises(hc.RobotDescriptionError, match=FAULTS[name]):
        load(name, base)


@every_robot
def test_dynamics(name: str, base: str) -> None:
    assert above(TOLERANCE, dynamics_errors(name, base, N)) == {}


@every_robot
def test_joint_wrenches(name: str, base: str) -> None:
    """The spatial force of every joint is Pinocchio's data.f."""
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, N)
    theirs = peer.joint_wrenches(states, [body.name for body in robot.model.bodies])
    if robot.n_bodies:
        assert relative_error(evaluate(robot.joint_wrenches, states), theirs) <= TOLERANCE


@every_robot
def test_forward_dynamics(name: str, base: str) -> None:
    if is_singular(name, base):
        robot = load(name, base)
        for method in FORWARD:
            with pytest.raises(hc.ModelError, match="the mass matrix is singular"):
                evaluate(getattr(robot, method), random_states(robot, 1))
        return
    result = forward_errors(name, base, N)
    for method in FORWARD:
        assert np.all(result.errors[method] <= result.tolerance)
        assert np.all(result.residuals[method] <= 1e-12)


def some_frames(robot: hc.Robot) -> list[str]:
    """The end of the longest chain, and a link fixed to a moving body or else one halfway."""
    model = robot.model
    chains = {model.root: [model.root]}
    for joint in model.joints:
        chains[joint.child] = [*chains[joint.parent], joint.child]
    *way, end = max(chains.values(), key=len)
    carriers = {body.name for body in model.bodies}
    fixed = [name for name, frame in model.frames.items() if frame.body != WORLD and name not in carriers]
    others = [name for name in fixed if name != end] or way[len(way) // 2 :]
    return [end, *others[:1]]


@pytest.mark.parametrize(("name", "base"), [(named(file), base) for file, base in sorted(QUICK)])
def test_some_frames(name: str, base: str) -> None:
    assert above(TOLERANCE, frame_errors(name, base, some_frames(load(name, base)), N)) == {}


@pytest.mark.slow
@sweep((name for name in FILES if name not in FAULTS), alternate=True)
def test_every_frame(name: str, base: str) -> None:
    assert above(TOLERANCE, frame_errors(name, base, load(name, base).link_names, N)) == {}


@sweep(named(file) for file in ("panda.urdf", "baxter.urdf", "pr2.urdf", "tiago_pro.urdf"))
def test_mimic_joints_where_pinocchio_understands_them(name: str, base: str) -> None:
    robot = load(name, base)
    states = random_states(robot, N)
    peer = Pinocchio(FILES[name], robot, base, own_mimics=True)
    assert any(joint.shortname() == "JointModelMimic" for joint in peer.model.joints)
    assert relative_error(robot.mass_matrix(states.q), peer.mass_matrix(states)) <= TOLERANCE
    tau = robot.inverse_dynamics(states.q, states.v, states.a)
    assert relative_error(tau, peer.inverse_dynamics(states)) <= TOLERANCE
