"""Detection of parameter changes: cumulative sum (CUSUM) of squared innovations (Page 1954)."""

from __future__ import annotations

import numpy as np

_CUSUM_ALLOWANCE = 0.5  # standard deviations: allowance of the cumulative sum
_CUSUM_THRESHOLD = 25.0  # of the cumulative sum: on noise alone it is reached once in some e²⁵ samples
_MAX_EXCESS = 6.0  # standard deviations counted of one sample: an outlier is no change
_MAX_IN_AVERAGE = 9.0  # times the usual squared innovation: counted of one sample
_MAX_FIT = 4.0  # mean squared innovation, in units of the stated noise
_NOISE_GAIN, _FIT_GAIN = 1 / 1000, 1 / 50  # of the moving averages of the noise, and of the present fit


class ChangeDetector:
    """Follows ‖e‖² of whitened innovations of m rows: χ² with m degrees of freedom without a change.

    `scale` is the usual ratio of the innovations to the stated noise (at least 1): a persistent model error
    is no change. `uncertainty` is the mean information that a row still brings, log √(1 + the
    variance of its prediction), in units of the noise; near 0 when the parameters are known.
    """

    def __init__(self, m: int) -> None:
        self._m = m
        self.n_changes = 0
        self.n_samples = 0
        self.scale = 1.0
        self.restart()

    def restart(self) -> None:
        """Reset the cumulative sum, after a change or at the start."""
        self.sum = 0.0
        self.samples_since = 0
        self.uncertainty = self.fit = self.nominal_fit = np.inf

    def add(self, squared: float, gain: float, nominal: float) -> bool:
        """One innovation ‖e‖², the information log det(1 + Y P Yᵀ) that it brought; true at a change.

        `nominal` is ‖δτ/σ‖² of the description's own prediction.
        """
        per_row = squared / self._m
        usual = min(per_row, _MAX_IN_AVERAGE * self.scale)
        self.samples_since += 1
        weight = max(_FIT_GAIN, 1 / self.samples_since)
        if self.samples_since == 1:
            self.fit = self.nominal_fit = self.uncertainty = 0.0
        self.fit += weight * (usual - self.fit)
        self.nominal_fit += weight * (nominal / self._m - self.nominal_fit)
        self.uncertainty += weight * (gain / (2 * self._m) - self.uncertainty)
        excess = (per_row / self.scale - 1) / np.sqrt(2 / self._m)
        self.sum = max(0.0, self.sum + min(excess, _MAX_EXCESS) - _CUSUM_ALLOWANCE)
        self.n_samples += 1
        slow = max(_NOISE_GAIN, 1 / (20 + self.n_samples))
        self.scale = max(1.0, self.scale + slow * (usual - self.scale))
        if self.sum > _CUSUM_THRESHOLD:
            if self.n_changes and self.samples_since * _NOISE_GAIN < 1:
                # A second alarm so soon is a model error, not a change of parameters.
                self.scale = max(self.scale, self.fit)
            self.n_changes += 1
            self.restart()
            return True
        return False

    def add_window(self, n: int, fit: float, variance: float, nominal: float) -> None:
        """A window of n samples: mean squares of innovations, of the σ of predictions, of the description."""
        self.samples_since += n
        self.n_samples += n
        self.fit, self.uncertainty, self.nominal_fit = fit, float(np.log1p(variance)) / 2, nominal

    @property
    def trustworthy(self) -> bool:
        """Whether the estimate is good enough for control: see `OnlineIdentifier.trustworthy`."""
        settled = self.samples_since >= 50 and self.sum < _CUSUM_THRESHOLD / 2
        fits = self.fit < max(_MAX_FIT, self.nominal_fit / 2)
        return bool(settled and self.uncertainty < 0.05 and fits)
