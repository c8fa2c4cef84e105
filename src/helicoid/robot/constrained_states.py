"""States of a robot that satisfy its constraints: projections onto them, and their rank and residuals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.dynamics.constraints import assembly
from helicoid.dynamics.constraints.assembly import ConstraintReport
from helicoid.errors import InputError
from helicoid.model.inertia import frozen_array
from helicoid.robot.data import RobotData


class Consistent(NamedTuple):
    """A configuration and a velocity that satisfy the constraints."""

    q: Array
    v: Array


class ConstrainedStates(RobotData):
    """Base of `Robot` with the functions that find states allowed by the constraints."""

    def project_configuration(self, q: ArrayLike, hold: Iterable[str] = ()) -> Array:
        """The configuration near q, (nq) or (N, nq), in which the constraints hold to 1e-12 (m, rad).

        Joints named in `hold` keep their coordinates: the crank of a linkage. Raises ModelError with the
        largest residual of the constraints where there is no such configuration.
        """
        hold = (hold,) if isinstance(hold, str) else tuple(hold)
        start = np.asarray(q, dtype=np.float64)
        if not np.all(np.isfinite(start)):
            raise InputError(
                f"project_configuration of {self.model.name!r}: q has entries that are not finite"
            )
        if start.ndim == 2:
            return np.stack([self.project_configuration(row, hold) for row in start])
        start = frozen_array(start, (self.nq,), f"q of {self.model.name!r}")
        held = [k for name in hold for k in range(self.nv)[self.index(name)[1]]]
        start = self.integrate(start, np.zeros(self.nv))  # quaternions become unit
        return assembly.assemble(
            start, self.constraint_position, self.constraint_jacobian, self.integrate, self.constraints, held
        )

    def find_consistent(
        self, q: ArrayLike, v: ArrayLike | None = None, hold: Iterable[str] = ()
    ) -> Consistent:
        """A state (q, v) near the given one that satisfies the constraints; v is zero when not given.

        Of a parametric robot, distances of velocities are measured at its nominal parameters.
        """
        allowed = self.project_configuration(q, hold)
        velocity = np.zeros((*allowed.shape[:-1], self.nv)) if v is None else np.asarray(v, dtype=np.float64)
        return Consistent(allowed, self.project_velocity(allowed, velocity, self.theta.values))

    def constraint_report(self, q: ArrayLike) -> ConstraintReport:
        """Rank of A at q, redundant rows, mobility, and residuals of the constraints.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").close_loop("base_link", "tip", "point", origin_a=(1, 0, 1))
        >>> report = robot.constraint_report(robot.project_configuration([0.5, 1.0]))
        >>> report.rows, report.rank, report.redundancy, report.mobility
        (3, 2, 1, 0)
        """
        error, A = self.constraint_position(q), self.constraint_jacobian(q)
        if np.ndim(error) != 1:
            raise InputError("constraint_report takes one configuration, q of shape (nq,)")
        return assembly.report(error, A, self.constraints, self.model.floating)
