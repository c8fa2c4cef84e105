"""The nonlinear fit: at least as good as the semidefinite program, and friction shapes that are found."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import Array, arm, recording, truth

from helicoid import Robot
from helicoid.errors import InputError
from helicoid.identification.identify import identify
from helicoid.identification.linear.weighting import weighted_samples
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.refinement.friction_fit import FrictionFit, FrictionPoint, bounded_step
from helicoid.identification.refinement.friction_models import MODELS, ShapedRegression
from helicoid.identification.refinement.nonlinear import fit_nonlinear
from helicoid.identification.result import Identification

GROUPS = ("inertia", "viscous", "coulomb", "offset", "armature")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return arm(2)


@pytest.fixture(scope="module")
def log(robot: Robot) -> Log:
    return recording(truth(robot, 1), 2, noise=0.02, seconds=6.0, rate=50.0)


@pytest.fixture(scope="module")
def linear(robot: Robot, log: Log) -> Identification:
    return identify(robot, log, groups=GROUPS, cutoff=None, regularisation=10.0)


def with_friction(log: Log, friction: Array) -> Log:
    assert log.tau is not None
    return Log.from_arrays(log.t, log.q, log.v, log.a, log.tau + friction)


def test_the_same_friction_gives_what_the_program_gives(linear: Identification, log: Log) -> None:
    """Same objective, no cones: no higher, and torques alike."""
    reported: list[float] = []
    fitted = fit_nonlinear(linear, log, "coulomb", progress=lambda what, done: reported.append(done))
    assert reported == sorted(reported) and reported[-1] == 1.0
    stretches = prepare(linear.nominal, log, None)[0]
    weights = weighted_samples(linear.regression, stretches).weights
    problem = FrictionFit(linear.regression, MODELS["coulomb"], stretches, weights, 10.0)

    def objective(result: Identification) -> float:
        own, order = result.regression.parameters, fitted.regression.groups
        point = FrictionPoint(
            problem.bodies.coordinates(own.of(result.x, "inertia")),
            np.concatenate([own.of(result.x, group) for group in order if group != "inertia"]),
            np.zeros((linear.nominal.nv, 0)),
        )
        return problem.squares(point, problem.linearised(point))

    assert objective(fitted) <= objective(linear) * (1 + 1e-6)
    np.testing.assert_allclose(fitted.predict(log), linear.predict(log), atol=0.02)
    assert fitted.regression.parameters.of(fitted.x, "viscous") == pytest.approx(
        linear.regression.parameters.of(linear.x, "viscous"), abs=1e-3
    )


def test_bodies_stay_possible(linear: Identification, log: Log) -> None:
    for friction in ("viscous", "asymmetric"):
        result = fit_nonlinear(linear, log, friction)
        assert all(body.inertia.mass > 0 and not body.inertia.doubts() for body in result.robot.model.bodies)
        coefficients = result.regression.with_groups(MODELS[friction].terms).parameters
        assert all(result.parameters[name] >= 0 for name in coefficients.names)


def test_stribeck_velocity_is_found_and_goes_into_the_robot(linear: Identification, log: Log) -> None:
    excess, velocity = np.array([0.8, 1.2]), np.array([0.2, 0.4])
    curved = with_friction(log, excess * np.exp(-((log.v / velocity) ** 2)) * np.tanh(log.v / 0.01))
    result = fit_nonlinear(linear, curved, "stribeck")
    np.testing.assert_allclose(result.shapes[:, 0], velocity, rtol=0.05)
    np.testing.assert_allclose(result.regression.parameters.of(result.x, "stribeck"), excess, rtol=0.05)
    assert curved.tau is not None
    robot = result.robot
    torques = robot.inverse_dynamics(curved.q, curved.v, curved.a, friction=True)
    assert np.sqrt(np.mean((torques - curved.tau) ** 2)) < 0.04
    np.testing.assert_allclose(torques, result.predict(curved), atol=1e-9)


@pytest.mark.slow
def test_sigmoid_is_found(linear: Identification, robot: Robot) -> None:
    t, q, v, a = (getattr(recording(truth(robot, 1), 2, seconds=8.0), name) for name in "tqva")
    torque = robot.inverse_dynamics(q, v, a) + 1.5 * (np.tanh((v + 0.1) / 0.6) - np.tanh(0.1 / 0.6))
    own = Log.from_arrays(t, q, v, a, torque)
    result = fit_nonlinear(
        identify(robot, own, groups=GROUPS, cutoff=None, regularisation=1.0), own, "sigmoid"
    )
    np.testing.assert_allclose(result.shapes[:, 0], 0.6, rtol=0.03)
    assert result.training.overall_relative < 0.003


def test_asymmetric_friction_is_found(linear: Identification, log: Log) -> None:
    more = np.where(log.v > 0, 0.5 * log.v, 0.0)
    result = fit_nonlinear(linear, with_friction(log, more), "asymmetric")
    own = result.regression.parameters
    difference = own.of(result.x, "viscous_forward") - own.of(result.x, "viscous_backward")
    np.testing.assert_allclose(difference, 0.5, atol=0.05)
    assert "offset" not in own.groups


@pytest.mark.parametrize("friction", ["stribeck", "sigmoid"])
def test_slopes_of_shapes_are_those_of_small_steps(
    friction: str, linear: Identification, rng: np.random.Generator
) -> None:
    model, n = MODELS[friction], linear.nominal.nv
    shapes = rng.normal(-1.0, 0.3, (n, len(model.shapes)))
    base = ShapedRegression(linear.regression, model, shapes)
    x = rng.uniform(0.5, 1.0, len(base.parameters))
    q, v, a = rng.normal(size=(3, 20, n))
    slopes = base.linearised(x)
    Y = slopes.regressor(q, v, a)
    for k, shape in enumerate(model.shapes):
        step = np.zeros_like(shapes)
        step[:, k] = 1e-6
        up, down = (
            ShapedRegression(linear.regression, model, s).predict(x, q, v, a)
            for s in (shapes + step, shapes - step)
        )
        expected = np.einsum("nkk->nk", Y[:, :, slopes.parameters.groups[shape]])
        np.testing.assert_allclose(expected, (up - down) / 2e-6, atol=1e-7)


def test_unknown_models_are_refused(linear: Identification, log: Log) -> None:
    with pytest.raises(InputError, match="there are: viscous, coulomb, asymmetric, stribeck, sigmoid"):
        fit_nonlinear(linear, log, "magic")


def test_several_logs_are_fitted_together(linear: Identification, log: Log) -> None:
    halves = [log[:150], log[150:]]
    result = fit_nonlinear(linear, halves, "coulomb")
    assert result.logs == tuple(halves) and result.training.n_samples == len(log)
    assert result.score(log).overall_relative < 0.01


def test_steps_end_at_their_limits_to_the_last_digit(rng: np.random.Generator) -> None:
    """Where a size is zero already, a step of -1e-300 would make friction that no file can state."""
    for _ in range(50):
        J, r = rng.normal(size=(12, 5)) * 10.0 ** rng.uniform(-6, 6, 5), rng.normal(size=12)
        least, most = np.where(rng.random(5) < 0.5, 0.0, -rng.random(5)), np.full(5, np.inf)
        step = bounded_step(J, r, 1e-4, (least, most))
        assert np.all(step >= least)
