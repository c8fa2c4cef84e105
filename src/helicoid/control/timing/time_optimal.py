"""The fastest motion along a path that limits of velocity, acceleration and torque allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.inverse_kinematics import InverseKinematics
from helicoid.control.timing.engine import PassResult, Rows, solve
from helicoid.control.timing.errors import InfeasiblePath
from helicoid.control.timing.joint_path import JointPath
from helicoid.control.timing.limits import read_limits
from helicoid.control.timing.motion import PathMotion, Profile, along, every
from helicoid.control.timing.pose_path import PosePath
from helicoid.control.timing.rows import PathLimits
from helicoid.errors import InputError
from helicoid.robot import Robot

FRICTION_TOLERANCE = 1e-7  # of a limit: change of the friction torque between two profiles at convergence
MAX_PROFILES = 60


def time_optimal(
    path: ArrayLike | JointPath | PosePath,
    robot: Robot,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    *,
    frame: str | InverseKinematics | None = None,
    q0: ArrayLike | None = None,
    position: ArrayLike | None = None,
    frame_speed: Mapping[str, float] | None = None,
    friction: bool = False,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    dt: float = 0.01,
    grid: int | ArrayLike = 200,
    scheme: Literal["interpolation", "collocation"] = "interpolation",
) -> PathMotion:
    """The fastest motion along a path within limits, by reachability (TOPP-RA).

    With the path q(s), u = s̈ and x = ṡ², velocities are q' √x, accelerations q' u + q'' x and torques
    M q' u + (M q'' + C q') x + g: rows linear in u and x at every point of a grid, between which u is
    constant. From the end backwards, the interval of x is found from which the end can be reached; from the
    start forwards, u is always the greatest that stays within (Pham and Pham, IEEE T-RO 34, 2018).

    Args:
        path: joint waypoints (k, nv), through which goes a cubic spline, or a `JointPath`; poses (k, 4, 4) of
            a frame, straight from one to the next with a stop at each corner, or a `PosePath`.
        robot: on joints whose coordinates are numbers: no floating base, no ball joints, no loops.
        velocity, acceleration, torque: a number, one for each joint (nv), or lower and upper (2, nv). By
            default the robot's own limits, of acceleration the lesser of acceleration and deceleration;
            np.inf is none. Jerk is not limited.
        frame: whose poses they are, or an `InverseKinematics` of it.
        q0: of poses, where to look for the first configuration; by default the branch that leads furthest.
        position: the same for coordinates, which the path must keep; by default the robot's own limits.
        frame_speed: largest speed (m/s) of the origins of frames, as {"tool0": 0.25}.
        friction: whether motors also work against the joints' friction, of which viscous friction is no row:
            profiles are computed until what friction takes settles.
        start_speed, end_speed: path velocity ṡ at both ends.
        dt: samples of the motion (s); the last step is shorter where that is needed to end with it.
        grid: number of intervals, or points of s.
        scheme: "interpolation": limits hold at both ends of every interval of the grid; "collocation": at its
            beginning, with larger excess in between.

    Returns:
        A `Trajectory` with the `path`, its speed `profile`, its `duration` and its `excess`, how far limits
        are left between the points of the grid.

    Raises:
        InfeasiblePath: limits allow no motion; says where and why.
        InputError: waypoints or limits that make no sense.

    >>> import helicoid as hc
    >>> import numpy as np
    >>> robot = hc.load("double_pendulum")
    >>> waypoints = [[0.0, 0.0], [1.0, -1.0], [2.0, 0.5], [2.5, 1.0]]
    >>> motion = hc.control.time_optimal(waypoints, robot, velocity=3.0, acceleration=10.0, torque=[40, 15])
    >>> print(f"{motion.duration:.3f} s")
    1.671 s
    >>> bool(np.abs(motion.v).max() < 3.01), motion.q[-1]
    (True, array([2.5, 1. ]))
    """
    joint_path = _joint_path(path, robot, frame, q0)
    limits = read_limits(robot, position, velocity, acceleration, torque)
    if limits.has_torques and robot.unactuated:
        names = ", ".join(robot.model.velocity_names[k] for k in robot.unactuated)
        raise InputError(f"torque: no motor drives {names}; torque=np.inf leaves torques out")
    if scheme not in ("interpolation", "collocation"):
        raise InputError(f"scheme is 'interpolation' or 'collocation'; got {scheme!r}")
    start, end = _speed("start_speed", start_speed), _speed("end_speed", end_speed)
    problem = PathLimits(robot, joint_path, limits, joint_path.grid(grid), friction)
    problem.limit_frames(frame_speed or {})
    passed = _settled(problem, start, end, scheme == "interpolation")
    profile = Profile(problem.s, passed.profile)
    return along(robot, joint_path, profile, limits, friction, every(float(profile.t[-1]), dt))


def _joint_path(
    path: ArrayLike | JointPath | PosePath,
    robot: Robot,
    frame: str | InverseKinematics | None,
    q0: ArrayLike | None,
) -> JointPath:
    if robot.nq != robot.nv:
        names = ", ".join(j.name for j in robot.model.independent_joints if j.type.nq != j.type.nv)
        raise InputError(f"a path of numbers cannot turn {names}: coordinates there are quaternions")
    if robot.constraints:
        raise InputError("time_optimal knows no loops and contacts, and this robot has some")
    if not isinstance(path, (JointPath, PosePath)):
        path = PosePath.through(path) if _axes(path) == 3 else JointPath.through(path)
    if isinstance(path, PosePath):
        if frame is None:
            raise InputError('frame: whose poses they are, such as frame="tool0", must be said')
        path = path.joint_path(robot, frame, q0)
    if path.n != robot.nq:
        raise InputError(f"a path of {robot.name} has {robot.nq} columns, one for each joint; got {path.n}")
    return path


def _axes(values: ArrayLike) -> int:
    try:
        return np.ndim(values)
    except ValueError:  # rows of different lengths
        return 0


def _speed(name: str, value: float) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 <= value < np.inf):
        raise InputError(f"{name} is a path velocity ds/dt, zero or more; got {value!r}")
    return float(value)


def _settled(problem: PathLimits, start: float, end: float, both_ends: bool) -> PassResult:
    """Both passes; with friction, repeated until its torque has converged."""
    most = float(np.sqrt(problem.x_max[-1]))
    if end > most * (1 + 1e-9):
        raise InfeasiblePath(f"end_speed: velocity limits allow {most:.4g} at the end of the path")
    if not problem.friction:
        return _passed(problem, None, start, end, both_ends)
    taken = problem.friction_at(np.zeros(len(problem.s)))
    low, high = problem.limits.torque
    for k in range(MAX_PROFILES):
        passed = _passed(problem, taken, start, end, both_ends)
        now = problem.friction_at(passed.profile[1])
        if np.abs((now - taken) / (high - low)).max() <= FRICTION_TOLERANCE:
            return passed
        taken = now if k < MAX_PROFILES // 3 else (now + taken) / 2
    raise InfeasiblePath("friction does not settle: no profile was found with the torques that it takes")


def _passed(
    problem: PathLimits, taken: Array | None, start: float, end: float, both_ends: bool
) -> PassResult:
    rows = problem.rows(taken)
    passed = solve(rows, start, end, both_ends)
    if passed.outcome == "solved":
        return passed
    where = f"at s = {problem.s[passed.point]:.4g} of {problem.path.start:.4g} to {problem.path.end:.4g}"
    held = _not_held(problem, rows, passed.point)
    if passed.outcome == "no_start":
        reason = held or f"the end can be reached from {passed.lowest:.4g} to {passed.highest:.4g}"
        raise InfeasiblePath(f"start_speed: {start:.4g} is no speed to start with: {reason}")
    if passed.outcome == "stands":
        raise InfeasiblePath(f"no motion leads on {where}{': ' + held if held else ''}")
    named = (problem.row_name(row // 2) if row >= 0 else "what follows on the path" for row in passed.rows)
    raise InfeasiblePath(
        f"no speed is within the limits {where}: {held or ' against '.join(dict.fromkeys(named))}"
    )


def _not_held(problem: PathLimits, rows: Rows, point: int) -> str:
    """Message naming the joint that cannot be held at rest at a point or the next; "" if none."""
    if rows.c is None:
        return ""
    needed = rows.c[point : point + 2]
    beyond = np.maximum(rows.lower - needed, needed - rows.upper)
    i, k = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    if not beyond[i, k] > 0:
        return ""
    load = "gravity and friction need" if problem.friction else "gravity needs"
    name = problem.robot.model.velocity_names[int(k) % problem.robot.nv]
    limits = f"limits are {rows.lower[k]:.4g} to {rows.upper[k]:.4g}"
    return f"{load} {needed[i, k]:.4g} N·m of {name} at rest; {limits}"
