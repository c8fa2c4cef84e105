"""Sensitivities of trajectories: difference quotients, CasADi's cvodes, forward against adjoint."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.simulation.equations.integrators import STEPS
from random_trees import assert_close, fewest, robots, seeds, state


@pytest.mark.parametrize("method", STEPS)
def test_difference_quotients(method: str, rng: np.random.Generator) -> None:
    """By q0, v0, θ and a constant torque, with friction and substeps."""
    robot = (
        hc.load("double_pendulum").with_joints(damping=0.3, friction=0.2).parametric("inertia", "friction")
    )
    tau = rng.normal(size=(40, 2))
    options = dict(dt=5e-3, method=method, substeps=2, smoothing=0.3)

    def last(q0, v0, theta, offset):
        end = hc.simulate(robot, q0, v0, 0.2, tau + offset, theta=theta, **options)
        return np.concatenate([end.q[-1], end.v[-1]])

    point = [np.array([1.0, 0.5]), np.array([0.3, -0.8]), robot.theta.values, np.zeros(2)]
    motion = hc.simulate(robot, point[0], point[1], 0.2, tau, **options)
    found = motion.sensitivity("q0", "v0", "theta", "tau")
    columns = np.concatenate([found.q[-1], found.v[-1]])
    assert columns.shape == (4, len(found.columns)) and found.columns[4] == f"theta.{robot.theta.names[0]}"
    numeric = []
    for i, values in enumerate(point):
        for k in range(len(values)):
            ends = []
            for sign in (1, -1):
                moved = [x.copy() for x in point]
                moved[i][k] += sign * 1e-5
                ends.append(last(*moved))
            numeric.append((ends[0] - ends[1]) / 2e-5)
    assert_close(columns, np.array(numeric).T, 1e-7)


@fewest
@given(robots(max_bodies=3), seeds)
def test_forward_and_adjoint_agree_on_any_tree(robot: hc.Robot, seed: int) -> None:
    """In the tangent space of quaternions too: ⟨∂L/∂x, δx⟩ summed over time is ⟨gradient, δ(q0, v0, τ)⟩."""
    q0, v0, tau = state(robot, seed)
    rng = np.random.default_rng(seed)
    motion = hc.simulate(robot, q0, 0.3 * v0, 0.02, 0.1 * tau, dt=5e-3, substeps=2)
    found = motion.sensitivity("q0", "v0", "tau")
    seeds_ = rng.normal(size=(2, *motion.v.shape))
    slope = motion.gradient(*seeds_)
    expected = np.einsum("kn,knp->p", seeds_[0], found.q) + np.einsum("kn,knp->p", seeds_[1], found.v)
    reverse = np.concatenate([slope.q0, slope.v0, slope.tau.sum(axis=0)])
    assert_close(reverse, expected, 1e-9)
    # along the first direction, by a difference quotient in the tangent space
    ε, d = 1e-6, rng.normal(size=robot.nv)
    ends = [
        hc.simulate(robot, robot.integrate(q0, s * ε * d), 0.3 * v0, 0.02, 0.1 * tau, dt=5e-3, substeps=2)
        for s in (1, -1)
    ]
    moved = [robot.difference(motion.q[-1], end.q[-1]) for end in ends]
    quotient = np.concatenate([moved[0] - moved[1], ends[0].v[-1] - ends[1].v[-1]]) / (2 * ε)
    along = np.concatenate([found.of("q0")[0][-1] @ d, found.of("q0")[1][-1] @ d])
    assert_close(along, quotient, 1e-5, scale=1.0)


def test_cvodes() -> None:
    """Sensitivities of CasADi's integrator with its own variational equations, to its tolerance."""
    robot = hc.load("double_pendulum").parametric("inertia")
    q, v, θ = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("theta", 20)
    dae = {
        "x": ca.vertcat(q, v),
        "p": θ,
        "ode": ca.vertcat(v, robot.forward_dynamics(q, v, np.zeros(2), θ)),
    }
    solver = ca.integrator("F", "cvodes", dae, 0.0, 0.3, {"abstol": 1e-12, "reltol": 1e-12})
    x0 = ca.MX.sym("x0", 4)
    p = ca.MX.sym("p", 20)
    end = solver(x0=x0, p=p)["xf"]
    slopes = ca.Function("J", [x0, p], [ca.jacobian(end, x0), ca.jacobian(end, p)])
    by_state, by_theta = slopes([1.0, 0.5, 0.2, -0.3], robot.theta.values)
    motion = hc.simulate(robot, [1.0, 0.5], [0.2, -0.3], 0.3, friction=False)
    found = motion.sensitivity("q0", "v0", "theta")
    ours = np.concatenate([found.q[-1], found.v[-1]])
    assert_close(ours[:, :4], np.array(by_state), 1e-8)
    assert_close(ours[:, 4:], np.array(by_theta), 1e-8)


def test_batches(rng: np.random.Generator) -> None:
    robot = hc.load("double_pendulum").parametric("inertia")
    q0, tau = rng.normal(size=(3, 2)), rng.normal(size=(3, 20, 2))
    motions = hc.simulate(robot, q0, None, 0.02, tau)
    found, slope = motions.sensitivity("q0", "theta"), motions.gradient(dL_dv=[1.0, -1.0])
    assert found.q.shape == (3, 21, 2, 22) and slope.tau.shape == (3, 20, 2)
    for k in range(3):
        alone = hc.simulate(robot, q0[k], None, 0.02, tau[k])
        assert_close(found.v[k], alone.sensitivity("q0", "theta").v)
        assert_close(slope.theta[k], alone.gradient(dL_dv=[1.0, -1.0]).theta)
        assert_close(motions[k].sensitivity("q0", "theta").v, found.v[k])


def test_a_gradient_descends_to_a_target(rng: np.random.Generator) -> None:
    """Torques of each sample from the adjoint: the last angle reaches its target by gradient steps."""
    robot = hc.load("double_pendulum")
    tau, target = np.zeros((100, 2)), np.array([0.6, -0.2])
    errors = []
    for _ in range(30):
        motion = hc.simulate(robot, [0.2, 0.1], None, 0.1, tau)
        errors.append(motion.q[-1] - target)
        slopes = np.array([motion.gradient(unit).tau.ravel() for unit in np.eye(2)])
        tau = tau - (np.linalg.pinv(slopes) @ errors[-1]).reshape(100, 2)
    assert np.abs(errors[-1]).max() < 1e-9 < np.abs(errors[0]).max()


def test_what_has_no_sensitivity_is_named() -> None:
    robot = hc.load("double_pendulum")
    motion = hc.simulate(robot, [1.0, 0.5], duration=0.02)
    with pytest.raises(hc.InputError, match="some of q0, v0, theta, tau"):
        motion.sensitivity("q1")
    with pytest.raises(hc.InputError, match="no parameters theta"):
        motion.sensitivity("theta")
    with pytest.raises(hc.InputError, match="not those of steps"):
        hc.simulate(robot, [1.0, 0.5], duration=1.0).resample(dt=0.25).sensitivity()
    with pytest.raises(hc.InputError, match="'stiction'"):
        hc.simulate(robot, [1.0, 0.5], duration=0.02, method="stiction").sensitivity()
    with pytest.raises(hc.InputError, match="has the shape"):
        motion.gradient(np.zeros(3))
    with pytest.raises(hc.InputError, match="must be finite"):
        motion.gradient([np.nan, 0.0])
    with pytest.raises(hc.InputError, match="simulate gave"):
        hc.Trajectory(motion.t, motion.q, motion.v, motion.tau).sensitivity()
