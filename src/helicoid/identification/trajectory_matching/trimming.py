"""Windows without contact by least trimmed squares, for each part of the robot that moves by itself.

Contact of a leg spoils the windows of that leg. Where errors stand out, the fit counts the half of a part's
windows that it reproduces best, until that half stays the same (concentration steps: Rousseeuw and Van
Driessen 2006); then all windows whose errors are like those of the half count again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.equations.regression import Indices
from helicoid.identification.logs.filtering import Mask

_MAX_WINDOW_ERROR = 5.0  # times the median of the windows that count: more is taken as contact
_MAX_USUAL_ERROR = 2.5  # times the median: more, and windows are trimmed to find out
_TRIMMED = 0.5  # of the windows count while they are


@dataclass(frozen=True)
class WindowErrors:
    """RMS residuals of windows (W, nv) over the median of those that count; `part` (nv,) of each joint."""

    ratio: Array
    part: Indices

    @staticmethod
    def of(residuals: Array, counted: Mask, floor: Array, part: Indices) -> WindowErrors:
        """From residuals (W, K + 1, nv), what counts (W, nv), and errors of rounding (nv)."""
        rms = np.sqrt(np.mean(residuals**2, axis=1))
        usual = np.array([np.median(own[windows]) for own, windows in zip(rms.T, counted.T, strict=True)])
        return WindowErrors(rms / np.maximum(usual, floor), part)

    def unusual(self) -> Mask:
        """Whether some window of a joint's part stands out, (nv,)."""
        return self._of_parts(self.ratio.max(axis=0) > _MAX_USUAL_ERROR)

    def regular(self) -> Mask:
        """Windows and joints (W, nv) without an error that stands out in the part."""
        return ~self._of_parts(self.ratio > _MAX_WINDOW_ERROR)

    def best(self, trimmed: Mask) -> Mask:
        """All windows, and of the joints `trimmed` (nv,) the half with the least errors, (W, nv)."""
        counted = np.ones(self.ratio.shape, dtype=bool)
        for part in np.unique(self.part[trimmed]):
            own = self.part == part
            order = np.argsort(np.sum(self.ratio[:, own] ** 2, axis=1))
            counted[np.ix_(order[max(2, round(_TRIMMED * len(order))) :], own)] = False
        return counted

    def _of_parts(self, by_joint: Mask) -> Mask:
        """Whether it is so for any joint of the same part, (..., nv)."""
        together = self.part[:, None] == self.part[None, :]
        return np.asarray(np.any(by_joint[..., None, :] & together, axis=-1))
