"""Identities of the equations of the lecture slides."""

from __future__ import annotations

from document_identities.quotient import MOVED

IDENTITIES: dict[str, tuple[str, ...]] = {
    "inverse dynamics in closed form": (
        "close(value, planar.mass_matrix(q2) @ a2 + v2 @ "
        "np.transpose(planar.christoffel_symbols(q2), (0, 2, 1)) "
        "@ v2 + planar.gravity(q2))",
    ),
    "viscous and Coulomb friction": (
        "close(value - planar.inverse_dynamics(q2, v2, a2), 0.5 * v2 + np.sign(v2), atol=1e-6)",
    ),
    "centripetal and Coriolis terms": (
        "close(value, 0.8 * np.sin(q2[1]) * np.array([-(2 * v2[0] * v2[1] + v2[1] ** 2), v2[0] ** 2]))",
    ),
    "mass at the end-effector": (
        "close(value, np.linalg.inv((J := planar.jacobian('tip', 'world_aligned')(q2)[[3, 5]]).T) "
        "@ planar.mass_matrix(q2) @ np.linalg.inv(J))",
    ),
    "terms by Newton-Euler": ("close(value, planar.inverse_dynamics(q2, v2, np.zeros(2)))",),
    "forward dynamics": ("close(planar.inverse_dynamics(q2, v2, value), tau2)",),
    "bounds of M, c and g": (
        "np.isclose(value.gravity.value, (2.5 * 1.0 + 2 * 1.0 * 0.8) * 9.81, rtol=1e-3)",
        "np.isclose(value.mass_upper.value, 2.5 + 2 * 0.64 + 3 * 0.8, rtol=1e-3)",
        "np.isclose(value.christoffel.value, 4 * 0.8, rtol=1e-3)",
    ),
    "three Coriolis matrices, U": (
        "all(close(C @ v2, planar.coriolis(q2, v2)) for C in value)",
        "close(value[0], planar.coriolis_matrix(q2, v2))",
    ),
    "skew symmetry, passivity": ("close(value, -value.T)",),
    "gravitational terms": (
        "close(value, 9.81 * np.array([2.5 * np.cos(q2[0]) + 0.8 * np.cos(sum(q2)), 0.8 * np.cos(sum(q2))]))",
    ),
    "dynamics in task space": (
        "close(planar.jacobian('tip', 'world_aligned')(q2)[[3, 5]].T @ value[2], planar.gravity(q2))",
    ),
    "Coriolis matrix of the task space": (
        "close(value @ planar.jacobian('tip', 'world_aligned')(q2)[[3, 5]] @ v2, "
        "planar.task_coriolis('tip', rows=(3, 5))(q2, v2))",
    ),
    "J̇ in space and body": (
        "close(value[:, 1], v[0] * spatial.motion_cross((J := robot.jacobian('tool0', "
        "'world')(q))[:, 0]) @ J[:, 1])",
    ),
    "constrained forward dynamics": (
        "close(planar.mass_matrix(q_c) @ value[0] + planar.bias(q_c, v_c) "
        "+ channel.constraint_jacobian(q_c).T @ value[1], tau2)",
        "close(channel.constraint_jacobian(q_c) @ value[0] + channel.constraint_bias(q_c, v_c), 0)",
    ),
    "projection P": (
        "close(value, np.eye(2) - (A := channel.constraint_jacobian(q_c)).T @ np.linalg.inv(A "
        "@ (W := np.linalg.inv(planar.mass_matrix(q_c))) @ A.T) @ A @ W)",
    ),
    "projection of accelerations": ("close(value, channel.constraint_projector(q_c).T)",),
    "force on the constraint at the tip": (
        "close(value, [channel.constrained_forward_dynamics(q_c, v_c, tau2)[1][0], 0], atol=1e-9)",
    ),
    "centripetal and Coriolis accelerations of m₂": (
        "close(value, [-(v2[0] ** 2), -0.8 * v2[0] ** 2 - 0.8 * v2[1] ** 2 - 1.6 * v2[0] * v2[1]])",
    ),
    "principal axes of the effective mass": (
        "close(value[1] @ np.diag(value[0]) @ value[1].T, planar.task_inertia('tip', rows=(3, 5))(q2))",
    ),
    "work against gravity": (
        "np.isclose(value, np.diff(planar.potential_energy(np.sin(θ[[0, -1], :2])))[0], rtol=1e-3)",
    ),
    "example of the channel: forward dynamics": (
        "close(value[0], [0.5 * tau2[0] + 0.289, -1.155], atol=1e-3)",
        "close(value[1], 0.289 * tau2[0] - 1.155 * tau2[1] - 0.167, atol=2e-3)",
    ),
    "example of the channel: inverse dynamics": (
        "close(value, [2 * 0.7 - 0.578, 0.5 * 0.7 - 0.866 * 0.3 - 0.289], atol=1e-3)",
    ),
    "example of the channel: projection P": ("close(value, [[1, 0], [0.25, 0]])",),
    "identification of a payload": ("np.isclose(value, 0.5, rtol=0.01)",),
    "disturbance torque": (
        "close(value, hc.simulate(planar, q2, v2, duration=0.1, controller=1.1 * tau2).v)",
    ),
    "effective mass of the example": (
        "close(value, np.linalg.inv(J := np.array([[0, -np.sqrt(3) / 2], [1, 0.5]])).T @ [[2, 0.5], [0.5, "
        "1]] "
        "@ np.linalg.inv(J))",
    ),
    "c from the kinetic energy": ("close(value, planar.coriolis(q2, v2))",),
    "column of M by Newton-Euler": ("close(value, planar.mass_matrix(q2)[:, 0])",),
    "Jᵀ F_tip by Newton-Euler": ('close(value, planar.jacobian("tip", "body")(q2).T @ wrench)',),
    "b with F_tip by Newton-Euler": (
        'close(value, planar.bias(q2, v2) + planar.jacobian("tip", "body")(q2).T @ wrench)',
    ),
    "numerical simulation with a force at the tip": (
        "close(value[-1], (v1 := v2 + 0.01 * (F := lambda q, v: planar.forward_dynamics(q, v, tau2, "
        "f_ext={'tip': -wrench}))(q2, v2)) + 0.01 * F(q2 + 0.01 * v2, v1))",
    ),
    "example: M, c and g of the 2R arm": (
        "close(value[0], [[1.5 + 1 + 1.6 * (c := np.cos(q2[1])) + 0.64, 0.8 * c + 0.64], [0.8 * c + 0.64, "
        "0.64]])",
        "close(value[1], 0.8 * np.sin(q2[1]) * np.array([-2 * v2[0] * v2[1] - v2[1] ** 2, v2[0] ** 2]))",
    ),
    "example: bounds for angles within π/2": (
        "close([b.value for b in (value.mass_lower, value.mass_upper, value.coriolis, value.gravity)], [2.5 "
        "+ "
        "1.28, 2.5 + 1.28 + 2.4, 0.8, 9.81 * 4.1], rtol=1e-3)",
        "np.isclose(value.christoffel.value, 4 * 0.8, rtol=1e-3)",
    ),
    "U by the Kronecker product": (
        "close(planar.coriolis_matrix(q2, v2), (planar.mass_matrix_dot(q2, v2) + value.T - value) / 2)",
    ),
    "example: regressor of the masses and of friction": (
        "close(value @ [1.5, 1, 1, 0.5, 1, 0.5], planar.with_joints(damping=0.5, "
        "friction=1.0).inverse_dynamics(q2, v2, a2, friction=True), atol=1e-6)",
        "close(value[0, :4], [a2[0] + 9.81 * np.cos(q2[0]), (1.64 + 1.6 * np.cos(q2[1])) * a2[0] + (0.64 + "
        "0.8 * np.cos(q2[1])) * a2[1] - 0.8 * (2 * v2[0] * v2[1] + v2[1] ** 2) * np.sin(q2[1]) + 9.81 * "
        "np.cos(q2[0]) + 7.848 * np.cos(sum(q2)), np.sign(v2[0]), v2[0]], atol=1e-6)",
    ),
    "joint accelerations of task accelerations": (
        'close(planar.acceleration("tip", "world_aligned")(q2, v2, value)[[3, 5]], a2)',
    ),
    "task space, linear in the parameters": (
        "close(value, (m := planar.task_dynamics('tip', rows=(3, 5))(q2, v2))[0] @ "
        "planar.acceleration('tip', "
        "'world_aligned')(q2, v2, a2)[[3, 5]] + m[1] + m[2])",
    ),
    "∂J_i/∂θ_j of the body Jacobian": (
        'close(value.reshape(6, 3, 3)[:, 0, 2], spatial.motion_cross((J := robot.jacobian("tool0", '
        '"body")(q))[:, 0]) @ J[:, 2])',
    ),
    "torque against the constraint": (
        "np.linalg.matrix_rank([value, channel.constraint_jacobian(q_c)[0]], tol=1e-9) == 1",
    ),
    "Lagrange multipliers": (
        "close(value, np.linalg.solve((A := channel.constraint_jacobian(q_c)) @ (W := "
        "np.linalg.inv(planar.mass_matrix(q_c))) @ A.T, A @ W @ (tau2 - planar.bias(q_c, v_c)) + "
        "channel.constraint_bias(q_c, v_c)))",
    ),
    "example of the channel: force at the tip": (
        "close(value, [0.289 * tau2[0] - 1.155 * tau2[1] - 0.167, 0], atol=2e-3)",
    ),
    "example of the channel: A and Ȧ θ̇": (
        "close(value[0], [[0, -0.866]], atol=1e-3) and close(value[1], -1)",
    ),
    "left pseudo-inverse of the stacked regressor": ("close(robot.regressor(*motion) @ value, log.tau)",),
    "parameters in linear combinations": ("len(value) > 0",),
    "URDF of a joint whose axis is no unit vector": (
        "close(value, np.array([-0.9, 0.15, 0]) / np.hypot(0.9, 0.15))",
    ),
    "wrench at the tip": (
        "close(value, planar.inverse_dynamics(q2, v2, a2) - planar.inverse_dynamics(q2, v2, a2, "
        "f_ext={'tip': wrench}))",
    ),
    "mass matrix from body Jacobians": (
        "close(value[0], sum((J := planar.jacobian(link, 'body')(q2)).T @ "
        "spatial.inertia_from_parameters(b.inertia.parameters) @ J for link, b in zip(['link_1', "
        "'link_2'], planar.model.bodies)))",
    ),
    "Lagrangian formulation": (
        f"close({MOVED}(lambda h: planar.kinetic_energy.jacobian('v')(q2 + h * v2, v2 + h * a2), 1e-6) - "
        "planar.kinetic_energy.jacobian('q')(q2, v2) + planar.potential_energy.jacobian('q')(q2), "
        "planar.inverse_dynamics(q2, v2, a2), atol=1e-6)",
        "np.isclose(value, v2 @ planar.mass_matrix(q2) @ v2 / 2 - planar.potential_energy(q2))",
    ),
    "Christoffel symbols": (
        "close(value, 0.8 * np.sin(q2[1]) * np.array([[[0, -1], [-1, -1]], [[1, 0], [0, 0]]]))",
    ),
    "numerical simulation, Euler's method": ("close(value[1], q2 + 1e-3 * v2)",),
    "linearity in the parameters, regressor": (
        "close(value @ [1.5, 1.0] + planar.regressor(q2, v2, a2) @ np.where(np.isin(np.arange(20), [0, "
        "10]), 0, planar.parameters.values), planar.inverse_dynamics(q2, v2, a2))",
    ),
    "friction columns of the regressor": (
        "close(value @ [0.5, 0.5, 1, 1, 0, 0], planar.with_joints(damping=0.5, "
        "friction=1.0).inverse_dynamics(q2, v2, a2, friction=True) - planar.inverse_dynamics(q2, v2, a2),"
        " atol=1e-6)",
    ),
    "task space in minimal coordinates": (
        "close(robot.analytic_jacobian('tool0', orientation=None)(q).T @ (value[0] @ (J := "
        "robot.jacobian('tool0', 'world_aligned')(q)[3:]) @ (2 * v) + value[0] @ "
        "robot.jacobian_dot_times_velocity('tool0', 'world_aligned')(q, v)[3:] + value[1] + value[2]), "
        "robot.inverse_dynamics(q, v, 2 * v))",
    ),
    "constrained inverse dynamics": (
        "close(channel.constrained_forward_dynamics(q_c, v_c, value[0])[0], "
        "channel.constrained_forward_dynamics(q_c, v_c, tau2)[0])",
    ),
    "actuators and gears": ("close(value, planar.mass_matrix(q2) + 0.01 * np.eye(2))",),
    "flexible joints": ("value == 3",),
    "identification by least squares": ("close(value, log.tau, atol=1e-3)",),
    "URDF": (
        "close((again := hc.load('arm.urdf')).mass_matrix(q2), planar.mass_matrix(q2)) and "
        "close(again.gravity(q2), planar.gravity(q2))",
    ),
}
