"""The viewer without a browser: what it listens on, what it refuses, and that the package is it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import urlparse

import numpy as np
import pytest

import helicoid as hc
import helicoid.view
from helicoid.view.scene import LAYERS, RobotScene
from helicoid.view.viewer import view

T = np.linspace(0.0, 2.0, 61)


@pytest.fixture
def robot() -> hc.Robot:
    return hc.load("double_pendulum")


def test_without_viser_it_says_how_to_get_it(robot: hc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(hc.HelicoidError, match=r"pip install 'helicoid\[view\]'"):
        view(robot, block=False)


def test_it_listens_on_this_machine_alone(robot: hc.Robot) -> None:
    """What listens everywhere answers on 127.0.0.2 too, where there is such an address."""
    pytest.importorskip("viser")
    with view(robot, block=False) as viewer:
        address = urlparse(viewer.url)
        assert address.hostname == "127.0.0.1"
        socket.create_connection(("127.0.0.1", address.port or 0), timeout=5).close()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", address.port or 0), timeout=1)


def test_the_package_is_the_function(robot: hc.Robot) -> None:
    pytest.importorskip("viser")
    with helicoid.view(robot, block=False) as viewer:  # type: ignore[operator]
        viewer.show([0.25, -0.5])
        np.testing.assert_allclose(viewer.q, [0.25, -0.5])
        with pytest.raises(hc.InputError, match=r"\(N, 2\)"):
            viewer.show([1.0])


def test_the_name_of_a_robot_is_not_a_robot() -> None:
    with pytest.raises(hc.InputError, match=r"view takes a robot, such as hc.load\('panda'\); got 'ur5'"):
        view("ur5", block=False)  # type: ignore[arg-type]


def test_a_ghost_needs_a_trajectory(robot: hc.Robot) -> None:
    with pytest.raises(hc.InputError, match="a ghost accompanies a trajectory"):
        view(robot, ghost=SimpleNamespace(t=T, q=np.zeros((61, 2))), block=False)


def test_showing_a_posture_pauses_the_motion(robot: hc.Robot) -> None:
    pytest.importorskip("viser")
    motion = SimpleNamespace(t=T, q=np.column_stack([np.sin(T), T]))
    with view(robot, motion, block=False) as viewer:
        viewer.show([0.5, 0.25])
        assert viewer._playback is not None and not viewer._playback._playing.is_set()
        np.testing.assert_allclose(viewer.q, [0.5, 0.25])


def test_bodies_and_the_center_of_mass_are_placed() -> None:
    viser = pytest.importorskip("viser")
    robot = hc.load("quadruped", base="floating").parametric("inertia")
    server = viser.ViserServer(host="127.0.0.1", verbose=False)
    try:
        scene = RobotScene(server, robot, "robot")
        for layer in LAYERS:
            scene.show(layer, True)
        q = robot.random(3)
        scene.place(q)
        for node, body in zip(scene._bodies, robot.model.bodies, strict=True):
            np.testing.assert_allclose(node.position, robot.pose(body.name)(q)[:3, 3], atol=1e-12)
        plain = hc.Robot(robot.model)
        center = scene._layers["center of mass"][0]
        np.testing.assert_allclose(center.position, plain.center_of_mass(q), atol=1e-12)
        assert all(node.opacity < 1 for node in scene._layers["links"])
        for layer in LAYERS[1:]:
            scene.show(layer, False)
        assert all(node.opacity is None for node in scene._layers["links"])
        assert not any(node.visible for layer in LAYERS[1:] for node in scene._layers[layer])
    finally:
        server.stop()


@pytest.mark.needs_compiler
def test_a_frame_follows_a_target_within_its_limits() -> None:
    pytest.importorskip("viser")
    robot = hc.load("planar_2r").with_joints(lower={"joint_1": -1.0}, upper={"joint_1": 1.0})
    with view(robot, ik=True, block=False) as viewer:
        target = viewer._target
        assert target is not None
        viewer.show([0.3, 0.5])
        assert np.allclose(target.pose, robot.pose(robot.link_names[-1])([0.3, 0.5]))
        wanted = robot.pose(robot.link_names[-1])([0.4, 0.7])
        target.drag(wanted)
        assert viewer.q == pytest.approx([0.4, 0.7], abs=1e-3) and "reached" in target._text.content
        wanted[:3, 3] += [5.0, 0.0, 0.0]
        target.drag(wanted)
        assert "out of reach" in target._text.content
        assert np.all(viewer.q >= robot.limits.lower) and np.all(viewer.q <= robot.limits.upper)


def test_the_frame_of_a_target_must_exist(robot: hc.Robot) -> None:
    pytest.importorskip("viser")
    with pytest.raises(hc.ModelError, match="nowhere"):
        view(robot, ik="nowhere", block=False)


@pytest.fixture
def address(robot: hc.Robot) -> Iterator[str]:
    """Address of a viewer, without the scheme."""
    pytest.importorskip("viser")
    with view(robot, block=False) as viewer:
        yield urlparse(viewer.url).netloc


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        (None, True),
        ("http://{address}", True),
        ("https://example.com", False),
        ("http://127.0.0.1:1", False),
        ("http://{address}.example.com", False),
        ("null", False),
        ("", False),
    ],
)
def test_pages_of_other_sites_get_no_connection(address: str, origin: str | None, accepted: bool) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    given = None if origin is None else origin.format(address=address)
    refused = pytest.raises(InvalidStatus, match="403")
    with nullcontext() if accepted else refused, connect(f"ws://{address}", origin=given, proxy=None):
        pass


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("{address}", 200),
        ("localhost:9000", 200),  # through a tunnel
        ("example.com", 403),
        ("127.0.0.1.example.com:8080", 403),
        ("", 403),
        ("[", 403),
    ],
)
def test_other_names_of_this_machine_get_no_answer(address: str, host: str, status: int) -> None:
    connection = HTTPConnection(address, timeout=30)
    connection.request("GET", "/", headers={"Host": host.format(address=address)})
    assert connection.getresponse().status == status
    connection.close()
