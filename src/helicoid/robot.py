"""Robot: a model and the functions made of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid.compiler.function import Function
from helicoid.dynamics import (
    aba,
    centroidal,
    christoffel,
    configuration,
    crba,
    derivatives,
    energy,
    kinematics,
    parameter_derivatives,
    parametric,
    rates,
    rnea,
    state_derivatives,
    task_coordinates,
    task_space,
)
from helicoid.dynamics import closed_form as closed_forms
from helicoid.dynamics import closed_form_derivatives as closed_form_state
from helicoid.dynamics import coriolis as coriolis_terms
from helicoid.dynamics import regressor as regressors
from helicoid.dynamics.kinematics import Reference
from helicoid.dynamics.task_coordinates import PoseTask, pose_task
from helicoid.dynamics.task_space import Rows, TwistTask, check_rank, twist_task
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.model import edit
from helicoid.model.inertia import Array
from helicoid.model.joints import Expression
from helicoid.model.model import Model
from helicoid.model.parts import Limits
from helicoid.robot_function import Options, Recipe, RobotFunction, Shape

_LOADED = ("gravity", "friction", "smoothing", "f_ext", "expressed_in")
_FALLING = ("gravity", "friction", "smoothing")
_MATRIX, _TENSOR = ("nv", "nv"), ("nv", "nv", "nv")


class _Made:
    """One line of the class below: a function made of an algorithm, found by attribute."""

    def __init__(
        self,
        algorithm: Callable[..., Expression],
        inputs: str,
        outputs: Mapping[str, Shape],
        options: tuple[str, ...] = (),
        physical: bool = True,
        columns: Callable[[Model], Sequence[str]] | None = None,
    ) -> None:
        names = tuple(inputs.split())
        self._recipe = Recipe(
            "", algorithm, names, tuple(outputs.items()), physical, options, columns=columns
        )

    def __set_name__(self, owner: type, name: str) -> None:
        self._recipe = replace(self._recipe, name=name)

    def __get__(self, robot: Robot | None, owner: type) -> Any:
        if robot is None:
            return self
        function = robot.function(self._recipe, Options())
        # The next look-up finds it in the instance and does not come here.
        robot.__dict__[self._recipe.name] = function
        return function


class Robot:
    """A robot: what it is (`model`) and its kinematics and dynamics as `Function`s.

    Every function is called with NumPy vectors, with batches (N, n), or with CasADi expressions.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> robot.mass_matrix(robot.neutral()).shape
    (2, 2)
    """

    def __init__(self, model: Model, selection: parametric.Selection | None = None) -> None:
        self.model = model
        self.selection = selection or parametric.Selection()
        self._functions: dict[tuple[Recipe, Options], RobotFunction] = {}

    # Dynamics -----------------------------------------------------------------------------------------

    inverse_dynamics = _Made(rnea.inverse_dynamics, "q v a", {"tau": ("nv",)}, _LOADED)
    """`(q, v, a) -> tau`: the torque that a motion needs, τ = M(q) a + h(q, v), by RNEA."""
    forward_dynamics = _Made(aba.forward_dynamics, "q v tau", {"a": ("nv",)}, _LOADED)
    """`(q, v, tau) -> a`: the acceleration that a torque causes, by the articulated body algorithm."""
    forward_dynamics_crba = _Made(crba.forward_dynamics_crba, "q v tau", {"a": ("nv",)}, _LOADED)
    """`(q, v, tau) -> a`: the same through the factors of the mass matrix."""
    mass_matrix = _Made(crba.mass_matrix, "q", {"M": ("nv", "nv")})
    """`(q) -> M`, symmetric, armature included."""
    mass_matrix_inverse = _Made(crba.mass_matrix_inverse, "q", {"M_inverse": ("nv", "nv")})
    """`(q) -> M⁻¹`."""
    coriolis = _Made(rnea.coriolis, "q v", {"c": ("nv",)})
    """`(q, v) -> c`: Coriolis and centrifugal torque C(q, v) v."""
    coriolis_matrix = _Made(coriolis_terms.coriolis_matrix, "q v", {"C": ("nv", "nv")})
    """`(q, v) -> C` with C v the Coriolis torque and Ṁ - 2 C skew-symmetric."""
    mass_matrix_dot = _Made(coriolis_terms.mass_matrix_dot, "q v", {"M_dot": ("nv", "nv")})
    """`(q, v) -> Ṁ = C + Cᵀ`."""
    gravity = _Made(rnea.gravity, "q", {"g": ("nv",)}, ("gravity",))
    """`(q) -> g = ∂U/∂q`: the torque that holds the robot still."""
    bias = _Made(rnea.bias, "q v", {"h": ("nv",)}, _FALLING)
    """`(q, v) -> h = c + g`, and friction if asked for."""
    inverse_dynamics_derivatives = _Made(
        derivatives.inverse_dynamics_derivatives,
        "q v a",
        {"dtau_dq": ("nv", "nv"), "dtau_dv": ("nv", "nv"), "M": ("nv", "nv")},
        _FALLING,
    )
    """`(q, v, a) -> ∂τ/∂q, ∂τ/∂v, M`, in the tangent space, by recursion."""
    forward_dynamics_derivatives = _Made(
        derivatives.forward_dynamics_derivatives,
        "q v tau",
        {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "M_inverse": ("nv", "nv")},
        _FALLING,
    )
    """`(q, v, tau) -> ∂a/∂q, ∂a/∂v, M⁻¹`, in the tangent space."""
    kinetic_energy = _Made(energy.kinetic_energy, "q v", {"T": ()})
    """`(q, v) -> T = ½ vᵀ M v` (J)."""
    potential_energy = _Made(energy.potential_energy, "q", {"U": ()}, ("gravity",))
    """`(q) -> U` (J), zero with all mass at the world's origin."""
    center_of_mass = _Made(centroidal.center_of_mass, "q", {"com": (3,)})
    """`(q) -> com` of all moving bodies, world axes (m)."""
    com_jacobian = _Made(centroidal.com_jacobian, "q", {"J": (3, "nv")})
    """`(q) -> J` with d(com)/dt = J v."""
    centroidal_momentum_matrix = _Made(centroidal.centroidal_momentum_matrix, "q", {"A": (6, "nv")})
    """`(q) -> A` with A v the momentum (angular, linear) about the center of mass, world axes."""
    centroidal_momentum = _Made(centroidal.centroidal_momentum, "q v", {"h": (6,)})
    """`(q, v) -> h = A v`: angular momentum about the center of mass (N·m·s), then linear (N·s)."""
    centroidal_momentum_matrix_dot = _Made(
        centroidal.centroidal_momentum_matrix_dot, "q v", {"A_dot": (6, "nv")}
    )
    """`(q, v) -> Ȧ`: external forces change the momentum by ḣ = A a + Ȧ v."""
    locked_inertia = _Made(centroidal.locked_inertia, "q", {"I": (3, 3)})
    """`(q) -> I`: rotational inertia about the center of mass with all joints locked, world axes (kg·m²)."""

    # Closed form: every matrix of the equations of motion, and its derivatives -------------------------

    closed_form = _Made(
        closed_forms.closed_form, "q v", {"M": _MATRIX, "C": _MATRIX, "g": ("nv",)}, ("gravity",)
    )
    """`(q, v) -> M, C, g` in one pass from the bodies' Jacobians; Ṁ = C + Cᵀ."""
    closed_form_dot = _Made(
        closed_forms.closed_form_dot,
        "q v a",
        {"M": _MATRIX, "C": _MATRIX, "g": ("nv",), "M_dot": _MATRIX, "C_dot": _MATRIX, "g_dot": ("nv",)},
        ("gravity",),
    )
    """`(q, v, a) -> M, C, g, Ṁ, Ċ, ġ`: those of `closed_form` with their time derivatives."""
    closed_form_ddot = _Made(
        closed_forms.closed_form_ddot,
        "q v a a_dot",
        {"M_ddot": _MATRIX, "C_ddot": _MATRIX, "g_ddot": ("nv",)},
        ("gravity",),
    )
    """`(q, v, a, a_dot) -> M̈, C̈, g̈`: the second time derivatives of `closed_form`."""
    closed_form_derivatives = _Made(
        closed_form_state.closed_form_derivatives,
        "q v",
        {"dM_dq": _TENSOR, "dC_dq": _TENSOR, "dC_dv": _TENSOR, "dg_dq": _MATRIX},
        ("gravity",),
    )
    """`(q, v) -> ∂M/∂q, ∂C/∂q, ∂C/∂v, ∂g/∂q` of `closed_form`."""
    coriolis_matrix_dot = _Made(rates.coriolis_matrix_dot, "q v a", {"C_dot": _MATRIX})
    """`(q, v, a) -> Ċ` of `coriolis_matrix`."""
    gravity_dot = _Made(rates.gravity_dot, "q v", {"g_dot": ("nv",)}, ("gravity",))
    """`(q, v) -> ġ`."""
    inverse_dynamics_dot = _Made(rates.inverse_dynamics_dot, "q v a a_dot", {"tau_dot": ("nv",)}, _FALLING)
    """`(q, v, a, a_dot) -> τ̇`."""
    inverse_dynamics_ddot = _Made(
        rates.inverse_dynamics_ddot, "q v a a_dot a_ddot", {"tau_ddot": ("nv",)}, _FALLING
    )
    """`(q, v, a, a_dot, a_ddot) -> τ̈`."""
    mass_matrix_derivatives = _Made(christoffel.mass_matrix_derivatives, "q", {"dM_dq": _TENSOR})
    """`(q) -> ∂M/∂q`, [i, j, k] along velocity k."""
    coriolis_matrix_derivatives = _Made(
        state_derivatives.coriolis_matrix_derivatives, "q v", {"dC_dq": _TENSOR, "dC_dv": _TENSOR}
    )
    """`(q, v) -> ∂C/∂q, ∂C/∂v` of `coriolis_matrix`."""
    gravity_derivatives = _Made(state_derivatives.gravity_derivatives, "q", {"dg_dq": _MATRIX}, ("gravity",))
    """`(q) -> ∂g/∂q`."""
    christoffel_symbols = _Made(christoffel.christoffel_symbols, "q", {"symbols": _TENSOR})
    """`(q) -> Γ` with C_ij = Σ_k Γ_ijk v_k the matrix of `coriolis_matrix`."""
    coriolis_matrix_classic = _Made(
        christoffel.coriolis_matrix_classic, "q v", {"C_1": _MATRIX, "C_2": _MATRIX, "C_3": _MATRIX}
    )
    """`(q, v) -> ½ (Ṁ + Uᵀ - U), Ṁ - ½ U, Uᵀ - ½ U` with U_ij = Σ_k v_k ∂M_kj/∂q_i."""
    inverse_dynamics_second_derivatives = _Made(
        state_derivatives.inverse_dynamics_second_derivatives,
        "q v a",
        {"d2tau_dqdq": _TENSOR, "d2tau_dqdv": _TENSOR, "d2tau_dvdv": _TENSOR, "dM_dq": _TENSOR},
        _FALLING,
    )
    """`(q, v, a) -> ∂²τ/∂q∂q, ∂²τ/∂q∂v, ∂²τ/∂v∂v, ∂M/∂q`, the last axis differentiated last."""
    forward_dynamics_second_derivatives = _Made(
        state_derivatives.forward_dynamics_second_derivatives,
        "q v tau",
        {"d2a_dqdq": _TENSOR, "d2a_dqdv": _TENSOR, "d2a_dvdv": _TENSOR, "dM_inverse_dq": _TENSOR},
        _FALLING,
    )
    """`(q, v, tau) -> ∂²a/∂q∂q, ∂²a/∂q∂v, ∂²a/∂v∂v, ∂M⁻¹/∂q`."""
    mass_matrix_parameter_derivatives = _Made(
        parameter_derivatives.mass_matrix_parameter_derivatives,
        "q",
        {"dM_dpi": ("nv", "nv", "10n")},
        columns=regressors.inertial_names,
    )
    """`(q) -> ∂M/∂π`, [i, j, k] for the parameter that `columns` names at k."""
    coriolis_matrix_parameter_derivatives = _Made(
        parameter_derivatives.coriolis_matrix_parameter_derivatives,
        "q v",
        {"dC_dpi": ("nv", "nv", "10n")},
        columns=regressors.inertial_names,
    )
    """`(q, v) -> ∂C/∂π` of `coriolis_matrix`."""
    gravity_parameter_derivatives = _Made(
        parameter_derivatives.gravity_parameter_derivatives,
        "q",
        {"dg_dpi": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q) -> ∂g/∂π`."""

    # Regressors: linear in the parameters that `columns` names -----------------------------------------

    regressor = _Made(
        regressors.regressor, "q v a", {"Y": ("nv", "10n")}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v, a) -> Y` with τ = Y π."""
    slotine_li_regressor = _Made(
        regressors.slotine_li_regressor,
        "q v v_r a_r",
        {"Y": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q, v, v_r, a_r) -> Y` with M a_r + C v_r + g = Y π, for the C of `coriolis_matrix`."""
    momentum_regressor = _Made(
        regressors.momentum_regressor, "q v", {"Y": ("nv", "10n")}, columns=regressors.inertial_names
    )
    """`(q, v) -> Y` with M v = Y π."""
    momentum_rate_regressor = _Made(
        regressors.momentum_rate_regressor,
        "q v",
        {"Y": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q, v) -> Y` with τ = d/dt (M v) + Y π: the filtered-momentum form needs no acceleration."""
    energy_regressor = _Made(
        regressors.energy_regressor, "q v", {"y": ("10n",)}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v) -> y` with T + U = y π."""
    power_regressor = _Made(
        regressors.power_regressor, "q v a", {"y": ("10n",)}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v, a) -> y` with vᵀ τ = y π."""
    friction_regressor = _Made(
        regressors.friction_regressor,
        "v",
        {"Y": ("nv", "3nv")},
        ("smoothing",),
        columns=regressors.friction_names,
    )
    """`(v) -> Y` with friction = Y (damping, Coulomb friction, offset)."""
    armature_regressor = _Made(
        regressors.armature_regressor, "a", {"Y": ("nv", "nv")}, columns=regressors.armature_names
    )
    """`(a) -> Y` with the armatures' torque = Y armature."""

    # Kinematics ---------------------------------------------------------------------------------------

    integrate = _Made(configuration.integrate, "q dv", {"q": ("nq",)}, physical=False)
    """`(q, dv) -> q ⊕ dv`: move along a tangent vector; quaternions stay unit."""
    difference = _Made(configuration.difference, "q0 q1", {"dv": ("nv",)}, physical=False)
    """`(q0, q1) -> dv` with integrate(q0, dv) = q1."""

    def pose(self, frame: str) -> Function:
        """`(q) -> T`: the frame of a link seen from the world, 4 × 4."""
        return self._kinematic("pose", kinematics.pose, "q", "T", (4, 4), frame)

    def jacobian(self, frame: str, reference: Reference = "world") -> Function:
        """`(q) -> J`, 6 × nv, with twist (ω, v) = J v in the reference `world`, `world_aligned` or `body`."""
        return self._kinematic("jacobian", kinematics.jacobian, "q", "J", (6, "nv"), frame, reference)

    def jacobian_dot(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> J̇`, 6 × nv."""
        return self._kinematic(
            "jacobian_dot", kinematics.jacobian_dot, "q v", "J_dot", (6, "nv"), frame, reference
        )

    def velocity(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> twist` (ω, v) of a link's frame, 6."""
        return self._kinematic("velocity", kinematics.velocity, "q v", "twist", (6,), frame, reference)

    def acceleration(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v, a) -> twist_dot`: rate of the twist's components, 6."""
        return self._kinematic(
            "acceleration", kinematics.acceleration, "q v a", "twist_dot", (6,), frame, reference
        )

    # Task space ---------------------------------------------------------------------------------------

    def jacobian_dot_times_velocity(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> J̇ v`, 6: the rate of the twist when no joint accelerates."""
        return self._kinematic(
            "jacobian_dot_times_velocity",
            task_space.jacobian_dot_times_velocity,
            "q v",
            "J_dot_v",
            (6,),
            frame,
            reference,
        )

    def task_inertia(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> Λ = (J M⁻¹ Jᵀ)⁻¹`: the inertia that a frame feels.

        J is `jacobian(frame, reference)`, or its `rows`: "all", "angular", "linear", or numbers from 0 to 5.
        With a damping λ > 0 it is (J M⁻¹ Jᵀ + λ² 1)⁻¹, which exists at singularities too.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> robot.task_inertia("tip", rows=(3, 5))([0.0, 1.0]).shape
        (2, 2)
        """
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_inertia", task_space.task_inertia, "q", {"Lambda": (task.size, task.size)}, task
        )

    def task_coriolis(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q, v) -> μ` of F = Λ ẍ + μ + p; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task("task_coriolis", task_space.task_coriolis, "q v", {"mu": (task.size,)}, task)

    def task_gravity(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> p` of F = Λ ẍ + μ + p; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_gravity", task_space.task_gravity, "q", {"p": (task.size,)}, task, ("gravity",)
        )

    def task_dynamics(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q, v) -> Λ, μ, p` of F = Λ ẍ + μ + p, cheaper than one by one; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_dynamics", task_space.task_dynamics, "q v", _task_outputs(task.size), task, ("gravity",)
        )

    def dynamically_consistent_inverse(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> J̄ = M⁻¹ Jᵀ Λ`, nv × rows, with J J̄ = 1; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        outputs: dict[str, Shape] = {"J_bar": ("nv", task.size)}
        return self._task(
            "dynamically_consistent_inverse", task_space.dynamically_consistent_inverse, "q", outputs, task
        )

    def null_space_projector(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> N = 1 - J̄ J`, nv × nv: J N = 0, and Nᵀ τ moves nothing of the task."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "null_space_projector", task_space.null_space_projector, "q", {"N": ("nv", "nv")}, task
        )

    def task_coordinates(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q) -> χ`: a frame's position, then its orientation, seen from the world.

        `position`: "cartesian", "cylindrical" or "spherical". `orientation`: "rpy", an intrinsic Euler order
        such as "zyx", "rotation_vector", "quaternion" or "angle_axis". Either may be None, to leave it out.
        The orientation "dual_quaternion" stands for both.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> print(robot.task_coordinates("tip", orientation=None, position="spherical")([0.0, 0.0]))
        [1.8 0. 1.5708]
        """
        task = self._pose_task(frame, orientation, position)
        return self._task(
            "task_coordinates",
            task_coordinates.task_coordinates,
            "q",
            {"chi": (task.size,)},
            task,
            physical=False,
        )

    def analytic_jacobian(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q) -> J_A`, with χ̇ = J_A v; arguments as in `task_coordinates`."""
        task = self._pose_task(frame, orientation, position)
        outputs: dict[str, Shape] = {"J_A": (task.size, "nv")}
        return self._task(
            "analytic_jacobian", task_coordinates.analytic_jacobian, "q", outputs, task, physical=False
        )

    def analytic_task_dynamics(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q, v) -> Λ, μ, p` of F = Λ χ̈ + μ + p with τ = J_Aᵀ F, in minimal coordinates χ of the frame."""
        task = self._pose_task(frame, orientation, position, minimal=True)
        check_rank(self.model, task)
        return self._task(
            "analytic_task_dynamics",
            task_space.task_dynamics,
            "q v",
            _task_outputs(task.size),
            task,
            ("gravity",),
        )

    def _twist_task(self, frame: str, reference: Reference, rows: Rows, damping: float) -> TwistTask:
        task = twist_task(frame, reference, rows, damping)
        check_rank(self.model, task)
        return task

    def _pose_task(
        self, frame: str, orientation: str | None, position: str | None, minimal: bool = False
    ) -> PoseTask:
        self.model.frame(frame)
        return pose_task(frame, orientation, position, minimal)

    def _task(
        self,
        name: str,
        algorithm: Callable[..., Expression],
        inputs: str,
        outputs: Mapping[str, Shape],
        task: TwistTask | PoseTask,
        options: tuple[str, ...] = (),
        physical: bool = True,
    ) -> Function:
        names, named = tuple(inputs.split()), tuple(outputs.items())
        recipe = Recipe(name, algorithm, names, named, physical, options, (task,))
        return self.function(recipe, Options())

    def _kinematic(
        self,
        name: str,
        algorithm: Callable[..., Expression],
        inputs: str,
        output: str,
        shape: Shape,
        *arguments: str,
    ) -> Function:
        self.model.frame(arguments[0])
        kinematics.check_reference(*arguments[1:])
        names = tuple(inputs.split())
        recipe = Recipe(name, algorithm, names, ((output, shape),), physical=False, arguments=arguments)
        return self.function(recipe, Options())

    def function(self, recipe: Recipe, options: Options) -> RobotFunction:
        """The Function of a recipe with options; made once."""
        key = (recipe, options)
        if key not in self._functions:
            self._functions.setdefault(key, RobotFunction(self, recipe, options))
        return self._functions[key]

    def compile(self, *functions: str, batch: bool = False) -> None:
        """Compile functions ahead of time, several at once: `robot.compile("inverse_dynamics", "gravity")`.

        With `batch`, the code for batches too.
        """
        chosen = [self._named(name) for name in functions]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda function: function.compile(batch), chosen))

    def _named(self, name: str) -> Function:
        made = [key for key, value in vars(Robot).items() if isinstance(value, _Made)]
        if name not in made:
            raise InputError(f"a robot has no function {name!r}; there are: {', '.join(made)}")
        function: Function = getattr(self, name)
        return function

    @cached_property
    def tangent(self) -> ca.Function | None:
        """q -> Γ(q) of q̇ = Γ v, or None where v is q̇."""
        if self.nq == self.nv:
            return None
        q = ca.SX.sym("q", self.nq)
        return ca.Function("tangent", [q], [ca.densify(rate_matrix(self.model, q))])

    # What the robot is --------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The robot's name in its description."""
        return self.model.name

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies; what is fixed together is one body."""
        return len(self.model.bodies)

    @property
    def joint_names(self) -> list[str]:
        """The joints that own coordinates, in the order of q and v."""
        return [joint.name for joint in self.model.independent_joints]

    @property
    def link_names(self) -> list[str]:
        """Every link; each is a frame."""
        return [link.name for link in self.model.links]

    @cached_property
    def limits(self) -> Limits:
        """lower, upper (nq), velocity, effort (nv); infinite where unlimited."""
        ranges = [joint.range for joint in self.model.independent_joints]
        columns = [np.concatenate([np.zeros(0), *(r[k] for r in ranges)]) for k in range(4)]
        for column in columns:
            column.setflags(write=False)
        return Limits(*columns)

    @property
    def parameters(self) -> parametric.Parameters:
        """Names and values: of θ for a parametric robot, else the inertial ones, 10 per moving body."""
        if self.selection.groups:
            return self.selection.parameters(self.model)
        return parametric.inertial_parameters(self.model)

    def neutral(self) -> Array:
        """The configuration in which every joint is at its zero."""
        parts = [joint.type.neutral() for joint in self.model.independent_joints]
        return np.concatenate([np.zeros(0), *parts])

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration drawn uniformly within the limits; `rng` may be a seed."""
        generator = np.random.default_rng(rng)
        parts = [
            joint.type.random(generator, joint.range.lower, joint.range.upper)
            for joint in self.model.independent_joints
        ]
        return np.concatenate([np.zeros(0), *parts])

    def __repr__(self) -> str:
        base = "floating" if self.model.floating else "fixed"
        theta = f", theta[{len(self.parameters)}]" if self.selection.groups else ""
        return f"Robot({self.name!r}, nq={self.nq}, nv={self.nv}, {self.n_bodies} bodies, {base} base{theta})"

    # Other robots -------------------------------------------------------------------------------------

    def parametric(self, *groups: str, payload_link: str | None = None) -> Robot:
        """The same robot whose dynamics take one more input, `theta`.

        `groups`: any of "inertia", "friction", "armature", "gravity", "payload", in the order wanted. The
        result's `parameters` holds θ's names and nominal values. A payload is ten inertial parameters in
        the frame of `payload_link` (by default the only tip).

        >>> import helicoid as hc
        >>> robot = hc.load("double_pendulum").parametric("gravity")
        >>> robot.parameters.names
        ('gravity.x', 'gravity.y', 'gravity.z')
        """
        return Robot(self.model, parametric.select(self.model, groups, payload_link))

    def chain(self, root: str, tip: str) -> Robot:
        """The joints between two links, with what is fixed to them; moving side branches are cut."""
        return self._edited(edit.chain(self.model, root, tip))

    def lock(self, positions: Mapping[str, ArrayLike]) -> Robot:
        """Joints frozen at given coordinates; their bodies merge."""
        return self._edited(edit.lock(self.model, positions))

    def with_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Robot:
        """A body fixed to a link: center of mass (m) and inertia about it (kg·m²) in the link's frame."""
        return self._edited(edit.with_payload(self.model, link, mass, com, inertia))

    def with_parameters(self, pi: ArrayLike) -> Robot:
        """Other inertial parameters, in the order of `parameters`: 10 per moving body."""
        return self._edited(edit.with_parameters(self.model, pi))

    def reroot(self, link: str) -> Robot:
        """The same robot standing on another of its links."""
        return self._edited(edit.reroot(self.model, link))

    def _edited(self, model: Model) -> Robot:
        payload = self.selection.payload_link or None
        return Robot(model, parametric.select(model, self.selection.groups, payload))

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the robot as a URDF file; reading it gives the same dynamics."""
        from helicoid.model.urdf_writer import write_urdf

        write_urdf(self.model, path)


def _task_outputs(size: int) -> dict[str, Shape]:
    return {"Lambda": (size, size), "mu": (size,), "p": (size,)}
