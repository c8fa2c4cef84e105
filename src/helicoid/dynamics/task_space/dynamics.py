"""The equations of motion in task space (Khatib 1987; Siciliano et al. 2009, section 7.8).

A task is some rows of a frame's twist, ẋ = J v, or the coordinates of its pose, χ̇ = J_A v. With τ = Jᵀ F

    F = Λ ẍ + μ + p
    Λ = (J M⁻¹ Jᵀ)⁻¹        μ = J̄ᵀ c - Λ J̇ v        p = J̄ᵀ g        J̄ = M⁻¹ Jᵀ Λ        N = 1 - J̄ J

ẍ = J a + J̇ v is the rate of the task's components. J̄ is the inverse of J that minimises kinetic energy, and
J̄ᵀ τ the task force of a torque τ: for any τ it is Λ ẍ + μ + p. N projects velocities and accelerations onto
the null space of the task, J N = 0; Nᵀ projects torques onto those without task acceleration, J M⁻¹ Nᵀ = 0.

Where J loses rank, Λ does not exist and its entries grow without bound. A damping λ > 0 puts
(J M⁻¹ Jᵀ + λ² 1)⁻¹ in the place of Λ, which exists everywhere but obeys the above only up to λ²; its unit is
that of 1/√mass for linear rows and of 1/√inertia for angular ones. Friction and springs are not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.kinematics import frames
from helicoid.dynamics.kinematics.frames import Reference, check_reference
from helicoid.dynamics.linear import factor, inverse, solve
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions import rnea
from helicoid.dynamics.recursions.coriolis import coriolis_matrix
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.dynamics.tree import along_motion
from helicoid.errors import InputError, ModelError
from helicoid.model.model import WORLD, Model

Rows: TypeAlias = Literal["all", "angular", "linear"] | Sequence[int]

_ROWS = {"all": (0, 1, 2, 3, 4, 5), "angular": (0, 1, 2), "linear": (3, 4, 5)}


class TaskCoordinates(Protocol):
    """Interface of task coordinates: the frame, its Jacobian, and the damping."""

    @property
    def frame(self) -> str: ...

    @property
    def damping(self) -> float: ...

    @property
    def size(self) -> int: ...

    def jacobian(self, model: Model, q: Expression) -> Expression:
        """J(q), size × nv."""


@dataclass(frozen=True)
class TwistCoordinates:
    """Rows of a frame's twist (ω, v), numbered from 0 to 5."""

    frame: str
    reference: Reference
    rows: tuple[int, ...]
    damping: float = 0.0

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def jacobian(self, model: Model, q: Expression) -> Expression:
        """J(q), size × nv, with ẋ = J v."""
        return frames.jacobian(model, q, self.frame, self.reference)[list(self.rows), :]


def twist_task(frame: str, reference: Reference, rows: Rows, damping: float = 0.0) -> TwistCoordinates:
    """The task of these arguments, checked."""
    check_reference(reference)
    if isinstance(rows, str) and rows not in _ROWS:
        raise InputError(f"rows must be one of {', '.join(_ROWS)} or numbers from 0 to 5; got {rows!r}")
    chosen = _ROWS[rows] if isinstance(rows, str) else tuple(rows)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(6)):
        raise InputError(f"rows are distinct numbers from 0 to 5, of (ω, v); got {rows!r}")
    if not 0 <= damping < np.inf:
        raise InputError(f"damping is zero or positive, got {damping!r}")
    return TwistCoordinates(frame, reference, tuple(int(row) for row in chosen), float(damping))


def check_rank(model: Model, task: TaskCoordinates) -> None:
    """Raise an error if the task has more rows than velocities that move its frame: Λ does not exist then."""
    moving = _moving_velocities(model, task.frame)
    if moving < task.size and task.damping == 0.0:
        raise InputError(
            f"{task.frame!r} is moved by {moving} velocities, a task of {task.size} needs as many: "
            "choose fewer rows, such as rows='linear' or rows=(3, 5), or a damping above 0"
        )


def _moving_velocities(model: Model, frame: str) -> int:
    """Number of velocities that move the frame."""
    moving: set[int] = set()  # two joints of one path may share a velocity
    body = model.frame(frame).body
    while body != WORLD:
        v = model.bodies[body].v
        moving.update(range(v.start, v.stop))
        body = model.bodies[body].parent
    return len(moving)


class TaskDynamics(NamedTuple):
    """Λ, μ and p of F = Λ ẍ + μ + p."""

    inertia: Expression
    coriolis: Expression
    gravity: Expression


class _Inverses(NamedTuple):
    """J, Λ and J̄."""

    J: Expression
    Λ: Expression
    J_bar: Expression


def task_inertia(model: Model, physics: Physics, q: Expression, task: TaskCoordinates) -> Expression:
    """Λ(q), symmetric: the task-space inertia (kg for linear rows, kg·m² for angular ones)."""
    return _inverses(model, physics, q, task).Λ


def task_coriolis(
    model: Model, physics: Physics, q: Expression, v: Expression, task: TaskCoordinates
) -> Expression:
    """μ(q, v) = J̄ᵀ c - Λ J̇ v: Coriolis and centrifugal force on the task (N or N·m)."""
    J, Λ, J_bar = _inverses(model, physics, q, task)
    return _coriolis(model, physics, q, v, J, Λ, J_bar)


def task_coriolis_matrix(
    model: Model, physics: Physics, q: Expression, v: Expression, task: TaskCoordinates
) -> Expression:
    """J̄ᵀ C J̄ - Λ J̇ J̄, size × size.

    From Λ = J̄ᵀ M J̄, Λ J = J̄ᵀ M and J J̄ = 1 follows Λ̇ = J̄ᵀ Ṁ J̄ - Λ J̇ J̄ - (Λ J̇ J̄)ᵀ, so that Λ̇ - 2 C_task is
    skew-symmetric with the C of `coriolis_matrix`.
    """
    J, Λ, J_bar = _inverses(model, physics, q, task)
    C = coriolis_matrix(model, physics, q, v)
    return (J_bar.T @ C - Λ @ along_motion(model, J, q, v)) @ J_bar


def task_gravity(model: Model, physics: Physics, q: Expression, task: TaskCoordinates) -> Expression:
    """p(q) = J̄ᵀ g: the force that balances gravity in task space (N or N·m)."""
    return _inverses(model, physics, q, task).J_bar.T @ rnea.gravity(model, physics, q)


def task_dynamics(
    model: Model, physics: Physics, q: Expression, v: Expression, task: TaskCoordinates
) -> TaskDynamics:
    """Λ, μ and p, which share most of their operations.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> Λ, μ, p = robot.task_dynamics("tip", rows=(3, 5))(q, v)
    >>> np.allclose(Λ, robot.task_inertia("tip", rows=(3, 5))(q)), μ.shape, p.shape
    (True, (2,), (2,))
    """
    J, Λ, J_bar = _inverses(model, physics, q, task)
    μ = _coriolis(model, physics, q, v, J, Λ, J_bar)
    return TaskDynamics(Λ, μ, J_bar.T @ rnea.gravity(model, physics, q))


def dynamically_consistent_inverse(
    model: Model, physics: Physics, q: Expression, task: TaskCoordinates
) -> Expression:
    """J̄(q) = M⁻¹ Jᵀ Λ, nv × size, with J J̄ = 1."""
    return _inverses(model, physics, q, task).J_bar


def null_space_projector(model: Model, physics: Physics, q: Expression, task: TaskCoordinates) -> Expression:
    """N(q) = 1 - J̄ J, nv × nv: for velocities from the left, J N = 0; for torques Nᵀ, J M⁻¹ Nᵀ = 0.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> q, v, a = np.array([0.3, 0.8]), np.array([1.0, -2.0]), np.array([0.5, 3.0])
    >>> projector = robot.null_space_projector("tip", rows=(5,))(q)
    >>> np.allclose(robot.jacobian("tip", "world_aligned")(q)[5] @ projector, 0)
    True
    """
    J, _, J_bar = _inverses(model, physics, q, task)
    return ca.SX.eye(model.nv) - J_bar @ J


def jacobian_dot_times_velocity(
    model: Model, q: Expression, v: Expression, frame: str, reference: Reference
) -> Expression:
    """J̇ v, 6: the rate of the twist's components when no joint accelerates (rad/s², m/s²)."""
    return along_motion(model, frames.jacobian(model, q, frame, reference) @ v, q, v)


def _coriolis(
    model: Model,
    physics: Physics,
    q: Expression,
    v: Expression,
    J: Expression,
    Λ: Expression,
    J_bar: Expression,
) -> Expression:
    # One directional derivative of the vector J v, and not J̇ times v: fewer operations.
    return J_bar.T @ rnea.coriolis(model, physics, q, v) - Λ @ along_motion(model, J @ v, q, v)


def _inverses(model: Model, physics: Physics, q: Expression, task: TaskCoordinates) -> _Inverses:
    J = task.jacobian(model, q)
    if task.damping == 0.0:
        for k in range(task.size):
            if J[k, :].is_zero():
                raise ModelError(f"row {k} of the task never moves {task.frame!r}: leave it out")
    M_inverse_Jt = solve(factor(mass_matrix(model, physics, q), model.velocity_names), J.T)
    Λ = inverse(J @ M_inverse_Jt + task.damping**2 * ca.SX.eye(task.size))
    return _Inverses(J, Λ, M_inverse_Jt @ Λ)
