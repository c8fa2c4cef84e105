"""Output error by multiple shooting: exact sensitivities, and the truth from a wrong start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from synthetic_logs import truth

import helicoid as hc
from helicoid import Robot
from helicoid.errors import InputError
from helicoid.identification.identify import identify
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.refinement.elimination import Linearised, solve
from helicoid.identification.refinement.multiple_shooting import OutputError, ShootingPoint, Windows
from helicoid.identification.refinement.output_error import fit_output_error
from helicoid.identification.refinement.shooting import Simulator
from random_trees import Array, robots, seeds

GROUPS = ("inertia", "viscous", "offset", "armature")


def swinging(robot: Robot, seed: int, seconds: float = 1.0, noise: float = 0.0) -> Log:
    """The robot moved by sines of torque, simulated; positions and velocities with noise."""
    rng = np.random.default_rng(seed)
    n, dt = round(seconds * 1000), 1e-3
    t = np.arange(n + 1) * dt
    speed, phase = rng.uniform(2.0, 9.0, robot.nv), rng.uniform(0.0, 6.0, robot.nv)
    tau = rng.uniform(0.5, 1.0, robot.nv) * np.sin(np.outer(t, speed) + phase)
    q0 = robot.integrate(robot.neutral(), rng.normal(0.0, 0.3, robot.nv))
    motion = hc.simulate(robot, q0, np.zeros(robot.nv), seconds, tau[:-1] / 2 + tau[1:] / 2, dt)
    v = motion.v[::10] + 5 * noise * rng.normal(size=motion.v[::10].shape)
    q = robot.integrate(motion.q[::10], noise * rng.normal(size=v.shape))
    return Log.from_arrays(t[::10], q, v, tau=tau[::10])


def problem(robot: Robot, log: Log, x: Array | None = None) -> OutputError:
    regression = Regression(robot, GROUPS)
    x = regression.parameters.nominal if x is None else x
    windows = Windows.of(prepare(robot, log)[0][0], 5, 4)
    return OutputError(Simulator(regression), windows, x, np.full(len(x), 0.1))


# Each example builds the derivatives of a parametric robot's forward dynamics.
@settings(max_examples=max(1, settings.default.max_examples // 12))
@given(robots(max_bodies=2), seeds)
def test_sensitivities_are_those_of_small_steps(robot: Robot, seed: int) -> None:
    """Along ξ and along the state at the start, for every joint type, on the manifold."""
    rng, nv = np.random.default_rng(seed), robot.nv
    q0 = robot.integrate(robot.neutral(), rng.normal(0.0, 0.2, nv))
    t = np.arange(21) * 0.01
    v = np.outer(np.ones(21), rng.normal(0.0, 0.3, nv))
    q = np.array([robot.integrate(q0, v[0] * s) for s in t])
    own = problem(robot, Log.from_arrays(t, q, v, tau=rng.normal(size=v.shape)))
    point, step = own.start(), 1e-5
    flow = own.flow(point)
    states, p = rng.normal(size=(1, 4, 2 * nv)), len(point.xi)
    along = rng.normal(size=p)

    def moved(size: float) -> tuple[Array, Array]:
        at = ShootingPoint(point.q, point.v, point.xi + size * along)
        flat = robot.integrate(at.q.reshape(4, -1), size * states[0, :, :nv])
        there = own.flow(ShootingPoint(flat.reshape(1, 4, -1), at.v + size * states[:, :, nv:], at.xi), False)
        return there.q[-1], there.v[-1]

    (q_up, v_up), (q_down, v_down) = moved(step), moved(-step)
    small = np.concatenate([robot.difference(q_down, q_up), v_up - v_down], axis=1) / (2 * step)
    expected = flow.X[-1] @ np.concatenate([states[0], np.tile(along, (4, 1))], axis=1)[:, :, None]
    np.testing.assert_allclose(expected[:, :, 0], small, rtol=1e-4, atol=1e-5 * (1 + np.abs(small).max()))


def test_elimination_is_the_dense_solution(rng: np.random.Generator) -> None:
    """Window by window from behind, or all unknowns of all windows at once: the same step."""
    W, J, n, p, m = 3, 4, 2, 5, 9
    rows = rng.normal(size=(W, J, m, n + p + 1))
    A, B = rng.normal(size=(W, J - 1, n, n)), rng.normal(size=(W, J - 1, n, p))
    gaps, xi, spread = rng.normal(size=(W, J - 1, n)), rng.normal(size=p), rng.uniform(0.5, 2.0, p)
    step = solve(Linearised(rows, A, B, gaps), xi, spread, np.full(p, -np.inf))
    # Unknowns: the first state of each window, then ξ; later states are affine in them.
    system, right = [np.hstack([np.zeros((p, W * n)), np.diag(1 / spread)])], [-xi / spread]
    for w in range(W):
        S, c = np.zeros((n, W * n + p)), np.zeros(n)
        S[:, w * n : (w + 1) * n] = np.eye(n)
        for j in range(J):
            block = rows[w, j]
            system.append(block[:, :n] @ S + np.hstack([np.zeros((m, W * n)), block[:, n:-1]]))
            right.append(-block[:, -1] - block[:, :n] @ c)
            if j < J - 1:
                S = A[w, j] @ S + np.hstack([np.zeros((n, W * n)), B[w, j]])
                c = A[w, j] @ c - gaps[w, j]
    dense = np.linalg.lstsq(np.vstack(system), np.concatenate(right), rcond=None)[0]
    np.testing.assert_allclose(step.xi, dense[W * n :], atol=1e-9)
    np.testing.assert_allclose(step.states[:, 0].ravel(), dense[: W * n], atol=1e-9)
    left = np.vstack(system) @ dense - np.concatenate(right)
    assert step.predicted == pytest.approx(left @ left)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("off", "seconds", "noise"), [(0.2, 2.0, 1e-5), pytest.param(0.4, 4.0, 1e-4, marks=pytest.mark.slow)]
)
def test_truth_is_found_from_a_wrong_start(off: float, seconds: float, noise: float) -> None:
    """Bodies off by a part, friction by more: torques for other motions end within a percent."""
    robot = truth(hc.serial_chain(2), 3)
    quiet = robot.with_joints(friction=0)
    log = swinging(quiet, 4, seconds=seconds, noise=noise)
    regression = Regression(quiet, GROUPS)
    start = np.array(regression.parameters.nominal)
    for k, factor in enumerate((1 + off, 1 - off)):
        start[10 * k : 10 * k + 10] *= factor
    start[20:] *= 1 - 1.25 * off
    linear = identify(quiet, log, groups=GROUPS, cutoff=None, regularisation=1.0)
    wrong = replace(linear, x=start)
    reported: list[float] = []
    refined = fit_output_error(wrong, log, progress=lambda what, done: reported.append(done))
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, 100, 2))
    expected = regression.predict(regression.parameters.nominal, q, v, a)
    before = np.linalg.norm(regression.predict(start, q, v, a) - expected)
    after = np.linalg.norm(regression.predict(refined.x, q, v, a) - expected)
    assert before > 0.3 * off * np.linalg.norm(expected)
    assert after < 0.01 * np.linalg.norm(expected)
    assert all(not body.inertia.doubts() for body in refined.robot.model.bodies)
    assert "output error" in refined.notes[-1]
    assert reported == sorted(reported) and 0.0 <= reported[0] < reported[-1] == 1.0
    assert np.isnan(refined.held_out.overall_relative)


def balanced(robot: Robot) -> Robot:
    return robot.with_spring(
        "link_2", "world", stiffness=30.0, rest_length=0.2, damping=0.5, point_b=(0.3, 0.2, 0.8)
    )


@pytest.mark.parametrize(
    ("described", "groups"),
    [
        pytest.param(
            {"stiffness": 3.0, "offset": 0.7}, ("inertia", "viscous", "offset", "spring"), id="spring"
        ),
        pytest.param({"root": 0.8}, ("inertia", "viscous", "root"), id="root"),
        pytest.param({"stiffness": 3.0}, ("inertia", "viscous", "armature"), id="known spring"),
        pytest.param({"friction": 0.3}, ("inertia", "offset"), id="known friction"),
        pytest.param({}, ("viscous", "offset"), id="known bodies"),
        pytest.param({}, ("inertia", "viscous", "elastic"), id="elastic"),
        pytest.param({}, ("inertia", "viscous"), id="known elastic"),
    ],
)
def test_described_terms_act_once(described: dict[str, float], groups: tuple[str, ...], request: Any) -> None:
    """At the true parameters the simulation is the recorded motion, whatever of the robot is unknown."""
    robot = truth(hc.serial_chain(2), 3).with_joints(friction=0).with_joints(**described)
    robot = balanced(robot) if "elastic" in request.node.callspec.id else robot
    log = swinging(robot, 4)
    regression = Regression(robot, groups)
    x = regression.parameters.nominal
    own = OutputError(Simulator(regression), Windows.of(prepare(robot, log)[0][0], 5, 4), x, np.ones(len(x)))
    point = own.start()
    gaps = own.deviations(point, own.flow(point, with_slopes=False)).gaps
    # Friction acts along the measured motion, in straight lines between samples that miss its jumps.
    moved = np.abs(own.windows.v[:, :, -1] - own.windows.v[:, :, 0])
    assert np.median(np.abs(gaps)) < 1e-4 * np.median(moved)


def test_what_cannot_be_simulated_is_refused() -> None:
    robot = hc.load("double_pendulum")
    log = swinging(robot, 1)
    result = identify(robot, log, groups=("inertia",), cutoff=None, regularisation=1.0)
    with pytest.raises(InputError, match="interval <= horizon"):
        fit_output_error(result, log, horizon=0.1, interval=0.2)
    with pytest.raises(InputError, match="as long as one window"):
        fit_output_error(result, log, horizon=10.0)
