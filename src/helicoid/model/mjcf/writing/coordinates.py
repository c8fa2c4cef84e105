"""Coordinates of the written model: qpos, qvel and forces from ours, and back.

MuJoCo's velocity is qvel = T(q) v: the same for joints, and for a floating one the linear velocity in the
axes of its parent before the angular velocity in its own. Hence qacc = T a + Ṫ v and τ = Tᵀ qfrc. Joints that
follow others have rows of their own in T.
"""

from __future__ import annotations

import casadi as ca

from helicoid._typing import Expression
from helicoid.geometry import quaternion
from helicoid.model.mjcf.writing.joints import SIZES, Slot, slots
from helicoid.model.model import Model


class WrittenCoordinates:
    """The map between coordinates of a model and those of the MJCF that is written of it, on expressions."""

    def __init__(self, model: Model) -> None:
        self.slots = slots(model)
        self._model = model
        self.nq, self.nv = (sum(SIZES[slot.kind][k] for slot in self.slots) for k in (0, 1))

    def qpos(self, q: Expression) -> Expression:
        """qpos of q."""
        return _stacked([slot.multiplier * q[slot.q] + slot.offset for slot in self.slots])

    def qvel(self, q: Expression, v: Expression) -> Expression:
        """qvel = T(q) v."""
        rows = []
        for slot in self.slots:
            if slot.kind == "free":
                rows += [_rotation(slot, q) @ v[slot.v][3:], v[slot.v][:3]]
            else:
                rows.append(slot.multiplier * v[slot.v])
        return _stacked(rows)

    def qacc(self, q: Expression, v: Expression, a: Expression) -> Expression:
        """qacc = T a + Ṫ v."""
        rows = []
        for slot in self.slots:
            if slot.kind == "free":
                ω, u = v[slot.v][:3], v[slot.v][3:]
                rows += [_rotation(slot, q) @ (a[slot.v][3:] + ca.cross(ω, u)), a[slot.v][:3]]
            else:
                rows.append(slot.multiplier * a[slot.v])
        return _stacked(rows)

    def state(self, qpos: Expression, qvel: Expression) -> tuple[Expression, Expression]:
        """q and v; coordinates of mimic joints are not read."""
        q, v = ca.SX.zeros(self._model.nq), ca.SX.zeros(self._model.nv)
        for slot, at_q, at_v in self._independent():
            q[slot.q], v[slot.v] = qpos[at_q], qvel[at_v]
            if slot.kind == "free":
                v[slot.v] = ca.vertcat(qvel[at_v][3:], _rotation(slot, q).T @ qvel[at_v][:3])
        return q, v

    def qfrc(self, q: Expression, tau: Expression) -> Expression:
        """Generalised force of MuJoCo equivalent to tau; zero on mimic joints."""
        force = ca.SX.zeros(self.nv)
        for slot, _, at in self._independent():
            own = tau[slot.v]
            force[at] = ca.vertcat(_rotation(slot, q) @ own[3:], own[:3]) if slot.kind == "free" else own
        return force

    def tau(self, q: Expression, qfrc: Expression) -> Expression:
        """τ = Tᵀ qfrc."""
        v = ca.SX.sym("v", self._model.nv)
        return ca.jacobian(self.qvel(q, v), v).T @ qfrc

    def _independent(self) -> list[tuple[Slot, slice, slice]]:
        """Slots that own coordinates, with their slices of qpos and qvel."""
        found, at_q, at_v = [], 0, 0
        for slot in self.slots:
            nq, nv = SIZES[slot.kind]
            if not slot.follows:
                found.append((slot, slice(at_q, at_q + nq), slice(at_v, at_v + nv)))
            at_q, at_v = at_q + nq, at_v + nv
        return found


def _rotation(slot: Slot, q: Expression) -> Expression:
    return quaternion.to_matrix(q[slot.q][3:])


def _stacked(rows: list[Expression]) -> Expression:
    return ca.vertcat(*rows) if rows else ca.SX.zeros(0)
