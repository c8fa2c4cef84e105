"""Formulas of steady flight against trimmed vehicles, momentum theory and circles."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError


def test_level_turn_is_that_of_a_trimmed_aircraft() -> None:
    """Coordinated, level: the bank angle gives the heading rate; sideslip and thrust account for the rest."""
    plane = hc.aerial.load("aerosonde")
    turn = plane.trim(speed=25.0, turn_rate=0.3)
    assert hc.aerial.turn_rate(25.0, turn.roll) == pytest.approx(0.3, rel=0.02)
    level = plane.trim(speed=25.0)
    lift, needed = plane.lift_coefficient([turn.alpha]), plane.lift_coefficient([level.alpha])
    assert (lift / needed).item() == pytest.approx(hc.aerial.load_factor(turn.roll), rel=0.05)


def test_stall_speed_is_that_of_the_aircraft_and_grows_with_the_load() -> None:
    plane = hc.aerial.load("aerosonde")
    given = plane.robot.mass, plane.wing.area, plane.max_lift, plane.air.density
    assert hc.aerial.stall_speed(*given) == pytest.approx(plane.stall_speed)
    banked = hc.aerial.stall_speed(*given, load_factor=hc.aerial.load_factor(np.pi / 3))
    assert banked == pytest.approx(np.sqrt(2) * plane.stall_speed)


def test_guidance_leads_through_the_reference_point(rng: np.random.Generator) -> None:
    """The circle with the lateral acceleration V²/R, tangent to the velocity, has the point on it."""
    V, eta, L = rng.uniform(5, 30), rng.uniform(0.1, 1.4), rng.uniform(10, 100)
    radius = V**2 / hc.aerial.l1_lateral_acceleration(V, eta, L)
    point, center = L * np.array([np.cos(eta), np.sin(eta)]), np.array([0, radius])
    assert np.linalg.norm(point - center) == pytest.approx(radius)
    assert hc.aerial.turn_rate(V, hc.aerial.bank_angle(V**2 / radius)) == pytest.approx(V / radius)


def test_energy_rates_are_those_of_the_energy(rng: np.random.Generator) -> None:
    V, V_dot, γ, g, h = 20.0, 0.7, 0.2, 9.81, 1e-6
    total, distribution = hc.aerial.energy_rates(V_dot, γ)

    def energies(t: float) -> tuple[float, float]:
        return g * V * np.sin(γ) * t, (V + V_dot * t) ** 2 / 2

    potential, kinetic = ((b - a) / (2 * h) for a, b in zip(energies(-h), energies(h), strict=True))
    assert total * g * V == pytest.approx(potential + kinetic, rel=1e-6)
    assert distribution * g * V == pytest.approx(potential - kinetic, rel=1e-6)


def test_disc_loading_decides_the_power_per_thrust() -> None:
    loading = hc.aerial.disc_loading([2.0, 4.0], [0.1, 0.2])
    assert loading[0] == loading[1]
    power = hc.aerial.hover_power([2.0, 4.0], [0.1, 0.2])
    np.testing.assert_allclose(power / [2.0, 4.0], np.sqrt(loading / (2 * 1.225)))


def test_wrong_input_is_reported() -> None:
    with pytest.raises(InputError, match="bank angle"):
        hc.aerial.load_factor(np.pi / 2)
    with pytest.raises(InputError, match="area is positive"):
        hc.aerial.disc_loading(1.0, 0.0)
    with pytest.raises(InputError, match="finite"):
        hc.aerial.turn_rate(20.0, "steep")
    with pytest.raises(InputError, match="max_lift is positive"):
        hc.aerial.stall_speed(1.0, 1.0, -1.0)
