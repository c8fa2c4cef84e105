"""The class Robot: repr, options, and calls with vectors, batches and symbols."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.geometry import se3
from helicoid.model.joints import Floating, Revolute, Spherical
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Limits, Link
from random_trees import assert_close, fewer, inertia, robots, seeds, state

DYNAMICS = {
    "inverse_dynamics": ("qva", ("nv",)),
    "forward_dynamics": ("qva", ("nv",)),
    "forward_dynamics_crba": ("qva", ("nv",)),
    "mass_matrix": ("q", ("nv", "nv")),
    "mass_matrix_inverse": ("q", ("nv", "nv")),
    "coriolis": ("qv", ("nv",)),
    "gravity": ("q", ("nv",)),
    "bias": ("qv", ("nv",)),
    "kinetic_energy": ("qv", ()),
    "potential_energy": ("q", ()),
    "center_of_mass": ("q", (3,)),
    "com_jacobian": ("q", (3, "nv")),
    "integrate": ("qv", ("nq",)),
    "difference": ("qq", ("nv",)),
}


@pytest.fixture(scope="module")
def ur5() -> hc.Robot:
    return hc.load("ur5")


@pytest.fixture(scope="module")
def dog() -> hc.Robot:
    return hc.load("quadruped", base="floating")


# --- what a robot is --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "joints", "links"),
    [
        ("double_pendulum", 2, 4),
        ("kuka_lwr4", 7, 9),
        ("pan_tilt_pendulum", 2, 4),
        ("panda", 7, 9),
        ("planar_2r", 2, 4),
        ("quadruped", 12, 17),
        ("snake", 16, 17),
        ("ur5", 6, 9),
    ],
)
def test_sizes_of_bundled_robots(name: str, joints: int, links: int) -> None:
    robot = hc.load(name)
    assert (robot.name, robot.nq, robot.nv, robot.n_bodies) == (name, joints, joints, joints)
    assert len(robot.joint_names) == joints and len(robot.link_names) == links
    assert repr(robot) == f"Robot({name!r}, nq={joints}, nv={joints}, {joints} bodies, fixed base)"
    assert len(robot.parameters) == 10 * joints
    assert [limit.shape for limit in robot.limits] == [(joints,)] * 4
    assert np.all(robot.limits.lower < robot.limits.upper)


def test_names_and_limits_of_the_panda() -> None:
    robot = hc.load("panda")
    assert robot.joint_names == [f"panda_joint{i}" for i in range(1, 8)]
    assert robot.link_names == [f"panda_link{i}" for i in range(9)]
    assert robot.limits.lower[3] == -3.0718 and robot.limits.upper[3] == -0.0698
    np.testing.assert_array_equal(robot.limits.effort, [87] * 4 + [12] * 3)
    np.testing.assert_array_equal(robot.limits.velocity, [2.175] * 4 + [2.61] * 3)


def test_floating_base(dog: hc.Robot) -> None:
    assert (dog.nq, dog.nv, dog.n_bodies) == (19, 18, 13)
    assert dog.joint_names[0] == "floating_base"
    assert repr(dog) == "Robot('quadruped', nq=19, nv=18, 13 bodies, floating base)"
    assert np.all(np.isinf(dog.limits.lower[:7])) and np.all(np.isfinite(dog.limits.lower[7:]))
    np.testing.assert_array_equal(dog.neutral(), np.eye(19)[3])
    assert_close(dog.pose("trunk")(dog.neutral()), np.eye(4))


def test_random_is_within_limits_and_on_the_manifold(dog: hc.Robot) -> None:
    for seed in range(20):
        q = dog.random(seed)
        assert np.all((q >= dog.limits.lower) & (q <= dog.limits.upper))
        assert_close(np.linalg.norm(q[3:7]), 1.0, 1e-14)
    np.testing.assert_array_equal(dog.random(3), dog.random(np.random.default_rng(3)))
    assert np.any(dog.random() != dog.random())
    generator = np.random.default_rng(3)
    assert np.any(dog.random(generator) != dog.random(generator))


def test_limits_of_joints_with_quaternions() -> None:
    """lower and upper have nq entries, velocity and effort nv."""
    reach = Limits(-np.ones(7), np.ones(7), np.arange(6.0), np.arange(6.0))
    links = (Link("w"), Link("a"), Link("b"))
    joints = (Joint("free", Floating(), "w", "a", limits=reach), Joint("ball", Spherical(), "a", "b"))
    robot = hc.Robot(Model("two", links, joints))
    assert [len(limit) for limit in robot.limits] == [11, 11, 9, 9]
    np.testing.assert_array_equal(robot.limits.velocity[:6], np.arange(6))
    assert np.all(np.isinf(robot.limits.upper[7:]))


@fewer
@given(robots(max_bodies=3), seeds)
def test_any_tree_knows_its_sizes(robot: hc.Robot, seed: int) -> None:
    types = [body.joint.type for body in robot.model.bodies if body.joint.mimic is None]
    assert robot.nq == sum(kind.nq for kind in types) and robot.nv == sum(kind.nv for kind in types)
    assert robot.random(seed).shape == robot.neutral().shape == (robot.nq,)
    for body in robot.model.bodies:  # at its neutral coordinates a joint is where it was placed
        if body.parent < 0 and body.joint.mimic is None:
            placed = se3.pose(body.placement.rotation, body.placement.translation)
            assert_close(robot.pose(body.name)(robot.neutral()), placed)


# --- a robot that cannot move -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> hc.Robot:
    return hc.load('<robot name="table"><link name="top"/></robot>')


def test_robot_without_joints(table: hc.Robot) -> None:
    """Every function works and gives as little as there is."""
    assert repr(table) == "Robot('table', nq=0, nv=0, 0 bodies, fixed base)"
    assert table.neutral().shape == table.random(0).shape == table.limits.lower.shape == (0,)
    assert len(table.parameters) == 0
    nothing, sizes = np.zeros(0), {"nq": 0, "nv": 0}
    for name, (inputs, shape) in DYNAMICS.items():
        wanted = tuple(sizes[n] if isinstance(n, str) else n for n in shape)
        function = getattr(table, name)
        assert np.shape(function(*[nothing] * len(inputs))) == wanted, name
        assert np.shape(function(*[np.zeros((5, 0))] * len(inputs))) == (5, *wanted), name
    assert np.all(np.isnan(table.center_of_mass(nothing)))
    assert table.kinetic_energy(nothing, nothing) == table.potential_energy(nothing) == 0.0
    assert_close(table.pose("top")(nothing), np.eye(4))
    assert table.jacobian("top")(nothing).shape == (6, 0)
    np.testing.assert_array_equal(table.acceleration("top")(nothing, nothing, nothing), np.zeros(6))
    assert table.inverse_dynamics.jacobian("a")(nothing, nothing, nothing).shape == (0, 0)
    assert table.with_parameters(nothing).nv == 0
    gravity = table.parametric("inertia", "friction", "armature", "gravity")
    assert gravity.parameters.names == ("gravity.x", "gravity.y", "gravity.z")
    assert gravity.gravity(nothing, [0, 0, -1.0]).shape == (0,)


def test_no_mass_has_no_center() -> None:
    robot = hc.Robot(Model("ghost", (Link("w"), Link("a")), (Joint("j", Revolute(), "w", "a"),)))
    assert np.all(np.isnan(robot.center_of_mass([0.0])))
    assert np.all(np.isnan(robot.com_jacobian([0.0])))
    np.testing.assert_array_equal(robot.inverse_dynamics([0.1], [2.0], [3.0]), [0.0])


# --- three ways of calling --------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMICS)
def test_batches_and_symbols_agree_with_vectors(dog: hc.Robot, name: str) -> None:
    inputs, shape = DYNAMICS[name]
    rng = np.random.default_rng(5)
    batch = {"q": np.array([dog.random(rng) for _ in range(3)])}
    batch["v"], batch["a"] = rng.normal(size=(2, 3, dog.nv))
    function = getattr(dog, name)
    sizes = {"nq": dog.nq, "nv": dog.nv}
    values = function(*(batch[x] for x in inputs))
    assert values.shape == (3, *(sizes[n] if isinstance(n, str) else n for n in shape))
    for k in range(3):
        np.testing.assert_array_equal(function(*(batch[x][k] for x in inputs)), values[k])
    by_name = {item.name: batch[x][0] for item, x in zip(function.inputs, inputs, strict=True)}
    np.testing.assert_array_equal(function(**by_name), values[0])
    symbols = [ca.SX.sym(f"{x}{i}", batch[x].shape[1]) for i, x in enumerate(inputs)]
    expression = ca.Function("f", symbols, [function(*symbols)])
    numeric = np.array(expression(*(batch[x][0] for x in inputs)))
    assert_close(numeric.reshape(values[0].shape), values[0], 1e-9)


def test_functions_are_made_once(ur5: hc.Robot) -> None:
    assert ur5.inverse_dynamics is ur5.inverse_dynamics
    assert ur5.pose("tool0") is ur5.pose("tool0") is not ur5.pose("base")
    assert ur5.jacobian("tool0", "world") is ur5.jacobian("tool0")
    assert ur5.jacobian("tool0", "body") is not ur5.jacobian("tool0")
    assert hc.load("ur5").inverse_dynamics is not ur5.inverse_dynamics


def test_functions_describe_themselves(ur5: hc.Robot) -> None:
    assert repr(ur5.jacobian_dot("tool0")).startswith("Function jacobian_dot(q[6], v[6]) -> J_dot[6, 6]")
    names = [item.name for item in ur5.forward_dynamics.inputs]
    assert (names, ur5.forward_dynamics.outputs[0].name) == (["q", "v", "tau"], "a")
    assert ur5.inverse_dynamics.options == ("gravity", "friction", "smoothing", "f_ext", "expressed_in")
    assert ur5.mass_matrix.options == ()


# --- options ----------------------------------------------------------------------------------------


def test_variants_are_made_once(ur5: hc.Robot) -> None:
    moon = ur5.inverse_dynamics.with_options(gravity=(0, 0, -1.62))
    assert moon is ur5.inverse_dynamics.with_options(gravity=np.array([0.0, 0.0, -1.62]))
    assert moon is not ur5.inverse_dynamics
    assert moon.with_options(friction=True) is ur5.inverse_dynamics.with_options(
        friction=np.True_, gravity=[0, 0, -1.62]
    )
    assert ur5.inverse_dynamics.with_options() is ur5.inverse_dynamics
    assert ur5.gravity.with_options(gravity=(0, 0, -1.62)) is not moon


def test_gravity_option(ur5: hc.Robot) -> None:
    """Linear in gravity, everywhere that gravity enters."""
    q, v, a = state(ur5, 1)
    x, y = (1.0, 2.0, 3.0), (-0.5, 0.0, -9.81)
    both = tuple(np.add(x, y))
    for name in ("gravity", "potential_energy"):
        one, other, total = (getattr(ur5, name)(q, gravity=g) for g in (x, y, both))
        assert_close(one + other, total)
    inertial = ur5.mass_matrix(q) @ a + ur5.coriolis(q, v)
    assert_close(ur5.inverse_dynamics(q, v, a, gravity=x), inertial + ur5.gravity(q, gravity=x))
    tau = ur5.inverse_dynamics(q, v, a, gravity=x)
    assert_close(ur5.forward_dynamics(q, v, tau, gravity=x), a, 1e-9)
    assert_close(ur5.forward_dynamics_crba(q, v, tau, gravity=x), a, 1e-9)
    assert_close(ur5.gravity(q, gravity=(0, 0, -9.81)), ur5.gravity(q), 1e-15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gravity": (0, 0)}, r"gravity needs three finite numbers \(m/s²\), got \(0, 0\)"),
        ({"gravity": 9.81}, "gravity needs three finite numbers"),
        ({"gravity": (0, 0, np.nan)}, "gravity needs three finite numbers"),
        ({"gravity": "down"}, "gravity needs three finite numbers .*, got 'down'"),
        ({"gravity": None}, "gravity needs three finite numbers"),
        ({"gravity": ca.SX.sym("g", 3)}, "gravity needs three finite numbers"),
        ({"friction": 1}, "friction is True or False, got 1"),
        ({"friction": "yes"}, "friction is True or False, got 'yes'"),
        ({"smoothing": -0.1}, "smoothing is a velocity, 0 for the exact sign; got -0.1"),
        ({"smoothing": np.inf}, "smoothing is a velocity"),
        ({"smoothing": np.nan}, "smoothing is a velocity"),
        ({"smoothing": "slow"}, "smoothing is a velocity, .* got 'slow'"),
        ({"smoothing": [0.1]}, "smoothing is a velocity"),
        ({"expressed_in": "tool"}, "expressed_in is 'body', 'world' or 'world_origin', got 'tool'"),
        ({"f_ext": "tool0"}, "f_ext maps link names to wrenches, such as {'tool0': w}"),
        ({"f_ext": [1, 2, 3, 4, 5, 6]}, "f_ext maps link names to wrenches"),
        ({"f_ext": {3: np.zeros(6)}}, "f_ext names links, got"),
        ({"f_ext": {"tool0": np.zeros(3)}}, r"'f_ext_tool0' must have shape \(6,\)"),
        (
            {"frction": True},
            "inverse_dynamics has no option 'frction'; its options are: gravity, friction, smoo",
        ),
    ],
)
def test_wrong_options_are_refused(ur5: hc.Robot, options: dict[str, Any], message: str) -> None:
    q, v, a = state(ur5, 0)
    with pytest.raises(hc.InputError, match=message):
        ur5.inverse_dynamics(q, v, a, **options)
    assert isinstance(ur5.inverse_dynamics(q, v, a), np.ndarray)  # and leave nothing behind


@pytest.mark.parametrize("f_ext", [5, [5], None])
def test_variants_refuse_what_names_no_link(ur5: hc.Robot, f_ext: object) -> None:
    with pytest.raises(hc.InputError, match="f_ext names links, got"):
        ur5.inverse_dynamics.with_options(f_ext=f_ext)


def test_unknown_link_is_refused_before_anything_is_built(ur5: hc.Robot) -> None:
    with pytest.raises(hc.ModelError, match="no frame of 'ur5' is called 'tool'; did you mean 'tool0'"):
        ur5.inverse_dynamics.with_options(f_ext=("tool",))
    with pytest.raises(hc.ModelError, match="did you mean 'tool0'"):
        ur5.forward_dynamics(*state(ur5, 0), f_ext={"tool": np.zeros(6)})


@pytest.mark.parametrize(
    ("name", "option", "known"),
    [
        ("mass_matrix", {"gravity": (0, 0, 0)}, "none"),
        ("kinetic_energy", {"friction": True}, "none"),
        ("gravity", {"friction": True}, "gravity"),
        ("gravity", {"f_ext": {"tool0": np.zeros(6)}}, "gravity"),
        ("integrate", {"gravity": (0, 0, 0)}, "none"),
    ],
)
def test_option_that_a_function_lacks(ur5: hc.Robot, name: str, option: dict[str, Any], known: str) -> None:
    function = getattr(ur5, name)
    arguments = [np.zeros(6)] * len(function.inputs)
    with pytest.raises(hc.InputError, match=f"{name} has no option '{next(iter(option))}'; .* are: {known}$"):
        function(*arguments, **option)


def test_frames_have_no_options(ur5: hc.Robot) -> None:
    with pytest.raises(hc.InputError, match="pose has no option 'gravity'; its options are: none"):
        ur5.pose("tool0")(np.zeros(6), gravity=(0, 0, 0))


def test_missing_and_misshapen_inputs(ur5: hc.Robot) -> None:
    q = np.zeros(6)
    with pytest.raises(hc.InputError, match="missing 'a'"):
        ur5.inverse_dynamics(q, q)
    with pytest.raises(hc.InputError, match="missing 'a'"):
        ur5.inverse_dynamics(q, q, f_ext={"tool0": np.zeros(6)})
    with pytest.raises(hc.InputError, match=r"'v' must have shape \(6,\), or \(N, 6\)"):
        ur5.inverse_dynamics(q, np.zeros(5), q)
    with pytest.raises(hc.InputError, match="has no option 'theta'"):
        ur5.inverse_dynamics(q, q, q, theta=np.zeros(10))


# --- variants can do what functions can -------------------------------------------------------------


def test_variants_differentiate(ur5: hc.Robot) -> None:
    q, v, a = state(ur5, 6)
    free = ur5.inverse_dynamics.with_options(gravity=(0, 0, 0))
    assert_close(free.jacobian("a")(q, v, a), ur5.mass_matrix(q))
    with_friction = ur5.bias.with_options(friction=True, smoothing=0.5)
    assert [item.name for item in with_friction.time_derivative().inputs] == ["q", "v", "a"]


def test_variant_is_not_changed_by_a_later_one() -> None:
    robot = hc.Robot(
        Model(
            "hinge",
            (Link("w"), Link("a", inertia(np.random.default_rng(0)))),
            (Joint("j", Revolute([0, 1, 0]), "w", "a", friction=0.3),),
        )
    )
    q, v, a = np.array([[0.2], [1.0], [0.5]])
    smooth = robot.inverse_dynamics.with_options(friction=True, smoothing=1.0)
    before = smooth(q, v, a)
    robot.inverse_dynamics(q, v, a, friction=True, smoothing=0)
    np.testing.assert_array_equal(smooth(q, v, a), before)
    assert_close(before - robot.inverse_dynamics(q, v, a), [0.3 * np.tanh(1.0)])


@pytest.mark.parametrize("name", hc.robots())
def test_the_neutral_configuration_within_limits(name):
    robot = hc.load(name)
    q, zero = robot.neutral(within_limits=True), robot.neutral()
    assert np.all(q >= robot.limits.lower) and np.all(q <= robot.limits.upper)
    allowed = (zero >= robot.limits.lower) & (zero <= robot.limits.upper)
    assert_close(q[allowed], zero[allowed])
    assert name != "panda" or not allowed.all()  # its elbow is always bent


def test_what_begins_at_the_neutral_configuration_is_within_limits():
    panda = hc.load("panda")
    q = panda.neutral(within_limits=True)
    assert_close(hc.simulate(panda, duration=0.01, dt=0.01).q[0], q)
    law = hc.control.TaskSpaceControl(panda, "panda_link8", frequency=10.0)
    at, target = q + 0.2, panda.pose("panda_link8")(q)
    own = law.step(at, np.zeros(7), target)
    assert_close(own, law.step(at, np.zeros(7), target, q_posture=q))
    assert np.abs(own - law.step(at, np.zeros(7), target, q_posture=panda.neutral())).max() > 1e-3
