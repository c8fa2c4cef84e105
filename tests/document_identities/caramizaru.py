"""Identities of the equations of the thesis of Cărămizaru."""

from __future__ import annotations

from document_identities.quotient import MOVED

IDENTITIES: dict[str, tuple[str, ...]] = {
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
        'close(se3.adjoint(robot.pose("tool0")(q)) @ value, robot.acceleration("tool0", "world")(q, v, a))',
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
    "2.4 energy, linear in the parameters": (
        "np.isclose(value, robot.kinetic_energy(q, v) + robot.potential_energy(q))",
    ),
    "3.31 so(3), the vector of a skew-symmetric matrix": ("close(value, x)",),
    "3.1.20 rotation of a skew-symmetric matrix": ("close(value, so3.hat(R @ x))",),
    "3.11 homogeneous coordinates of a vector": ("close(value, [*R @ x, 0])",),
    "3.1.17 screw of a translation: infinite pitch": ("np.isinf(value)",),
    "3.37, 3.40 velocity of a point, matrix of a twist": (
        "close(value, [*np.cross(twist[:3], x) + twist[3:], 0])",
    ),
    "3.1.30 half turn": (
        "np.isclose(value[0], np.pi)",
        "close(abs(value[1] @ (lambda r: [r[0, 2], r[1, 2], 1 + r[2, 2]] / np.sqrt(2 * (1 + r[2, "
        "2])))(so3.from_angle_axis(np.pi, axis))), 1)",
    ),
    "3.1.31, 3.1.32 exponential and logarithm of a translation": ("close(value, [0, 0, 0, *x])",),
    "3.52 derivative of a rotation matrix": (
        f'close(value, {MOVED}(lambda h: robot.pose("tool0")(q + h * v), 1e-6)[:3, :3], atol=1e-7)',
    ),
    "3.56-3.61 derivative of a pose": (
        f'close(value, {MOVED}(lambda h: robot.pose("tool0")(q + h * v), 1e-6), atol=1e-7)',
    ),
    "3.101, 3.103 derivative of a motion transform": (
        f'close(value, {MOVED}(lambda h: spatial.motion_transform(robot.pose("tool0")(q + h * v)), 1e-6), '
        "atol=1e-7)",
    ),
    "table 3.1 momentum of a point mass": (
        "close(value[3:], 2 * (twist[3:] + np.cross(twist[:3], p))) and close(value[:3], np.cross(p, "
        "value[3:]))",
    ),
    "3.125 centre of mass of the robot": (
        "close(robot.mass * value, sum((robot.pose(k)(q) @ [*body.inertia.parameters[1:4], "
        "body.inertia.parameters[0]])[:3] for k, body in zip(links, robot.model.bodies)))",
    ),
    "3.128-3.130 linear and angular momentum of the robot": (
        "close(value[3:], robot.mass * robot.com_jacobian(q) @ v)",
        "close(spatial.force_transform(np.eye(3), robot.center_of_mass(q)) @ value, "
        "sum(spatial.force_transform(robot.pose(k)(q)) @ I @ robot.velocity(k, 'body')(q, v) for k, I in "
        "zip(links, inertias)))",
    ),
    "3.141 parallel axes": (
        "close(value, (X := spatial.force_transform(np.eye(3), p)) @ np.diag([1, 1, 1, 2, 2, 2]) @ X.T)",
    ),
    "3.143-3.146 derivative of a force transform": (
        f'close(value, {MOVED}(lambda h: spatial.force_transform(robot.pose("tool0")(q + h * v)), 1e-6), '
        "atol=1e-7)",
    ),
    "3.154-3.157 derivative of the inertia of a moving body": (
        f"close(value, {MOVED}(lambda h: (X := spatial.force_transform(se3.exp(h * twist))) @ inertia @ X.T, "
        "1e-6), atol=1e-6)",
    ),
    "3.160 forward dynamics with an external force": (
        'close(robot.inverse_dynamics(q, v, value, f_ext={"tool0": wrench}), tau)',
    ),
    "3.162, 3.163 velocity and acceleration of a body": (
        'close(value[0], (X := spatial.motion_transform(se3.inverse(robot.pose("link_2")(q)) @ '
        'robot.pose("link_1")(q))) @ robot.velocity("link_1", "body")(q, v) + (S := robot.jacobian("link_2", '
        '"body")(q)[:, 1]) * v[1]) and close(value[1], X @ robot.acceleration("link_1", "body")(q, v, a) + S '
        "* a[1] + spatial.motion_cross(value[0]) @ S * v[1])",
    ),
    "3.3.9 bias C̃ with an external force": (
        'close(value, robot.bias(q, v) - robot.jacobian("tool0", "body")(q).T @ wrench)',
    ),
    "3.169 first-order differential equations": (
        "close(value[3:], np.linalg.solve(robot.mass_matrix(q), tau - robot.bias(q, v)))",
    ),
    "4.2-4.4 torques as a sum over the bodies": (
        "close(value, robot.inverse_dynamics(q, v, a, gravity=(0, 0, 0)))",
    ),
    "4.6 acceleration of a body by its Jacobian": (
        'close(value, robot.acceleration("link_3", "body")(q, v, a))',
    ),
    "4.13 least squares over all samples, by hand": (
        "close(robot.regressor(q, v, a) @ value, robot.inverse_dynamics(q, v, a), atol=1e-3)",
    ),
    "4.2.6 A and B by linear coefficients": (
        "close(np.array(ca.DM(value[0])), robot.regressor(q, v, a)) and close(np.array(ca.DM(value[1])), 0)",
    ),
    "Algorithm 3 transforms ⁱX₀": (
        'close(value[2] @ robot.jacobian("link_3", "world")(q), robot.jacobian("link_3", "body")(q))',
    ),
    "Algorithm 3 screws ⁱS_i, inertias ⁱI_i": (
        'close(value[0][1], robot.jacobian("link_2", "body")(0 * q)[:, 1])',
    ),
    "listing 5.4 two links and a fixed joint": ("set(value) == {'link_A', 'link_B'}",),
    "listing 5.5 free final time": ("value == (0.01, 0.03)",),
    "3.1.37 analytic Jacobian": (
        "close(1j * (value @ v) * np.exp(1j * (χ := robot.task_coordinates('tool0', "
        f"orientation='rpy'))(q)), {MOVED}(lambda h: np.exp(1j * χ(q + h * v)), 1e-6), atol=1e-7)",
    ),
    "3.81-3.88 apparent derivative, ω × r": (
        f"close(value, {MOVED}(lambda h: so3.exp(h * x) @ b, 1e-6), atol=1e-8)",
    ),
    "3.109-3.113 spatial force": (
        "close(value, spatial.force_transform(np.eye(3), p) @ np.append(np.zeros(3), b))",
    ),
    "3.120, 3.121 power": (
        "np.isclose(value, (spatial.motion_transform(T) @ twist) @ spatial.force_transform(T) @ wrench)",
    ),
    "3.124-3.127 rotational inertia, centre of mass": (
        "close(value @ twist, np.append(np.eye(3) @ twist[:3] + np.cross(2 * p, twist[3:]), 2 * "
        "(twist[3:] + np.cross(twist[:3], p))))",
    ),
    "3.151-3.157 Newton-Euler equation": (
        f"close(value, {MOVED}(lambda h: spatial.force_transform(se3.exp(h * twist)) @ inertia @ (twist + "
        "h * twist_dot), 1e-6), atol=1e-6)",
    ),
    "figure 4.3 structural sparsity, torques": ("value.images[0].get_array().shape[:2] == (3, 30)",),
    "figure 4.5 structural sparsity, wrenches": ("value.images[0].get_array().shape[:2] == (18, 30)",),
    "4.2.9, 4.2.10 nonlinear least squares, multiple shooting": (
        "close(robot.regressor(*motion) @ value, log.tau, atol=1e-2)",
    ),
    "5.1-5.5 optimal control problem": (
        "close(value[0], q2) and (off := lambda x: np.linalg.norm(x - q2 - 0.1))(value[-1]) < "
        "off(hc.simulate(planar, q2, v2, duration=0.16).q[-1])",
    ),
    "Algorithm 4 identification during MPC": (
        "close(planar.wrench_regressor('link_2')(q2, v2, a2) @ online.robot.parameters.values, sensed[1],"
        " rtol=1e-3)",
    ),
}
