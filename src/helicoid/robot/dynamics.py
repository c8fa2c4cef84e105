"""The functions of a robot that need no frame: dynamics, energies, regressors and all their derivatives."""

from __future__ import annotations

from helicoid.dynamics import configuration, energy, springs
from helicoid.dynamics.closed_form import derivatives as closed_form_state
from helicoid.dynamics.closed_form import equations as closed_forms
from helicoid.dynamics.derivatives import christoffel, rates
from helicoid.dynamics.derivatives import parameters as parameter_derivatives
from helicoid.dynamics.derivatives import recursive as derivatives
from helicoid.dynamics.derivatives import state as state_derivatives
from helicoid.dynamics.recursions import aba, centroidal, crba, mass_inverse, rnea
from helicoid.dynamics.recursions import coriolis as coriolis_terms
from helicoid.dynamics.recursions import regressor as regressors
from helicoid.robot.base import Made, RobotBase

_LOADED = ("gravity", "friction", "smoothing", "f_ext", "expressed_in")
_FALLING = ("gravity", "friction", "smoothing")
_MATRIX, _TENSOR = ("nv", "nv"), ("nv", "nv", "nv")


class DynamicsFunctions(RobotBase):
    """One line a function: its algorithm, its inputs, its outputs and the options that it takes."""

    # Dynamics -----------------------------------------------------------------------------------------

    inverse_dynamics = Made(rnea.inverse_dynamics, "q v a", {"tau": ("nv",)}, _LOADED)
    """`(q, v, a) -> tau`: the torque that a motion needs, τ = M(q) a + h(q, v), by RNEA."""
    forward_dynamics = Made(aba.forward_dynamics, "q v tau", {"a": ("nv",)}, _LOADED)
    """`(q, v, tau) -> a`: the acceleration that a torque causes, by the articulated body algorithm."""
    forward_dynamics_crba = Made(crba.forward_dynamics_crba, "q v tau", {"a": ("nv",)}, _LOADED)
    """`(q, v, tau) -> a`: the same through the factors of the mass matrix."""
    mass_matrix = Made(crba.mass_matrix, "q", {"M": ("nv", "nv")})
    """`(q) -> M`, symmetric, armature included."""
    mass_matrix_inverse = Made(mass_inverse.mass_matrix_inverse, "q", {"M_inverse": ("nv", "nv")})
    """`(q) -> M⁻¹`."""
    coriolis = Made(rnea.coriolis, "q v", {"c": ("nv",)})
    """`(q, v) -> c`: Coriolis and centrifugal torque C(q, v) v."""
    coriolis_matrix = Made(coriolis_terms.coriolis_matrix, "q v", {"C": ("nv", "nv")})
    """`(q, v) -> C` with C v the Coriolis torque and Ṁ - 2 C skew-symmetric."""
    mass_matrix_dot = Made(coriolis_terms.mass_matrix_dot, "q v", {"M_dot": ("nv", "nv")})
    """`(q, v) -> Ṁ = C + Cᵀ`."""
    gravity = Made(rnea.gravity, "q", {"g": ("nv",)}, ("gravity",))
    """`(q) -> g`: the torque that holds the robot's weight."""
    spring_torque = Made(springs.spring_torque, "q", {"tau": ("nv",)}, physical=False)
    """`(q) -> ∂U/∂q` of the joints' springs: the torque that holds them; with `gravity`, all of ∂U/∂q."""
    bias = Made(rnea.bias, "q v", {"h": ("nv",)}, _FALLING)
    """`(q, v) -> h = c + g` and the springs' torque; friction if asked for."""
    inverse_dynamics_derivatives = Made(
        derivatives.inverse_dynamics_derivatives,
        "q v a",
        {"dtau_dq": ("nv", "nv"), "dtau_dv": ("nv", "nv"), "M": ("nv", "nv")},
        _FALLING,
    )
    """`(q, v, a) -> ∂τ/∂q, ∂τ/∂v, M`, in the tangent space, by recursion."""
    forward_dynamics_derivatives = Made(
        derivatives.forward_dynamics_derivatives,
        "q v tau",
        {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "M_inverse": ("nv", "nv")},
        _FALLING,
    )
    """`(q, v, tau) -> ∂a/∂q, ∂a/∂v, M⁻¹`, in the tangent space."""
    kinetic_energy = Made(energy.kinetic_energy, "q v", {"T": ()})
    """`(q, v) -> T = ½ vᵀ M v` (J)."""
    potential_energy = Made(energy.potential_energy, "q", {"U": ()}, ("gravity",))
    """`(q) -> U` (J), zero with all mass at the world's origin and all springs at ease."""
    center_of_mass = Made(centroidal.center_of_mass, "q", {"com": (3,)})
    """`(q) -> com` of all moving bodies, world axes (m)."""
    com_jacobian = Made(centroidal.com_jacobian, "q", {"J": (3, "nv")})
    """`(q) -> J` with d(com)/dt = J v."""
    centroidal_momentum_matrix = Made(centroidal.centroidal_momentum_matrix, "q", {"A": (6, "nv")})
    """`(q) -> A` with A v the momentum (angular, linear) about the center of mass, world axes."""
    centroidal_momentum = Made(centroidal.centroidal_momentum, "q v", {"h": (6,)})
    """`(q, v) -> h = A v`: angular momentum about the center of mass (N·m·s), then linear (N·s)."""
    centroidal_momentum_matrix_dot = Made(
        centroidal.centroidal_momentum_matrix_dot, "q v", {"A_dot": (6, "nv")}
    )
    """`(q, v) -> Ȧ`: external forces change the momentum by ḣ = A a + Ȧ v."""
    locked_inertia = Made(centroidal.locked_inertia, "q", {"I": (3, 3)})
    """`(q) -> I`: rotational inertia about the center of mass with all joints locked, world axes (kg·m²)."""

    # Closed form: every matrix of the equations of motion, and its derivatives -------------------------

    closed_form = Made(
        closed_forms.closed_form, "q v", {"M": _MATRIX, "C": _MATRIX, "g": ("nv",)}, ("gravity",)
    )
    """`(q, v) -> M, C, g` in one pass from the bodies' Jacobians; Ṁ = C + Cᵀ."""
    closed_form_dot = Made(
        closed_forms.closed_form_dot,
        "q v a",
        {"M": _MATRIX, "C": _MATRIX, "g": ("nv",), "M_dot": _MATRIX, "C_dot": _MATRIX, "g_dot": ("nv",)},
        ("gravity",),
    )
    """`(q, v, a) -> M, C, g, Ṁ, Ċ, ġ`: those of `closed_form` with their time derivatives."""
    closed_form_ddot = Made(
        closed_forms.closed_form_ddot,
        "q v a a_dot",
        {"M_ddot": _MATRIX, "C_ddot": _MATRIX, "g_ddot": ("nv",)},
        ("gravity",),
    )
    """`(q, v, a, a_dot) -> M̈, C̈, g̈`: the second time derivatives of `closed_form`."""
    closed_form_derivatives = Made(
        closed_form_state.closed_form_derivatives,
        "q v",
        {"dM_dq": _TENSOR, "dC_dq": _TENSOR, "dC_dv": _TENSOR, "dg_dq": _MATRIX},
        ("gravity",),
    )
    """`(q, v) -> ∂M/∂q, ∂C/∂q, ∂C/∂v, ∂g/∂q` of `closed_form`."""
    coriolis_matrix_dot = Made(rates.coriolis_matrix_dot, "q v a", {"C_dot": _MATRIX})
    """`(q, v, a) -> Ċ` of `coriolis_matrix`."""
    gravity_dot = Made(rates.gravity_dot, "q v", {"g_dot": ("nv",)}, ("gravity",))
    """`(q, v) -> ġ`."""
    inverse_dynamics_dot = Made(rates.inverse_dynamics_dot, "q v a a_dot", {"tau_dot": ("nv",)}, _FALLING)
    """`(q, v, a, a_dot) -> τ̇`."""
    inverse_dynamics_ddot = Made(
        rates.inverse_dynamics_ddot, "q v a a_dot a_ddot", {"tau_ddot": ("nv",)}, _FALLING
    )
    """`(q, v, a, a_dot, a_ddot) -> τ̈`."""
    mass_matrix_derivatives = Made(christoffel.mass_matrix_derivatives, "q", {"dM_dq": _TENSOR})
    """`(q) -> ∂M/∂q`, [i, j, k] along velocity k."""
    coriolis_matrix_derivatives = Made(
        state_derivatives.coriolis_matrix_derivatives, "q v", {"dC_dq": _TENSOR, "dC_dv": _TENSOR}
    )
    """`(q, v) -> ∂C/∂q, ∂C/∂v` of `coriolis_matrix`."""
    gravity_derivatives = Made(state_derivatives.gravity_derivatives, "q", {"dg_dq": _MATRIX}, ("gravity",))
    """`(q) -> ∂g/∂q`."""
    christoffel_symbols = Made(christoffel.christoffel_symbols, "q", {"symbols": _TENSOR})
    """`(q) -> Γ` with C_ij = Σ_k Γ_ijk v_k the matrix of `coriolis_matrix`."""
    coriolis_matrix_classic = Made(
        christoffel.coriolis_matrix_classic, "q v", {"C_1": _MATRIX, "C_2": _MATRIX, "C_3": _MATRIX}
    )
    """`(q, v) -> ½ (Ṁ + Uᵀ - U), Ṁ - ½ U, Uᵀ - ½ U` with U_ij = Σ_k v_k ∂M_kj/∂q_i."""
    inverse_dynamics_second_derivatives = Made(
        state_derivatives.inverse_dynamics_second_derivatives,
        "q v a",
        {"d2tau_dqdq": _TENSOR, "d2tau_dqdv": _TENSOR, "d2tau_dvdv": _TENSOR, "dM_dq": _TENSOR},
        _FALLING,
    )
    """`(q, v, a) -> ∂²τ/∂q∂q, ∂²τ/∂q∂v, ∂²τ/∂v∂v, ∂M/∂q`, the last axis differentiated last."""
    forward_dynamics_second_derivatives = Made(
        state_derivatives.forward_dynamics_second_derivatives,
        "q v tau",
        {"d2a_dqdq": _TENSOR, "d2a_dqdv": _TENSOR, "d2a_dvdv": _TENSOR, "dM_inverse_dq": _TENSOR},
        _FALLING,
    )
    """`(q, v, tau) -> ∂²a/∂q∂q, ∂²a/∂q∂v, ∂²a/∂v∂v, ∂M⁻¹/∂q`."""
    mass_matrix_parameter_derivatives = Made(
        parameter_derivatives.mass_matrix_parameter_derivatives,
        "q",
        {"dM_dpi": ("nv", "nv", "10n")},
        columns=regressors.inertial_names,
    )
    """`(q) -> ∂M/∂π`, [i, j, k] for the parameter that `columns` names at k."""
    coriolis_matrix_parameter_derivatives = Made(
        parameter_derivatives.coriolis_matrix_parameter_derivatives,
        "q v",
        {"dC_dpi": ("nv", "nv", "10n")},
        columns=regressors.inertial_names,
    )
    """`(q, v) -> ∂C/∂π` of `coriolis_matrix`."""
    gravity_parameter_derivatives = Made(
        parameter_derivatives.gravity_parameter_derivatives,
        "q",
        {"dg_dpi": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q) -> ∂g/∂π`."""

    # Regressors: linear in the parameters that `columns` names -----------------------------------------

    regressor = Made(
        regressors.regressor, "q v a", {"Y": ("nv", "10n")}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v, a) -> Y` with τ = Y π."""
    slotine_li_regressor = Made(
        regressors.slotine_li_regressor,
        "q v v_r a_r",
        {"Y": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q, v, v_r, a_r) -> Y` with M a_r + C v_r + g = Y π, for the C of `coriolis_matrix`."""
    momentum_regressor = Made(
        regressors.momentum_regressor, "q v", {"Y": ("nv", "10n")}, columns=regressors.inertial_names
    )
    """`(q, v) -> Y` with M v = Y π."""
    momentum_rate_regressor = Made(
        regressors.momentum_rate_regressor,
        "q v",
        {"Y": ("nv", "10n")},
        ("gravity",),
        columns=regressors.inertial_names,
    )
    """`(q, v) -> Y` with τ = d/dt (M v) + Y π: the filtered-momentum form needs no acceleration."""
    energy_regressor = Made(
        regressors.energy_regressor, "q v", {"y": ("10n",)}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v) -> y` with T + U = y π."""
    power_regressor = Made(
        regressors.power_regressor, "q v a", {"y": ("10n",)}, ("gravity",), columns=regressors.inertial_names
    )
    """`(q, v, a) -> y` with vᵀ τ = y π."""
    friction_regressor = Made(
        regressors.friction_regressor,
        "v",
        {"Y": ("nv", "3nv")},
        ("smoothing",),
        columns=regressors.friction_names,
    )
    """`(v) -> Y` with friction = Y (damping, Coulomb friction, offset)."""
    armature_regressor = Made(
        regressors.armature_regressor, "a", {"Y": ("nv", "nv")}, columns=regressors.armature_names
    )
    """`(a) -> Y` with the armatures' torque = Y armature."""

    # Configuration --------------------------------------------------------------------------------------

    integrate = Made(configuration.integrate, "q dv", {"q": ("nq",)}, physical=False)
    """`(q, dv) -> q ⊕ dv`: move along a tangent vector; quaternions stay unit."""
    difference = Made(configuration.difference, "q0 q1", {"dv": ("nv",)}, physical=False)
    """`(q0, q1) -> dv` with integrate(q0, dv) = q1."""
