"""A robot in the browser: sliders, motions, and what is inside it. Runs on viser."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.robot import Robot, as_robot
from helicoid.view.controls import JointSliders, resting
from helicoid.view.drawing import bounds
from helicoid.view.ground import arrows, floor_height, ground_parts
from helicoid.view.motion import Motion, as_motion
from helicoid.view.playback import Playback, sample
from helicoid.view.player import COLORS
from helicoid.view.poses import body_poses
from helicoid.view.scene import LAYERS, RobotScene
from helicoid.view.target import Target

_HOST = "127.0.0.1"  # this machine alone
_SLOWLY = 0.15  # s between two updates of the sliders while a motion plays


class Viewer:
    """A robot that a browser shows at `url`; `view` makes one. Closes itself at the end of a `with`."""

    def __init__(
        self, robot: Robot, motion: Motion | None, ghost: Motion | None, port: int, frame: str | None = None
    ) -> None:
        viser = _viser()
        with redirect_stdout(io.StringIO()):  # `view` says where it is
            self._server = viser.ViserServer(host=_HOST, port=port, label=robot.name, verbose=False)
        self._rng = np.random.default_rng()
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._robot = robot
        self._scene = RobotScene(self._server, robot, "robot")
        self._motions = [(self._scene, motion, body_poses(robot, motion.q))] if motion is not None else []
        if ghost is not None:
            faint = RobotScene(self._server, robot, "ghost", tint=COLORS[1])
            self._motions.append((faint, ghost, body_poses(robot, ghost.q)))
        self._arrows = {scene: arrows(robot, motion, scene.size) for scene, motion, _ in self._motions}
        self._playback: Playback | None = None
        self._target: Target | None = None
        self._synchronised = 0.0
        self._surroundings()
        self._panel()
        if frame is not None:
            self._target = self._dragged(frame)

    def _dragged(self, frame: str) -> Target:
        with self._server.gui.add_folder("Target"):
            return Target(
                self._server, self._robot, frame, 0.25 * self._scene.size, lambda: self.q, self._follow
            )

    @property
    def url(self) -> str:
        """Where the browser finds it."""
        return f"http://{_HOST}:{self._server.get_port()}"

    @property
    def q(self) -> Array:
        """The configuration that the sliders show."""
        return self._sliders.q

    def show(self, q: ArrayLike) -> None:
        """Move the robot, and its sliders, to a configuration (nq)."""
        configuration = as_motion(self._robot, q).q[0]
        self._pause()
        self._sliders.set(configuration)
        self._moved(configuration)

    def wait(self) -> None:
        """Until Ctrl-C."""
        try:
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        """Stop serving."""
        if self._playback is not None:
            self._playback.close()
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _surroundings(self) -> None:
        """The ground, or a floor below everything, and a camera that sees everything."""
        grounds = self._motions[0][1].grounds if self._motions else ()
        shown = [poses for _, _, poses in self._motions] or [
            body_poses(self._robot, resting(self._robot))[None]
        ]
        low, high = bounds(self._scene.parts, np.concatenate(shown))
        center, radius = (low + high) / 2, float(np.linalg.norm(high - low) / 2) or 1.0
        self._spacing = float(1.1 * (high - low)[1] + 0.2 * self._scene.size)
        cell = self._scene.size / 10
        self._server.scene.add_grid(
            "/floor",
            width=10 * radius,
            height=10 * radius,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(225, 228, 232),
            section_color=(195, 200, 208),
            fade_distance=5 * radius,
            fade_from="origin",
            shadow_opacity=0.25,
            position=(center[0], center[1], floor_height(grounds, low[2])),
        )
        self._scene.add_still("ground", ground_parts(grounds, center, radius))
        camera = self._server.initial_camera
        camera.fov = 0.7
        camera.look_at = tuple(center)
        camera.position = tuple(center + 2.5 * radius * np.array([0.75, -0.95, 0.5]))
        camera.up = (0.0, 0.0, 1.0)

    def _panel(self) -> None:
        gui = self._server.gui
        if self._motions:
            with gui.add_folder("Motion"):
                ends = [motion.t for _, motion, _ in self._motions]
                start, end = min(t[0] for t in ends), max(t[-1] for t in ends)
                if len(self._motions) > 1:
                    apart = gui.add_checkbox("side by side", False)
                    apart.on_update(lambda _: self._set_apart(apart.value))
                self._playback = Playback(gui, float(start), float(end), self._show_time)
        with gui.add_folder("Show"):
            for layer in LAYERS:
                self._toggle(layer)
        with gui.add_folder("Joints"):
            buttons = gui.add_button_group("posture", ("neutral", "random"))
            buttons.on_click(lambda event: self._posture(event.target.value))
            self._sliders = JointSliders(gui, self._robot, self._moved)
        self._scene.place(self._sliders.q)
        if self._playback is not None:
            self._playback.play(True)

    def _toggle(self, layer: str) -> None:
        box = self._server.gui.add_checkbox(layer, layer == "links")
        box.on_update(lambda _: self._scene.show(layer, box.value))

    def _pause(self) -> None:
        """Before the sliders are set: else the clock may set them once more."""
        if self._playback is not None:
            self._playback.play(False)

    def _moved(self, q: Array, dragged: bool = False) -> None:
        self._pause()
        self._scene.place(q)
        if not dragged and self._target is not None:
            self._target.place(q)

    def _follow(self, q: Array) -> None:
        """Show what the target asks for; the target stays where it was dragged to."""
        self._pause()
        self._sliders.set(q)
        self._moved(q, dragged=True)

    def _posture(self, name: str) -> None:
        self.show(resting(self._robot) if name == "neutral" else self._robot.random(self._rng))

    def _set_apart(self, on: bool) -> None:
        self._motions[1][0].root.position = (0.0, -self._spacing if on else 0.0, 0.0)

    def _show_time(self, t: float) -> None:
        for scene, motion, poses in self._motions:
            k = sample(motion.t, t)
            scene.place(motion.q[k], poses[k])
            if motion.forces.size:
                scene.point(self._arrows[scene][k])
            if scene is self._scene and time.monotonic() > self._synchronised + _SLOWLY:
                self._sliders.set(motion.q[k])
                self._synchronised = time.monotonic()


def view(
    robot: Robot,
    trajectory: Any = None,
    ghost: Any = None,
    *,
    ik: str | bool = False,
    port: int = 8080,
    block: bool = True,
) -> Viewer:
    """Show a robot in the browser, at an address of this machine that is printed.

    Meshes are drawn where they are found, plain shapes otherwise; every joint has a slider. A `trajectory`,
    anything with `.t` (s) and `.q` such as a Trajectory or a Plan, is played, with its ground and the forces
    there as red arrows where it has contacts, and with the `ghost` of another
    transparent over it or beside it. With `ik`, the name of a frame (True: the last link), a target can be
    dragged about, and that frame follows by inverse kinematics, within the limits. Where the port is taken,
    the next free one is. With `block` it returns after Ctrl-C; without, at once, and the Viewer it returns is
    to be closed.

    Needs viser: `pip install 'helicoid[view]'`.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> with hc.view(robot, block=False) as viewer:
    ...     viewer.show([0.3, 0.5])
    ...     print(viewer.q)
    Viewing planar_2r at http://127.0.0.1:...
    [0.3 0.5]
    """
    as_robot(robot, "view")
    if trajectory is None and ghost is not None:
        raise InputError("a ghost accompanies a trajectory; give that too")
    motion, other = (None if given is None else as_motion(robot, given) for given in (trajectory, ghost))
    viewer = Viewer(robot, motion, other, port, _frame(robot, ik))
    print(f"Viewing {robot.name} at {viewer.url}" + (" (Ctrl-C ends)" if block else ""), flush=True)
    if block:
        viewer.wait()
        viewer.close()
    return viewer


def _frame(robot: Robot, ik: str | bool) -> str | None:
    """The frame that follows a target, if one is to."""
    if isinstance(ik, bool):
        return robot.link_names[-1] if ik else None
    robot.model.frame(ik)
    return ik


def _viser() -> Any:
    try:
        import viser
    except ImportError as error:
        raise HelicoidError("the viewer needs viser: pip install 'helicoid[view]'") from error
    return viser
