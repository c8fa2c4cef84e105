"""Links that pass through each other, which a simulation does not prevent, are reported once."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from contact_bodies import box
from helicoid._typing import Array

pytestmark = pytest.mark.needs_compiler

BOX, CUBE = '<box size="0.4 0.4 0.2"/>', '<box size="0.2 0.2 0.2"/>'
BALL, ROD = '<sphere radius="0.1"/>', '<cylinder radius="0.02" length="0.6"/>'
INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>"""
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
LEVEL = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)


def pair(lower: str, upper: str, base: str = "floating") -> hc.Robot:
    """Two free bodies, or one above a fixed one."""

    def link(name: str, shape: str) -> str:
        return f'<link name="{name}">{INERTIAL}<collision><geometry>{shape}</geometry></collision></link>'

    return hc.load(
        f"""<robot name="stack">{link("lower", lower)}{link("upper", upper)}
        <joint name="free" type="floating"><parent link="lower"/><child link="upper"/></joint></robot>""",
        base,
    )


def start(height: float, apart: float, x: float = 0.0, turn: Any = UPRIGHT) -> Array:
    """The lower body's center at a height, the upper one's above it and x beside it."""
    return np.array([0, 0, height, *UPRIGHT, x, 0, apart, *turn])


def told(robot: hc.Robot, q0: Array | None = None, **options: Any) -> list[str]:
    """What a simulation warns of."""
    given: dict[str, Any] = {"ground": hc.Ground(), "contacts": "collision", "duration": 0.4, **options}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        hc.simulate(robot, q0, progress=False, **given)
    assert all(one.category is hc.DoubtfulMotionWarning for one in seen)
    assert all(one.filename == __file__ for one in seen)
    return [str(one.message) for one in seen]


def test_two_stacked_boxes_that_fall_into_each_other_are_reported_once() -> None:
    """The lower rests; the upper falls from 0.1 m above it, until the ground holds it inside the lower."""
    (text,) = told(pair(BOX, CUBE), start(0.1, 0.3))
    assert "'lower' and 'upper'" in text and "contacts between links are not simulated" in text
    assert "engine='mujoco'" in text
    since, depth = (float(text.partition(word)[2].split()[0]) for word in ("from t = ", "up to "))
    fallen = np.sqrt(2 * 0.1 / 9.81)
    assert fallen < since < fallen + 0.01
    assert depth == pytest.approx(0.2, abs=0.005)  # of the height of the lower


def test_bodies_beside_each_other_or_apart_are_not_reported() -> None:
    assert told(pair(BOX, CUBE), start(0.1, 0.05, x=0.302)) == []  # 2 mm beside
    assert told(pair(BOX, CUBE), start(0.1, 2.0), duration=0.2) == []


def test_bodies_that_overlap_at_the_start_are_not_reported() -> None:
    assert told(pair(BOX, CUBE), start(0.1, 0.15)) == []


def test_shapes_that_overlap_a_little_are_not_reported() -> None:
    """Two cubes that approach each other by 1 cm more than the gap between them, and by 8 cm more."""
    away = {"gravity": [0, 0, 0], "ground": hc.Ground(-1.0), "duration": 0.1}
    v0 = np.zeros(12)
    for speed, count in ((-0.2, 0), (-0.9, 1)):
        v0[11] = speed
        assert len(told(pair(CUBE, CUBE), start(0.1, 0.21), v0=v0, **away)) == count


def test_a_free_body_that_falls_through_a_fixed_one_is_reported() -> None:
    (text,) = told(pair(BOX, BALL, "fixed"), np.array([0, 0, 0.3, *UPRIGHT]), ground=hc.Ground(-5.0))
    assert "'lower' and 'upper'" in text


def test_enclosing_shapes_that_overlap_are_no_crossing() -> None:
    """A ball beside the edge of a box, and two rods across each other."""
    beside = start(0.1, 0.0)
    beside[7:9] = 0.2 + 0.1 * np.sqrt(0.5) + 0.002
    assert told(pair(BOX, BALL), beside, gravity=[0, 0, 0]) == []
    # Rods that lie across each other, whose enclosing spheres overlap.
    across = (0.5, -0.5, 0.5, 0.5)
    q0 = start(0.31, 0.06)
    q0[3:7], q0[10:14] = LEVEL, across
    q0[7:10] = -0.06, 0.0, 0.0
    assert told(pair(ROD, ROD), q0, gravity=[0, 0, 0]) == []


def test_named_contact_points_are_checked_too() -> None:
    robot = pair(BOX, CUBE)
    points = [hc.ContactPoint("lower", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    (text,) = told(robot, start(0.1, 0.3), contacts=points)
    assert "'lower' and 'upper'" in text


def test_the_first_rollout_of_a_batch_is_checked() -> None:
    robot, q0 = pair(BOX, CUBE), np.stack([start(0.1, 0.3), start(0.1, 0.3, x=0.7)])
    assert len(told(robot, q0)) == 1
    assert told(robot, q0[::-1]) == []


def test_without_ground_or_geometry_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from helicoid.simulation.contacts import crossing

    def refuse(*_: Any) -> None:
        raise AssertionError

    robot, q0 = pair(BOX, CUBE), start(0.1, 0.3)
    monkeypatch.setattr(crossing, "body_matrices", refuse)
    assert told(box(), np.array([0, 0, 0.05, *UPRIGHT])) == []  # one body: no pair
    assert told(robot, q0, ground=None, contacts=None) == []


def test_distances_of_hulls_are_those_of_a_linear_program(rng: np.random.Generator) -> None:
    """Whether hulls share a point is a question of feasibility; elsewhere a plane separates them."""
    from scipy.optimize import linprog

    from helicoid.simulation.contacts.crossing import _hull_distance

    shared = 0
    for _ in range(40):
        x, y = (0.2 * rng.normal(size=(rng.integers(4, 30), 3)) for _ in range(2))
        y += 0.4 * rng.normal(size=3)
        sums = np.repeat(np.eye(2), [len(x), len(y)], axis=1)
        conditions = np.vstack([np.hstack([x.T, -y.T]), sums])
        feasible = linprog(np.zeros(conditions.shape[1]), A_eq=conditions, b_eq=[0, 0, 0, 1, 1]).status == 0
        assert feasible == (_hull_distance(x, y) < 1e-9)
        shared += feasible
    assert 5 < shared < 35


def test_depths_of_turned_boxes_are_those_of_many_directions(rng: np.random.Generator) -> None:
    """Overlap in every direction is at least the depth, and in one of very many about as much."""
    from scipy.spatial.transform import Rotation

    from helicoid.simulation.contacts.crossing import _box_depths

    n = 30
    one, other = (np.asarray(Rotation.random(n, random_state=k).as_matrix()) for k in (1, 2))
    half, other_half = rng.uniform(0.05, 0.2, size=(2, n, 3))
    apart = 0.12 * rng.normal(size=(n, 3))
    depths = _box_depths(one, other, half, other_half, apart)
    directions = rng.normal(size=(20000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for k in np.flatnonzero(depths > 0):
        reach = np.abs(directions @ one[k]) @ half[k] + np.abs(directions @ other[k]) @ other_half[k]
        least = np.min(reach - np.abs(directions @ apart[k]))
        assert depths[k] - 1e-12 <= least <= depths[k] + 0.01
    assert 5 < np.count_nonzero(depths > 0) < n


def test_a_quadruped_that_is_dropped_is_not_reported() -> None:
    dog = hc.load("quadruped", base="floating")
    q0 = dog.neutral()
    feet = [link for link in dog.link_names if link.endswith("foot")]
    q0[2] += 0.07 - min(dog.pose(foot)(q0)[2, 3] for foot in feet)
    assert told(dog, q0, contacts=[hc.ContactPoint(foot, radius=0.02) for foot in feet]) == []
