"""Errors of predicted torques, for each joint and overall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.pages.tables import table


@dataclass(frozen=True, eq=False)
class Score:
    """Errors of a prediction, for each measured row.

    `rmse` (N·m, N), `relative` = ‖τ - τ̂‖ / ‖τ‖, `nrms` = RMSE / (2 effort limit), NaN without a limit.
    `overall_relative` is over all rows and samples together, `overall_nrms` the mean of `nrms`.

    >>> print(Score(("hip",), np.array([0.5]), np.array([10.0]), np.array([50.0]), 100))
    joint          RMSE  relative      NRMS
    hip             0.5    5.000%    0.500%
    overall                5.000%    0.500%   (100 samples)
    """

    names: tuple[str, ...]
    rmse: Array
    size: Array
    effort: Array
    n_samples: int

    @staticmethod
    def of(names: tuple[str, ...], measured: Array, predicted: Array, effort: Array) -> Score:
        """The errors of predicted values (N, rows) against measured ones (N, rows)."""
        rmse = np.sqrt(np.mean((measured - predicted) ** 2, axis=0))
        return Score(names, rmse, np.sqrt(np.mean(measured**2, axis=0)), effort, len(measured))

    @property
    def relative(self) -> Array:
        """‖τ - τ̂‖ / ‖τ‖ of each row."""
        return self.rmse / np.where(self.size > 0, self.size, np.nan)

    @property
    def nrms(self) -> Array:
        """RMSE / (2 effort limit) of each row."""
        limited = np.isfinite(self.effort) & (self.effort > 0)
        return np.where(limited, self.rmse / np.where(limited, 2 * self.effort, 1.0), np.nan)

    @property
    def overall_relative(self) -> float:
        """‖τ - τ̂‖ / ‖τ‖ over all rows and samples."""
        total = float(np.sum(self.size**2))
        return float(np.sqrt(np.sum(self.rmse**2) / total)) if total > 0 else float("nan")

    @property
    def overall_nrms(self) -> float:
        """The mean of `nrms` over the rows with an effort limit."""
        known = self.nrms[np.isfinite(self.nrms)]
        return float(np.mean(known)) if len(known) else float("nan")

    def __repr__(self) -> str:
        error = _percent(self.overall_relative).strip()
        return f"Score({len(self.names)} rows, {self.n_samples} samples, relative error {error})"

    def __str__(self) -> str:
        width = max(9, *(len(name) for name in self.names))
        lines = [f"{'joint':{width}}  {'RMSE':>8}  {'relative':>8}  {'NRMS':>8}"]
        for name, rmse, relative, nrms in zip(self.names, self.rmse, self.relative, self.nrms, strict=True):
            lines.append(f"{name:{width}}  {rmse:8.4g}  {_percent(relative)}  {_percent(nrms)}")
        overall = f"{_percent(self.overall_relative)}  {_percent(self.overall_nrms)}"
        lines.append(f"{'overall':{width}}  {'':8}  {overall}   ({self.n_samples} samples)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The table of `print(score)`, for notebooks."""
        cells = zip(self.names, self.rmse, self.relative, self.nrms, strict=True)
        rows = [[name, f"{rmse:.4g}", _percent(part), _percent(nrms)] for name, rmse, part, nrms in cells]
        rows.append(["overall", "", _percent(self.overall_relative), _percent(self.overall_nrms)])
        return table(f"{self.n_samples} samples", ["joint", "RMSE", "relative", "NRMS"], rows)


def _percent(value: float) -> str:
    return f"{100 * value:7.3f}%" if np.isfinite(value) else f"{'-':>8}"
