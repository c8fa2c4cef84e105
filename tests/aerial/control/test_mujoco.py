"""Flight laws on a vehicle in MuJoCo, with published numbers and formulas of this file."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import helicoid as hc
from aerial.tracking import DT, HORIZON, PERIOD, tracking
from helicoid.aerial import bundled

STEP = 1e-3


class MuJoCoRotorcraft:
    """Frame and propellers as bodies of MuJoCo, with its own integrator and its own drag of the hull.

    Rotors push with b ω² and turn the frame with ∓ c b ω², wind across them drags with k ω V, as in RotorS.
    Their speeds follow commands with the published lags, up and down. Gyroscopic torques and rolling moments,
    which Helicoid's model has, are not there; drag of the hull, which Helicoid's has not, is.
    """

    def __init__(self, name, wind=(0.0, 0.0, 0.0), position=(0.0, 0.0, 0.0)):
        n = bundled.numbers(name)
        self.numbers, self.wind = n, np.array(wind, float)
        angles = np.radians([one["angle"] for one in n["rotors"]])
        arms = np.array([one["arm"] for one in n["rotors"]])
        self.places = np.stack(
            [arms * np.cos(angles), arms * np.sin(angles), 0 * arms + n["rotor_height"]], axis=1
        )
        self.turns = np.array([{"cw": -1.0, "ccw": 1.0}[one["turns"]] for one in n["rotors"]])
        bodies = "".join(
            f'<body pos="{x:.12g} {y:.12g} {z:.12g}">'
            f'<geom type="cylinder" size="0.02 0.003" mass="{n["rotor_mass"]}"/></body>'
            for x, y, z in self.places
        )
        hull = '<geom type="ellipsoid" size="0.05 0.05 0.06" mass="0" fluidshape="ellipsoid"/>'  # of RotorS
        self.model = mujoco.MjModel.from_xml_string(f"""
            <mujoco><option timestep="{STEP}" integrator="RK4" density="1.2" viscosity="1.8e-5"
                wind="{" ".join(map(str, self.wind))}"/>
            <worldbody><body name="frame" pos="0 0 0"><freejoint/>
            <inertial pos="0 0 0" mass="{n["mass"]}" diaginertia="1 1 1"/>
            {hull}{bodies}</body></worldbody></mujoco>
        """)
        # Not in the text: MuJoCo's reader refuses the Firefly's, of which one is too large.
        self.model.body_inertia[1] = n["inertia"]
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)
        self.data.qpos[:3] = position
        hover = np.sqrt(self.model.body_mass.sum() * 9.81 / len(arms) / n["propeller"]["thrust"])
        self.speeds = np.full(len(arms), hover)

    @property
    def state(self):
        """q and v as Helicoid has them: the twist in the body's axes."""
        q, v = self.data.qpos.copy(), self.data.qvel
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, q[3:7])
        return q, np.concatenate([v[3:], R.reshape(3, 3).T @ v[:3]])

    def fly(self, u, steps):
        """Commands for some steps of MuJoCo."""
        motor, propeller = self.numbers["motor"], self.numbers["propeller"]
        command = np.clip(u, 0, motor["max_speed"])
        for _ in range(steps):
            lag = np.where(command > self.speeds, motor["lag_up"], motor["lag_down"])
            self.speeds += (1 - np.exp(-STEP / lag)) * (command - self.speeds)
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, self.data.qpos[3:7])
            R = R.reshape(3, 3)
            thrust = propeller["thrust"] * self.speeds**2
            turning = R @ np.cross(self.data.qvel[3:], self.places).T + self.data.qvel[:3, None]
            across = turning - self.wind[:, None]
            across -= R[:, 2:] * (R[:, 2] @ across)
            forces = R[:, 2:] * thrust - propeller["hub_drag"] * self.speeds * across
            total = np.zeros(self.model.nv)
            for k, place in enumerate(self.places):
                torque = -self.turns[k] * propeller["moment"] * thrust[k] * R[:, 2]
                point = self.data.qpos[:3] + R @ place
                mujoco.mj_applyFT(self.model, self.data, forces[:, k].copy(), torque, point, 1, total)
            self.data.qfrc_applied[:] = total
            mujoco.mj_step(self.model, self.data)


def eight(t, speed=3.0, height=2.0):
    """Position to snap of (2 sin wt, sin 2wt), which is fastest at its middle."""
    w = speed / np.hypot(2.0, 2.0)
    names = ("position", "velocity", "acceleration", "jerk", "snap")
    rows = {}
    for k, name in enumerate(names):
        x, y = 2.0 * w**k * np.sin(w * t + k * np.pi / 2), (2 * w) ** k * np.sin(2 * w * t + k * np.pi / 2)
        rows[name] = np.array([x, y, height if k == 0 else 0.0])
    return rows


def followed(plant, law, duration, dt, references):
    """Largest distance from the reference, and the share of steps that were not ok."""
    away, bad = [], 0
    for k in range(round(duration / dt)):
        wanted = references(k * dt)
        q, v = plant.state
        away.append(np.linalg.norm(q[:3] - wanted["position"]))
        u = law.step(q, v, **wanted)
        bad += not law.ok
        plant.fly(u, round(dt / STEP))
    return np.array(away), bad / len(away)


def test_hover_and_a_step_in_mujoco():
    """The weight as MuJoCo has it, and a way of a metre in a second and a half."""
    plant, quad = MuJoCoRotorcraft("hummingbird"), hc.aerial.load("hummingbird")
    np.testing.assert_allclose(plant.model.body_mass.sum(), quad.robot.mass, rtol=1e-12)
    np.testing.assert_allclose(plant.speeds, quad.trim().u, rtol=1e-6)
    law = hc.aerial.GeometricControl(quad)
    away, _ = followed(plant, law, 2.0, 0.005, lambda t: {"position": np.array([0.8, -0.4, 0.5])})
    assert away[0] > 1 and away[-1] < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("name", "wind"), [("hummingbird", 0.0), ("hummingbird", 2.0), ("firefly", 2.0)])
def test_figure_eight_within_five_centimetres_in_mujoco(name, wind):
    """3 m/s, lagging rotors, wind and a drag of the hull that the law knows nothing of."""
    at = eight(0.0)
    plant = MuJoCoRotorcraft(name, wind=(0.6 * wind, -0.8 * wind, 0.0), position=at["position"])
    plant.data.qvel[:3] = at["velocity"]
    law = hc.aerial.GeometricControl(  # gains as in Helicoid's own simulator, none chosen here
        hc.aerial.load(name),
        frequency=6.0,
        damping_ratio=0.9,
        integral=40.0,
        attitude_frequency=(25, 25, 8),
        dt=0.005,
    )
    away, bad = followed(plant, law, 12.0, 0.005, eight)
    assert away.max() < 0.05 and bad < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hummingbird", "firefly"])
def test_upside_down_recovery_in_mujoco(name):
    plant = MuJoCoRotorcraft(name, position=(0.0, 0.0, 5.0))
    plant.data.qpos[3:7] = [0.0, 1.0, 0.0, 0.0]
    law = hc.aerial.GeometricControl(hc.aerial.load(name))
    away, _ = followed(plant, law, 8.0, 0.005, lambda t: {"position": np.array([0.0, 0.0, 5.0])})
    upright = 1 - 2 * (plant.state[0][4] ** 2 + plant.state[0][5] ** 2)
    assert upright > 0.999 and away[-1] < 0.05 and away.max() < 12.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hummingbird", "firefly"])
def test_predictive_control_within_two_centimetres_in_mujoco(name):
    """The same path in a wind that the plan knows; it knows nothing of the hull's drag."""
    wind = (1.2, -1.6, 0.0)
    controller = hc.mpc.Controller(tracking(name, hc.aerial.Wind(wind)), period=PERIOD)
    at = eight(0.0)
    plant = MuJoCoRotorcraft(name, wind, at["position"])
    plant.data.qvel[:3] = at["velocity"]
    away, well = [], []
    for k in range(600):
        rows = [eight(k * PERIOD + DT * j) for j in range(HORIZON + 1)]
        controller.set(place=[row["position"] for row in rows], speed=[row["velocity"] for row in rows])
        q, v = plant.state
        away.append(np.linalg.norm(q[:3] - rows[0]["position"]))
        plant.fly(controller.step(np.concatenate([q, v, plant.speeds])), round(PERIOD / STEP))
        well.append(controller.ok)
    assert max(away) < 0.02 and np.mean(well) >= 0.95
