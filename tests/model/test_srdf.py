"""SRDF: groups, postures, disabled collisions, and where they go in edits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.model import bundled

SRDF = """<robot name="planar_2r">
  <group name="arm"><chain base_link="base_link" tip_link="tip"/></group>
  <group name="elbow"><joint name="joint_2"/></group>
  <group name="all"><group name="elbow"/><link name="link_1"/></group>
  <group_state name="ready" group="arm">
    <joint name="joint_1" value="0.5"/><joint name="joint_2" value="-1"/>
  </group_state>
  <group_state name="bent" group="elbow"><joint name="joint_2" value="1.5"/></group_state>
  <virtual_joint name="free" type="floating" parent_frame="world" child_link="base_link"/>
  <group_state name="up" group="arm"><joint name="free" value="1 2 3 0 0 0.6 0.8"/></group_state>
  <disable_collisions link1="base_link" link2="link_2" reason="Never"/>
  <end_effector name="tool" parent_link="tip" group="arm"/>
</robot>"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "srdf").mkdir()
    (tmp_path / "urdf" / "arm_v2.urdf").write_text(bundled.text("planar_2r"))
    (tmp_path / "srdf" / "arm.srdf").write_text(SRDF)
    return tmp_path


def test_groups_and_postures_by_name(files: Path) -> None:
    robot = hc.load(files / "urdf" / "arm_v2.urdf")
    assert robot.groups == {
        "arm": ("joint_1", "joint_2"),
        "elbow": ("joint_2",),
        "all": ("joint_1", "joint_2"),
    }
    np.testing.assert_array_equal(robot.postures["ready"], [0.5, -1])
    np.testing.assert_array_equal(robot.postures["bent"], [0, 1.5])
    floating = hc.load("planar_2r", "floating", srdf=SRDF)
    np.testing.assert_array_equal(floating.postures["up"], [1, 2, 3, 0.8, 0, 0, 0.6, 0, 0])
    assert not hc.load(files / "urdf" / "arm_v2.urdf", srdf=False).postures


def test_the_file_of_the_same_name_comes_first(files: Path) -> None:
    (files / "urdf" / "arm_v2.srdf").write_text(SRDF.replace("-1", "-2"))
    assert hc.load(files / "urdf" / "arm_v2.urdf").postures["ready"][1] == -2


def test_semantics_come_along_in_edits() -> None:
    arm = hc.load("planar_2r", srdf=SRDF)
    both = arm.attach(arm, "tip", prefix="b_")
    np.testing.assert_array_equal(both.postures["b_ready"], [0, 0, 0.5, -1])
    assert both.groups["b_elbow"] == ("b_joint_2",)
    pairs = {frozenset({"base_link", "link_2"}), frozenset({"b_base_link", "b_link_2"})}
    assert both.model.semantics.disabled == pairs
    np.testing.assert_array_equal(arm.lock({"joint_1": 0.1}).postures["ready"], [-1])
    assert both.detach("b_base_link").model.semantics.disabled == arm.model.semantics.disabled
    np.testing.assert_array_equal(both.detach("b_base_link").postures["ready"], arm.postures["ready"])


def test_disabled_pairs_are_no_pairs_of_capsules() -> None:
    arm = hc.load("planar_2r", srdf=False)
    three = arm.attach(arm, "tip", prefix="b_")
    shapes = three.capsules("visual")
    links = {frozenset({str(shapes[i].link), str(shapes[j].link)}) for i, j in shapes.pairs}
    one = sorted(next(iter(links)))
    text = f'<robot name="x"><disable_collisions link1="{one[0]}" link2="{one[1]}"/></robot>'
    from dataclasses import replace

    from helicoid.model.urdf.srdf import read_srdf

    fewer = hc.Robot(replace(three.model, semantics=read_srdf(text, three.model))).capsules("visual")
    left = {frozenset({str(shapes[i].link), str(shapes[j].link)}) for i, j in fewer.pairs}
    assert left == links - {frozenset(one)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<group name="a"><group name="b"/></group><group name="b"><group name="a"/></group>',
            "contain each other",
        ),
        ("<group><joint name='joint_1'/></group>", "lacks its name"),
        (
            '<group_state name="x"><joint name="joint_1" value="0 0 0"/></group_state>',
            "takes 1 numbers; it has 3",
        ),
        ('<group_state name="x"><joint name="joint_1"/></group_state>', "lacks its value"),
        ('<group_state name="x"><joint name="joint_1" value="nan"/></group_state>', "must be numbers"),
        ('<group_state name="x"><joint name="root_joint" value="0 0 0 0 0 0 0"/></group_state>', "are unit"),
        ("<group", "faulty XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>', "DOCTYPE|faulty XML"),
    ],
)
def test_faults_are_named(text: str, message: str, files: Path) -> None:
    text = f'<robot name="x">\n{text}\n</robot>'
    with pytest.raises(hc.RobotDescriptionError, match=f"(?s)<srdf text>:[23].*({message})"):
        hc.load("planar_2r", srdf=text)
    (files / "srdf" / "arm.srdf").write_text(text)
    with pytest.warns(hc.DoubtfulModelWarning, match="the SRDF beside the URDF has no effect"):
        robot = hc.load(files / "urdf" / "arm_v2.urdf")
    assert robot.nv == 2 and not robot.groups


def test_names_that_do_not_exist_are_a_warning_of_a_given_file() -> None:
    text = '<robot name="x"><group name="a"><joint name="joint_9"/></group></robot>'
    with pytest.warns(hc.DoubtfulModelWarning, match='no joint "joint_9"'):
        hc.load("planar_2r", srdf=text)
    with pytest.raises(hc.RobotDescriptionError, match="cannot be read"):
        hc.load("planar_2r", srdf="nowhere.srdf")
    with pytest.raises(hc.InputError, match="srdf is a path"):
        hc.load("planar_2r", srdf=3)  # type: ignore[arg-type]
