"""A trajectory as columns with names: for files, for pandas, for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from helicoid._typing import Array
from helicoid.errors import optional_import
from helicoid.pages.tables import table

if TYPE_CHECKING:
    from pandas import DataFrame

    from helicoid.simulation.trajectory.trajectory import Trajectory

PER_JOINT = ("q", "v", "a", "tau")
ENERGIES = ("kinetic_energy", "potential_energy")
_MAX_ROWS_SHOWN = 6  # in a notebook


def columns(trajectory: Trajectory) -> dict[str, Array]:
    """Each column (..., N + 1) by its name, `q.<joint>` and so on; what is unknown is left out."""
    found: dict[str, Array] = {}
    for name in PER_JOINT:
        if trajectory.has(name):
            values = getattr(trajectory, name)
            joints = trajectory.q_names if name == "q" else trajectory.v_names
            found |= {f"{name}.{joint}": values[..., k] for k, joint in enumerate(joints)}
    found |= {name: getattr(trajectory, name) for name in ENERGIES if trajectory.has(name)}
    forces = trajectory.contact_forces
    for k, contact in enumerate(trajectory.contact_names):
        found |= {f"force.{contact}.{axis}": forces[..., k, j] for j, axis in enumerate("xyz")}
    return found


def to_dataframe(trajectory: Trajectory) -> DataFrame:
    """See `Trajectory.to_dataframe`."""
    pd = optional_import("pandas", "to_dataframe", "pandas")
    values = {name: column.reshape(-1) for name, column in columns(trajectory).items()}
    index = pd.Index(trajectory.t, name="t")
    if trajectory.batch is not None:
        index = pd.MultiIndex.from_product([range(trajectory.batch), trajectory.t], names=["rollout", "t"])
    return pd.DataFrame(values, index=index)


def to_html(trajectory: Trajectory) -> str:
    """A summary line, and of a single trajectory its first and last states."""
    if trajectory.batch is not None:
        return f"<p>{escape(repr(trajectory))}</p>"
    names = [f"q.{name}" for name in trajectory.q_names] + [f"v.{name}" for name in trajectory.v_names]
    rows = np.unique(np.linspace(0, len(trajectory.t) - 1, _MAX_ROWS_SHOWN).astype(int))
    cells = np.column_stack([trajectory.t, trajectory.q, trajectory.v])[rows]
    return table(repr(trajectory), ["t", *names], [[f"{x:.4g}" for x in row] for row in cells.tolist()])
