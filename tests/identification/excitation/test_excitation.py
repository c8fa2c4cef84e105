"""Excitation trajectories: within every limit at all times, at rest at both ends, better than random ones."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid import Robot
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.excitation.bounds import ExcitationBounds, find_bounds
from helicoid.identification.excitation.collision import body_pairs, covering_spheres, distances
from helicoid.identification.excitation.excitation import Excitation, excitation, random_motion
from helicoid.identification.excitation.fourier import RestingSeries
from helicoid.identification.excitation.problem import ExcitationProblem
from helicoid.identification.excitation.start import start_problem
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.model.joints import Prismatic, Revolute
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Joint, Limits, Link, Placement
from random_trees import Array, inertia

ROBOT, EFFORT = hc.serial_chain(3), 60.0


def problem(robot: Robot, criterion: str = "d-optimal", harmonics: int = 4) -> ExcitationProblem:
    free = np.full(robot.nv, np.inf)
    limits = robot.limits
    bounds = ExcitationBounds(
        limits.lower, limits.upper, np.full(robot.nv, 2.0), free, limits.effort, {}, [], [], 0.0
    )
    equations = BaseEquations(robot, ("inertia", "friction"), smoothing=0.1)
    return ExcitationProblem(equations, RestingSeries(6.0, harmonics), bounds, criterion)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def arm() -> Excitation:
    limits = {"effort": EFFORT, "velocity": 1.5, "acceleration": 6.0}
    return excitation(ROBOT, 8.0, **limits, use=0.8, harmonics=4, iterations=30)  # type: ignore[arg-type]


def test_limits_hold_at_all_times(arm: Excitation) -> None:
    robot = ROBOT
    q, v, a = arm.at(np.random.default_rng(0).uniform(0.0, 8.0, 5000))
    middle = (robot.limits.lower + robot.limits.upper) / 2
    assert np.all(np.abs(q - middle) <= 0.8 * (robot.limits.upper - robot.limits.lower) / 2 + 1e-6)
    assert np.abs(v).max() <= 0.8 * 1.5 + 1e-6
    assert np.abs(a).max() <= 0.8 * 6.0 + 1e-6
    assert np.abs(robot.inverse_dynamics(q, v, a, friction=True)).max() <= 0.8 * EFFORT * 1.005
    # They are used as well as kept.
    assert np.abs(v).max() > 0.75 * 1.5


def test_at_rest_at_both_ends(arm: Excitation) -> None:
    assert arm.t[0] == 0.0 and arm.t[-1] == 8.0
    for end in (0, -1):
        np.testing.assert_allclose(arm.v[end], 0.0, atol=1e-12)
        np.testing.assert_allclose(arm.a[end], 0.0, atol=1e-11)
    np.testing.assert_allclose(arm.q[0], arm.q[-1], atol=1e-12)


def test_velocity_and_acceleration_are_derivatives(arm: Excitation) -> None:
    t, h = np.linspace(0.1, 7.9, 50), 1e-5
    (q_before, v_before, _), (_, v, a), (q_after, v_after, _) = (arm.at(t + d) for d in (-h, 0.0, h))
    np.testing.assert_allclose((q_after - q_before) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v_after - v_before) / (2 * h), a, atol=1e-7)


@pytest.mark.parametrize("criterion", ["d-optimal", pytest.param("condition", marks=pytest.mark.slow)])
def test_better_than_chance(criterion: str) -> None:
    robot = hc.load("planar_2r")
    found = excitation(robot, 6.0, harmonics=4, velocity=2.0, use=1.0, criterion=criterion)  # type: ignore[arg-type]
    chance, rng = problem(robot), np.random.default_rng(1)
    conditions, volumes = [], []
    for _ in range(30):
        y = random_motion(chance, rng, 1.0)
        q, v, a = (Phi @ chance.series.coefficients(y) for Phi in chance.series.matrices(found.t))
        singular = np.linalg.svd(chance.regressor(q, v, a), compute_uv=False)
        conditions.append(singular[0] / singular[-1])
        volumes.append(2 * np.log(singular / np.sqrt(len(found.t))).sum())
    if criterion == "d-optimal":
        assert found.log_det > max(volumes) + 2
    else:
        assert found.condition < 1.05 * min(conditions)
        assert found.condition < 0.6 * np.median(conditions)


@pytest.mark.parametrize("criterion", ["d-optimal", "condition"])
def test_exact_gradient(criterion: str) -> None:
    """Against central differences, in random directions."""
    made, rng = problem(hc.load("planar_2r"), criterion), np.random.default_rng(2)
    y = random_motion(made, rng, 0.7)
    slope = made.gradient(y)
    for _ in range(5):
        direction = rng.normal(size=y.shape)
        h = 1e-5
        difference = (made.loss(y + h * direction) - made.loss(y - h * direction)) / (2 * h)
        assert float((slope * direction).sum()) == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_criteria_are_what_they_say() -> None:
    robot = hc.load("planar_2r")
    made, rng = problem(robot), np.random.default_rng(3)
    y = random_motion(made, rng, 0.7)
    q, v, a = (Phi @ made.series.coefficients(y) for Phi in made.series.matrices(made.grid(8 * 4)))
    W = made.regressor(q, v, a) / np.sqrt(8 * 4)
    G = W.T @ W
    floored = G + 1e-9 * np.trace(G) * np.eye(len(G))  # which keeps a poor start finite
    assert made.loss(y) == pytest.approx(-np.linalg.slogdet(floored)[1], rel=1e-9)
    other = problem(robot, "condition")
    expected = np.log(np.linalg.norm(G) * np.linalg.norm(np.linalg.inv(floored)))
    assert other.loss(y) == pytest.approx(expected, rel=1e-6)


def test_series_between_points() -> None:
    """The largest value between n points exceeds that at the points by no more than 1 / cos(π H / n)."""
    rng = np.random.default_rng(4)
    series = RestingSeries(3.0, 5)
    worst = 0.0
    for _ in range(200):
        c = series.coefficients(rng.normal(size=(series.n_free, 1)))
        coarse, fine = (
            np.abs(series.matrices(np.linspace(0, 3.0, n, endpoint=False))[1] @ c).max() for n in (25, 3000)
        )
        worst = max(worst, fine / coarse)
    assert 1.0 < worst <= 1 / series.between(25) + 1e-6


def test_start_is_kept() -> None:
    reported: list[float] = []
    motion = excitation(
        hc.load("planar_2r"),
        5.0,
        start=[0.5, -1.0],
        velocity=2.0,
        iterations=15,
        progress=lambda what, done: reported.append(done),
    )
    assert len(reported) > 2 and reported[-1] == 1.0 and 0.0 <= min(reported) < 1.0
    assert len(repr(motion)) < 200
    np.testing.assert_allclose(motion.q[[0, -1]], [[0.5, -1.0]] * 2, atol=1e-10)
    np.testing.assert_allclose(motion.v[[0, -1]], 0.0, atol=1e-10)


def test_workspace() -> None:
    robot = hc.load("planar_2r")
    box = ([0.0, -1.0, -0.5], [3.0, 1.0, 2.0])
    motion = excitation(robot, 6.0, velocity=2.0, workspace={"tip": box}, iterations=30, harmonics=4)
    q, _, _ = motion.at(np.linspace(0.0, 6.0, 2001))
    places = robot.pose("tip")(q)[:, :3, 3]
    assert np.all(places >= np.array(box[0]) - 1e-6) and np.all(places <= np.array(box[1]) + 1e-6)
    free = excitation(robot, 6.0, velocity=2.0, iterations=30, harmonics=4)
    assert robot.pose("tip")(free.q)[:, 0, 3].min() < 0.0


def folding(kind: str = "capsule") -> Robot:
    """Three links in a plane that fold onto each other: the third can hit the first."""
    rng = np.random.default_rng(0)
    size = {"capsule": (0.05, 0.3), "cylinder": (0.05, 0.3), "box": (0.1, 0.1, 0.3), "sphere": (0.1,)}[kind]
    links, joints = [Link("base")], []
    for i in range(3):
        # The second and third joint bend one way only: the arm coils up.
        limits = Limits(*(np.array([x]) for x in (0.5 if i else -2.9, 2.9, 2.0, 200.0)))
        shape = Geometry(kind, size, Placement(translation=[0, 0, 0.25]))
        links.append(Link(f"link{i}", inertia(rng), collisions=(shape,)))
        place = Placement(translation=[0, 0, 0.5 if i else 0.0])
        joints.append(
            Joint(f"joint{i}", Revolute([0, 1, 0]), links[i].name, f"link{i}", place, limits=limits)
        )
    return Robot(Model("folding", tuple(links), tuple(joints)))


@pytest.mark.slow
def test_self_collision_is_avoided() -> None:
    robot = folding()
    motion = excitation(robot, 6.0, clearance=0.03, iterations=30, use=1.0, harmonics=4)
    assert motion.notes == ()
    q, _, _ = motion.at(np.linspace(0.0, 6.0, 1001))
    assert segment_gaps(robot, q).min() >= 0.03
    # Without shapes it would have hit.
    bare = Robot(robot.model.replaced(links=(Link(link.name, link.inertia) for link in robot.model.links)))
    free = excitation(bare, 6.0, iterations=30, use=1.0, harmonics=4)
    assert "no collision shapes" in free.notes[0]
    assert segment_gaps(robot, free.q).min() < 0.03


def segment_gaps(robot: Robot, q: Array) -> Array:
    """The distance of the first and third capsule, by points along their axes."""
    ends = np.linspace(0.1, 0.4, 30)
    first, third = (
        np.array([(T @ np.array([0, 0, z, 1.0]))[:, :3] for z in ends])
        for T in (robot.pose(f"link{i}")(q) for i in (0, 2))
    )
    gaps = np.linalg.norm(first[:, None] - third[None], axis=-1)
    return np.asarray(gaps.min(axis=(0, 1)) - 0.1)


@pytest.mark.parametrize("kind", ["capsule", "cylinder", "box", "sphere"])
def test_spheres_cover_the_shape(kind: str) -> None:
    robot, rng = folding(kind), np.random.default_rng(5)
    spheres, meshes = covering_spheres(robot.model)
    assert meshes == []
    size = robot.model.links[1].collisions[0].size
    points = rng.uniform(-1.0, 1.0, (4000, 3))
    if kind == "box":
        inside = points * np.array(size) / 2
    elif kind == "sphere":
        inside = size[0] * points[np.linalg.norm(points, axis=1) <= 1]
    else:
        points[:, 2] *= size[1] / 2 + (size[0] if kind == "capsule" else 0.0)
        points[:, :2] *= size[0]
        beyond = np.maximum(np.abs(points[:, 2]) - size[1] / 2, 0.0)
        inside = points[np.linalg.norm(np.column_stack([points[:, :2], beyond]), axis=1) <= size[0]]
    centers = np.array([sphere.center for sphere in spheres if sphere.body == 0]) - [0, 0, 0.25]
    radii = np.array([sphere.radius for sphere in spheres if sphere.body == 0])
    gaps = np.linalg.norm(inside[:, None] - centers[None], axis=-1) - radii
    assert len(inside) > 1000 and gaps.min(axis=1).max() <= 1e-9


def test_distances_are_lower_bounds() -> None:
    robot = folding("sphere")
    spheres, _ = covering_spheres(robot.model)
    pairs = body_pairs(robot.model, spheres, np.zeros(3))
    assert pairs == [(0, 2)]
    q = np.array([0.3, 1.0, -0.4])
    gap = float(ca.evalf(distances(robot.model, spheres, pairs, ca.SX(q))))
    places = [robot.pose(f"link{i}")(q) @ np.array([0, 0, 0.25, 1.0]) for i in (0, 2)]
    exact = float(np.linalg.norm(places[0] - places[1])) - 0.2
    assert exact - 0.02 <= gap <= exact + 1e-6
    doubled = [*spheres, *spheres]
    assert float(ca.evalf(distances(robot.model, doubled, pairs, ca.SX(q)))) <= exact


def test_meshes_are_reported() -> None:
    robot = folding()
    mesh = Link("link2", robot.model.links[-1].inertia, collisions=(Geometry("mesh", (1.0, 1.0, 1.0)),))
    robot = Robot(robot.model.replaced(links=(*robot.model.links[:-1], mesh)))
    motion = excitation(robot, 6.0, iterations=5)
    assert "link2" in motion.notes[0] and "meshes" in motion.notes[0]


def test_files_and_picture(tmp_path: Path) -> None:
    from helicoid.simulation.trajectory import Trajectory

    motion = excitation(hc.load("planar_2r"), 4.0, velocity=2.0, iterations=5, rate=50)
    motion.save(tmp_path / "motion.csv")
    again = Trajectory.load(tmp_path / "motion.csv")
    np.testing.assert_array_equal(again.q, motion.q)
    np.testing.assert_array_equal(again.a, motion.a)
    figure = motion.plot()
    assert len(figure.axes) == 4
    assert "condition number" in figure.get_suptitle()


def test_slides(rng: np.random.Generator) -> None:
    """A gantry: lengths and angles, an unlimited coordinate."""
    links = Link("base"), Link("car", inertia(rng)), Link("arm", inertia(rng))
    joints = (
        Joint("rail", Prismatic([1, 0, 0]), "base", "car"),
        Joint("hinge", Revolute([0, 1, 0]), "car", "arm"),
    )
    motion = excitation(Robot(Model("gantry", links, joints)), 6.0, velocity=[0.8, 2.0], iterations=20)
    assert np.abs(motion.q[:, 0]).max() <= 0.9
    assert np.isfinite(motion.condition)


def test_floating_joints_are_refused() -> None:
    with pytest.raises(InputError, match=r"floating_base.* excite the arm on a fixed base"):
        excitation(hc.load("planar_2r", base="floating"), 5.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": 0.0}, "duration"),
        ({"harmonics": 1}, "harmonics"),
        ({"velocity": -1.0}, "velocity"),
        ({"effort": [1.0]}, "effort"),
        ({"start": [9.0, 0.0]}, "start"),
        ({"workspace": {"tip": ([0, 0, 0], [0, 1, 1])}}, "workspace"),
        ({"groups": ("gravity",)}, "cannot be identified"),
    ],
)
def test_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        excitation(hc.load("planar_2r"), **arguments)  # type: ignore[arg-type]


def test_no_velocity_limit() -> None:
    links = Link("base"), Link("arm", inertia(np.random.default_rng(0)))
    robot = Robot(Model("free", links, (Joint("hinge", Revolute([0, 1, 0]), "base", "arm"),)))
    with pytest.raises(InputError, match="'hinge' has no velocity limit"):
        excitation(robot)


def test_impossible_limits() -> None:
    with pytest.raises(HelicoidError, match="no excitation trajectory"):
        excitation(hc.load("planar_2r"), 5.0, velocity=2.0, effort=0.05, start=[1.5, 0.0], iterations=15)


@pytest.mark.parametrize("name", [pytest.param("ur5", marks=pytest.mark.slow), "panda"])
def test_stopped_early_it_keeps_its_limits(name: str) -> None:
    """A busy machine leaves the solver hardly a step: what it has then is drawn back within the limits."""
    robot = hc.load(name)
    motion = excitation(robot, 6.0, time_limit=1e-3)
    limits = robot.limits
    assert np.all(motion.q >= limits.lower - 1e-6) and np.all(motion.q <= limits.upper + 1e-6)
    assert np.all(np.abs(motion.v) <= limits.velocity + 1e-6)
    assert np.all(np.abs(motion.tau) <= 1.005 * limits.effort)
    assert np.ptp(motion.q, axis=0).min() > 0.05


def test_a_start_that_violates_a_bound_is_refused_with_it() -> None:
    planar = hc.load("planar_2r")
    scene = hc.Scene()
    scene.add("ball", hc.Sphere(0.3), pose=[1.0, 0, 0])
    with pytest.raises(InputError, match=r"start: .*'link_\d' and 'ball' are in collision"):
        excitation(planar, 5.0, velocity=2.0, start=[0.0, 0.0], scene=scene)
    with pytest.raises(InputError, match=r"start: .* of torque at 'joint_1', of 0\.045 that may be used"):
        excitation(planar, 5.0, velocity=2.0, effort=0.05, start=[1.5, 0.0])
    with pytest.raises(InputError, match=r"start: .*'tip' is outside of its box"):
        excitation(planar, 5.0, velocity=2.0, start=[0.0, 0.0], workspace={"tip": ([5, -1, -1], [6, 1, 1])})


def test_a_start_too_near_to_itself_names_the_links_that_are() -> None:
    robot = folding("sphere")
    bounds, _ = find_bounds(robot, 0.9, 1.0, None, None, None, clearance=0.02)
    for q in np.random.default_rng(3).uniform(bounds.lower, bounds.upper, (40, 3)):
        places = [robot.pose(f"link{i}")(q) @ np.array([0, 0, 0.25, 1.0]) for i in (0, 2)]
        gap = float(np.linalg.norm(places[0] - places[1])) - 0.2
        problem = start_problem(robot, bounds, q)
        assert bool(problem) == (gap < 0.02), (q, gap)
        if problem:
            assert problem.startswith("'link0' and 'link2' are")
            assert (f"{100 * gap:.1f} cm apart" if gap > 0 else f"{-100 * gap:.1f} cm deep") in problem
