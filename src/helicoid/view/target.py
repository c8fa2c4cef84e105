"""Draggable target pose in the browser, followed by a frame through inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.control import InverseKinematics
from helicoid.geometry import quaternion, se3
from helicoid.robot import Robot


class DraggedTarget:
    """Transform controls at a frame; dragging them calls `follow` with the IK solution.

    Args:
        server: viser server of the viewer.
        frame: name of a link.
        size: of the controls (m).
        where: returns the current configuration, the initial guess of the IK.
        follow: called with the new configuration.
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
        """Target pose, 4 × 4."""
        return np.asarray(se3.pose(quaternion.to_matrix(self._handle.wxyz), self._handle.position))

    def place(self, q: Array) -> None:
        """Move the controls to the pose of the frame at a configuration, without IK."""
        T = np.asarray(self._robot.pose(self._frame)(q))
        self._handle.position = tuple(T[:3, 3])
        self._handle.wxyz = tuple(np.asarray(quaternion.from_matrix(T[:3, :3])))
        self._show_status("drag the arrows and rings")

    def drag(self, T: Array) -> None:
        """Solve the IK for a pose and show the solution, the nearest one if out of reach."""
        solution = self.ik(T, q0=self._where())
        self._follow(solution.q)
        rotation, distance = (
            float(np.linalg.norm(part)) for part in (solution.residual[:3], solution.residual[3:6])
        )
        error = f"out of reach: {1e3 * distance:.0f} mm and {np.degrees(rotation):.0f}° away"
        self._show_status("reached" if solution.success else error)

    def _show_status(self, text: str) -> None:
        self._text.content = f"`{self._frame}`: {text}"
