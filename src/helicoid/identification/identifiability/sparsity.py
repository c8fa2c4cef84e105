"""Sparsity pattern of a regressor, coloured by the identifiability of its unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.deprecation import renamed_arguments
from helicoid.errors import optional_import
from helicoid.identification.identifiability.identifiability import Identifiability, identifiability
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.inertia import PARAMETER_NAMES
from helicoid.robot import Robot
from helicoid.robot.frames import several_links

_COLORS = {"alone": "tab:blue", "combination": "tab:orange", "none": "firebrick"}
_WORDS = {"alone": "identifiable alone", "combination": "only in combination", "none": "not identifiable"}


def sparsity(regression: Regression) -> Array:
    """(rows, unknowns), true where the regressor is not the constant zero.

    >>> import helicoid as hc
    >>> print(sparsity(Regression(hc.load("double_pendulum"), ("viscous",))).astype(int))
    [[1 0]
     [0 1]]
    """
    found = np.zeros((len(regression.row_names), len(regression.parameters)), dtype=bool)
    for row, columns in enumerate(regression.supports):
        found[row, columns] = True
    return found


@renamed_arguments(told="result")
def plot_sparsity(
    robot: Robot | Regression,
    groups: Sequence[str] = ("inertia",),
    ax: Any = None,
    result: Identifiability | None = None,
    wrenches: Sequence[str] = (),
) -> Any:
    """Draw the regressor's structural sparsity, coloured by the identifiability of each unknown.

    Rows are measured quantities, columns unknowns, a body's ten together: joint torques, or the six-axis
    wrenches in the joints of the links that `wrenches` names. A `Regression` in place of the robot brings its
    own groups and wrenches. `result` is by default structural: for any motion. Returns the matplotlib axes.
    """
    links = several_links("wrenches", wrenches)
    regression = robot if isinstance(robot, Regression) else Regression(robot, groups, wrenches=links)
    plt = optional_import("matplotlib.pyplot", "a plot", "helicoid[plot]")
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    result = result or identifiability(regression)
    filled = sparsity(regression)
    n_rows, n_columns = filled.shape
    if ax is None:
        size = (min(2.5 + 0.2 * n_columns, 22.0), min(2.4 + 0.2 * n_rows, 14.0))
        ax = plt.figure(figsize=size, layout="constrained").add_subplot()
    kinds = list(result.status.values())
    picture = np.ones((n_rows, n_columns, 3))
    for column, kind in enumerate(kinds):
        color = np.array(to_rgb(_COLORS[kind]))
        picture[:, column] = np.where(filled[:, column, None], color, 0.88 + 0.12 * color)
    ax.imshow(picture, interpolation="nearest", aspect="equal")
    _label(ax, regression)
    used = [kind for kind in _COLORS if kind in kinds]
    patches = [Patch(color=_COLORS[kind], label=f"{_WORDS[kind]} ({kinds.count(kind)})") for kind in used]
    ax.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        borderaxespad=2.2,
        ncols=len(used),
        frameon=False,
    )
    what = "wrenches" if regression.wrenches else "joint torques"
    ax.set_title(f"{regression.robot.name}: identifiability from {what} (pale: always zero)")
    return ax


def _label(ax: Any, regression: Regression) -> None:
    """Groups of columns on top, and inside a body its parameters; white lines between the squares."""
    filled_rows, names = regression.row_names, regression.parameters.names
    ax.set_yticks(range(len(filled_rows)), filled_rows, fontsize=7)
    ax.set_xticks(range(len(names)), [_short(name) for name in names], rotation=90, fontsize=7)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_xticks(np.arange(len(names) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(filled_rows) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    ax.spines[:].set_visible(False)
    inertial = regression.parameters.groups.get("inertia", slice(0, 0))
    for start in range(inertial.start, inertial.stop, len(PARAMETER_NAMES)):
        middle, link = start + (len(PARAMETER_NAMES) - 1) / 2, names[start].rsplit(".", 1)[0]
        ax.text(middle, len(filled_rows) - 0.3, link, ha="center", va="top", fontsize=9)
        if start > 0:
            ax.axvline(start - 0.5, color="black", linewidth=0.8)


def _short(name: str) -> str:
    """A body's parameter without the body, which stands above; of a joint the whole name."""
    owner, parameter = name.rsplit(".", 1)
    return parameter if parameter in PARAMETER_NAMES else f"{owner}.{parameter}"
