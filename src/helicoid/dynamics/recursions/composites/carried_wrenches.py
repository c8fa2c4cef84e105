"""Wrenches that are passed down a tree, with as few changes of frame as pay.

The composite rigid body algorithm passes the wrench of every joint to all of its ancestors. In a long chain
most of its operations are the transformations of these wrenches from each frame to the next. There, wrenches
are expressed in the frame of every 16th body only (its *station*); bodies in between share the station of
their parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.tree import JointMotion, to_parent
from helicoid.model.model import WORLD, Model

_MIN_DEPTH_FOR_STATIONS = 20  # bodies from the root to a tip, from which fewer stations pay
_STATION_DISTANCE = 16  # bodies


class CarriedWrenches:
    """Wrenches F of the joints that each body carries, and their columns in M."""

    def __init__(self, model: Model, motions: Sequence[JointMotion]) -> None:
        self._model, self._motions = model, motions
        self._stations = _stations(model, motions)
        self._wrenches: list[list[Expression]] = [[] for _ in model.bodies]
        self._columns: list[list[int]] = [[] for _ in model.bodies]

    def along_joint(self, i: int) -> tuple[list[int], Expression]:
        """Columns of M, and Sᵢᵀ F for them: the torques at joint i of all wrenches that body i carries."""
        return self._columns[i], self._stations[i].subspace(self._motions[i].S).T @ self._carried(i)

    def pass_to_parent(self, i: int, own: Expression) -> None:
        """Add the wrenches of joint i, in its body's frame, and those that it carries, to the parent."""
        body = self._model.bodies[i]
        self._wrenches[body.parent].append(self._stations[i].to_parent(own, self._carried(i)))
        self._columns[body.parent] += [*range(self._model.nv)[body.v], *self._columns[i]]

    def _carried(self, i: int) -> Expression:
        return ca.horzcat(ca.SX(6, 0), *self._wrenches[i])


class _Station(NamedTuple):
    """The frame in which wrenches at a body are expressed: its own, or that of a body towards the root."""

    body: JointMotion | None  # the body seen from its station; None if it is a station itself
    itself: JointMotion | None  # a station seen from the station of the parent

    def subspace(self, S: Expression) -> Expression:
        """A joint's S in the coordinates of the station."""
        if self.body is None:
            return S
        # A twist transforms like a wrench with its halves swapped.
        moved = to_parent(self.body, ca.vertcat(S[3:, :], S[:3, :]))
        return ca.vertcat(moved[3:, :], moved[:3, :])

    def to_parent(self, own: Expression, carried: Expression) -> Expression:
        """Wrenches in the body's frame, and others in the station's, for the station of the parent."""
        wrenches = ca.horzcat(own if self.body is None else to_parent(self.body, own), carried)
        return wrenches if self.itself is None else to_parent(self.itself, wrenches)


def _stations(model: Model, motions: Sequence[JointMotion]) -> list[_Station]:
    depths: list[int] = []
    for body in model.bodies:
        depths.append(0 if body.parent == WORLD else depths[body.parent] + 1)
    distance = _STATION_DISTANCE if max(depths, default=0) >= _MIN_DEPTH_FOR_STATIONS else 1
    stations: list[_Station] = []
    for body, motion, depth in zip(model.bodies, motions, depths, strict=True):
        parent = None if body.parent == WORLD else stations[body.parent].body
        if parent is not None:
            motion = JointMotion(parent.R @ motion.R, parent.p + parent.R @ motion.p, motion.S)
        stations.append(_Station(motion, None) if depth % distance else _Station(None, motion))
    return stations
