"""Plans in files: NumPy's .npz, without anything that could be executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from helicoid.errors import InputError
from helicoid.mpc.plan.plan import Plan, Violation
from helicoid.robot import Robot
from helicoid.simulation.trajectory.archive import read_archive, write_whole

_FORMAT = "helicoid plan 1"
_ARRAYS = ("t", "x", "u")
_OF_ROBOTS = ("q", "v", "a", "tau", "velocity_limit", "torque_limit")
_NUMBERS = {
    "success": bool, "iterations": int, "cost": float, "violation": float, "gap": float,
    "stationarity": float, "seconds": float, "message": str, "solver": str,
}  # fmt: skip
_FORCE = "force of "


def save(plan: Plan, path: Path) -> None:
    """See `Plan.save`."""
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path}: a plan is saved as .npz")
    content: dict[str, Any] = {name: getattr(plan, name) for name in (*_ARRAYS, *_NUMBERS)}
    content |= {name: value for name in _OF_ROBOTS if (value := getattr(plan, name)) is not None}
    content |= {_FORCE + name: value for name, value in plan.forces.items()}
    for part in Violation._fields:
        content[f"violations_{part}"] = np.array([getattr(one, part) for one in plan.violations])
    if plan.robot is not None:
        content |= {"robot": plan.robot.name, "joints": np.array(plan.robot.model.velocity_names)}
    write_whole(path, lambda file: np.savez_compressed(file, format=_FORMAT, **content))


def load(path: Path, robot: Robot | None, max_bytes: float) -> Plan:
    """See `Plan.load`."""
    content: dict[str, Any] = read_archive(path, max_bytes)
    if str(content.get("format")) != _FORMAT:
        raise InputError(f"{path}: is no plan; its format is not {_FORMAT!r}")
    if "status" in content:  # of version 0.1
        content.setdefault("message", content["status"])
    try:
        _check(content)
        violations = zip(*(content[f"violations_{part}"].tolist() for part in Violation._fields), strict=True)
        plan = Plan(
            **{name: content[name] for name in _ARRAYS},
            **{name: kind(content[name].item()) for name, kind in _NUMBERS.items()},
            **{name: content[name] for name in _OF_ROBOTS if name in content},
            violations=tuple(Violation(str(c), str(r), int(n), float(x)) for c, r, n, x in violations),
            forces={key.removeprefix(_FORCE): content[key] for key in content if key.startswith(_FORCE)},
            robot=robot,
        )
    except KeyError as error:
        raise InputError(f"{path}: cannot be read as a plan: it lacks {error}") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read as a plan: {error}") from error
    if robot is not None:
        joints = content.get("joints", np.array([])).tolist()
        if joints != list(robot.model.velocity_names):
            raise InputError(
                f"{path}: has the joints {', '.join(joints) or '(none)'}; the robot "
                f"{', '.join(robot.model.velocity_names)}"
            )
    return plan


def _check(content: dict[str, Any]) -> None:
    """Every array has a row for each node, or for each interval."""
    n = len(content["t"]) if content["t"].ndim == 1 else 0
    if n < 2:
        raise ValueError(f"t has shape {content['t'].shape}, which are no times of nodes")
    nv = content["v"].shape[-1] if "v" in content else 0
    rows = {"t": (n,), "x": (n, -1), "q": (n, -1), "v": (n, nv), "u": (n - 1, -1)}
    rows |= {"a": (n - 1, nv), "tau": (n - 1, nv), "velocity_limit": (nv,), "torque_limit": (nv,)}
    rows |= {key: (n - 1, 3) for key in content if key.startswith(_FORCE)}
    for name, wanted in rows.items():
        if name in content or name in _ARRAYS:
            values = content[name]
            fits = values.ndim == len(wanted) and all(
                size in (-1, found) for size, found in zip(wanted, values.shape, strict=True)
            )
            if not fits or values.dtype.kind != "f":
                raise ValueError(f"{name} is {values.dtype} of shape {values.shape}")
