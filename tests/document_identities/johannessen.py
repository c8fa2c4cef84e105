"""Identities of the equations of the thesis of Johannessen."""

from __future__ import annotations

from document_identities.quotient import MOVED

IDENTITIES: dict[str, tuple[str, ...]] = {
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
    "2.48-2.53 joint space matrix S": ("np.isclose(np.linalg.norm(value[:3]), 1) and close(value[3:], 0)",),
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
    "1.4 inertia matrix M_ij": ('close(value, robot.inverse_dynamics.jacobian("a")(q, v, a))',),
    "2.1.3 Hessian": ("close(value, robot.gravity_derivatives(q))",),
    "2.11 scalar product of a motion and a force vector": (
        "np.isclose(value, (spatial.motion_transform(T) @ twist) @ spatial.force_transform(T) @ wrench)",
    ),
    "2.35 relative acceleration": (
        'close(value, (S := robot.jacobian("link_2", "world")(q)[:, 1]) * a[1] + '
        'spatial.motion_cross(robot.velocity("link_2", "world")(q, v)) @ S * v[1])',
    ),
    "2.36, 2.38 momentum about another point": (
        "close(value, [*(h := inertia @ twist)[:3] + np.cross(p, h[3:]), *h[3:]])",
    ),
    "2.44 spatial inertia in another frame": (
        "np.isclose((V := spatial.motion_transform(T) @ twist) @ value @ V, twist @ inertia @ twist)",
    ),
    "2.45 inertia of two bodies": ("close(value[:4], [π[0] + 2, *π[1:4] + 2 * p])",),
    "table 2.1 children μ(i)": ("value == [[1], [2], []]",),
    "table 2.1 joints κ(i) that support a body": ("value == [[0], [0, 1], [0, 1, 2]]",),
    "table 2.1 subtree ν(i)": ("value == [[0, 1, 2], [1, 2], [2]]",),
    "2.46 joint location X_T and joint motion X_J": (
        'close(value[1] @ value[0], spatial.motion_transform(se3.inverse(robot.pose("link_2")(q)) @ '
        'robot.pose("link_1")(q)))',
    ),
    "2.48, 3.10 force of a joint": ("np.isclose(value, robot.inverse_dynamics(q, v, a)[1])",),
    "3.1-3.4 velocity and acceleration of a body": (
        'close(value[0], (X := spatial.motion_transform(se3.inverse(robot.pose("link_2")(q)) @ '
        'robot.pose("link_1")(q))) @ robot.velocity("link_1", "body")(q, v) + (S := robot.jacobian("link_2", '
        '"body")(q)[:, 1]) * v[1]) and close(value[1], X @ robot.acceleration("link_1", "body")(q, v, a) + S '
        "* a[1] + spatial.motion_cross(value[0]) @ S * v[1])",
    ),
    "3.5, 3.16 net force and bias force of a body": ("close(value - bias, inertia @ twist_dot)",),
    "3.6-3.8 forces transmitted by the joints": (
        'close(value[0] - spatial.force_transform(se3.inverse(robot.pose("link_1")(q)) @ '
        'robot.pose("link_2")(q)) @ value[1], (I := '
        'spatial.inertia_from_parameters(bodies[0].inertia.parameters)) @ (robot.acceleration("link_1", '
        '"body")(q, v, a) + spatial.motion_transform(se3.inverse(robot.pose("link_1")(q))) @ [0, 0, 0, 0, 0, '
        '9.81]) + spatial.force_cross(V := robot.velocity("link_1", "body")(q, v)) @ I @ V)',
    ),
    "3.12, 3.25 articulated bias force p^A": (
        "close(value, robot.joint_wrenches(q, v, a_g := robot.forward_dynamics(q, v, tau + [5, 0, 0]))[1] - "
        'robot.articulated_inertias(q)[1] @ (robot.acceleration("link_2", "body")(q, v, a_g) + fall))',
    ),
    "3.31, 3.32 U and D of the first joint": ("np.isclose(value, 1 / robot.mass_matrix_inverse(q)[0, 0])",),
    "3.39 bias force C₂ with external forces": (
        'close(value, robot.inverse_dynamics(q, v, 0 * a, f_ext={"tool0": wrench}))',
    ),
    "3.4 user example: the forearm of a UR5": ("value.shape == (3,)",),
    "3.4 gravity and external forces as options": (
        "close(value, robot.inverse_dynamics(q, v, a) - (1 - 1.62 / 9.81) * robot.gravity(q) - "
        'robot.jacobian("tool0", "body")(q).T @ wrench)',
    ),
    "3.1.2 joint information": ("len(value[0]) == value[1] == 3",),
    "4.1 random samples within the limits": (
        "robot.limits.lower[0] <= value[0][0] <= robot.limits.upper[0]",
    ),
    "6.2 ∇M": (f"close(value @ v, {MOVED}(lambda h: robot.mass_matrix(q + h * v), 1e-6), atol=1e-7)",),
    "6.3 time derivative of G": (
        f"close(value, {MOVED}(lambda h: robot.gravity(q + h * v), 1e-6), atol=1e-7)",
    ),
    "6.3 time derivative of ID": (
        f"close(value, {MOVED}(lambda h: robot.inverse_dynamics(q + h * v, v + h * a, a + h * x), 1e-6), "
        "atol=1e-5)",
    ),
    "6.3 time derivative of FD": (
        f"close(value, {MOVED}(lambda h: robot.forward_dynamics(q + h * v, v + h * a, tau + h * b), 1e-6), "
        "atol=1e-4)",
    ),
    "1.4 inverse kinematics": (
        "close(robot.pose('tool0')(value)[:3, 3], robot.pose('tool0')(q + 0.1)[:3, 3], atol=1e-5)",
    ),
    "2.1.2 symbolic expressions": (
        "close(ca.Function('f', ca.symvar(value), [value])(*q[1:]).full().ravel(), "
        "robot.inverse_dynamics(q, v, a))",
    ),
    "2.1.3 sparsity of Jacobians": ("value.nnz() == 4 == np.count_nonzero(robot.gravity_derivatives(q))",),
    "2.1.4 C code": ("{path.name for path in value} >= {'gravity.c', 'gravity.h'}",),
    "2.1-2.3 equation of motion of a body": (
        f"close(value, {MOVED}(lambda h: spatial.force_transform(se3.exp(h * twist)) @ inertia @ (twist + "
        "h * twist_dot), 1e-6), atol=1e-6)",
    ),
    "2.4-2.9 Plücker coordinates of velocity and force": (
        "close((spatial.motion_transform(np.eye(3), p) @ value)[3:], b + np.cross(p, x))",
    ),
    "2.31-2.35 spatial and classical acceleration": (
        f"close(value[3:], {MOVED}(lambda h: robot.velocity('tool0', 'world_aligned')(q + h * v, v + h * "
        "a)[3:], 1e-6), atol=1e-6)",
        "close((V := spatial.motion_transform(np.eye(3), -robot.pose('tool0')(q)[:3, 3])) @ "
        "robot.acceleration('tool0', 'world')(q, v, a) + np.append(np.zeros(3), np.cross((w := V @ "
        "robot.velocity('tool0', 'world')(q, v))[:3], w[3:])), value)",
    ),
    "2.36-2.45 spatial momentum and inertia": (
        "close(value[3:], π[0] * (twist[3:] + np.cross(twist[:3], c := π[1:4] / π[0]))) and "
        "close(value[:3], (I_c := inertia[:3, :3] + π[0] * so3.hat(c) @ so3.hat(c)) @ twist[:3] + "
        "np.cross(c, value[3:]))",
    ),
    "Algorithm 1 model of a URDF": (
        "[body.joint.name for body in value.bodies][:3] == ['shoulder_pan_joint', 'shoulder_lift_joint', "
        "'elbow_joint']",
        "value.bodies[0].joint.limits.effort == 150",
    ),
    "3.1-3.10, Algorithm 2 RNEA": (
        "close(value, robot.mass_matrix(q) @ a + robot.coriolis(q, v) + robot.gravity(q))",
    ),
    "3.3.4 forward dynamics by CRBA": ("close(robot.mass_matrix(q) @ value + robot.bias(q, v), tau)",),
    "3.4 from any root to any tip": (
        "close(value, (short := robot.chain('base_link', 'link_2')).mass_matrix(q[:2]) @ a[:2] + "
        "short.bias(q[:2], v[:2]))",
    ),
    "chapter 5 number of operations": ("0 < value < robot.forward_dynamics.n_operations",),
    "6.2 derivatives by `cs.jacobian`": (
        f"close(value @ v, {MOVED}(lambda h: robot.inverse_dynamics(q + h * v, v, a), 1e-6), atol=1e-6)",
    ),
    "6.3 products of derivatives by `cs.jtimes`": (
        "close(value, robot.inverse_dynamics.jacobian('q')(q, v, a) @ x)",
    ),
    "appended paper (1)-(3) inverse and forward dynamics": ("close(value, a)",),
    "appended paper (4) spatial inertia": (
        "close(value[:3, 3:], 2 * so3.hat(p)) and close(value[3:, :3], -2 * so3.hat(p)) and "
        "close(value[3:, 3:], 2 * np.eye(3))",
    ),
    "appended paper (5)-(9) transforms and cross products": (
        "close(value, spatial.force_cross(spatial.motion_transform(T) @ twist) @ spatial.force_transform(T) "
        "@ wrench)",
    ),
    "appended paper (15), (16) forward dynamics with C₂": (
        'close(value, robot.forward_dynamics(q, v, tau, f_ext={"tool0": wrench}))',
    ),
}
