"""Stability margins of sampled joint loops with a delay, and the frequency that they allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MIN_PHASE_MARGIN = 50.0  # degrees
MIN_GAIN_MARGIN = 2.5
INERTIA_UNCERTAINTY = 0.3
INTEGRAL_SHARE = 0.05  # of 2 ω³, at which the loop would be unstable without delay
MIN_FREQUENCY = 3.0  # rad/s: a loop below it is of no use

_GRID = np.geomspace(0.01, 200.0, 4000)  # of ω


@dataclass(frozen=True)
class LoopMargins:
    """Margins of L(s): gain (a factor), phase (degrees), delay (s) and crossover (rad/s)."""

    gain: float
    phase: float
    delay: float
    crossover: float


def loop_margins(frequency: float, delay: float, period: float, inertia: float = 1.0) -> LoopMargins:
    """Margins of a joint under computed torque with ζ = 1 and the integral of `integral_gain`.

    L(s) = (2 ω s + ω² + k / s) e^{-s (d + T / 2)} / (μ s²): the delay d of the loop, half a period T of
    the zero-order hold, and μ, the true inertia over the modelled one (Franklin, Powell and Workman 1998).

    >>> margins = loop_margins(20.0, delay=0.002, period=0.001)
    >>> print(round(margins.phase), round(margins.gain, 1))
    70 15.6
    """
    w, k = frequency * _GRID, integral_gain(frequency)
    size = np.abs(2j * frequency * w + frequency**2 + k / (1j * w)) / (inertia * w**2)
    # The phase above -180°: 1 / s² has -180° everywhere.
    above = np.arctan2(2 * frequency * w - k / w, frequency**2) - w * (delay + period / 2)
    last = int(np.flatnonzero(size >= 1)[-1])
    falls = np.flatnonzero((above <= 0) & (w >= w[last]))
    gain = float(1 / size[falls[0]]) if len(falls) else np.inf
    crossover, phase = float(w[last]), float(above[last])
    return LoopMargins(gain, float(np.degrees(phase)), phase / crossover, crossover)


def integral_gain(frequency: float) -> float:
    """Gain k of the integral (1/s³) of a loop with this frequency."""
    return INTEGRAL_SHARE * 2 * frequency**3


def worst_margins(
    frequency: float, delay: float, period: float, uncertainty: float = INERTIA_UNCERTAINTY
) -> LoopMargins:
    """The least margins for a true inertia between 1 / (1 + ε) and 1 + ε of the modelled one."""
    cases = [
        loop_margins(frequency, delay, period, mu) for mu in (1 / (1 + uncertainty), 1.0, 1 + uncertainty)
    ]
    return LoopMargins(
        min(one.gain for one in cases),
        min(one.phase for one in cases),
        min(one.delay for one in cases),
        max(one.crossover for one in cases),
    )


def allowed_frequency(
    delay: float, period: float, largest: float, uncertainty: float = INERTIA_UNCERTAINTY
) -> float:
    """The largest frequency ω (rad/s) up to `largest` with sufficient margins; 0 where there is none."""
    for frequency in np.geomspace(largest, MIN_FREQUENCY, 60):
        margins = worst_margins(float(frequency), delay, period, uncertainty)
        if margins.phase >= MIN_PHASE_MARGIN and margins.gain >= MIN_GAIN_MARGIN:
            return float(frequency)
    return 0.0
