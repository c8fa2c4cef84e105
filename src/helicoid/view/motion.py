"""Motions to play: configurations over time from a trajectory, a plan, a file or one configuration."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.contacts import Ground
from helicoid.simulation.ground import grounds_of
from helicoid.simulation.trajectory.archive import MAX_BYTES, read_archive, read_table


class PlayedMotion(NamedTuple):
    """Times t (N,) in s, ascending, configurations q (N, nq), and contacts.

    Contact `forces` (N) and their points of application `points` (m) are (N, contacts, 3) in world axes.
    """

    t: Array
    q: Array
    forces: Array = np.zeros((0, 0, 3))
    points: Array = np.zeros((0, 0, 3))
    grounds: tuple[Ground, ...] = ()


def as_motion(robot: Robot, source: Any) -> PlayedMotion:
    """Motion from an object with `.t` and `.q`, one whose `.trajectory` has them, or a configuration.

    >>> import helicoid as hc
    >>> as_motion(hc.load("double_pendulum"), [0.1, 0.2]).q.shape
    (1, 2)
    """
    if isinstance(source, PlayedMotion):
        checked = as_motion(robot, SimpleNamespace(t=source.t, q=source.q))
        return source._replace(t=checked.t, q=checked.q)
    if hasattr(source, "trajectory"):
        source = source.trajectory
    if hasattr(source, "t") and hasattr(source, "q"):
        t, q = np.asarray(source.t, dtype=np.float64), np.asarray(source.q, dtype=np.float64)
    else:
        t, q = np.zeros(1), float_array(source, "a motion has .t and .q, or is one configuration")[None]
    if t.ndim != 1 or q.shape != (len(t), robot.nq) or not len(t):
        raise InputError(
            f"a motion of {robot.name!r} needs times (N,) and configurations (N, {robot.nq}); "
            f"got shapes {t.shape} and {q.shape}" + "; choose one of the batch" * (q.ndim == 3)
        )
    for name, values in (("time", t[:, None]), ("configuration", q)):
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise InputError(f"the {name} of sample {bad[0]} is not finite")
    back = np.flatnonzero(np.diff(t) < 0)
    if len(back):
        raise InputError(
            f"times must ascend; sample {back[0] + 1} is at {t[back[0] + 1]:g} s, before the previous sample"
        )
    return PlayedMotion(t, q, *_contacts(source, len(t)))


def _contacts(source: Any, n: int) -> tuple[Array, Array, tuple[Ground, ...]]:
    """Contact forces, their points of application and grounds, empty if the source has none."""
    none, grounds = np.zeros((n, 0, 3)), tuple(getattr(source, "grounds", ()))
    known = getattr(source, "known", {})
    forces, points = (np.asarray(known.get(key, none)) for key in ("contact_forces", "contact_points"))
    fits = forces.shape == points.shape == (n, *forces.shape[1:]) and forces.shape[2:] == (3,)
    return (forces, points, grounds) if fits else (none, none, grounds)


def thinned(motion: PlayedMotion, rate: float) -> PlayedMotion:
    """Subsample a motion to at most `rate` samples per second, keeping the first and the last.

    A force is the mean up to the next kept sample.
    """
    ticks = np.floor((motion.t - motion.t[0]) * rate + 1e-9)
    keep = np.concatenate([[True], np.diff(ticks) > 0])
    keep[-1] = True
    rows = np.flatnonzero(keep)
    forces, points = motion.forces, motion.points
    if forces.size:
        count = np.diff([*rows, len(keep)])[:, None, None]
        points = points[np.minimum(rows + count[:, 0, 0] // 2, len(keep) - 1)]
        forces = np.add.reduceat(forces, rows, axis=0) / count
    else:
        forces, points = forces[:0], points[:0]
    return PlayedMotion(motion.t[keep], motion.q[keep], forces, points, motion.grounds)


def read_motion(robot: Robot, path: str | os.PathLike[str], max_bytes: float = MAX_BYTES) -> PlayedMotion:
    """Read a motion from a file: NPZ with arrays t and q, or CSV with a header line.

    `Trajectory.save` writes both. A CSV needs a column `t` or `time` (s) and for each coordinate a column of
    its name, optionally with the prefix `q.` or `q_`; or else nq columns `q0`, `q1` ... in order. Other
    columns are ignored. An NPZ that would expand to more than `max_bytes` is rejected.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if path.suffix.lower() == ".npz":
        arrays = read_archive(path, max_bytes)
        missing = [name for name in ("t", "q") if name not in arrays]
        if missing:
            raise InputError(f"{path}: has no array {missing[0]!r}; there are: {', '.join(arrays)}")
        read = _checked(robot, path, arrays["t"], arrays["q"])
        known = SimpleNamespace(known=arrays, grounds=grounds_of(arrays))
        return PlayedMotion(read.t, read.q, *_contacts(known, len(read.t)))
    if path.suffix.lower() != ".csv":
        raise InputError(f"{path}: a motion is read from .npz or .csv")
    try:
        header, table = read_table(path)
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a table: {error}") from error
    time, columns = _columns(robot, header, path)
    return _checked(robot, path, table[:, time], table[:, columns])


def _checked(robot: Robot, path: Path, t: Array, q: Array) -> PlayedMotion:
    """Check a motion from a file; errors name the file."""
    for name, values in (("t", t), ("q", q)):
        if values.dtype.kind not in "fiub":
            raise InputError(f"{path}: {name} holds {values.dtype}, which are no numbers")
    try:
        return as_motion(robot, PlayedMotion(t, q))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _columns(robot: Robot, header: list[str], path: Path) -> tuple[int, list[int]]:
    time = next((k for k, name in enumerate(header) if name.lower() in ("t", "time")), None)
    if time is None:
        raise InputError(f"{path}: its first line names no column 't' or 'time'")
    names = robot.model.coordinate_names
    for prefix in ("q.", "q_", ""):
        if names and all(prefix + name in header for name in names):
            return time, [header.index(prefix + name) for name in names]
    numbered = [k for k, name in enumerate(header) if re.fullmatch(r"q[_.\[(]?\d+[\])]?", name)]
    if len(numbered) != robot.nq:
        raise InputError(
            f"{path}: has neither columns {', '.join(f'q.{name}' for name in names)} nor {robot.nq} columns "
            f"q0, q1 ... (it has {len(numbered)} of these)"
        )
    return time, numbered
