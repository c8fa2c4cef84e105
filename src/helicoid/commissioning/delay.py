"""Delay of the control loop and response of the joints, from random torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.commissioning.margins import INERTIA_UNCERTAINTY
from helicoid.commissioning.plant.recording import Recording
from helicoid.robot import Robot

_MIN_LAGS, _MAX_DELAY = 25, 0.1  # samples, and s: length of the response
MIN_PEAK = 8.0  # of the response (standard deviations), for a delay that counts as measured
_ASSUMED_DELAY = 0.01  # s: where the response is lost in noise
_LEAST_STATED = 5e-5  # s
_MATRICES = 50
_MIN_SHARE_OF_PEAK = 0.25  # above which the response counts


@dataclass(frozen=True, eq=False)
class LoopDelay:
    """Delay (s) between a torque command and its effect on the measured velocity, beyond one period of hold.

    `response` is the cross-correlation of the joints' velocity increments with the random torque, by lag in
    samples, in standard deviations; `measured` is whether its peak is significant. If not, `seconds` is a
    cautious assumption. `mobility` (nv) is the acceleration per torque (rad/s² per N·m) that is certain for
    each joint: the response less two standard deviations; zero where there was none.
    """

    seconds: float
    measured: bool
    response: Array
    mobility: Array

    @property
    def text(self) -> str:
        """A phrase on it."""
        if not self.measured:
            return f"{1e3 * self.seconds:.0f} ms are assumed, since the response was lost in noise"
        if self.seconds < _LEAST_STATED:
            return "none beyond the hold of one period was measured"
        return f"{1e3 * self.seconds:.1f} ms from a command to its effect on the measured velocity"


def loop_delay(recording: Recording) -> LoopDelay:
    """Correlate the random torque of a recording with the increments of the measured velocities.

    A torque held from sample k to k + 1 changes the velocity by M⁻¹ τ T at k + 1; a delay of d samples moves
    this to k + 1 + d, and a filter of the velocity spreads it. White torques make the lags uncorrelated, in
    closed loop too (Ljung 1999, section 13.5).
    """
    period = float(np.median(np.diff(recording.t)))
    dv, w = np.diff(recording.v, axis=0), recording.dither[:-1]
    n_lags = min(max(_MIN_LAGS, round(_MAX_DELAY / period)), len(dv) // 2)
    total = np.zeros(n_lags)
    for x, y in zip(w.T, dv.T, strict=True):
        if not np.any(x):
            continue
        y = np.clip(
            y, *(np.median(y) + np.array([-6, 6]) * (1.4826 * np.median(np.abs(y - np.median(y))) + 1e-12))
        )
        lags = np.array([x[: len(x) - m] @ y[m:] for m in range(n_lags)])
        noise = np.linalg.norm(x) * np.std(y)
        response = lags / noise if noise > 0 else 0 * lags
        total += response * np.abs(response).max()
    # dv[k] = v[k + 1] - v[k], so that lag 0 is the torque held over the same period.
    tail = total[n_lags // 2 :]
    response = total / max(1.4826 * float(np.median(np.abs(tail - np.median(tail)))), 1e-12)
    peak = int(np.argmax(response))
    if not np.any(w) or response[peak] < MIN_PEAK:
        return LoopDelay(_ASSUMED_DELAY, False, response, np.zeros(w.shape[1]))
    around = np.arange(max(peak - 6, 0), min(peak + 7, n_lags))
    share = np.where(response[around] > _MIN_SHARE_OF_PEAK * response[peak], response[around], 0.0)
    seconds = float(share @ around / share.sum()) * period
    return LoopDelay(seconds, True, response, _mobility(w, dv, around) / period)


def inertia_uncertainty(robot: Robot, q: Array, delay: LoopDelay) -> float:
    """Relative error of the inertia that margins must cover: the usual one, or that of the measured response.

    A joint that answers random torques by more acceleration than the model says at q (N, nq), where they
    acted, is lighter than modelled.
    """
    M = np.asarray(robot.mass_matrix(q[:: max(len(q) // _MATRICES, 1)]))
    expected = np.einsum("kii->i", np.linalg.inv(M)) / len(M)
    return max(INERTIA_UNCERTAINTY, float((delay.mobility / expected).max()) - 1)


def _mobility(w: Array, dv: Array, lags: NDArray[np.intp]) -> Array:
    """Velocity increments per torque, summed over these lags, less two standard deviations; at least zero."""
    power = np.sum(w**2, axis=0)
    total = sum(np.sum(w[: len(w) - m] * dv[m:], axis=0) for m in lags)
    sigma = np.sqrt(len(lags) * power) * dv.std(axis=0)
    return np.asarray(np.where(power > 0, np.maximum(total - 2 * sigma, 0) / np.maximum(power, 1e-300), 0.0))
