from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import bundled
from helicoid.aerial.fixed_wing import FixedWing, Wing

TRIM = {"elevator": -0.123918, "aileron": 0.005922, "rudder": -0.000944, "throttle": 0.773508}
MODES = {
    "short period": -4.895 + 9.870j,
    "phugoid": -0.1426 + 0.478j,
    "roll": -22.44,
    "Dutch roll": -1.140 + 4.655j,
    "spiral": 0.0892,
}
"""Of the Aerosonde in level flight at 25 m/s, by an independent program from the same coefficients."""


@pytest.fixture(scope="module")
def aircraft():
    return hc.aerial.load("aerosonde")


@pytest.fixture(scope="module")
def level(aircraft):
    return aircraft.trim(speed=25.0, climb_rate=0.0, turn_rate=0.0)


def _plain(v, angle, rates, u):
    """Force and moment of the Aerosonde, z down, in plain NumPy: the textbook's formulas again."""
    n = bundled.numbers("aerosonde")
    c, w, rho = n["coefficients"], n["wing"], n["density"]
    V = np.linalg.norm(v)
    alpha, beta = np.arctan2(v[2], v[0]), np.arcsin(v[1] / V)
    p, q, r = rates
    M, a0 = w["blend"], w["stall"]
    em, ep = np.exp(-M * (alpha - a0)), np.exp(M * (alpha + a0))
    s = (1 + em + ep) / ((1 + em) * (1 + ep))
    lin = c["C_L_0"] + c["C_L_alpha"] * alpha
    CL = (1 - s) * lin + s * 2 * np.sign(alpha) * np.sin(alpha) ** 2 * np.cos(alpha)
    CD = c["C_D_p"] + lin**2 / (np.pi * w["efficiency"] * w["span"] ** 2 / w["area"])
    qS, k, b = 0.5 * rho * V**2 * w["area"], w["chord"] / (2 * V), w["span"] / (2 * V)
    L = qS * (CL + c["C_L_q"] * k * q + c["C_L_delta_e"] * u[0])
    D = qS * (CD + c["C_D_q"] * k * q + c["C_D_delta_e"] * u[0])
    side = {
        x: c[f"C_{x}_0"] + c[f"C_{x}_beta"] * beta + c[f"C_{x}_p"] * b * p + c[f"C_{x}_r"] * b * r
        + c[f"C_{x}_delta_a"] * u[1] + c[f"C_{x}_delta_r"] * u[2] for x in "Yln"
    }  # fmt: skip
    Cm = c["C_m_0"] + c["C_m_alpha"] * alpha + c["C_m_q"] * k * q + c["C_m_delta_e"] * u[0]
    D_p, KV = 2 * n["propeller"]["radius"], 60 / (2 * np.pi * n["motor"]["turns_per_minute_per_volt"])
    R, i0, Vin = n["motor"]["resistance"], n["motor"]["no_load_current"], n["motor"]["voltage"] * u[3]
    q0, q1, q2 = n["propeller"]["CQ"]
    A, B = rho * D_p**5 * q0 / (2 * np.pi) ** 2, rho * D_p**4 * q1 * V / (2 * np.pi) + KV**2 / R
    C = rho * D_p**3 * q2 * V**2 - KV * Vin / R + KV * i0
    turns = (-B + np.sqrt(B**2 - 4 * A * C)) / (2 * A) / (2 * np.pi)
    J = V / (turns * D_p)
    T = rho * turns**2 * D_p**4 * np.polyval(n["propeller"]["CT"][::-1], J)
    Q = rho * turns**2 * D_p**5 * np.polyval(n["propeller"]["CQ"][::-1], J)
    force = [
        -np.cos(alpha) * D + np.sin(alpha) * L + T,
        qS * side["Y"],
        -np.sin(alpha) * D - np.cos(alpha) * L,
    ]
    moment = [qS * w["span"] * side["l"] - Q, qS * w["chord"] * Cm, qS * w["span"] * side["n"]]
    return np.array(moment), np.array(force)


def test_forces_are_the_textbooks(aircraft, rng):
    F = np.array([1.0, -1.0, -1.0])
    for _ in range(20):
        v, rates = rng.uniform([12, -5, -8], [35, 5, 8]), rng.normal(size=3)
        u = np.append(rng.uniform(-0.4, 0.4, 3), rng.uniform(0.3, 1.0))
        moment, force = _plain(v, None, rates, u)
        q = np.array([0, 0, 100.0, 1, 0, 0, 0])
        found = aircraft.force(q, np.concatenate([F * rates, F * v]), u)
        np.testing.assert_allclose(found, np.concatenate([F * moment, F * force]), rtol=1e-9, atol=1e-9)


def test_level_trim_to_five_digits(level):
    assert level.success and level.residual < 1e-9
    assert level.alpha == pytest.approx(0.0497, abs=5e-6)
    for name, value in TRIM.items():
        assert level.controls[name] == pytest.approx(value, abs=1e-6)
    assert level.beta == pytest.approx(0, abs=1e-12)


def test_modes_to_three_digits_and_by_name(level):
    found = level.modes()
    assert set(found) == set(MODES)
    for name, value in MODES.items():
        assert abs(found[name] - value) < 1.1e-3 * abs(value) + 5e-5


def test_linearisation_is_what_small_motions_do(aircraft, level):
    """Against differences of the acceleration of the robot, for velocities, rates and controls."""
    lin = level.linearise()
    assert lin.states[:8] == ("u", "v", "w", "p", "q", "r", "roll", "pitch") and lin.A.shape == (8, 8)
    F = np.array([1.0, -1.0, -1.0])

    def rates(v, u):
        force = aircraft.force(level.q, v, u)
        a = aircraft.robot.forward_dynamics(level.q, v, force)
        return np.concatenate([F * a[3:], F * a[:3]])

    for k, (place, sign) in enumerate([(3, 1), (4, -1), (5, -1), (0, 1), (1, -1), (2, -1)]):
        d = 1e-6 * np.eye(6)[place] * sign
        column = (rates(level.v + d, level.u) - rates(level.v - d, level.u)) / 2e-6
        np.testing.assert_allclose(lin.A[:6, k], column, rtol=1e-6, atol=1e-5)
    for k in range(4):
        d = 1e-6 * np.eye(4)[k]
        column = (rates(level.v, level.u + d) - rates(level.v, level.u - d)) / 2e-6
        np.testing.assert_allclose(lin.B[:6, k], column, rtol=1e-6, atol=1e-5)


def test_trimmed_it_flies_straight(aircraft, level):
    flight = hc.simulate(aircraft, level.q, level.v, 4.0, controller=level.u, dt=0.02)
    np.testing.assert_allclose(flight.q[-1, :3], [100.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(flight.v[-1], level.v, atol=1e-6)


@pytest.mark.parametrize("turn", [0.1, -0.3])
def test_level_turn(aircraft, turn):
    """ψ̇ = g tan φ / V and L = m g / cos φ, but for small forces of thrust and surfaces."""
    trim = aircraft.trim(speed=25.0, turn_rate=turn)
    assert trim.success
    assert 9.81 * np.tan(trim.roll) / 25.0 == pytest.approx(turn, rel=0.03)
    F = np.array([1.0, -1.0, -1.0])
    force = F * aircraft.force(trim.q, trim.v, trim.u)[3:]
    lift = force[0] * np.sin(trim.alpha) - force[2] * np.cos(trim.alpha)  # thrust's part included
    assert lift == pytest.approx(11.0 * 9.81 / np.cos(trim.roll), rel=0.01)
    flight = hc.simulate(aircraft, trim.q, trim.v, 5.0, controller=trim.u, dt=0.02)
    seen = hc.aerial.angles(flight.q, flight.v)
    assert np.unwrap(seen.yaw)[-1] - seen.yaw[0] == pytest.approx(5 * turn, rel=1e-5)
    assert np.ptp(flight.q[:, 2]) < 1e-3
    radius = np.hypot(*(np.diff(flight.q[:, :2], axis=0).T)).sum() / abs(5 * turn)
    assert radius == pytest.approx(25.0 / abs(turn), rel=1e-4)


def test_glide_trades_height_for_drag(aircraft, rng):
    """Without a motor energy changes by the work of the air: dE/dt = tau · v."""
    glider = FixedWing(
        wing=aircraft.wing, coefficients=aircraft.coefficients, robot=aircraft.robot, air=aircraft.air
    )
    q0 = np.concatenate([[0, 0, 500.0], hc.aerial.attitude(0.1, -0.1, 0.0)])
    flight = hc.simulate(glider, q0, [0, 0, 0, 22.0, 0.5, -1.0], 5.0, controller=[-0.1, 0.0, 0.0], dt=0.005)
    power = np.sum(flight.tau * flight.v, axis=1)
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(flight.t))])
    np.testing.assert_allclose(flight.energy - flight.energy[0], work, atol=2e-4 * np.ptp(flight.energy))
    assert flight.energy[-1] < flight.energy[0]


def test_gliding_trim_sinks_by_drag_over_lift(aircraft):
    gliding = aircraft.trim(speed=20.0, climb_rate=-1.6)
    F = np.array([1.0, -1.0, -1.0])
    level = aircraft.trim(speed=20.0)
    assert gliding.success and gliding.controls["throttle"] < level.controls["throttle"]
    force = F * aircraft.force(gliding.q, gliding.v, gliding.u)[3:]
    along = F * gliding.v[3:] / 20.0
    # What is left of thrust less drag along the path carries the weight's part.
    assert force @ along == pytest.approx(-11.0 * 9.81 * 1.6 / 20.0, rel=1e-9)


@pytest.mark.parametrize(
    ("speed", "climb", "said"), [(9.0, 0.0, "stall"), (45.0, 0.0, "throttle.*power"), (25.0, 12.0, "power")]
)
def test_no_trim_is_said_with_its_reason(aircraft, speed, climb, said):
    import re

    trim = aircraft.trim(speed=speed, climb_rate=climb)
    assert not trim.success and re.search(said, trim.message)
    assert trim.residual > 0.1
    lower, upper = aircraft.control_limits
    assert np.all(trim.u >= lower - 1e-9) and np.all(trim.u <= upper + 1e-9)


def test_many_trims_are_those_one_by_one(aircraft, level):
    many = aircraft.trims([18.0, 25.0, 30.0], climb_rate=[0.0, 0.0, 1.0])
    assert [trim.success for trim in many] == [True] * 3
    np.testing.assert_allclose(many[1].u, level.u, atol=1e-9)
    np.testing.assert_allclose(many[2].u, aircraft.trim(speed=30.0, climb_rate=1.0).u, atol=1e-9)
    assert 10 < aircraft.stall_speed < 12 and many[0].alpha > many[1].alpha


def test_bad_aircraft(aircraft):
    good = dict(aircraft.coefficients)
    wing = aircraft.wing
    with pytest.raises(hc.InputError, match="missing: C_L_alpha, C_n_r"):
        FixedWing(
            1.0, np.eye(3), wing=wing,
            coefficients={k: v for k, v in good.items() if k not in ("C_L_alpha", "C_n_r")},
        )  # fmt: skip
    with pytest.raises(hc.InputError, match="unknown coefficients: C_X"):
        FixedWing(1.0, np.eye(3), wing=wing, coefficients={**good, "C_X": 1.0})
    with pytest.raises(hc.InputError, match="area is positive"):
        Wing(area=-1.0, span=2.0, chord=0.2)
    with pytest.raises(hc.InputError, match="mass is positive"):
        FixedWing(-1.0, np.eye(3), wing=wing, coefficients=good)
    with pytest.raises(hc.InputError, match="come together"):
        FixedWing(1.0, np.eye(3), wing=wing, coefficients=good, motor=aircraft.motor)
    with pytest.raises(hc.InputError, match="floating base"):
        FixedWing(robot=hc.load("planar_2r"), wing=wing, coefficients=good)
    with pytest.raises(hc.InputError, match="no bundled vehicle"):
        hc.aerial.load("zeppelin")
    with pytest.raises(hc.InputError, match="finite"):
        aircraft.trim(speed=np.nan)


def _tabled(aircraft, **changed):
    """The Aerosonde with C_L, C_D and C_m as tables of its own formulas."""
    n = bundled.numbers("aerosonde")
    alpha = np.linspace(-0.6, 0.8, 57)
    c, w = dict(n["coefficients"]), aircraft.wing
    lift = c["C_L_0"] + c["C_L_alpha"] * alpha
    tables = {
        "C_L": (alpha, aircraft.lift_coefficient(alpha)),
        "C_D": (alpha, c["C_D_p"] + lift**2 / (np.pi * w.efficiency * w.aspect_ratio)),
        "C_m": (alpha, c["C_m_0"] + c["C_m_alpha"] * alpha),
    }
    rest = {k: v for k, v in c.items() if k not in ("C_L_0", "C_L_alpha", "C_D_p", "C_m_0", "C_m_alpha")}
    given = {"wing": w, "robot": aircraft.robot, "air": aircraft.air, "coefficients": rest, "tables": tables}
    motor = {"propeller": aircraft.propeller, "motor": aircraft.motor}
    return FixedWing(**{**given, **motor, **changed})


def test_tables_of_the_coefficients_fly_as_these(aircraft, level):
    tabled = _tabled(aircraft)
    found = tabled.trim(speed=25.0)
    np.testing.assert_allclose(found.alpha, level.alpha, rtol=2e-4)
    np.testing.assert_allclose(found.u, level.u, atol=1e-4)
    np.testing.assert_allclose(tabled.max_lift, aircraft.max_lift, rtol=1e-2)
    for name, value in level.modes().items():
        assert abs(found.modes()[name] - value) < 0.02 * abs(value) + 1e-3, name


def test_a_table_says_where_the_wing_stalls(aircraft):
    tabled = _tabled(aircraft)
    alpha = np.array([-0.5, 0.0, 0.1, 0.2, 0.3, 0.6])
    weak = {
        **{k: (t.J, t.values) for k, t in tabled.tables.items()},
        "C_L": (alpha, [-1, 0.2, 0.7, 1.0, 0.8, 0.5]),
    }
    early = _tabled(aircraft, tables=weak)
    assert 0.15 < early.stall_angle < 0.25 and early.stall_speed > 1.3 * tabled.stall_speed
    slow = early.trim(speed=16.0)
    assert not slow.success and slow.message.startswith("stall")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tables": {"C_X": ([0, 1], [0, 1])}}, "tables are of C_L, C_D, C_m"),
        ({"tables": {"C_L": [1.0, 2.0, 3.0]}}, "a pair"),
        ({"tables": {"C_L": ([0.1, 0.0], [0, 1])}}, "alpha must ascend"),
        ({"tables": {}}, "missing: C_L_0, C_L_alpha, C_D_p"),
        (
            {"coefficients": bundled.numbers("aerosonde")["coefficients"]},
            r"C_L_0 \(replaced by a table\)",
        ),
    ],
)
def test_tables_that_are_none(aircraft, changed, words):
    with pytest.raises(hc.InputError, match=words):
        _tabled(aircraft, **changed)


def test_numbers_that_are_none(aircraft):
    given = {"mass": 10.0, "inertia": [1.0, 1.0, 1.0], "coefficients": aircraft.coefficients}
    for changed, words in [
        ({"wing": None}, "wing is hc.aerial.Wing"),
        ({"wing": aircraft.wing, "deflection": "far"}, "deflection is between"),
        (
            {"wing": aircraft.wing, "coefficients": {**aircraft.coefficients, "C_L_0": "much"}},
            "numbers: C_L_0",
        ),
    ]:
        with pytest.raises(hc.InputError, match=words):
            FixedWing(**{**given, **changed})
    with pytest.raises(hc.InputError, match="trims takes numbers"):
        aircraft.trims(["fast"])
    with pytest.raises(hc.InputError, match="q has 7 finite entries"):
        aircraft.trim(speed=25.0, q=[0, 0, np.nan, 1, 0, 0, 0])
    with pytest.raises(hc.InputError, match="speed is positive"):
        hc.aerial.minimum_snap([[0, 0, 0], [1, 0, 0]], speed=-3.0)
    with pytest.raises(hc.InputError, match="speed are finite numbers"):
        aircraft.envelope("fast", [0.0])
