"""Identities of the equations of the summary of a course."""

from __future__ import annotations

from document_identities.quotient import MOVED

IDENTITIES: dict[str, tuple[str, ...]] = {
    "0 cylindrical coordinates": ("close(value, [np.cos(0.4), np.sin(0.4), 0.3])",),
    "0 spherical coordinates": (
        "close(value, [np.cos(0.4) * np.sin(0.3), np.sin(0.4) * np.sin(0.3), np.cos(0.3)])",
    ),
    "1.1 E of cylindrical coordinates": ("close(value[:2, 1], [-np.sin(0.4), np.cos(0.4)])",),
    "1.3.1 Euler angles ZYX": (
        "close(value, [np.arctan2(R[1, 0], R[0, 0]), np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2])), "
        "np.arctan2(R[2, 1], R[2, 2])])",
    ),
    "1.3.3 quaternion of a rotation matrix, and back": (
        "close(value, np.eye(3) + 2 * ξ[0] * so3.hat(ξ[1:]) + 2 * so3.hat(ξ[1:]) @ so3.hat(ξ[1:]))",
    ),
    "1.3.3 product, M_l and M_r": ("close(value @ np.append(0, x), np.append(0, R @ x))",),
    "1.3.3 rotation of a vector": ("close(value, R @ x)",),
    "1.4 angular velocity, E of quaternions": (
        "close(value, 2 * np.column_stack([-ξ[1:], so3.hat(ξ[1:]) + ξ[0] * np.eye(3)]))",
    ),
    "1.4.1 E of angle and axis": (
        "close(value, np.column_stack([axis, np.sin(angle) * np.eye(3) + (1 - np.cos(angle)) "
        "* so3.hat(axis)]))",
    ),
    "1.2.2 elementary rotations": (
        "close(value, [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])",
    ),
    "1.6.5 from the analytic to the geometric Jacobian, E_e": (
        "close(value @ robot.analytic_jacobian('tool0', orientation='rpy')(q)[3:], "
        "robot.jacobian('tool0', 'world_aligned')(q)[:3])",
    ),
    "1.7.1 null-space projection N": (
        "close(robot.jacobian('tool0', 'world_aligned')(q)[3:5] @ value, 0)",
        "close(value @ value, value)",
    ),
    "1.7.4 trajectory control": ("close(robot.jacobian('tool0', 'world_aligned')(q)[3:] @ value, 0.05)",),
    "1.6.5 geometric Jacobian": (
        'close(value[:3, 0], np.cross(value[3:, 0], robot.pose("tool0")(q)[:3, 3] - '
        'robot.pose("link_1")(q)[:3, 3]))',
    ),
    "2 equations of motion": ("close(value, robot.inverse_dynamics(q, v, a))",),
    "2.3.2 elastic elements": (
        "close(value, robot.with_spring('world', 'link_2', 200.0, 0.3, point_a=(0, 0, 1))"
        ".potential_energy.jacobian('q')(q) - robot.potential_energy.jacobian('q')(q))",
    ),
    "2.3.2 potential energy": ("close(robot.potential_energy.jacobian('q')(q), robot.gravity(q))",),
    "2.5 impedance with gravity compensation": ("close(value, 50 * 0.01 - 5 * v + robot.gravity(q))",),
    "2.5 inverse dynamics control": ("close(value, robot.mass_matrix(q) @ (-20.0 * v) + robot.bias(q, v))",),
    "2.6.2 end-effector dynamics Λ, μ, p": (
        "close(value[0], np.linalg.inv((J := robot.jacobian('tool0', 'world_aligned')(q)[3:]) "
        "@ np.linalg.inv(robot.mass_matrix(q)) @ J.T))",
        "close(robot.jacobian('tool0', 'world_aligned')(q)[3:].T @ value[2], robot.gravity(q))",
    ),
    "3.1 generalised velocity of a floating base": (
        "close(value[:3], v_w[3:6]) and close(value[3:6], v_w[:3]) and close(value[6:], v_w[6:])",
    ),
    "3.1.3 contact Jacobian": (
        "np.linalg.matrix_rank(value) == 6 and np.linalg.matrix_rank(value[:, :6]) == 5",
    ),
    "3.1.4 velocities that keep the contacts": ("close(feet.constraint_jacobian(q_w) @ value, 0)",),
    "3.2 selection matrix S": ("close(value @ v_w, v_w[6:])",),
    "3.2 contact forces": (
        "close(feet.constraint_jacobian(q_w) @ value[0] + feet.constraint_bias(q_w, v_w), 0, atol=1e-6)",
    ),
    "3.2.1 null-space matrix N_c": ("close(feet.constraint_jacobian(q_w) @ value, 0, atol=1e-8)",),
    "4.1 body rates and Euler angles": (
        "close(value[:, 2], [-np.sin(0.2), np.sin(0.3) * np.cos(0.2), np.cos(0.3) * np.cos(0.2)])",
    ),
    "4.1.1 rotor numbering, moments": (
        "close(value, [[(k := 8.5e-6)] * 4, [0, -0.2 * k, 0, 0.2 * k], [0.2 * k, 0, -0.2 * k, 0], "
        "[1.4e-7, -1.4e-7, 1.4e-7, -1.4e-7]], atol=1e-15)",
    ),
    "4.3.1 momentum theory, slipstream": (
        "np.isclose(5.0, 2 * 1.225 * 0.03 * (1.0 + value.induced) * value.induced)",
        "np.isclose(value.wake, 2 * value.induced) and np.isclose(value.power, 5.0 * (1.0 + value.induced))",
    ),
    "4.3.1 power in hover": ("np.isclose(value, 5.0**1.5 / np.sqrt(2 * 1.225 * 0.03))",),
    "4.3.1 disc loading": (
        "np.isclose(hc.aerial.hover_power(5.0, 0.03), 5.0 * np.sqrt(value / (2 * 1.225)))",
    ),
    "4.3.1 figure of merit": (
        "np.isclose(value, hc.aerial.hover_power((r := propeller.performance(0.0, 5000.0)).thrust, "
        "np.pi * 0.1**2) / r.power)",
    ),
    "6.4 steady level turn, load factor": (
        "np.isclose(value * np.cos(0.5), 1)",
        "abs(np.tan((turn := plane.trim(speed=25.0, turn_rate=0.2)).roll) * 9.81 / 25.0 - 0.2) < 0.02",
    ),
    "6.4 stall speed in a turn": (
        "np.isclose(value, hc.aerial.stall_speed(11.0, 0.55, 1.4) * np.sqrt(1 / np.cos(0.5)))",
        "np.isclose(plane.stall_speed, hc.aerial.stall_speed(plane.robot.mass, plane.wing.area, "
        "plane.max_lift, plane.air.density))",
    ),
    "6.4 heading rate": ("np.isclose(25.0 * value, 9.81 * np.tan(0.5))",),
    "6.4.1 L1 guidance": ("np.isclose(value, 20.0**2 / (40.0 / (2 * np.sin(0.5))))",),
    "6.4.1 bank angle of a turn": ("np.isclose(hc.aerial.turn_rate(20.0, value), 20.0 / 100.0)",),
    "6.4.2 total energy control (TECS)": (
        "np.isclose(value.total + value.distribution, 2 * np.sin(0.1))",
        "np.isclose(value.total - value.distribution, 2 * 0.5 / 9.81)",
    ),
    "1.1 E⁻¹ of cylindrical coordinates": (
        "close(value[:2], [[np.cos(0.4), np.sin(0.4), 0], [-np.sin(0.4), np.cos(0.4), 0]])",
    ),
    "1.1 E⁻¹ of spherical coordinates": (
        "close(value[1], [-np.sin(0.4) / np.sin(0.3), np.cos(0.4) / np.sin(0.3), 0])",
    ),
    "1.3.1 rotation matrix of Euler angles": (
        "close(value, so3.from_angle_axis(0.3, [0, 0, 1]) @ so3.from_angle_axis(0.2, [0, 1, 0]) @ "
        "so3.from_angle_axis(0.1, [1, 0, 0]))",
    ),
    "1.3.1 proper Euler angles, Cardan angles": (
        'close(euler.from_euler(value[0], "zxz"), R) and close(euler.from_euler(value[1], "xyz"), R)',
    ),
    "1.3.2 rotation matrix of angle and axis": (
        "close(value, np.cos(angle) * np.eye(3) + np.sin(angle) * so3.hat(axis) + (1 - np.cos(angle)) * "
        "np.outer(axis, axis))",
    ),
    "1.3.3 quaternion of a rotation vector": (
        "close(value, [np.cos(angle / 2), *np.sin(angle / 2) * axis])",
    ),
    "1.3.3 inverse of a quaternion": ("close(quaternion.multiply(ξ, value), [1, 0, 0, 0])",),
    "1.4 angular velocity of a rotating frame": (
        f'close(so3.hat(value), {MOVED}(lambda h: robot.pose("tool0")(q + h * v)[:3, :3], 1e-6) @ '
        'robot.pose("tool0")(q)[:3, :3].T, atol=1e-7)',
    ),
    "1.4 product matrix in another frame": ("close(value, so3.hat(R.T @ x))",),
    "1.5 Euler differentiation rule": (
        f'close(value, {MOVED}(lambda h: (T := robot.pose("tool0")(q + h * v))[:3, :3].T @ T[:3, 3], 1e-6) + '
        'np.cross(robot.velocity("tool0", "body")(q, v)[:3], (T := robot.pose("tool0")(q))[:3, :3].T @ T[:3, '
        "3]), atol=1e-7)",
    ),
    "1.7.1 Moore-Penrose pseudo-inverse": ("close(value, J.T @ np.linalg.solve(J @ J.T, b[:2]))",),
    "1.7.3 algorithm 1, damped or scaled": (
        'value.success and close(robot.pose("tool0")(value.q)[:3, 3], reachable, atol=1e-5)',
    ),
    "1.7.3 Jacobi-transposed method": (
        'np.linalg.norm((to := lambda q: robot.pose("tool0")(q)[:3, 3] - reachable)(value.q)) '
        "< 0.01 * np.linalg.norm(to(q))",
    ),
    "1.7.4 trajectory control of the orientation": (
        "close((J := robot.jacobian('tool0', 'body')(q)[:3]) @ value, J @ np.linalg.pinv(J) @ [5e-3, 0, 0], "
        "atol=1e-7)",
    ),
    "2.3 Hamiltonian": (
        f"np.isclose({MOVED}(lambda h: robot.kinetic_energy(q + h * v, v + h * robot.forward_dynamics(q, v, "
        "tau)) + robot.potential_energy(q + h * v), 1e-6), tau @ v)",
    ),
    "2.3.1 generalised momentum": ('close(value, robot.kinetic_energy.jacobian("v")(q, v))',),
    "2.4.1 external torques": (
        'close(value, robot.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a, f_ext={"tool0": [*x, '
        '0, 0, 0]}, expressed_in="world"))',
    ),
    "2.4.1 torque of a motor between two links": ("close(value, [0, 3, 0])",),
    "2.5 eigenfrequency and damping": (
        "close(value, robot.mass_matrix(q) @ (100 * 0.01 - 2 * 0.7 * 10 * v) + robot.bias(q, v))",
    ),
    "2.6 acceleration of the joints for one of the end-effector": (
        'close(robot.acceleration("tool0", "world_aligned")(q, v, value)[3:], x)',
    ),
    "2.6 stacked least squares of q̈ and τ": ("close(robot.inverse_dynamics(q, v, value[:3]), value[3:])",),
    "3.1.3 acceleration of the contacts": (
        "close(value[:3], walker.acceleration('FL_foot', 'world_aligned')(q_w, v_w, a_w)[3:])",
    ),
    "3.1.4 task in contact, N_c (J_t N_c)⁺ w": ("close(J_c @ value, 0)",),
    "3.2.1 equations of motion without the contact forces": ("close(value, 0, atol=1e-6)",),
    "4.1.1 rotational and translational dynamics": (
        "close(value[:3], [(v_f[1] * v_f[2] * (0.007 - 0.012) + moment[0]) / 0.007, (v_f[2] * v_f[0] * "
        "(0.012 "
        "- 0.007) + moment[1]) / 0.007, moment[2] / 0.012])",
        "close(value[3:], np.cross(v_f[3:], v_f[:3]) + quaternion.to_matrix(q_f[3:]).T @ [0, 0, -9.81] + [0, "
        "0, thrust / 0.7])",
    ),
    "5.1.1 error of the attitude e_R": ("close(value, np.sin(angle) * axis)",),
    "6.2 course and heading in wind": (
        "abs(value.course) < 1e-3 and np.isclose(value.heading, np.arctan(5 / 25), atol=1e-3)",
    ),
    "6.2 aspect ratio": ("np.isclose(value, plane.wing.span / (plane.wing.area / plane.wing.span))",),
    "6.4 radius of a turn": ("np.isclose(25.0**2 / value, 9.81 * hc.aerial.load_factor(0.5) * np.sin(0.5))",),
    "6.4.1 radius of the arc": (
        "np.isclose(20.0**2 / value, hc.aerial.l1_lateral_acceleration(20.0, 0.5, 40.0))",
    ),
    "1.1 E of spherical coordinates": (
        "close(value @ coordinates.velocity_to_spherical_rate([1.0, 0.4, 0.3]), np.eye(3))",
        "close(value[:, 1], [-np.sin(0.4) * np.sin(0.3), np.cos(0.4) * np.sin(0.3), 0])",
    ),
    "1.2.3 rotations, homogeneous transformation": (
        "close(value[:3, :3], R.T) and close(value[:3, 3], -R.T @ p)",
    ),
    "1.3.2 angle and axis": (
        "np.isclose(value[0], np.arccos((np.trace(R) - 1) / 2)) and close(value[1], np.array([R[2, 1] - "
        "R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (2 * np.sin(angle)))",
    ),
    "1.4.1 E of the rotation vector": (
        "close(value, np.eye(3) + (1 - np.cos(angle)) / angle**2 * (φ := so3.hat(angle * axis)) + (angle "
        "- np.sin(angle)) / angle**3 * φ @ φ)",
    ),
    "1.5 velocity and acceleration of points": (
        "close(value[3:], robot.acceleration('link_3', 'world_aligned')(q, v, a)[3:] + "
        "np.cross(value[:3], r := robot.pose('tool0')(q)[:3, 3] - robot.pose('link_3')(q)[:3, 3]) + "
        "np.cross(Ω := robot.velocity('tool0', 'world')(q, v)[:3], np.cross(Ω, r)))",
    ),
    "1.6.3 forward kinematics": (
        "close(value[:3], robot.pose('tool0')(q)[:3, 3]) and close(euler.from_euler(value[3:], 'xyz', "
        "'extrinsic'), robot.pose('tool0')(q)[:3, :3])",
    ),
    "1.6.4 analytic Jacobian": (
        "close(1j * (value @ v) * np.exp(1j * (χ := robot.task_coordinates('tool0', "
        f"orientation='rpy'))(q)), {MOVED}(lambda h: np.exp(1j * χ(q + h * v)), 1e-6), atol=1e-7)",
    ),
    "1.7.1 inverse differential kinematics, damped": (
        "close(value, (J := robot.jacobian('tool0', 'world_aligned')(q)[3:]).T @ np.linalg.solve(J @ J.T "
        "+ 0.1**2 * np.eye(3), 5e-3 * x), atol=1e-9)",
    ),
    "1.7.2 stacked and weighted tasks": (
        "close(value, np.linalg.solve((J := np.vstack([robot.jacobian('tool0', 'world_aligned')(q)[3:], "
        "np.eye(3)])).T @ (W := np.diag([1, 1, 1, 0.1, 0.1, 0.1])) @ J, J.T @ W @ np.append(5e-3 * x, "
        "np.zeros(3))), atol=1e-8)",
    ),
    "1.7.2 prioritised tasks": (
        "close(value, (P := np.linalg.pinv(J := robot.jacobian('tool0', 'world_aligned')(q)[3:4]))[:, 0] "
        "* 5e-3 + np.linalg.pinv(N := np.eye(3) - P @ J) @ (5e-3 * np.ones(3) - P[:, 0] * 5e-3), "
        "atol=1e-8)",
    ),
    "1.7.3 numerical inverse kinematics": ("close(robot.pose('tool0')(value)[:3, 3], reachable, atol=1e-5)",),
    "1.7.3 shortest rotation": ("close(so3.exp(value) @ R, so3.exp(x))",),
    "2.1-2.3 virtual work, Newton-Euler, Lagrange": (
        f"close(value, {MOVED}(lambda h: robot.kinetic_energy.jacobian('v')(q + h * v, v + h * a), 1e-6) -"
        " robot.kinetic_energy.jacobian('q')(q, v) + robot.potential_energy.jacobian('q')(q), atol=1e-6)",
    ),
    "2.3.1 kinetic energy": (
        "np.isclose(value, sum(k[0] * (r := w[3:] + np.cross(w[:3], c := k[1:4] / k[0])) @ r / 2 + w[:3] "
        "@ (spatial.inertia_from_parameters(k)[:3, :3] + k[0] * so3.hat(c) @ so3.hat(c)) @ w[:3] / 2 for "
        "k, w in ((k, robot.velocity(link, 'body')(q, v)) for k, link in "
        "zip(robot.parameters.values.reshape(3, 10), ['link_1', 'link_2', 'link_3']))))",
    ),
    "2.4 projected Newton-Euler equations": (
        "close(value[0], robot.mass_matrix(q)) and close(value[1] @ v, robot.coriolis(q, v)) and "
        "close(value[2], robot.gravity(q))",
    ),
    "2.4.1 external forces": (
        "close(value, robot.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a, f_ext={'tool0': "
        "wrench}))",
    ),
    "2.6.1 prioritised inverse dynamics": (
        "close(robot.acceleration('tool0', 'world_aligned')(q, v, robot.forward_dynamics(q, v, "
        "value))[3:], p - robot.pose('tool0')(q)[:3, 3] - 2 * robot.velocity('tool0', 'world_aligned')(q,"
        " v)[3:], rtol=1e-4)",
    ),
    "2.6.2 end-effector motion control": (
        "close(value, robot.jacobian('tool0', 'world_aligned')(q)[3:].T @ ((m := "
        "robot.task_dynamics('tool0', **tip)(q, v))[0] @ (p - robot.pose('tool0')(q)[:3, 3] - 2 * "
        "robot.velocity('tool0', 'world_aligned')(q, v)[3:]) + m[1] + m[2]), rtol=1e-4)",
    ),
    "2.6 operational space control, selection matrices": (
        "close(value - hc.control.OperationalSpaceControl(robot, 'tool0', motion=(0, 0, 0, 1, 1, "
        "0)).step(q, v, T, 0 * wrench), robot.jacobian('tool0', 'world_aligned')(q).T @ (np.array([1, 1, "
        "1, 0, 0, 1]) * wrench))",
    ),
    "3.1.2 Jacobian of a floating base": (
        "close(value[3:, 3:6], R_b := quaternion.to_matrix(q_w[3:7])) and close(value[3:, :3], -R_b @ "
        "so3.hat(R_b.T @ (walker.pose('FL_foot')(q_w)[:3, 3] - q_w[:3])))",
    ),
    "3.2.2 inverse dynamics in contact": (
        "close(value[0], np.linalg.pinv((N := feet.constraint_null_space(q_w)).T @ "
        "walker.selection_matrix.T) @ N.T @ walker.inverse_dynamics(q_w, v_w, "
        "feet.constrained_forward_dynamics(q_w, v_w, np.zeros(18))[0]), atol=1e-6)",
    ),
    "4.1.1 body dynamics of a quadrotor": (
        "close(value[:3], -(I := np.diag([0.007, 0.007, 0.012])) @ (ω := v_f[:3]) + np.cross(ω, I @ ω)) "
        "and close(value[3:], 0.7 * (np.cross(ω, v_f[3:]) - v_f[3:] + quaternion.to_matrix(q_f[3:]).T @ "
        "[0, 0, 9.81]))",
    ),
    "4.2 virtual control inputs, attitude control": (
        "close((quad.allocation_matrix @ value**2)[:2], [0.7 * 9.81, 0.007 * 15.0**2 * 0.01], rtol=1e-3)",
    ),
    "4.2 altitude control": (
        "np.isclose((quad.allocation_matrix @ value**2)[0], 0.7 * (9.81 + 2.0**2 * 0.1), rtol=1e-3)",
    ),
    "4.2 position control": (
        "close(quad.allocation_matrix @ value**2, [0.7 * np.hypot(9.81, 0.4), 0, 0.007 * 15**2 * "
        "np.arctan(0.4 / 9.81), 0], rtol=1e-3, atol=1e-6)",
    ),
    "4.3 thrust, drag torque, hub force, rolling moment": (
        "np.isclose(value.performance(0.0, 3000.0).thrust, 1.225 / 2 * np.pi * 0.1**2 * 0.02 * (100 * "
        "np.pi * 0.1) ** 2)",
        "np.isclose(value.performance(0.0, 3000.0).torque, 1.225 / 2 * np.pi * 0.1**2 * 0.002 * (100 * "
        "np.pi * 0.1) ** 2 * 0.1)",
    ),
    "5.1 allocation": ("close(quad.allocation_matrix @ value, [thrust, *moment])",),
    "5.1.1 trajectory tracking on SE(3)": (
        "close(quad.allocation_matrix @ value**2, [0.7 * 9.81, 0, 0.007 * 15**2 * np.sin(np.arctan(0.4 / "
        "9.81)), 0], rtol=1e-3, atol=1e-6)",
    ),
    "6.2 angles of flight": ("np.isclose(value.pitch, value.alpha) and np.isclose(value.gamma, 0)",),
    "6.3.1 lift, drag, moments": (
        "np.isclose(1.225 / 2 * 25.0**2 * plane.wing.area * value[0], plane.robot.mass * 9.81, rtol=0.02)",
    ),
    "6.3.2 equations of motion": (
        "np.isclose(value[0, 7], -9.81 * np.cos(pitch := plane.trim(speed=25.0).pitch), rtol=1e-3) and "
        "np.isclose(value[6, 5], np.tan(pitch), rtol=0.02)",
    ),
    "2.6 least-squares optimisation": ("close(value, robot.gravity(q), atol=1e-3)",),
    "1.2.1 rotation matrix": ("close(value, np.eye(3)) and np.isclose(np.linalg.det(R), 1)",),
    "1.3.3 Hamilton's products": (
        "close(value, [0, 0, 0, 1])",
        "close(quaternion.multiply(value, value), [-1, 0, 0, 0])",
    ),
    "1.4 sum of angular velocities": ("close(value, robot.velocity('tool0', 'world_aligned')(q, v)[:3])",),
    "1.5 velocity of a point of a body": (
        "close(value, robot.velocity('tool0', 'world_aligned')(q, v)[3:])",
    ),
    "1.6.5 sum of Jacobians": ("close(value, robot.jacobian('tool0', 'world')(q))",),
    "1.6.5 column of a prismatic joint": ("close(value, [0, 0, 0, 1, 0, 0])",),
    "2.5 PD control without gravity compensation": ("close(value, robot.gravity(q))",),
    "3.1 rates of the coordinates E_fb": (
        "close(value, (walker.integrate(q_w, 1e-6 * v_w) - walker.integrate(q_w, -1e-6 * v_w))[3:7] / "
        "2e-6, atol=1e-7)",
    ),
    "3.1.1 position of a point from the base": ("close(value, walker.pose('FL_foot')(q_w)[:3, 3])",),
    "4.1.1 thrust and drag of a rotor, b ω² and d ω²": (
        "np.isclose(value.thrust, 8.5e-6 * (5000 * np.pi / 30) ** 2) and np.isclose(value.torque, 1.4e-7 "
        "* (5000 * np.pi / 30) ** 2)",
    ),
    "6.1 Bernoulli's equation": ("np.isclose(1.225 * ((1 + value.wake) ** 2 - 1) / 2, 5.0 / 0.03)",),
    "6.3.1 pitching moment at trim": (
        "abs(np.dot(value, [1, (t := plane.trim(speed=25.0)).alpha, t.controls['elevator']])) < 1e-3",
    ),
    "3.2 contact forces by formula": (
        "close(value, feet.constrained_forward_dynamics(q_w, v_w, np.zeros(walker.nv))[1], atol=1e-6)",
    ),
    "4.2 roll and pitch of a desired thrust": (
        "close(np.linalg.norm(x) * euler.from_euler([0.2, value[1], value[0]], 'zyx')[:, 2], x)",
    ),
    "3.2.3 quadratic programming, tasks of motion, force, torque": (
        "close(wb.forces['FL_foot'], [0, 0, 20], atol=1e-3) and np.isclose(sum(f[2] for f in "
        "wb.forces.values()), 9.81 * walker.mass, rtol=0.01)",
    ),
}
