"""Identification of rotors from a flight: b and d of T = b ω² and Q = d ω², drag of hubs and body.

M a + h = f(q, v, ω) is linear in these parameters: least squares on states, rotor speeds and accelerations
by differences of velocities. Both sides pass the same filter, so that its lag causes no bias.
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

_RELATIVE_STEP = 0.1
_LEVER_ARM = 0.02  # m, which scales residuals of moments to those of forces


@dataclass(frozen=True, eq=False)
class RotorIdentification:
    """Result of `identify_rotors`.

    Attributes:
        values: b (N·s²), d (N·m·s²), hub_drag (N·s²/m), and drag_area_x, y, z (m²) with `body_drag`.
        deviations: standard deviation of each, from the residuals of the fit.
        vehicle: the vehicle with these parameters.
        residual: rms residual of the force and of the moment (N, N·m).
        success: whether all parameters are physical, b and d positive and drag not negative; `message` names
            those that are not.
    """

    values: dict[str, float]
    deviations: dict[str, float]
    vehicle: Multirotor = field(repr=False)
    residual: tuple[float, float]

    @property
    def success(self) -> bool:
        """Whether all parameters are physical."""
        return not self.message

    @property
    def message(self) -> str:
        """Parameters that no rotor has; empty with success."""
        bad = [f"{k} = {x:.3g}" for k, x in self.values.items() if x < 0 or (k in ("b", "d") and x == 0)]
        return f"not physical: {', '.join(bad)}; fly faster, climb and turn" if bad else ""


def identify_rotors(
    vehicle: Multirotor, flight: Any, body_drag: bool = False, window: int = 11
) -> RotorIdentification:
    """Identify b, d and hub drag, the same for all rotors, from one flight.

    Args:
        vehicle: with known mass, inertia, geometry and mean wind; its propellers are the initial guess.
        flight: t, q, v and `states` (`controls` for rotors without lag), evenly sampled, such as a
            `Trajectory` of `hc.simulate(vehicle, ...)`.
        body_drag: whether to identify the drag area of the body, too.
        window: length of the averaging filter in samples, odd.

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
    # With commands equal to the speeds, rotors do not accelerate: their inertia torque is added below.
    inputs = [q, v, speeds[:, lagging], speeds] if n else [q, v, speeds]
    without_gusts = (
        vehicle if vehicle.wind.gusts is None else vehicle.with_wind(replace(vehicle.wind, gusts=None))
    )
    smooth, slope = _filters(window, float(t[1] - t[0]))
    # The mean of M a is M times the mean acceleration: M of one body is constant in body axes.
    a = slope(v)
    robot = vehicle.robot
    measured = (
        smooth(robot.inverse_dynamics(q, v, 0 * v)) + a @ np.asarray(robot.mass_matrix(robot.neutral())).T
    )
    names, variants = _variants(without_gusts, body_drag)
    plain = smooth(without_gusts.force(*inputs))
    modelled, spin_rates = plain.copy(), slope(speeds)
    for k, rotor in enumerate(vehicle.rotors):
        spin_torque = rotor.turns * rotor.propeller.inertia * spin_rates[:, k : k + 1]
        modelled[:, :3] -= spin_torque * np.asarray(rotor.axis)
    columns = [(smooth(other.force(*inputs)) - plain) / step for other, step in variants]
    scale = np.array([1 / _LEVER_ARM] * 3 + [1.0] * 3)
    A = np.stack([(c * scale).ravel() for c in columns], axis=1)
    b = ((measured - modelled) * scale).ravel()
    norm = np.linalg.norm(A, axis=0)
    if np.any(norm == 0):
        unexcited = [name for name, size in zip(names, norm, strict=True) if size == 0]
        raise InputError(f"this flight does not excite {', '.join(unexcited)}: fly faster, or leave them out")
    change, _, rank, _ = np.linalg.lstsq(A / norm, b, rcond=1e-10)
    if rank < len(names):
        raise InputError("these parameters are not identifiable from this flight: fly faster, climb and turn")
    residual = b - A / norm @ change
    change = change / norm
    spread = np.sqrt(
        np.diag(np.linalg.inv(A.T @ A)) * (residual @ residual) / max(len(b) / window - len(names), 1)
    )
    start = _parameters(without_gusts)
    values = {name: start[name] + float(dx) for name, dx in zip(names, change, strict=True)}
    rows = residual.reshape(-1, 6) / scale
    size = float(np.sqrt(np.mean(rows[:, 3:] ** 2))), float(np.sqrt(np.mean(rows[:, :3] ** 2)))
    deviations = dict(zip(names, spread.tolist(), strict=True))
    return RotorIdentification(values, deviations, _with(vehicle, values), size)


def _check(vehicle: Multirotor, flight: Any, window: int) -> None:
    if not isinstance(vehicle, Multirotor) or vehicle.robot.nv != 6:
        raise InputError("identify_rotors takes a Multirotor of one body")
    if any(isinstance(rotor.motor, ElectricMotor) for rotor in vehicle.rotors):
        raise InputError(
            "identify_rotors needs speeds of rotors, motors of the kind Motor(...): hc.aerial.identify takes "
            "commands of electric motors"
        )
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
        raise InputError(
            "identify_rotors takes even samples: Trajectory.resample(dt=...) of a simulation; logs of any "
            "stamps are for hc.aerial.identify(vehicle, hc.aerial.FlightLog(...))"
        )


def _speeds(vehicle: Multirotor, flight: Any) -> Array:
    """Speeds of all rotors (samples, rotors): states where there is a lag, else commands."""
    speeds = np.array(flight.controls, dtype=np.float64)[:, : len(vehicle.rotors)]
    at = 0
    for k, rotor in enumerate(vehicle.rotors):
        if rotor.has_state:
            speeds[:, k] = np.asarray(flight.states)[:, at]
            at += 1
    return speeds


def _filters(window: int, dt: float) -> tuple[Any, Any]:
    """Moving average over a window, and the exact average of the derivative over it."""
    weights = np.ones(window) / (window - 1)
    weights[[0, -1]] /= 2  # the trapezoidal rule

    def smooth(x: Array) -> Array:
        return np.stack([np.convolve(column, weights, mode="valid") for column in np.asarray(x).T], axis=1)

    def slope(x: Array) -> Array:
        return (x[window - 1 :] - x[: 1 - window]) / ((window - 1) * dt)

    return smooth, slope


def _parameters(vehicle: Multirotor) -> dict[str, float]:
    propeller = vehicle.rotors[0].propeller
    b, d = propeller.constants(vehicle.air.density)
    areas = {f"drag_area_{axis}": float(vehicle.drag_area[k]) for k, axis in enumerate("xyz")}
    return {"b": b, "d": d, "hub_drag": propeller.hub_drag, **areas}


def _variants(vehicle: Multirotor, body_drag: bool) -> tuple[list[str], list[tuple[Multirotor, float]]]:
    """Vehicles with one parameter changed each, and the change."""
    start = _parameters(vehicle)
    names = ["b", "d", "hub_drag", *([f"drag_area_{axis}" for axis in "xyz"] if body_drag else [])]
    typical = {"hub_drag": 1e-4} | {f"drag_area_{axis}": 0.01 for axis in "xyz"}
    steps = [_RELATIVE_STEP * (start[name] or typical[name]) for name in names]
    changed = [_with(vehicle, {**start, name: start[name] + s}) for name, s in zip(names, steps, strict=True)]
    return names, list(zip(changed, steps, strict=True))


def _with(vehicle: Multirotor, values: dict[str, float]) -> Multirotor:
    """The vehicle with other parameters of its propellers and its body."""
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
