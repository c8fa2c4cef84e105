"""Contacts against closed forms: what stops dead, sticks, slides, rolls and bounces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from contact_bodies import G, ball, body, box, cone_violation, disc, on_slope, slope, world_velocity

pytestmark = pytest.mark.needs_compiler

CUBE = body('<box size="0.2 0.2 0.2"/>', 1.0, (0.02, 0.02, 0.02), "cube")


def test_a_box_dropped_flat_stops_dead() -> None:
    motion = hc.simulate(
        CUBE, [0, 0, 0.4, 1, 0, 0, 0], duration=0.5, ground=hc.Ground(), contacts="collision"
    )
    assert_allclose(motion.q[-1], [0, 0, 0.1, 1, 0, 0, 0], atol=1e-12)
    assert np.abs(motion.v[:, :3]).max() < 1e-10  # it never turns
    landed = motion.t > math.sqrt(2 * 0.3 / G) + 1e-3
    assert np.abs(motion.v[landed]).max() < 1e-10
    assert_allclose(motion.contact_forces[-1].sum(axis=0), [0, 0, G], atol=1e-8)
    assert motion.contact_residual.max() < 1e-8 and motion.penetration.max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.3, 0.8, 1.0])
def test_with_restitution_it_rises_to_e_squared_h(e: float) -> None:
    ground = hc.Ground(restitution=e)
    motion = hc.simulate(CUBE, [0, 0, 0.4, 1, 0, 0, 0], duration=0.7, ground=ground, contacts="collision")
    up = int(np.argmax(motion.v[:, 5] > 0.01))
    down = up + int(np.argmax(motion.v[up:, 5] < 0))
    assert_allclose(motion.q[up : down + 1, 2].max() - 0.1, e**2 * 0.3, atol=3e-6)


def test_the_impulse_of_an_impact_is_the_momentum_it_takes() -> None:
    motion = hc.simulate(
        CUBE, [0, 0, 0.4, 1, 0, 0, 0], duration=0.5, ground=hc.Ground(), contacts="collision"
    )
    impulse = motion.contact_forces[:-1].sum(axis=(0, 1)) * 1e-3
    assert_allclose(impulse, [0, 0, G * 0.5], atol=1e-9)  # all that gravity gave


@pytest.mark.parametrize("angle", [0.3, 0.46, 0.47, 0.6])
def test_a_block_sticks_below_the_angle_of_friction_and_slides_above(angle: float) -> None:
    ground = hc.Ground(normal=slope(angle), friction=0.5)  # atan 0.5 = 0.4636
    motion = hc.simulate(CUBE, on_slope(angle, 0.1), ground=ground, contacts="collision")
    a = max(G * (math.sin(angle) - 0.5 * math.cos(angle)), 0.0)
    assert_allclose(motion.v[-1], [0, 0, 0, a, 0, 0], atol=1e-9)
    moved = motion.q[-1, :3] - motion.q[0, :3]
    assert_allclose(moved, a / 2 * np.array([math.cos(angle), 0, -math.sin(angle)]), atol=1e-9)


def test_a_sliding_block_stops_after_v_squared_over_two_mu_g() -> None:
    motion = hc.simulate(
        CUBE,
        [0, 0, 0.1, 1, 0, 0, 0],
        [0, 0, 0, 1.0, 0, 0],
        0.5,
        ground=hc.Ground(friction=0.4),
        contacts="collision",
    )
    assert_allclose(motion.q[-1, 0], 1 / (2 * 0.4 * G), atol=1e-6)
    assert np.abs(motion.v[-1]).max() < 1e-12


@pytest.mark.slow
def test_a_sliding_ball_ends_up_rolling_at_five_sevenths() -> None:
    robot = ball(0.1)
    motion = hc.simulate(
        robot,
        [0, 0, 0.1, 1, 0, 0, 0],
        [0, 0, 0, 2.0, 0, 0],
        ground=hc.Ground(friction=0.3),
        contacts="collision",
    )
    ω, v = np.split(world_velocity(robot, motion), 2)
    assert_allclose(v, [10 / 7, 0, 0], atol=2e-5)
    assert_allclose(ω, [0, 100 / 7, 0], atol=2e-4)
    slipping = motion.t < 2 * 2.0 / (7 * 0.3 * G) - 4e-3  # t = 2 v / (7 mu g)
    forces = motion.contact_forces[:-1][slipping[:-1], 0]
    assert_allclose(
        forces, [[-0.3 * G, 0, G]] * slipping.sum(), rtol=0.03, atol=1e-9
    )  # ω grows: an error of order h


@pytest.mark.slow
def test_a_spinning_disc_on_its_face_stops_by_the_friction_of_its_rim() -> None:
    R = 0.1
    robot = disc(R, 0.02)
    motion = hc.simulate(
        robot,
        [0, 0, 0.01, 1, 0, 0, 0],
        [0, 0, 10.0, 0, 0, 0],
        0.4,
        ground=hc.Ground(friction=0.2),
        contacts="collision",
    )
    # It stands on points of its rim: the torque mu m g R against m R²/2.
    rate = 2 * 0.2 * G / R
    still = 10.0 / rate
    sliding = motion.t < still - 2e-3
    assert_allclose(motion.v[sliding, 2], 10 - rate * motion.t[sliding], atol=1e-6)
    assert np.abs(motion.v[motion.t > still + 2e-3]).max() < 1e-9


@pytest.mark.slow
def test_a_coin_rolls_in_a_circle_as_steady_rolling_says() -> None:
    """Euler's disc with its center at rest: it precesses by Ω² = 4 g / (R sin α) without slip."""
    R, α = 0.1, 0.5  # α between the disc and the ground
    coin = body(f'<cylinder radius="{R}" length="1e-6"/>', 1.0, (R**2 / 4, R**2 / 4, R**2 / 2), "coin")
    Ω = math.sqrt(4 * G / (R * math.sin(α)))
    q0 = np.array([0, 0, R * math.sin(α) + 1e-6, math.cos(α / 2), 0, math.sin(α / 2), 0])
    lowest = np.array([math.cos(α), 0, -math.sin(α)])  # from the center
    ω = np.asarray(coin.pose("coin")(q0))[:3, :3].T @ (-Ω * math.sin(α) * lowest)

    def error(n: int) -> float:
        dt = 2 * math.pi / Ω / n
        motion = hc.simulate(
            coin, q0, [*ω, 0, 0, 0], n * dt, dt=dt, ground=hc.Ground(friction=5.0), contacts="collision"
        )
        assert motion.penetration.max() < 1e-6 and motion.contact_residual.max() < 1e-8
        return float(np.abs(motion.q[:, :3] - q0[:3]).max())

    assert error(500) < 1e-3 and 1.8 < error(500) / error(1000) < 2.2


@pytest.mark.slow
def test_a_table_on_eight_points_shares_its_weight() -> None:
    table = CUBE
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    middles = [(x, y, -0.1) for x, y in ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1))]
    contacts = [hc.ContactPoint("cube", point) for point in [*corners, *middles]]
    motion = hc.simulate(table, [0, 0, 0.1, 1, 0, 0, 0], duration=0.2, ground=hc.Ground(), contacts=contacts)
    normal = motion.contact_forces[-1, :, 2]
    assert_allclose(normal[:4], normal[:4].mean(), rtol=1e-2)
    assert_allclose(normal[4:], normal[4:].mean(), rtol=1e-2)
    assert normal.min() > G / 10
    assert_allclose(motion.contact_forces[-1].sum(axis=0), [0, 0, G], atol=1e-9)
    assert motion.contact_residual.max() < 1e-8 and cone_violation(motion, 0.8) < 1e-8
    assert_allclose(motion.q[-1], motion.q[0], atol=1e-12)


@pytest.mark.slow
def test_points_in_one_place_and_on_one_line_are_no_trouble() -> None:
    points = [(-0.1, 0, -0.1), (0.1, 0, -0.1), (0.1, 0, -0.1), (0, 0, -0.1)]
    contacts = [hc.ContactPoint("cube", point) for point in points]
    motion = hc.simulate(
        CUBE, [0, 0, 0.12, 1, 0, 0, 0], [0, 1.0, 0, 0.3, 0.2, 0], 0.3, ground=hc.Ground(), contacts=contacts
    )
    assert motion.contact_residual.max() < 1e-8 and motion.penetration.max() < 1e-6


def test_flight_is_exact_where_gravity_is_all_that_acts() -> None:
    robot = box()
    v0 = [0, 0, 0, 1.0, 0.5, 2.0]
    motion = hc.simulate(
        robot, [0, 0, 1.0, 1, 0, 0, 0], v0, 0.5, dt=0.01, ground=hc.Ground(), contacts="collision"
    )
    assert_allclose(motion.q[-1, :3], [0.5, 0.25, 1 + 2 * 0.5 - G * 0.5**2 / 2], atol=1e-12)


def test_tumbling_in_flight_errs_by_the_square_of_the_step() -> None:
    robot = box()
    v0 = [3.0, 5.0, 1.0, 0, 0, 0]
    exact = hc.simulate(robot, [0, 0, 1.0, 1, 0, 0, 0], v0, 0.2, method="adaptive").q[-1]

    def error(dt: float) -> float:
        motion = hc.simulate(
            robot, [0, 0, 1.0, 1, 0, 0, 0], v0, 0.2, dt=dt, ground=hc.Ground(), contacts="collision"
        )
        return float(np.abs(motion.q[-1] - exact).max())

    assert error(0.01) / error(0.005) > 3.5


def drops(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """States of bodies that are thrown in any direction and turn about any axis."""
    rng = np.random.default_rng(seed)
    q = np.zeros((n, 7))
    q[:, :2], q[:, 2], turns = rng.normal(size=(n, 2)), rng.uniform(0.25, 0.6, n), rng.normal(size=(n, 4))
    q[:, 3:] = turns / np.linalg.norm(turns, axis=1)[:, None]
    return q, rng.normal(size=(n, 6)) * np.array([6, 6, 6, 1.5, 1.5, 1.5])


def check_drops(robot: hc.Robot, ground: hc.Ground, seed: int, n: int, duration: float) -> None:
    q, v = drops(seed, n)
    motion = hc.simulate(robot, q, v, duration, ground=ground, contacts="collision")
    later = np.maximum.accumulate(motion.energy[:, ::-1], axis=1)[:, ::-1]
    assert np.max((later - motion.energy) / motion.energy[:, :1]) < 1e-3  # what the step of 1 ms errs by
    assert motion.contact_residual.max() < 1e-8 and motion.penetration.max() < 1e-6
    assert cone_violation(motion, ground.friction) < 1e-6
    assert np.isfinite(motion.q).all()


def test_energy_never_grows() -> None:
    check_drops(box(), hc.Ground(friction=0.5), 0, 16, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_energy_never_grows_in_a_thousand_drops(friction: float) -> None:
    check_drops(box(), hc.Ground(friction=friction), 1, 1000, 1.5)


@pytest.mark.slow
def test_redundant_points_that_are_about_to_slide() -> None:
    check_drops(box(), hc.Ground(friction=1.2), 2, 200, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_cylinder_that_falls_on_its_face_stays_above_the_ground(e: float) -> None:
    """Its lowest point may go round by half a turn in a step."""
    q, v = drops(3, 200)
    ground = hc.Ground(friction=0.5, restitution=e)
    motion = hc.simulate(disc(0.1, 0.05), q, v, 1.5, ground=ground, contacts="collision")
    assert motion.penetration.max() < 1e-6
    assert motion.contact_residual.max() < 1e-7 and np.mean(motion.contact_residual > 1e-8) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["quadruped", "box, e = 0.5", "cylinder"])
def test_two_minutes_of_kicks_give_no_nan(subject: str) -> None:
    """A part of `benchmarks.contact_hour`."""
    from benchmarks.contact_hour import hour

    line = hour(subject, 120.0, 3)
    assert "120 s  finite True" in line, line
