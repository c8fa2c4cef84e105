"""Coordinates of MuJoCo and ours: q, v, a and τ, both ways.

They differ in the velocity of a free joint: MuJoCo's is (ṗ, ω) with ṗ in the axes of the world and ω in those
of the body, ours the body twist (ω, v) with v = Rᵀ ṗ. So a = (ω̇, Rᵀ p̈ - ω × v), and by virtual power a force
(f, n) there is the wrench (n, Rᵀ f) here. All other coordinates are the same numbers, in the order of
`robot.joint_names`. Joints that mimic another have coordinates of their own in MuJoCo only.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError, ModelError
from helicoid.model.model import Body, Model

IntArray = NDArray[np.int64]


class _Entry(NamedTuple):
    """A joint of ours, and where MuJoCo has its coordinates and velocities."""

    body: Body
    qpos: IntArray
    dofs: IntArray


class MujocoCoordinates:
    """Conversion of one state, or of batches (N, n), between MuJoCo's coordinates and those of a robot."""

    def __init__(self, model: Model) -> None:
        if model.origin is None:
            raise ModelError(f"robot {model.name!r} was not read from MJCF: MuJoCo has no coordinates of it")
        self._model, self._origin = model, model.origin
        here = {body.joint.name for body in model.bodies}
        known = {name for address in self._origin.addresses for name in address.joints}
        new, lost = sorted(here - known), sorted(known - here)
        if new or lost:
            raise ModelError(
                f"robot {model.name!r} was edited since it was read from MJCF "
                f"(joints {', '.join(new + lost)}): MuJoCo has other coordinates; convert before the edit"
            )

    @property
    def model(self) -> object:
        """The compiled `mujoco.MjModel`."""
        return self._origin.compiled

    def q(self, qpos: ArrayLike) -> Array:
        """Our q (nq) from MuJoCo's qpos; quaternions are normalised."""
        given = _vector(qpos, self._origin.nq, "qpos")
        q = np.zeros((*given.shape[:-1], self._model.nq))
        for one in self._owners:
            q[..., one.body.q] = given[..., one.qpos]
        for quaternion in self._model.quaternions:
            length = np.linalg.norm(q[..., quaternion], axis=-1, keepdims=True)
            q[..., quaternion] /= np.where(length > 0, length, 1.0)
        return q

    def qpos(self, q: ArrayLike) -> Array:
        """MuJoCo's qpos from our q."""
        given = _vector(q, self._model.nq, "q")
        qpos = np.zeros((*given.shape[:-1], self._origin.nq))
        for one in self._entries:
            qpos[..., one.qpos] = one.body.multiplier * given[..., one.body.q] + one.body.offset
        return qpos

    def v(self, qpos: ArrayLike, qvel: ArrayLike) -> Array:
        """Our v (nv) from MuJoCo's qpos and qvel."""
        return self._to_body(self.q(qpos), self._gathered(qvel, "qvel"))

    def qvel(self, q: ArrayLike, v: ArrayLike) -> Array:
        """MuJoCo's qvel from our q and v."""
        return self._scattered(self._to_world(q, _vector(v, self._model.nv, "v")))

    def a(self, qpos: ArrayLike, qvel: ArrayLike, qacc: ArrayLike) -> Array:
        """Our a (nv) from MuJoCo's qpos, qvel and qacc."""
        a = self._to_body(self.q(qpos), self._gathered(qacc, "qacc"))
        return a - self._transport(self.v(qpos, qvel))

    def qacc(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """MuJoCo's qacc from our q, v and a."""
        nv = self._model.nv
        return self._scattered(self._to_world(q, _vector(a, nv, "a") + self._transport(_vector(v, nv, "v"))))

    def tau(self, q: ArrayLike, qfrc: ArrayLike) -> Array:
        """Our generalised force τ (nv) from MuJoCo's, at our q; that of a mimic acts on its source."""
        given = _vector(qfrc, self._origin.nv, "qfrc")
        tau = np.zeros((*given.shape[:-1], self._model.nv))
        for one in self._entries:
            tau[..., one.body.v] += one.body.multiplier * given[..., one.dofs]
        return self._to_body(q, tau)

    def qfrc(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """MuJoCo's generalised force from our τ (nv) at q; a mimic gets none, its source all of it."""
        given = self._to_world(q, _vector(tau, self._model.nv, "tau"))
        qfrc = np.zeros((*given.shape[:-1], self._origin.nv))
        for one in self._owners:
            qfrc[..., one.dofs] = given[..., one.body.v]
        return qfrc

    def _gathered(self, given: ArrayLike, what: str) -> Array:
        there = _vector(given, self._origin.nv, what)
        here = np.zeros((*there.shape[:-1], self._model.nv))
        for one in self._owners:
            here[..., one.body.v] = there[..., one.dofs]
        return here

    def _scattered(self, here: Array) -> Array:
        there = np.zeros((*here.shape[:-1], self._origin.nv))
        for one in self._entries:
            there[..., one.dofs] = one.body.multiplier * here[..., one.body.v]
        return there

    def _to_body(self, q: ArrayLike, given: Array) -> Array:
        """The linear part of each free joint turned from the axes of the world to those of the body."""
        return self._rotated(q, given, -1.0)

    def _to_world(self, q: ArrayLike, given: Array) -> Array:
        return self._rotated(q, given, 1.0)

    def _rotated(self, q: ArrayLike, given: Array, way: float) -> Array:
        at, result = _vector(q, self._model.nq, "q"), np.array(given)
        for body in self._free:
            w, u = at[..., body.q][..., 3:4], way * at[..., body.q][..., 4:]
            linear = result[..., body.v][..., 3:]
            t = 2 * np.cross(u, linear)
            result[..., body.v.start + 3 : body.v.stop] = linear + w * t + np.cross(u, t)
        return result

    def _transport(self, v: Array) -> Array:
        """ω × v of each free joint, in the place of its linear acceleration."""
        result = np.zeros_like(v)
        for body in self._free:
            ω, linear = v[..., body.v][..., :3], v[..., body.v][..., 3:]
            result[..., body.v.start + 3 : body.v.stop] = np.cross(ω, linear)
        return result

    @cached_property
    def _entries(self) -> list[_Entry]:
        bodies = {body.joint.name: body for body in self._model.bodies}
        found = []
        for address in self._origin.addresses:
            q, v = address.qpos, address.dof
            for name in address.joints:
                body = bodies[name]
                nq, nv = body.joint.type.nq, body.joint.type.nv
                dofs = v + (np.array([3, 4, 5, 0, 1, 2]) if nv == 6 else np.arange(nv))
                found.append(_Entry(body, q + np.arange(nq), dofs))
                q, v = q + nq, v + nv
        return found

    @cached_property
    def _owners(self) -> list[_Entry]:
        return [one for one in self._entries if one.body.joint.mimic is None]

    @cached_property
    def _free(self) -> list[Body]:
        return [one.body for one in self._entries if one.body.joint.type.nv == 6]


def _vector(given: ArrayLike, size: int, what: str) -> Array:
    values = float_array(given, f"{what} must be numbers")
    if values.ndim == 0 or values.shape[-1] != size:
        raise InputError(f"{what} has {size} numbers, or is a batch (N, {size}); got shape {values.shape}")
    return values
