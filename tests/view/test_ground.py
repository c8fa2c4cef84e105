"""The ground of a motion is its floor, and forces are arrows."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from contact_bodies import box
from helicoid.view import motion_html
from helicoid.view.ground import arrows, floor_height, ground_parts
from helicoid.view.motion import as_motion, read_motion, thinned

BOX = box(0.2, 0.2, 0.2, 2.0)
FORCES = np.array([[[0.0, 0.0, 10.0]], [[0.0, 0.0, 30.0]], [[3.0, 0.0, 20.0]], [[0.0, 0.0, 0.0]]])


def moved(*grounds: hc.Ground) -> SimpleNamespace:
    """A box that hovers at 0.3 m, with forces at one contact."""
    q = np.tile([0, 0, 0.3, 1.0, 0, 0, 0], (4, 1))
    known = {"contact_forces": FORCES, "contact_points": np.tile([[0.0, 0.0, 0.2]], (4, 1, 1))}
    return SimpleNamespace(t=0.01 * np.arange(4), q=q, known=known, grounds=grounds)


def header(page: str) -> tuple[dict[str, Any], bytes]:
    found = re.search(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert found
    read = json.loads(found[1])
    return read, zlib.decompress(base64.b64decode(read["data"]))


def test_the_floor_is_the_ground() -> None:
    page, data = header(motion_html(BOX, moved(hc.Ground(height=0.2))))
    assert page["floor"] == pytest.approx(0.2)
    assert header(motion_html(BOX, moved()))[0]["floor"] == 0.0
    one = page["motions"][0]
    ends = np.frombuffer(data, "<f4", one["samples"] * 6, one["ends"]).reshape(-1, 2, 3)
    assert_allclose(ends[0, 0], [0, 0, 0.2], atol=1e-7)
    # 60 pictures a second: means of two samples, of a weight of 19.62 N as long as the box
    assert_allclose(ends[0, 1] - ends[0, 0], [0, 0, 0.2 * 20 / 19.62], rtol=1e-5)
    assert page["arrow"]["shaft"]["faces"] > 0


def test_of_several_grounds_the_highest_level_one_is_the_floor() -> None:
    grounds = hc.Ground(height=-1.0), hc.Ground(height=-0.5), hc.Ground(normal=(1, 0, 1), height=3.0)
    assert floor_height(grounds, 0.3) == -0.5
    assert floor_height(grounds[2:], -0.3) == -0.3


def test_slopes_and_fields_are_drawn_where_they_are() -> None:
    n = np.array([math.sin(0.4), 0.0, math.cos(0.4)])
    (slope,) = ground_parts([hc.Ground(), hc.Ground(normal=tuple(n), height=0.7)], np.ones(3), 2.0)
    assert_allclose(slope.triangles.vertices @ n, 0.7, atol=1e-12)
    rng = np.random.default_rng(0)
    ground = hc.Ground(heights=rng.normal(size=(3, 5)), spacing=(0.2, 0.5), height=0.1)
    (field,) = ground_parts([ground], np.zeros(3), 1.0)
    x, y, z = field.triangles.vertices.T
    assert_allclose(z, ground.height_at(x, y), atol=1e-12)
    assert len(field.triangles.faces) == 2 * 2 * 4
    a, b, c = np.moveaxis(field.triangles.vertices[field.triangles.faces], 1, 0)
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0)  # their outside is up


def test_arrows_of_impacts_are_cut() -> None:
    motion = as_motion(BOX, moved())
    long = motion._replace(forces=1e6 * motion.forces)
    length = np.linalg.norm(np.diff(arrows(BOX, long, 0.2), axis=2), axis=-1)
    assert length.max() == pytest.approx(0.4)


def test_thinning_keeps_the_impulse() -> None:
    rng = np.random.default_rng(1)
    given = moved()
    given.t, given.q = 1e-3 * np.arange(100), np.tile(given.q[0], (100, 1))
    given.known = {"contact_forces": rng.normal(size=(100, 2, 3)), "contact_points": np.zeros((100, 2, 3))}
    motion = thinned(as_motion(BOX, given), 60.0)
    count = np.diff([*np.searchsorted(given.t, motion.t), 100])[:, None, None]
    assert_allclose((motion.forces * count).sum(axis=0), given.known["contact_forces"].sum(axis=0))


def test_a_camera_may_go_along() -> None:
    far = moved()
    far.q = far.q + np.array([[5.0 * k, 0, 0, 0, 0, 0, 0] for k in range(4)])
    along, _ = header(motion_html(BOX, far, follow="box"))
    still, _ = header(motion_html(BOX, far))
    assert along["follow"] == 0 and still["follow"] == -1
    assert along["radius"] < 0.2 < 7.0 < still["radius"]


@pytest.mark.needs_compiler
def test_grounds_and_forces_survive_a_file(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 9)
    field = hc.Ground(heights=x[None] + 0 * x[:, None])
    grounds = [hc.Ground(normal=(1, 0, 0), height=-5.0, restitution=0.5), field]
    motion = hc.simulate(BOX, [0, 0, 0.5, 1, 0, 0, 0], duration=0.02, ground=grounds, contacts="collision")
    motion.save(tmp_path / "box.npz")
    back = hc.Trajectory.load(tmp_path / "box.npz", BOX)
    assert repr(back.grounds[0]) == repr(motion.grounds[0])
    assert_allclose(back.grounds[1].height_at(0.3, 0.1), grounds[1].height_at(0.3, 0.1))
    assert back.grounds[1].origin == grounds[1].origin and back.grounds[1].spacing == grounds[1].spacing
    read = read_motion(BOX, tmp_path / "box.npz")
    assert repr(read.grounds[0]) == repr(motion.grounds[0])
    assert_allclose(read.forces, motion.contact_forces)


def test_files_with_grounds_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    q, v = np.tile([0, 0, 1.0, 1, 0, 0, 0], (2, 1)), np.zeros((2, 6))
    motion = hc.Trajectory(np.arange(2.0), q, v, v, BOX, grounds=(hc.Ground(),))
    motion.save(tmp_path / "good.npz")
    arrays = dict(np.load(tmp_path / "good.npz"))
    for wrong in (np.zeros((1, 5)), np.zeros((1, 6)), np.full((1, 6), np.nan)):
        np.savez(tmp_path / "bad.npz", **{**arrays, "grounds": wrong})
        with pytest.raises(hc.InputError, match=r"bad\.npz"):
            hc.Trajectory.load(tmp_path / "bad.npz", BOX)
        with pytest.raises(hc.InputError):
            read_motion(BOX, tmp_path / "bad.npz")
