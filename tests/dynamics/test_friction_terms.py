"""The table of friction terms: joints state them, dynamics feel them, a URDF keeps them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid import ModelError, Robot
from helicoid.dynamics.friction import TERMS, stated_names
from random_trees import Array, assert_close

ARM = hc.load("double_pendulum").with_joints(damping=0.0, friction=0.0)
EPSILON = 0.01
WIDTH, SHIFT = np.array([0.3, 0.5]), np.array([0.1, -0.2])
ALL = {
    **{"offset": [0.3, -0.2], "root": [-0.2, 0.4], "load": [0.05, 0.1]},
    **{"viscous_forward": [0.3, 0.1], "viscous_backward": [0.1, 0.2]},
    **{"coulomb_forward": [0.5, 0.4], "coulomb_backward": [0.2, 0.3]},
    **{"sigmoid": [0.4, 0.6], "sigmoid_width": WIDTH, "sigmoid_shift": SHIFT},
}


def shape_of(name: str, q: Array, v: Array) -> Array:
    """The columns again, in NumPy."""
    way, load = np.tanh(v / EPSILON), ARM.gravity(q)
    return {
        "offset": np.ones_like(v),
        "root": way * (v**2 + 1e-6) ** 0.25,
        "load": way * np.abs(load),
        "viscous_forward": np.maximum(v, 0),
        "viscous_backward": np.minimum(v, 0),
        "coulomb_forward": np.maximum(way, 0),
        "coulomb_backward": np.minimum(way, 0),
        "sigmoid": np.tanh((v + SHIFT) / WIDTH) - np.tanh(SHIFT / WIDTH),
    }[name]


def friction_of(robot: Robot, q: Array, v: Array) -> Array:
    a = np.zeros(robot.nv)
    return np.asarray(robot.inverse_dynamics(q, v, a, friction=True) - robot.inverse_dynamics(q, v, a))


def test_each_term_is_its_number_times_its_column() -> None:
    """All at once: linear in the numbers, so that one term at a time is the difference."""
    q, v = np.array([0.4, -0.7]), np.array([0.8, -0.05])
    shapes = ("sigmoid_width", "sigmoid_shift")
    wanted = sum(np.array(size) * shape_of(name, q, v) for name, size in ALL.items() if name not in shapes)
    assert_close(friction_of(ARM.with_joints(**ALL), q, v), wanted)


def test_every_term_of_the_table_can_be_stated() -> None:
    assert set(ALL) == set(stated_names())
    fields = {term.field for term in TERMS.values() if term.field}
    assert fields == {"damping", "friction", "stiffness", "static_friction"}


def test_dynamics_and_derivatives_agree_with_all_terms() -> None:
    robot = ARM.with_joints(**ALL)
    q, v, a = np.array([0.4, -0.7]), np.array([0.8, -0.05]), np.array([1.0, -2.0])
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert_close(robot.forward_dynamics(q, v, tau, friction=True), a)
    assert_close(robot.forward_dynamics_crba(q, v, tau, friction=True), a)
    found = robot.inverse_dynamics_derivatives(q, v, a, friction=True)
    function = robot.inverse_dynamics.with_options(friction=True)
    assert_close(found.dtau_dq, function.jacobian("q")(q, v, a))
    assert_close(found.dtau_dv, function.jacobian("v")(q, v, a))


def test_at_rest_nothing_is_infinite() -> None:
    robot, still = ARM.with_joints(**ALL), np.zeros(2)
    found = robot.inverse_dynamics_derivatives(np.array([0.4, -0.7]), still, still, friction=True)
    assert all(np.isfinite(part).all() for part in found)


def test_a_urdf_keeps_every_term(tmp_path: Path) -> None:
    robot = ARM.with_joints(**ALL)
    robot.to_urdf(tmp_path / "arm.urdf")
    again = hc.load(tmp_path / "arm.urdf")
    for joint, other in zip(robot.model.joints, again.model.joints, strict=True):
        assert joint.friction_terms.keys() == other.friction_terms.keys()
        for name, values in joint.friction_terms.items():
            assert_close(other.friction_terms[name], values)


def test_what_is_no_term_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a joint has no 'glue'"):
        ARM.with_joints(glue=1.0)
    with pytest.raises(ModelError, match="sigmoid friction needs a sigmoid_width above 0"):
        ARM.with_joints(sigmoid=1.0)
    ARM.with_joints(root=0.2).to_urdf(tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text().replace("root=", "glue=")
    with pytest.raises(ModelError, match="unknown friction term 'glue'; there are: offset, root"):
        hc.load(text)


def test_a_term_can_be_a_parameter_at_run_time() -> None:
    q, v, a = np.array([0.4, -0.7]), np.array([0.8, -0.05]), np.zeros(2)
    robot = ARM.with_joints(root=[0.5, 0.1], offset=0.2).parametric("root")
    assert robot.theta.names == ("joint_1.root", "joint_2.root")
    assert_close(robot.theta.values, [0.5, 0.1])
    sizes = np.array([-0.3, 0.7])
    wanted = ARM.with_joints(root=sizes, offset=0.2).inverse_dynamics(q, v, a, friction=True)
    assert_close(robot.inverse_dynamics(q, v, a, sizes), wanted)


def test_a_joint_at_rest_is_held_by_what_is_dry() -> None:
    """An offset below Coulomb friction moves nothing; one above does. Hanging, weight pulls nowhere."""
    assert_close(ARM.gravity(np.zeros(2)), np.zeros(2))
    held = ARM.with_joints(friction=1.0, offset=[0.9, -0.9])
    slips = ARM.with_joints(friction=0.5, offset=[0.9, 0.0])
    for robot, moves in ((held, False), (slips, True)):
        run = hc.simulate(robot, np.zeros(2), np.zeros(2), 0.05, dt=0.01, method="stiction")
        assert np.any(run.v) == moves
