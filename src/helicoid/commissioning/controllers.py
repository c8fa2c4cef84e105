"""Controllers of a commissioned arm: laws, MPC and observer, with gains from model, delay and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.margins import integral_gain
from helicoid.control import ComputedTorque, JointImpedance, MomentumObserver, TaskSpaceControl
from helicoid.errors import HelicoidError
from helicoid.mpc import Controller, Problem
from helicoid.robot import Robot

SAFE_FREQUENCY = 15.0  # rad/s: of the first motion, whose model is the description
FIRST_RATIO = 15.0  # of assumed armature over described inertia
MPC_HORIZON = 20
OBSERVER_GAIN = 30.0  # 1/s

_MIN_INERTIA_PER_EFFORT = 3e-5  # s²: no joint with its rotor is lighter for its motor
_SHARE_OF_EFFORT = 0.5  # of the effort limit, that a tracking error of 1 rad commands at least


@dataclass(frozen=True, eq=False)
class CommissionedControllers:
    """Controllers with the identified model; each answers `hc.control.ControllerProtocol`.

    Attributes:
        computed_torque: tracks a motion, with the friction of the reference as feedforward, and an integral.
        joint_impedance: a compliant hold.
        task_space: tracks a pose of `frame`, or its position; None where the arm has too few joints.
        mpc: tracks postures within position, velocity and torque limits, with the identified friction.
        observer: torques from outside, with thresholds that the validation motion did not reach.
        frame: link of the task-space law.
    """

    computed_torque: ComputedTorque
    joint_impedance: JointImpedance
    task_space: TaskSpaceControl | None
    mpc: Controller
    observer: MomentumObserver
    frame: str


def joint_inertia(robot: Robot, q: Array) -> Array:
    """Diagonal of the mass matrix, median over configurations (N, nq)."""
    M = np.asarray(robot.mass_matrix(np.atleast_2d(q)))
    return np.asarray(np.median(np.einsum("kii->ki", M), axis=0))


def assumed_armature(robot: Robot, inertia: Array, ratio: Array) -> Array:
    """Armature (nv) for the law of the first motion, up to `ratio` times the described inertia of each joint.

    It is what a tracking error of 1 rad needs to command half the effort, so that friction and rotors, which
    are not yet known, do not stop light joints; beyond `FIRST_RATIO`, for joints that friction or a load held
    back, it grows with the ratio. A true inertia between 1 / (1 + ratio) and 20 times the
    assumed one leaves the loop stable, with 15 and the delays of usual robots.
    """
    share = _SHARE_OF_EFFORT * np.maximum(ratio / FIRST_RATIO, 1.0)
    wanted = share * robot.limits.effort / SAFE_FREQUENCY**2
    known = np.concatenate([joint.armature for joint in robot.model.independent_joints])
    least = np.maximum(inertia, _MIN_INERTIA_PER_EFFORT * robot.limits.effort)
    added = np.minimum(wanted - inertia, ratio * least)
    return np.asarray(known + np.maximum(added, 0.0))


def first_law(robot: Robot, armature: Array, period: float) -> ComputedTorque:
    """Computed torque for a robot whose masses, friction and rotors are not yet known."""
    return computed_torque(robot.with_joints(armature=armature), SAFE_FREQUENCY, period)


def computed_torque(robot: Robot, frequency: float, period: float) -> ComputedTorque:
    """The law that tracks motions, with the integral of `integral_gain`."""
    return ComputedTorque(
        robot, frequency, integral=integral_gain(frequency), dt=period, friction="reference"
    )


def joint_impedance(robot: Robot, frequency: float, inertia: Array) -> JointImpedance:
    """Springs and dampers of half the frequency for the joints' inertia (nv)."""
    soft = 0.5 * frequency
    return JointImpedance(robot, stiffness=inertia * soft**2, damping=2 * inertia * soft)


def task_space(robot: Robot, frame: str, frequency: float) -> tuple[TaskSpaceControl | None, str]:
    """The law for the pose of a frame, or for its position, and a note on what it cannot do."""
    for rows, note in (("all", ""), ("linear", f"{frame!r} is controlled in position only: too few joints")):
        try:
            law = TaskSpaceControl(robot, frame, frequency, rows=rows, posture_frequency=0.5 * frequency)  # type: ignore[arg-type]
        except HelicoidError:
            continue
        return law, note
    return None, f"no task-space law: the joints cannot place {frame!r} freely"


def tracking_mpc(robot: Robot, q: Array, frequency: float, period: float) -> Controller:
    """MPC that tracks postures: ½ |q ⊖ q_ref|² + ½ ρ |a|², ρ = ω⁻⁴ as of a regulator of frequency ω."""
    problem = Problem(robot, horizon=MPC_HORIZON, dt=period)
    problem.add_posture_cost(q, weight=1.0)
    problem.add_control_cost(frequency**-4)  # accelerations
    problem.add_limits()
    return Controller(problem)


def momentum_observer(
    robot: Robot, period: float, velocity_noise: Array, torque_noise: Array, model_error: float, floor: Array
) -> MomentumObserver:
    """Observer of external torques with thresholds from the noise and the error of the model."""
    return MomentumObserver(
        robot,
        gain=min(OBSERVER_GAIN, 0.2 / period),
        dt=period,
        velocity_noise=velocity_noise,
        torque_noise=torque_noise,
        model_error=model_error,
        floor=floor,
        friction="measured",
    )


def tip(robot: Robot) -> str:
    """The last link of the longest chain of bodies."""
    model = robot.model

    def depth(name: str) -> int:
        body, count = model.frame(name).body, 0
        while body >= 0:
            body, count = model.bodies[body].parent, count + 1
        return count

    return max(robot.link_names, key=lambda name: (depth(name), robot.link_names.index(name)))
