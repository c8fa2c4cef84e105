"""The solution of a problem: a planned motion with its cost and violations."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.deprecation import former_attribute
from helicoid.simulation.trajectory.archive import MAX_BYTES

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


class PlanSample(NamedTuple):
    """A plan at a time t (s), or at several, one a row: x and u, and of a robot q, v, a and tau."""

    t: Any
    x: Array
    u: Array
    q: Array | None = None
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned motion: t (N+1), and for a robot q (N+1, nq), v (N+1, nv), a and tau (N, nv).

    x (N+1, ...) and u (N, ...) are states and controls as the problem has them. `success` says whether the
    solver converged to a plan that meets the constraints, `message` how it ended in words. `cost` is without
    the price of soft constraints. `violation` is the largest excess of a hard constraint in its scaled units;
    `violations` names those that are not met, the worst first, then soft ones that are exceeded.
    `stationarity` is the largest element of the Lagrangian's gradient (NaN where the solver does not report
    it). `velocity_limit` and `torque_limit` (nv) are those of the problem's constraints of these names,
    infinite where there are none. `forces` has for each contact by name its force on the robot (N, 3), in the
    world's axes; see `Problem.forces`.
    """

    t: Array
    x: Array
    u: Array
    message: str
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

    status = former_attribute("status", "message")

    @property
    def duration(self) -> float:
        """The total time (s)."""
        return float(self.t[-1])

    def at(self, t: ArrayLike) -> PlanSample:
        """State and torque at a time (s) between 0 and `duration`, or at several: then one row for each.

        q is the cubic through the positions and velocities of both nodes, in the tangent space of the left
        one (exact for a constant acceleration), v is linear; so is x of an ODE. Controls, a and tau
        are those of the interval, which holds them: `tau` is what a simulation applies at that time.

        >>> import helicoid as hc
        >>> problem = hc.mpc.Problem(hc.load("double_pendulum"), horizon=10, dt=0.1)
        >>> problem.add_posture_cost([0.5, 0.0], weight=1.0, end_weight=100.0)
        >>> problem.add_control_cost(1e-3)
        >>> plan = problem.solve([0.0, 0.0])
        >>> plan.at(0.25).tau.shape, plan.at([0.0, 0.5, 1.0]).q.shape
        ((2,), (3, 2))

        Raises:
            InputError: a time lies outside of the plan, about which it says nothing.
        """
        from helicoid.mpc.plan.times import moment

        return moment(self, t)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an `.npz` file (NumPy's, nothing in it is ever executed), as a whole or not at all."""
        from helicoid.mpc.plan.files import save

        save(self, Path(path))

    @staticmethod
    def load(path: str | os.PathLike[str], robot: Robot | None = None, max_bytes: float = MAX_BYTES) -> Plan:
        """Read what `save` wrote; the robot is not in the file, so give it where the plan is to have one.

        A file that would expand to more than `max_bytes` is refused before it does.

        Raises:
            InputError: the file is no plan, or that of another robot.
        """
        from helicoid.mpc.plan.files import load

        return load(Path(path), robot, max_bytes)

    def __repr__(self) -> str:
        return (
            f"Plan({self.message}; cost {self.cost:.6g}, {self.iterations} iterations by {self.solver}, "
            f"violation {self.violation:.1e}, {self.duration:.3g} s)"
        )

    def _repr_html_(self) -> str:
        from helicoid.mpc.plan import tables

        return tables.plan(self)

    def plot(self) -> Any:
        """A matplotlib figure: coordinates, velocities and torques over time, limits dashed.

        Of an ODE: states and controls.
        """
        from helicoid.mpc.plan.plot import plot

        return plot(self)


def as_numbers(matrix: Any) -> Array:
    """A CasADi matrix, nodes along its columns, as a NumPy array with nodes first."""
    return np.array(matrix, dtype=np.float64).T
