"""Pinocchio: its Python calls for one state; for batches its C++ loops over threads where it has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks.harness.calls import Call
from benchmarks.harness.coordinates import Base, Coordinates
from benchmarks.harness.subjects import State, Subject
from benchmarks.peers import Peer
from helicoid._typing import Array

_STATEMENTS = {
    "G": "result = computeGeneralizedGravity(model, data, q)",
    "C": "result = nonLinearEffects(weightless, data, q, v)",
    "ID": "result = rnea(model, data, q, v, a)",
    "M": "result = crba(model, data, q)",
    "FD (CRBA)": (
        "crba(model, data, q); decompose(model, data); "
        "result = solve(model, data, tau - nonLinearEffects(model, data, q, v))"
    ),
    "FD (ABA)": "result = aba(model, data, q, v, tau)",
    "∂ID": "result = computeRNEADerivatives(model, data, q, v, a)",
    "∂ID (AD)": "result = computeRNEADerivatives(model, data, q, v, a)",
    "Y": "result = computeJointTorqueRegressor(model, data, q, v, a)",
    "dID/dt": (
        "dq, dv, M = computeRNEADerivatives(model, data, q, v, a); result = dq @ v + dv @ a + M @ a_dot"
    ),
}
_FUNCTIONS = (
    "computeGeneralizedGravity",
    "nonLinearEffects",
    "rnea",
    "crba",
    "aba",
    "computeRNEADerivatives",
    "computeJointTorqueRegressor",
)
_PARAMETERS = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)  # its Iyy comes before Ixz
LOOP = 2000  # states that a loop in Python is timed with
_RUNGE_KUTTA = """
q, v = q0, v0
for k, x in enumerate(tau):
    a1 = aba(model, data, q, v, x).copy(); v2 = v + h / 2 * a1
    a2 = aba(model, data, q + h / 2 * v, v2, x).copy(); v3 = v + h / 2 * a2
    a3 = aba(model, data, q + h / 2 * v2, v3, x).copy(); v4 = v + h * a3
    a4 = aba(model, data, q + h * v3, v4, x)
    q, v = q + h / 6 * (v + 2 * (v2 + v3) + v4), v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
    rows[k] = q
"""
_BASE = Base(q=(0, 1, 2, 4, 5, 6, 3), linear_first=True, world_linear=False, world_angular=False)


class Library(Peer):
    """Pinocchio with one robot."""

    version = pin.__version__

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        root = [pin.JointModelFreeFlyer()] * subject.n_base
        self._model = pin.buildModelFromXML(subject.urdf, *root)
        self._data = self._model.createData()
        self._weightless = pin.Model(self._model)
        self._weightless.gravity.setZero()
        names = list(self._model.names)[1 + subject.n_base :]
        self._coordinates = Coordinates(subject, names, _BASE)
        bodies = [0] * subject.n_base + [subject.n_base + names.index(name) for name in subject.joints]
        self._columns = np.ravel([[10 * body + k for k in _PARAMETERS] for body in bodies])
        self._names = {name: getattr(pin, name) for name in _FUNCTIONS} | {
            "decompose": pin.cholesky.decompose,
            "solve": pin.cholesky.solve,
            "model": self._model,
            "weightless": self._weightless,
            "data": self._data,
        }

    def call(self, label: str, state: State) -> Call:
        theirs = self._coordinates.state(state)
        arguments = theirs._replace(q=self._q(theirs.q[None])[0])._asdict()

        def answer(after: Mapping[str, Any]) -> Array:
            result = after["result"]
            if label.startswith("∂"):
                n = 3 if label == "∂ID" else 2
                return self._coordinates.matrices(state, result[:n])
            if label == "M":
                return self._coordinates.matrices(state, [result])
            if label == "Y":
                return self._coordinates.T(state.q).T @ result[:, self._columns]
            if label.startswith("FD"):
                return self._coordinates.acceleration(state, result)
            return self._coordinates.force(state, result)

        return Call(_STATEMENTS[label], {**self._names, **arguments}, answer)

    def batch(self, label: str, states: State, n_threads: int) -> Call | None:
        functions = {"ID": ("rneaInParallel", "a"), "FD (ABA)": ("abaInParallel", "tau")}
        if label.startswith("∂") and n_threads == 1:
            return self._loop(label, states)
        if label not in functions or not getattr(pin, "WITH_OPENMP", False):
            return None
        name, last = functions[label]
        T = self._coordinates.T(states.q[0])  # constant, for body velocities
        q = states.q[:, 7 * self.subject.n_base :] @ T[6 * self.subject.n_base :, 6 * self.subject.n_base :].T
        if self.subject.n_base:
            q = np.concatenate([states.q[:, list(_BASE.q)], q], axis=1)
        arguments = {
            "q": np.asfortranarray(self._q(q).T),
            "v": np.asfortranarray((states.v @ T.T).T),
            "x": np.asfortranarray((getattr(states, last) @ T.T).T),
            "f": getattr(pin, name),
            "pool": pin.ModelPool(self._model, n_threads),
        }
        # T is a permutation: its inverse is its transpose, for forces and for accelerations.
        return Call(f"result = f({n_threads}, pool, q, v, x)", arguments, lambda after: after["result"].T @ T)

    def rollouts(self, start: State, dt: float, n_threads: int) -> dict[str, Call]:
        """Of one rollout, Runge-Kutta in Python around `aba`; it has no simulator."""
        T = self._coordinates.T(start.q[0])  # a permutation on fixed bases
        if len(start.q) > 1 or n_threads > 1 or self._model.nq != self._model.nv:
            return {}
        names = self._names | {"q0": T @ start.q[0], "v0": T @ start.v[0], "tau": start.tau[0] @ T.T, "h": dt}
        names["rows"] = np.empty_like(names["tau"])
        return {"": Call(_RUNGE_KUTTA, names, lambda after: after["rows"][None] @ T)}

    def _loop(self, label: str, states: State) -> Call:
        """Derivatives come one by one, in matrices that the next call overwrites; copying is not timed."""
        each = [State(*rows) for rows in zip(*(part[-LOOP:] for part in states), strict=True)]
        last, theirs = self.call(label, each[-1]), map(self._coordinates.state, each)
        rows = [(self._q(state.q[None])[0], state.v, state.a) for state in theirs]
        statement = "for q, v, a in rows: result = computeRNEADerivatives(model, data, q, v, a)"
        names = {**self._names, "rows": rows}
        return Call(statement, names, lambda after: last.answer(after)[None], states=len(rows))

    def _q(self, q: Array) -> Array:
        """Continuous joints as (cos, sin)."""
        columns = [q[:, : 7 * self.subject.n_base]]
        joints = list(self._model.joints)[1 + self.subject.n_base :]
        for k, joint in enumerate(joints, start=7 * self.subject.n_base):
            angle = q[:, k : k + 1]
            columns += [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        return np.concatenate(columns, axis=1)
