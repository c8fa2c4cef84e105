"""Pages in a headless Chromium: they load without complaint, show something, and move."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.view import Marker, motion_html, motion_page, view
from view.browser import CHROMIUM, Page, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: pages are not looked at")

T = np.linspace(0.0, 2.0, 61)
PLAYING = "document.querySelector('.helicoid-player')?.dataset.time !== undefined"
TIME = "Number(document.querySelector('.helicoid-player').dataset.time)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    chromium.errors.clear()
    yield chromium
    assert chromium.errors == []
    chromium.call("Page.navigate", url="about:blank")


@pytest.fixture
def robot() -> hc.Robot:
    return hc.load("double_pendulum")


@pytest.fixture
def motion(robot: hc.Robot) -> SimpleNamespace:
    return SimpleNamespace(t=T, q=np.column_stack([np.sin(3 * T), 2 * np.sin(2 * T)]))


def differing(before: np.ndarray, after: np.ndarray) -> int:
    """The number of pixels that changed clearly."""
    return int((np.abs(after - before).max(axis=2) > 24).sum())


def opened(page: Page, tmp_path: Path, text: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    page.open(file.as_uri())
    page.wait(PLAYING)


def scrub(page: Page, part: float) -> None:
    page.evaluate(f"(e => {{ e.value = {part}; e.oninput(); }})(document.querySelector('.bar input'))")
    page.wait(f"Math.abs({TIME} - {2 * part}) < 0.01")


def test_a_recorded_page_shows_the_robot_and_plays(
    page: Page, tmp_path: Path, robot: hc.Robot, motion: SimpleNamespace
) -> None:
    opened(page, tmp_path, motion_page(robot, motion, theme="light"))
    page.wait(f"{TIME} > 0.3")  # it started by itself
    scrub(page, 0.0)
    still = page.pixels()
    bare = still[120:300, 40:120].reshape(-1, 3)
    assert differing(np.broadcast_to(np.median(bare, axis=0).astype(np.int16), still.shape), still) > 2000
    scrub(page, 0.25)
    assert differing(still, page.pixels()) > 500
    page.click(".bar .play")
    page.wait(f"{TIME} > 0.8")


@pytest.mark.slow
def test_a_ghost_can_be_hidden_and_set_beside(
    page: Page, tmp_path: Path, robot: hc.Robot, motion: SimpleNamespace
) -> None:
    other = SimpleNamespace(t=T, q=-motion.q)
    target = Marker((0.0, 0.5, 0.0), radius=0.1)
    fragment = motion_html(
        robot, motion, ghosts={"other": other}, trace=robot.link_names[-1], markers=[target]
    )
    opened(page, tmp_path, f"<!DOCTYPE html><body style='margin:0'>{fragment}<p>text</p></body>")
    scrub(page, 0.3)
    both = page.pixels()
    page.click(".legend button:nth-child(2)")
    page.wait(lambda: differing(both, page.pixels()) > 300, 10)
    page.click(".legend button:nth-child(2)")
    page.wait(lambda: differing(both, page.pixels()) < 50, 10)
    page.click(".bar .apart")
    page.wait(lambda: differing(both, page.pixels()) > 1000, 10)


def test_the_camera_turns_with_the_mouse(page: Page, tmp_path: Path, robot: hc.Robot) -> None:
    opened(page, tmp_path, motion_page(robot, [0.4, 0.8], theme="dark"))
    before = page.pixels()
    for kind, x in (("mousePressed", 300), ("mouseMoved", 380), ("mouseReleased", 380)):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=200, button="left", buttons=1, clickCount=1)
    page.wait(lambda: differing(before, page.pixels()) > 500, 10)


@pytest.mark.slow
def test_the_viewer_plays_a_motion_and_its_sliders_move_the_robot(
    page: Page, robot: hc.Robot, motion: SimpleNamespace
) -> None:
    """One test, for one page: software takes ten seconds until the first picture."""
    pytest.importorskip("viser", reason="the viewer needs viser: pip install 'helicoid[view]'")
    other = SimpleNamespace(t=T, q=-motion.q)
    with view(robot, motion, other, port=_free_port(), block=False) as viewer:
        page.open(viewer.url, 720, 360, scale=0.5)
        page.wait("document.querySelectorAll('[role=slider]').length == 3")
        first = viewer.q
        page.wait(lambda: bool(np.abs(viewer.q - first).max() > 0.1))
        press(page, "pause")

        def scene() -> np.ndarray:
            return page.pixels()[75:, :195]  # beside the panel, below a notice of slow rendering

        page.wait(lambda: int(np.ptp(scene(), axis=(0, 1)).max()) > 60)
        press(page, "neutral")
        page.wait(lambda: bool(np.all(np.abs(viewer.q) < 1e-9)))
        page.wait(lambda: differing(scene(), scene()) == 0)  # it has faded in
        before = scene()
        page.evaluate("document.querySelectorAll('[role=slider]')[1].focus()")
        page.press("End")
        page.wait(lambda: differing(before, scene()) > 100)
        assert viewer.q == pytest.approx([np.pi, 0.0], abs=0.01)
        # How many pixels come back depends on how far the picture had faded in before.
        moved = differing(before, scene())
        press(page, "neutral")
        page.wait(lambda: bool(np.all(np.abs(viewer.q) < 1e-9)) and differing(before, scene()) < moved / 2)
        # The switches in the order of the panel: side by side, loop, and the five layers, links on.
        switches = "[...document.querySelectorAll('.mantine-Checkbox-input')].slice(-4)"
        page.evaluate(f"{switches}.forEach(box => box.click())")
        page.wait(f"{switches}.every(box => box.checked)")
        page.wait(lambda: differing(before, scene()) > 100)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_a_dragged_target_is_followed(page: Page) -> None:
    pytest.importorskip("viser", reason="the viewer needs viser: pip install 'helicoid[view]'")
    robot = hc.load("panda")
    with view(robot, ik="panda_link8", port=_free_port(), block=False) as viewer:
        reloaded(page, viewer.url)
        q = np.array([-1.2, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7])  # away from the panel and the notice
        viewer.show(q)
        assert viewer._target is not None
        before = viewer._target.pose
        arrow = before[:3, 3] + 0.13 * before[:3, 2]

        def moved() -> bool:
            """Pull the arrow along z by 10 cm, which needs it to be drawn already."""
            drag(page, at(viewer, arrow), at(viewer, arrow + 0.1 * before[:3, 2]))
            if np.abs(viewer.q - q).max() > 0.05:
                return True
            reloaded(page, viewer.url)  # what was pulled is the camera, which is where it was in a new page
            return False

        page.wait(moved)
        way = viewer._target.pose[:3, 3] - before[:3, 3]
        assert 0.05 < way @ before[:3, 2] < 0.3 and np.linalg.norm(np.cross(way, before[:3, 2])) < 1e-3
        page.wait(lambda: np.allclose(robot.pose("panda_link8")(viewer.q), viewer._target.pose, atol=2e-3))


@pytest.mark.slow
def test_a_dragged_object_moves_in_the_scene(page: Page) -> None:
    """The arrow along z of an object is pulled with the mouse: it moves in the scene, the other one stays."""
    pytest.importorskip("viser", reason="the viewer needs viser: pip install 'helicoid[view]'")
    robot, scene = hc.load("planar_2r"), hc.Scene()
    place, size = np.array([0.0, 0.5, 0.3]), np.full(3, 0.2)
    scene.add("box", hc.Box(size), place)
    scene.add("other", hc.Sphere(0.05), [0.3, -0.6, 0.1])
    with view(robot, scene=scene, port=_free_port(), block=False) as viewer:
        reloaded(page, viewer.url, sliders=2)
        # The arrows are 1.3 times as long as the ball around the object, the outer part of which is pulled.
        up = np.array([0.0, 0.0, 1.0])
        arrow = place + 0.9 * 1.3 * np.linalg.norm(size) / 2 * up

        def moved() -> bool:
            drag(page, at(viewer, arrow), at(viewer, arrow + 0.2 * up))
            if np.abs(scene.objects["box"].pose[:3, 3] - place).max() > 0.05:
                return True
            reloaded(page, viewer.url, sliders=2)
            return False

        page.wait(moved)
        way = scene.objects["box"].pose[:3, 3] - place
        assert 0.1 < way[2] < 0.4 and np.abs(way[:2]).max() < 1e-3
        np.testing.assert_allclose(scene.objects["box"].pose[:3, :3], np.eye(3), atol=1e-6)
        np.testing.assert_allclose(scene.objects["other"].pose[:3, 3], [0.3, -0.6, 0.1])
        viewer.update_scene()  # what was dragged stays where it is
        np.testing.assert_allclose(viewer._objects._nodes["box"].position, place + way)  # type: ignore[union-attr]


def reloaded(page: Page, url: str, sliders: int = 7) -> None:
    """A page with its sliders drawn."""
    page.open(url, 720, 360, scale=0.5)
    page.wait(f"document.querySelectorAll('[role=slider]').length >= {sliders}")
    time.sleep(0.5)  # the target comes after them


def at(viewer: Any, point: np.ndarray) -> tuple[float, float]:
    """Where a point of the world is drawn in a picture of 720 × 360."""
    camera = viewer._server.initial_camera
    eye = np.asarray(camera.position)
    forward = np.asarray(camera.look_at) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    away = point - eye
    scale = 180 / np.tan(camera.fov / 2) / (away @ forward)
    return float(360 + scale * (away @ right)), float(180 - scale * (away @ np.cross(right, forward)))


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press the mouse, move it in some steps, and let it go."""
    held = {"button": "left", "buttons": 1, "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=start[0], y=start[1])
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **held)
    for share in (0.25, 0.5, 0.75, 1.0):
        x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, **held)
        time.sleep(0.2)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **held)
    time.sleep(1.0)


def press(page: Page, button: str) -> None:
    """A button of the viewer, by what is written on it."""
    found = f"[...document.querySelectorAll('button')].find(each => each.innerText == {button!r})"
    page.wait(f"{found} != null")
    page.evaluate(f"{found}.click()")


def _free_port() -> int:
    """Apart from other test processes: where it is taken, viser takes the next."""
    return 20000 + os.getpid() % 20000
