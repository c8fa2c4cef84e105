"""The table of all functions of a robot: which algorithm, what goes in and out, and what it means.

To add an algorithm: a file in `dynamics/` and an entry here. Sizes in brackets are names of `Robot.sizes`.
"""

from __future__ import annotations

from helicoid.dynamics.closed_form import derivatives as closed_form_state
from helicoid.dynamics.closed_form import equations as closed_forms
from helicoid.dynamics.closed_form import parameters as closed_form_parameters
from helicoid.dynamics.constraints import equations as constraints
from helicoid.dynamics.constraints import motion as constrained
from helicoid.dynamics.derivatives import christoffel
from helicoid.dynamics.derivatives import parameters as by_parameters
from helicoid.dynamics.derivatives import recursive as derivatives
from helicoid.dynamics.derivatives import state as by_state
from helicoid.dynamics.derivatives.rates import TimeDerivative
from helicoid.dynamics.forces import actuation, elastic, passive, springs
from helicoid.dynamics.kinematics import configuration, tendons
from helicoid.dynamics.kinematics import frames as kinematics
from helicoid.dynamics.recursions import aba, centroidal, crba, energy, mass_inverse, rnea
from helicoid.dynamics.recursions import coriolis as coriolis_terms
from helicoid.dynamics.recursions import joint_wrenches as transmitted
from helicoid.dynamics.recursions import regressor as regressors
from helicoid.dynamics.recursions.regressor import armature_names, friction_names, inertial_names
from helicoid.dynamics.task_space import coordinates
from helicoid.dynamics.task_space import dynamics as task_space
from helicoid.robot import frames
from helicoid.robot.frames import FrameFunctionOf
from helicoid.robot.function import FunctionOf
from helicoid.robot.functions import loops

# Options of functions, and attributes of the robot that algorithms take (`knows`).
GRAVITY = ("gravity",)
WITH_FRICTION = (*GRAVITY, "friction", "smoothing")
COLUMNS = ("parameters",)
WITH_COLUMNS = (*GRAVITY, *COLUMNS)
FORCES = ("f_ext", "expressed_in")
WITH_FORCES = (*WITH_FRICTION, *FORCES)
CONSTRAINTS = ("constraints",)
ACTUATED = ("constraints", "actuated")


class Catalog:
    """Every function of a robot. Each is called with NumPy vectors, batches (N, n), or CasADi expressions."""

    # A table, two or three lines for each function: not to be spread out.
    # fmt: off

    # Dynamics -----------------------------------------------------------------------------------------

    inverse_dynamics = FunctionOf(rnea.inverse_dynamics, "q v a -> tau[nv]", """
        τ = M(q) a + h(q, v): the generalised force (N·m, N) that a motion needs, by RNEA.""", WITH_FORCES)
    forward_dynamics = FunctionOf(aba.forward_dynamics, "q v tau -> a[nv]", """
        a = M⁻¹ (τ - h): the acceleration (rad/s², m/s²) that a force causes, by the articulated body
        algorithm.""", WITH_FORCES)
    forward_dynamics_crba = FunctionOf(crba.forward_dynamics_crba, "q v tau -> a[nv]", """
        a = M⁻¹ (τ - h): the acceleration (rad/s², m/s²) that a force causes, by factors of the mass
        matrix.""", WITH_FORCES)
    joint_wrenches = FunctionOf(transmitted.joint_wrenches, "q v a -> F[n,6]", """
        F_i = (n, f): the spatial force (N·m, N) that each body's joint transmits from its parent, about the
        body's origin in its axes (RNEA before the projection τ = Sᵀ F). What a six-axis sensor in the joint
        reads; friction, springs and armature act along the joint's axis and are not part of it.""",
        (*GRAVITY, *FORCES))
    composite_inertias = FunctionOf(crba.composite_inertias, "q -> I_c[n,6,6]", """
        Iᶜ: the spatial inertia of each body and all that it carries as one rigid body, about the body's
        origin in its axes (CRBA).""")
    articulated_inertias = FunctionOf(aba.articulated_inertias, "q -> I_A[n,6,6]", """
        Iᴬ: the articulated-body inertia of each body, with the joints beyond it free to move, about the
        body's origin in its axes (ABA).""")
    mass_matrix = FunctionOf(crba.mass_matrix, "q -> M[nv,nv]", """
        M(q) of τ = M a + h, symmetric, armature included (kg·m², kg·m, kg), by composite rigid bodies.""",
        loops=loops.mass_matrix)
    mass_matrix_inverse = FunctionOf(mass_inverse.mass_matrix_inverse, "q -> M_inverse[nv,nv]", """
        M(q)⁻¹, symmetric: ∂a/∂τ.""", loops=loops.mass_matrix_inverse)
    coriolis = FunctionOf(rnea.coriolis, "q v -> c[nv]", """
        c = C(q, v) v: Coriolis and centrifugal force (N·m, N).""")
    coriolis_matrix = FunctionOf(coriolis_terms.coriolis_matrix, "q v -> C[nv,nv]", """
        C(q, v) with C v the Coriolis force and Ṁ - 2 C skew-symmetric.""")
    mass_matrix_dot = FunctionOf(coriolis_terms.mass_matrix_dot, "q v -> M_dot[nv,nv]", """
        Ṁ = C + Cᵀ: the rate of the mass matrix.""")
    gravity = FunctionOf(rnea.gravity, "q -> g[nv]", """
        g(q): the generalised force (N·m, N) that balances gravity.""", GRAVITY)
    spring_torque = FunctionOf(springs.spring_torque, "q -> tau[nv]", """
        ∂U/∂q of the joints' springs: the force (N·m, N) that balances them; with `gravity`, all of
        ∂U/∂q.""", physical=False)
    elastic_torque = FunctionOf(passive.elastic_torque, "q -> tau[nv]", """
        ∂U/∂q of springs between points of links (`with_spring`), tendons and gravity compensation: the force
        (N·m, N) that balances them.""")
    tendon_lengths = FunctionOf(tendons.tendon_lengths, "q -> L[nt]", """
        L(q) of each tendon (m).""", physical=False)
    tendon_jacobian = FunctionOf(tendons.tendon_jacobian, "q -> J[nt,nv]", """
        J(q) with L̇ = J v for the tendons' lengths; τ = -Jᵀ f for their tensions f.""", physical=False)
    actuator_lengths = FunctionOf(actuation.actuator_length, "q -> l[na]", """
        l(q) of the transmission of each actuator with a control (rad, m).""", physical=False)
    actuator_moments = FunctionOf(actuation.actuator_moments, "q -> r[na,nv]", """
        r(q) with l̇ = r v and τ = rᵀ p for the actuators' forces p.""", physical=False)
    actuator_force = FunctionOf(actuation.actuator_force, "q v u -> p[na]", """
        p (N, N·m): the force of each actuator under its control u, or at its state u where it has one,
        within the ranges of both.""", physical=False)
    actuator_torque = FunctionOf(actuation.actuator_torque, "q v u -> tau[nv]", """
        τ = Σ rᵀ p (N·m, N): the generalised force of all actuators under their controls u, at each joint
        within its effort limit.""", physical=False)
    bias = FunctionOf(rnea.bias, "q v -> h[nv]", """
        h = c + g and the force of all springs (N·m, N), with friction and external wrenches as options.""",
        WITH_FORCES)
    inverse_dynamics_derivatives = FunctionOf(
        derivatives.inverse_dynamics_derivatives, "q v a -> dtau_dq[nv,nv] dtau_dv[nv,nv] M[nv,nv]", """
        ∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M of `inverse_dynamics`, in the tangent space.""", WITH_FRICTION,
        loops=loops.inverse_dynamics_derivatives)
    forward_dynamics_derivatives = FunctionOf(
        derivatives.forward_dynamics_derivatives, "q v tau -> da_dq[nv,nv] da_dv[nv,nv] M_inverse[nv,nv]", """
        ∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`, in the tangent space.""", WITH_FRICTION,
        loops=loops.forward_dynamics_derivatives)
    kinetic_energy = FunctionOf(energy.kinetic_energy, "q v -> T", """
        T = ½ vᵀ M v (J).""")
    potential_energy = FunctionOf(energy.potential_energy, "q -> U", """
        U(q) (J), zero with all mass at the world's origin and all springs at rest length.""", GRAVITY)
    center_of_mass = FunctionOf(centroidal.center_of_mass, "q -> com[3]", """
        Center of mass of all moving bodies, world axes (m).""")
    com_jacobian = FunctionOf(centroidal.com_jacobian, "q -> J[3,nv]", """
        J(q) with d(com)/dt = J v for the center of mass of all moving bodies, world axes.""")
    centroidal_momentum_matrix = FunctionOf(centroidal.centroidal_momentum_matrix, "q -> A[6,nv]", """
        A(q) with A v the momentum about the center of mass: angular (N·m·s), linear (N·s), world axes.""")
    centroidal_momentum = FunctionOf(centroidal.centroidal_momentum, "q v -> h[6]", """
        h = A v: angular momentum about the center of mass (N·m·s), then linear (N·s), world axes.""")
    centroidal_momentum_matrix_dot = FunctionOf(
        centroidal.centroidal_momentum_matrix_dot, "q v -> A_dot[6,nv]", """
        Ȧ(q, v) of `centroidal_momentum_matrix`: external forces change the momentum by ḣ = A a + Ȧ v.""")
    locked_inertia = FunctionOf(centroidal.locked_inertia, "q -> I[3,3]", """
        Rotational inertia about the center of mass with all joints locked, world axes (kg·m²).""")

    # Closed form: every matrix of the equations of motion, and its derivatives -------------------------

    closed_form = FunctionOf(closed_forms.closed_form, "q v -> M[nv,nv] C[nv,nv] g[nv]", """
        M, C and g of τ = M a + C v + g in one pass from the bodies' Jacobians; Ṁ = C + Cᵀ.""", GRAVITY)
    closed_form_dot = FunctionOf(
        closed_forms.closed_form_dot,
        "q v a -> M[nv,nv] C[nv,nv] g[nv] M_dot[nv,nv] C_dot[nv,nv] g_dot[nv]", """
        M, C and g of `closed_form`, and their time derivatives Ṁ, Ċ and ġ.""", GRAVITY)
    closed_form_ddot = FunctionOf(
        closed_forms.closed_form_ddot, "q v a a_dot -> M_ddot[nv,nv] C_ddot[nv,nv] g_ddot[nv]", """
        M̈, C̈ and g̈: the second time derivatives of `closed_form`.""", GRAVITY)
    closed_form_derivatives = FunctionOf(
        closed_form_state.closed_form_derivatives,
        "q v -> dM_dq[nv,nv,nv] dC_dq[nv,nv,nv] dC_dv[nv,nv,nv] dg_dq[nv,nv]", """
        ∂M/∂q, ∂C/∂q, ∂C/∂v and ∂g/∂q of `closed_form`, the last axis along each velocity.""", GRAVITY)
    coriolis_matrix_dot = FunctionOf(
        TimeDerivative(coriolis_terms.coriolis_matrix), "q v a -> C_dot[nv,nv]", """
        Ċ(q, v, a): the rate of `coriolis_matrix`.""")
    gravity_dot = FunctionOf(TimeDerivative(rnea.gravity), "q v -> g_dot[nv]", """
        ġ(q, v): the rate of `gravity` (N·m/s, N/s).""", GRAVITY)
    inverse_dynamics_dot = FunctionOf(
        TimeDerivative(rnea.inverse_dynamics), "q v a a_dot -> tau_dot[nv]", """
        τ̇: the rate of `inverse_dynamics` along a motion (N·m/s, N/s).""", WITH_FRICTION)
    inverse_dynamics_ddot = FunctionOf(
        TimeDerivative(TimeDerivative(rnea.inverse_dynamics)), "q v a a_dot a_ddot -> tau_ddot[nv]", """
        τ̈: the second rate of `inverse_dynamics` along a motion (N·m/s², N/s²): the feedforward of
        flexible joints.""", WITH_FRICTION)
    mass_matrix_derivatives = FunctionOf(christoffel.mass_matrix_derivatives, "q -> dM_dq[nv,nv,nv]", """
        ∂M/∂q, entry [i, j, k] along velocity k.""")
    coriolis_matrix_derivatives = FunctionOf(
        by_state.coriolis_matrix_derivatives, "q v -> dC_dq[nv,nv,nv] dC_dv[nv,nv,nv]", """
        ∂C/∂q and ∂C/∂v of `coriolis_matrix`, entry [i, j, k] along velocity k.""")
    gravity_derivatives = FunctionOf(by_state.gravity_derivatives, "q -> dg_dq[nv,nv]", """
        ∂g/∂q of `gravity`, in the tangent space.""", GRAVITY)
    christoffel_symbols = FunctionOf(christoffel.christoffel_symbols, "q -> symbols[nv,nv,nv]", """
        Γ(q) with C_ij = Σ_k Γ_ijk v_k the matrix of `coriolis_matrix`.""")
    coriolis_matrix_classic = FunctionOf(
        christoffel.coriolis_matrix_classic, "q v -> C_1[nv,nv] C_2[nv,nv] C_3[nv,nv]", """
        ½ (Ṁ + Uᵀ - U), Ṁ - ½ U and Uᵀ - ½ U with U_ij = Σ_k v_k ∂M_kj/∂q_i: three Coriolis matrices of
        textbooks, of which the first makes Ṁ - 2 C skew-symmetric.""")
    inverse_dynamics_second_derivatives = FunctionOf(
        by_state.inverse_dynamics_second_derivatives,
        "q v a -> d2tau_dqdq[nv,nv,nv] d2tau_dqdv[nv,nv,nv] d2tau_dvdv[nv,nv,nv] dM_dq[nv,nv,nv]", """
        ∂²τ/∂q∂q, ∂²τ/∂q∂v, ∂²τ/∂v∂v and ∂M/∂q of `inverse_dynamics`; the last axis is differentiated
        last.""", WITH_FRICTION)
    forward_dynamics_second_derivatives = FunctionOf(
        by_state.forward_dynamics_second_derivatives,
        "q v tau -> d2a_dqdq[nv,nv,nv] d2a_dqdv[nv,nv,nv] d2a_dvdv[nv,nv,nv] dM_inverse_dq[nv,nv,nv]", """
        ∂²a/∂q∂q, ∂²a/∂q∂v, ∂²a/∂v∂v and ∂M⁻¹/∂q of `forward_dynamics`; the last axis is differentiated
        last.""", WITH_FRICTION)
    mass_matrix_parameter_derivatives = FunctionOf(
        by_parameters.mass_matrix_parameter_derivatives, "q -> dM_dpi[nv,nv,10n]", """
        ∂M/∂π, entry [i, j, k] for the inertial parameter that `columns` names at k.""",
        columns=inertial_names)
    coriolis_matrix_parameter_derivatives = FunctionOf(
        by_parameters.coriolis_matrix_parameter_derivatives, "q v -> dC_dpi[nv,nv,10n]", """
        ∂C/∂π of `coriolis_matrix`, entry [i, j, k] for the inertial parameter that `columns` names at
        k.""", columns=inertial_names)
    closed_form_coriolis_parameter_derivatives = FunctionOf(
        closed_form_parameters.coriolis_parameter_derivatives, "q v -> dC_dpi[nv,nv,10n]", """
        ∂C/∂π of the C of `closed_form`, entry [i, j, k] for the inertial parameter that `columns` names at
        k.""", columns=inertial_names)
    gravity_parameter_derivatives = FunctionOf(
        by_parameters.gravity_parameter_derivatives, "q -> dg_dpi[nv,10n]", """
        ∂g/∂π of `gravity`; `columns` names the inertial parameters.""", GRAVITY, columns=inertial_names)

    # Regressors: linear in the parameters that `columns` names -----------------------------------------

    regressor = FunctionOf(regressors.regressor, "q v a -> Y[nv,10n]", """
        Y(q, v, a) with τ = Y π for the inertial parameters π.""", WITH_COLUMNS, columns=inertial_names)
    slotine_li_regressor = FunctionOf(regressors.slotine_li_regressor, "q v v_r a_r -> Y[nv,10n]", """
        Y with M a_r + C v_r + g = Y π, for the C of `coriolis_matrix`.""",
        WITH_COLUMNS, columns=inertial_names)
    closed_form_slotine_li_regressor = FunctionOf(
        closed_form_parameters.slotine_li_regressor, "q v v_r a_r -> Y[nv,10n]", """
        Y with M a_r + C v_r + g = Y π, for the C of `closed_form`.""",
        WITH_COLUMNS, columns=inertial_names)
    momentum_regressor = FunctionOf(regressors.momentum_regressor, "q v -> Y[nv,10n]", """
        Y with M v = Y π.""", COLUMNS, columns=inertial_names)
    momentum_rate_regressor = FunctionOf(regressors.momentum_rate_regressor, "q v -> Y[nv,10n]", """
        Y with τ = d/dt (M v) + Y π: the filtered-momentum form needs no acceleration.""",
        WITH_COLUMNS, columns=inertial_names)
    energy_regressor = FunctionOf(regressors.energy_regressor, "q v -> y[10n]", """
        y with T + U = y π, kinetic and potential energy (J).""", WITH_COLUMNS, columns=inertial_names)
    power_regressor = FunctionOf(regressors.power_regressor, "q v a -> y[10n]", """
        y with vᵀ τ = y π, the power (W).""", WITH_COLUMNS, columns=inertial_names)
    friction_regressor = FunctionOf(regressors.friction_regressor, "v -> Y[nv,3nv]", """
        Y with friction = Y (damping, Coulomb friction, offset).""",
        ("smoothing", *COLUMNS), columns=friction_names)
    elastic_regressor = FunctionOf(elastic.elastic_regressor, "q v -> Y[nv,3e]", """
        Y with the torque of springs and dampers between points of links = Y (k, k d₀, c of each).""",
        COLUMNS, columns=elastic.elastic_names)
    armature_regressor = FunctionOf(regressors.armature_regressor, "a -> Y[nv,nv]", """
        Y with the armatures' torque = Y armature.""", COLUMNS, columns=armature_names)

    # Configuration --------------------------------------------------------------------------------------

    integrate = FunctionOf(configuration.integrate, "q dv -> q[nq]", """
        q ⊕ dv: move along a tangent vector; quaternions stay unit.""", physical=False)
    difference = FunctionOf(configuration.difference, "q0 q1 -> dv[nv]", """
        dv with integrate(q0, dv) = q1 (rad, m).""", physical=False)
    link_positions = FunctionOf(configuration.link_positions, "q -> q_link[nq_link]", """
        Positions of the links: θ + δ of motor and spring at a flexible joint; q as if all joints were
        stiff.""", physical=False)
    link_velocities = FunctionOf(configuration.link_velocities, "v -> v_link[nv_link]", """
        Velocities of the links: θ̇ + δ̇ of motor and spring at a flexible joint; v as if all joints were
        stiff. Accelerations are mapped in the same way.""", physical=False)

    mixed_velocity_matrix = FunctionOf(kinematics.mixed_velocity_matrix, "q -> T[nv,nv]", """
        T(q) of u = T v with u = (I_v_B, B_ω, φ̇) of a floating base: the velocity of the base's origin in
        world axes (m/s), then its angular velocity in body axes (rad/s), as in MuJoCo; other joints
        unchanged. With it M_u = T⁻ᵀ M T⁻¹ and J_u = J T⁻¹.""", physical=False)

    # Frames ---------------------------------------------------------------------------------------------

    pose = FrameFunctionOf(frames.of_frame, kinematics.pose, "q -> T[4,4]", """
        T(q) = [R p; 0 1]: the frame of a link seen from the world.""", physical=False)
    jacobian = FrameFunctionOf(frames.of_reference, kinematics.jacobian, "q -> J[6,nv]", """
        J(q) with twist (ω, v) = J v of a link's frame (rad/s, m/s).""", physical=False)
    jacobian_dot = FrameFunctionOf(frames.of_reference, kinematics.jacobian_dot, "q v -> J_dot[6,nv]", """
        J̇(q, v): the rate of a frame's Jacobian.""", physical=False)
    jacobian_ddot = FrameFunctionOf(
        frames.of_reference, kinematics.jacobian_ddot, "q v a -> J_ddot[6,nv]", """
        J̈(q, v, a): the second rate of a frame's Jacobian.""", physical=False)
    velocity = FrameFunctionOf(frames.of_reference, kinematics.velocity, "q v -> twist[6]", """
        Twist (ω, v) = J v of a link's frame (rad/s, m/s).""", physical=False)
    acceleration = FrameFunctionOf(frames.of_reference, kinematics.acceleration, "q v a -> twist_dot[6]", """
        J a + J̇ v: the rate of the twist's components (rad/s², m/s²). In "world_aligned" this is the classical
        acceleration of the frame's origin, in "world" and "body" the spatial one.""", physical=False)
    jacobian_dot_times_velocity = FrameFunctionOf(
        frames.of_reference, task_space.jacobian_dot_times_velocity, "q v -> J_dot_v[6]", """
        J̇ v: the rate of the twist (rad/s², m/s²) when no joint accelerates.""", physical=False)
    sensor_wrench = FrameFunctionOf(
        frames.of_sensor, transmitted.sensor_wrench, "q v a -> w[6]", """
        (n, f) (N·m, N): what a six-axis force/torque sensor at a frame measures, about the frame's origin in
        its axes: the wrench that carries all beyond it.""", GRAVITY)
    wrench_regressor = FrameFunctionOf(
        frames.of_carried_frame, transmitted.wrench_regressor, "q v a -> Y[6,10n]", """
        Y with Y π the wrench (n, f) (N·m, N) that the joint of a frame's body transmits, about the frame's
        origin in its axes.""", WITH_COLUMNS, columns=inertial_names)

    # Task space: F = Λ ẍ + μ + p ------------------------------------------------------------------------

    task_inertia = FrameFunctionOf(frames.of_task, task_space.task_inertia, "q -> Lambda[rows,rows]", """
        Λ = (J M⁻¹ Jᵀ)⁻¹: the inertia of the task space (kg, kg·m²).

        >>> import helicoid as hc
        >>> hc.load("planar_2r").task_inertia("tip", rows=(3, 5))([0.0, 1.0]).shape
        (2, 2)""")
    task_coriolis = FrameFunctionOf(frames.of_task, task_space.task_coriolis, "q v -> mu[rows]", """
        μ of F = Λ ẍ + μ + p: Coriolis and centrifugal force on the task (N, N·m).""")
    task_coriolis_matrix = FrameFunctionOf(
        frames.of_task, task_space.task_coriolis_matrix, "q v -> C_task[rows,rows]", """
        J̄ᵀ C J̄ - Λ J̇ J̄: the Coriolis matrix of the task space, with Λ̇ - 2 C_task skew-symmetric; C_task ẋ is
        `task_coriolis` where the task has as many rows as velocities move it.""")
    task_gravity = FrameFunctionOf(frames.of_task, task_space.task_gravity, "q -> p[rows]", """
        p of F = Λ ẍ + μ + p: the force that balances gravity in the task space (N, N·m).""", GRAVITY)
    task_dynamics = FrameFunctionOf(
        frames.of_task, task_space.task_dynamics, "q v -> Lambda[rows,rows] mu[rows] p[rows]", """
        Λ, μ and p of F = Λ ẍ + μ + p in one evaluation (kg and kg·m²; N and N·m).""", GRAVITY)
    dynamically_consistent_inverse = FrameFunctionOf(
        frames.of_task, task_space.dynamically_consistent_inverse, "q -> J_bar[nv,rows]", """
        J̄ = M⁻¹ Jᵀ Λ with J J̄ = 1.""")
    null_space_projector = FrameFunctionOf(
        frames.of_task, task_space.null_space_projector, "q -> N[nv,nv]", """
        N = 1 - J̄ J: J N = 0, and Nᵀ τ does not accelerate the task.""")
    task_coordinates = FrameFunctionOf(
        frames.of_coordinates, coordinates.task_coordinates, "q -> chi[rows]", """
        χ: a frame's position (m, rad), then its orientation, seen from the world.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> print(robot.task_coordinates("tip", orientation=None, position="spherical")([0.0, 0.0]))
        [1.8 0. 1.5708]""", physical=False)
    analytic_jacobian = FrameFunctionOf(
        frames.of_coordinates, coordinates.analytic_jacobian, "q -> J_A[rows,nv]", """
        J_A with χ̇ = J_A v for the coordinates χ of `task_coordinates`.""", physical=False)
    analytic_task_dynamics = FrameFunctionOf(
        frames.of_minimal_coordinates, task_space.task_dynamics,
        "q v -> Lambda[rows,rows] mu[rows] p[rows]", """
        Λ, μ and p of F = Λ χ̈ + μ + p with τ = J_Aᵀ F, in minimal coordinates χ of the frame.""", GRAVITY)

    # Constraints: M a + h + Aᵀ λ = τ with A a + Ȧ v = 0 -------------------------------------------------

    constraint_position = FunctionOf(constraints.constraint_position, "q -> phi[k]", """
        φ(q): the residual of the constraints (m, rad); 0 if Pfaffian.""", physical=False, knows=CONSTRAINTS)
    constraint_jacobian = FunctionOf(constraints.constraint_jacobian, "q -> A[k,nv]", """
        A(q) with A v = 0, and φ̇ = A v where there is a φ.""", physical=False, knows=CONSTRAINTS)
    constraint_bias = FunctionOf(constraints.constraint_bias, "q v -> A_dot_v[k]", """
        Ȧ v: the acceleration of the constraints at zero joint acceleration.""",
        physical=False, knows=CONSTRAINTS)
    constrained_forward_dynamics = FunctionOf(
        constrained.forward_dynamics, "q v tau -> a[nv] lambda_[k]", """
        a and λ of M a + h + Aᵀ λ = τ, A a + Ȧ v = 0: the acceleration (rad/s², m/s²) that a force causes, and
        the force of the robot on its constraints (N, N·m).""",
        (*WITH_FORCES, "stabilisation"), knows=CONSTRAINTS)
    constrained_inverse_dynamics = FunctionOf(
        constrained.inverse_dynamics, "q v a -> tau[nu] lambda_[k]", """
        τ and λ of M a + h + Aᵀ λ = Sᵀ τ: the least-norm force of the actuators (N·m, N) for an admissible
        acceleration.""", WITH_FORCES, knows=ACTUATED)
    constraint_projector = FunctionOf(constrained.projector, "q -> P[nv,nv]", """
        P = 1 - Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹: P τ is the part of a force that accelerates the robot.""",
        knows=CONSTRAINTS)
    constraint_null_space = FunctionOf(constrained.null_space, "q -> N_c[nv,nv]", """
        N_c = Pᵀ of `constraint_projector`: N_c v is the admissible part of a velocity, A N_c = 0.""",
        knows=CONSTRAINTS)
    constraint_consistent_dynamics = FunctionOf(
        constrained.consistent_dynamics, "q v -> M_c[nv,nv] h_c[nv] S_c[nv,nu]", """
        N_cᵀ M, N_cᵀ h and N_cᵀ Sᵀ of N_cᵀ (M a + h) = N_cᵀ Sᵀ τ, the dynamics without λ.""",
        WITH_FRICTION, knows=ACTUATED)
    impact = FunctionOf(constrained.impact, "q v -> v_plus[nv] impulse[k]", """
        v⁺ and Λ of M (v⁺ - v) + Aᵀ Λ = 0, A v⁺ = 0: the velocity after an inelastic impact that closes the
        constraints, and its impulse (N·s, N·m·s).""", ("restitution",), knows=CONSTRAINTS)
    project_velocity = FunctionOf(constrained.allowed_velocity, "q v -> v_allowed[nv]", """
        N_c v: the admissible velocity nearest to v in the kinetic-energy norm.""", knows=CONSTRAINTS)
    constrained_jacobian_inverse = FrameFunctionOf(
        frames.of_rows, constrained.jacobian_inverse, "q -> J_inverse[nv,rows]", """
        N_c (J N_c)⁺: u = N_c (J N_c)⁺ w is the admissible velocity with the twist J u = w (rad/s, m/s) of a
        frame, or the nearest to it.""", knows=CONSTRAINTS)
    tip_force = FrameFunctionOf(frames.of_force, constrained.task_force, "q v tau -> f[rows]", """
        f with Jᵀ f = Aᵀ λ: the force of the robot on its constraints at a frame (N, N·m).""",
        WITH_FRICTION, knows=CONSTRAINTS)

    # fmt: on


PLAIN = tuple(name for name, member in vars(Catalog).items() if isinstance(member, FunctionOf))
"""Names of the functions that need no frame, in the order of the catalog."""
OF_FRAMES = tuple(name for name, member in vars(Catalog).items() if isinstance(member, FrameFunctionOf))
"""Names of the functions that belong to a frame, in the order of the catalog."""

__test__ = {name: vars(Catalog)[name].__doc__ for name in OF_FRAMES}  # examples that doctest runs
