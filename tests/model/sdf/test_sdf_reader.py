# ruff: noqa: E501
"""SDF files: the same robots as from URDF, every rule of poses and joints, and what is refused."""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.geometry import quaternion
from helicoid.model.joints import TYPES
from helicoid.model.parts import Joint, Placement


def words(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def pose(placed: Placement, attributes: str = "") -> str:
    q = np.asarray(quaternion.from_matrix(placed.rotation))
    numbers = words([*placed.translation, *q[1:], q[0]])
    return f'<pose rotation_format="quat_xyzw" {attributes}>{numbers}</pose>'


def axis(joint: Joint, number: int, direction: Array) -> str:
    tag, limits = ("axis", "axis2")[number], joint.range
    parts = [
        f"<{name}>{limit[number]!r}</{name}>"
        for name, limit in zip(("lower", "upper"), limits[:2], strict=True)
    ]
    for name, limit in (("velocity", limits.velocity), ("effort", limits.effort)):
        parts.append(f"<{name}>{limit[number] if np.isfinite(limit[number]) else -1.0!r}</{name}>")
    numbers = {"damping": joint.damping, "friction": joint.friction, "spring_stiffness": joint.stiffness}
    numbers["spring_reference"] = joint.rest
    dynamics = "".join(f"<{name}>{float(value[number])!r}</{name}>" for name, value in numbers.items())
    mimic = ""
    if joint.mimic is not None:
        mimic = (
            f'<mimic joint="{joint.mimic.joint}" axis="axis"><multiplier>{joint.mimic.multiplier!r}</multiplier>'
            f"<offset>{joint.mimic.offset + 0.5 * joint.mimic.multiplier!r}</offset><reference>0.5</reference></mimic>"
        )
    text = "".join(parts).replace("np.float64(", "").replace(")", "")
    return f"<{tag}><xyz>{words(direction)}</xyz><limit>{text}</limit><dynamics>{dynamics}</dynamics>{mimic}</{tag}>"


KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed"}
KINDS |= {"helical": "screw", "universal": "universal", "spherical": "ball"}


def sdf_of(robot: hc.Robot, shift: Array | None = None, version: str = "1.11") -> str:
    """A robot as SDF; joint frames are away from their children by `shift` (m), if given."""
    parts = []
    offset = Placement(translation=np.zeros(3) if shift is None else shift)
    carriers = {joint.child: joint for joint in robot.model.joints}
    for link in robot.model.links:
        own = carriers.get(link.name)
        placed = "" if own is None else pose(offset.inverse, f'relative_to="{own.name}"')
        inertia = link.inertia
        inertial = ""
        if inertia is not None:
            I, com = inertia.at_com, inertia.com
            moments = "".join(
                f"<i{'xyz'[i]}{'xyz'[j]}>{float(I[i, j])!r}</i{'xyz'[i]}{'xyz'[j]}>"
                for i in range(3)
                for j in range(i, 3)
            )
            inertial = (
                f"<inertial><pose>{words([*(com + offset.translation), 0, 0, 0])}</pose>"
                f"<mass>{inertia.mass!r}</mass><inertia>{moments}</inertia></inertial>"
            )
        else:
            inertial = (
                "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
            )
        parts.append(f'<link name="{link.name}">{placed}{inertial}</link>')
    for joint in robot.model.joints:
        from_parent = Placement(
            translation=offset.translation if joint.parent != robot.model.root else np.zeros(3)
        )
        stated = pose(from_parent @ joint.placement, f'relative_to="{joint.parent}"')
        directions = [getattr(joint.type, name) for name in ("axis", "axis2") if hasattr(joint.type, name)]
        axes = "".join(axis(joint, k, one) for k, one in enumerate(directions))
        if joint.type.kind == "helical":
            axes += f"<screw_thread_pitch>{2 * np.pi * float(joint.type.pitch)!r}</screw_thread_pitch>"  # type: ignore[attr-defined]
        parts.append(
            f'<joint name="{joint.name}" type="{KINDS[joint.type.kind]}">{stated}'
            f"<parent>{joint.parent}</parent><child>{joint.child}</child>{axes}</joint>"
        )
    return f'<sdf version="{version}"><model name="{robot.name}">{"".join(parts)}</model></sdf>'


def same(one: hc.Robot, other: hc.Robot, shift: Array | None, rng: np.random.Generator) -> None:
    assert set(one.joint_names) == set(other.joint_names)
    for _ in range(3):
        q, v, a = one.random(rng), rng.normal(size=one.nv), rng.normal(size=one.nv)
        q2, v2, a2 = np.zeros(other.nq), np.zeros(other.nv), np.zeros(other.nv)
        tau2 = np.zeros(one.nv)
        for name in one.joint_names:
            (at_q, at_v), (to_q, to_v) = one.index(name), other.index(name)
            q2[to_q], v2[to_v], a2[to_v] = q[at_q], v[at_v], a[at_v]
        there = other.inverse_dynamics(q2, v2, a2, friction=True)
        for name in one.joint_names:
            tau2[one.index(name)[1]] = there[other.index(name)[1]]
        tau = one.inverse_dynamics(q, v, a, friction=True)
        assert np.allclose(tau2, tau, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(tau).max()))
        for link in one.link_names:
            T = np.asarray(other.pose(link)(q2))
            if shift is not None and link != one.model.root:
                T = T @ np.block([[np.eye(3), shift[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
            assert np.allclose(T, one.pose(link)(q), atol=1e-12)
    for name in one.joint_names:
        for limit, again in zip(*(r.model.joint(name).range for r in (one, other)), strict=True):
            assert np.array_equal(limit, again)


@pytest.mark.parametrize("name", ["panda", "ur5", "quadruped", "planar_2r"])
@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_a_robot_is_that_of_its_urdf(name: str, rng: np.random.Generator) -> None:
    robot = hc.load(name)
    same(robot, hc.load(sdf_of(robot)), None, rng)


MIXED = """
<robot name="mixed"><link name="base"/>{links}
  <joint name="turn" type="revolute"><origin xyz="0.1 0 0.2" rpy="0.3 0 0.1"/><parent link="base"/><child link="a"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="0.3" friction="0.2"
    stiffness="5" rest="0.1"/></joint>
  <joint name="ball" type="spherical"><origin xyz="0 0.3 0"/><parent link="a"/><child link="b"/></joint>
  <joint name="cross" type="universal"><origin xyz="0.2 0 0" rpy="0 0.4 0"/><parent link="b"/><child link="c"/>
    <axis xyz="1 0 0"/><helicoid axis2="0 0.6 0.8"/></joint>
  <joint name="screw" type="helical"><origin xyz="0 0 0.1"/><parent link="a"/><child link="d"/><axis xyz="0 1 0"/>
    <helicoid pitch="0.02"/></joint>
  <joint name="slide" type="prismatic"><parent link="d"/><child link="e"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.1" velocity="1" effort="1"/><mimic joint="turn" multiplier="0.05" offset="0.01"/></joint>
</robot>"""
LINK = """<link name="{0}"><inertial><origin xyz="0.1 0.02 0.{1}"/><mass value="{1}"/>
  <inertia ixx="0.{1}" iyy="0.3" izz="0.4" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>"""


def mixed() -> hc.Robot:
    links = "".join(LINK.format(name, 2 + k) for k, name in enumerate("abcde"))
    return hc.load(MIXED.format(links=links))


@pytest.mark.parametrize("shift", [None, np.array([0.05, -0.02, 0.1])])
@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_joints_of_all_kinds_also_away_from_their_links(
    shift: Array | None, rng: np.random.Generator
) -> None:
    same(mixed(), hc.load(sdf_of(mixed(), shift)), shift, rng)
    assert set(KINDS) | {"planar", "floating"} == set(TYPES)


INERTIAL = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.3</izz></inertia></inertial>"


def arm(inside: str = "", links: str = "", version: str = "1.9", outside: str = "") -> str:
    return f"""<sdf version="{version}">{outside}
<model name="arm">
  <link name="base">{INERTIAL}{links}</link>
  <link name="rod"><pose degrees="true">0 0 1 90 0 0</pose>{INERTIAL}</link>
  <joint name="hinge" type="revolute"><parent>base</parent><child>rod</child>
    <axis><xyz>0 0 1</xyz></axis></joint>
  {inside}
</model></sdf>"""


def test_poses_axes_and_frames() -> None:
    frames = """
      <frame name="hand" attached_to="rod"><pose>0.1 0 0 0 0 0</pose></frame>
      <frame name="eye" attached_to="hand"><pose relative_to="base">0 0 2 0 0 0</pose></frame>
      <frame name="start"/>
    """
    sensor = '<sensor name="imu" type="imu"><pose>0 0 0.3 0 0 0</pose></sensor>'
    robot = hc.load(arm(frames, sensor))
    T = {name: np.asarray(robot.pose(name)([0.0])) for name in robot.link_names}
    assert np.allclose(T["hand"][:3, 3], [0.1, 0, 1]) and np.allclose(T["eye"][:3, 3], [0, 0, 2])
    assert np.allclose(T["eye"][:3, :3], np.eye(3)) and np.allclose(T["imu"][:3, 3], [0, 0, 0.3])
    assert np.allclose(T["start"], np.eye(4))
    turned = np.asarray(robot.pose("eye")([np.pi / 2]))  # about y of the world, reversed
    assert np.allclose(turned[:3, 3], np.array([0, 0, 1]) + robot.pose("rod")([np.pi / 2])[:3, 1])
    for stated in ('<xyz expressed_in="__model__">0 -1 0</xyz>', '<xyz expressed_in="base">0 -1 0</xyz>'):
        again = hc.load(arm(frames).replace("<xyz>0 0 1</xyz>", stated))
        assert np.allclose(again.pose("eye")([0.7]), robot.pose("eye")([0.7]), atol=1e-12)
    old = arm(version="1.6").replace(
        "<xyz>0 0 1</xyz>", "<xyz>0 -1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>"
    )
    old = old.replace('degrees="true">0 0 1 90 0 0', f">0 0 1 {np.pi / 2!r} 0 0")
    assert np.allclose(hc.load(old).pose("rod")([0.7]), robot.pose("rod")([0.7]), atol=1e-12)


def test_the_base_stands_where_its_pose_says_and_joints_with_the_world_hold() -> None:
    raised = arm().replace(
        '<link name="base">', '<pose>0 0 0.5 0 0 0</pose><link name="base"><pose>1 0 0 0 0 0</pose>'
    )
    robot = hc.load(raised)
    assert robot.model.root == "world" and np.allclose(robot.pose("base")([0.0])[:3, 3], [1, 0, 0.5])
    assert hc.load(raised, base="floating").model.root == "base"
    held = arm('<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>')
    assert hc.load(held).nv == 1
    with pytest.raises(hc.HelicoidError, match="holds it in the world"):
        hc.load(held, base="floating")


def test_nested_and_included_models(tmp_path: Path) -> None:
    (tmp_path / "gripper").mkdir()
    finger = f"""<sdf version="1.9"><model name="gripper" canonical_link="palm">
      <link name="palm"><pose>0 0 0.1 0 0 0</pose>{INERTIAL}</link><link name="tip">{INERTIAL}</link>
      <joint name="close" type="prismatic"><parent>palm</parent><child>tip</child><axis><xyz>1 0 0</xyz>
      <limit><lower>0</lower><upper>0.05</upper></limit></axis></joint>
      <frame name="mount" attached_to="palm"><pose>0 0 -0.1 0 0 0</pose></frame></model></sdf>"""
    (tmp_path / "gripper" / "tool.sdf").write_text(finger)
    (tmp_path / "gripper" / "model.config").write_text("<model><sdf version='1.9'>tool.sdf</sdf></model>")
    inside = """<include><uri>{}</uri><name>left</name><placement_frame>mount</placement_frame>
      <pose relative_to="rod">0.2 0 0 0 0 0</pose></include>
      <joint name="hold" type="fixed"><parent>rod</parent><child>left::mount</child></joint>"""
    robot = hc.load(arm(inside.format("model://gripper")), packages={"gripper": tmp_path / "gripper"})
    assert robot.joint_names == ["hinge", "left::close"]
    T = np.asarray(robot.pose("left::palm")(np.zeros(2)))
    assert np.allclose(T[:3, 3], [0.2, -0.1, 1])
    nested = finger[finger.index("<model") : finger.index("</sdf>")].replace(
        "<model", '<model placement_frame="mount"'
    )
    nested = nested.replace('name="gripper"', 'name="left"').replace(
        'canonical_link="palm">', 'canonical_link="palm"><pose relative_to="rod">0.2 0 0 0 0 0</pose>'
    )
    hold = inside[inside.index("<joint") :]
    same(robot, hc.load(arm(nested + hold)), None, np.random.default_rng(0))
    (tmp_path / "arm.sdf").write_text(arm(inside.format("gripper")))
    assert hc.load(tmp_path / "arm.sdf").nv == 2
    world = (
        f'<sdf version="1.9"><world name="w"><gravity>0 0 -3</gravity><light name="sun"/>'
        f"<include><uri>gripper</uri><name>other</name></include>{arm()[arm().index('<model') : arm().index('</sdf>')]}"
        "</world></sdf>"
    )
    (tmp_path / "w.world").write_text(world)
    with pytest.raises(hc.HelicoidError, match=r"'arm'.*model="):
        hc.load(tmp_path / "w.world")
    chosen = hc.load(tmp_path / "w.world", model="arm")
    assert chosen.name == "arm" and chosen.model.gravity == (0, 0, -3)
    assert hc.load(tmp_path / "w.world", model="other").joint_names == ["close"]


def test_loops_and_gearboxes(rng: np.random.Generator) -> None:
    links = "".join(f'<link name="l{k}"><pose>{k} 0 0 0 0 0</pose>{INERTIAL}</link>' for k in range(3))
    joints = "".join(
        f'<joint name="j{k}" type="{"ball" if k == 2 else "revolute"}"><pose>0 0.5 0 0 0 0</pose><parent>l{k}</parent>'
        f"<child>l{(k + 1) % 3}</child><axis><xyz>0 0 1</xyz></axis></joint>"
        for k in range(3)
    )
    loop = hc.load(f'<sdf version="1.9"><model name="loop">{links}{joints}</model></sdf>')
    assert loop.model.loops[0].kind == "point" and np.allclose(loop.constraint_position(np.zeros(2)), 0)
    gears = f"""<sdf version="1.9"><model name="gears"><link name="l0">{INERTIAL}</link>
      <link name="l1">{INERTIAL}</link><link name="l2">{INERTIAL}</link>
      <joint name="a" type="revolute"><parent>l0</parent><child>l1</child><axis><xyz>0 0 1</xyz></axis></joint>
      <joint name="b" type="revolute"><parent>l0</parent><child>l2</child><axis><xyz>0 0 -1</xyz></axis></joint>
      <joint name="g" type="gearbox"><parent>l1</parent><child>l2</child><gearbox_ratio>3</gearbox_ratio>
      <gearbox_reference_body>l0</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>
      </joint></model></sdf>"""
    robot = hc.load(gears)
    assert (
        robot.joint_names == ["a"] and robot.model.joint("b").mimic.multiplier == 3.0
    )  # θ₂ = -3 θ₁, b about -z
    assert np.allclose(robot.mass_matrix([0.2]), 0.3 + 9 * 0.3)


def test_inertias_of_shapes() -> None:
    shapes = {
        "<box><size>1 2 3</size></box>": (6000.0, 6000 * 13 / 12),
        "<sphere><radius>0.5</radius></sphere>": (1000 * np.pi / 6, 0.1 * 1000 * np.pi / 6),
        "<cylinder><radius>1</radius><length>2</length></cylinder>": (2000 * np.pi, 2000 * np.pi * 7 / 12),
        "<capsule><radius>1</radius><length>0</length></capsule>": (4000 * np.pi / 3, 1600 * np.pi / 3),
    }
    for shape, (mass, moment) in shapes.items():
        text = f'<inertial auto="true"/><collision name="c"><geometry>{shape}</geometry></collision>'
        model = hc.load(arm().replace(f'<pose degrees="true">0 0 1 90 0 0</pose>{INERTIAL}', text, 1)).model
        inertia = model.link("rod").inertia
        assert (
            inertia is not None
            and np.isclose(inertia.mass, mass)
            and np.isclose(inertia.at_com[0, 0], moment)
        )
    twice = text.replace("</geometry>", "</geometry><density>2000</density>")
    model = hc.load(arm().replace(f'<pose degrees="true">0 0 1 90 0 0</pose>{INERTIAL}', twice, 1)).model
    assert np.isclose(model.link("rod").inertia.mass, 2 * mass)


def test_missing_meshes_are_named_and_dynamics_load() -> None:
    mesh = '<visual name="v"><geometry><mesh><uri>model://none/a.dae</uri></mesh></geometry></visual>'
    with pytest.warns(hc.DoubtfulModelWarning, match="there is no mesh model://none/a.dae"):
        assert hc.load(arm(links=mesh)).nv == 1


def test_an_axis_that_a_joint_does_not_have_is_told() -> None:
    damped = arm().replace('type="revolute"', 'type="ball"').replace("</axis>", "<dynamics/></axis>", 1)
    with pytest.warns(hc.DoubtfulModelWarning, match="a ball joint has no <axis>: it is left out"):
        assert hc.load(damped).nv == 3


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("1.9", "1.4", 'version "1.4" is not read'),
        ("<mass>1</mass>", "<mass>heavy</mass>", r":3: link \"base\": mass \"heavy\" must be one number"),
        ("<mass>1</mass>", "<mass>-1</mass>", "must not be negative"),
        (
            "<parent>base</parent>",
            "<parent>bas</parent>",
            r":5: joint \"hinge\": there is no link or frame \"bas\"",
        ),
        ("<parent>base</parent>", "", "lacks <parent>"),
        ("<parent>base</parent>", "<parent>rod</parent>", "are both"),
        ('type="revolute"', 'type="wheel"', "unknown type"),
        ("<xyz>0 0 1</xyz>", "<xyz>0 0 0</xyz>", "must not be zero"),
        ("<xyz>0 0 1</xyz>", "<xyz>0 0</xyz>", "must be 3 numbers"),
        ('<link name="rod">', '<link name="base">', "names must be unique"),
        ('<pose degrees="true">', '<pose relative_to="hinge">', "depends on itself"),
        ('<pose degrees="true">', '<pose relative_to="nothing">', 'there is no frame "nothing"'),
        ('<pose degrees="true">', '<pose frame="base">', "relative_to"),
        ("<mass>1</mass>", "<mass>1</mass><colour/>", "<colour> in <inertial> is not understood"),
        ('<link name="base">', '<static>true</static><link name="base">', 'ignore=\\["static"\\]'),
        ('<link name="rod">', '<link name="rod"><gravity>0</gravity>', 'ignore=\\["gravity"\\]'),
        ("<sdf", "<!DOCTYPE a [<!ENTITY b 'c'>]><sdf", "DOCTYPE"),
        ("</sdf>", "", "faulty XML"),
        ("</model>", "<include><uri>../../etc</uri></include></model>", "no file|not read"),
        ("</model>", "<include><uri>/etc/passwd</uri></include></model>", "is not read"),
        ("</model>", "<include><uri>https://a.b/c</uri></include></model>", "is not known"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(old: str, new: str, match: str, tmp_path: Path) -> None:
    assert old in arm()
    path = tmp_path / "arm.sdf"
    path.write_text(arm().replace(old, new, 1))
    with pytest.raises(hc.HelicoidError, match=match):
        hc.load(path)


def test_what_is_ignored_as_asked_and_includes_that_include_themselves(tmp_path: Path) -> None:
    static = arm().replace('<link name="base">', '<static>true</static><link name="base">')
    with pytest.warns(hc.DoubtfulModelWarning, match="ignored"):
        assert hc.load(static, ignore="static").nv == 1
    with pytest.raises(hc.InputError, match="ignore names"):
        hc.load(arm(), ignore=["friction"])
    one, other = tmp_path / "one.sdf", tmp_path / "other.sdf"
    one.write_text(arm("<include><uri>other.sdf</uri><name>x</name></include>"))
    other.write_text(arm("<include><uri>one.sdf</uri><name>y</name></include>"))
    with pytest.raises(hc.HelicoidError, match=r"other.sdf:\d+: .*one.sdf includes itself"):
        hc.load(one)


def mutated(text: str, rng: random.Random) -> str:
    tags = re.findall(r"<[^>]*>", text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 30) :]
        elif kind == 1:
            text = text[:at] + rng.choice(tags) + text[at:]
        elif kind == 2:
            text = text.replace(rng.choice(tags), rng.choice([*tags, ""]), 1)
        elif kind == 3:
            number = rng.choice(
                ["0", "-1", "1e400", "nan", "inf", "-inf", "1e16", "1e-300", "x", "", "9" * 400]
            )
            text = re.sub(
                r"(?<=[ >])-?\d[\d.e-]*(?=[ <])", lambda m, x=number: x if rng.random() < 0.05 else m[0], text
            )
        else:
            text = text[:at] if rng.random() < 0.1 else text[:at] + rng.choice("<>\"'/ \0:") + text[at + 1 :]
        text = text or "<"
    return text


def sweep(n: int, seed: int) -> int:
    """Number of robots among mutated texts."""
    rng, robots = random.Random(seed), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [sdf_of(mixed(), np.array([0.1, 0, 0])), arm('<frame name="f" attached_to="rod"/>')]
        for _ in range(n):
            try:
                robot = hc.load(mutated(rng.choice(texts), rng))
                robots += 1
                assert np.isfinite(robot.limits.lower[robot.limits.lower > -np.inf]).all()
            except hc.HelicoidError as error:
                assert str(error)
    return robots


def test_mutated_files_are_a_robot_or_an_error_of_ours() -> None:
    assert 0 < sweep(150, 0) < 150


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_mutated_files(seed: int) -> None:
    assert sweep(5000, seed) > 0
