"""Aircraft entered as their textbooks publish them, against the trims, modes and matrices printed there."""

from __future__ import annotations

from importlib import resources

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

import helicoid as hc
from helicoid.aerial import Air, FixedWing, Jet, Table

FOOT = 0.3048
SLUG = 14.593902937


@pytest.fixture(scope="module")
def navion():
    return hc.aerial.load("navion")


def test_navion_has_the_published_modes(navion):
    """Nelson, examples 4.3 and 5.4; his equations leave out C_L_q."""
    modes = navion.trim(speed=176 * FOOT).modes()
    published = {
        "short period": -2.51 + 2.59j,
        "phugoid": -0.0171 + 0.213j,
        "Dutch roll": -0.487 + 2.335j,
        "roll": -8.435,
    }
    for name, value in published.items():
        assert abs(modes[name] - value) < 0.02 * abs(value), name
    assert modes["spiral"] == pytest.approx(-0.00877, abs=1e-3)


def test_without_alpha_dot_the_short_period_lacks_damping(navion):
    coefficients = {k: v for k, v in navion.coefficients.items() if k != "C_m_alpha_dot"}
    without = FixedWing(
        wing=navion.wing, coefficients=coefficients, robot=navion.robot, engine=navion.engine, air=navion.air
    )
    damping = [a.trim(speed=176 * FOOT).modes()["short period"].real for a in (navion, without)]
    assert damping[1] / damping[0] == pytest.approx(0.82, abs=0.02)


def test_alpha_dot_is_that_of_the_motion(navion, rng):
    """The implicit equations hold: the force is that of the coefficients at the α̇ and β̇ that it causes."""
    coefficients = {**navion.coefficients, "C_L_alpha_dot": 1.7, "C_n_beta_dot": 0.02, "C_Y_beta_dot": 0.1}
    given = {"wing": navion.wing, "robot": navion.robot, "engine": navion.engine, "air": navion.air}
    wind = hc.aerial.Wind((3.0, -4.0, 1.0))
    aircraft = FixedWing(coefficients=coefficients, wind=wind, **given)
    q = np.concatenate([[0, 0, 50.0], hc.aerial.attitude(0.3, 0.1, -0.4)])
    v = np.concatenate([0.2 * rng.normal(size=3), [55.0, 3.0, -2.0]])
    u = np.array([-0.05, 0.02, 0.01, 0.5])
    force = aircraft.force(q, v, u)
    a = navion.robot.forward_dynamics(q, v, force)
    h = 1e-5
    ahead, behind = (
        hc.aerial.angles(navion.robot.integrate(q, s * h * v), v + s * h * a, wind.velocity) for s in (1, -1)
    )
    dots = [(ahead.alpha - behind.alpha) / (2 * h), (ahead.beta - behind.beta) / (2 * h)]
    symbols = [ca.SX.sym(name, n) for name, n in (("q", 7), ("v", 6), ("u", 4))]
    flow = aircraft.flow(symbols[0], symbols[1], ca.SX(0, 1), "body")
    F = ca.SX(np.diag([1.0, -1.0, -1.0]))
    wrench = aircraft._wrench(
        F @ flow.velocity, F @ flow.rate, symbols[2], ca.SX(0, 1), flow.height, ca.SX(dots)
    )
    expected = ca.Function("f", symbols, [ca.vertcat(F @ wrench[:3], F @ wrench[3:])])(q, v, u)
    np.testing.assert_allclose(force, np.ravel(expected), rtol=1e-6, atol=1e-4)


def test_cessna_172_is_trimmed_as_published():
    """Roskam, cruise: level at 219 ft/s and 5000 ft at alpha = 0, with a drag coefficient of 0.032."""
    cessna = hc.aerial.load("cessna_172")
    trim = cessna.trim(speed=219 * FOOT)
    assert trim.success and abs(trim.alpha) < np.radians(0.1)
    assert cessna.air.density == pytest.approx(Air.standard(5000 * FOOT).density, rel=2e-3)
    pressure = cessna.air.density / 2 * (219 * FOOT) ** 2 * cessna.wing.area
    thrust = cessna.engine.at({"throttle": trim.controls["throttle"]}, cessna.air.density)
    assert thrust == pytest.approx(0.032 * pressure, rel=5e-3)


def test_cessna_172_has_the_modes_of_the_dimensional_derivatives():
    """Roskam's derivatives in cruise, against (1 - Z_ẇ) ẇ = ... and laterally, in stability axes."""
    given = hc.aerial.load("cessna_172")
    air, mass, V = given.air, given.robot.mass, 220 * FOOT
    S, b, chord = given.wing.area, given.wing.span, given.wing.chord
    Ix, Iy, Iz = np.array([948, 1346, 1967]) * SLUG * FOOT**2
    trimmed = 2 * mass * 9.81 / (air.density * V**2 * S)  # at alpha = 0
    c = {**given.coefficients, "C_L_0": trimmed}
    aircraft = FixedWing(wing=given.wing, coefficients=c, robot=given.robot, engine=given.engine, air=air)
    trim = aircraft.trim(speed=V)
    assert trim.success and abs(trim.alpha) < 1e-6
    Q, k = air.density / 2 * V**2 * S, chord / (2 * V)
    X_u, X_w = -2 * Q * c["C_D_p"] / (mass * V), Q * (c["C_L_0"] - c["C_D_alpha"]) / (mass * V)
    Z_u, Z_w = -2 * Q * c["C_L_0"] / (mass * V), -Q * (c["C_L_alpha"] + c["C_D_p"]) / (mass * V)
    Z_q, Z_dot = -Q * c["C_L_q"] * k / mass, -Q * c["C_L_alpha_dot"] * k / (mass * V)
    M_w, M_q = Q * chord * c["C_m_alpha"] / (Iy * V), Q * chord * c["C_m_q"] * k / Iy
    M_dot = Q * chord * c["C_m_alpha_dot"] * k / (Iy * V)
    E = np.array([[1, 0, 0, 0], [0, 1 - Z_dot, 0, 0], [0, -M_dot, 1, 0], [0, 0, 0, 1]])
    A = np.array([[X_u, X_w, 0, -9.81], [Z_u, Z_w, V + Z_q, 0], [0, M_w, M_q, 0], [0, 0, 1, 0]])
    along = np.linalg.eigvals(np.linalg.solve(E, A))

    def row(axis: str, unit: float) -> list[float]:  # by sideslip, roll rate, yaw rate
        rate = b / (2 * V)
        return [Q * unit * c[f"C_{axis}_{x}"] * y for x, y in (("beta", 1), ("p", rate), ("r", rate))]

    side, roll, yaw = row("Y", 1 / (mass * V)), row("l", b / Ix), row("n", b / Iz)
    lateral = [[*side, 9.81 / V], [*roll, 0], [*yaw, 0], [0, 1, 0, 0]]
    lateral[0][2] -= 1
    across = np.linalg.eigvals(np.array(lateral))
    modes = trim.modes()
    for poles, names in ((along, ("short period", "phugoid")), (across, ("Dutch roll", "roll", "spiral"))):
        for name in names:
            assert np.abs(poles - modes[name]).min() < 1e-6 * abs(modes[name]), name


def in_stability_states(lin, alpha, speed):
    """Longitudinal (V, α, θ, q) and lateral (β, φ, p, r) A and B, ft and degrees of deflection."""
    T = np.eye(4)
    T[:2, :2] = FOOT * np.array(
        [[np.cos(alpha), -speed * np.sin(alpha)], [np.sin(alpha), speed * np.cos(alpha)]]
    )
    found = []
    sideways = np.diag([FOOT * speed, 1, 1, 1])
    for states, rows, columns in ((T, [0, 2, 7, 4], [0]), (sideways, [1, 6, 3, 5], [1, 2])):
        A, B = lin.A[np.ix_(rows, rows)], lin.B[np.ix_(rows, columns)]
        found += [np.linalg.solve(states, A @ states), np.linalg.solve(states, np.radians(B))]
    return found


@pytest.fixture(scope="module")
def f16():
    return hc.aerial.load("f16")


def test_f16_has_the_published_trim_and_longitudinal_matrices(f16):
    """Stevens and Lewis, 502 ft/s at sea level, at 0.35 c; their g is 32.17 ft/s², 0.05 % less."""
    trim = f16.trim(speed=502 * FOOT)
    assert trim.success
    assert trim.alpha == pytest.approx(0.03691, abs=5e-5)
    assert np.degrees(trim.controls["elevator"]) == pytest.approx(-0.7588, abs=5e-4)
    assert trim.controls["throttle"] == pytest.approx(0.1385, abs=2e-4)
    assert trim.states["engine"] == pytest.approx(trim.controls["throttle"])
    A, B, _, _ = in_stability_states(trim.linearise(), trim.alpha, 502.0)
    published = [
        [-1.9311e-2, 8.8157, -32.170, -5.7499e-1],
        [-2.5389e-4, -1.0189, 0.0, 9.0506e-1],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 8.2225e-1, 0.0, -1.0774],
    ]
    np.testing.assert_allclose(A, published, rtol=2.5e-3, atol=1e-6)
    np.testing.assert_allclose(B[:, 0], [1.7370e-1, -2.1499e-3, 0.0, -1.7555e-1], rtol=2e-3, atol=1e-9)


@pytest.mark.slow
def test_f16_with_another_center_of_mass_has_the_published_lateral_matrix(f16):
    """The same at 0.3 c, where Stevens and Lewis print the lateral dynamics."""
    forward = FixedWing(
        wing=f16.wing,
        coefficients=f16.coefficients,
        tables=f16.tables,
        robot=f16.robot,
        engine=f16.engine,
        air=f16.air,
        deflection=f16.deflections,
        moment_reference=(-0.05 * f16.wing.chord, 0.0, 0.0),
    )
    trim = forward.trim(speed=502 * FOOT)
    assert trim.success and trim.alpha == pytest.approx(0.03936, abs=5e-5)
    _, _, A, _ = in_stability_states(trim.linearise(), trim.alpha, 502.0)
    published = [
        [-3.2200e-1, 6.4032e-2, 3.8904e-2, -9.9156e-1],
        [0.0, 0.0, 1.0, 3.9385e-2],
        [-3.0919e1, 0.0, -3.6730, 6.7425e-1],
        [9.4724, 0.0, -2.6358e-2, -4.9849e-1],
    ]
    np.testing.assert_allclose(A, published, rtol=5e-3, atol=1e-6)


def test_tables_interpolate_linearly_in_numbers_and_symbols(rng):
    axes = {
        "alpha": np.sort(rng.normal(size=5)),
        "beta": np.sort(rng.normal(size=4)),
        "mach": [0.1, 0.5, 0.9],
    }
    table = Table(axes, rng.normal(size=(5, 4, 3)))
    names, symbols = list(axes), [ca.SX.sym(name) for name in axes]
    f = ca.Function("f", symbols, [table.at(dict(zip(names, symbols, strict=True)))])
    oracle = RegularGridInterpolator(tuple(table.axes), table.values, bounds_error=False, fill_value=None)
    for _ in range(50):
        x = rng.normal(size=3) * 1.5  # inside and beyond
        found = table.at(dict(zip(names, x, strict=True)))
        assert found == pytest.approx(oracle(x)[0], rel=1e-9, abs=1e-9)
        assert float(f(*x)) == pytest.approx(found, rel=1e-12, abs=1e-12)
    for axes, values in (
        ({"alpha": [0, 0]}, [1, 2]),
        ({"alpha": [0, 1]}, [1, 2, 3]),
        ({"flap": [0, 1]}, [1, 2]),
        ({"alpha": [0, 1]}, [1, np.nan]),
        ([0, 1], [1, 2]),
    ):
        with pytest.raises(hc.InputError):
            Table(axes, values)


def test_density_follows_the_height(navion):
    for height in (-1500.0, 0.0, 8000.0, 15000.0, 28000.0):
        assert Air.varying().density_at(height) == pytest.approx(Air.standard(height).density, rel=1e-12)
        sound = Air.standard(height).sound_speed
        assert Air.varying().sound_speed_at(height) == pytest.approx(sound, rel=1e-12)
    high = navion.with_air(Air.varying()).trim(speed=176 * FOOT, q=[0, 0, 2000.0, 1, 0, 0, 0])
    same = navion.with_air(Air.standard(2000.0)).trim(speed=176 * FOOT)
    assert high.alpha == pytest.approx(same.alpha, rel=1e-9) and high.success


def test_a_jet_loses_thrust_with_density_and_lags(navion):
    jet = Jet(3000.0, lag=0.5)
    assert jet.at({"throttle": 0.5}, 1.225 / 2) == pytest.approx(750.0)
    aircraft = FixedWing(
        wing=navion.wing, coefficients=navion.coefficients, robot=navion.robot, engine=jet, air=navion.air
    )
    trim = aircraft.trim(speed=50.0)
    assert aircraft.states == ("engine",) and trim.success
    flight = hc.simulate(
        aircraft, trim.q, trim.v, 1.0, trim.u + np.array([0, 0, 0, 0.1]), dt=0.01, states0=trim.z
    )
    assert flight.states[-1, 0] - trim.z[0] == pytest.approx(0.1 * (1 - np.exp(-2.0)), rel=1e-6)
    for given in (
        {"thrust": -1.0},
        {"thrust": 1.0, "lag": -1.0},
        {"thrust": Table({"mach": [0, 1]}, [1, 2])},
    ):
        with pytest.raises(hc.InputError):
            Jet(**given)


def test_a_glider_finds_its_descent(navion):
    glider = FixedWing(wing=navion.wing, coefficients=navion.coefficients, robot=navion.robot, air=navion.air)
    trim = glider.trim(speed=50.0)
    assert trim.success and trim.climb_rate < 0
    assert trim.residual < 1e-8 and np.linalg.norm(trim.v[3:]) == pytest.approx(50.0)
    c = navion.coefficients
    drag = c["C_D_p"] + c["C_D_alpha"] * trim.alpha
    lift = c["C_L_0"] + c["C_L_alpha"] * trim.alpha + c["C_L_delta_e"] * trim.controls["elevator"]
    assert np.arcsin(-trim.climb_rate / 50.0) == pytest.approx(np.arctan2(drag, lift), rel=1e-3)
    flight = hc.simulate(glider, trim.q, trim.v, 2.0, trim.u, dt=0.01)
    np.testing.assert_allclose(flight.v[-1], trim.v, atol=1e-6)
    assert flight.q[-1, 2] == pytest.approx(2 * trim.climb_rate, rel=1e-6)
    assert not glider.trim(speed=50.0, climb_rate=1.0).success  # told another one
    turning = glider.trim(speed=50.0, turn_rate=0.1)
    assert turning.success and turning.climb_rate < trim.climb_rate
    assert not glider.trim(speed=15.0).success  # stalled


def test_an_aircraft_is_one_file(tmp_path, navion):
    text = (resources.files("helicoid.aerial.bundled") / "navion.json").read_text()
    (tmp_path / "mine.json").write_text(text.replace('"C_m_alpha": -0.683', '"C_m_alpha": -0.5'))
    mine = hc.aerial.load(str(tmp_path / "mine.json"))
    assert mine.coefficients["C_m_alpha"] == -0.5 and mine.robot.mass == navion.robot.mass
    for broken in ("{", "{}", text.replace('"mass"', '"heavy"'), text.replace('"ft"', '"cubit"')):
        (tmp_path / "bad.json").write_text(broken)
        with pytest.raises(hc.InputError):
            hc.aerial.load(str(tmp_path / "bad.json"))
