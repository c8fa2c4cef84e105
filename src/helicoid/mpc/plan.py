"""What solving a problem gives: a motion, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helicoid._typing import Array

if TYPE_CHECKING:
    from helicoid.robot import Robot


class Violation(NamedTuple):
    """A constraint that a plan does not meet: its row, the node where it is worst, and by how much there."""

    constraint: str
    row: str
    node: int
    amount: float

    def __str__(self) -> str:
        return f"{self.constraint} ({self.row}) is missed by {self.amount:.3g} at node {self.node}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned motion: t (N+1), and for a robot q (N+1, nq), v (N+1, nv), a and tau (N, nv).

    x (N+1, ...) and u (N, ...) are states and controls as the problem has them. `success` says whether all
    is well, `status` how it ended in words. `cost` is without the price of soft constraints. `violation` is
    the largest excess of a hard constraint in its scaled units; `violations` names those that are not met,
    the worst first, then soft ones that are exceeded. `stationarity` is the largest element of the
    Lagrangian's gradient (NaN where the solver does not tell). `velocity_limit` and `torque_limit` (nv) are
    those of the problem's constraints of these names, infinite where there are none. `forces` has for each
    contact by name its force on the robot (N, 3), in the world's axes; see `Problem.forces`.
    """

    t: Array
    x: Array
    u: Array
    status: str
    success: bool
    iterations: int
    cost: float
    violation: float
    gap: float
    stationarity: float
    seconds: float
    solver: str
    violations: tuple[Violation, ...] = ()
    q: Array | None = None
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None
    forces: dict[str, Array] = field(default_factory=dict)
    robot: Robot | None = field(default=None, repr=False)
    velocity_limit: Array | None = field(default=None, repr=False)
    torque_limit: Array | None = field(default=None, repr=False)

    @property
    def duration(self) -> float:
        """The total time (s)."""
        return float(self.t[-1])

    def __repr__(self) -> str:
        return (
            f"Plan({self.status}; cost {self.cost:.6g}, {self.iterations} iterations by {self.solver}, "
            f"violation {self.violation:.1e}, {self.duration:.3g} s)"
        )

    def _repr_html_(self) -> str:
        from helicoid.mpc import tables

        return tables.plan(self)

    def plot(self) -> Any:
        """A matplotlib figure: coordinates, velocities and torques over time, limits dashed.

        Of an ODE: states and controls.
        """
        from helicoid.mpc.plan_plot import plot

        return plot(self)


def as_numbers(matrix: Any) -> Array:
    """A CasADi matrix, nodes along its columns, as a NumPy array with nodes first."""
    return np.array(matrix, dtype=np.float64).T
