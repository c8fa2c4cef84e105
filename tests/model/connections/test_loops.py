"""Loops as data: what they refuse, how edits treat them, and their place in a URDF."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.model.connections.loops import rotation_to
from helicoid.model.urdf.reader import read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text
from mechanisms import four_bar_angles, four_bar_urdf, joint_angles


@pytest.fixture
def robot() -> hc.Robot:
    return hc.load(four_bar_urdf())


CLOSED = joint_angles(four_bar_angles(0.7))


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -2, 0), (0.3, -0.2, -0.9)])
def test_rotation_to_an_axis(axis: tuple[float, float, float]) -> None:
    R = rotation_to(axis)
    assert_allclose(R[:, 2], axis / np.linalg.norm(axis), atol=1e-15)
    assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert_allclose(np.linalg.det(R), 1)


class TestRefused:
    def test_kind(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="kind must be one of point, line, pose; got 'weld'"):
            robot.close_loop("ground", "coupler", "weld")  # type: ignore[arg-type]

    def test_link(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="'copuler'; did you mean 'coupler'"):
            robot.close_loop("ground", "copuler", "point")

    def test_one_body(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="do not move against each other"):
            robot.close_loop("crank", "crank", "point")

    def test_name_twice(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="two loops are called 'hinge'"):
            robot.close_loop("ground", "coupler", "point", name="hinge")

    def test_axis_of_a_point(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="only a loop of kind 'line' has an axis"):
            robot.close_loop("ground", "coupler", "point", axis=(0, 1, 0))

    def test_no_pose(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match="origin_a is no pose"):
            robot.close_loop("ground", "coupler", "pose", origin_a=np.ones((4, 4)))
        with pytest.raises(hc.ModelError, match="origin_b must be finite"):
            robot.close_loop("ground", "coupler", "point", origin_b=(np.nan, 0, 0))
        with pytest.raises(hc.ModelError, match="origin_a is a point or a 4 × 4 pose, in numbers"):
            robot.close_loop("ground", "coupler", "point", origin_a="tip")


class TestEdits:
    def test_a_payload_keeps_it(self, robot: hc.Robot) -> None:
        loaded = robot.with_payload("coupler", 1.0, [0.1, 0, 0], 0.01 * np.eye(3))
        assert_allclose(loaded.constraint_position(CLOSED), 0, atol=1e-12)

    def test_another_root_keeps_it(self, robot: hc.Robot) -> None:
        """The loop stays what it is, whatever the linkage stands on."""
        turned = robot.reroot("rocker")
        q = turned.project_configuration(turned.random(1) * 0.1 + 0.5)
        assert turned.constraint_report(q).mobility == 1

    def test_locking_every_joint_where_it_is_closed_ends_it(self, robot: hc.Robot) -> None:
        names = robot.joint_names
        assert robot.lock(dict(zip(names, CLOSED, strict=True))).constraints == ()
        with pytest.raises(hc.ModelError, match="'hinge' would be locked open, by 0"):
            robot.lock(dict(zip(names, CLOSED + np.array([0.1, 0, 0]), strict=True)))

    def test_locking_the_crank_keeps_it(self, robot: hc.Robot) -> None:
        held = robot.lock({"crank_joint": CLOSED[0]})
        assert_allclose(held.constraint_position(CLOSED[1:]), 0, atol=1e-12)
        assert held.constraint_report(CLOSED[1:]).mobility == 0

    @pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
    def test_a_chain_may_not_cut_it(self, robot: hc.Robot) -> None:
        with pytest.raises(hc.ModelError, match=r"chain\('ground', 'coupler'\) would cut the loop 'hinge'"):
            robot.chain("ground", "coupler")


class TestUrdf:
    def test_it_survives_the_round_trip(self, robot: hc.Robot) -> None:
        again = hc.Robot(read_urdf_text(to_urdf_text(robot.model)))
        (loop,) = again.model.loops
        assert (loop.name, loop.kind, loop.link_a, loop.link_b) == ("hinge", "line", "coupler", "rocker")
        q = np.array([0.3, -0.4, 1.0])
        assert_allclose(again.constraint_position(q), robot.constraint_position(q), atol=1e-13)

    def test_a_robot_without_loops_is_written_without_the_element(self) -> None:
        assert "helicoid" not in to_urdf_text(hc.load("panda").model)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                'kind="line"',
                'kind="hinge"',
                'loop "hinge": unknown kind "hinge"; there are point, line, pose',
            ),
            ('link_b="rocker"', 'link_b="lever"', "loop \"hinge\": no frame of 'four_bar' is called 'lever'"),
            ('link_b="rocker"', 'link_b="coupler"', 'loop "hinge": links .* do not move against each other'),
            ('link_b="rocker"', "", 'loop "hinge": <loop> lacks its link_b'),
            ('rpy_a="1.57', 'rpy_a="x 1.57', 'loop "hinge": loop rpy_a ".*" must be 3 numbers'),
            ("</helicoid>", '<gear ratio="2"/></helicoid>', "<gear> in <helicoid> is not understood"),
            ("<helicoid>", "<helicoid/><helicoid>", "<robot> has two <helicoid>"),
        ],
    )
    def test_errors_name_the_line(self, old: str, new: str, message: str) -> None:
        text = four_bar_urdf()
        assert text.count(old) == 1
        with pytest.raises(hc.RobotDescriptionError, match=rf"<text>:\d+: {message}"):
            hc.load(text.replace(old, new))

    def test_two_loops_of_one_name(self) -> None:
        extra = '<loop name="hinge" kind="point" link_a="ground" link_b="coupler"/></helicoid>'
        with pytest.raises(hc.RobotDescriptionError, match="has a loop of the same name"):
            hc.load(four_bar_urdf().replace("</helicoid>", extra))
