"""Tendons, actuators and couplings of an edited model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from helicoid.errors import ModelError
from helicoid.model.connections.actuators import Actuator
from helicoid.model.connections.couplings import Coupling, uncut_couplings
from helicoid.model.connections.tendons import Tendon, Via, Wrap
from helicoid.model.model import Model

Names = Mapping[str, str]


def kept_transmissions(model: Model, links: set[str], joints: set[str], edit: str) -> dict[str, Any]:
    """The tendons, actuators and couplings of what is kept.

    Raises:
        ModelError: only a part of a tendon or coupling is kept.
    """
    tendons = []
    for one in model.tendons:
        here, all_of_it = (one.links & links) | (one.joints & joints), one.links | one.joints
        if here == all_of_it:
            tendons.append(one)
        elif here:
            raise ModelError(f"{edit} would cut the tendon {one.name!r}")
    couplings = uncut_couplings(model, joints, {one.name for one in tendons}, edit)
    moving = _driving(model, tendons, links, joints)
    return {"tendons": tuple(tendons), "actuators": moving, "couplings": couplings}


def locked_transmissions(model: Model, locked: Mapping[str, float]) -> dict[str, Any]:
    """Tendons with the lengths of locked joints, and the actuators that still move something."""
    tendons = []
    for one in model.tendons:
        held = sum(c * locked[name] for name, c in one.terms.items() if name in locked)
        terms = {name: c for name, c in one.terms.items() if name not in locked}
        if terms or one.branches:
            tendons.append(replace(one, terms=terms, offset=one.offset + held))
    joints = {joint.name for joint in model.joints} - set(locked)
    links = {link.name for link in model.links}
    return {"tendons": tuple(tendons), "actuators": _driving(model, tendons, links, joints)}


def _driving(model: Model, tendons: list[Tendon], links: set[str], joints: set[str]) -> tuple[Actuator, ...]:
    moving = {joint.name for joint in model.moving_joints} - {joint.name for joint in model.joints}
    known = {one.name for one in tendons}
    return tuple(
        one
        for one in model.actuators
        if one.joints <= joints | moving
        and one.links <= links
        and (one.transmission != "tendon" or one.target in known)
    )


def renamed_transmissions(model: Model, links: Names, joints: Names, prefix: str) -> dict[str, Any]:
    """The tendons, actuators and couplings under other names."""

    def step(one: Via | Wrap) -> Via | Wrap:
        return replace(one, link=links[one.link])

    def of(one: Coupling, end: str) -> str:
        return end and (joints[end] if one.between == "joints" else prefix + end)

    def target(one: Actuator) -> str:
        if one.transmission == "tendon" or one.unsupported:
            return prefix + one.target
        return links[one.target] if one.transmission == "frame" else joints.get(one.target, one.target)

    tendons = tuple(
        replace(
            one,
            name=prefix + one.name,
            terms={joints[name]: c for name, c in one.terms.items()},
            branches=tuple(replace(b, path=tuple(map(step, b.path))) for b in one.branches),
        )
        for one in model.tendons
    )
    actuators = tuple(
        replace(
            one,
            name=prefix + one.name,
            target=target(one),
            reference=one.reference and links[one.reference],
        )
        for one in model.actuators
    )
    couplings = tuple(
        replace(one, name=prefix + one.name, follower=of(one, one.follower), source=of(one, one.source))
        for one in model.couplings
    )
    return {"tendons": tendons, "actuators": actuators, "couplings": couplings}
