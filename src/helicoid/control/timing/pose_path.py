"""Paths of a frame in space, straight lines and arcs, and the joint paths that follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.tasks import PoseTask
from helicoid.control.timing.errors import InfeasiblePath
from helicoid.control.timing.joint_path import JointPath
from helicoid.errors import InputError
from helicoid.geometry import so3
from helicoid.robot import Robot

LENGTH_PER_RADIAN = 0.2  # m per rad, for segments that turn more than they move
INITIAL_SPACING = 0.02  # m between the first samples
MAX_DOUBLINGS = 6
MAX_DIRECTION_CHANGE = 1e-6  # relative: a larger one is a corner


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a pose path: points p(l) for l from 0 to 1, and a turn at a constant rate from R0 on.

    Args:
        points: of l (m), points (m, 3).
        tangents: dp/dl at both ends, (2, 3).
        rotation: (3, 3), the first.
        turn: (3), the rotation vector from the first to the last, in the axes of the first.
        length: how much of s it takes: metres of the way, or of turning at `LENGTH_PER_RADIAN`.
    """

    points: Callable[[Array], Array]
    tangents: Array
    rotation: Array
    turn: Array
    length: float

    def poses(self, part: Array) -> Array:
        """(m, 4, 4) at parts 0 to 1 of the way."""
        T = np.zeros((len(part), 4, 4))
        turned = so3.exp(part[:, None] * self.turn)
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = self.rotation @ turned, self.points(part), 1.0
        return T

    def direction(self, end: int) -> Array:
        """(6) at the beginning (0) or the end (1): change of rotation and position with s."""
        return np.concatenate([self.rotation @ self.turn, self.tangents[end]]) / self.length


@dataclass(frozen=True, eq=False)
class PosePath:
    """A path of a frame: straight lines and arcs of circles, turning at a constant rate on each.

    Where two parts meet without a common direction there is a corner, and a motion stops.

    Args:
        start: (4, 4), the first pose.

    >>> import helicoid as hc
    >>> import numpy as np
    >>> T = np.eye(4)
    >>> there, back = T.copy(), T.copy()
    >>> there[:3, 3], back[:3, 3] = [0.4, 0, 0], [0.4, 0.2, 0]
    >>> path = hc.control.PosePath(T).line(there).arc([0.5, 0.1, 0], back)
    >>> path
    PosePath(2 segments, length 0.7142, 0 corners)
    """

    start: Array
    segments: tuple[Segment, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _pose("start", self.start))

    @staticmethod
    def through(poses: ArrayLike) -> PosePath:
        """Straight lines through poses (k, 4, 4)."""
        T = np.asarray(poses, dtype=np.float64)
        if T.ndim != 3 or len(T) < 2:
            raise InputError(f"a path goes through at least two poses (k, 4, 4); got shape {T.shape}")
        path = PosePath(T[0])
        for pose in T[1:]:
            path = path.line(pose)
        return path

    @property
    def end(self) -> Array:
        """The last pose, (4, 4)."""
        return self.segments[-1].poses(np.ones(1))[0] if self.segments else self.start

    @property
    def length(self) -> float:
        """The s of its end."""
        return sum(segment.length for segment in self.segments)

    def line(self, pose: ArrayLike) -> PosePath:
        """Append a straight line to a pose (4, 4)."""
        p0, p1 = self.end[:3, 3], _pose("line", pose)[:3, 3]
        d = p1 - p0
        return self._with(
            pose, lambda part: p0 + part[:, None] * d, np.array([d, d]), float(np.linalg.norm(d))
        )

    def arc(self, via: ArrayLike, pose: ArrayLike) -> PosePath:
        """Append an arc of the circle through a point `via` (3) to a pose (4, 4)."""
        p0, p1 = self.end[:3, 3], _pose("arc", pose)[:3, 3]
        middle = np.asarray(via, dtype=np.float64)
        if middle.shape != (3,) or not np.isfinite(middle).all():
            raise InputError(f"arc: via is a point of three finite numbers; got {via!r}")
        a, b = middle - p0, p1 - p0
        normal = np.cross(a, b)
        size = float(np.linalg.norm(normal))
        if size <= 1e-9 * max(a @ a, b @ b):
            raise InputError("arc: its three points are on a line; a full circle is made of two arcs")
        center = p0 + np.cross((a @ a) * b - (b @ b) * a, normal) / (2 * size**2)
        x = p0 - center
        y = np.cross(normal / size, x)
        # From the first point over `via`, which is on the side that the normal turns to.
        angle = float(np.arctan2((p1 - center) @ y, (p1 - center) @ x)) % (2 * np.pi)

        def points(part: Array) -> Array:
            return center + np.cos(angle * part)[:, None] * x + np.sin(angle * part)[:, None] * y

        ends = angle * np.array([y, np.cos(angle) * y - np.sin(angle) * x])
        return self._with(pose, points, ends, angle * float(np.linalg.norm(x)))

    def _with(
        self, pose: ArrayLike, points: Callable[[Array], Array], tangents: Array, way: float
    ) -> PosePath:
        R0, R1 = self.end[:3, :3], np.asarray(pose, dtype=np.float64)[:3, :3]
        turn = so3.log(R0.T @ R1)
        length = max(way, LENGTH_PER_RADIAN * float(np.linalg.norm(turn)))
        if length < 1e-9:
            raise InputError("two poses in a row are equal: a path cannot stand still; leave one out")
        segment = Segment(points, tangents, R0, turn, length)
        return replace(self, segments=(*self.segments, segment))

    def _corner(self, k: int) -> bool:
        before, after = self.segments[k - 1].direction(1), self.segments[k].direction(0)
        return bool(
            np.abs(before - after).max()
            > MAX_DIRECTION_CHANGE * max(np.abs(before).max(), np.abs(after).max())
        )

    def __repr__(self) -> str:
        corners = sum(self._corner(k) for k in range(1, len(self.segments)))
        return f"PosePath({len(self.segments)} segments, length {self.length:.4g}, {corners} corners)"

    def poses(self, s: ArrayLike) -> Array:
        """(m, 4, 4) at s from 0 to `length`."""
        wanted = np.atleast_1d(np.asarray(s, dtype=np.float64))
        ends = np.cumsum([0.0, *(segment.length for segment in self.segments)])
        which = np.clip(np.searchsorted(ends, wanted, side="right") - 1, 0, len(self.segments) - 1)
        T = np.empty((len(wanted), 4, 4))
        for k, segment in enumerate(self.segments):
            at = which == k
            T[at] = segment.poses((wanted[at] - ends[k]) / segment.length)
        return T

    def joint_path(
        self,
        robot: Robot,
        frame: str | InverseKinematics,
        q0: ArrayLike | None = None,
        tolerance: float = 1e-4,
    ) -> JointPath:
        """The joint path on which a frame follows this one, by inverse kinematics in one branch.

        Args:
            frame: whose path it is, or an `InverseKinematics` of it.
            q0: where to look for the first configuration; by default the branch that leads furthest.
            tolerance: by how much (m, rad) the frame may leave the path between samples.

        Raises:
            InfeasiblePath: out of reach, or no branch leads along; says where.
        """
        if not self.segments:
            raise InputError("this path is a single pose; .line(T) and .arc(via, T) go on from it")
        if not (isinstance(tolerance, (int, float)) and 0 < tolerance < np.inf):
            raise InputError(f"tolerance is a length (m) above zero; got {tolerance!r}")
        ik = _solver(robot, frame)
        self._check_reach(ik)
        counts = [max(4, int(np.ceil(segment.length / INITIAL_SPACING))) for segment in self.segments]
        for _ in range(MAX_DOUBLINGS):
            s = self._samples(counts)
            Q = _followed(ik, self.poses(s), s, q0)
            path = self._through(s, Q)
            middle = (s[1:] + s[:-1]) / 2
            missed = _apart(ik, self.poses(middle), path(middle))
            if missed.max() <= tolerance:
                return path
            q0, counts = Q[0], [2 * count for count in counts]
        at = middle[int(np.argmax(missed))]
        raise InfeasiblePath(
            f"no smooth motion of the joints follows the path at s = {at:.4g}: "
            f"{missed.max():.2g} (m, rad) are missed"
        )

    def _check_reach(self, ik: InverseKinematics) -> None:
        """Refuse segments whose ends are out of reach, before the whole path is searched."""
        s = np.cumsum([0.0, *(segment.length for segment in self.segments)])
        found = ik(self.poses(s))
        _refuse_missed(s, np.asarray(found.success), np.asarray(found.error))

    def _samples(self, counts: Sequence[int]) -> Array:
        """So many intervals of s on each segment."""
        ends = np.cumsum([0.0, *(segment.length for segment in self.segments)])
        parts = [np.linspace(ends[k], ends[k + 1], n + 1)[:-1] for k, n in enumerate(counts)]
        return np.concatenate([*parts, ends[-1:]])

    def _through(self, s: Array, Q: Array) -> JointPath:
        """One spline between two corners."""
        ends = np.cumsum([segment.length for segment in self.segments])
        corners = [ends[k - 1] for k in range(1, len(self.segments)) if self._corner(k)]
        cuts = [0, *np.searchsorted(s, np.array(corners) - 1e-12).tolist(), len(s) - 1]
        parts = [JointPath.through(Q[a : b + 1], s[a : b + 1]) for a, b in pairwise(cuts)]
        return JointPath.joined(parts)


def _solver(robot: Robot, frame: str | InverseKinematics) -> InverseKinematics:
    """Inverse kinematics with a tolerance below that of the splines; made once for a robot."""
    if isinstance(frame, str):
        return robot.memo(("a path of", frame), lambda: InverseKinematics(robot, frame, tolerance=1e-8))
    if not isinstance(frame, InverseKinematics):
        raise InputError(f"frame is the name of a frame, or an InverseKinematics of it; got {frame!r}")
    if len(frame.tasks) != 1 or not isinstance(frame.tasks[0], PoseTask):
        raise InputError("frame: an InverseKinematics of one PoseTask follows a path of poses")
    return frame


def _followed(ik: InverseKinematics, poses: Array, s: Array, q0: ArrayLike | None) -> Array:
    found = ik.path(poses, q0=q0)
    _refuse_missed(s, found.success, found.error)
    if found.jumps:
        where = ", ".join(f"{s[k]:.4g}" for k in found.jumps)
        raise InfeasiblePath(
            f"no branch of solutions leads along the path: a jump is needed before s = {where}"
            + ("; without q0 all branches are tried" if q0 is not None else "")
        )
    return found.q


def _refuse_missed(s: Array, reached: NDArray[np.bool_], error: Array) -> None:
    if not reached.all():
        k = int(np.argmin(reached))
        raise InfeasiblePath(
            f"the pose at s = {s[k]:.4g} of {s[-1]:.4g} is out of reach: {error[k]:.2g} (m, rad) are missed"
        )


def _apart(ik: InverseKinematics, poses: Array, Q: Array) -> Array:
    """Pose errors (m) of frames: the larger of position (m) and rotation (rad)."""
    task = ik.tasks[0]
    assert isinstance(task, PoseTask)
    T = ik.robot.pose(task.frame)(Q)
    turn = np.linalg.norm(so3.log(np.swapaxes(T[:, :3, :3], 1, 2) @ poses[:, :3, :3]), axis=1)
    return np.maximum(np.linalg.norm(T[:, :3, 3] - poses[:, :3, 3], axis=1), turn)


def _pose(name: str, value: ArrayLike) -> Array:
    T = np.array(float_array(value, f"{name}: a pose is a matrix (4, 4)"))
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise InputError(f"{name}: a pose is a finite matrix (4, 4); got shape {T.shape}, {T.tolist()}")
    R = T[:3, :3]
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0 or (T[3] != [0, 0, 0, 1]).any():
        raise InputError(
            f"{name}: this is no pose: its upper left 3 × 3 must be a rotation, its last row 0 0 0 1"
        )
    return T
