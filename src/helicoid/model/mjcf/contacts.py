"""Pairs of bodies that MuJoCo does not let touch: exclusions, and masks of their geoms."""

from __future__ import annotations

from typing import Any

from helicoid.model.connections.semantics import LinkPair
from helicoid.model.mjcf.names import Names
from helicoid.model.model import Model

_SHIFT = 16  # bits of a body in the signature of an exclusion


def disabled_pairs(model: Model, compiled: Any, names: Names) -> frozenset[LinkPair]:
    """The pairs of links with collision shapes none of which can touch; explicit pairs can.

    MuJoCo lets two geoms touch if (contype of one) & (conaffinity of the other) is not zero.
    """
    shaped = {link.name for link in model.links if link.collisions}
    bodies = [k for k, name in enumerate(names.bodies) if name in shaped]
    touching = {frozenset(map(int, pair)) for pair in _touching(compiled)}
    touching -= {frozenset(divmod(int(x), 1 << _SHIFT)) for x in compiled.exclude_signature}
    explicit = zip(compiled.pair_geom1, compiled.pair_geom2, strict=True)
    touching |= {frozenset((int(compiled.geom_bodyid[a]), int(compiled.geom_bodyid[b]))) for a, b in explicit}
    rigid = compiled.body_weldid
    return frozenset(
        frozenset((names.bodies[a], names.bodies[b]))
        for i, a in enumerate(bodies)
        for b in bodies[:i]
        if rigid[a] != rigid[b] and frozenset((a, b)) not in touching
    )


def _touching(compiled: Any) -> set[tuple[int, int]]:
    """Pairs of bodies with geoms whose masks let them touch; bodies with equal masks are looked at once."""
    masks: dict[tuple[int, int], set[int]] = {}
    for kind, affinity, body in zip(
        compiled.geom_contype, compiled.geom_conaffinity, compiled.geom_bodyid, strict=True
    ):
        masks.setdefault((int(kind), int(affinity)), set()).add(int(body))
    found: set[tuple[int, int]] = set()
    for (kind_a, affinity_a), bodies_a in masks.items():
        for (kind_b, affinity_b), bodies_b in masks.items():
            if kind_a & affinity_b or kind_b & affinity_a:
                found |= {(a, b) for a in bodies_a for b in bodies_b if a < b}
    return found
