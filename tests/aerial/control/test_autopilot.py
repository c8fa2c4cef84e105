from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import Autopilot, Circle, Dryden, Line, Wind

DT, SPEED = 0.02, 25.0
BREEZE = (0.0, 5.0, 0.0)
LEGS = [
    Line([0, 0], [700, 0], height=100.0),
    Circle([700, 250], 250.0, "left", 1.25),
    Line([950, 250], [950, 900], height=120.0),
    Circle([700, 900], 250.0, "left", 0.5),
    Line([450, 900], [450, 0]),
]


@pytest.fixture(scope="module")
def aircraft():
    return hc.aerial.load("aerosonde")


@pytest.fixture(scope="module")
def level(aircraft):
    return aircraft.trim(speed=SPEED)


@pytest.mark.parametrize("seed", [31, pytest.param(32, marks=pytest.mark.slow)])
def test_mission_in_wind_and_gusts(aircraft, level, seed):
    pilot = Autopilot(aircraft, LEGS, SPEED, DT, wind=BREEZE)
    plant = aircraft.with_wind(Wind(BREEZE, gusts=Dryden(5.0, height=100.0)))
    q0 = level.q + np.array([0, 0, 100.0, 0, 0, 0, 0])
    flight = hc.simulate(plant, q0, level.v, 185.0, controller=pilot.following(), dt=DT, seed=seed)
    flown = hc.aerial.leg_indices(LEGS, flight.q)
    away = hc.aerial.cross_track(LEGS, flight.q, flown)
    assert flown[-1] == 4
    assert np.sqrt(np.mean(away**2)) < 2.0 and away.max() < 5.0
    seen = hc.aerial.angles(flight.q, flight.v, BREEZE)
    assert np.sqrt(np.mean((seen.airspeed - SPEED) ** 2)) < 2.0
    last = flight.t > 135
    assert np.abs(flight.q[last, 2] - 120).mean() < 3.0


def test_height_and_speed_steps_without_a_throttle_fight(aircraft, level):
    """Either step is made with little of the other, and throttle does not swing back and forth."""
    pilot = Autopilot(aircraft, [Line([0, 0], [1000, 0], height=100.0)], SPEED, DT)
    t = DT * np.arange(3501)
    follow = pilot.following(height_offset=np.where(t > 5, 20.0, 0.0), speed=np.where(t > 40, 28.0, 25.0))
    q0 = level.q + np.array([0, 0, 100.0, 0, 0, 0, 0])
    flight = hc.simulate(aircraft, q0, level.v, 70.0, controller=follow, dt=DT)
    speed, height = hc.aerial.angles(flight.q, flight.v).airspeed, flight.q[:, 2]
    climbing, rushing = (t > 5) & (t < 40), t > 40
    assert np.abs(speed[climbing] - 25).max() < 1.6 and abs(height[t < 40][-1] - 120) < 0.5
    assert np.abs(height[rushing] - 120).max() < 1.5 and abs(speed[-1] - 28) < 0.3
    for part in (climbing, rushing):
        throttle = flight.controls[part, 3]
        up_and_down = np.abs(np.diff(throttle)).sum() / np.ptp(throttle)
        assert up_and_down < 6
    assert np.abs(flight.q[:, 1]).max() < 1.0


def test_turns_are_coordinated(aircraft, level):
    pilot = Autopilot(aircraft, [Circle([0, -200], 200.0, "right", height=0.0)], SPEED, DT)
    flight = hc.simulate(aircraft, level.q, level.v, 40.0, controller=pilot.following(), dt=DT)
    seen = hc.aerial.angles(flight.q, flight.v)
    settled = flight.t > 20
    assert np.abs(np.hypot(flight.q[settled, 0], flight.q[settled, 1] + 200) - 200).max() < 1.0
    assert np.abs(seen.beta[settled]).max() < 0.03
    V = seen.airspeed[settled].mean()
    assert seen.roll[settled].mean() == pytest.approx(np.arctan(V**2 / (9.81 * 200)), rel=0.06)


def _flown(start, legs):
    """Where legs lead, and how long they are."""
    x, length = np.array(start, float), 0.0
    for leg in legs:
        if isinstance(leg, Line):
            np.testing.assert_allclose(leg.start, x[:2], atol=1e-9)
            length += np.linalg.norm(np.subtract(leg.end, x[:2]))
            x[:2] = leg.end
            continue
        side = 1 if leg.direction == "left" else -1
        center, angle = np.asarray(leg.center), 2 * np.pi * leg.turns
        assert np.linalg.norm(x[:2] - center) == pytest.approx(leg.radius)
        x[2] += side * angle
        length += leg.radius * angle
        x[:2] = center + side * leg.radius * np.array([np.sin(x[2]), -np.cos(x[2])])
    return x, length


def test_dubins_paths_lead_there_and_are_short(rng):
    for _ in range(200):
        start, end = rng.uniform(-3, 3, 3), rng.uniform(-3, 3, 3)
        x, length = _flown(start, hc.aerial.dubins(start, end, 1.0, 0.0))
        np.testing.assert_allclose(x[:2], end[:2], atol=1e-6)
        assert np.cos(x[2] - end[2]) == pytest.approx(1.0)
        # There and back by way of another place is never shorter.
        via = rng.uniform(-3, 3, 3)
        first = _flown(start, hc.aerial.dubins(start, via, 1.0, 0.0))[1]
        second = _flown(via, hc.aerial.dubins(via, end, 1.0, 0.0))[1]
        assert length <= first + second + 1e-6
        assert length >= np.linalg.norm(end[:2] - start[:2]) - 1e-9


def test_bad_missions(aircraft):
    line = Line([0, 0], [1, 0], height=10.0)
    with pytest.raises(hc.InputError, match="has legs"):
        Autopilot(aircraft, [], SPEED, DT)
    with pytest.raises(hc.InputError, match="first leg says its height"):
        Autopilot(aircraft, [Line([0, 0], [1, 0])], SPEED, DT)
    with pytest.raises(hc.InputError, match="another one"):
        Autopilot(aircraft, [Line([0, 0], [0, 0], height=1.0)], SPEED, DT)
    with pytest.raises(hc.InputError, match=r"no level trim at 60 m/s: .*power"):
        Autopilot(aircraft, [line], 60.0, DT)
    with pytest.raises(hc.InputError, match="FixedWing"):
        Autopilot(hc.aerial.load("hummingbird"), [line], SPEED, DT)
    with pytest.raises(hc.InputError, match="left or right"):
        Autopilot(aircraft, [Circle([0, 0], 10.0, "up", height=1.0)], SPEED, DT)
