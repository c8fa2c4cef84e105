"""Blade-element momentum theory beside a wind tunnel: APC 10x7SF, coefficients over the advance ratio.

Run by `python -m benchmarks.aerial.propellers [picture]`. The airfoil is a generic one of low Reynolds
number, that of another propeller, then one whose four numbers are fitted to the static test alone, and one
fitted to the runs at 3008 and 5003 turns a minute; the other two runs are not looked at in fitting.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from helicoid.aerial import Airfoil, Propeller

DATA = Path(__file__).parents[2] / "tests" / "aerial" / "data" / "apc_10x7sf.json"
RADIUS = 0.127
FITTED = ("3008 rpm", "5003 rpm")


def propeller(data: dict[str, Any], airfoil: Airfoil) -> Propeller:
    """The propeller of the data with an airfoil."""
    geometry = data["geometry"]
    r, chord = (RADIUS * np.array(geometry[key]) for key in ("r/R", "c/R"))
    return Propeller.from_geometry(r, chord, np.radians(geometry["beta"]), 2, RADIUS, airfoil)


def errors(data: dict[str, Any], airfoil: Airfoil, run: str) -> tuple[np.ndarray, np.ndarray]:
    """C_T and C_P less those measured, over a run."""
    rpm, rows = float(run.split()[0]), data["advance"][run]
    found = propeller(data, airfoil).performance(np.array(rows["J"]) * rpm / 60 * 2 * RADIUS, rpm)
    return found.CT - rows["CT"], found.CP - rows["CP"]


START, SPREAD = np.array([0.5, 1.2, 0.028, 0.05]), np.array([0.2, 0.3, 0.02, 0.05])
BOUNDS = ([0.2, 0.8, 5e-3, 0], [1, 2, 0.1, 0.2])


def of(x: np.ndarray) -> Airfoil:
    """The generic airfoil with another lift at zero, largest lift, least drag and growth of drag."""
    return Airfoil(lift_at_zero=x[0], most_lift=x[1], least_drag=x[2], drag_above=x[3], drag_below=x[3])


def fitted_to_static(data: dict[str, Any]) -> Airfoil:
    """The airfoil from thrust and power at rest over the speed, as a test stand measures them.

    One advance ratio does not determine four numbers: the generic ones are the prior.
    """
    static = data["static"]

    def residual(x: np.ndarray) -> np.ndarray:
        blade = propeller(data, of(x))
        found = [blade.performance(0.0, rpm) for rpm in static["RPM"]]
        thrust = np.array([float(one.CT) for one in found]) - static["CT"]
        power = np.array([float(one.CP) for one in found]) - static["CP"]
        return np.concatenate([thrust / 0.002, power / 0.002, (x - START) / SPREAD])

    return of(least_squares(residual, START, bounds=BOUNDS).x)


def fitted(data: dict[str, Any]) -> Airfoil:
    """Lift at zero, largest lift, least drag and how drag grows, from the runs of `FITTED`."""

    def residual(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.concatenate(errors(data, of(x), run)) for run in FITTED])

    return of(least_squares(residual, START, bounds=BOUNDS).x)


def picture(data: dict[str, Any], airfoils: dict[str, Airfoil], path: str) -> None:
    """Measured points and computed lines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for k, (run, rows) in enumerate(data["advance"].items()):
        rpm, J = float(run.split()[0]), np.linspace(min(rows["J"]), max(rows["J"]), 30)
        for ax, key in zip(axes, ("CT", "CP"), strict=True):
            ax.plot(rows["J"], rows[key], "o", color=f"C{k}", ms=4, label=run)
            for style, airfoil in zip(("--", "-"), airfoils.values(), strict=True):
                found = propeller(data, airfoil).performance(J * rpm / 60 * 2 * RADIUS, rpm)
                ax.plot(J, getattr(found, key), style, color=f"C{k}", lw=1)
    for ax, key in zip(axes, ("$C_T$", "$C_P$"), strict=True):
        ax.set(xlabel="advance ratio J", ylabel=key)
        ax.grid(alpha=0.3)
    axes[0].legend(
        title="measured: points\n" + "generic airfoil: dashed\nfitted airfoil: lines",
        fontsize=8,
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the table; draw it where a file is named."""
    data = json.loads(DATA.read_text())
    airfoils = {"generic": Airfoil(), "static": fitted_to_static(data), "fitted": fitted(data)}
    print(airfoils["fitted"])
    print("| run | airfoil | C_T error, rms | max. | C_P error, rms | max. |\n|---|---|---|---|---|---|")
    for run, rows in data["advance"].items():
        for name, airfoil in airfoils.items():
            thrust, power = errors(data, airfoil, run)
            cells = [f"{np.sqrt(np.mean(e**2)):.4f} | {np.abs(e).max():.4f}" for e in (thrust, power)]
            seen = " (not fitted to)" if name == "fitted" and run not in FITTED else ""
            print(f"| {run}, C_T to {max(rows['CT']):.3f} | {name}{seen} | {cells[0]} | {cells[1]} |")
    if len(sys.argv) > 1:
        picture(data, {name: airfoils[name] for name in ("generic", "fitted")}, sys.argv[1])


if __name__ == "__main__":
    main()
