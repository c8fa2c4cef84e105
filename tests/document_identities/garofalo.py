"""Identities of the equations of the paper of Garofalo, Ott and Albu-Schäffer."""

from __future__ import annotations

from document_identities.quotient import MOVED

IDENTITIES: dict[str, tuple[str, ...]] = {
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
        "close(value @ robot.parameters.values, (m := robot.closed_form(q, v))[0] @ a_r + m[1] @ v_r + m[2])",
    ),
    "remark 4 classic regressor": ("close(value, robot.closed_form_slotine_li_regressor(q, v, v, a))",),
    "(17) W of the Lie bracket matrix": ("close(value, spatial.motion_cross(twist))",),
    "(18) ∂Ad⁻¹/∂q": (
        f"close(value, {MOVED}(lambda h: spatial.motion_transform(se3.inverse(T @ se3.exp(h * "
        "twist))), 1e-6), "
        "atol=1e-8)",
    ),
    "(24) derivatives by the state": (
        "close(value[0], robot.mass_matrix_derivatives(q)) and close(value[3], robot.gravity_derivatives(q))",
    ),
    "(25) derivatives by time": (
        f"close(value[4], {MOVED}(lambda h: robot.closed_form(q + h * v, v + h * a)[1], 1e-6), atol=1e-6)",
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
    "remark 1 Ψ is skew symmetric": ("close(value, -value.T)",),
    "remark 2 derivative of the spatial twist": (
        'close(value, se3.adjoint(robot.pose("link_3")(q)) @ robot.acceleration("link_3", "body")(q, v, a))',
        f'close(value, {MOVED}(lambda h: robot.velocity("link_3", "world")(q + h * v, v + h * a), 1e-6), '
        "atol=1e-6)",
    ),
    "(6c) gravitational acceleration γ_k of a body": (
        'close(robot.wrench_regressor("link_3")(q, 0 * v, 0 * a)[:, 20:] @ robot.parameters.values[20:], '
        "spatial.inertia_from_parameters(robot.parameters.values[20:]) @ value)",
    ),
    "remark 3 weight at the centre of mass": ("close(value, robot.gravity(q))",),
    "(9)-(12) A(ν) in the order of the paper": (
        "close(value[:3], np.column_stack([twist[3:], so3.hat(twist[:3]), np.zeros((3, 6))]))",
        "close(value[3:, 1:4], -so3.hat(twist[3:])) and close(value[3:, 0], 0)",
        "close(value[3:, 4:], [[(w := twist[:3])[0], 0, 0, w[1], w[2], 0], [0, w[1], 0, w[0], 0, w[2]], [0, "
        "0, w[2], 0, w[0], w[1]]])",
    ),
    "I minimum set of inertial parameters": (
        "close(robot.regressor(q, v, a), robot.regressor(q, v, a)[:, list(value.independent)] @ value.base)",
    ),
    "IV linearisation of the dynamics": (
        f"close(value[0] @ v, {MOVED}(lambda h: robot.forward_dynamics(q + h * v, v, tau), 1e-6), atol=1e-5)",
    ),
    "(26) twist of a body from that of its parent": (
        'close(robot.velocity("link_2", "body")(q, v) - value, robot.jacobian("link_2", "body")(q)[:, 1] * '
        "v[1])",
    ),
    "(30) ∂J̇/∂q̇": ('close(value, robot.jacobian("link_3", "body").jacobian("q")(q))',),
    "(32) ∂J̇/∂q": (
        f'close(value @ a, {MOVED}(lambda h: robot.jacobian_dot("link_3", "body")(q + h * a, v), 1e-6), '
        "atol=1e-6)",
    ),
    "(33) Γ of Euler angles": (
        'close(value @ euler.euler_rate_to_angular_velocity([0.3, 0.2, 0.1], "zyx", "body"), np.eye(3))',
    ),
    "(19), (20) derivatives of the Lie bracket matrix": (
        "close(value, spatial.motion_cross(robot.velocity('link_3', 'body')(q, v + [1, 0, 0])) - "
        "spatial.motion_cross(robot.velocity('link_3', 'body')(q, v)))",
    ),
    "(20) ∂adj/∂q": (
        f"close(value, {MOVED}(lambda h: spatial.motion_cross(robot.velocity('link_3', 'body')(q + [0, 0, "
        "h], v)), 1e-6), atol=1e-8)",
    ),
    "(21) rate of Ad⁻¹": (
        f"close(value, {MOVED}(lambda h: spatial.motion_transform(se3.inverse(robot.pose('link_3')(q + h *"
        " v))), 1e-6), atol=1e-8)",
    ),
    "higher derivatives by time": (
        f"all(close(one, {MOVED}(lambda h, k=k: robot.closed_form_dot(q + h * v + h**2 / 2 * a, v + h * a "
        "+ h**2 / 2 * tau, a + h * tau)[3 + k], 1e-5), atol=1e-5) for k, one in enumerate(value))",
    ),
    "(26), (27) body Jacobians": (
        "close(value, spatial.motion_transform(se3.inverse(robot.pose('link_3')(q)) @ "
        "robot.pose('link_2')(q)) @ robot.jacobian('link_2', 'body')(q) + "
        "np.outer(np.append(robot.model.bodies[2].joint.type.axis, np.zeros(3)), [0, 0, 1]))",
    ),
    "(30)-(32) derivatives of J by the state": (
        "close(value, robot.jacobian_dot('link_3', 'body').jacobian('v')(q, v))",
        "close(value.reshape(6, 3, 3) @ v, robot.jacobian_dot('link_3', 'body')(q, v))",
    ),
    "(33) velocity inputs of a free joint": (
        "close((walker.integrate(q_w, 1e-6 * v_w) - walker.integrate(q_w, -1e-6 * v_w))[:7] / 2e-6, "
        "np.append(v_w[3:6], np.append(0, v_w[:3]) / 2), atol=1e-7)",
    ),
    "(31) ∂J/∂q of a serial chain": (
        "close(value, robot.jacobian('link_3', 'body').jacobian('q')(q).reshape(6, 3, 3)[:, 0, 1])",
    ),
}
