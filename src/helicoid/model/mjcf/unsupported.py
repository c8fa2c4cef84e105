"""Elements of MJCF that act on the motion and are not supported: refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from helicoid.errors import InputError, RobotDescriptionError
from helicoid.model.mjcf.compiling.compiled import Compiled
from helicoid.model.mjcf.forces.actuators import unsupported_additions, unsupported_compensation

Found = Iterator[str]


def _polynomials(m: Any) -> Found:
    kinds = ("jnt_stiffnesspoly", "stiffness", m.jnt_bodyid), ("dof_dampingpoly", "damping", None)
    for field, what, _ in kinds:
        for i in _nonzero_rows(m, field):
            joint = i if field.startswith("jnt") else m.dof_jntid[i]
            yield f"<joint name={m.joint(joint).name!r}>: its {what} is a polynomial"
    for field, what in ("tendon_stiffnesspoly", "stiffness"), ("tendon_dampingpoly", "damping"):
        for i in _nonzero_rows(m, field):
            yield f"<tendon name={m.tendon(i).name!r}>: its {what} is a polynomial"


def _plasticity(m: Any) -> Found:
    for i in np.flatnonzero(getattr(m, "jnt_plasticadr", np.zeros(0)) >= 0):
        yield f"<joint name={m.joint(i).name!r}>: its spring yields"
    for i in np.flatnonzero(getattr(m, "tendon_plasticadr", np.zeros(0)) >= 0):
        yield f"<tendon name={m.tendon(i).name!r}>: its spring yields"


def _actuators(m: Any) -> Found:
    """Armature and damping of actuators, compensation by them; their forces are inputs of a robot."""
    yield from unsupported_additions(m)
    yield from unsupported_compensation(m)
    for i in _nonzero_rows(m, "actuator_dampingpoly"):
        yield f"<actuator name={m.actuator(i).name!r}>: its damping is a polynomial"


def _flex(m: Any) -> Found:
    import mujoco

    for i in range(m.nflex):
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_FLEX, i) or ""
        yield f"<flex name={name!r}>: a deformable body"


def _plugins(m: Any) -> Found:
    for i in np.flatnonzero(m.body_plugin >= 0):
        yield f"<body name={m.body(i).name!r}>: its plugin"


KINDS: dict[str, Callable[[Any], Found]] = {
    "fluid": lambda m: iter(()),  # `ignore` leaves out the elements
    "polynomial": _polynomials,
    "plasticity": _plasticity,
    "tendon": lambda m: iter(()),  # found where tendons are read
    "actuator": _actuators,
    "flex": _flex,
    "plugin": _plugins,
    "equality": lambda m: iter(()),  # found where equalities are read
}
"""Kinds of elements that `ignore` may name, each with a search of the elements in a compiled model."""


class Refusals:
    """Check for unsupported elements: an error, or a warning for the kinds in `ignore`."""

    def __init__(self, source: Compiled, ignore: Iterable[str]) -> None:
        names = [ignore] if isinstance(ignore, str) else list(ignore)
        for name in names:
            if name not in KINDS:
                raise InputError(f"ignore names kinds of elements: {', '.join(KINDS)}; got {name!r}")
        self.names = frozenset(names)
        self.ignored: list[str] = []
        self._source = source

    def check(self) -> None:
        """Search for every kind."""
        for kind, search in KINDS.items():
            self.refuse(kind, list(search(self._source.model)))

    def refuse(self, kind: str, found: list[str]) -> None:
        """Raise for these elements of a kind, unless the kind is ignored."""
        if not found:
            return
        several = f" and {len(found) - 3} more" if len(found) > 3 else ""
        text = "; ".join(found[:3]) + several
        if kind not in self.names:
            raise RobotDescriptionError(
                f"{self._source.name}: not supported: {text}. It acts on the motion; "
                f'ignore=["{kind}"] loads the robot without it'
            )
        self.ignored.append(f"ignored, as asked: {text}")


def _nonzero_rows(m: Any, field: str) -> list[int]:
    """Rows of an array that are not zero; none where this version of MuJoCo has no such array."""
    values = np.asarray(getattr(m, field, np.zeros(0)))
    return [int(i) for i in range(len(values)) if np.any(values[i])]
