"""Equivalent joints of MuJoCo: hinges, slides, balls and free joints, in the order of the file.

A joint whose motion subspace is constant is one of them; a joint that is a chain of such (`elementary`) is
several on one body. A screw is a hinge and a slide that follows it, and a mimic joint follows its source: in
MuJoCo these have coordinates of their own, and an equality couples them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.joint_type import JointType
from helicoid.model.model import WORLD, Body, Model

Kind = Literal["hinge", "slide", "ball", "free"]

SIZES: dict[Kind, tuple[int, int]] = {"hinge": (1, 1), "slide": (1, 1), "ball": (4, 3), "free": (7, 6)}
"""Coordinates and velocities of each kind."""

_EXACT = 1e-12  # of a motion subspace, whose axes have unit length


class Slot(NamedTuple):
    """One joint of MuJoCo.

    Of a hinge or slide, qpos = multiplier · q[q.start] + offset and qvel = multiplier · v[v.start]; others
    copy their coordinates. A free joint below another moving body, where MuJoCo allows none, is three slides
    and a ball, with the same qpos and qvel.

    Args:
        body: index of the moving body.
        q, v: slices of our coordinates and velocities.
        own: slice of the numbers that our joint states for each velocity; None of a slide that belongs to a
            screw, whose numbers are those of its hinge.
        follows: name of the slot that determines this one; "" where it is independent.
        ratio, shift: of that equality, qpos = ratio · qpos of `follows` + shift.
    """

    name: str
    kind: Kind
    axis: Array
    body: int
    q: slice
    v: slice
    own: slice | None
    multiplier: float = 1.0
    offset: float = 0.0
    follows: str = ""
    ratio: float = 1.0
    shift: float = 0.0


def slots(model: Model) -> list[Slot]:
    """The joints of MuJoCo, in the order of its coordinates.

    Raises:
        ModelError: a joint moves as none of MuJoCo's does.
    """
    return [slot for k, body in enumerate(model.bodies) for slot in _of_body(model, k, body)]


def _of_body(model: Model, k: int, body: Body) -> list[Slot]:
    joint, parts = body.joint, body.joint.type.elementary()
    found: list[Slot] = []
    at_q = at_v = 0
    for part in parts:
        own = slice(at_v, at_v + part.nv)
        name = joint.name if len(parts) == 1 else f"{joint.name}[{at_v}]"
        q, v = (
            slice(whole.start + at, whole.start + at + n)
            for whole, at, n in ((body.q, at_q, part.nq), (body.v, at_v, part.nv))
        )
        kind, axis, pitch = _motion(part, name)
        slot = Slot(name, kind, axis, k, q, v, own, body.multiplier, body.offset)
        mimic = joint.mimic
        if mimic is not None:
            slot = slot._replace(follows=mimic.joint, ratio=mimic.multiplier, shift=mimic.offset)
        found.append(slot)
        if pitch:
            scaled = pitch * body.multiplier, pitch * body.offset
            found.append(Slot(f"{name}[travel]", "slide", axis, k, q, v, None, *scaled, name, pitch))
        at_q, at_v = at_q + part.nq, at_v + part.nv
    return found


def _motion(part: JointType, name: str) -> tuple[Kind, Array, float]:
    """Kind, axis and pitch (m/rad, of a screw) of a joint with constant motion subspace."""
    q = ca.SX.sym("q", part.nq)
    S_q = part.subspace(q)
    if ca.depends_on(S_q, q):
        raise _unknown(part, name)
    S = np.array(ca.evalf(S_q))
    if part.nq == part.nv == 1:
        ω, v = S[:3, 0], S[3:, 0]
        if not np.any(ω):
            return "slide", v, 0.0
        pitch = float(ω @ v)
        if abs(ω @ ω - 1) < _EXACT and np.allclose(v, pitch * ω, rtol=0, atol=_EXACT):
            return "hinge", ω, pitch
    if part.quaternion == slice(0, part.nq) and np.array_equal(S, np.eye(6)[:, :3]):
        return "ball", np.zeros(3), 0.0
    if part.quaternion == slice(3, part.nq) and np.array_equal(S, np.eye(6)):
        return "free", np.zeros(3), 0.0
    raise _unknown(part, name)


def _unknown(part: JointType, name: str) -> ModelError:
    return ModelError(f"joint {name!r} is {part.kind}, and moves as none of MuJoCo's joints does")


def is_top(model: Model, slot: Slot) -> bool:
    """Whether MuJoCo allows a free joint: on a body that stands in the world, with its frame as reference."""
    body = model.bodies[slot.body]
    placed = body.placement
    origin = np.array_equal(placed.rotation, np.eye(3)) and not placed.translation.any()
    return body.parent == WORLD and origin
