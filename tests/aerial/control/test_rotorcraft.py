from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import Motor, Multirotor, Propeller, Wind

DT = 0.005
NAMES = ("position", "velocity", "acceleration", "jerk", "snap")


@pytest.fixture(scope="module")
def quad():
    return hc.aerial.load("hummingbird")


@pytest.fixture(scope="module")
def ideal():
    """Rotors without lag and drag: the plant that the document's loops are designed for."""
    propeller = Propeller.from_constants(8.5e-6, 1.4e-7, 0.1)
    rotors = Multirotor.arrangement("quad x", 0.17, propeller, Motor(838.0))
    return Multirotor(0.7, [0.007, 0.008, 0.012], rotors)


def figure_eight(t, speed=3.0, height=2.0):
    """Position to snap of (2 sin wt, sin 2wt), which is fastest at its middle."""
    w = speed / np.hypot(2.0, 2.0)
    rows = []
    for k in range(5):
        x, y = 2.0 * w**k * np.sin(w * t + k * np.pi / 2), (2 * w) ** k * np.sin(2 * w * t + k * np.pi / 2)
        rows.append(np.stack([x, y, np.full_like(t, height if k == 0 else 0.0)], axis=-1))
    return rows


def second_order(t, frequency, damping):
    """Response of a damped oscillator to a unit step."""
    w = frequency * np.sqrt(1 - damping**2)
    decay = np.exp(-damping * frequency * t)
    return 1 - decay * (np.cos(w * t) + damping * frequency / w * np.sin(w * t))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_attitude_steps_have_the_designed_frequency_and_damping(ideal, axis):
    frequency, damping = np.array([12.0, 9.0, 5.0]), np.array([0.5, 0.7, 0.6])
    law = hc.aerial.AttitudeControl(ideal, frequency, damping)
    wanted = 0.02 * np.eye(3)[axis]
    flight = hc.simulate(ideal, duration=1.0, controller=law.following(attitude=wanted), dt=1e-3)
    seen = hc.aerial.angles(flight.q, flight.v)
    found = (seen.roll, seen.pitch, seen.yaw)[axis] / 0.02
    np.testing.assert_allclose(found, second_order(flight.t, frequency[axis], damping[axis]), atol=0.012)


def test_altitude_step_has_the_designed_frequency_and_damping(ideal):
    law = hc.aerial.AltitudeControl(ideal, frequency=4.0, damping_ratio=0.6)
    flight = hc.simulate(ideal, duration=2.0, controller=law.following(height=0.3), dt=1e-3)
    np.testing.assert_allclose(flight.q[:, 2] / 0.3, second_order(flight.t, 4.0, 0.6), atol=5e-3)


def test_position_loops_and_linear_quadratic_reach_their_targets(quad):
    target = [1.0, -0.5, 1.5]
    for law in (hc.aerial.PositionControl(quad), hc.aerial.LinearQuadraticControl(quad)):
        flight = hc.simulate(quad, duration=6.0, controller=law.following(position=target, yaw=0.6), dt=DT)
        np.testing.assert_allclose(flight.q[-1, :3], target, atol=0.01)
        assert hc.aerial.angles(flight.q[-1], flight.v[-1]).yaw == pytest.approx(0.6, abs=1e-3)


def test_integral_takes_out_the_wind(quad):
    windy = quad.with_wind(Wind((3.0, 0.0, 0.0)))
    away = []
    for k in (0.0, 6.0):
        law = hc.aerial.PositionControl(quad, integral=k, dt=DT)
        flight = hc.simulate(windy, duration=10.0, controller=law.following(position=[0, 0, 1.0]), dt=DT)
        away.append(abs(flight.q[-1, 0]))
    assert away[0] > 0.05 and away[1] < 0.005


@pytest.mark.parametrize(("wind", "seed"), [(0.0, 0), (2.0, 11), (2.0, 12)])
def test_figure_eight_within_five_centimetres(quad, wind, seed):
    """3 m/s, lagging motors, rotor drag; the law knows nothing of wind and gusts."""
    gusts = hc.aerial.Dryden(5.0, height=10.0) if wind else None
    plant = quad.with_wind(Wind((wind, 0.0, 0.0), gusts=gusts))
    law = hc.aerial.GeometricControl(
        quad, frequency=6.0, damping_ratio=0.9, integral=40.0, attitude_frequency=(25, 25, 8), dt=DT
    )
    t = DT * np.arange(2001)
    path = figure_eight(t)
    assert np.linalg.norm(path[1], axis=1).max() == pytest.approx(3.0)
    q0, v0 = quad.trim().q.copy(), np.zeros(6)
    q0[:3], v0[3:] = path[0][0], path[1][0]
    follow = law.following(**dict(zip(NAMES, path, strict=True)))
    flight = hc.simulate(plant, q0, v0, 10.0, controller=follow, dt=DT, substeps=2, seed=seed)
    assert np.linalg.norm(flight.q[:, :3] - path[0], axis=1).max() < 0.05


def test_rates_of_the_attitude_wanted_are_those_of_flatness(ideal):
    """On the path without error, rates that the law wants are those that the vehicle then has."""
    law = hc.aerial.GeometricControl(ideal, frequency=6.0, attitude_frequency=(25, 25, 8))
    t = 2e-3 * np.arange(2501)
    path = figure_eight(t)
    q0, v0 = ideal.trim().q.copy(), np.zeros(6)
    q0[:3], v0[3:] = path[0][0], path[1][0]
    follow = law.following(**dict(zip(NAMES, path, strict=True)))
    flight = hc.simulate(ideal, q0, v0, 5.0, controller=follow, dt=2e-3)
    assert np.linalg.norm(flight.q[1000:, :3] - path[0][1000:], axis=1).max() < 2e-3


@pytest.mark.parametrize("roll", [np.pi - 0.01, 2.5])
def test_upside_down_it_rights_itself(quad, roll):
    law = hc.aerial.GeometricControl(quad)
    q0 = np.concatenate([[0, 0, 20.0], hc.aerial.attitude(roll, 0.1, 0.3)])
    flight = hc.simulate(quad, q0, None, 5.0, controller=law.following(position=[0, 0, 20.0]), dt=DT)
    np.testing.assert_allclose(flight.q[-1, :3], [0, 0, 20.0], atol=0.02)
    assert flight.q[:, 2].min() > 10.0 and abs(hc.aerial.angles(flight.q[-1], flight.v[-1]).roll) < 0.01


def test_from_exactly_upside_down_too(quad):
    """Half a turn about any level axis, where the error of the attitude has no direction of its own."""
    law = hc.aerial.GeometricControl(quad)
    ways = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0.6, 0.8, 0], [0, -0.8, 0.6, 0], [1e-4, 0, 1, 1e-4]])
    q0 = np.hstack([np.tile([0, 0, 20.0], (len(ways), 1)), ways / np.linalg.norm(ways, axis=1)[:, None]])
    flight = hc.simulate(quad, q0, None, 5.0, controller=law.following(position=[0, 0, 20.0]), dt=DT)
    assert flight.q[..., 2].min() > 10.0
    np.testing.assert_allclose(flight.q[:, -1, :3], np.tile([0, 0, 20.0], (len(ways), 1)), atol=0.02)


def test_a_step_by_hand_is_the_step_in_the_loop_and_keeps_its_word(quad, tmp_path):
    law = hc.aerial.GeometricControl(quad, integral=1.0, dt=DT)
    hover = quad.trim()
    flight = hc.simulate(quad, hover.q, None, 0.05, law.following(position=[0.2, 0, 0.1]), dt=DT)
    for k in range(10):
        u = law.step(flight.q[k], flight.v[k], position=[0.2, 0, 0.1])
        np.testing.assert_allclose(u, flight.controls[k], atol=1e-6)
    assert law.ok
    lost = law.step(np.full(7, np.nan), hover.v, position=[0, 0, 0])
    np.testing.assert_allclose(lost, flight.controls[9], atol=1e-6)
    assert not law.ok and law.status == "bad measurement"
    law.step(hover.q, hover.v, acceleration=[0, 0, 100.0])
    assert law.status == "saturated"
    with pytest.raises(hc.InputError, match="no reference 'place'"):
        law.step(hover.q, hover.v, place=[0, 0, 0])
    with pytest.raises(hc.InputError, match="needs the time"):
        hc.aerial.PositionControl(quad, integral=1.0)
    with pytest.raises(hc.InputError, match="rotorcraft"):
        hc.aerial.AttitudeControl(hc.aerial.load("aerosonde"))
    files = law.export_c(tmp_path)
    assert any(file.suffix == ".c" for file in files)


def test_batches_fly_laws_side_by_side(quad):
    law = hc.aerial.GeometricControl(quad)
    q0 = np.tile(quad.trim().q, (5, 1))
    q0[:, 0] = np.linspace(-1, 1, 5)
    many = hc.simulate(quad, q0, None, 3.0, controller=law.following(position=[0, 0, 0]), dt=DT)
    one = hc.simulate(quad, q0[4], None, 3.0, controller=law.following(position=[0, 0, 0]), dt=DT)
    np.testing.assert_allclose(many.q[4], one.q, atol=1e-9)
    assert np.abs(many.q[:, -1, 0]).max() < 5e-3
