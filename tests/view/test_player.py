"""The page has the robot and its motion unchanged, and loads nothing from other places."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.cli import view as command
from helicoid.view import Marker, motion_html, motion_page
from helicoid.view.drawing.drawing import visual_parts
from helicoid.view.drawing.triangles import Triangles
from helicoid.view.player.page import _MAX_FACES, _simplified
from helicoid.view.poses import body_poses

T = np.linspace(0.0, 1.0, 31)


@pytest.fixture
def robot() -> hc.Robot:
    return hc.load("ur5")


@pytest.fixture
def motion(robot: hc.Robot) -> SimpleNamespace:
    return SimpleNamespace(t=T, q=np.outer(np.sin(T), np.linspace(0.2, 1, robot.nq)))


def content(text: str) -> tuple[dict[str, Any], bytes]:
    found = re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    header = json.loads(found[1])
    return header, zlib.decompress(base64.b64decode(header["data"]))


def array(data: bytes, kind: str, offset: int, shape: tuple[int, ...]) -> Any:
    return np.frombuffer(data, kind, int(np.prod(shape)), offset).reshape(shape)


def test_the_page_holds_the_poses_and_the_shapes(robot: hc.Robot, motion: SimpleNamespace) -> None:
    header, data = content(motion_html(robot, motion))
    held = header["motions"][0]
    np.testing.assert_allclose(array(data, "<f4", held["times"], (31,)), T, atol=1e-6)
    poses = array(data, "<f4", held["poses"], (31, robot.n_bodies, 7))
    np.testing.assert_allclose(poses, body_poses(robot, motion.q), atol=1e-6)
    for part, stated in zip(visual_parts(robot), header["parts"], strict=True):
        assert stated["body"] == part.body
        vertices = array(data, "<u2", stated["positions"], (stated["vertices"], 3)) / 65535
        faces = array(data, "<u4", stated["indices"], (stated["faces"], 3))
        seen = (np.array(stated["low"]) + vertices * stated["span"])[faces]
        expected = part.triangles.vertices[part.triangles.faces]
        np.testing.assert_allclose(seen, expected, atol=1e-5)
        normals = array(data, "<i1", stated["normals"], (stated["vertices"], 3)) / 127
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=0.02)


def test_the_page_loads_nothing_from_other_places(robot: hc.Robot, motion: SimpleNamespace) -> None:
    page = motion_page(robot, motion, ghosts={"other": motion})
    assert "://" not in page
    assert not re.search(r"<(script|img|link)[^>]*\b(src|href)=\"(?!data:)", page)


def test_names_cannot_break_the_page(robot: hc.Robot, motion: SimpleNamespace) -> None:
    evil = "</script><b>&"
    page = motion_page(robot, motion, ghosts={evil: motion}, title=evil)
    assert evil not in page
    assert page.count("&lt;/script&gt;&lt;b&gt;&amp;") == 3


def test_ghosts_traces_and_markers_are_in_the_page(robot: hc.Robot, motion: SimpleNamespace) -> None:
    tip = robot.link_names[-1]
    carried = Marker((0.0, 0.0, 0.1), radius=0.05, link=tip, start=0.4)
    text = motion_html(
        robot, motion, ghosts={"other": motion}, trace=tip, markers=[carried, Marker((1, 0, 0))]
    )
    header, _ = content(text)
    assert len(header["motions"]) == 2
    traces = [part for part in header["parts"] if part["motion"] >= 0]
    assert [part["motion"] for part in traces] == [0, 1]
    path = robot.pose(tip)(motion.q)[:, :3, 3]
    np.testing.assert_allclose(np.array(traces[0]["low"]), path.min(axis=0), atol=0.01)
    load, target = header["parts"][-2:]
    assert load["from"] == 0.4 and load["body"] == robot.n_bodies - 1
    assert target["body"] == -1
    np.testing.assert_allclose(np.array(target["low"]) + np.array(target["span"]) / 2, [1, 0, 0], atol=1e-6)


def test_objects_of_scenes_are_drawn_while_they_are_there(robot: hc.Robot, motion: SimpleNamespace) -> None:
    scene, tip = hc.Scene(), robot.link_names[-1]
    scene.add("box", hc.Box([0.2, 0.4, 0.6]), [1.0, 2.0, 3.0])
    scene.add("tool", hc.Sphere(0.1), [0.0, 0.0, 0.2])
    scene.add("cloud", hc.PointCloud(np.random.default_rng(0).normal(size=(4000, 3)), 0.01))
    scene.attach("tool", robot, tip)
    later = scene.copy()
    later.move("box", [1.5, 2.0, 3.0])
    later.remove("cloud")
    header, _ = content(motion_html(robot, motion, scene={0.0: scene, 0.5: later}))
    own = len(visual_parts(robot))
    found = {(part["from"], part["until"], part["body"]): part for part in header["parts"][own:]}
    body = robot.model.frame(tip).body
    windows = {(0.0, 0.5, -1), (0.5, 1e9, -1), (0.0, 1e9, body)}
    assert set(found) == windows and len(header["parts"]) == own + 4
    box = found[0.5, 1e9, -1]
    np.testing.assert_allclose(box["low"], [1.4, 1.8, 2.7], atol=1e-9)
    np.testing.assert_allclose(box["span"], [0.2, 0.4, 0.6], atol=1e-9)


def test_a_single_posture_has_no_time_bar(robot: hc.Robot) -> None:
    assert 'class="bar"' not in motion_html(robot, robot.neutral())


def test_the_floor_lies_below_a_robot_that_hangs() -> None:
    robot = hc.load("double_pendulum")
    header, _ = content(motion_html(robot, robot.neutral()))
    lowest = robot.pose(robot.link_names[-1])(robot.neutral())[2, 3]
    assert header["floor"] <= min(lowest, 0.0)


def test_large_meshes_are_simplified() -> None:
    n = 300
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    vertices = np.column_stack([x.ravel(), y.ravel(), np.sin(6 * x.ravel())])
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([corner[:, None] + [0, 1, n], corner[:, None] + [1, n + 1, n]])
    part = visual_parts(hc.load("planar_2r"))[0]._replace(triangles=Triangles(vertices, faces))
    simple = _simplified([part])[0].triangles
    assert len(faces) > _MAX_FACES >= len(simple.faces) > _MAX_FACES / 10
    np.testing.assert_allclose(simple.vertices[:, 2], np.sin(6 * simple.vertices[:, 0]), atol=0.02)


def test_wrong_options_are_refused(robot: hc.Robot, motion: SimpleNamespace) -> None:
    with pytest.raises(hc.InputError, match="'pink'"):
        motion_html(robot, motion, theme="pink")  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match="another label"):
        motion_html(robot, motion, ghosts={"robot": motion})
    with pytest.raises(hc.ModelError, match="frame"):
        motion_html(robot, motion, trace="nose")


def test_the_command_records_a_page(robot: hc.Robot, motion: SimpleNamespace, tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", t=motion.t, q=motion.q)
    np.savez(tmp_path / "plan.npz", t=motion.t, q=motion.q)
    page = tmp_path / "new" / "page.html"
    command.run(robot, tmp_path / "run.npz", tmp_path / "plan.npz", page)
    assert len(content(page.read_text(encoding="utf-8"))[0]["motions"]) == 2
    command.run(robot, record=page)
    assert len(content(page.read_text(encoding="utf-8"))[0]["motions"]) == 1
    with pytest.raises(hc.InputError, match="--trajectory"):
        command.run(robot, ghost=tmp_path / "plan.npz", record=page)
    with pytest.raises(hc.HelicoidError, match="cannot be written"):
        command.run(robot, record=page / "x.html")
