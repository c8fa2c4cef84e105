"""Identification in flight: rotors from a log, a payload online."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import GeometricControl, Propeller, Rotor

DT = 0.005


def way(t):
    return np.stack([1.5 * np.sin(1.3 * t), np.sin(2.1 * t), 1 + 0.5 * np.sin(1.7 * t)], axis=1)


@pytest.fixture(scope="module")
def quad():
    return hc.aerial.load("hummingbird")


@pytest.mark.parametrize("seed", [41, pytest.param(42, marks=pytest.mark.slow)])
def test_rotors_from_a_log_to_one_percent(quad, seed):
    """The start is off by 20 % and more, and what is measured is noisy."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(3001)
    law = GeometricControl(quad)
    ahead = np.gradient(way(t), DT, axis=0)
    follow = law.following(position=way(t), velocity=ahead, yaw=0.8 * np.sin(0.9 * t))
    flight = hc.simulate(quad, duration=15.0, controller=follow, dt=DT, substeps=2)
    flight.v += rng.normal(size=flight.v.shape) * [2e-3] * 6
    flight.known["states"] = flight.states + rng.normal(size=flight.states.shape)
    wrong = Propeller.from_constants(7e-6, 1e-7, 0.1, hub_drag=5e-5, rolling=1e-6, inertia=3.016875e-5)
    rotors = [Rotor(r.position, wrong, r.motor, r.turns) for r in quad.rotors]
    start = hc.aerial.Multirotor(rotors=rotors, robot=quad.robot)
    found = hc.aerial.identify_rotors(start, flight)
    true = {"b": 8.54858e-6, "d": 0.016 * 8.54858e-6, "hub_drag": 8.06428e-5}
    for name, value in true.items():
        assert found.values[name] == pytest.approx(value, rel=0.01), name
        assert abs(found.values[name] - value) < 6 * found.deviations[name] + 1e-3 * value
    assert found.vehicle.trim().u == pytest.approx(quad.trim().u, rel=0.01)


def test_a_load_is_learned_in_flight(quad):
    """An unmodelled load of 0.2 kg is identified from rotor speeds; the altitude error vanishes."""
    loaded = quad.with_robot(quad.robot.with_payload("body", 0.2, [0, 0, -0.05], 1e-4 * np.eye(3)))
    law = GeometricControl(quad, drag=False)
    identifier = hc.OnlineIdentifier(
        quad.robot, ("payload",), payload_link="body", noise=[0.01] * 3 + [0.1] * 3, forgetting=0.998
    )
    q, v, z = quad.trim().q, np.zeros(6), quad.trim().z
    t = DT * np.arange(1601)
    places = way(t)
    places[:, 2] = 1.0
    q = q.copy()
    q[:3] = places[0]
    ahead = np.gradient(places, DT, axis=0)
    push = np.gradient(ahead, DT, axis=0)
    v[3:] = ahead[0]
    sunk = {}
    for part, plant, learns in (("alone", quad, False), ("loaded", loaded, False), ("learned", loaded, True)):
        first = {"alone": 0, "loaded": 400, "learned": 1000}[part]
        last = {"alone": 400, "loaded": 1000, "learned": 1600}[part]
        if learns:
            mass = quad.robot.mass + identifier.theta[0]
            law.set(mass=mass)
        rows = slice(first, last + 1)
        follow = law.following(position=places[rows], velocity=ahead[rows], acceleration=push[rows])
        flight = hc.simulate(plant, q, v, DT * (last - first), follow, dt=DT, substeps=2, states0=z)
        q, v, z = flight.q[-1], flight.v[-1], flight.states[-1]
        sunk[part] = np.mean((places[first : last + 1, 2] - flight.q[:, 2])[-300:])
        if part == "loaded":
            tau = quad.force(flight.q, flight.v, flight.states, flight.controls)
            for k in range(0, len(flight.t) - 1, 2):
                identifier.update(flight.q[k], flight.v[k], flight.a[k], tau[k])
    assert identifier.theta[0] == pytest.approx(0.2, rel=0.02)
    assert abs(sunk["alone"]) < 0.02 and sunk["loaded"] > 0.1 and abs(sunk["learned"]) < 0.02


def test_flights_without_excitation_are_refused(quad):
    hover = quad.trim()
    flight = hc.simulate(quad, hover.q, hover.v, 1.0, hover.u, dt=DT)
    with pytest.raises(hc.InputError, match=r"does not excite|not identifiable"):
        hc.aerial.identify_rotors(quad, flight)
    with pytest.raises(hc.InputError, match="window is odd"):
        hc.aerial.identify_rotors(quad, flight, window=4)
    with pytest.raises(hc.InputError, match="one body"):
        hc.aerial.identify_rotors(hc.aerial.load("aerosonde"), flight)
