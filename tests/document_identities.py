"""Identities of the equations on the pages of documents: `value` is what the call of an entry returns.

The names are those of the block that a page begins with; `close` is `numpy.allclose`, `expm` SciPy's.
"""

from __future__ import annotations

MOVED = "(lambda f, h: (f(h) - f(-h)) / (2 * h))"  # difference quotient along a motion

IDENTITIES: dict[str, dict[str, tuple[str, ...]]] = {
    "Cărămizaru": {
        "3.1, 3.2 cross product, skew-symmetric matrix": ("close(value @ b, np.cross(x, b))",),
        "3.3-3.6 rotation matrix": ("close(R.T @ R, np.eye(3)) and np.isclose(np.linalg.det(R), 1)",),
        "3.7-3.11 homogeneous transformation": ("close(value[:3], p + R @ x)",),
        "3.12, 3.13 velocity of a point": (
            'close(value[3:], (w := robot.velocity("tool0", "world")(q, v))[3:] '
            '+ np.cross(w[:3], robot.pose("tool0")(q)[:3, 3]))',
        ),
        "3.14-3.20 twist, change of frame": (
            "close(value, np.append(R @ twist[:3], R @ twist[3:] + np.cross(p, R @ twist[:3])))",
        ),
        "3.21-3.24 twist of a screw": ("close(value, np.append(axis, 0.1 * axis - np.cross(axis, p)))",),
        "3.1.17 screw of a twist": (
            "close(value.magnitude * se3.twist_from_screw(value.axis, value.point, value.pitch), twist)",
            "np.isclose(value.pitch, twist[:3] @ twist[3:] / (twist[:3] @ twist[:3]))",
        ),
        "3.25-3.30 rotation operator": ("close(value @ axis, axis) and np.isclose(np.linalg.det(value), 1)",),
        "3.32-3.36 rotation operator in another frame": ("close(value, R @ so3.exp(x) @ R.T)",),
        "3.37-3.42 rigid-body operator, se(3)": ("close(value, expm(se3.hat(twist)))",),
        "3.43 operator in another frame": (
            "close(se3.log(value), se3.log(se3.exp(se3.adjoint(se3.inverse(T)) @ twist)))",
        ),
        "3.44-3.46 screw axis after a motion, Ad": (
            "close(se3.hat(value), T @ se3.hat(twist) @ se3.inverse(T))",
        ),
        "3.47, 3.48 exponential coordinates, Rodrigues' formula": (
            "close(value, np.eye(3) + np.sin(angle) * so3.hat(axis) "
            "+ (1 - np.cos(angle)) * so3.hat(axis) @ so3.hat(axis))",
        ),
        "3.1.30 angle and axis of a rotation": (
            "np.isclose(value[0], np.arccos((np.trace(R) - 1) / 2))",
            "close(so3.hat(value[1]), (R - R.T) / (2 * np.sin(value[0])))",
        ),
        "3.1.31 exponential of a twist, G(θ)": (
            "close(value, angle * np.eye(3) + (1 - np.cos(angle)) * so3.hat(axis) "
            "+ (angle - np.sin(angle)) * so3.hat(axis) @ so3.hat(axis))",
            "close(se3.exp(angle * np.append(axis, x))[:3, 3], value @ x)",
        ),
        "3.50 logarithm of a pose": ("close(se3.exp(value), T)",),
        "3.51 inverse of G(θ)": ("close(value @ (angle * so3.left_jacobian(angle * axis)), np.eye(3))",),
        "3.52-3.55 angular velocity in world and body": (
            'close(robot.pose("tool0")(q)[:3, :3] @ value, robot.velocity("tool0", "world")(q, v)[:3])',
        ),
        "3.56-3.62 twist of a moving frame": (
            f'close(se3.hat(value), se3.inverse(robot.pose("tool0")(q)) '
            f'@ {MOVED}(lambda h: robot.pose("tool0")(q + h * v), 1e-6), atol=1e-7)',
        ),
        "3.63-3.72 product of exponentials": ('close(value, robot.pose("tool0")(q))',),
        "3.73, 3.74, Algorithm 1 geometric Jacobian": (
            "close(value[:, 1], se3.adjoint(se3.exp(q[0] * screws[:, 0])) @ screws[:, 1])",
        ),
        "3.75-3.80 spatial acceleration": (
            'close(robot.acceleration("tool0", "world_aligned")(q, v, a)[3:], value[3:] '
            '+ np.cross(value[:3], (r := robot.pose("tool0")(q)[:3, 3])) '
            '+ np.cross(robot.velocity("tool0", "world")(q, v)[:3], '
            'robot.velocity("tool0", "world_aligned")(q, v)[3:]))',
        ),
        "3.89-3.98 Plücker coordinates": ("close(value, se3.adjoint(T))",),
        "3.99-3.105 spatial cross product": (
            "close(value @ twist_dot, np.append(np.cross(twist[:3], twist_dot[:3]), "
            "np.cross(twist[:3], twist_dot[3:]) + np.cross(twist[3:], twist_dot[:3])))",
        ),
        "3.106 cross product in another frame": (
            "close(value, (X := se3.adjoint(T)) @ spatial.motion_cross(twist) @ np.linalg.inv(X))",
        ),
        "3.107, 3.108 acceleration in a moving frame": (
            'close(se3.adjoint(robot.pose("tool0")(q)) @ value, robot.acceleration("tool0", '
            '"world")(q, v, a))',
        ),
        "3.112 torque about another point": (
            "close(value, np.append(wrench[:3] + np.cross(wrench[3:], p), wrench[3:]))",
        ),
        "3.114-3.119 transform of spatial forces": (
            "np.isclose(value @ (spatial.motion_transform(T) @ twist), wrench @ twist)",
        ),
        "3.122, 3.123 joint torque": (
            'close([robot.jacobian(link, "body")(q)[:, k] @ value[k] for k, link in enumerate(links)], '
            "robot.inverse_dynamics(q, v, a))",
        ),
        "3.128-3.135 momentum": (
            "close(value, spatial.force_transform(T) @ inertia "
            "@ np.linalg.inv(spatial.motion_transform(T)) @ (spatial.motion_transform(T) @ twist))",
        ),
        "3.136-3.141 spatial inertia and its transform": (
            "close(value[:3, 3:], so3.hat(π[1:4])) and close(value[3:, 3:], π[0] * np.eye(3))",
        ),
        "3.142-3.150 force cross product": ("close(value, -spatial.motion_cross(twist).T)",),
        "3.158-3.161 inverse and forward dynamics": ("close(value, a)",),
        "3.162-3.166, Algorithm 2 (RNEA) τ": (
            'close(value, robot.inverse_dynamics(q, v, a) - robot.jacobian("tool0", "body")(q).T @ wrench)',
        ),
        "Algorithm 2 (RNEA) joint wrenches F": (
            "close(value[2], robot.joint_wrenches(q, v, a)[2] - spatial.force_transform("
            'se3.inverse(robot.pose("link_3")(q)) @ robot.pose("tool0")(q)) @ wrench)',
        ),
        "3.167, 3.3.9 bias C̃": ("close(value, robot.inverse_dynamics(q, v, np.zeros(3)))",),
        "3.3.10 mass matrix": (
            "close(value[:, 1], robot.inverse_dynamics(q, np.zeros(3), [0, 1, 0], gravity=(0, 0, 0)))",
        ),
        "3.168 forward dynamics by M": (
            "close(value, np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, v)))",
        ),
        "3.169 simulation": ("close(value[0], q)",),
        "4.1.1 body Jacobians": ("close(value[:, 2], 0)",),
        "4.1-4.7 closed form": (
            "close(value[0] @ a + value[1] @ v + value[2], robot.inverse_dynamics(q, v, a))",
            "close(value[0] @ a, sum((J := robot.jacobian(link, 'body')(q)).T @ "
            "spatial.inertia_from_parameters("
            "body.inertia.parameters) @ J for link, body in zip(links, robot.model.bodies)) @ a)",
        ),
        "4.8 gravity": (
            "close(value, sum(robot.jacobian(link, 'body')(q).T @ spatial.inertia_from_parameters("
            "body.inertia.parameters) @ spatial.motion_transform(se3.inverse(robot.pose(link)(q))) "
            "@ [0, 0, 0, 0, 0, 9.81] for link, body in zip(links, robot.model.bodies)))",
        ),
        "4.9, 4.10 spatial inertia at the joint": ("close(value, π)",),
        "4.11, 4.12 regressor and parameters": ("close(value, robot.inverse_dynamics(q, v, a))",),
        "4.13 linear least squares": ("close(value, log.tau, atol=1e-3 * np.abs(log.tau).max())",),
        "4.14 RNEA with symbolic parameters": ("close(value, robot.inverse_dynamics(q, v, a))",),
        "4.15 least squares of wrenches": (
            "close(value @ robot.parameters.values, robot.joint_wrenches(q, v, a)[1])",
        ),
        "4.2.9 link 1 on a universal joint": (
            "sum(value['link_1'][:2]) == 10 and sum(hc.identifiability(robot).of_links()['link_1'][:2]) == 1",
        ),
        "4.2.7-4.2.8 identifiable links": (
            "value['link_2'] == value['link_3'] == (10, 0, 0) and value['link_1'][2] > 0",
        ),
        "Algorithm 3 parameters of a URDF": ("value.names[:2] == ('link_1.m', 'link_1.hx')",),
        "5.2 sensitivities": ("close(value[0], np.eye(3))",),
    },
    "Johannessen": {
        "1.1 equations of motion": (
            "close(value, robot.mass_matrix(q) @ a + robot.coriolis_matrix(q, v) @ v + robot.gravity(q) "
            '- robot.jacobian("tool0", "body")(q).T @ wrench)',
        ),
        "1.4 forward kinematics": ("close(value, se3.product_of_exponentials(screws, q, home))",),
        "2.10-2.12 scalar product, dual transform": ("close(value, 0)",),
        "2.13-2.20, 2.22 motion transforms": (
            "close(value[3:, :3], so3.hat(p) @ R) and close(value[:3, 3:], 0)",
        ),
        "2.21, 2.23 force transforms": ("close(value[:3, 3:], so3.hat(p) @ R) and close(value[3:, :3], 0)",),
        "2.24 homogeneous transformation": ("close(value[:3, 3], -R.T @ p)",),
        "2.25-2.30 spatial cross products": (
            "close(value, np.append(np.cross(twist[:3], wrench[:3]) + np.cross(twist[3:], wrench[3:]), "
            "np.cross(twist[:3], wrench[3:])))",
        ),
        "2.46, 2.47 transforms between bodies": (
            "close(robot.pose('link_1')(q) @ value, robot.pose('link_2')(q))",
        ),
        "2.48-2.53 joint space matrix S": (
            "np.isclose(np.linalg.norm(value[:3]), 1) and close(value[3:], 0)",
        ),
        "3.3 Coriolis term": (
            "close(value, robot.inverse_dynamics(q, v, np.zeros(3), gravity=(0, 0, 0)))",
            "close(value, robot.coriolis_matrix(q, v) @ v)",
        ),
        "3.3 gravitational term": ("close(value, robot.inverse_dynamics(q, np.zeros(3), np.zeros(3)))",),
        "table 2.1 parents λ": ("value == [-1, 0, 1]",),
        "2.50-2.53 apparent derivative of S": ("value.is_zero()",),
        "3.11-3.22 articulated-body inertias and bias force": (
            "close(value[2], spatial.inertia_from_parameters(robot.model.bodies[2].inertia.parameters))",
        ),
        "3.23-3.38, Algorithm 3 ABA": ("close(value, robot.forward_dynamics_crba(q, v, tau))",),
        "3.39 joint-space bias force": (
            "close(value, robot.inverse_dynamics(q, v, a) - robot.mass_matrix(q) @ a)",
        ),
        "3.40-3.45 kinetic energy": ("np.isclose(value, v @ robot.mass_matrix(q) @ v / 2)",),
        "3.46, 3.47, 3.49, 3.53 composite inertias": (
            "np.isclose(value[0][5, 5], robot.mass)",
            "np.isclose((S := robot.jacobian('link_1', 'body')(q)[:, 0]) @ value[0] @ S, "
            "robot.mass_matrix(q)[0, 0])",
        ),
        "3.48-3.54, Algorithm 4 CRBA": ("close(value, robot.closed_form(q, v)[0])",),
        "6 derivatives of inverse dynamics": (
            'close(value[0], robot.inverse_dynamics.jacobian("q")(q, v, a)) and close(value[2], '
            "robot.mass_matrix(q))",
        ),
        "6 derivatives of forward dynamics": ("close(value[2], np.linalg.inv(robot.mass_matrix(q)))",),
    },
    "Garofalo, Ott and Albu-Schäffer": {
        "(1)-(3) Newton-Euler equation in body coordinates": (
            "close(value, inertia @ twist_dot + (inertia @ (adj := spatial.motion_cross(twist)) "
            "- adj.T @ inertia) @ twist)",
        ),
        "(4)-(6) M, C and g": (
            "close(value[1], sum((J := robot.jacobian(link, 'body')(q)).T @ ((Λ @ (adj := "
            "spatial.motion_cross(J @ v)) "
            "- adj.T @ Λ) @ J + Λ @ robot.jacobian_dot(link, 'body')(q, v)) for link, Λ in zip(links, "
            "[spatial.inertia_from_parameters(body.inertia.parameters) for body in robot.model.bodies])))",
        ),
        "(7) Jacobian of the centre of mass": ("close(robot.mass * 9.81 * value[2], robot.gravity(q))",),
        "(8)-(12) A(ν) and π": ("close(value, inertia @ twist)",),
        "(13a) ∂M/∂π": ("close(value @ robot.parameters.values, robot.mass_matrix(q))",),
        "(13b) ∂C/∂π": ("close(value @ robot.parameters.values, robot.closed_form(q, v)[1])",),
        "(13c) ∂g/∂π": ("close(value @ robot.parameters.values, robot.gravity(q))",),
        "(15), (16) Slotine-Li regressor": (
            "close(value @ robot.parameters.values, (m := robot.closed_form(q, v))[0] @ a_r + "
            "m[1] @ v_r + m[2])",
        ),
        "remark 4 classic regressor": ("close(value, robot.closed_form_slotine_li_regressor(q, v, v, a))",),
        "(17) W of the Lie bracket matrix": ("close(value, spatial.motion_cross(twist))",),
        "(18) ∂Ad⁻¹/∂q": (
            f"close(value, {MOVED}(lambda h: spatial.motion_transform(se3.inverse(T @ se3.exp(h * "
            "twist))), 1e-6), "
            "atol=1e-8)",
        ),
        "(24) derivatives by the state": (
            "close(value[0], robot.mass_matrix_derivatives(q)) and close(value[3], "
            "robot.gravity_derivatives(q))",
        ),
        "(25) derivatives by time": (
            f"close(value[4], {MOVED}(lambda h: robot.closed_form(q + h * v, v + h * a)[1], 1e-6), "
            "atol=1e-6)",
            f"close(value[5], {MOVED}(lambda h: robot.gravity(q + h * v), 1e-6), atol=1e-6)",
        ),
        "remark 5 passivity": ("close(value, (C := robot.closed_form(q, v)[1]) + C.T)",),
        "(28) J̇": (
            f"close(value, {MOVED}(lambda h: robot.jacobian('link_3', 'body')(q + h * v), 1e-6), atol=1e-8)",
        ),
        "(29) J̈": (
            f"close(value, {MOVED}(lambda h: robot.jacobian_dot('link_3', 'body')(q + h * v, v + h "
            "* a), 1e-6), "
            "atol=1e-7)",
        ),
        "appendix T, Ad, adj, Λ": ("close(value[:3, 3:], so3.hat(p) @ R)",),
    },
    "*Robot Dynamics*": {
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
            "close(value, [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], "
            "[-np.sin(angle), 0, np.cos(angle)]])",
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
        "2.5 inverse dynamics control": (
            "close(value, robot.mass_matrix(q) @ (-20.0 * v) + robot.bias(q, v))",
        ),
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
            "np.isclose(value.wake, 2 * value.induced) and np.isclose(value.power, 5.0 * (1.0 + "
            "value.induced))",
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
    },
    "*Robot Dynamics*, part 2": {
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
            "close(value, 9.81 * np.array([2.5 * np.cos(q2[0]) + 0.8 * np.cos(sum(q2)), 0.8 * "
            "np.cos(sum(q2))]))",
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
    },
}
