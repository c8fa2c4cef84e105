"""Reading MJCF: sources, names, frames, shapes, keyframes, floating bases, and what is refused."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc

PENDULUM = """
<mujoco model="pendulum">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="rod"><joint name="hinge" range="-90 90" actuatorfrcrange="-3 3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -1" size=".02"/>
      <site name="rod" pos="0 0 -1"/><site name="end" pos="0 0 -1"/>
    </body>
  </worldbody>
  <keyframe><key name="up" qpos="3.1" qvel=".5"/></keyframe>
</mujoco>
"""
FREE = """
<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body name="torso"><freejoint/><geom size=".1"/>
<body name="leg"><joint name="hip"/><geom size=".1" pos="0 0 -.3"/></body></body></worldbody></mujoco>
"""


def test_every_source_gives_the_same_robot(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    spec = mujoco.MjSpec.from_string(PENDULUM)
    robots = [hc.load(one) for one in (path, str(path), PENDULUM, spec, spec.compile())]
    for robot in robots:
        assert robot.name == "pendulum"
        assert robot.joint_names == ["hinge"]
        assert_allclose(robot.mass_matrix([0.3]), robots[0].mass_matrix([0.3]))


def test_frames_limits_shapes_and_keyframes() -> None:
    robot = pickle.loads(pickle.dumps(hc.load(PENDULUM)))
    assert robot.link_names == ["world", "rod", "rod_site", "end"]
    assert_allclose(robot.pose("end")([0.0])[:3, 3], [0, 0, -1])
    assert_allclose(np.array(robot.limits[:2]).ravel(), [-np.pi / 2, np.pi / 2])
    assert robot.limits.effort == [3.0]
    (shape,) = robot.model.link("rod").collisions
    assert shape.kind == "capsule"
    assert_allclose(shape.size, (0.02, 1.0))
    assert_allclose(robot.keyframes["up"].q, [3.1])
    assert_allclose(robot.keyframes["up"].v, [0.5])
    assert hc.load("panda").keyframes == {}


def test_a_floating_base_instead_of_the_world() -> None:
    fixed, floating = hc.load(FREE), hc.load(FREE, base="floating")
    assert floating.model.floating and not fixed.model.floating
    assert (fixed.nv, floating.nv, floating.link_names[0]) == (7, 7, "torso")
    q = fixed.random(3)
    assert_allclose(floating.mass_matrix(q), fixed.mass_matrix(q))
    assert_allclose(floating.mujoco.qpos(q), fixed.mujoco.qpos(q))
    with pytest.raises(hc.HelicoidError, match="one body on the world"):
        hc.load(PENDULUM, base="floating")


def test_conversions_of_an_edited_robot_are_refused() -> None:
    with pytest.raises(hc.HelicoidError, match="edited"):
        _ = hc.load(FREE, base="floating").lock({"hip": 0.0}).mujoco
    with pytest.raises(hc.HelicoidError, match="not read from MJCF"):
        _ = hc.load("panda").mujoco


def test_keyframes_follow_edits(tmp_path: Path) -> None:
    key = '<keyframe><key name="home" qpos=".3 1 0 0 0 .2" qvel="1 2 3 4 5" ctrl=".7" time="2"/></keyframe>'
    bodies = (
        '<body name="a"><joint name="h"/><joint name="b" type="ball"/><geom size=".1"/>'
        '<body name="c"><joint name="g"/><geom size=".1"/></body></body>'
    )
    motor = '<actuator><motor name="m" joint="h"/></actuator>'
    robot = hc.load(f"<mujoco><worldbody>{bodies}</worldbody>{motor}{key}</mujoco>")
    locked, carried = robot.lock({"g": 0.1}), hc.load("planar_2r").attach(robot, "tip", prefix="x_")
    frame = carried.rename(prefix="y_").keyframes["y_x_home"]
    assert_allclose(frame.q, [0, 0, 0.3, 1, 0, 0, 0, 0.2])
    assert_allclose(frame.v, [0, 0, 1, 2, 3, 4, 5])
    assert (frame.ctrl.tolist(), frame.time) == ([0.7], 2.0)
    assert_allclose(locked.keyframes["home"].v, [1, 2, 3, 4])
    locked.to_mjcf(tmp_path / "locked.xml")
    assert_allclose(hc.load(tmp_path / "locked.xml").keyframes["home"].q, [0.3, 1, 0, 0, 0])


REFUSED = {
    "polynomial": '<tendon><fixed damping="1 2"><joint joint="hinge" coef="1"/></fixed></tendon>',
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_held_is_refused_by_name(kind: str) -> None:
    text = PENDULUM.replace("<worldbody>", f"{REFUSED[kind]}<worldbody>", 1)
    with pytest.raises(hc.HelicoidError, match=rf'ignore=\["{kind}"\]'):
        hc.load(text)
    with pytest.warns(hc.errors.DoubtfulModelWarning, match="ignored, as asked"):
        assert hc.load(text, ignore=[kind]).nv >= 1


def test_a_deformable_body_is_refused_by_name() -> None:
    soft = '<flexcomp name="soft" type="grid" count="2 2 1" dim="2" spacing=".1 .1 .1" mass="1"/>'
    with pytest.raises(hc.HelicoidError, match=r"<flex name='soft'>: a deformable body"):
        hc.load(PENDULUM.replace("<worldbody>", f"<worldbody>{soft}", 1))


def test_sites_keep_their_names_beside_those_that_clash() -> None:
    sites = '<site name="a" pos="1 0 0"/><site name="a_site" pos="2 0 0"/><site name="a_link" pos="3 0 0"/>'
    body = f'<body name="a"><joint/><joint axis="1 0 0"/><geom size=".1"/>{sites}</body>'
    robot = hc.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    assert robot.pose("a_site")([0.0, 0.0])[0, 3] == 2
    assert robot.pose("a_link")([0.0, 0.0])[0, 3] == 3


def test_the_range_of_a_ball_is_a_warning() -> None:
    body = '<body><joint name="ball" type="ball" range="0 60"/><geom size=".1"/></body>'
    with pytest.warns(hc.DoubtfulModelWarning, match='joint "ball" is a ball, whose range'):
        hc.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")


def test_wrong_options_and_bad_files(tmp_path: Path) -> None:
    with pytest.raises(hc.HelicoidError, match="ignore names kinds"):
        hc.load(PENDULUM, ignore=["everything"])
    with pytest.raises(hc.HelicoidError, match="URDF is read without ignore"):
        hc.load("panda", ignore=["fluid"])
    with pytest.raises(hc.HelicoidError, match="MuJoCo cannot compile it"):
        hc.load(PENDULUM[:-40])
    with pytest.raises(hc.HelicoidError, match="there is no such file"):
        hc.load(tmp_path / "missing.mjcf")
    with pytest.raises(hc.HelicoidError, match="MuJoCo model, not"):
        hc.load(3.0)


def test_without_mujoco_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(hc.HelicoidError, match=r"helicoid\[mujoco\]"):
        hc.load(PENDULUM)
