"""Writer of MJCF whose dynamics in MuJoCo are those of the robot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.elastic import is_world
from helicoid.model.mjcf.writing.bodies import Losses, add_inertial, add_joint, add_site, pose
from helicoid.model.mjcf.writing.coordinates import WrittenCoordinates
from helicoid.model.mjcf.writing.fluid import add_fluid_shapes, body_fluid, option
from helicoid.model.mjcf.writing.joints import Slot, slots
from helicoid.model.mjcf.writing.shapes import Hull, add_shapes
from helicoid.model.mjcf.writing.transmissions import (
    add_actuators,
    add_compensation,
    add_tendons,
    compensated_parts,
)
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Placement
from helicoid.model.urdf.xml_text import to_text, words

_COUPLING = {"solref": "0.004 1", "solimp": "0.99 0.999 0.0001"}
"""Softness of equalities: as stiff as MuJoCo's default step of 2 ms allows."""

_POLYNOMIAL = 5
"""Coefficients of a coupling in MJCF."""

COMPILER = {
    "angle": "radian",
    "autolimits": "false",
    "inertiafromgeom": "false",
    "balanceinertia": "false",
    "fusestatic": "false",
}


class Mjcf(NamedTuple):
    """A written robot, and what MJCF could not state of it."""

    text: str
    losses: Losses


def to_mjcf_text(
    model: Model, motors: Collection[str], hull: Hull, keyframes: Mapping[str, Array] | None = None
) -> Mjcf:
    """`model` as MJCF, every number to its last digit.

    One body for each moving body, in our order, with the inertia of all links fixed to it; these are sites.
    The fixed base is a body without joints. Loops and couplings are equalities, which MuJoCo keeps softly;
    springs between links are spatial tendons. The actuators are those of the model; without any, each
    velocity of a joint in `motors` has a motor whose force range is the effort limit. `keyframes` are
    configurations q by name.

    Raises:
        ModelError: MuJoCo has no such joint, or no such inertia.
    """
    root, losses = Element("mujoco", model=model.name), Losses()
    SubElement(root, "compiler", COMPILER)
    gravity = {"gravity": words(model.gravity, "gravity"), "integrator": "implicitfast"}
    SubElement(root, "option", {**gravity, **option(model, losses)})
    assets, world = SubElement(root, "asset"), SubElement(root, "worldbody")
    joints = slots(model)
    elements = _add_bodies(world, model, joints, losses)
    for link in model.links:
        body, placement = model.frame(link.name)
        add_shapes(elements[body], assets, link, placement, hull, losses)
        if link.name not in (elements[body].get("name"), model.root):
            add_site(elements[body], link.name, placement)
    add_compensation(elements, model, losses)
    _add_connections(root, world, elements, model, joints, losses)
    _add_couplings(root, model, losses)
    _add_exclusions(root, model, losses)
    if not model.actuators:
        _add_motors(root, model, joints, motors)
    _add_keyframes(root, model, keyframes or {})
    for part in [part for part in root if not len(part) and not part.attrib]:
        root.remove(part)
    return Mjcf(to_text(root, model.name), losses)


def _add_bodies(world: Element, model: Model, joints: list[Slot], losses: Losses) -> dict[int, Element]:
    """Elements of the moving bodies by index; -1 is the fixed base, or the world without one.

    Bodies beside the base are its siblings: only children of the world may have a free joint.
    """
    elements = {WORLD: world if model.floating else SubElement(world, "body", name=body_name(model.root))}
    for k, body in enumerate(model.bodies):
        what = f"joint {body.joint.name!r}"
        parent = world if body.parent == WORLD else elements[body.parent]
        elements[k] = SubElement(parent, "body", {"name": body_name(body.name), **pose(body.placement, what)})
        parts = compensated_parts(model, k)
        fluid = body_fluid(model, k, [part.inertia for part in parts])
        add_inertial(elements[k], body.name, fluid.inertia, losses, fluid.axes)
        for slot in joints:
            if slot.body == k:
                add_joint(elements[k], model, slot, losses)
        if model.fluid:
            add_fluid_shapes(elements[k], body.name, fluid, losses)
    return elements


def body_name(link: str) -> str:
    """Name of the body of a link; "world" is MuJoCo's own."""
    return "world_link" if link == "world" else link


def _add_connections(
    root: Element,
    world: Element,
    elements: dict[int, Element],
    model: Model,
    joints: list[Slot],
    losses: Losses,
) -> None:
    tendons, equalities = SubElement(root, "tendon"), SubElement(root, "equality")
    SubElement(root, "actuator")

    def site(name: str, link: str, placed: Placement) -> str:
        body, placement = (WORLD, Placement()) if is_world(model, link) else model.frame(link)
        on = world if is_world(model, link) else elements[body]
        add_site(on, name, placement @ placed)
        return name

    add_tendons(root, elements, model, site)
    add_actuators(root, model, joints, site, losses)
    for one in model.elastic:
        what = f"elastic element {one.name!r}"
        numbers = {"stiffness": one.stiffness, "damping": one.damping, "springlength": one.rest_length}
        tendon = SubElement(
            tendons,
            "spatial",
            {"name": one.name, **{key: words([value], what) for key, value in numbers.items()}},
        )
        for end, link, point in (("a", one.link_a, one.point_a), ("b", one.link_b, one.point_b)):
            SubElement(tendon, "site", site=site(f"{one.name}[{end}]", link, Placement(translation=point)))
    for loop in model.loops:
        # A hinge is two points of its axis, z.
        shifts = (0.0, 1.0) if loop.kind == "line" else (0.0,)
        for k, shift in enumerate(shifts):
            along = Placement(translation=np.array([0.0, 0.0, shift]))
            name = loop.name if k == 0 else f"{loop.name}[axis]"
            a = site(f"{name}[a]", loop.link_a, loop.placement_a @ along)
            b = site(f"{name}[b]", loop.link_b, loop.placement_b @ along)
            kind = "weld" if loop.kind == "pose" else "connect"
            SubElement(equalities, kind, {"name": name, "site1": a, "site2": b, **_COUPLING})
    for slot in joints:
        if slot.follows:
            coefficients = words([slot.shift, slot.ratio, 0, 0, 0], f"coupling of joint {slot.name!r}")
            ends = {"joint1": slot.name, "joint2": slot.follows, "polycoef": coefficients}
            SubElement(equalities, "joint", {**ends, **_COUPLING})


def _add_couplings(root: Element, model: Model, losses: Losses) -> None:
    """Couplings, about the zero of all joints, which is MuJoCo's reference in the written file."""
    equalities = root.find("equality")
    assert equalities is not None
    offsets = {one.name: one.offset for one in model.tendons}
    spatial = {one.name for one in model.tendons if one.branches}
    for one in model.couplings:
        y0, x0 = (at - offsets.get(end, 0.0) for at, end in zip(one.reference, (*one.ends, ""), strict=False))
        about_zero = np.polynomial.Polynomial(one.coefficients)(np.polynomial.Polynomial([-x0, 1.0])) + y0
        coefficients = np.zeros(max(_POLYNOMIAL, len(about_zero.coef)))
        coefficients[: len(about_zero.coef)] = about_zero.coef
        if len(coefficients) > _POLYNOMIAL:
            losses.motion.append(f"the coupling {one.name!r}, whose polynomial has a higher degree than 4")
            continue
        if spatial & set(one.ends):
            losses.motion.append(f"the coupling {one.name!r} of a spatial tendon")
            continue
        kind = one.between.rstrip("s")
        ends = {f"{kind}{k}": end for k, end in enumerate(one.ends, 1)} | {"name": one.name}
        ends["polycoef"] = words(coefficients, f"coupling {one.name!r}")
        SubElement(equalities, kind, {**ends, **_COUPLING})


def _add_exclusions(root: Element, model: Model, losses: Losses) -> None:
    """Pairs of bodies that do not collide: beside the fixed base, and where the semantics disable all shapes.

    MuJoCo itself excludes pairs that a joint connects, but not with bodies that stand still.
    """
    contact = SubElement(root, "contact")
    names = {WORLD: model.root, **{k: body.name for k, body in enumerate(model.bodies)}}
    pairs = [] if model.floating else [(WORLD, k) for k, body in enumerate(model.bodies) if body.parent < 0]
    shaped = {
        k: {one.name for one in model.links if one.collisions and model.frame(one.name).body == k}
        for k in names
    }
    for pair in model.semantics.disabled:
        a, b = sorted(model.frame(link).body for link in pair) if len(pair) == 2 else (WORLD, WORLD)
        if a == b or (a, b) in pairs:
            continue
        if all(frozenset((x, y)) in model.semantics.disabled for x in shaped[a] for y in shaped[b]):
            pairs.append((a, b))
        else:
            losses.motion.append(f"the disabled collision of {' and '.join(map(repr, sorted(pair)))}")
    for a, b in pairs:
        SubElement(contact, "exclude", body1=body_name(names[a]), body2=body_name(names[b]))


def _add_motors(root: Element, model: Model, joints: list[Slot], motors: Collection[str]) -> None:
    actuators = root.find("actuator")
    assert actuators is not None
    for slot in joints:
        joint = model.bodies[slot.body].joint
        if joint.name not in motors or slot.own is None or slot.follows or slot.kind == "free":
            continue
        for k, effort in enumerate(joint.range.effort[slot.own]):
            name = slot.name if slot.kind != "ball" else f"{slot.name}[{k}]"
            motor = {"name": name, "joint": slot.name}
            if slot.kind == "ball":
                motor["gear"] = words(np.eye(6)[k], name)
            if effort == 0:
                continue
            if effort < np.inf:
                motor |= {"forcelimited": "true", "forcerange": words([-effort, effort], name)}
            SubElement(actuators, "motor", motor)


def _add_keyframes(root: Element, model: Model, keyframes: Mapping[str, Array]) -> None:
    keys, coordinates = SubElement(root, "keyframe"), WrittenCoordinates(model)
    for name, q in keyframes.items():
        qpos = np.array(ca.evalf(coordinates.qpos(ca.SX(np.asarray(q))))).ravel()
        SubElement(keys, "key", name=name, qpos=words(qpos, f"keyframe {name!r}"))
