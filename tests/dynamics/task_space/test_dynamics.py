"""Task-space dynamics: their defining identities on random trees, and textbook cases."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from scipy.spatial.transform import Rotation

import helicoid as hc
from helicoid.dynamics.task_space.coordinates import ORIENTATIONS, POSITIONS
from helicoid.geometry import coordinates, dual_quaternion, euler, so3
from random_trees import Array, assert_close, few, fewer, moving_links, robots, seeds, state

REFERENCES = ("world", "world_aligned", "body")
HOLD = (0.3, -0.8, 0.5, -1.9, 0.4, 1.7, 0.2)  # of an arm: nothing singular nearby


def well_posed_task(robot: hc.Robot, q: Array, seed: int) -> tuple[str, str, tuple[int, ...], Array]:
    """A moving link, a reference, rows that its Jacobian can serve well at q, and these rows of it."""
    rng = np.random.default_rng(seed)
    links = moving_links(robot)
    frame, reference = links[rng.integers(len(links))], REFERENCES[rng.integers(3)]
    J = robot.jacobian(frame, reference)(q)
    rows: list[int] = []
    for row in rng.permutation(6)[: rng.integers(1, 7)]:
        singular = np.linalg.svd(J[[*rows, row]], compute_uv=False)
        if len(rows) < robot.nv and singular[-1] > 0.05 * singular[0] > 0.0:
            rows.append(int(row))
    assume(rows)
    return frame, reference, tuple(rows), J[rows]


@few
@given(robots(), seeds)
def test_task_dynamics_is_the_projection_of_the_joints_dynamics(robot: hc.Robot, seed: int) -> None:
    """Λ⁻¹ = J M⁻¹ Jᵀ; J J̄ = 1; N² = N, J N = 0, N M⁻¹ Jᵀ = 0; J̄ᵀ τ = Λ ẍ + μ + p for every τ."""
    q, v, a = state(robot, seed)
    frame, reference, rows, J = well_posed_task(robot, q, seed)
    M, size = robot.mass_matrix(q), len(rows)
    task: Any = (frame, reference, rows)
    Λ, μ, p = robot.task_dynamics(*task)(q, v)
    J_bar, N = robot.dynamically_consistent_inverse(*task)(q), robot.null_space_projector(*task)(q)
    tolerance = 1e-13 * np.linalg.cond(M) * np.linalg.cond(Λ)
    assume(tolerance < 1e-6)
    assert_close(Λ, Λ.T, 1e-15)
    assert np.linalg.eigvalsh(Λ).min() > 0
    assert_close(Λ @ J @ np.linalg.solve(M, J.T), np.eye(size), tolerance)
    assert_close(J @ J_bar, np.eye(size), tolerance)
    scale = float(np.abs(J_bar).max() * np.abs(J).max() + 1)
    assert_close(J @ N, np.zeros((size, robot.nv)), tolerance, scale * np.abs(J).max())
    assert_close(N @ N, N, tolerance, scale**2)
    assert_close(
        N @ np.linalg.solve(M, J.T), np.zeros((robot.nv, size)), tolerance, scale * np.abs(J_bar).max()
    )
    tau = robot.inverse_dynamics(q, v, a)
    motion = Λ @ robot.acceleration(frame, reference)(q, v, a)[list(rows)]
    force = np.abs(motion).max() + np.abs(μ).max() + np.abs(p).max()
    assert_close(J_bar.T @ tau, motion + μ + p, max(tolerance, 1e-10), force)


@fewer
@given(robots(max_bodies=3), seeds)
def test_parts_of_task_dynamics(robot: hc.Robot, seed: int) -> None:
    """Each function gives what `task_dynamics` gives; μ is quadratic in v, p follows gravity."""
    q, v, _ = state(robot, seed)
    task: Any = well_posed_task(robot, q, seed)[:3]
    Λ, μ, p = robot.task_dynamics(*task)(q, v)
    assert_close(robot.task_inertia(*task)(q), Λ, 1e-15)
    assert_close(robot.task_coriolis(*task)(q, v), μ, 1e-13, scale=float(np.abs(Λ).max()))
    assert_close(robot.task_coriolis(*task)(q, -2 * v), 4 * μ, 1e-10, scale=float(np.abs(Λ).max()))
    gravity = robot.task_gravity(*task)
    assert_close(gravity(q), p, 1e-15)
    assert_close(gravity(q, gravity=(0.0, 0.0, -19.62)), 2 * p, 1e-12, scale=1.0)


@fewer
@given(robots(), seeds)
def test_rate_of_the_jacobian_times_velocity(robot: hc.Robot, seed: int) -> None:
    q, v, _ = state(robot, seed)
    frame, still = moving_links(robot)[-1], np.zeros(robot.nv)
    for reference in REFERENCES:
        rate = robot.jacobian_dot_times_velocity(frame, reference)(q, v)
        assert_close(rate, robot.jacobian_dot(frame, reference)(q, v) @ v, 1e-12, scale=1.0)
        assert_close(rate, robot.acceleration(frame, reference)(q, v, still), 1e-12, scale=1.0)


# --- coordinates of the pose ----------------------------------------------------------------------------


@fewer
@given(robots(max_bodies=3), seeds)
def test_analytic_jacobian_is_the_derivative_of_the_coordinates(robot: hc.Robot, seed: int) -> None:
    """J_A = ∂χ/∂q in the tangent space, in every representation."""
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    frame, position = moving_links(robot)[-1], POSITIONS[rng.integers(3)]
    pose = robot.pose(frame)(q)
    assume(np.hypot(*pose[:2, 3]) > 1e-3)  # off the z axis
    for orientation in (*rng.choice(ORIENTATIONS, 3, replace=False), "dual_quaternion"):
        if is_regular(pose[:3, :3], str(orientation)):
            J_A = robot.analytic_jacobian(frame, str(orientation), position)(q)
            chi = robot.task_coordinates(frame, str(orientation), position)
            assert_close(chi.jacobian("q")(q), J_A, 1e-9, scale=1.0)


def is_regular(R: Array, orientation: str) -> bool:
    """Away from gimbal lock, no rotation and half a turn, where some coordinate jumps or has no rate."""
    if orientation in ("rpy", *euler.ORDERS):
        order = "zyx" if orientation == "rpy" else orientation
        middle = euler.to_euler(R, order)[1]
        return bool(abs(np.sin(middle) if order[0] == order[2] else np.cos(middle)) > 1e-3)
    angle = np.linalg.norm(so3.log(R))
    return bool(1e-3 < angle < np.pi - 1e-3)


def arm(**options: Any) -> tuple[hc.Robot, str, Array, Array, Array]:
    """The Panda, or with `base` a floating one, its flange and a state in which nothing is singular."""
    robot = hc.load("panda", **options)
    rng = np.random.default_rng(7)
    q = robot.random(rng)
    v, a = rng.normal(size=(2, robot.nv))
    return robot, "panda_link8", q, v, a


def test_orientations_mean_what_they_say() -> None:
    """Against SciPy's rotations, whose capital letters are intrinsic orders."""
    robot, frame, q, _, _ = arm(base="floating")
    R = robot.pose(frame)(q)[:3, :3]
    theirs = Rotation.from_matrix(R)

    def ours(orientation: str) -> Array:
        return np.asarray(robot.task_coordinates(frame, orientation, None)(q))

    for order in euler.ORDERS:
        assert_close(ours(order), theirs.as_euler(order.upper()), 1e-12)
    assert_close(ours("rpy"), theirs.as_euler("xyz"), 1e-12)
    assert_close(ours("rotation_vector"), theirs.as_rotvec(), 1e-12)
    x, y, z, w = theirs.as_quat()
    assert_close(ours("quaternion"), np.array([w, x, y, z]) * np.sign(w), 1e-12)
    angle, *axis = ours("angle_axis")
    assert_close(angle * np.array(axis), theirs.as_rotvec(), 1e-12)


def test_position_comes_before_orientation() -> None:
    robot, frame, q, _, _ = arm()
    pose = robot.pose(frame)(q)
    assert_close(robot.task_coordinates(frame)(q), [*pose[:3, 3], *euler.to_rpy(pose[:3, :3])], 1e-14)
    cylindrical = robot.task_coordinates(frame, None, "cylindrical")(q)
    assert_close(coordinates.cylindrical_to_cartesian(cylindrical), pose[:3, 3], 1e-14)
    spherical = robot.task_coordinates(frame, "quaternion", "spherical")(q)
    assert spherical.shape == (7,)
    assert_close(coordinates.spherical_to_cartesian(spherical[:3]), pose[:3, 3], 1e-14)
    assert_close(dual_quaternion.to_pose(robot.task_coordinates(frame, "dual_quaternion")(q)), pose, 1e-14)


@pytest.mark.parametrize(
    ("orientation", "position"),
    [
        ("rpy", "cartesian"),
        pytest.param("zyz", "spherical", marks=pytest.mark.slow),
        ("rotation_vector", None),
        pytest.param(None, "cylindrical", marks=pytest.mark.slow),
    ],
)
def test_task_dynamics_in_minimal_coordinates(orientation: str | None, position: str | None) -> None:
    """With τ = J_Aᵀ F + Nᵀ τ₀, J̄_Aᵀ τ = Λ χ̈ + μ + p, χ̈ differentiated from χ itself."""
    robot, frame, q, v, a = arm()
    arguments = (frame, orientation, position)
    Λ, μ, p = robot.analytic_task_dynamics(*arguments)(q, v)
    chi = robot.task_coordinates(*arguments)
    J_A, M = robot.analytic_jacobian(*arguments)(q), robot.mass_matrix(q)
    assert_close(chi.time_derivative()(q, v), J_A @ v, 1e-12)
    accelerated = chi.time_derivative().time_derivative()(q, v, a)
    J_bar = np.linalg.solve(M, J_A.T) @ Λ
    assert_close(J_bar.T @ robot.inverse_dynamics(q, v, a), Λ @ accelerated + μ + p, 1e-9)


def test_energy_is_that_of_the_joints_when_nothing_is_redundant() -> None:
    """½ χ̇ᵀ Λ χ̇ = ½ vᵀ M v for six joints and six coordinates."""
    robot = hc.load("ur5")
    q, v = np.array(HOLD[:6]), np.random.default_rng(3).normal(size=6)
    Λ, _, _ = robot.analytic_task_dynamics("tool0", "zxz", "cylindrical")(q, v)
    rate = robot.analytic_jacobian("tool0", "zxz", "cylindrical")(q) @ v
    assert_close(rate @ Λ @ rate / 2, robot.kinetic_energy(q, v), 1e-10)


# --- closed cases ---------------------------------------------------------------------------------------


def test_planar_arm_at_a_right_angle() -> None:
    """A push along the first link meets the tip's mass alone, one across it both (Lynch and Park, 8.6)."""
    robot = hc.load("planar_2r")  # lengths 1 and 0.8, masses 1.5 and 1 at the ends of the links
    q = np.array([0.0, np.pi / 2])
    Λ, μ, p = robot.task_dynamics("tip", rows=(3, 5))(q, np.zeros(2))
    assert_close(Λ, np.diag([1.0, 2.5]), 1e-13)
    assert_close(μ, np.zeros(2))
    assert_close(p, [0.0, 2.5 * 9.81], 1e-13)
    assert_close(robot.null_space_projector("tip", rows=(3, 5))(q), np.zeros((2, 2)), 1e-13)


def test_planar_arm_in_closed_form() -> None:
    """Λ = J⁻ᵀ M J⁻¹, μ = J⁻ᵀ c - Λ J̇ v, p = J⁻ᵀ g where J is square."""
    robot = hc.load("planar_2r")
    q, v = np.array([0.4, 1.1]), np.array([0.7, -1.3])
    J = robot.jacobian("tip", "world_aligned")(q)[[3, 5]]
    J_dot = robot.jacobian_dot("tip", "world_aligned")(q, v)[[3, 5]]
    inverse = np.linalg.inv(J)
    Λ, μ, p = robot.task_dynamics("tip", rows=(3, 5))(q, v)
    assert_close(Λ, inverse.T @ robot.mass_matrix(q) @ inverse, 1e-13)
    assert_close(μ, inverse.T @ robot.coriolis(q, v) - Λ @ J_dot @ v, 1e-12)
    assert_close(p, inverse.T @ robot.gravity(q), 1e-13)


def test_free_body_feels_its_own_inertia() -> None:
    """Of a floating body that carries nothing, Λ in its own frame is its spatial inertia."""
    robot = hc.load(
        """<robot name="brick"><link name="brick"><inertial><mass value="2"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link></robot>""",
        base="floating",
    )
    Λ = robot.task_inertia("brick", "body")(robot.random(1))
    assert_close(Λ, np.diag([1, 2, 2.5, 2, 2, 2]), 1e-14)


def test_damping_keeps_the_inertia_finite_at_a_singularity() -> None:
    robot = hc.load("planar_2r")
    stretched = np.zeros(2)
    J = robot.jacobian("tip", "world_aligned")(stretched)[[3, 5]]
    A = J @ robot.mass_matrix_inverse(stretched) @ J.T
    damped = robot.task_inertia("tip", rows=(3, 5), damping=0.1)(stretched)
    assert_close(damped, np.linalg.inv(A + 0.01 * np.eye(2)), 1e-12)
    assert not np.all(np.isfinite(robot.task_inertia("tip", rows=(3, 5))(stretched)))
    assert robot.task_inertia("tip", damping=0.1)(stretched).shape == (6, 6)


def test_parameters_of_the_physics_enter() -> None:
    nominal, frame, q, v, _ = arm()
    robot = nominal.parametric("inertia", "gravity")
    theta = robot.parameters.values
    for ours, expected in zip(
        robot.task_dynamics(frame)(q, v, theta), nominal.task_dynamics(frame)(q, v), strict=True
    ):
        assert_close(ours, expected, 1e-9)
    twice = theta * np.where(np.arange(len(theta)) < len(theta) - 3, 2.0, 1.0)
    Λ, Λ_twice = (robot.task_inertia(frame, rows="linear")(q, x) for x in (theta, twice))
    assert_close(Λ_twice, 2 * Λ, 1e-10)
    assert "theta" not in [item.name for item in robot.analytic_jacobian(frame).inputs]


def test_symbols_and_batches() -> None:
    robot, frame, q, _, _ = arm()
    function = robot.task_inertia(frame, rows="linear")
    assert function is robot.task_inertia(frame, "world_aligned", (3, 4, 5))
    batch = np.array([q, robot.random(5)])
    assert_close(function(batch)[0], function(q), 1e-15)
    symbol = ca.SX.sym("q", robot.nq)
    assert_close(np.array(ca.Function("f", [symbol], [function(symbol)])(q)), function(q), 1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frame": "tip"}, "moved by 2 velocities, a task of 6 needs as many: choose fewer rows"),
        ({"frame": "link_1", "rows": (3, 5)}, "moved by 1 velocities, a task of 2"),
        ({"frame": "base_link", "rows": (0,)}, "moved by 0 velocities"),
        ({"frame": "tip", "rows": "position"}, "one of all, angular, linear or numbers"),
        ({"frame": "tip", "rows": (3, 3)}, "distinct numbers from 0 to 5"),
        ({"frame": "tip", "rows": (3, 6)}, "distinct numbers from 0 to 5"),
        ({"frame": "tip", "rows": ()}, "distinct numbers from 0 to 5"),
        ({"frame": "tip", "rows": (3, 5), "damping": -1.0}, "zero or positive, got -1.0"),
        (
            {"frame": "tip", "reference": "tool", "rows": (3,)},
            "one of world, world_aligned, body; got 'tool'",
        ),
        ({"frame": "tap", "rows": (3,)}, "no frame of 'planar_2r' is called 'tap'"),
    ],
)
def test_impossible_tasks_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hc.HelicoidError, match=message):
        hc.load("planar_2r").task_inertia(**arguments)


def test_a_direction_that_never_moves_is_named() -> None:
    """The arm stays in its plane, whatever it does."""
    with pytest.raises(hc.ModelError, match="row 1 of the task never moves 'tip': leave it out"):
        hc.load("planar_2r").task_inertia("tip", rows=(3, 4))([0.0, 1.0])


@pytest.mark.parametrize(
    ("orientation", "position", "message"),
    [
        ("xyy", "cartesian", "orientation must be one of rpy, xyz, .*dual_quaternion, or None; got 'xyy'"),
        ("rpy", "polar", "position must be one of cartesian, cylindrical, spherical, or None; got 'polar'"),
        (None, None, "both None"),
        ("quaternion", "cartesian", "more numbers than degrees of freedom"),
        ("dual_quaternion", None, "more numbers than degrees of freedom"),
    ],
)
def test_impossible_coordinates_are_refused(
    orientation: str | None, position: str | None, message: str
) -> None:
    with pytest.raises(hc.InputError, match=message):
        hc.load("panda").analytic_task_dynamics("panda_link8", orientation, position)
