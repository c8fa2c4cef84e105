"""Viewer of a robot in the browser, by viser: joint sliders, playback, layers, draggable IK target."""

from __future__ import annotations

import io
import time
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError, optional_import
from helicoid.robot import Robot, as_robot
from helicoid.robot.collision.distances.checker import checked_scene
from helicoid.robot.collision.scene import Scene
from helicoid.view.controls import JointSliders, neutral_within_limits
from helicoid.view.drawing.drawing import bounds
from helicoid.view.ground import arrows, floor_height, ground_parts
from helicoid.view.local_access import local_requests_only
from helicoid.view.motion import PlayedMotion, as_motion
from helicoid.view.objects import SceneObjects
from helicoid.view.playback import Playback, sample
from helicoid.view.player import COLORS
from helicoid.view.poses import body_poses
from helicoid.view.scene import LAYERS, RobotScene
from helicoid.view.target import DraggedTarget

_HOST = "127.0.0.1"  # reachable from the local machine only
_SLIDER_PERIOD = 0.15  # s between two updates of the sliders during playback


class Viewer:
    """Robot shown in the browser at `url`, created by `view`; a context manager that closes the server."""

    def __init__(
        self,
        robot: Robot,
        motion: PlayedMotion | None,
        ghost: PlayedMotion | None,
        port: int,
        frame: str | None = None,
        scene: Scene | None = None,
    ) -> None:
        viser = _viser()
        with redirect_stdout(io.StringIO()), local_requests_only():  # `view` prints the address
            self._server = viser.ViserServer(host=_HOST, port=port, label=robot.name, verbose=False)
        self._rng = np.random.default_rng()
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._robot = robot
        self._scene = RobotScene(self._server, robot, "robot")
        self._motions = [(self._scene, motion, body_poses(robot, motion.q))] if motion is not None else []
        if ghost is not None:
            faint = RobotScene(self._server, robot, "ghost", tint=COLORS[1])
            self._motions.append((faint, ghost, body_poses(robot, ghost.q)))
        self._arrows = {one: arrows(robot, motion, one.size) for one, motion, _ in self._motions}
        self._playback: Playback | None = None
        self._target: DraggedTarget | None = None
        self._synchronised = 0.0
        self._add_surroundings()
        self._add_panel()
        if frame is not None:
            self._target = self._add_target(frame)

        self._objects = None if scene is None else SceneObjects(self._server, scene, self._scene)

    def _add_target(self, frame: str) -> DraggedTarget:
        with self._server.gui.add_folder("Target"):
            return DraggedTarget(
                self._server, self._robot, frame, 0.25 * self._scene.size, lambda: self.q, self._follow
            )

    @property
    def url(self) -> str:
        """Address of the viewer."""
        return f"http://{_HOST}:{self._server.get_port()}"

    @property
    def q(self) -> Array:
        """Configuration of the sliders."""
        return self._sliders.q

    def show(self, q: ArrayLike) -> None:
        """Move the robot and its sliders to a configuration (nq)."""
        configuration = as_motion(self._robot, q).q[0]
        self._pause()
        self._sliders.set(configuration)
        self._place(configuration)

    def update_scene(self) -> None:
        """Draw the objects of the scene as they are now."""
        if self._objects is not None:
            self._objects.update()

    def wait(self) -> None:
        """Block until Ctrl-C."""
        try:
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            return

    def close(self) -> None:
        """Stop the server."""
        if self._playback is not None:
            self._playback.close()
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add_surroundings(self) -> None:
        """Add the ground, or a floor below the motion, and frame the camera."""
        grounds = self._motions[0][1].grounds if self._motions else ()
        shown = [poses for _, _, poses in self._motions] or [
            body_poses(self._robot, neutral_within_limits(self._robot))[None]
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
        self._scene.add_static("ground", ground_parts(grounds, center, radius))
        camera = self._server.initial_camera
        camera.fov = 0.7
        camera.look_at = tuple(center)
        camera.position = tuple(center + 2.5 * radius * np.array([0.75, -0.95, 0.5]))
        camera.up = (0.0, 0.0, 1.0)

    def _add_panel(self) -> None:
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
            self._sliders = JointSliders(gui, self._robot, self._place)
        self._scene.place(self._sliders.q)
        if self._playback is not None:
            self._playback.play(True)

    def _toggle(self, layer: str) -> None:
        box = self._server.gui.add_checkbox(layer, layer == "links")
        box.on_update(lambda _: self._scene.show(layer, box.value))

    def _pause(self) -> None:
        """Pause before setting the sliders, which the playback thread would set again."""
        if self._playback is not None:
            self._playback.play(False)

    def _place(self, q: Array, dragged: bool = False) -> None:
        self._pause()
        self._scene.place(q)
        if not dragged and self._target is not None:
            self._target.place(q)

    def _follow(self, q: Array) -> None:
        """Show the IK solution; the target stays at its dragged pose."""
        self._pause()
        self._sliders.set(q)
        self._place(q, dragged=True)

    def _posture(self, name: str) -> None:
        self.show(neutral_within_limits(self._robot) if name == "neutral" else self._robot.random(self._rng))

    def _set_apart(self, on: bool) -> None:
        self._motions[1][0].root.position = (0.0, -self._spacing if on else 0.0, 0.0)

    def _show_time(self, t: float) -> None:
        for scene, motion, poses in self._motions:
            k = sample(motion.t, t)
            scene.place(motion.q[k], poses[k])
            if motion.forces.size:
                scene.draw_forces(self._arrows[scene][k])
            if scene is self._scene and time.monotonic() > self._synchronised + _SLIDER_PERIOD:
                self._sliders.set(motion.q[k])
                self._synchronised = time.monotonic()


def view(
    robot: Robot,
    trajectory: Any = None,
    ghost: Any = None,
    *,
    scene: Scene | None = None,
    ik: str | bool = False,
    port: int = 8080,
    block: bool = True,
) -> Viewer:
    """Show a robot in the browser, at a local address that is printed.

    Every joint has a slider; missing meshes are replaced by plain shapes. A `trajectory`, any object with
    `.t` (s) and `.q` such as a Trajectory or a Plan, is played back, with its ground and its contact forces
    as red arrows. A second one, `ghost`, is drawn transparent over it or beside it. With `ik`, the name of a
    frame (True: the last link), that frame follows a draggable target by inverse kinematics within the joint
    limits. The objects of a `scene` are drawn, and dragging one moves it in the scene; after other changes
    `viewer.update_scene()` draws it again. If the port is in use, the next free one is taken. With `block`
    the function returns after Ctrl-C, otherwise at once, and the caller closes the Viewer.

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
        raise InputError("a ghost accompanies a trajectory; pass `trajectory` too")
    motion, other = (None if given is None else as_motion(robot, given) for given in (trajectory, ghost))
    shown = checked_scene(scene)
    viewer = Viewer(robot, motion, other, port, _frame(robot, ik), shown)
    print(f"Viewing {robot.name} at {viewer.url}" + (" (Ctrl-C ends)" if block else ""), flush=True)
    if block:
        viewer.wait()
        viewer.close()
    return viewer


def _frame(robot: Robot, ik: str | bool) -> str | None:
    """Name of the frame that follows the target, or None."""
    if isinstance(ik, bool):
        return robot.link_names[-1] if ik else None
    robot.model.frame(ik)
    return ik


def _viser() -> Any:
    return optional_import("viser", "the viewer", "helicoid[view]")
