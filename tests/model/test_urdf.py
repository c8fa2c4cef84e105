"""Reading and writing URDF: one file of `adversarial/` per trap, and robots that survive the round trip."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.errors import DoubtfulModelWarning, InputError, ModelError, RobotDescriptionError
from helicoid.geometry import euler
from helicoid.model import bundled
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Revolute
from helicoid.model.model import Model, doubts
from helicoid.model.parts import Geometry, Joint, Link, Mimic, Placement
from helicoid.model.urdf import markup, reader
from helicoid.model.urdf.reader import read_urdf, read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text, write_urdf

ADVERSARIAL = Path(__file__).parent / "adversarial"
BUNDLED = sorted(Path(str(bundled.__file__)).parent.glob("*.urdf"))

# The line of each fault (0 when it lies in no single line) and what the message must say.
ERRORS: dict[str, tuple[int, str]] = {
    "attribute_twice": (3, "duplicate attribute"),
    "axis_empty": (8, 'joint "elbow": <axis> lacks its xyz'),
    "axis_tiny": (8, 'joint "elbow": axis "0 1e-200 0" must not be zero'),
    "axis_two_numbers": (8, 'axis xyz "0 1" must be 3 numbers, such as "0 0 1"'),
    "axis_zero": (8, 'joint "elbow": axis "0 0 0" must not be zero; give three numbers such as "0 0 1"'),
    "binary": (1, "faulty XML"),
    "closed_chain": (14, 'joint "c": link "two" is already the child of the joint of line 10'),
    "color": (4, 'color rgba "1 0 0" must be 4 numbers'),
    "damping_negative": (8, 'damping "-0.1" must not be negative'),
    "depth": (3, "depth"),
    "doctype": (1, "<!DOCTYPE> has no place in a description"),
    "empty_file": (1, "no element found"),
    "empty_robot": (0, "exactly one root link, found no link"),
    "encoding": (2, "faulty XML"),
    "encoding_unknown": (0, "unknown encoding: klingon"),
    "entity_bomb": (2, "<!DOCTYPE>"),
    "entity_external": (1, "<!DOCTYPE>"),
    "entity_parameter": (1, "<!DOCTYPE>"),
    "entity_quadratic": (2, "<!DOCTYPE>"),
    "entity_undeclared": (3, "undefined entity"),
    "geometry_empty": (
        4,
        "needs one of box, cylinder, capsule, ellipsoid, sphere, mesh; it has 0",
    ),
    "geometry_two": (4, "it has 2"),
    "helical_no_pitch": (5, "a helical joint needs its pitch"),
    "inertia_incomplete": (5, 'link "arm": <inertia> lacks its iyz'),
    "inertia_missing": (5, "<inertial> lacks <inertia>"),
    "inertial_strange": (5, "<density> in <inertial> is not understood"),
    "inertial_twice": (6, "has two <inertial>"),
    "joint_no_child": (4, "<joint> lacks <child>"),
    "joint_no_type": (5, "<joint> lacks its type"),
    "joint_strange": (8, "<limits> in <joint> is not understood"),
    "joint_twice": (10, 'joint "elbow": line 6 has a joint of the same name'),
    "joint_type": (5, 'unknown type "hinge"; there are fixed, revolute'),
    "limit_count": (7, "one number for each coordinate (1) or one for all; it has 2"),
    "limit_negative": (7, 'velocity "-1" must not be negative'),
    "limit_order": (7, "lower limit is above its upper limit"),
    "link_nameless": (3, "<link> lacks its name"),
    "link_origin": (4, "move the origin of its joint instead"),
    "link_strange": (4, "<joint> in <link> is not understood"),
    "link_twice": (5, 'link "arm": line 4 has a link of the same name'),
    "link_unknown": (6, 'its <parent> names "bass", but there is no such link'),
    "loop": (0, "the links 'one' -> 'two' -> 'one' form a loop (joints: a, b), which hangs on nothing"),
    "loop_only": (0, "found no link: the links 'one' -> 'two' -> 'one' form a loop (joints: a, b)"),
    "loop_self": (0, "'one' -> 'one' form a loop (joints: a)"),
    "mass_missing": (5, "<inertial> lacks <mass>"),
    "mass_negative": (5, "mass must not be negative"),
    "mass_text": (5, "<mass> lacks its value"),
    "mesh_scale": (4, "mesh scale must be one or three numbers"),
    "mimic_ball": (12, "only joints with one can mimic"),
    "mimic_circle": (0, "circle"),
    "mimic_of_fixed": (0, "joint 'b' mimics 'a', which is fixed"),
    "mimic_self": (8, "it mimics itself"),
    "mimic_unknown": (8, 'its <mimic> names "shoulder", but there is no such joint'),
    "number_comma": (8, 'origin xyz "0,5 0 0" must be 3 numbers'),
    "number_commas": (5, 'box size "1,2,3" must be 3 numbers'),
    "number_digits": (8, "must be numbers"),
    "number_empty": (8, 'origin xyz "" must be 3 numbers'),
    "number_expression": (8, 'origin xyz "${pi/2} 0 0" must be 3 numbers'),
    "number_infinite": (7, "for no limit write 1e308"),
    "number_nan": (5, 'mass value "NaN" must be one number'),
    "number_overflow": (8, "too large"),
    "number_too_large": (8, "too large"),
    "number_underscore": (8, "must be numbers"),
    "revolute_pitch": (8, "a revolute joint takes no pitch"),
    "robot_helicoid": (4, "<pitch> in <helicoid> is not understood"),
    "robot_nameless": (2, "<robot> lacks its name"),
    "robot_strange": (4, "<loop_joint> in <robot> is not understood"),
    "roots": (0, "exactly one root link, found links 'base', 'other'"),
    "sdf": (2, "starts with <sdf>"),
    "truncated": (4, "faulty XML"),
    "two_roots": (2, "junk after document element"),
    "universal_parallel": (5, "must not be parallel"),
    "universal_zero": (8, "must not be zero"),
    "xacro": (3, "<xacro:include> must be expanded first"),
    "xacro_undeclared": (4, "<xacro:arm> must be expanded first"),
}

Check = Callable[[Model], None]
CHECKS: dict[str, tuple[Check, tuple[str, ...]]] = {}


def trap(*doubtful: str) -> Callable[[Check], Check]:
    """The check of the file that is called like the function; `doubtful`: what its warnings say."""

    def register(check: Check) -> Check:
        CHECKS[check.__name__] = check, doubtful
        return check

    return register


def elbow(model: Model) -> Joint:
    return model.joint("elbow")


def axis(model: Model) -> np.ndarray:
    return elbow(model).type.axis


@trap(':8: joint "elbow": axis "0 3 -4" is not of length 1; it was normalised')
def axis_not_unit(model: Model) -> None:
    assert_allclose(axis(model), [0, 0.6, -0.8], rtol=1e-15)


@trap(':7: joint "elbow": <joint> has two <origin>; the first one counts')
def origin_twice(model: Model) -> None:
    assert_allclose(elbow(model).placement.translation, [1, 2, 3], atol=0)


@trap()
def axis_rounded(model: Model) -> None:
    assert_allclose(axis(model), np.full(3, 1 / np.sqrt(3)), rtol=1e-15)


@trap()
def axis_missing(model: Model) -> None:
    assert_allclose(axis(model), [1, 0, 0], atol=0)


@trap()
def axis_zero_fixed(model: Model) -> None:
    assert model.nv == 0 and elbow(model).type.kind == "fixed"


@trap()
def inertial_rotated(model: Model) -> None:
    # R = Rz(90°) Rx(30°) by hand: its columns are where the axes of the inertial frame point.
    s, c = 0.5, np.sqrt(3) / 2
    rotation = np.array([[0, -c, s], [1, 0, 0], [0, s, c]])
    expected = rotation @ np.array([[1, 0.25, 0], [0.25, 2, 0], [0, 0, 3]]) @ rotation.T
    inertia = model.link("arm").inertia
    assert_allclose(inertia.rotational, expected, atol=1e-15)
    assert_allclose(inertia.first_moment, 0, atol=0)


@trap()
def inertial_offset(model: Model) -> None:
    # Parallel axes with m = 2, c = (1, -2, 3): Ixx += 2 (4 + 9), Ixy -= 2 · 1 · (-2), and so on.
    expected = [2, 2, -4, 6, 1 + 26, 4, -6, 2 + 20, 12, 3 + 10]
    assert_allclose(model.link("arm").inertia.parameters, expected, rtol=1e-15)


@trap(':4: link "arm": it moves, but neither it nor anything that it carries has mass')
def inertial_missing(model: Model) -> None:
    assert model.link("arm").inertia is None and model.bodies[0].inertia.mass == 0


@trap()
def prismatic_rpy(model: Model) -> None:
    placement = elbow(model).placement
    assert_allclose(placement.rotation @ axis(model), [1, 0, 0], atol=0)
    assert_allclose(placement.translation, [1, 2, 3], atol=0)


@trap()
def fixed_massive(model: Model) -> None:
    (body,) = model.bodies
    # The hand sits at (1, 0, 0), its z along the arm's x and its x along -z: its mass at (2, 0, 0).
    # The tool, a point, sits at (1, 1, 0).
    assert_allclose(body.inertia.mass, 2 + 3 + 5)
    assert_allclose(body.inertia.first_moment, [3 * 2 + 5 * 1, 5 * 1, 0], atol=1e-14)
    hand = np.diag([3, 2 + 3 * 4, 1 + 3 * 4])
    tool = 5 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 2]])
    assert_allclose(body.inertia.rotational, np.eye(3) + hand + tool, atol=1e-14)
    assert model.frames["tool"].body == 0
    assert_allclose(model.frames["tool"].placement.translation, [1, 1, 0], atol=1e-15)


@trap()
def fixed_root_mass(model: Model) -> None:
    assert model.nv == 0 and model.bodies == () and model.link("base").inertia.mass == 2


@trap()
def joint_order(model: Model) -> None:
    assert model.root == "base"
    # Depth first from the root; d stands before b in the file.
    assert [joint.name for joint in model.joints] == ["a", "d", "b", "c"]
    assert [body.parent for body in model.bodies] == [-1, 0, 0, 2]


@trap()
def mimic_chain(model: Model) -> None:
    assert model.nq == model.nv == 1
    factors = {body.joint.name: (body.multiplier, body.offset) for body in model.bodies}
    # a = -2 b + 0.5 and b = 3 c + 0.25.
    assert factors == {"a": (-6.0, 0.0), "b": (3.0, 0.25), "c": (1.0, 0.0)}


@trap()
def mimic_defaults(model: Model) -> None:
    assert model.joint("b").mimic == Mimic("a", 1.0, 0.0)


@trap(':12: joint "b": it is fixed, so that its <mimic> has no effect')
def mimic_on_fixed(model: Model) -> None:
    assert model.nv == 1 and model.joint("b").mimic is None


@trap()
def names_unusual(model: Model) -> None:
    assert model.name == "Робот 1/2"
    expected = ["base", "a link/with slashes.and dots", "Glied-äöü-腕-🦾", "1", "n" * 300, " ", '<&">']
    assert [link.name for link in model.links] == expected and model.nv == 6


@trap()
def single_link(model: Model) -> None:
    assert (model.root, model.nq, model.nv, model.bodies) == ("only", 0, 0, ())


@trap()
def numbers_forms(model: Model) -> None:
    assert_allclose(elbow(model).placement.translation, [1e-3, 0.5, -2], atol=0)
    assert_allclose(elbow(model).placement.rotation, np.eye(3), atol=0)
    assert_allclose(axis(model), [0, 0, 1], atol=0)


def limits(model: Model) -> list[float]:
    return [float(bound[0]) for bound in elbow(model).range]


@trap(':5: joint "elbow": it has no <limit>; taken as unlimited')
def limit_missing(model: Model) -> None:
    assert limits(model) == [-np.inf, np.inf, np.inf, np.inf]


@trap("states neither lower nor upper; taken as unlimited")
def limit_no_range(model: Model) -> None:
    assert limits(model) == [-np.inf, np.inf, 2, 3]


@trap("states only upper; the other is 0, URDF's default")
def limit_upper_only(model: Model) -> None:
    assert limits(model) == [0, 1, 2, 3]


@trap("states no velocity; taken as unlimited", "states no effort; taken as unlimited")
def limit_range_only(model: Model) -> None:
    assert limits(model) == [-1, 1, np.inf, np.inf]


@trap("velocity limit is 0", "effort limit is 0", "lower and upper limits are equal")
def limit_zero(model: Model) -> None:
    assert limits(model) == [0, 0, 0, 0]


@trap()
def limit_huge(model: Model) -> None:
    assert limits(model) == [-np.inf, np.inf, np.inf, 5]


@trap("it is continuous, so that lower and upper limits have no effect")
def limit_continuous(model: Model) -> None:
    assert limits(model) == [-np.inf, np.inf, 2, 3]


@trap()
def dynamics(model: Model) -> None:
    joint = elbow(model)
    assert (joint.damping[0], joint.friction[0], joint.armature[0]) == (0.1, 0.2, 0.3)


@trap()
def dynamics_partial(model: Model) -> None:
    joint = elbow(model)
    assert (joint.damping[0], joint.friction[0], joint.armature[0]) == (0.0, 0.2, 0.0)


@trap('stiffness, rest; "mu_viscous" has no effect', 'xyz, rpy, quat_xyzw; "xyx" has no effect')
def attribute_unknown(model: Model) -> None:
    assert elbow(model).damping[0] == 0.1
    assert_allclose(elbow(model).placement.translation, 0, atol=0)


@trap('axis "0 2 0" is not of length 1', "it is spherical, so that lower and upper limits have no effect")
def extensions(model: Model) -> None:
    kinds = [joint.type.kind for joint in model.joints]
    assert kinds == ["helical", "helical", "universal", "spherical", "spherical", "planar", "floating"]
    assert [model.joint(name).type.pitch for name in ("screw", "helical")] == [0.01, -0.02]
    universal = model.joint("universal")
    assert_allclose([universal.type.axis, universal.type.axis2], [[0, 0, 1], [0, 1, 0]], atol=0)
    assert_allclose(universal.damping, [0.1, 0.2], atol=0)
    assert_allclose(universal.range, [[-1, -2], [1, 1], [3, 4], [5, 5]], atol=0)
    assert_allclose(model.joint("spherical").range.velocity, [2, 2, 2], atol=0)
    assert_allclose(model.joint("planar").type.axis, [0, 1, 0], atol=0)
    assert (model.nq, model.nv) == (1 + 1 + 2 + 4 + 4 + 3 + 7, 1 + 1 + 2 + 3 + 3 + 3 + 6)


@trap("taken as URDF's default")
def planar_no_axis(model: Model) -> None:
    assert_allclose(axis(model), [1, 0, 0], atol=0)


@trap()
def harmless(model: Model) -> None:
    assert (len(model.links), len(model.joints), model.nv) == (2, 1, 1)


@trap("<sensor:camera> has no effect", "<drake:damping> has no effect", "<xacro:property> has no effect")
def namespaces(model: Model) -> None:
    assert model.nv == 1 and elbow(model).damping[0] == 0


@trap(
    "<self_collide> in <link> is not part of URDF and has no effect",
    "<joint_properties> in <joint> is not part of URDF and has no effect",
    "<group_state> in <robot> is not part of URDF and has no effect",
)
def elements_of_other_tools(model: Model) -> None:
    assert model.nv == 1 and elbow(model).damping[0] == 0


@trap()
def namespace_default(model: Model) -> None:
    assert model.nv == 1 and model.bodies[0].inertia.mass == 2


@trap('link "arm": principal moments of inertia 1, 1, 3 kg·m² break the triangle inequality')
def inertia_impossible(model: Model) -> None:
    assert model.link("arm").inertia.rotational[2, 2] == 3


@trap('link "arm": rotational inertia has a negative principal moment -1')
def inertia_negative(model: Model) -> None:
    assert model.link("arm").inertia.rotational[0, 0] == -1


@trap("mass is zero but its moments are not", "neither it nor anything that it carries has mass")
def inertia_no_mass(model: Model) -> None:
    assert_allclose(model.bodies[0].inertia.rotational, np.eye(3), atol=0)


@trap(':4: link "cross": it moves but has no mass')
def massless_between(model: Model) -> None:
    assert [body.inertia.mass for body in model.bodies] == [0, 2]


@trap("<verbose> has no effect")
def geometry(model: Model) -> None:
    link = model.link("base")
    blue, green = (0.0, 0.0, 1.0, 0.5), (0.0, 1.0, 0.0, 1.0)
    assert [(shape.kind, shape.size, shape.filename, shape.color) for shape in link.visuals] == [
        ("box", (1, 2, 3), "", blue),
        ("cylinder", (0.1, 2), "", green),
        ("capsule", (0.2, 3), "", green),
        ("sphere", (0.3,), "", None),
        ("mesh", (1, 1, 1), "package://a/b c.dae", None),
    ]
    assert [(shape.filename, shape.size) for shape in link.collisions] == [
        ("hull.stl", (0.001, 0.001, 0.002)),
        ("../hull.stl", (2, 2, 2)),
    ]
    assert_allclose(link.visuals[1].placement.translation, [1, 0, 0], atol=0)
    assert {shape.folder for shape in link.visuals} == {str(ADVERSARIAL)}


@trap()
def encoding_latin1(model: Model) -> None:
    assert model.root == "Füße"


@trap()
def encoding_utf16(model: Model) -> None:
    assert model.root == "Füße"


def read_with_doubts(path: Path) -> tuple[Model, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = read_urdf(path)
    assert {warning.category for warning in caught} <= {DoubtfulModelWarning}
    assert all(warning.filename == __file__ for warning in caught)
    return model, [str(warning.message) for warning in caught]


def test_every_trap_is_tested() -> None:
    files = {path.stem for path in ADVERSARIAL.glob("*.urdf")}
    assert files == set(CHECKS) | {f"error_{name}" for name in ERRORS}


@pytest.mark.parametrize("name", ERRORS)
def test_fault_is_named_with_its_line(name: str) -> None:
    path = ADVERSARIAL / f"error_{name}.urdf"
    line, text = ERRORS[name]
    with pytest.raises(RobotDescriptionError) as caught:
        read_urdf(path)
    place = f"{path}:{line}: " if line else f"{path}: "
    assert str(caught.value).startswith(place)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", CHECKS)
def test_trap_is_read_right(name: str) -> None:
    check, doubtful = CHECKS[name]
    model, messages = read_with_doubts(ADVERSARIAL / f"{name}.urdf")
    check(model)
    assert len(messages) == len(doubtful), messages
    for message, text in zip(messages, doubtful, strict=True):
        assert text in message and f"{name}.urdf:" in message


@pytest.mark.parametrize("name", CHECKS)
def test_trap_survives_the_round_trip(name: str) -> None:
    model, _ = read_with_doubts(ADVERSARIAL / f"{name}.urdf")
    assert_same(model, read_quietly(to_urdf_text(model)))


def read_quietly(text: str) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulModelWarning)
        return read_urdf_text(text)


def assert_same(one: Model, other: Model) -> None:
    assert one.name == other.name
    for a, b in zip(one.links, other.links, strict=True):
        assert a.name == b.name
        for shapes, same in ((a.visuals, b.visuals), (a.collisions, b.collisions)):
            for s, t in zip(shapes, same, strict=True):
                assert (s.kind, s.size, s.filename, s.color) == (t.kind, t.size, t.filename, t.color)
                assert_same_placement(s.placement, t.placement)
        assert (a.inertia is None) == (b.inertia is None)
        if a.inertia is not None and b.inertia is not None:
            scale = max(1.0, float(np.max(np.abs(a.inertia.parameters))))
            assert_allclose(a.inertia.parameters, b.inertia.parameters, atol=1e-14 * scale, rtol=0)
    for j, k in zip(one.joints, other.joints, strict=True):
        assert (j.name, j.type.kind, j.parent, j.child) == (k.name, k.type.kind, k.parent, k.child)
        assert j.mimic == k.mimic
        for key in ("axis", "axis2", "pitch"):
            assert_allclose(getattr(j.type, key, 0), getattr(k.type, key, 0), rtol=1e-15, atol=1e-15)
        assert_same_placement(j.placement, k.placement)
        for key in ("damping", "friction", "armature"):
            assert_allclose(getattr(j, key), getattr(k, key), atol=0, rtol=0)
        for bound, same_bound in zip(j.range, k.range, strict=True):
            assert_allclose(bound, same_bound, atol=0, rtol=0)


def assert_same_placement(one: Placement, other: Placement) -> None:
    assert_allclose(one.rotation, other.rotation, atol=1e-14)
    assert_allclose(one.translation, other.translation, atol=0, rtol=0)


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_bundled_robot_is_beyond_doubt_and_survives_the_round_trip(path: Path, tmp_path: Path) -> None:
    model, messages = read_with_doubts(path)
    assert messages == [] and doubts(model) == []
    write_urdf(model, tmp_path / "again.urdf")
    again, messages = read_with_doubts(tmp_path / "again.urdf")
    assert_same(model, again)
    assert messages == []


def pinocchio_torques(pin: object, text: str) -> np.ndarray:
    model = pin.buildModelFromXML(text)  # type: ignore[attr-defined]
    random = np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), random.normal(size=model.nv))  # type: ignore[attr-defined]
    v, a = random.normal(size=(2, model.nv))
    return pin.rnea(model, model.createData(), q, v, a)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_what_is_written_has_the_same_dynamics_for_pinocchio(path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    expected = pinocchio_torques(pin, path.read_text(encoding="utf-8"))
    written = pinocchio_torques(pin, to_urdf_text(read_urdf(path)))
    assert_allclose(written, expected, rtol=1e-12, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_bodies_are_those_of_pinocchio(path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    peer, model = pin.buildModelFromUrdf(str(path)), read_urdf(path)
    assert model.nv == peer.nv
    for body in model.bodies:
        i = peer.getJointId(body.joint.name)
        # Pinocchio orders the moments xx, xy, yy, xz, yz, zz.
        parameters = body.inertia.parameters[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
        assert_allclose(parameters, peer.inertias[i].toDynamicParameters(), rtol=1e-12, atol=1e-14)
        assert_allclose(body.placement.rotation, peer.jointPlacements[i].rotation, atol=1e-14)
        assert_allclose(body.placement.translation, peer.jointPlacements[i].translation, atol=1e-15)


angles = st.one_of(st.floats(-7, 7), st.sampled_from([np.pi / 2, -np.pi / 2, 1.5708, 1.57079632]))
lengths = st.floats(-10, 10)


@given(
    rpy=st.tuples(angles, angles, angles),
    xyz=st.tuples(lengths, lengths, lengths),
    direction=st.tuples(lengths, lengths, lengths).filter(lambda x: np.linalg.norm(x) > 1e-3),
    mass=st.floats(1e-3, 100),
    moments=st.lists(st.floats(-1, 1), min_size=6, max_size=6),
)
def test_any_numbers_survive_the_round_trip(
    rpy: tuple[float, ...],
    xyz: tuple[float, ...],
    direction: tuple[float, ...],
    mass: float,
    moments: list[float],
) -> None:
    placement = Placement(euler.from_rpy(np.array(rpy)), np.array(xyz))
    upper = np.zeros((3, 3))
    upper[np.triu_indices(3)] = moments
    inertia = Inertia.from_com(mass, xyz[::-1], upper + upper.T)
    joint = Joint("turn", Revolute(np.array(direction)), "base", "arm", placement)
    model = Model("random", (Link("base"), Link("arm", inertia)), (joint,))
    assert_same(model, read_quietly(to_urdf_text(model)))


def test_equal_doubts_are_one_warning() -> None:
    joints = "".join(
        f'<link name="{i}"/>'
        f'<joint name="{i}" type="revolute"><parent link="base"/><child link="{i}"/></joint>'
        for i in range(5)
    )
    with pytest.warns(DoubtfulModelWarning) as caught:
        read_urdf_text(f'<robot name="r"><link name="base"/>{joints}</robot>')
    messages = [str(warning.message) for warning in caught]
    assert messages == [
        '<text>:1: joint "0": it has no <limit>; taken as unlimited (and at 4 more places)',
        '<text>:1: link "0": it moves, but neither it nor anything that it carries has mass '
        "(and at 4 more places)",
    ]


def test_doubts_of_a_model() -> None:
    model, _ = read_with_doubts(ADVERSARIAL / "inertia_no_mass.urdf")
    assert doubts(model) == [
        'link "arm": mass is zero but its moments are not',
        'link "arm": it moves, but neither it nor anything that it carries has mass',
    ]


def test_floating_base() -> None:
    path = BUNDLED[0].with_name("quadruped.urdf")
    fixed, floating = read_urdf(path), read_urdf(path, floating=True)
    assert (floating.nq, floating.nv) == (fixed.nq + 7, fixed.nv + 6)
    # Whether the base floats is not part of a URDF.
    assert to_urdf_text(floating) == to_urdf_text(fixed)


def test_text_and_file_give_the_same_robot() -> None:
    path = BUNDLED[0]
    assert_same(read_urdf(str(path)), read_urdf_text(path.read_text(encoding="utf-8")))


def test_the_encoding_that_a_text_declares_is_that_of_its_file() -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?><robot name="r"><link name="Füße"/></robot>'
    assert read_urdf_text(text).root == "Füße"


@pytest.mark.parametrize("text", ["", "\ud800", "\0", "panda", "{}"])
def test_text_that_is_no_urdf(text: str) -> None:
    with pytest.raises(RobotDescriptionError, match=r"^robot: |^robot:1: "):
        read_urdf_text(text, name="robot")


@pytest.mark.parametrize("name", ["missing.urdf", ".", "null\0byte"])
def test_file_that_is_not_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDescriptionError):
        read_urdf(f"{tmp_path}/{name}")


def test_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reader, markup):
        monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(RobotDescriptionError, match="larger than"):
        read_urdf(BUNDLED[0])


HEAVY = {"lxml", "matplotlib", "rich", "scipy", "trimesh", "typer", "viser", "yourdfpy"}


def test_reading_a_robot_needs_no_mesh_library() -> None:
    """In a process of its own: what other tests import would hide it."""
    code = (
        "import sys, helicoid as hc\n"
        "hc.load('panda').inverse_dynamics([0.0] * 7, [0.0] * 7, [0.0] * 7)\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.slow
def test_chain_of_thousands_of_links() -> None:
    n = 1100  # more than Python's functions may nest
    body = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    links = "".join(f'<link name="{i}">{body}</link>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="{i}" type="{"fixed" if i % 2 else "continuous"}"><origin xyz="0 0 1"/>'
        f'<parent link="{i}"/><child link="{i + 1}"/></joint>'
        for i in reversed(range(n))
    )
    model = read_urdf_text(f'<robot name="chain">{joints}{links}</robot>')
    assert model.nv == len(model.bodies) == n // 2
    assert [joint.name for joint in model.joints] == [str(i) for i in range(n)]
    assert model.frames[str(n)].body == n // 2 - 1
    again = read_quietly(to_urdf_text(model))
    assert [joint.name for joint in again.joints] == [joint.name for joint in model.joints]
    mine, other = (np.array([body.inertia.parameters for body in one.bodies]) for one in (model, again))
    assert_allclose(other, mine, rtol=1e-14)


def with_inertia(parameters: np.ndarray) -> Model:
    return Model("r", (Link("base", Inertia.from_parameters(parameters)),), ())


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (with_inertia(np.eye(10)[1]), "link 'base': a URDF cannot state a first moment"),
        (with_inertia(-np.eye(10)[0]), "link 'base': a URDF cannot state a negative mass"),
        (with_inertia(np.full(10, np.nan)), "link 'base' is not finite"),
        (
            hc.load("planar_2r").with_joints(damping={"joint_2": -0.3}).model,
            "joint 'joint_2': a URDF cannot state a negative damping",
        ),
        (Model("r", (Link("\0"),), ()), "cannot be written as XML"),
        (Model("r", (Link("base", visuals=(Geometry("cone", (1.0,)),)),), ()), "unknown kind 'cone'"),
    ],
)
def test_what_a_urdf_cannot_state(model: Model, text: str, tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text("as it was")
    with pytest.raises(ModelError, match=text):
        write_urdf(model, path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [".", "nowhere/robot.urdf", "null\0byte"])
def test_place_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_urdf(Model("r", (Link("base"),), ()), f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


def test_meshes_are_still_found_from_the_new_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    meshes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("meshes/a.stl", "package://b.stl", "/c.stl")
    )
    (tmp_path / "old" / "r.urdf").write_text(f'<robot name="r"><link name="base">{meshes}</link></robot>')
    write_urdf(read_urdf(tmp_path / "old" / "r.urdf"), tmp_path / "new" / "r.urdf")
    names = [shape.filename for shape in read_urdf(tmp_path / "new" / "r.urdf").link("base").visuals]
    assert names == ["../old/meshes/a.stl", "package://b.stl", "/c.stl"]


def test_origins_with_quaternions() -> None:
    text = """<robot name="r" version="1.2"><link name="a"/><link name="b"/><joint name="j" type="fixed">
      <parent link="a"/><child link="b"/><origin xyz="1 2 3" {}/></joint></robot>"""
    s = np.sqrt(0.5)
    for stated, rpy in (
        (f'quat_xyzw="0 0 {s} {s}"', "0 0 1.5707963267948966"),
        ('quat_xyzw="1 0 0 0"', "3.141592653589793 0 0"),
    ):
        one, other = (hc.load(text.format(x)).pose("b")([]) for x in (stated, f'rpy="{rpy}"'))
        assert np.allclose(one, other, rtol=0, atol=1e-15)
    with pytest.warns(hc.DoubtfulModelWarning, match="normalised"):
        hc.load(text.format('quat_xyzw="0 0 0 2"'))
    for wrong, match in (
        ('quat_xyzw="0 0 0 0"', "must not be zero"),
        ('quat_xyzw="0 0 1"', "must be 4 numbers"),
        ('quat_xyzw="0 0 0 1" rpy="0 0 0"', "one of them"),
    ):
        with pytest.raises(hc.RobotDescriptionError, match=match):
            hc.load(text.format(wrong))
