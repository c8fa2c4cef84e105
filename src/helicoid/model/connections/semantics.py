"""Semantics of a robot: groups of joints, named states, pairs of links whose collisions are disabled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from helicoid._typing import Array

BASE = ""
"""Stands for the joint of a floating base in postures, which has no name in a description."""

LinkPair = frozenset[str]
Posture = Mapping[str, tuple[float, ...]]


class Keyframe(NamedTuple):
    """A state of a robot: q (nq), v (nv), the controls of its actuators and the time (s)."""

    q: Array
    v: Array
    ctrl: Array
    time: float


class NamedState(NamedTuple):
    """A keyframe: coordinates and velocities by joint, controls by actuator, and the time (s)."""

    q: Posture
    v: Posture
    controls: Mapping[str, float]
    time: float


@dataclass(frozen=True, eq=False)
class Semantics:
    """Contents of an SRDF and keyframes of an MJCF, by names.

    Args:
        groups: joints of each group.
        postures: for each named posture, coordinates by joint; `BASE` is the floating base.
        disabled: pairs of links that are not checked for collision.
        keyframes: named states.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    postures: Mapping[str, Posture] = field(default_factory=dict)
    disabled: frozenset[LinkPair] = frozenset()
    keyframes: Mapping[str, NamedState] = field(default_factory=dict)

    def within(self, links: Collection[str], joints: Collection[str]) -> Semantics:
        """The part of it that is about these links and joints."""
        if not (self.groups or self.postures or self.disabled or self.keyframes):
            return self
        known = {BASE, *joints}

        def part(own: Posture) -> Posture:
            return {k: x for k, x in own.items() if k in known}

        return Semantics(
            {name: tuple(one for one in own if one in known) for name, own in self.groups.items()},
            {name: part(own) for name, own in self.postures.items()},
            frozenset(pair for pair in self.disabled if pair <= set(links)),
            {name: key._replace(q=part(key.q), v=part(key.v)) for name, key in self.keyframes.items()},
        )

    def renamed(self, links: Mapping[str, str], joints: Mapping[str, str], prefix: str) -> Semantics:
        """The same under other names; groups and postures get the prefix."""
        of = {BASE: BASE, **joints}

        def named(own: Posture) -> Posture:
            return {of[k]: x for k, x in own.items()}

        def state(key: NamedState) -> NamedState:
            controls = {prefix + name: u for name, u in key.controls.items()}
            return NamedState(named(key.q), named(key.v), controls, key.time)

        return Semantics(
            {prefix + name: tuple(of[one] for one in own) for name, own in self.groups.items()},
            {prefix + name: named(own) for name, own in self.postures.items()},
            frozenset(frozenset(links[one] for one in pair) for pair in self.disabled),
            {prefix + name: state(key) for name, key in self.keyframes.items()},
        )

    def merged(self, part: Semantics) -> Semantics:
        """Both; of the part that is attached, without the coordinates of its own base."""

        def without_base(own: Posture) -> Posture:
            return {k: x for k, x in own.items() if k != BASE}

        postures = {name: without_base(own) for name, own in part.postures.items()}
        keyframes = {
            name: key._replace(q=without_base(key.q), v=without_base(key.v))
            for name, key in part.keyframes.items()
        }
        return Semantics(
            {**self.groups, **part.groups},
            {**self.postures, **postures},
            self.disabled | part.disabled,
            {**self.keyframes, **keyframes},
        )
