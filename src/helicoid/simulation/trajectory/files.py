"""Trajectories in files: NumPy's .npz, and .csv that any program reads."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.ground import ground_arrays, grounds_of
from helicoid.simulation.trajectory.archive import read_archive, read_table, write_whole
from helicoid.simulation.trajectory.table import ENERGIES, PER_JOINT, columns

if TYPE_CHECKING:
    from helicoid.simulation.trajectory import Trajectory

_FORMAT = "helicoid trajectory 1"
_NEEDED = ("q", "v", "tau")
_CONTACTS = ("contact_forces", "contact_points", "contact_residual", "penetration")
_KNOWN = ("a", *ENERGIES, "constraint_forces", *_CONTACTS)
_OWN = ("controls", "states", "observed")  # of a vehicle and of an observer


def save(trajectory: Trajectory, path: Path) -> None:
    """Write by the ending of the name."""
    writers: dict[str, Callable[[Trajectory, IO[bytes]], None]] = {".npz": _write_npz, ".csv": _write_csv}
    _writer = writers.get(path.suffix.lower())
    if _writer is None:
        raise InputError(f"{path}: a trajectory is saved as .npz or .csv")
    if path.suffix.lower() == ".csv" and trajectory.batch is not None:
        raise InputError(f"{path}: a CSV file holds one motion: save trajectory[k], or all of them as .npz")
    write_whole(path, lambda file: _writer(trajectory, file))


def _write_npz(trajectory: Trajectory, file: IO[bytes]) -> None:
    arrays: dict[str, Any] = {"t": trajectory.t}
    arrays |= {name: getattr(trajectory, name) for name in _NEEDED}
    arrays |= {name: getattr(trajectory, name) for name in _KNOWN if trajectory.has(name)}
    arrays |= {name: trajectory.known[name] for name in _OWN if name in trajectory.known}
    arrays |= {"name": trajectory.name, "q_names": trajectory.q_names, "v_names": trajectory.v_names}
    if trajectory.contact_names:
        arrays["contact_names"] = trajectory.contact_names
    arrays |= ground_arrays(trajectory.grounds)
    np.savez_compressed(file, format=_FORMAT, **arrays)


def _write_csv(trajectory: Trajectory, file: IO[bytes]) -> None:
    table = {"t": trajectory.t, **columns(trajectory)}
    lines = [",".join(_quoted(text) for text in table)]
    lines += [",".join(map(repr, row)) for row in np.column_stack(list(table.values())).tolist()]
    file.write(("\n".join(lines) + "\n").encode())


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n') else text


def load(path: Path, robot: Robot | None, max_bytes: float) -> Trajectory:
    """Read by the ending of the name."""
    from helicoid.simulation.trajectory import Trajectory

    ending = path.suffix.lower()
    if ending not in (".npz", ".csv"):
        raise InputError(f"{path}: a trajectory is read from .npz or .csv")
    try:
        content = _read_npz(path, max_bytes) if ending == ".npz" else _read_csv(path)
        _check_shapes(content)
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{path}: cannot be read as a trajectory: it lacks {error}") from error
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a trajectory: {error}") from error
    q_names, v_names = tuple(content.pop("q_names")), tuple(content.pop("v_names"))
    name, contacts = str(content.pop("name")), tuple(content.pop("contact_names", ()))
    if robot is not None:
        own = robot.model.coordinate_names, robot.model.velocity_names
        if own != (q_names, v_names):
            raise InputError(f"{path}: has the joints {', '.join(v_names)}; the robot {', '.join(own[1])}")
    try:
        grounds = grounds_of(content)
    except InputError as error:
        raise InputError(f"{path}: cannot be read as a trajectory: {error}") from error
    t, q, v, tau = (content.pop(key) for key in ("t", "q", "v", "tau"))
    names = name, q_names, v_names
    return Trajectory(t, q, v, tau, robot, *names, known=content, contact_names=contacts, grounds=grounds)


def _check_shapes(content: dict[str, Any]) -> None:
    """Every array has a row for each time; a batch has its axis first."""
    q = content["q"]
    if q.ndim not in (2, 3) or content["t"].shape != q.shape[-2:-1]:
        raise ValueError(f"q of shape {q.shape} does not fit times of shape {content['t'].shape}")
    sizes = {"q": len(content["q_names"]), **dict.fromkeys(PER_JOINT[1:], len(content["v_names"]))}
    wanted = {name: (*q.shape[:-1], size) for name, size in sizes.items()}
    wanted |= dict.fromkeys((*ENERGIES, *_CONTACTS[2:]), q.shape[:-1])
    wanted |= dict.fromkeys(_CONTACTS[:2], (*q.shape[:-1], len(content.get("contact_names", ())), 3))
    for name, shape in wanted.items():
        if (name in content or name in _NEEDED) and content[name].shape != shape:
            raise ValueError(f"{name} has shape {content[name].shape}, where {shape} is right")


def _read_npz(path: Path, max_bytes: float) -> dict[str, Any]:
    content: dict[str, Any] = read_archive(path, max_bytes)
    if str(content.pop("format")) != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}")
    names = ("q_names", "v_names", "contact_names")
    for key in names:
        if key in content or key != "contact_names":
            content[key] = content[key].tolist()
    for key, values in content.items():
        if key not in ("name", *names) and values.dtype.kind not in "fiub":
            raise ValueError(f"{key} holds {values.dtype}, which are no numbers")
    return content


def _read_csv(path: Path) -> dict[str, Any]:
    header, table = read_table(path)
    if not len(table):
        raise ValueError("it has no numbers")

    def named(prefix: str) -> tuple[list[str], Array]:
        found = [k for k, text in enumerate(header) if text.startswith(prefix)]
        return [header[k].removeprefix(prefix) for k in found], np.ascontiguousarray(table[:, found])

    content: dict[str, Any] = {"name": path.stem, "t": table[:, header.index("t")].copy()}
    for name in PER_JOINT:
        names, values = named(f"{name}.")
        if names or name in _NEEDED:
            content[name] = values
        if name in ("q", "v"):
            content[f"{name}_names"] = names
    columns, forces = named("force.")
    if columns:
        content["contact_names"] = [one.removesuffix(".x") for one in columns[::3]]
        content["contact_forces"] = forces.reshape(len(forces), -1, 3)
    return content | {name: table[:, header.index(name)].copy() for name in ENERGIES if name in header}
