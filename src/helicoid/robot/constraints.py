"""The functions of a robot that constraints hold back, and the states that they allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.compiler.function import Function
from helicoid.dynamics import configuration
from helicoid.dynamics.constraints import assembly
from helicoid.dynamics.constraints import equations as constraints
from helicoid.dynamics.constraints import motion as constrained
from helicoid.dynamics.constraints.assembly import ConstraintReport
from helicoid.dynamics.kinematics import Reference
from helicoid.dynamics.task_space.dynamics import Rows, check_rank, twist_task
from helicoid.errors import InputError, ModelError
from helicoid.model.inertia import frozen_array
from helicoid.robot.base import Made, RobotBase
from helicoid.robot.function import Options, Recipe, RobotFunction
from helicoid.robot.restraints import Restraints

_FALLING = ("gravity", "friction", "smoothing")
_LOADED = (*_FALLING, "f_ext", "expressed_in")
_MATRIX = ("nv", "nv")


class Consistent(NamedTuple):
    """A configuration and a velocity that the constraints allow."""

    q: Array
    v: Array


class _Constrained(Made):
    """A function made of an algorithm that knows the robot's constraints, found by attribute.

    Sizes of its outputs may be "k", the rows of A, and "nu", the actuated velocities.
    """

    def __get__(self, robot: RobotBase | None, owner: type) -> Any:
        if not isinstance(robot, ConstraintFunctions):
            return self
        recipe = self._recipe
        function = robot.function(robot._knowing_constraints(recipe), Options())
        robot.__dict__[recipe.name] = function
        return function


class ConstraintFunctions(Restraints):
    """The dynamics of a constrained robot: M a + h + Aᵀ λ = τ with A a + Ȧ v = 0."""

    constraint_position = _Constrained(constraints.constraint_position, "q", {"phi": ("k",)}, physical=False)
    """`(q) -> φ`, k: zero where the constraints hold; zero in Pfaffian rows."""
    constraint_jacobian = _Constrained(
        constraints.constraint_jacobian, "q", {"A": ("k", "nv")}, physical=False
    )
    """`(q) -> A`, k × nv, with A v = 0 (and φ̇ = A v where there is a φ)."""
    constraint_bias = _Constrained(constraints.constraint_bias, "q v", {"A_dot_v": ("k",)}, physical=False)
    """`(q, v) -> Ȧ v`, k."""
    constrained_forward_dynamics = _Constrained(
        constrained.forward_dynamics,
        "q v tau",
        {"a": ("nv",), "lambda_": ("k",)},
        (*_LOADED, "stabilisation"),
    )
    """`(q, v, tau) -> a, λ`: what a torque causes, and what the robot does to its constraints meanwhile.

    The option `stabilisation` (1/s) lets errors of position and velocity die out (Baumgarte).
    """
    constrained_inverse_dynamics = _Constrained(
        constrained.inverse_dynamics, "q v a", {"tau": ("nu",), "lambda_": ("k",)}, _LOADED
    )
    """`(q, v, a) -> τ, λ`: the least torque of the actuators for an acceleration that is allowed."""
    constraint_projector = _Constrained(constrained.projector, "q", {"P": _MATRIX})
    """`(q) -> P = 1 - Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹`: P τ is the part of a torque that moves the robot."""
    constraint_null_space = _Constrained(constrained.null_space, "q", {"N_c": _MATRIX})
    """`(q) -> N_c = Pᵀ`: N_c v is the part of a velocity that is allowed, A N_c = 0."""
    constraint_consistent_dynamics = _Constrained(
        constrained.consistent_dynamics,
        "q v",
        {"M_c": _MATRIX, "h_c": ("nv",), "S_c": ("nv", "nu")},
        _FALLING,
    )
    """`(q, v) -> N_cᵀ M, N_cᵀ h, N_cᵀ Sᵀ` of N_cᵀ (M a + h) = N_cᵀ Sᵀ τ, which holds without knowing λ."""
    impact = _Constrained(constrained.impact, "q v", {"v_plus": ("nv",), "impulse": ("k",)}, ("restitution",))
    """`(q, v) -> v⁺, Λ`: the velocity after the constraints close at once, M (v⁺ - v) + Aᵀ Λ = 0.

    The option `restitution`, from 0 to 1, throws normals of contacts and holonomic expressions back.
    """
    project_velocity = _Constrained(constrained.allowed_velocity, "q v", {"v_allowed": ("nv",)})
    """`(q, v) -> N_c v`: the allowed velocity nearest to v, distances measured by kinetic energy."""

    def tip_force(self, frame: str, reference: Reference = "world_aligned", rows: Rows = "all") -> Function:
        """`(q, v, tau) -> f` with Jᵀ f = Aᵀ λ: what the robot presses on its constraints with, at a frame.

        J is `jacobian(frame, reference)`, or its `rows` as in `task_inertia`.
        """
        task = twist_task(frame, reference, rows)
        check_rank(self.model, task)
        recipe = Recipe(
            "tip_force",
            constrained.task_force,
            ("q", "v", "tau"),
            (("f", (task.size,)),),
            options=_FALLING,
            arguments=(task,),
        )
        return self.function(self._knowing_constraints(recipe), Options())

    # Configurations that it allows ----------------------------------------------------------------------

    def project_configuration(self, q: ArrayLike, hold: Iterable[str] = ()) -> Array:
        """The configuration near q, (nq) or (N, nq), in which the constraints hold to 1e-12 (m, rad).

        Joints named in `hold` keep their coordinates: the crank of a linkage. Raises ModelError, with the
        constraint that stays open and by how much, where there is none.
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
        held = [k for name in hold for k in self._velocities(name)]
        start = self._integrate(start, np.zeros(self.nv))  # quaternions become unit
        return assembly.assemble(
            start, self.constraint_position, self.constraint_jacobian, self._integrate, self.constraints, held
        )

    def find_consistent(
        self, q: ArrayLike, v: ArrayLike | None = None, hold: Iterable[str] = ()
    ) -> Consistent:
        """A state (q, v) near the given one that the constraints allow; v is zero when not given.

        Of a parametric robot, distances of velocities are measured at its nominal parameters.
        """
        allowed = self.project_configuration(q, hold)
        velocity = np.zeros((*allowed.shape[:-1], self.nv)) if v is None else np.asarray(v, dtype=np.float64)
        theta = {"theta": self.parameters.values} if self.selection.groups else {}
        return Consistent(allowed, self.project_velocity(allowed, velocity, **theta))

    def constraint_report(self, q: ArrayLike) -> ConstraintReport:
        """How many rows of A are independent at q, how many motions are left, and what is open by how much.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").close_loop("base_link", "tip", "point", origin_a=(1, 0, 1))
        >>> report = robot.constraint_report(robot.project_configuration([0.5, 1.0]))
        >>> report.rows, report.rank, report.redundancy, report.mobility
        (3, 2, 1, 0)
        """
        error, A = self.constraint_position(q), self.constraint_jacobian(q)
        if np.ndim(error) != 1:
            raise InputError("constraint_report tells of one configuration, q of shape (nq,)")
        return assembly.report(error, A, self.constraints, self.model.floating)

    # Inside ---------------------------------------------------------------------------------------------

    def _knowing_constraints(self, recipe: Recipe) -> Recipe:
        """The recipe with its algorithm told the constraints, and sizes "k" and "nu" made numbers."""
        sizes = {"k": sum(one.rows for one in self.constraints), "nu": len(self.actuated)}
        outputs = tuple(
            (name, tuple(sizes.get(n, n) if isinstance(n, str) else n for n in shape))
            for name, shape in recipe.outputs
        )
        selects = any("nu" in shape for _, shape in recipe.outputs)
        bound = self._bound_algorithms.setdefault(
            recipe.algorithm,
            partial(
                recipe.algorithm,
                constraints=self.constraints,
                **({"actuated": self.actuated} if selects else {}),
            ),
        )
        return replace(recipe, algorithm=bound, outputs=outputs)

    @cached_property
    def _bound_algorithms(self) -> dict[Callable[..., Expression], Callable[..., Expression]]:
        """One object for each algorithm, so that equal recipes stay equal."""
        return {}

    @cached_property
    def _integrate(self) -> RobotFunction:
        recipe = Recipe("integrate", configuration.integrate, ("q", "dv"), (("q", ("nq",)),), physical=False)
        return self.function(recipe, Options())

    def _velocities(self, joint: str) -> range:
        for body in self.model.bodies:
            if body.joint.name == joint and body.joint.mimic is None:
                return range(body.v.start, body.v.stop)
        names = ", ".join(one.name for one in self.model.independent_joints)
        raise ModelError(f"no joint with a coordinate is called {joint!r}; there are: {names}")
