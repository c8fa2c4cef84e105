"""Tendons, actuators and gravity compensation of a written MJCF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.actuators import Actuator, Interval
from helicoid.model.connections.tendons import Tendon, Via, Wrap
from helicoid.model.inertia import Inertia
from helicoid.model.mjcf.writing.bodies import Losses, add_inertial, pose
from helicoid.model.mjcf.writing.fluid import add_no_fluid
from helicoid.model.mjcf.writing.joints import Slot, is_top
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Placement
from helicoid.model.urdf.xml_text import words

AddSite: TypeAlias = Callable[[str, str, Placement], str]
"""Adds a site of a name to a link at a placement, and returns the name."""

_SAME_POINT = 1e-9  # m
_PART = 1e-6  # of the mass of a body that a part with gravity compensation has
_RADIUS_OF_GYRATION = 1e-2  # m, of that part


class Part(NamedTuple):
    """A part of a body: the link that it stands for, its `gravcomp`, and its inertia."""

    name: str
    ratio: float
    inertia: Inertia


def compensated_parts(model: Model, k: int) -> list[Part]:
    """The compensated links of a body, as small parts of it; none where the body itself can state it."""
    own, found = model.bodies[k].inertia, _compensations(model, k)
    mass = sum(carried for _, carried, _ in found)
    moment = sum((carried * point for _, carried, point in found), np.zeros(3))
    if own.mass <= 0 or np.abs(moment - mass * own.com).max() <= _SAME_POINT * abs(mass):
        return []
    part = _PART * own.mass
    moments = part * np.eye(3) * _RADIUS_OF_GYRATION**2
    return [
        Part(name, carried / part, Inertia.from_com(part, point, moments)) for name, carried, point in found
    ]


def add_compensation(elements: Mapping[int, Element], model: Model, losses: Losses) -> None:
    """`gravcomp` of each body whose compensated weight acts at its centre of mass, or of parts of it."""
    for k, body in enumerate(model.bodies):
        mass, parts = sum(carried for _, carried, _ in _compensations(model, k)), compensated_parts(model, k)
        what = f"compensation of {body.name!r}"
        for name, ratio, inertia in parts:
            about = {"name": f"{name}[compensation]", "gravcomp": words([ratio], what)}
            child = SubElement(elements[k], "body", about)
            add_inertial(child, name, inertia, losses)
            if model.fluid:
                add_no_fluid(child, f"{name}[compensation]")
        if mass and not parts and body.inertia.mass > 0:
            elements[k].set("gravcomp", words([mass / body.inertia.mass], what))
        elif mass and not parts:
            losses.motion.append(f"the gravity compensation of {body.name!r}, which has no mass")


def _compensations(model: Model, k: int) -> list[tuple[str, float, Array]]:
    """Of each compensated link of a body its name, the mass, and its point in the frame of the body."""
    found = []
    for link in model.links:
        frame, carried = model.frame(link.name), link.gravity_compensation
        if frame.body == k and carried is not None and carried.mass != 0:
            point = frame.placement.translation + frame.placement.rotation @ carried.point
            found.append((link.name, carried.mass, point))
    return found


def add_tendons(root: Element, elements: Mapping[int, Element], model: Model, site: AddSite) -> None:
    """Fixed tendons, and spatial ones with sites at their points and geoms that they wrap around."""
    tendons = root.find("tendon")
    assert tendons is not None
    for one in model.tendons:
        element = SubElement(tendons, "spatial" if one.branches else "fixed", _numbers(one))
        for name, c in one.terms.items() if not one.branches else ():
            SubElement(element, "joint", joint=name, coef=words([c], f"tendon {one.name!r}"))
        for b, branch in enumerate(one.branches):
            if b or branch.divisor != 1:
                SubElement(element, "pulley", divisor=words([branch.divisor], f"tendon {one.name!r}"))
            for k, part in enumerate(branch.path):
                name = f"{one.name}[{b}.{k}]"
                if isinstance(part, Via):
                    SubElement(element, "site", site=site(name, part.link, Placement(translation=part.point)))
                else:
                    wrapped = SubElement(element, "geom", geom=_wrapped(elements, model, name, part))
                    if part.side is not None:
                        at = part.placement @ Placement(translation=part.side)
                        wrapped.set("sidesite", site(f"{name}[side]", part.link, at))


def _numbers(tendon: Tendon) -> dict[str, str]:
    what = f"tendon {tendon.name!r}"
    found = {"name": tendon.name}
    rest = np.array(tendon.rest) - tendon.offset
    for key in ("stiffness", "damping", "armature"):
        if getattr(tendon, key):
            found[key] = words([getattr(tendon, key)], what)
    if tendon.stiffness:
        found["springlength"] = words(rest, what)
    if tendon.friction:
        found["frictionloss"] = words([tendon.friction], what)
    if np.all(np.isfinite(tendon.range)):
        found |= {"limited": "true", "range": words(np.array(tendon.range) - tendon.offset, what)}
    return found


def _wrapped(elements: Mapping[int, Element], model: Model, name: str, wrap: Wrap) -> str:
    """A geom without mass that touches nothing."""
    body, placement = model.frame(wrap.link)
    on = elements[body if body in elements else WORLD]
    size = words([wrap.radius, *([1.0] if wrap.shape == "cylinder" else [])], name)
    where = pose(placement @ wrap.placement, name)
    off = {"contype": "0", "conaffinity": "0", "mass": "0", "group": "4"}
    SubElement(on, "geom", {"name": name, "type": wrap.shape, "size": size, **where, **off})
    return name


def add_actuators(root: Element, model: Model, joints: list[Slot], site: AddSite, losses: Losses) -> None:
    """Actuators with their controls, as `<general>`."""
    actuators = root.find("actuator")
    assert actuators is not None
    whole = {slot.name for slot in joints if slot.kind != "free" or is_top(model, slot)}
    for one in model.actuators:
        what = f"the actuator {one.name!r}"
        if one.unsupported or not one.joints <= whole:
            losses.motion.append(f"{what}, {one.unsupported or 'on a joint that becomes several'}")
            continue
        SubElement(actuators, "general", {"name": one.name, **_target(one, site), **_law(one, what)})


def _target(actuator: Actuator, site: AddSite) -> dict[str, str]:
    gear = {"gear": words(actuator.gear, f"actuator {actuator.name!r}")}
    if actuator.transmission != "frame":
        key = {"joint": "joint", "joint_in_parent": "jointinparent", "tendon": "tendon"}
        return {key[actuator.transmission]: actuator.target, **gear}
    found = {"site": site(f"{actuator.name}[site]", actuator.target, Placement()), **gear}
    if actuator.reference:
        found["refsite"] = site(f"{actuator.name}[reference]", actuator.reference, Placement())
    return found


def _law(actuator: Actuator, what: str) -> dict[str, str]:
    found = {"gaintype": "affine", "gainprm": words(actuator.gain, what)}
    if actuator.bias.any():
        found |= {"biastype": "affine", "biasprm": words(actuator.bias, what)}
    ranges: dict[str, Interval] = {
        "ctrl": actuator.control_range,
        "force": actuator.force_range,
        "act": actuator.activation_range,
    }
    for key, interval in ranges.items():
        if np.all(np.isfinite(interval)):
            found |= {f"{key}limited": "true", f"{key}range": words(interval, what)}
    if actuator.activation != "none":
        found["dyntype"] = "integrator" if actuator.activation == "integrator" else "filterexact"
        found["dynprm"] = words([actuator.time_constant], what)
    return found
