"""Inertia along tendons: MuJoCo's along one branch, and identities of mechanics where it couples branches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest
from benchmarks.mjcf import TOLERANCE, Comparison
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.dynamics.closed_form.equations import closed_form
from helicoid.dynamics.physics import nominal
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.identification.linear.equations.known import known_torque
from mjcf_scenes import NUMBERS, SCENE, TENDONS

ONE_BRANCH = {
    "fixed": "<tendon>" + TENDONS["fixed"].format(NUMBERS + ' armature=".7"') + "</tendon>",
    "spatial": '<tendon><spatial name="t" armature=".7"><site site="at_world"/><site site="on_b"/>'
    "</spatial></tendon>",
    "motor": f"<tendon>{TENDONS['fixed'].format('')}</tendon><actuator>"
    '<motor tendon="t" armature="2" damping="3" gear="2"/></actuator>',
}
ACROSS = "<tendon>" + TENDONS["spatial"].format('armature=".7"') + "</tendon>"
CROSSING = SCENE.replace('<freejoint name="free"/>', "").format(ACROSS)
TWO_ARMS = """<mujoco><worldbody>
<body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="a" pos=".3 .1 0"/></body>
<body pos=".2 .5 0"><joint axis="1 0 0"/><geom size=".1" pos="0 .3 0"/><site name="b" pos=".1 0 .3"/></body>
</worldbody><tendon><spatial armature=".7"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize("kind", ONE_BRANCH)
@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_along_one_branch_it_is_mujocos(kind: str, tmp_path: Path, rng: np.random.Generator) -> None:
    text = SCENE.format(ONE_BRANCH[kind])
    robot, model = hc.load(text), mujoco.MjModel.from_xml_string(text)
    errors = Comparison(robot, model).errors(rng)
    assert max(errors.values()) < TOLERANCE, errors
    q = robot.random(rng)
    assert np.abs(robot.mass_matrix(q) - _without_tendons(robot).mass_matrix(q)).max() > 0.01
    robot.to_mjcf(tmp_path / "robot.xml")
    assert_allclose(hc.load(tmp_path / "robot.xml").mass_matrix(q), robot.mass_matrix(q), atol=1e-10)


@pytest.fixture(scope="module")
def crossing() -> hc.Robot:
    with pytest.warns(hc.DoubtfulModelWarning, match="armature couples branches"):
        return hc.load(CROSSING)


def test_inertia_across_branches_is_that_of_its_energy(crossing: hc.Robot, rng: np.random.Generator) -> None:
    """½ m L̇² with finite differences of L; M, inverse and forward dynamics agree."""
    robot, q, v, a = crossing, crossing.random(rng), *rng.normal(size=(2, crossing.nv))
    rigid = _without_tendons(robot)
    M, h = robot.mass_matrix(q), 1e-6
    lengths = [robot.tendon_lengths(robot.integrate(q, s * v))[0] for s in (h, -h)]
    rate = (lengths[0] - lengths[1]) / (2 * h)
    added = robot.kinetic_energy(q, v) - rigid.kinetic_energy(q, v)
    assert_allclose(added, 0.7 * rate**2 / 2, rtol=1e-6)
    assert_allclose(robot.kinetic_energy(q, v), v @ M @ v / 2)
    tau = robot.inverse_dynamics(q, v, a)
    assert_allclose(tau - robot.bias(q, v), M @ a, atol=1e-10)
    for forward in (robot.forward_dynamics, robot.forward_dynamics_crba):
        assert_allclose(forward(q, v, tau), a, atol=1e-9)
    assert_allclose(robot.mass_matrix_inverse(q) @ M, np.eye(robot.nv), atol=1e-9)
    power = v @ (tau - robot.gravity(q) - robot.elastic_torque(q))
    after = robot.integrate(q, h * v), v + h * a
    before = robot.integrate(q, -h * v), v - h * a
    grown = (robot.kinetic_energy(*after) - robot.kinetic_energy(*before)) / (2 * h)
    assert_allclose(power, grown, rtol=1e-5)


def test_coriolis_matrices_and_derivatives_have_it(crossing: hc.Robot, rng: np.random.Generator) -> None:
    robot, q, v, a = crossing, crossing.random(rng), *rng.normal(size=(2, crossing.nv))
    C, h = robot.coriolis_matrix(q, v), 1e-6
    assert_allclose(C @ v, robot.coriolis(q, v), atol=1e-10)
    ends = [robot.mass_matrix(robot.integrate(q, s * v)) for s in (h, -h)]
    assert_allclose(C + C.T, (ends[0] - ends[1]) / (2 * h), atol=1e-6)
    assert_allclose(robot.christoffel_symbols(q) @ v, C, atol=1e-10)
    x, w = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    M, other, _ = closed_form(robot.model, nominal(robot.model), x, w)
    M, other = (np.array(one) for one in ca.Function("f", [x, w], [M, other])(q, v))
    assert_allclose(M, robot.mass_matrix(q), atol=1e-10)
    assert_allclose(other @ v, robot.coriolis(q, v), atol=1e-10)
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a)
    tau = robot.inverse_dynamics
    for unit, column, slope in zip(np.eye(robot.nv), dq.T, dv.T, strict=True):
        ends = [tau(robot.integrate(q, s * unit), v, a) for s in (h, -h)]
        assert_allclose(column, (ends[0] - ends[1]) / (2 * h), atol=1e-5)
        ends = [tau(q, v + s * unit, a) for s in (h, -h)]
        assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), atol=1e-5)
    dM = robot.mass_matrix_derivatives(q)
    ends = [robot.mass_matrix(robot.integrate(q, s * np.eye(robot.nv)[0])) for s in (h, -h)]
    assert_allclose(dM[:, :, 0], (ends[0] - ends[1]) / (2 * h), atol=1e-6)


def test_regressions_have_it(crossing: hc.Robot, rng: np.random.Generator) -> None:
    """What regressors do not explain is known torque, and belongs to the momentum or to its rate."""
    robot, q, v, a = crossing, crossing.random(rng), *rng.normal(size=(2, crossing.nv))
    Y, tau = robot.regressor(q, v, a), robot.inverse_dynamics(q, v, a)
    known = known_torque(robot, frozenset(), q[None], v[None], a[None])
    assert known is not None
    assert_allclose(Y @ robot.parameters.values + known[0], tau, atol=1e-9)
    rows = BaseEquations(robot, ("inertia",)).momentum_rows
    h = 1e-5
    ends = [rows(robot.integrate(q, s * v + s * s * a / 2), v + s * a)[0][-1] for s in (h, -h)]
    rate = rows(q, v)[1][-1]
    assert_allclose((ends[0] - ends[1]) / (2 * h) + rate, tau, atol=1e-4)


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_adaptation_from_the_true_parameters_is_inverse_dynamics(rng: np.random.Generator) -> None:
    robot = hc.load(TWO_ARMS)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    law = hc.control.AdaptiveControl(robot, frequency=5.0, damping=1.0, dt=1e-3)
    assert_allclose(law.step(q, v, q, v, a), robot.inverse_dynamics(q, v, a), rtol=1e-4, atol=1e-4)


def test_joints_carry_its_reaction(crossing: hc.Robot, rng: np.random.Generator) -> None:
    robot, q, v, a = crossing, crossing.random(rng), *rng.normal(size=(2, crossing.nv))
    wrenches = robot.joint_wrenches(q, v, a)
    assert_allclose(wrenches[0, 1], robot.inverse_dynamics(q, v, a)[0], atol=1e-9)  # j1 turns about y


def _without_tendons(robot: hc.Robot) -> hc.Robot:
    return robot.with_model(replace(robot.model, tendons=(), actuators=()))
