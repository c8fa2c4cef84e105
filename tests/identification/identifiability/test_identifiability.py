"""Identifiability: the exact theory against random states, and findings known from the literature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid import Robot
from helicoid.errors import InputError
from helicoid.identification.identifiability.identifiability import Identifiability, identifiability
from helicoid.identification.linear.equations.regression import Regression, default_groups
from helicoid.model.joint_type import JointType
from helicoid.model.joints import Prismatic, Revolute, Universal
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Link, Mimic, Placement
from random_trees import Array, State, assert_close, fewest, inertia, robots, seeds


def states(robot: Robot, seed: int, n: int = 100) -> State:
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(n)])
    return State(q, *rng.normal(size=(2, n, robot.nv)))


def assert_same(regression: Regression, seed: int) -> None:
    """The structural span holds every sampled row, and has no more dimensions than the samples."""
    found = identifiability(regression)
    assert found.method == "structural"
    sampled = states(regression.robot, seed)
    Y = regression.regressor(*sampled).reshape(-1, len(regression.parameters))
    scale = np.abs(Y).max(axis=0, initial=1e-3)
    projected = Y @ found.span.T @ found.span
    assert_close(projected / scale, Y / scale, 1e-8)
    singular = np.linalg.svd(Y / scale, compute_uv=False)
    assert np.sum(singular > 1e-12 * singular[0]) >= found.rank


@fewest
@given(robots(max_bodies=4, mimics=False), seeds)
def test_torques_of_random_trees(robot: Robot, seed: int) -> None:
    assert_same(Regression(robot, ("inertia", "offset", "armature")), seed)


@fewest
@given(robots(max_bodies=3, mimics=False), seeds)
def test_wrenches_of_random_trees(robot: Robot, seed: int) -> None:
    links = [body.name for body in robot.model.bodies]
    assert_same(Regression(robot, ("inertia",), wrenches=links), seed)


@pytest.mark.parametrize(("name", "rank"), [("panda", 43), ("kuka_lwr4", 43), ("ur5", 36)])
def test_known_numbers_of_base_parameters(name: str, rank: int) -> None:
    """43 of 70 for seven hinges as on a KUKA LWR (Gaz et al. 2014), 36 of 60 for a UR arm."""
    robot = hc.load(name)
    found, sampled = identifiability(robot), identifiability(robot, states(robot, 0))
    assert found.rank == sampled.rank == rank
    assert found.status == sampled.status
    assert found.independent == sampled.independent
    assert_close(found.base, sampled.base, 1e-6)


def test_mimics_are_sampled() -> None:
    """Two coaxial hinges, one following the other: the sum of their inertias, weighted, is all there is."""
    rng = np.random.default_rng(0)
    hinge = Revolute([0, 0, 1])
    joints = (
        Joint("leader", hinge, "base", "first"),
        Joint("follower", hinge, "base", "second", mimic=Mimic("leader", 2.0)),
    )
    links = Link("base"), Link("first", inertia(rng)), Link("second", inertia(rng))
    found = identifiability(Robot(Model("geared", links, joints)))
    assert found.method == "samples"
    assert found.combinations == ("first.Izz + 4*second.Izz",)


def test_base_parameters_predict(rng: np.random.Generator) -> None:
    robot = hc.load("ur5")
    regression = Regression(robot)
    found = identifiability(regression)
    Y = regression.regressor(*states(robot, 1, 3))
    x = rng.normal(size=len(regression.parameters))
    assert_close(Y[..., list(found.independent)] @ (found.base @ x), Y @ x)
    assert_close(Y @ found.null_space, np.zeros((3, 6, len(x) - found.rank)), scale=float(np.abs(Y).max()))


def test_words() -> None:
    """Spong's planar arm of two hinges: what it needs is written in every textbook."""
    robot = hc.load("planar_2r")
    found = identifiability(robot)
    _, second = robot.model.bodies
    length = float(np.linalg.norm(second.placement.translation))
    combined = next(words for words in found.combinations if words.startswith("link_1.Iyy"))
    assert combined == f"link_1.Iyy + {length**2:.6g}*link_2.m".replace(" 1*", " ")
    assert found.status["link_1.m"] == "none"
    assert found.status["link_2.Iyy"] == "alone"
    assert found.status["link_2.m"] == "combination"
    assert "6 base parameters of 20 unknowns" in str(found)


# Findings of the Heidelberg thesis on a 3-joint arm ----------------------------------------------------


def arm(first: JointType) -> Robot:
    rng = np.random.default_rng(5)
    types = [first, Revolute([0, 1, 0]), Revolute([1, 0, 0])]
    names = [f"link{i + 1}" for i in range(3)]
    joints = [
        Joint(f"joint{i}", kind, parent, child, Placement(translation=[0.1, 0.05 * i, 0.3]))
        for i, (kind, parent, child) in enumerate(zip(types, ["base", *names[:-1]], names, strict=True))
    ]
    return Robot(Model("arm", (Link("base"), *(Link(name, inertia(rng)) for name in names)), tuple(joints)))


def of_arm(first: JointType, wrenches: bool) -> tuple[Regression, Identifiability]:
    robot = arm(first)
    links = ["link1", "link2", "link3"] if wrenches else []
    regression = Regression(robot, ("inertia",), wrenches=links)
    return regression, identifiability(regression)


HINGE = Revolute([0, 0, 1])


def test_torques_identify_the_first_two_links_only_in_part() -> None:
    links = of_arm(HINGE, wrenches=False)[1].of_links()
    assert links["link1"] == (0, 1, 9)
    assert links["link2"][0] < 10 and links["link2"][1] > 0
    assert links["link3"][0] > links["link2"][0]


def test_wrenches_identify_all_but_the_first_link() -> None:
    links = of_arm(HINGE, wrenches=True)[1].of_links()
    assert links == {"link1": (6, 0, 4), "link2": (10, 0, 0), "link3": (10, 0, 0)}


def test_two_wrench_samples_suffice() -> None:
    """12 equations for the 10 unknowns of each link: two samples of one motion, 10 ms apart."""
    regression, found = of_arm(HINGE, wrenches=True)
    times = np.array([0.5, 0.51])[:, None] * np.array([2.0, 3.0, 5.0])
    motion = State(np.sin(times), np.cos(times) * [2, 3, 5], -np.sin(times) * [4, 9, 25])
    sampled = identifiability(regression, motion)
    assert sampled.of_links()["link2"] == sampled.of_links()["link3"] == (10, 0, 0)
    assert sampled.method == "samples"
    x = regression.parameters.nominal
    Y = regression.regressor(*motion).reshape(-1, len(x))
    estimate = np.linalg.lstsq(Y, Y @ x, rcond=1e-12)[0]
    assert_close(estimate[10:], x[10:], 1e-6)
    alone = identifiability(regression, State(*(part[:1] for part in motion)))
    assert alone.rank < found.rank


def test_universal_joint_at_the_base_identifies_the_first_link() -> None:
    assert of_arm(Universal([0, 0, 1], [1, 0, 0]), wrenches=True)[1].of_links()["link1"] == (10, 0, 0)


# -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("axis", "armature"), [([0, 0, 1], "alone"), ([1, 0, 0], "combination")])
def test_slide(axis: list[float], armature: str) -> None:
    """τ = (m + J) a + m g + offset: gravity along the rail tells m from J if the offset is known."""
    links = Link("base"), Link("car", inertia(np.random.default_rng(0)))
    robot = Robot(Model("slide", links, (Joint("rail", Prismatic(axis), "base", "car"),)))
    assert identifiability(robot, groups=("inertia", "offset")).status["car.m"] == "alone"
    assert identifiability(robot, groups=("inertia", "armature")).status["rail.armature"] == armature
    found = identifiability(robot, groups=default_groups())
    assert found.status["car.m"] == found.status["rail.armature"] == "combination"


def test_standard_deviations(rng: np.random.Generator) -> None:
    """Against the spread of repeated least squares fits, and infinite where nothing is found alone."""
    robot = hc.load("planar_2r")
    regression = Regression(robot, ("inertia",))
    found = identifiability(regression)
    Y = regression.regressor(*states(robot, 3, 40)).reshape(-1, 20)
    sigma, x = 0.3, regression.parameters.nominal
    expected = found.standard_deviations(Y / sigma)
    design = np.linalg.pinv(Y[:, list(found.independent)])
    fits = [design @ (Y @ x + sigma * rng.normal(size=len(Y))) for _ in range(2000)]
    np.testing.assert_allclose(np.std(fits, axis=0), expected.base, rtol=0.08)
    by_name = dict(zip(found.names, expected.parameters, strict=True))
    assert np.isinf(by_name["link_1.m"]) and np.isinf(by_name["link_2.m"])
    first = found.independent.index(found.names.index("link_2.Iyy"))
    assert by_name["link_2.Iyy"] == pytest.approx(expected.base[first])
    with pytest.raises(InputError, match="do not excite all"):
        found.standard_deviations(Y[:2])


def test_samples_need_accelerations() -> None:
    robot = hc.load("planar_2r")
    q = states(robot, 0, 5).q
    with pytest.raises(InputError, match="q, v and a"):
        identifiability(robot, type("Motion", (), {"q": q, "v": q, "a": None}))


def test_picture() -> None:
    from helicoid.identification.identifiability.sparsity import plot_sparsity, sparsity

    regression = Regression(hc.serial_chain(3), ("inertia",))
    filled: Array = sparsity(regression)
    # A joint feels what it carries and nothing else: block upper triangular.
    assert not filled[1, :10].any() and not filled[2, :20].any() and filled[0, 20:].any()
    ax = plot_sparsity(regression)
    assert ax.get_title().startswith("serial_chain_3")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["identifiable alone (9)", "only in combination (12)", "not identifiable (9)"]


def test_picture_of_wrenches() -> None:
    """Six rows for each joint; from wrenches in all joints only the first link is not identifiable."""
    from helicoid.identification import plot_sparsity

    robot = hc.serial_chain(3)
    ax = plot_sparsity(robot, wrenches=["link_1", "link_2", "link_3"])
    assert "wrenches" in ax.get_title() and len(ax.get_yticklabels()) >= 18
    found = identifiability(robot, wrenches=["link_1", "link_2", "link_3"]).of_links()
    assert found["link_2"] == found["link_3"] == (10, 0, 0)
    assert found["link_1"][2] > 0
