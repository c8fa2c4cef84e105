"""Semantics of a robot: groups of joints, named postures, pairs of links whose collisions are disabled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

BASE = ""
"""Stands for the joint of a floating base in postures, which has no name in a description."""

LinkPair = frozenset[str]
Posture = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class Semantics:
    """Contents of an SRDF, by names.

    Args:
        groups: joints of each group.
        postures: for each named posture, coordinates by joint; `BASE` is the floating base.
        disabled: pairs of links that are not checked for collision.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    postures: Mapping[str, Posture] = field(default_factory=dict)
    disabled: frozenset[LinkPair] = frozenset()

    def within(self, links: Collection[str], joints: Collection[str]) -> Semantics:
        """The part of it that is about these links and joints."""
        if not (self.groups or self.postures or self.disabled):
            return self
        known = {BASE, *joints}
        return Semantics(
            {name: tuple(one for one in own if one in known) for name, own in self.groups.items()},
            {name: {k: x for k, x in own.items() if k in known} for name, own in self.postures.items()},
            frozenset(pair for pair in self.disabled if pair <= set(links)),
        )

    def renamed(self, links: Mapping[str, str], joints: Mapping[str, str], prefix: str) -> Semantics:
        """The same under other names; groups and postures get the prefix."""
        of = {BASE: BASE, **joints}
        return Semantics(
            {prefix + name: tuple(of[one] for one in own) for name, own in self.groups.items()},
            {prefix + name: {of[k]: x for k, x in own.items()} for name, own in self.postures.items()},
            frozenset(frozenset(links[one] for one in pair) for pair in self.disabled),
        )

    def merged(self, part: Semantics) -> Semantics:
        """Both; of the part that is attached, without the coordinates of its own base."""
        own = {name: {k: x for k, x in one.items() if k != BASE} for name, one in part.postures.items()}
        return Semantics(
            {**self.groups, **part.groups}, {**self.postures, **own}, self.disabled | part.disabled
        )
