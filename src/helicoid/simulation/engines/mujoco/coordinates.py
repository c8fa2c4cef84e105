"""Coordinates of a robot from those of MuJoCo and back, on expressions, for code that is compiled.

Joints have the same coordinates in both, up to their order; those that mimic another have rows of their own
in MuJoCo only. A free joint has the velocity (ṗ, ω) in MuJoCo, with ṗ in the axes of its parent and ω in its
own: here it is the body twist (ω, Rᵀ ṗ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.geometry import quaternion
from helicoid.model.mjcf.origin import unedited_origin
from helicoid.model.mjcf.writing.joints import SIZES, slots
from helicoid.model.model import Model
from helicoid.robot import Robot


class Entry(NamedTuple):
    """A joint: its slices of q, v, qpos and qvel.

    qpos = multiplier · q + offset, where q is that of the source of a mimic, which is no `owner`.
    """

    q: slice
    v: slice
    qpos: slice
    dof: slice
    free: bool = False
    multiplier: float = 1.0
    offset: float = 0.0
    owner: bool = True


class Coordinates:
    """The map between q, v of a model and qpos, qvel of MuJoCo's, of `entries`."""

    def __init__(self, model: Model, entries: Sequence[Entry]) -> None:
        self._model, self._entries = model, tuple(entries)
        self.nq = max((one.qpos.stop for one in entries), default=0)
        self.nv = max((one.dof.stop for one in entries), default=0)

    @staticmethod
    def of(robot: Robot) -> Coordinates:
        """Coordinates of a robot in MuJoCo, computed once."""
        make = Coordinates.written if unedited_origin(robot.model) is None else Coordinates.read
        return robot.memo("coordinates in mujoco", lambda: make(robot.model))

    @staticmethod
    def written(model: Model) -> Coordinates:
        """Coordinates of the MJCF that `to_mjcf` writes."""
        entries, at_q, at_v = [], 0, 0
        for slot in slots(model):
            nq, nv = SIZES[slot.kind]
            there = slice(at_q, at_q + nq), slice(at_v, at_v + nv)
            is_free, is_owner = slot.kind == "free", not slot.follows
            entries.append(Entry(slot.q, slot.v, *there, is_free, slot.multiplier, slot.offset, is_owner))
            at_q, at_v = at_q + nq, at_v + nv
        return Coordinates(model, entries)

    @staticmethod
    def read(model: Model) -> Coordinates:
        """Coordinates of the compiled model that the robot was read from."""
        bodies, entries = {body.joint.name: body for body in model.bodies}, []
        assert model.origin is not None
        for address in model.origin.addresses:
            q, v = address.qpos, address.dof
            for name in address.joints:
                body = bodies[name]
                nq, nv = body.joint.type.nq, body.joint.type.nv
                there = slice(q, q + nq), slice(v, v + nv)
                is_owner = body.joint.mimic is None
                entries.append(Entry(body.q, body.v, *there, nv == 6, body.multiplier, body.offset, is_owner))
                q, v = q + nq, v + nv
        return Coordinates(model, entries)

    def qpos(self, q: Expression) -> Expression:
        """qpos of q."""
        found = ca.SX.zeros(self.nq)
        for one in self._entries:
            found[one.qpos] = one.multiplier * q[one.q] + one.offset
        return found

    def qvel(self, q: Expression, v: Expression) -> Expression:
        """qvel of q and v."""
        found = ca.SX.zeros(self.nv)
        for one in self._entries:
            own = v[one.v]
            found[one.dof] = (
                ca.vertcat(_rotation(one, q) @ own[3:], own[:3]) if one.free else one.multiplier * own
            )
        return found

    def state(self, qpos: Expression, qvel: Expression) -> tuple[Expression, Expression]:
        """q and v of qpos and qvel; coordinates of mimic joints are not read."""
        q, v = ca.SX.zeros(self._model.nq), ca.SX.zeros(self._model.nv)
        for one in self._entries:
            if one.owner:
                q[one.q], v[one.v] = qpos[one.qpos], qvel[one.dof]
        for one in self._entries:
            if one.free:
                there = qvel[one.dof]
                v[one.v] = ca.vertcat(there[3:], _rotation(one, q).T @ there[:3])
        return q, v

    def acceleration(self, q: Expression, v: Expression, qacc: Expression) -> Expression:
        """a of qacc; of a free joint (ω̇, Rᵀ p̈ - ω × u), where (ω, u) is the body twist."""
        a = ca.SX.zeros(self._model.nv)
        for one in self._entries:
            there, own = qacc[one.dof], v[one.v]
            if one.free:
                linear = _rotation(one, q).T @ there[:3] - ca.cross(own[:3], own[3:])
                a[one.v] = ca.vertcat(there[3:], linear)
            elif one.owner:
                a[one.v] = there
        return a

    def qfrc(self, q: Expression, tau: Expression) -> Expression:
        """Generalised force of MuJoCo equivalent to τ; zero on mimic joints."""
        force = ca.SX.zeros(self.nv)
        for one in self._entries:
            own = tau[one.v]
            if one.free:
                force[one.dof] = ca.vertcat(_rotation(one, q) @ own[3:], own[:3])
            elif one.owner:
                force[one.dof] = own
        return force

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values per velocity (nv) in MuJoCo's order; mimic joints have zeros."""
        found = np.zeros(self.nv)
        for one in self._entries:
            if one.owner:
                own = values[one.v]
                found[one.dof] = np.roll(own, 3) if one.free else own
        return found


def _rotation(one: Entry, q: Expression) -> Expression:
    return quaternion.to_matrix(q[one.q][3:])
