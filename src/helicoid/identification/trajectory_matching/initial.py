"""Equation error: initial values by least squares on the smoothed motion, for every delay of a grid.

    Y_j x_j + known_j = kp_j (q_command(t - δ) - q)_j + kd_j (...)_j + gain_j tau_command_j(t - δ)

With the bodies as described the joints are independent. Derivatives of encoders are noisy and bias the
parameters, so this only starts the search; the delay is where the residuals are least.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.stack import triangle
from helicoid.identification.logs.filtering import Mask, low_pass
from helicoid.identification.trajectory_matching.recording import SMOOTHING_CUTOFF, Recording
from helicoid.identification.trajectory_matching.unknowns import SERVO_GROUPS, Unknowns

_MAX_SAMPLES = 6000
_DELAYS = 21  # of the grid
_RELATIVE_PENALTY = 1e-3  # of a column's norm, on the distance from the described value
_MIN_SCALE = 0.02  # of the largest unknown's part: of the torque that sets the scale
_MIN_RELATIVE_GAIN = 1e-2  # of the largest joint's: a servo's gain to start from


class EquationError:
    """Rows of every joint at samples of the windows: unknown columns, and the torque that is known."""

    def __init__(self, unknowns: Unknowns, recording: Recording) -> None:
        self.unknowns, self.recording = unknowns, recording
        samples = np.unique(recording.index[:, :-1].ravel())
        self.samples = samples[:: max(1, len(samples) // _MAX_SAMPLES)]
        groups = [group for group in unknowns.regression.groups if group != "inertia"]
        self.regression = unknowns.regression.with_groups(groups)
        self.q, self.v, a = (x[self.samples] for x in recording.smooth)
        self.known = np.asarray(self.regression.known(self.q, self.v, a))
        self.rows = self.regression.rows(self.q, self.v, a)
        rate = 1.0 / recording.dt
        cutoff = SMOOTHING_CUTOFF * rate
        self.commands = {name: low_pass(u, rate, cutoff) for name, u in recording.commands.items()}

    def starts(self, max_delay: float, each: bool) -> tuple[Array, Array]:
        """The delays (s) of the grid, and the error of each joint at each, (delays, nv) or their mean."""
        delays = np.linspace(0.0, max_delay, _DELAYS)
        errors = np.array([self.solve(np.full(self.unknowns.robot.nv, delay))[1] for delay in delays])
        return delays, errors if each else errors.mean(axis=1, keepdims=True)

    def solve(self, delay: Array) -> tuple[Array, Array]:
        """z at the delays (nv) of the joints, and the residual RMS of each over that of the torque (nv)."""
        u = self.unknowns
        z, errors, torque = np.nan_to_num(np.array(u.nominal)), np.zeros(u.robot.nv), self._torques(delay)
        own = np.setdiff1d(np.arange(u.x_size), np.arange(u.x_size)[u.groups.get("inertia", slice(0, 0))])
        for j, (Y, support) in enumerate(zip(self.rows, self.regression.supports, strict=True)):
            columns, places, right = [Y], list(own[support]), -self.known[:, j]
            for name, known in u.known.items():
                if known is not None:
                    right = right + known[j] * torque[name][:, j]
                else:
                    columns.append(-torque[name][:, j : j + 1])
                    places.append(u.groups[name].start + j)
            A = np.column_stack(columns)
            if any(name in u.groups for name in ("kp", "gain")):
                z[places], errors[j] = _total_least_squares(A, right, self._free(places))
            else:
                z[places], errors[j] = _least_squares(A, right, z[places], self._free(places))
        for name in SERVO_GROUPS:
            if name in u.groups:
                gains = z[u.groups[name]]
                z[u.groups[name]] = np.maximum(gains, _MIN_RELATIVE_GAIN * max(gains.max(), 1e-6))
        z[u.groups["delay"]] = delay[: u.groups["delay"].stop - u.groups["delay"].start]
        return z, errors

    def _free(self, places: list[int]) -> Mask:
        """Which of some unknowns may be negative: offsets."""
        offset = range(len(self.unknowns))[self.unknowns.groups.get("offset", slice(0, 0))]
        return np.isin(places, offset)

    def _torques(self, delay: Array) -> dict[str, Array]:
        """Regressors of kp, kd and gain at the samples, (M, nv) each."""
        nothing = np.zeros_like(self.q)
        late = {name: self._late(u, delay) for name, u in self.commands.items()}
        return {
            "kp": late.get("q_command", nothing) - self.q,
            "kd": late.get("v_command", nothing) - self.v,
            "gain": late.get("tau_command", nothing),
        }

    def _late(self, u: Array, delay: Array) -> Array:
        """A command at the samples: held from sample to sample and delayed, its mean about each sample."""
        index, first = np.arange(len(u)), self.recording.first[self.samples]
        found = []
        for j, late in enumerate(delay / self.recording.dt + 0.5):
            found.append(np.interp(np.maximum(self.samples - late, first), index, u[:, j]))
        return np.column_stack(found)


def _least_squares(A: Array, b: Array, start: Array, free: Mask) -> tuple[Array, float]:
    """min ‖A x - b‖² with a weak pull to `start`, x >= 0 but where free; and the residual over ‖b‖."""
    from scipy.optimize import lsq_linear

    norm = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
    R = triangle(np.column_stack([A / norm, b]))
    n = len(start)
    pull = np.column_stack([_RELATIVE_PENALTY * np.eye(n), _RELATIVE_PENALTY * norm * start])
    R = np.vstack([R, pull])
    lower = np.where(free, -np.inf, 0.0)
    x = lsq_linear(R[:, :n], R[:, n], (lower, np.inf), method="bvls").x
    error = float(np.linalg.norm(R[:, :n] @ x - R[:, n]))
    return x / norm, error / max(float(np.linalg.norm(b)), 1e-12)


def _total_least_squares(A: Array, b: Array, free: Mask) -> tuple[Array, float]:
    """min ‖A x - b t‖ / ‖(x, t)‖ in units of the columns, then x / t, not negative but where free.

    Where servo gains are unknown x = 0 all but solves A x = b: b, which alone sets the scale of torques, may
    be small. Then t is kept from 0, and any scale fits.
    """
    block = np.column_stack([A, -b])
    norm = np.maximum(np.linalg.norm(block, axis=0), 1e-9)
    _, values, rows = np.linalg.svd(triangle(block / norm))
    direction = rows[-1] / norm
    largest = np.abs(rows[-1, :-1]).max() / norm[-1]
    t = direction[-1] if abs(direction[-1]) > _MIN_SCALE * largest else _MIN_SCALE * largest
    x = direction[:-1] / t
    x = x if np.sum(x[~free] * norm[:-1][~free]) > 0 else -x
    return np.where(free, x, np.maximum(x, 0.0)), float(values[-1])
