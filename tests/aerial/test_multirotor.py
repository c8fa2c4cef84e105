from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import Battery, ElectricMotor, Motor, Multirotor, Propeller, Rotor
from helicoid.aerial.vehicle import body_robot
from helicoid.geometry import quaternion

b, d = 8.54858e-6, 0.016 * 8.54858e-6
PLAIN = Propeller.from_constants(b, d, 0.1)
QUICK = Motor(838.0)


@pytest.fixture(scope="module")
def hummingbird():
    return hc.aerial.load("hummingbird")


def quad(kind="quad +", propeller=PLAIN, motor=QUICK, **more):
    rotors = Multirotor.arrangement(kind, 0.17, propeller, motor)
    return Multirotor(0.716, [0.007, 0.007, 0.012], rotors, **more)


def test_bundled_numbers(hummingbird):
    firefly = hc.aerial.load("firefly")
    assert hummingbird.robot.mass == pytest.approx(0.716) and firefly.robot.mass == pytest.approx(1.53)
    assert [r.turns for r in hummingbird.rotors] == [-1, 1, -1, 1]
    assert len(firefly.rotors) == 6 and firefly.thrust_to_weight == pytest.approx(2.4, abs=0.01)
    np.testing.assert_allclose(firefly.wrench_matrix[5], b)
    hover = firefly.trim()
    assert hover.success
    assert hover.controls["rotor_1"] == pytest.approx(np.sqrt(1.53 * 9.81 / (6 * b)), rel=1e-9)


def test_a_trim_beyond_the_coefficients_of_a_propeller_is_none(hummingbird):
    """Constants hold at rest: at 50 m/s no propeller of this pitch gives thrust."""
    trim = hummingbird.trim(climb_rate=50.0)
    assert not trim.success and "rotor_1 is at an advance ratio of 3.47, beyond the 1" in trim.message
    assert hummingbird.trim(climb_rate=2.0).success


def test_document_matrix_of_a_plus_quad():
    """U₂ = l b (ω₄² - ω₂²) and U₃ = l b (ω₁² - ω₃²) with z down; y and z turn their sign with z up."""
    A = quad().allocation_matrix
    arm = 0.17
    np.testing.assert_allclose(A[0], [b] * 4)
    np.testing.assert_allclose(
        A[1], [0, arm * b, 0, -arm * b], atol=1e-18
    )  # roll left is positive with y left
    np.testing.assert_allclose(A[2], [-arm * b, 0, arm * b, 0], atol=1e-18)
    np.testing.assert_allclose(A[3], [d, -d, d, -d], atol=1e-18)


def test_body_dynamics_of_the_document(rng):
    """I ω̇ + ω × I ω = M and m (v̇ + ω × v) = F, with thrusts, drag torques and weight by hand."""
    vehicle = quad()
    I = np.diag([0.007, 0.007, 0.012])
    for _ in range(10):
        q = np.concatenate([rng.normal(size=3), quaternion.normalize(rng.normal(size=4))])
        v, u = rng.normal(size=6), rng.uniform(200, 800, 4)
        U = vehicle.allocation_matrix @ u**2
        R = np.asarray(quaternion.to_matrix(q[3:]))
        moment = np.linalg.solve(I, U[1:] - np.cross(v[:3], I @ v[:3]))
        force = np.array([0, 0, U[0]]) / 0.716 + R.T @ [0, 0, -9.81] - np.cross(v[:3], v[3:])
        a = vehicle.robot.forward_dynamics(q, v, vehicle.force(q, v, u))
        np.testing.assert_allclose(a, np.concatenate([moment, force]), atol=1e-9)


@pytest.mark.parametrize("kind", ["quad +", "quad x", "hexa +", "hexa x", "octo +", "octo x", "coaxial"])
def test_usual_arrangements_hover_and_have_full_moments(kind):
    vehicle = quad(kind)
    A = vehicle.allocation_matrix
    assert np.linalg.matrix_rank(A / np.abs(A).max(axis=1, keepdims=True)) == 4
    hover = vehicle.trim()
    assert hover.success and np.ptp(hover.u) < 1e-6
    np.testing.assert_allclose(A @ hover.u**2, [0.716 * 9.81, 0, 0, 0], atol=1e-9)


def test_tilted_rotors_push_sideways():
    tilt = np.radians(20)
    rotors = []
    for k in range(6):
        a = np.pi / 3 * k
        t = tilt if k % 2 else -tilt
        axis = [-np.sin(a) * np.sin(t), np.cos(a) * np.sin(t), np.cos(t)]
        at = 0.2 * np.array([np.cos(a), np.sin(a), 0])
        rotors.append(Rotor(at, PLAIN, QUICK, (-1) ** k, axis))
    vehicle = Multirotor(1.0, [0.01, 0.01, 0.02], rotors)
    assert np.linalg.matrix_rank(vehicle.wrench_matrix, tol=1e-9) == 6  # all six directions at once
    assert vehicle.trim().success


def test_wind_across_a_rotor(rng):
    """Hub force and rolling moment of the document, and flapping: against the wind in the disc's plane."""
    propeller = Propeller.from_constants(b, d, 0.1, hub_drag=8e-5, rolling=1e-6, flapping=0.1)
    rotor = Rotor((0.1, 0.2, 0.05), propeller, QUICK, "cw")
    vehicle = Multirotor(0.1, [1e-3] * 3, [rotor])
    q, V, w = np.array([0, 0, 0, 1.0, 0, 0, 0]), np.array([3.0, -2.0, 1.0]), 500.0
    found = vehicle.force(q, np.concatenate([np.zeros(3), V]), [w])
    plane = np.array([3.0, -2.0, 0.0])
    T = b * w**2
    force = np.array([0, 0, T]) - 8e-5 * w * plane - T * 0.1 / (w * 0.1) * plane
    moment = np.array([0, 0, d * w**2]) + 1e-6 * w * plane + np.cross([0.1, 0.2, 0.05], force)
    np.testing.assert_allclose(found, np.concatenate([moment, force]), rtol=1e-9, atol=1e-12)


def test_wind_is_as_good_as_moving(hummingbird):
    """A steady wind on a vehicle at rest gives the forces of flying against it."""
    wind = np.array([2.0, -1.0, 0.5])
    q = np.concatenate([[0, 0, 5.0], hc.aerial.attitude(0.2, -0.3, 1.0)])
    R = np.asarray(quaternion.to_matrix(q[3:]))
    z = u = np.full(4, 450.0)
    still = hummingbird.with_wind(hc.aerial.Wind(wind)).force(q, np.zeros(6), z, u)
    moving = hummingbird.force(q, np.concatenate([np.zeros(3), -R.T @ wind]), z, u)
    np.testing.assert_allclose(still, moving, atol=1e-12)


def test_gyroscopic_torque_and_the_torque_of_speeding_up():
    """One spinning rotor alone in empty air keeps the angular momentum of body and rotor together."""
    J = 1e-3
    propeller = Propeller.from_constants(1e-12, 1e-14, 0.1, inertia=J)
    rotor = Rotor((0, 0, 0), propeller, Motor(900.0, lag_up=0.1), 1)
    robot = body_robot("spinner", 1.0, [0.02, 0.03, 0.05])
    lifting = Rotor((0, 0, 0), Propeller.from_constants(1.0, 1e-9, 0.1), Motor(900.0))
    vehicle = Multirotor(rotors=[rotor, lifting], robot=robot)
    flight = hc.simulate(
        vehicle, None, [0.3, -0.2, 0.1, 0, 0, 0], 1.0, controller=[800.0, 0.0], dt=2e-3, states0=[300.0]
    )
    I = np.diag([0.02, 0.03, 0.05])
    total = []
    for q, v, z in zip(flight.q, flight.v, flight.states, strict=True):
        R = np.asarray(quaternion.to_matrix(q[3:]))
        total.append(R @ (I @ v[:3] + J * np.array([0, 0, z[0]])))
    np.testing.assert_allclose(total, np.tile(total[0], (len(total), 1)), atol=2e-6)
    assert flight.states[-1, 0] > 790


def test_lag_up_and_down():
    """By either lag, but for the last 2 % of the largest speed, where one goes over into the other."""
    motor = Motor(838.0, lag_up=0.0125, lag_down=0.025)
    vehicle = quad(motor=motor)
    for first, command, lag in [(300.0, 600.0, 0.0125), (600.0, 300.0, 0.025)]:
        flight = hc.simulate(
            vehicle,
            controller=np.full(4, command),
            duration=0.05,
            dt=0.005,
            substeps=4,
            states0=np.full(4, first),
        )
        wanted = command + (first - command) * np.exp(-flight.t / lag)
        np.testing.assert_allclose(flight.states[:, 0], wanted, atol=0.003 * 838)
        early = flight.t < lag / 2
        np.testing.assert_allclose(flight.states[early, 0], wanted[early], atol=0.001 * abs(command - first))


def test_lags_have_a_derivative_in_steady_flight():
    """Up and down, a small change of the command does the same, by a lag between both; far off not."""
    vehicle = quad(motor=Motor(838.0, lag_up=0.0125, lag_down=0.025))

    def rate(lack):
        given = np.full(4, 450.0 + lack)
        flight = hc.simulate(vehicle, controller=given, duration=1e-6, dt=1e-6, states0=np.full(4, 450.0))
        return (flight.states[-1, 0] - 450.0) / 1e-6 / lack

    assert abs(rate(0.01) / rate(-0.01) - 1) < 1e-3
    assert 1 / 0.025 < rate(0.01) < 1 / 0.0125
    np.testing.assert_allclose([rate(300.0), rate(-300.0)], [1 / 0.0125, 1 / 0.025], rtol=2e-3)


def test_commands_are_cut_at_the_motors_limits():
    flight = hc.simulate(quad(), controller=[2000.0] * 4, duration=0.1, dt=0.01)
    fastest = hc.simulate(quad(), controller=[838.0] * 4, duration=0.1, dt=0.01)
    np.testing.assert_allclose(flight.q, fastest.q)


def test_electric_motors_and_battery():
    """At rest the current's torque is the propeller's; a weak battery slows the rotors and is used up."""
    propeller = Propeller.from_constants(b, d, 0.1, inertia=3e-5)
    motor = ElectricMotor(speed_constant=100.0, resistance=0.15, no_load_current=0.4, voltage=11.1)
    strong = quad(propeller=propeller, motor=motor)
    hover = strong.trim()
    omega, k = hover.states["rotor_1_speed"], 1 / 100.0
    current = (hover.controls["rotor_1"] * 11.1 - k * omega) / 0.15
    assert hover.success and k * (current - 0.4) == pytest.approx(d * omega**2, rel=1e-6)
    weak = quad(propeller=propeller, motor=motor, battery=Battery(0.5, resistance=0.05))
    z0 = [*([omega] * 4), 0.0]
    flights = [
        hc.simulate(one, controller=[0.9] * 4, duration=1.0, dt=0.01, substeps=4, states0=z)
        for one, z in ((strong, [omega] * 4), (weak, z0))
    ]
    assert flights[1].states[-1, 0] < 0.97 * flights[0].states[-1, 0]
    used = flights[1].states[:, -1]
    assert used[0] == 0 and np.all(np.diff(used) > 0) and used[-1] < 0.05


def test_near_the_ground_rotors_lift_more():
    far, near = quad(), quad(ground=0.0)
    low, high = np.array([0, 0, 0.1, 1.0, 0, 0, 0]), np.array([0, 0, 50.0, 1.0, 0, 0, 0])
    u, still = np.full(4, 400.0), np.zeros(6)
    assert near.force(low, still, u)[5] / far.force(low, still, u)[5] == pytest.approx(16 / 15)
    assert near.force(high, still, u)[5] == pytest.approx(far.force(high, still, u)[5])


def test_drag_of_the_body():
    vehicle = quad(drag_area=(0.01, 0.02, 0.03))
    V = np.array([3.0, -4.0, 0.0])
    q = np.array([0, 0, 0, 1.0, 0, 0, 0])
    force = vehicle.force(q, np.concatenate([np.zeros(3), V]), np.zeros(4))[3:]
    np.testing.assert_allclose(force, -1.225 / 2 * 5.0 * np.array([0.01, 0.02, 0.03]) * V, rtol=1e-6)


def test_an_arm_on_a_drone_is_one_model():
    """Rotors on a link of a URDF: an arm hangs below; trim holds it, and momentum is that of all bodies."""
    text = """<robot name="arm_drone"><link name="base"><inertial><mass value="1.2"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="plate"/><joint name="up" type="fixed"><parent link="base"/><child link="plate"/>
      <origin xyz="0 0 0.05"/></joint>
      <link name="upper"><inertial><origin xyz="0 0 -0.1"/><mass value="0.1"/>
      <inertia ixx="3e-4" iyy="3e-4" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
      <limit lower="-2" upper="2" effort="2" velocity="5"/></joint></robot>"""
    robot = hc.load(text, base="floating")
    rotors = [
        Rotor(r.position, PLAIN, QUICK, r.turns, link="plate")
        for r in Multirotor.arrangement("quad x", 0.2, PLAIN, QUICK)
    ]
    vehicle = Multirotor(rotors=rotors, robot=robot)
    assert vehicle.controls == ("rotor_1", "rotor_2", "rotor_3", "rotor_4", "shoulder")
    q = robot.neutral()
    q[7] = 0.8
    trim = vehicle.trim(q=q)
    assert trim.success and abs(trim.controls["shoulder"]) == pytest.approx(
        0.1 * 9.81 * 0.1 * np.sin(0.8), rel=1e-6
    )
    flight = hc.simulate(vehicle, trim.q, trim.v, 0.5, controller=trim.u, dt=0.01)
    np.testing.assert_allclose(flight.q[-1], trim.q, atol=1e-7)
    swing = hc.simulate(vehicle, trim.q, trim.v, 0.3, controller=trim.u + 0.5 * np.eye(5)[4], dt=0.005)
    com = robot.center_of_mass(swing.q)
    assert np.abs(swing.q[-1, 7] - 0.8) > 0.1 and np.abs(com[-1, 2] - com[0, 2]) < 0.02


def test_too_weak_is_said_before_flight():
    with pytest.raises(hc.InputError, match=r"4 rotors lift at most 24\.01 N.*weighs 98\.1 N \(10 kg\)"):
        Multirotor(10.0, [0.1] * 3, Multirotor.arrangement("quad x", 0.2, PLAIN, QUICK))
    light = hc.aerial.load("hummingbird")
    with pytest.raises(hc.InputError, match="cannot fly"):
        light.with_robot(light.robot.with_payload("body", 5.0))


def test_bad_rotorcraft():
    with pytest.raises(hc.InputError, match="1 \\('ccw'\\) or -1"):
        Rotor((0, 0, 0), PLAIN, QUICK, 2)
    with pytest.raises(hc.InputError, match="not zero"):
        Rotor((0, 0, 0), PLAIN, QUICK, 1, axis=(0, 0, 0))
    with pytest.raises(hc.InputError, match="one of quad"):
        Multirotor.arrangement("deca x", 0.2, PLAIN, QUICK)
    with pytest.raises(hc.ModelError, match="frame"):
        Multirotor(1.0, [0.01] * 3, [Rotor((0, 0, 0), PLAIN, QUICK, link="nowhere")])
    with pytest.raises(hc.InputError, match="needs its mass"):
        Multirotor(rotors=[Rotor((0, 0, 0), PLAIN, QUICK)])
    with pytest.raises(hc.InputError, match="min_speed"):
        Motor(100.0, min_speed=200.0)
    with pytest.raises(hc.InputError, match="inertia"):
        Rotor((0, 0, 0), PLAIN, ElectricMotor(100.0, 0.1, 0.5, 11.0))
