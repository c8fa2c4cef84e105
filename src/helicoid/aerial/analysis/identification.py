"""What a flight tells of rotors: b and d of T = b ω² and Q = d ω², the hubs' drag and that of the body.

M a + h = f(q, v, ω) is linear in these numbers, so that they follow by least squares from states, speeds of
rotors and accelerations, which are differences of velocities. Both sides pass the same filter, so that
neither its lag nor its smoothing is taken for something else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.aerial.multirotor import Multirotor
from helicoid.aerial.propulsion.curve import Polynomial
from helicoid.aerial.propulsion.motor import ElectricMotor
from helicoid.errors import InputError

_STEP = 0.1
_ARM = 0.02  # m: a moment counts as much as the force that gives it on this arm


@dataclass(frozen=True, eq=False)
class RotorIdentification:
    """What was found.

    Attributes:
        values: by name: b (N·s²), d (N·m·s²), hub_drag (N·s²/m), and drag_area_x ... (m²) if asked for.
        deviations: σ of each, from what the fit leaves.
        vehicle: the vehicle with these numbers.
        residual: rms of what is left of the force, and of the moment (N, N·m).
    """

    values: dict[str, float]
    deviations: dict[str, float]
    vehicle: Multirotor = field(repr=False)
    residual: tuple[float, float]


def identify_rotors(
    vehicle: Multirotor, flight: Any, body_drag: bool = False, window: int = 11
) -> RotorIdentification:
    """b, d and hub drag, the same for all rotors, from one flight.

    Args:
        vehicle: mass, inertia and geometry as they are; its propellers' numbers are where the search starts.
            In wind that is known, the vehicle in it.
        flight: with t, q, v, `states` (or `controls` where rotors do not lag) as a `Trajectory` of
            `hc.simulate(vehicle, ...)` has them, evenly sampled.
        body_drag: whether the body's drag area is looked for, too.
        window: samples over which all is averaged, odd.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> quad = hc.aerial.load("hummingbird")
    >>> law, t = hc.aerial.GeometricControl(quad), 0.005 * np.arange(1001)
    >>> way = np.stack([np.sin(2 * t), np.sin(3 * t), 0.5 * np.sin(4 * t)], axis=1)
    >>> ahead = np.gradient(way, 0.005, axis=0)
    >>> follow = law.following(position=way, velocity=ahead, yaw=np.sin(t))
    >>> flight = hc.simulate(quad, duration=5.0, controller=follow, dt=0.005)
    >>> found = hc.aerial.identify_rotors(quad, flight)
    >>> print(round(found.values["b"] / 8.54858e-6, 2), round(found.values["hub_drag"] / 8.06428e-5, 2))
    1.0 1.0
    """
    _check(vehicle, flight, window)
    t, q, v = (np.asarray(getattr(flight, name), np.float64) for name in ("t", "q", "v"))
    n = len(vehicle.own_states)
    speeds = _speeds(vehicle, flight)
    lagging = [k for k, rotor in enumerate(vehicle.rotors) if rotor.has_state]
    # With commands at the speeds nothing speeds up: that torque is counted by itself, below.
    inputs = [q, v, speeds[:, lagging], speeds] if n else [q, v, speeds]
    calm = vehicle if vehicle.wind.gusts is None else vehicle.with_wind(replace(vehicle.wind, gusts=None))
    smooth, slope = _filters(window, float(t[1] - t[0]))
    # The mean of M a is M of the mean acceleration: M of one body is constant in its own axes.
    a = slope(v)
    robot = vehicle.robot
    needed = (
        smooth(robot.inverse_dynamics(q, v, 0 * v)) + a @ np.asarray(robot.mass_matrix(robot.neutral())).T
    )
    names, variants = _variants(calm, body_drag)
    plain = smooth(calm.force(*inputs))
    here, spun = plain.copy(), slope(speeds)
    for k, rotor in enumerate(vehicle.rotors):
        here[:, :3] -= rotor.turns * rotor.propeller.inertia * spun[:, k : k + 1] * np.asarray(rotor.axis)
    columns = [(smooth(other.force(*inputs)) - plain) / step for other, step in variants]
    scale = np.array([1 / _ARM] * 3 + [1.0] * 3)
    A = np.stack([(c * scale).ravel() for c in columns], axis=1)
    b = ((needed - here) * scale).ravel()
    norm = np.linalg.norm(A, axis=0)
    if np.any(norm == 0):
        silent = [name for name, size in zip(names, norm, strict=True) if size == 0]
        raise InputError(f"this flight tells nothing of {', '.join(silent)}: fly faster, or leave them out")
    change, _, rank, _ = np.linalg.lstsq(A / norm, b, rcond=1e-10)
    if rank < len(names):
        raise InputError("this flight does not tell these numbers apart: fly faster, climb and turn")
    left = b - A / norm @ change
    change = change / norm
    spread = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (left @ left) / max(len(b) / window - len(names), 1))
    start = _numbers(calm)
    values = {name: start[name] + float(dx) for name, dx in zip(names, change, strict=True)}
    rows = left.reshape(-1, 6) / scale
    size = float(np.sqrt(np.mean(rows[:, 3:] ** 2))), float(np.sqrt(np.mean(rows[:, :3] ** 2)))
    deviations = dict(zip(names, spread.tolist(), strict=True))
    return RotorIdentification(values, deviations, _with(vehicle, values), size)


def _check(vehicle: Multirotor, flight: Any, window: int) -> None:
    if not isinstance(vehicle, Multirotor) or vehicle.robot.nv != 6:
        raise InputError("identify_rotors is for a Multirotor that is one body")
    if any(isinstance(rotor.motor, ElectricMotor) for rotor in vehicle.rotors):
        raise InputError("identify_rotors needs speeds of rotors: motors of the kind Motor(...)")
    for rotor in vehicle.rotors:
        curve = rotor.propeller.thrust_curve
        if not isinstance(curve, Polynomial) or any(curve.coefficients[1:]):
            raise InputError("identify_rotors finds T = b ω²: propellers by Propeller.from_constants(...)")
    t = np.asarray(getattr(flight, "t", []), np.float64)
    if window < 5 or window % 2 == 0 or len(t) < 4 * window:
        raise InputError(
            f"window is odd, 5 or more, and a flight four times as long; got {window}, {len(t)} samples"
        )
    if np.ptp(np.diff(t)) > 1e-6 * np.diff(t).mean():
        raise InputError("identify_rotors takes even samples: flight.resample(dt=...)")


def _speeds(vehicle: Multirotor, flight: Any) -> Array:
    """Speeds of all rotors (samples, rotors): states where they lag, else what was commanded."""
    speeds = np.array(flight.controls, dtype=np.float64)[:, : len(vehicle.rotors)]
    at = 0
    for k, rotor in enumerate(vehicle.rotors):
        if rotor.has_state:
            speeds[:, k] = np.asarray(flight.states)[:, at]
            at += 1
    return speeds


def _filters(window: int, dt: float) -> tuple[Any, Any]:
    """Means over a window, and means of the derivative over it: differences of its ends, exactly."""
    weights = np.ones(window) / (window - 1)
    weights[[0, -1]] /= 2  # the trapezoidal rule

    def smooth(x: Array) -> Array:
        return np.stack([np.convolve(column, weights, mode="valid") for column in np.asarray(x).T], axis=1)

    def slope(x: Array) -> Array:
        return (x[window - 1 :] - x[: 1 - window]) / ((window - 1) * dt)

    return smooth, slope


def _numbers(vehicle: Multirotor) -> dict[str, float]:
    propeller = vehicle.rotors[0].propeller
    b, d = propeller.constants(vehicle.air.density)
    areas = {f"drag_area_{axis}": float(vehicle.drag_area[k]) for k, axis in enumerate("xyz")}
    return {"b": b, "d": d, "hub_drag": propeller.hub_drag, **areas}


def _variants(vehicle: Multirotor, body_drag: bool) -> tuple[list[str], list[tuple[Multirotor, float]]]:
    """Vehicles with one number changed each, and by how much."""
    start = _numbers(vehicle)
    names = ["b", "d", "hub_drag", *([f"drag_area_{axis}" for axis in "xyz"] if body_drag else [])]
    typical = {"hub_drag": 1e-4} | {f"drag_area_{axis}": 0.01 for axis in "xyz"}
    steps = [_STEP * (start[name] or typical[name]) for name in names]
    changed = [_with(vehicle, {**start, name: start[name] + s}) for name, s in zip(names, steps, strict=True)]
    return names, list(zip(changed, steps, strict=True))


def _with(vehicle: Multirotor, values: dict[str, float]) -> Multirotor:
    """The vehicle with other numbers of its propellers and its body."""
    b, d = vehicle.rotors[0].propeller.constants(vehicle.air.density)
    rotors = []
    for rotor in vehicle.rotors:
        p = rotor.propeller
        assert p.thrust_curve is not None and p.torque_curve is not None
        other = replace(
            p,
            thrust_curve=p.thrust_curve.times(values["b"] / b),
            torque_curve=p.torque_curve.times(values["d"] / d),
            hub_drag=max(values["hub_drag"], 0.0),
        )
        rotors.append(replace(rotor, propeller=other))
    area = np.array([values.get(f"drag_area_{axis}", vehicle.drag_area[k]) for k, axis in enumerate("xyz")])
    return vehicle._replaced(rotors=tuple(rotors), drag_area=area)
