"""A pose to be dragged about in the browser, which a frame of the robot follows by inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.control import InverseKinematics
from helicoid.geometry import quaternion, se3
from helicoid.robot import Robot


class Target:
    """Arrows and rings at a frame. Dragged, they call `follow` with the configuration nearest to them.

    Args:
        server: the viewer's.
        frame: the name of a link.
        size: how large they are (m).
        where: gives the configuration that is shown, from which the next is searched.
        follow: shows a configuration.
    """

    def __init__(
        self,
        server: Any,
        robot: Robot,
        frame: str,
        size: float,
        where: Callable[[], Array],
        follow: Callable[[Array], None],
    ) -> None:
        self.ik = InverseKinematics(robot, frame, tolerance=1e-5)
        self._robot, self._frame, self._where, self._follow = robot, frame, where, follow
        self._handle = server.scene.add_transform_controls("/target", scale=size)
        self._text = server.gui.add_markdown("")
        self.place(where())
        self._handle.on_update(lambda _: self.drag(self.pose))

    @property
    def pose(self) -> Array:
        """Where it is, 4 × 4."""
        return np.asarray(se3.pose(quaternion.to_matrix(self._handle.wxyz), self._handle.position))

    def place(self, q: Array) -> None:
        """Put it where the frame is at a configuration; nothing follows."""
        T = np.asarray(self._robot.pose(self._frame)(q))
        self._handle.position = tuple(T[:3, 3])
        self._handle.wxyz = tuple(np.asarray(quaternion.from_matrix(T[:3, :3])))
        self._tell("drag the arrows and rings")

    def drag(self, T: Array) -> None:
        """Show the configuration that brings the frame to a pose, or as near as it gets."""
        solution = self.ik(T, q0=self._where())
        self._follow(solution.q)
        turn, away = (float(np.linalg.norm(part)) for part in (solution.residual[:3], solution.residual[3:6]))
        near = f"out of reach: {1e3 * away:.0f} mm and {np.degrees(turn):.0f}° away"
        self._tell("reached" if solution.success else near)

    def _tell(self, text: str) -> None:
        self._text.content = f"`{self._frame}`: {text}"
