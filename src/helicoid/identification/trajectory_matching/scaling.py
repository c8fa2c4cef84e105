"""Magnitudes: units of the unknowns, and the length of a time step."""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.errors import InputError
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.unknowns import SERVO_GROUPS, Unknowns

_PART_OF_TORQUE = 0.1  # of a joint's usual torque: unit of friction, offset and armature
_MAX_PHASE = 0.35  # rad a step of the fastest oscillation under a servo: an error of its frequency of 0.5 %
_MAX_SUBSTEPS = 50
_MAX_PERIOD_ERROR = 0.01  # of a sampling time that must be a whole number of a servo's periods


def scale_of(unknowns: Unknowns, recording: Recording, z: Array) -> Array:
    """Units of the unknowns: a part of the torque that each joint usually has, by what it multiplies."""
    robot, samples = unknowns.robot, recording.index.ravel()[:: max(1, recording.index.size // 2000)]
    q, v, a = (x[samples] for x in recording.smooth)
    robot_torque = np.asarray(robot.inverse_dynamics(q, v, a))
    torque, speed, acceleration = (_usual(x) for x in (robot_torque, v, a))
    scale = np.ones(len(unknowns))
    for group, own in unknowns.groups.items():
        if group in SERVO_GROUPS:
            scale[own] = np.maximum(0.1 * np.abs(z[own]), 1e-6)
        elif group == "delay":
            scale[own] = recording.dt
        elif group != "inertia":
            unit = TERMS[group].usual_size(torque, speed) if group in TERMS else torque / acceleration
            scale[own] = _PART_OF_TORQUE * unit[list(unknowns.regression.velocities(group))]
    return scale


def _usual(x: Array) -> Array:
    size = np.sqrt(np.mean(x**2, axis=0))
    return np.asarray(np.maximum(size, 1e-6 + 1e-2 * size.max(initial=0.0)))


def steps_per_sample(unknowns: Unknowns, servo: Servo | None, recording: Recording, z: Array) -> int:
    """Time steps a sample: one each period of a sampled servo, else enough for its oscillations.

    Raises:
        InputError: the servo's period is not a whole fraction of the sampling time.
    """
    if servo is not None and servo.period is not None:
        ratio = recording.dt / servo.period
        if round(ratio) < 1 or abs(ratio - round(ratio)) > _MAX_PERIOD_ERROR:
            raise InputError(
                f"the servo's period of {servo.period:g} s does not divide the log's sampling time of "
                f"{recording.dt:g} s: resample the log, or leave period out"
            )
        return round(ratio)
    kp = unknowns.servo_values(z).kp
    q = recording.start()[0]
    inverse = np.asarray(unknowns.parametric.mass_matrix_inverse(q, np.tile(unknowns.theta(z), (len(q), 1))))
    fastest = float(np.sqrt(np.abs(np.linalg.eigvals(inverse * kp)).max(initial=0.0)))
    return int(np.clip(np.ceil(fastest * recording.dt / _MAX_PHASE), 1, _MAX_SUBSTEPS))
