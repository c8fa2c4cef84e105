"""Online identification: exactly the least squares solution, in any order of samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.errors import InputError
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.identification.online.identifier import OnlineIdentifier
from helicoid.identification.online.projection import ConsistentSet
from random_trees import Array, assert_close, fewest, robots, seeds, state


def samples(robot: Robot, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a = rng.normal(size=(2, n, robot.nv))
    return q, v, a


def perturbed(robot: Robot, rng: np.random.Generator) -> Robot:
    """The same robot, each body's density another: consistent, and not the description."""
    scaled = [body.inertia.parameters * rng.uniform(0.7, 1.3) for body in robot.model.bodies]
    return robot.with_parameters(np.concatenate(scaled))


def regressor(identifier: OnlineIdentifier, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Y of θ by differentiating the parametric robot, and the torque at θ = 0: an independent way to both."""
    robot = identifier.parametric
    theta = np.zeros(len(robot.parameters))
    # Friction belongs to measured torques whether it is identified or not.
    torque = robot.inverse_dynamics.with_options(friction=True)
    slope = torque.jacobian("theta")
    Y = np.array([slope(*state, theta) for state in zip(q, v, a, strict=True)])
    still = np.array([torque(*state, theta) for state in zip(q, v, a, strict=True)])
    return Y.reshape(-1, len(theta)), still.ravel()


@fewest
@given(robots(max_bodies=2), seeds)
def test_recursion_is_the_batch_solution(robot: Robot, seed: int) -> None:
    """With a prior and without forgetting: mean and covariance of the textbook's formula in all of θ."""
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(0.1, 1.0, robot.nv)
    # The joint of a floating base has neither friction nor armature, though θ has room for them.
    groups = ("inertia",) if robot.model.floating else ("inertia", "friction", "armature")
    identifier = OnlineIdentifier(robot, groups, noise=sigma, forgetting=1.0)
    q, v, a = samples(robot, 12, rng)
    tau = robot.inverse_dynamics(q, v, a, friction=True) + 0.5 * sigma * rng.normal(size=v.shape)
    prior_mean, prior_covariance = identifier.estimate, identifier.covariance
    # The changes that such noise may show would start the recursion anew.
    identifier.change.add = lambda *innovation: False  # type: ignore[method-assign]
    for sample in zip(q, v, a, tau, strict=True):
        identifier.update(*sample)
    Y, still = regressor(identifier, q, v, a)
    weights = np.tile(1 / sigma**2, 12)
    gain = prior_covariance @ Y.T @ np.linalg.inv(Y @ prior_covariance @ Y.T + np.diag(1 / weights))
    scale = np.sqrt(np.diag(prior_covariance)) + 1e-12
    expected = prior_mean + gain @ (tau.ravel() - still - Y @ prior_mean)
    assert_close((identifier.estimate - expected) / scale, np.zeros_like(scale), 1e-6, scale=1.0)
    covariance = prior_covariance - gain @ Y @ prior_covariance
    assert_close(
        (identifier.covariance - covariance) / np.outer(scale, scale), 0 * covariance, 1e-6, scale=1.0
    )


@fewest
@given(robots(max_bodies=2), seeds)
def test_momentum_and_its_rate(robot: Robot, seed: int) -> None:
    """d/dt momentum + rate = torque along a motion, for every column and for the nominal torque."""
    q, v, a = state(robot, seed)
    equations = BaseEquations(robot, ("inertia", "friction", "armature"))
    h = 1e-4
    later, earlier = (
        equations.momentum_rows(robot.integrate(q, s * h * (v + s * h / 2 * a)), v + s * h * a)[0]
        for s in (1, -1)
    )
    rate = equations.momentum_rows(q, v)[1]
    expected = equations.torque_rows(q, v, a)
    assert_close((later - earlier) / (2 * h) + rate, expected, 1e-5, scale=1.0)


@pytest.mark.parametrize("base", ["fixed", pytest.param("floating", marks=pytest.mark.slow)])
def test_finds_the_robot(base: str, rng: np.random.Generator) -> None:
    robot = hc.load("kuka_lwr4", base=base) if base == "floating" else hc.load("ur5")
    truth = perturbed(robot, rng)
    identifier = OnlineIdentifier(robot, noise=0.05)
    q, v, a = samples(robot, 250, rng)
    tau = truth.inverse_dynamics(q, v, a, friction=True) + 0.05 * rng.normal(size=v.shape)
    for sample in zip(q, v, a, tau, strict=True):
        identifier.update(*sample)
    assert identifier.change.n_changes == 0
    assert identifier.trustworthy
    q, v, a = samples(robot, 50, rng)
    expected = truth.inverse_dynamics(q, v, a)
    before = rms(robot.inverse_dynamics(q, v, a) - expected)
    for found in (identifier.robot.inverse_dynamics(q, v, a), predicted(identifier, q, v, a)):
        assert rms(found - expected) < min(0.05, before / 2)
    assert all(not body.inertia.doubts() for body in identifier.robot.model.bodies)


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def predicted(identifier: OnlineIdentifier, q: Array, v: Array, a: Array) -> Array:
    theta = np.tile(identifier.theta, (len(q), 1))
    return np.asarray(identifier.parametric.inverse_dynamics(q, v, a, theta))


def test_friction_and_armature_arrive_in_the_robot(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(robot, ("armature", "friction"), noise=0.01, forgetting=1.0)
    damping, coulomb, armature = np.array([[0.5, 0.2], [0.3, 0.1], [0.05, 0.02]])
    q, v, a = samples(robot, 400, rng)
    tau = robot.inverse_dynamics(q, v, a) + damping * v + coulomb * np.tanh(v / 0.01) + armature * a
    for sample in zip(q, v, a, tau, strict=True):
        identifier.update(*sample)
    assert identifier.names[:2] == ("joint_1.armature", "joint_2.armature")
    np.testing.assert_allclose(identifier.theta, np.concatenate([armature, damping, coulomb]), rtol=0.02)
    found = identifier.robot.inverse_dynamics(q[:5], v[:5], a[:5], friction=True)
    assert_close(found, tau[:5], 0.01)


def test_payload_only(rng: np.random.Generator) -> None:
    robot = hc.load("ur5")
    link = robot.link_names[-1]
    load = robot.with_payload(link, 2.0, [0.02, -0.01, 0.1], np.diag([0.01, 0.012, 0.008]))
    identifier = OnlineIdentifier(robot, "payload", payload_link=link, noise=0.1, forgetting=1.0)
    q, v, a = samples(robot, 300, rng)
    for sample in zip(q, v, a, load.inverse_dynamics(q, v, a, friction=True), strict=True):
        identifier.update(*sample)
    assert identifier.theta.shape == (10,)
    assert identifier.theta[0] == pytest.approx(2.0, rel=0.01)
    np.testing.assert_allclose(identifier.theta[1:4] / identifier.theta[0], [0.02, -0.01, 0.1], atol=2e-3)
    assert_close(identifier.robot.mass_matrix(q[0]), load.mass_matrix(q[0]), 0.02)


def test_change_is_noticed_and_learnt(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    loaded = robot.with_payload("tip", 1.0, [0, 0, 0.05], np.zeros((3, 3)))
    identifier = OnlineIdentifier(robot, "payload", payload_link="tip", noise=0.2)
    q, v, a = samples(robot, 900, rng)
    noise = 0.2 * rng.normal(size=v.shape)
    for k, sample in enumerate(zip(q, v, a, strict=True)):
        actual = robot if k < 500 else loaded
        tau = actual.inverse_dynamics(*sample) + noise[k]
        if k == 250:
            tau = tau + 50.0  # an outlier is no change
        identifier.update(*sample, tau)
        if k == 499:
            assert identifier.change.n_changes == 0
            assert identifier.trustworthy
        if k == 530:
            assert identifier.change.n_changes == 1
            assert not identifier.trustworthy
    assert identifier.change.n_changes == 1
    assert identifier.trustworthy
    assert identifier.theta[0] == pytest.approx(1.0, abs=0.1)


def test_noise_larger_than_stated_is_no_change(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(robot, noise=0.1)
    q, v, a = samples(robot, 300, rng)
    tau = robot.inverse_dynamics(q, v, a) + 0.15 * rng.normal(size=v.shape)
    for sample in zip(q, v, a, tau, strict=True):
        identifier.update(*sample)
    assert identifier.change.scale > 1.2
    assert identifier.change.n_changes <= 1


def test_forgetting_keeps_the_prior(rng: np.random.Generator) -> None:
    """A robot that stands still tells gravity alone: the rest stays as uncertain as it was, and no more."""
    robot = hc.load("ur5")
    identifier = OnlineIdentifier(robot, forgetting=0.98, noise=0.1)
    before = identifier.standard_deviations
    q, still = robot.random(rng), np.zeros(robot.nv)
    tau = robot.gravity(q)
    for _ in range(800):
        identifier.update(q, still, still, tau)
    ratio = identifier.standard_deviations / before
    assert ratio.max() < 1.6
    assert ratio.min() < 0.9
    assert_close(identifier.estimate, robot.parameters.values, 1e-6)


def test_without_acceleration(rng: np.random.Generator) -> None:
    """The filtered momentum finds the parameters as accelerations do, from a start in motion."""
    robot = hc.load("planar_2r")
    truth = perturbed(robot, rng)
    with_acceleration = OnlineIdentifier(robot, noise=0.02, forgetting=1.0)
    without = OnlineIdentifier(robot, noise=0.02, forgetting=1.0)
    dt = 2e-3
    t = dt * np.arange(1500)[:, None]
    w = np.array([[3.1, 5.3], [7.7, 2.9]])
    q = sum(np.sin(w[k] * t + k) for k in range(2))
    v = sum(w[k] * np.cos(w[k] * t + k) for k in range(2))
    a = sum(-(w[k] ** 2) * np.sin(w[k] * t + k) for k in range(2))
    tau = truth.inverse_dynamics(q, v, a)
    for k in range(len(t)):
        without.update_without_acceleration(q[k], v[k], tau[k], dt)
        with_acceleration.update(q[k], v[k], a[k], tau[k])
    for identifier in (without, with_acceleration):
        found = identifier.robot.inverse_dynamics(q, v, a)
        assert np.sqrt(np.mean((found - tau) ** 2)) < 0.003 * np.sqrt(np.mean(tau**2))


def test_window_with_prior(rng: np.random.Generator) -> None:
    """Windows of ten samples, each with the last estimate as prior, close in on the truth."""
    robot = hc.load("ur5")
    truth = perturbed(robot, rng)
    identifier = OnlineIdentifier(robot, noise=0.01)
    q, v, a = samples(robot, 60, rng)
    check = samples(robot, 30, rng)
    expected = truth.inverse_dynamics(*check)
    errors = []
    for start in range(0, 60, 10):
        window = slice(start, start + 10)
        identifier.update_window(
            q[window],
            v[window],
            a[window],
            truth.inverse_dynamics(q[window], v[window], a[window], friction=True),
        )
        errors.append(np.abs(identifier.robot.inverse_dynamics(*check) - expected).max())
    assert errors[-1] < 1e-2 * np.abs(expected).max()
    assert errors[-1] < errors[0]
    # Ten samples of 36 unknowns average little of the noise; a hundred do.
    assert not identifier.trustworthy
    q, v, a = samples(robot, 100, rng)
    identifier.update_window(q, v, a, truth.inverse_dynamics(q, v, a, friction=True))
    assert identifier.trustworthy
    # One window in one go is the solution of ridge regression.
    alone = OnlineIdentifier(robot, noise=0.5, forgetting=1.0)
    prior, mean = alone.covariance, alone.estimate
    tau = truth.inverse_dynamics(q[:10], v[:10], a[:10], friction=True)
    alone.update_window(q[:10], v[:10], a[:10], tau)
    Y, still = regressor(alone, q[:10], v[:10], a[:10])
    A, b = Y / 0.5, (tau.ravel() - still) / 0.5
    gain = prior @ A.T @ np.linalg.inv(A @ prior @ A.T + np.eye(len(A)))
    assert_close(alone.estimate, mean + gain @ (b - A @ mean), 1e-8)


def test_projection_is_the_semidefinite_program(rng: np.random.Generator) -> None:
    cp = pytest.importorskip("cvxpy")
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(robot, noise=0.5)
    q, v, a = samples(robot, 30, rng)
    light = robot.with_parameters(0.02 * robot.parameters.values)
    for sample in zip(q, v, a, light.inverse_dynamics(q, v, a), strict=True):
        identifier.update(*sample)
    members: ConsistentSet = identifier._consistent
    estimate, information = identifier.estimate, np.linalg.inv(identifier.covariance)
    assert not members.contains(estimate)
    found = identifier.theta
    assert members.contains(found)
    x = cp.Variable(len(estimate))
    rules = []
    for start, whitening in members.bodies.items():
        P = cp.Variable((4, 4), symmetric=True)
        w = whitening.W @ x[start : start + 10]
        rules.append(P >> members.least * np.eye(4))
        rules += [
            P[i, j] * (1 if i == j else np.sqrt(2)) == w[k]
            for k, (i, j) in enumerate(zip(*np.triu_indices(4), strict=True))
        ]
    root = np.linalg.cholesky(information).T
    problem = cp.Problem(cp.Minimize(cp.sum_squares(root @ (x - estimate))), rules)
    problem.solve(solver="CLARABEL")
    distance = float((found - estimate) @ information @ (found - estimate))
    assert problem.value * (1 - 1e-3) <= distance <= problem.value * 1.02 + 0.02


def test_memory_is_constant(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(robot)

    def size() -> int:
        return sum(part.nbytes for part in vars(identifier).values() if isinstance(part, np.ndarray))

    q, v, a = samples(robot, 40, rng)
    identifier.update(q[0], v[0], a[0], v[0])
    start = size()
    for sample in zip(q, v, a, v, strict=True):
        identifier.update(*sample)
    assert size() == start


def test_compiled(rng: np.random.Generator) -> None:
    hc.set_compile(True)
    robot = hc.load("planar_2r")
    identifier, peer = OnlineIdentifier(robot, noise=0.1), OnlineIdentifier(robot, noise=0.1)
    peer_rows = peer._equations.torque_rows
    q, v, a = samples(robot, 20, rng)
    tau = robot.inverse_dynamics(q, v, a) + 1.0
    for sample in zip(q, v, a, tau, strict=True):
        identifier.update(*sample)
    hc.set_compile(False)
    for sample in zip(q, v, a, tau, strict=True):
        peer.update(*sample)
    assert peer_rows is peer._equations.torque_rows
    assert_close(identifier.estimate, peer.estimate, 1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": "gravity"}, "cannot be identified"),
        ({"groups": ()}, "at least one group"),
        ({"noise": [1.0, 0.0]}, "noise"),
        ({"forgetting": 0.0}, "forgetting"),
        ({"spread": 0.0}, "spread"),
    ],
)
def test_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        OnlineIdentifier(hc.load("planar_2r"), **arguments)  # type: ignore[arg-type]


def test_bad_samples_are_left_out(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    identifier = OnlineIdentifier(robot, forgetting=1.0)
    q, v, a = samples(robot, 10, rng)
    for sample in zip(q, v, a, v, strict=True):
        identifier.update(*sample)
    before = identifier.estimate
    with pytest.raises(InputError, match="not finite"):
        identifier.update(q[0], [0.0, np.nan], a[0], v[0])
    with pytest.raises(InputError, match="not finite"):
        identifier.update_window(q, v, a, np.full_like(v, np.inf))
    with pytest.raises(InputError, match="not finite"):
        identifier.update_without_acceleration(q[0], [np.nan, 0.0], v[0], 1e-3)
    with pytest.raises(InputError, match="tau"):
        identifier.update(q[0], v[0], a[0], [1.0])
    with pytest.raises(InputError, match="tau"):
        identifier.update_window(q, v, a, v[0])
    np.testing.assert_array_equal(identifier.estimate, before)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("groups", [("inertia", "friction"), ("payload",)])
def test_absurd_samples_are_left_out_without_warnings(groups: tuple[str, ...]) -> None:
    """Overflow in a sample, and information over so many decades that its matrix is no longer definite."""
    rng = np.random.default_rng(1)
    robot = hc.load("planar_2r").with_joints(damping=0.5, friction=0.3)
    identifier = OnlineIdentifier(
        robot, groups, **({"payload_link": "tip"} if groups == ("payload",) else {})
    )
    absurd = [*(0.0, 1e3, 1e9, 5e-324, 1e-160, 1e30, 1e100, 1e150, 1e200, 1e300), np.inf, -np.inf, np.nan]
    for k in range(1500):
        q, v, a, tau = rng.normal(size=(4, 2))
        for one in (q, v, a, tau):
            if rng.random() < 0.15:
                one[rng.integers(2)] = rng.choice(absurd)
        try:
            identifier.update(q, v, a, tau)
            identifier.update_without_acceleration(q, v, tau, 0.01)
        except InputError:
            pass
        if k % 30 == 0:
            assert np.isfinite(identifier.theta).all()


@pytest.mark.parametrize("what, value", [(2, 1e300), (2, 1e10), (1, 1e20), (3, 1e300), (3, 1e4)])
def test_one_outlier_does_not_change_the_estimate(what: int, value: float) -> None:
    """Finite, and of a size that no robot has: 200 good samples later the estimate is what it would be."""
    rng, robot = np.random.default_rng(0), hc.load("planar_2r")
    actual = perturbed(robot, rng)
    q, v, a = samples(robot, 500, rng)
    plain, disturbed = OnlineIdentifier(robot), OnlineIdentifier(robot)
    for k in range(500):
        sample = [q[k], v[k], a[k], actual.inverse_dynamics(q[k], v[k], a[k])]
        plain.update(*sample)
        if k == 300:
            bad = [np.array(x) for x in sample]
            bad[what][0] = value
            disturbed.update(*bad)
            assert not disturbed.trustworthy and disturbed.n_refused == 1
        disturbed.update(*sample)
    np.testing.assert_allclose(disturbed.theta, plain.theta, rtol=1e-3, atol=1e-6)
    assert disturbed.trustworthy


def test_a_motion_that_becomes_faster_is_let_in() -> None:
    rng, robot = np.random.default_rng(0), hc.load("planar_2r")
    q, v, a = samples(robot, 400, rng)
    identifier = OnlineIdentifier(robot)
    for k in range(400):
        faster = 30.0 if k >= 200 else 0.1
        state = q[k], faster * v[k], faster * a[k]
        identifier.update(*state, robot.inverse_dynamics(*state))
    assert identifier.n_refused < 60 and identifier.n_samples > 340


def test_wrenches_identify_all_links_but_the_first_from_two_samples(rng: np.random.Generator) -> None:
    """Linear least squares of the wrenches in all joints (Algorithm 4): exact from the second sample on."""
    robot = hc.load("panda")
    links = [body.name for body in robot.model.bodies]
    parametric = robot.parametric("inertia")
    true = robot.parameters.values * np.repeat(rng.uniform(0.8, 1.2, 7), 10)
    identifier = hc.OnlineIdentifier(robot, ("inertia",), wrenches=links, noise=1e-6)
    q, v, a = (np.array([rng.normal(size=7) for _ in range(2)]) for _ in range(3))
    wrenches = parametric.joint_wrenches(q, v, a, true)
    identifier.update_window(q, v, a, wrenches.reshape(2, 42))
    assert np.abs(identifier.estimate[10:] - true[10:]).max() < 1e-4
    left = parametric.joint_wrenches(q, v, a, identifier.theta) - wrenches
    assert np.abs(left).max() < 1e-6
    one = hc.OnlineIdentifier(robot, ("payload",), payload_link="panda_link8", wrenches=["panda_link7"])
    loaded = robot.with_payload("panda_link8", 1.2, [0.0, 0.02, 0.1], 0.01 * np.eye(3))
    for _ in range(150):
        q, v, a = rng.normal(size=(3, 7))
        one.update(q, v, a, loaded.joint_wrenches(q, v, a)[-1:] + 0.05 * rng.normal(size=(1, 6)))
    assert one.trustworthy and abs(one.theta[0] - 1.2) < 0.02
    with pytest.raises(hc.InputError, match="friction and armature"):
        hc.OnlineIdentifier(robot, ("inertia", "friction"), wrenches=links)
    with pytest.raises(hc.InputError, match="expected 42 numbers of wrenches"):
        identifier.update(q, v, a, np.zeros(7))
    with pytest.raises(hc.InputError, match="measured accelerations"):
        identifier.update_without_acceleration(q, v, np.zeros(42), 0.01)
