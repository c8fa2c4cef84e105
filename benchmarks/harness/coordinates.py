"""Coordinates of other libraries, converted to Helicoid's and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.harness.subjects import State, Subject
from helicoid._typing import Array
from helicoid.geometry import quaternion


@dataclass(frozen=True)
class Base:
    """The first coordinates of a robot that floats. Helicoid's own: position, (w, x, y, z); body (ω, v)."""

    q: tuple[int, ...]  # which of Helicoid's seven coordinates comes first, second, ...
    linear_first: bool
    world_linear: bool  # linear velocity in world axes, else in the body's
    world_angular: bool


class Coordinates:
    """v_p = T(q) v for the generalised velocity v_p of a library whose joints come in another order.

    Hence a_p = T a + Ṫ v, τ = Tᵀ τ_p and M = Tᵀ M_p T.
    """

    def __init__(self, subject: Subject, joints: Sequence[str], base: Base | None = None) -> None:
        ours = {name: k for k, name in enumerate(subject.joints)}
        if sorted(joints) != sorted(ours):
            raise ValueError(f"other joints than Helicoid's: {sorted(set(joints) ^ set(ours))}")
        self._order = np.array([ours[name] for name in joints], dtype=int)
        self._base = base if subject.base == "floating" else None
        self._n = 0 if self._base is None else 6

    @property
    def drifts(self) -> bool:
        """Whether Ṫ is not zero."""
        return self._base is not None and (self._base.world_linear or self._base.world_angular)

    def state(self, state: State) -> State:
        """One state in the library's coordinates."""
        T = self.T(state.q)
        q = state.q[self._order]
        if self._base is not None:
            q = np.concatenate([state.q[list(self._base.q)], state.q[7:][self._order]])
        a, tau = T @ state.a + self._drift(state), np.linalg.inv(T).T @ state.tau
        return State(q, T @ state.v, a, tau, T @ state.a_dot)

    def T(self, q: Array) -> Array:
        """From Helicoid's velocity to the library's."""
        n = self._n
        T = np.zeros((n + len(self._order),) * 2)
        T[n + np.arange(len(self._order)), n + self._order] = 1.0
        if self._base is not None:
            R = np.asarray(quaternion.to_matrix(q[3:7]))
            angular = R if self._base.world_angular else np.eye(3)
            linear = R if self._base.world_linear else np.eye(3)
            at = (3, 0) if self._base.linear_first else (0, 3)
            T[at[0] : at[0] + 3, :3], T[at[1] : at[1] + 3, 3:6] = angular, linear
        return T

    def _drift(self, state: State) -> Array:
        """Ṫ v: only the linear velocity in world axes has one, R (ω × v)."""
        drift = np.zeros_like(state.v)
        if self._base is not None and self._base.world_linear:
            R = np.asarray(quaternion.to_matrix(state.q[3:7]))
            at = 0 if self._base.linear_first else 3
            drift[at : at + 3] = R @ np.cross(state.v[:3], state.v[3:6])
        return drift

    def force(self, state: State, tau: Array) -> Array:
        """A generalised force in Helicoid's coordinates."""
        return self.T(state.q).T @ np.asarray(tau).ravel()

    def acceleration(self, state: State, a: Array) -> Array:
        """A generalised acceleration in Helicoid's coordinates."""
        return np.linalg.inv(self.T(state.q)) @ (np.asarray(a).ravel() - self._drift(state))

    def matrices(self, state: State, matrices: Sequence[Array]) -> Array:
        """Matrices that take a motion to a force, in Helicoid's coordinates, side by side."""
        T = self.T(state.q)
        return np.concatenate([T.T @ np.asarray(matrix) @ T for matrix in matrices], axis=-1)
