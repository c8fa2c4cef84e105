"""Laws of rotorcraft whose centre of mass is not at the root, and whose motors lag: random vehicles."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import helicoid as hc
from helicoid.aerial import Motor, Multirotor, Propeller
from helicoid.aerial.control.gains import motor_lag
from helicoid.aerial.vehicle import body_robot

DT = 0.005
TARGET = np.array([1.0, -0.5, 1.0])


def random_multirotor(rng, offset, lag):
    """A rotorcraft of 0.3 to 8 kg, its centre of mass `offset` (m) from the root in a random direction."""
    kind, n = [("quad x", 4), ("quad +", 4), ("hexa x", 6), ("octo +", 8)][rng.integers(4)]
    mass = np.exp(rng.uniform(np.log(0.3), np.log(8.0)))
    arm = 0.17 * (mass / 0.7) ** (1 / 3) * rng.uniform(0.8, 1.3)
    radius = min(0.1 * (mass / 0.7) ** (1 / 3), 0.8 * arm * np.sin(np.pi / n))
    J = mass * arm**2 * rng.uniform(0.2, 0.45) * np.array([1.0, rng.uniform(0.8, 1.25), 0.0])
    J[2] = rng.uniform(0.75, 0.95) * (J[0] + J[1])
    top = rng.uniform(60.0, 100.0) / radius
    b = rng.uniform(1.8, 4.0) * mass * 9.81 / n / top**2
    propeller = Propeller.from_constants(b, b * radius * rng.uniform(0.12, 0.2), radius)
    rotors = Multirotor.arrangement(kind, arm, propeller, Motor(top, lag_up=lag))
    direction = rng.normal(size=3) * [1.0, 1.0, 2.0]
    com = offset * direction / np.linalg.norm(direction)
    com[:2] = np.clip(com[:2], -0.25 * arm, 0.25 * arm)
    return Multirotor(rotors=rotors, robot=body_robot("random", mass, J, com))


@pytest.mark.parametrize(("offset", "lag"), [(0.065, 0.005), (0.1, 0.05)])
@pytest.mark.parametrize("law", [hc.aerial.GeometricControl, hc.aerial.PositionControl])
def test_default_gains_reach_the_target_and_keep_the_path(offset, lag, law, rng):
    vehicle = random_multirotor(rng, offset, lag)
    control = law(vehicle)
    flight = hc.simulate(vehicle, duration=10.0, controller=control.following(position=TARGET), dt=DT)
    np.testing.assert_allclose(flight.q[-1, :3], TARGET, atol=5e-3)  # the root, not the centre of mass
    assert np.linalg.norm(flight.q[:, :3] - TARGET, axis=1).max() < 1.7  # 1.5 m at the start


def test_altitude_and_attitude_are_those_of_the_root_in_hover(rng):
    vehicle = random_multirotor(rng, 0.1, 0.03)
    law = hc.aerial.AltitudeControl(vehicle)
    flight = hc.simulate(vehicle, duration=8.0, controller=law.following(height=0.5), dt=DT)
    np.testing.assert_allclose(flight.q[-1, 2], 0.5, atol=1e-3)
    seen = hc.aerial.angles(flight.q[-1], flight.v[-1])
    np.testing.assert_allclose([seen.roll, seen.pitch, seen.yaw], 0.0, atol=1e-4)


@pytest.mark.parametrize("lag", [0.005, 0.08])
def test_the_linear_quadratic_regulator_includes_the_motor_lag(lag, rng):
    vehicle = random_multirotor(rng, 0.065, lag)
    law = hc.aerial.LinearQuadraticControl(vehicle)
    flight = hc.simulate(vehicle, duration=12.0, controller=law.following(position=TARGET), dt=DT)
    np.testing.assert_allclose(flight.q[-1, :3], TARGET, atol=0.02)


def test_gains_that_the_lag_makes_unstable_are_refused():
    rng = np.random.default_rng(5)
    slow = random_multirotor(rng, 0.0, 0.05)
    assert motor_lag(slow) == pytest.approx(0.05)
    law = hc.aerial.GeometricControl(slow)
    assert law.number("attitude_frequency").max() <= 1 / (3 * 0.05) + 1e-12
    assert law.number("frequency")[0] == pytest.approx(law.number("attitude_frequency")[:2].min() / 5)
    with pytest.raises(hc.InputError, match="motor lag of 50 ms"):
        hc.aerial.GeometricControl(slow, attitude_frequency=40.0)
    with pytest.raises(hc.InputError, match="motor lag of 50 ms"):
        law.set(attitude_frequency=40.0)
    with pytest.raises(hc.InputError, match="motor lag of 50 ms"):
        hc.aerial.PositionControl(slow, frequency=6.0, attitude_frequency=8.0)
    with pytest.raises(hc.InputError, match="motor lag of 50 ms"):
        hc.aerial.AttitudeControl(slow, frequency=(15.0, 33.0, 6.0))
    quick = hc.aerial.GeometricControl(hc.aerial.load("hummingbird"))  # 16.7 ms: the nominal gains
    np.testing.assert_allclose(quick.number("attitude_frequency"), (20.0, 20.0, 8.0), rtol=1e-9)


class MuJoCoBody:
    """A rigid body in MuJoCo with its own inertial offset; rotors push it by b ω² and turn it by ∓ d ω²."""

    def __init__(self, vehicle, step):
        inertia = vehicle.robot.model.link("body").inertia
        c = inertia.com
        J = np.diag(hc.aerial.control.rotorcraft.inertia_about_center(vehicle))
        self.model = mujoco.MjModel.from_xml_string(f"""
            <mujoco><option timestep="{step}" integrator="RK4"/><worldbody><body><freejoint/>
            <inertial pos="{c[0]} {c[1]} {c[2]}" mass="{inertia.mass}" diaginertia="{J[0]} {J[1]} {J[2]}"/>
            <geom size="0.01" mass="0" contype="0"/></body></worldbody></mujoco>
        """)
        self.data, self.step = mujoco.MjData(self.model), step
        self.b, self.d = vehicle.rotors[0].propeller.constants()
        self.places = np.array([rotor.position for rotor in vehicle.rotors])
        self.turns = np.array([rotor.turns for rotor in vehicle.rotors])
        self.lag = vehicle.rotors[0].motor.lag_up
        self.speeds = vehicle.trim().u.copy()

    def state(self):
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, self.data.qpos[3:7])
        R, v = R.reshape(3, 3), self.data.qvel
        return self.data.qpos.copy(), np.concatenate([v[3:], R.T @ v[:3]]), R

    def fly(self, u, steps):
        for _ in range(steps):
            self.speeds += (1 - np.exp(-self.step / self.lag)) * (u - self.speeds)
            up, total = self.state()[2], np.zeros(6)
            for place, turns, speed in zip(self.places, self.turns, self.speeds, strict=True):
                force, torque = up[:, 2] * self.b * speed**2, -turns * self.d * speed**2 * up[:, 2]
                point = self.data.qpos[:3] + up @ place
                mujoco.mj_applyFT(self.model, self.data, force, torque, point, 1, total)
            self.data.qfrc_applied[:] = total
            mujoco.mj_step(self.model, self.data)


@pytest.mark.parametrize(("offset", "lag"), [(0.065, 0.005), (0.1, 0.05)])
def test_default_gains_on_a_body_of_mujoco(offset, lag, rng):
    vehicle = random_multirotor(rng, offset, lag)
    plant, law = MuJoCoBody(vehicle, 1e-3), hc.aerial.GeometricControl(vehicle)
    for _ in range(1600):
        q, v, _ = plant.state()
        plant.fly(law.step(q, v, position=TARGET), 5)
        assert np.linalg.norm(q[:3] - TARGET) < 1.7
    np.testing.assert_allclose(plant.state()[0][:3], TARGET, atol=0.01)
