"""Delay of the control loop, from the response of the velocities to a random torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning.recording import Recording

_MAX_LAG = 25  # samples: length of the response
MIN_PEAK = 8.0  # of the response (standard deviations), for a delay that counts as measured
_ASSUMED_DELAY = 0.01  # s: where the response is lost in noise
_MIN_SHARE_OF_PEAK = 0.25  # above which the response counts


@dataclass(frozen=True, eq=False)
class LoopDelay:
    """Delay (s) between a torque command and its effect on the measured velocity, beyond one period of hold.

    `response` is the cross-correlation of the joints' velocity increments with the random torque, by lag in
    samples, in standard deviations; `measured` is whether its peak is significant. If not, `seconds` is a
    cautious assumption.
    """

    seconds: float
    measured: bool
    response: Array


def loop_delay(recording: Recording) -> LoopDelay:
    """Correlate the random torque of a recording with the increments of the measured velocities.

    A torque held from sample k to k + 1 changes the velocity by M⁻¹ τ T at k + 1; a delay of d samples moves
    this to k + 1 + d, and a filter of the velocity spreads it. White torques make the lags uncorrelated, in
    closed loop too (Ljung 1999, section 13.5).
    """
    period = float(np.median(np.diff(recording.t)))
    dv, w = np.diff(recording.v, axis=0), recording.dither[:-1]
    total = np.zeros(_MAX_LAG)
    for x, y in zip(w.T, dv.T, strict=True):
        if not np.any(x):
            continue
        y = np.clip(
            y, *(np.median(y) + np.array([-6, 6]) * (1.4826 * np.median(np.abs(y - np.median(y))) + 1e-12))
        )
        lags = np.array([x[: len(x) - m] @ y[m:] for m in range(_MAX_LAG)])
        noise = np.linalg.norm(x) * np.std(y)
        response = lags / noise if noise > 0 else 0 * lags
        total += response * np.abs(response).max()
    # dv[k] = v[k + 1] - v[k], so that lag 0 is the torque held over the same period.
    tail = total[_MAX_LAG // 2 :]
    response = total / max(1.4826 * float(np.median(np.abs(tail - np.median(tail)))), 1e-12)
    peak = int(np.argmax(response))
    if not np.any(w) or response[peak] < MIN_PEAK:
        return LoopDelay(_ASSUMED_DELAY, False, response)
    around = np.arange(max(peak - 6, 0), min(peak + 7, _MAX_LAG))
    share = np.where(response[around] > _MIN_SHARE_OF_PEAK * response[peak], response[around], 0.0)
    return LoopDelay(float(share @ around / share.sum()) * period, True, response)
