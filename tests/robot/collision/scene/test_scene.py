"""Scenes: names, poses, objects that a robot carries, contacts that are allowed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.geometry import so3

NAN = float("nan")


def pose(rng: np.random.Generator) -> Any:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = so3.exp(rng.normal(size=3)), rng.normal(size=3)
    return T


def small() -> hc.Scene:
    scene = hc.Scene()
    scene.add("box", hc.Box([1, 1, 1]))
    scene.add("ball", hc.Sphere(0.1), pose=[0, 0, 1])
    return scene


def test_objects_are_added_moved_and_removed_in_order(rng: np.random.Generator) -> None:
    scene, T = small(), pose(rng)
    version = scene.version
    scene.move("ball", T)
    assert list(scene.objects) == ["box", "ball"] == list(scene) and scene.version > version
    np.testing.assert_array_equal(scene.objects["ball"].pose, T)
    scene.remove("box")
    assert "box" not in scene and len(scene) == 1
    assert "ball" in repr(scene) and "<table" in scene._repr_html_()


def test_poses_and_objects_cannot_be_changed_in_place() -> None:
    scene = small()
    with pytest.raises(ValueError, match="read-only"):
        scene.objects["box"].pose[0, 3] = 1.0
    with pytest.raises(TypeError):
        scene.objects["other"] = scene.objects["box"]  # type: ignore[index]


def test_a_copy_and_a_pickle_change_by_themselves() -> None:
    scene = small()
    other = scene.copy()
    other.remove("ball")
    again = pickle.loads(pickle.dumps(scene))
    again.add("more", hc.Sphere(1.0))
    assert list(scene.objects) == ["box", "ball"]


def test_what_is_attached_keeps_its_place_in_the_world(rng: np.random.Generator) -> None:
    robot, scene = hc.load("panda"), small()
    q, T = robot.random(rng), pose(rng)
    scene.move("ball", T)
    scene.attach("ball", robot, "panda_link8", q=q)
    held = scene.objects["ball"]
    assert (held.frame, held.robot) == ("panda_link8", robot.name)
    np.testing.assert_allclose(robot.pose("panda_link8")(q) @ held.pose, T, atol=1e-12)
    q = robot.random(rng)
    carried = robot.pose("panda_link8")(q) @ held.pose
    scene.detach("ball", robot, q)
    np.testing.assert_allclose(scene.objects["ball"].pose, carried, atol=1e-12)
    assert scene.objects["ball"].frame is None


def test_attach_takes_the_pose_in_the_frame() -> None:
    robot, scene = hc.load("panda"), small()
    scene.attach("ball", robot, "panda_link8", pose=[0, 0, 0.1])
    np.testing.assert_array_equal(scene.objects["ball"].pose[:3, 3], [0, 0, 0.1])
    scene.attach("box", robot, "panda_link8")
    np.testing.assert_array_equal(scene.objects["box"].pose, np.eye(4))


def test_allowed_pairs_go_with_their_object() -> None:
    scene = small()
    scene.allow("box", "panda_link0")
    scene.allow("box", "ball")
    scene.forbid("ball", "box")
    assert scene.allowed == {frozenset(("box", "panda_link0"))}
    scene.remove("box")
    assert not scene.allowed


REFLECTION = np.diag([1.0, 1.0, -1.0, 1.0])
SCALED = np.diag([2.0, 2.0, 2.0, 1.0])

WRONG: dict[str, tuple[Callable[[hc.Scene, hc.Robot], Any], str]] = {
    "name taken": (lambda s, r: s.add("box", hc.Sphere(1.0)), "already"),
    "no name": (lambda s, r: s.add("", hc.Sphere(1.0)), "has a name"),
    "name is a number": (lambda s, r: s.add(3, hc.Sphere(1.0)), "has a name"),  # type: ignore[arg-type]
    "no shape": (lambda s, r: s.add("x", [1, 1, 1]), "a shape is"),  # type: ignore[arg-type]
    "the class": (lambda s, r: s.add("x", hc.Box), "a shape is"),  # type: ignore[arg-type]
    "NaN": (lambda s, r: s.move("box", [0, NAN, 0]), "pose of 'box' must be finite"),
    "two numbers": (lambda s, r: s.move("box", [0, 0]), r"shape \(2,\)"),
    "reflection": (lambda s, r: s.move("box", REFLECTION), "no rigid motion"),
    "scaled": (lambda s, r: s.move("box", SCALED), "no rigid motion"),
    "unknown": (lambda s, r: s.move("bax", [0, 0, 0]), "no object 'bax'; there are: box, ball"),
    "remove unknown": (lambda s, r: s.remove("bax"), "no object 'bax'"),
    "frame": (lambda s, r: s.attach("box", r, "hand"), "no frame 'hand'"),
    "both": (lambda s, r: s.attach("box", r, "panda_link8", [0, 0, 0], r.neutral()), "not both"),
    "no robot": (lambda s, r: s.attach("box", "panda", "hand"), "takes a robot"),  # type: ignore[arg-type]
    "not attached": (lambda s, r: s.detach("box", r, r.neutral()), "not attached"),
    "allow number": (lambda s, r: s.allow("panda_link0", 1), "names of objects"),  # type: ignore[arg-type]
    "allow itself": (lambda s, r: s.allow("box", "box"), "two names"),
    "forbid": (lambda s, r: s.forbid("box", "ball"), "not allowed to touch"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_reported_and_changes_nothing(case: str) -> None:
    scene, (call, told) = small(), WRONG[case]
    version = scene.version
    with pytest.raises(hc.HelicoidError, match=told):
        call(scene, hc.load("panda"))
    assert scene.version == version and list(scene.objects) == ["box", "ball"]
