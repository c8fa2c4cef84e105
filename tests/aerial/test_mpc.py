"""Predictive control of what flies: speeds of rotors, planned through their lag and within their limits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import helicoid as hc
from aerial.tracking import DT, HORIZON, PERIOD, tracking
from helicoid.aerial import Dryden, Wind

BREEZE = Wind((2.0, 0.0, 0.0))


def figure_eight(t, speed=3.0):
    w = speed / np.hypot(2.0, 2.0)
    place = np.stack([2 * np.sin(w * t), np.sin(2 * w * t), 2.0 + 0 * t], axis=-1)
    return place, np.stack([2 * w * np.cos(w * t), 2 * w * np.cos(2 * w * t), 0 * t], axis=-1)


@pytest.fixture(scope="module")
def problem():
    return tracking("hummingbird", BREEZE)


def missed(plan, vehicle, measured):
    """By how much a plan misses what was measured and the simulator; rotors in shares of hover."""
    x, gaps = plan.x, [measured]
    for k, u in enumerate(plan.u):
        flown = hc.simulate(vehicle, x[k, :7], x[k, 7:13], DT, u, dt=DT, substeps=2, states0=x[k, 13:])
        gaps.append(np.concatenate([flown.q[-1], flown.v[-1], flown.states[-1]]))
    there = np.array(gaps)
    turned = vehicle.robot.difference(x[:, :7], there[:, :7])
    between = (there - x)[:, 7:] / np.concatenate([np.ones(6), vehicle.start()])
    return np.abs(np.hstack([turned, between])).max()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("hummingbird", 22), ("firefly", 22), ("hummingbird", 8128)])
def test_figure_eight_within_two_centimetres_and_plans_that_can_be_flown(name, seed):
    """3 m/s, lagging motors; the model knows the mean wind, and nothing of gusts."""
    quad = hc.aerial.load(name)
    controller = hc.mpc.Controller(tracking(name, BREEZE), period=PERIOD)
    t = PERIOD * np.arange(700)
    place, speed = figure_eight(t)
    ahead = np.round(DT / PERIOD * np.arange(HORIZON + 1)).astype(int)
    well, n = [], len(quad.states)

    def law(now, q, v, z):
        k = round(now / PERIOD) + ahead
        controller.set(place=place[k], speed=speed[k])
        u = controller.step(np.concatenate([q, v, z[:n]]))
        well.append(controller.ok)
        return u

    hover = quad.trim()
    q0, v0 = hover.q.copy(), np.zeros(6)
    q0[:3], v0[3:] = place[0], speed[0]
    plant = quad.with_wind(Wind((2.0, 0.0, 0.0), gusts=Dryden(3.0, height=10.0)))
    z0 = np.concatenate([hover.z, np.zeros(5)])
    flight = hc.simulate(plant, q0, v0, 4.0, controller=law, dt=PERIOD, substeps=4, states0=z0, seed=seed)
    away = np.linalg.norm(flight.q[:, :3] - place[: len(flight.t)], axis=1)
    assert away.max() < 0.02
    assert np.mean(well) >= 0.95
    lower, upper = quad.control_limits
    assert np.all(flight.controls >= lower - 1e-6) and np.all(flight.controls <= upper + 1e-6)


@pytest.mark.slow
def test_ok_means_that_the_simulator_flies_the_plan(problem):
    """Steps of one iteration from random states: some plans can be flown, some cannot."""
    quad = hc.aerial.load("hummingbird", wind=BREEZE)
    hover, rng = quad.trim(), np.random.default_rng(5)
    told, true = [], []
    for size in (0.0, 0.01, 0.1, 1.0, 3.0):
        controller = hc.mpc.Controller(problem, period=PERIOD)
        controller.set(place=[0.0, 0.0, 0.0], speed=np.zeros(3))
        x = np.concatenate([hover.q, hover.v, hover.z])
        controller.start(x)
        x[7:13] += size * rng.normal(size=6)
        x[13:] += 50 * size * rng.normal(size=4)
        controller.step(x)
        gap = missed(controller.plan, quad, x)
        np.testing.assert_allclose(controller.statistics["gap"], gap, rtol=1e-6, atol=1e-9)
        assert controller.ok == (gap <= 0.01)
        told.append(controller.ok)
        true.append(gap)
    assert told[0] and not told[-1], true


@pytest.mark.slow
def test_gains_are_the_derivative_of_the_answer_by_speeds_of_rotors_too(problem):
    quad = hc.aerial.load("hummingbird", wind=BREEZE)
    hover = quad.trim()
    x0 = np.concatenate([hover.q, hover.v, hover.z])

    def answer(x):
        controller = hc.mpc.Controller(problem, period=PERIOD)
        controller.set(place=[0.0, 0.0, 0.0], speed=np.zeros(3))
        controller.start(x0)
        return controller.step(x), controller.gains

    base, gains = answer(x0)
    assert gains.shape == (4, 16)
    for k, step in ((9, 1e-4), (12, 1e-2), (15, 1e-2)):  # a velocity, two speeds of rotors
        x = x0.copy()
        x[k + 1] += step  # q has one coordinate more than directions
        np.testing.assert_allclose((answer(x)[0] - base) / step, gains[:, k], rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_plans_keep_rotor_limits_and_name_their_parts(problem):
    quad = hc.aerial.load("hummingbird")
    hover = quad.trim()
    x0 = np.concatenate([hover.q, hover.v, hover.z])
    problem.set(place=[6.0, 0.0, 3.0], speed=np.zeros(3))
    plan = problem.solve(x0, guess={"x": np.tile(x0, (HORIZON + 1, 1)), "u": np.tile(hover.u, (HORIZON, 1))})
    assert plan.success, plan.status
    assert plan.u.max() <= 838 + 1e-3 and plan.u.max() > 830 and plan.u.min() >= -1e-3
    assert plan.q.shape == (HORIZON + 1, 7) and plan.v.shape == (HORIZON + 1, 6)
    np.testing.assert_allclose(np.linalg.norm(plan.q[:, 3:], axis=1), 1, atol=1e-6)
    again = pickle.loads(pickle.dumps(problem)).solve(x0, guess=plan)
    np.testing.assert_allclose(again.cost, plan.cost, rtol=1e-6)


def test_what_a_plan_cannot_have():
    gusty = hc.aerial.load("hummingbird", wind=Wind(gusts=Dryden(5.0)))
    with pytest.raises(hc.InputError, match="without gusts"):
        hc.mpc.Problem(gusty, horizon=5, dt=0.1)
    with pytest.raises(hc.InputError, match="a vehicle or a System"):
        hc.mpc.Problem("hummingbird", horizon=5, dt=0.1)
