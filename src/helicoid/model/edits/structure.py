"""Edits of the structure: sub-chains, locked joints, payloads, frames, another root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid.arrays import float_array
from helicoid.errors import DoubtfulModelWarning, ModelError, warn
from helicoid.model.connections.couplings import still_coupled
from helicoid.model.connections.elastic import THE_WORLD, ElasticElement, still_elastic
from helicoid.model.connections.fluid import elements_on
from helicoid.model.connections.loops import KinematicLoop, still_open
from helicoid.model.edits.transmissions import kept_transmissions, locked_transmissions
from helicoid.model.inertia import Inertia, frozen_array
from helicoid.model.joints import Fixed
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import PER_VELOCITY, Joint, Limits, Link, Placement, RateLimits


def chain(model: Model, root: str, tip: str) -> Model:
    """The links between `root` and `tip` with all that is rigidly fixed to them; other branches are removed.

    A branch that moves and has mass is cut with a warning: lock its joints first to keep its weight.
    """
    first = model.link(root).name
    tree = reroot(model, first) if first != model.root else model
    by_child = {joint.child: joint for joint in tree.joints}
    kept, link = {tree.root}, tree.link(tip).name
    while link != tree.root:
        kept.add(link)
        link = by_child[link].parent
    cut: set[str] = set()
    for joint in tree.joints:  # depth first: a parent is decided before its children
        if joint.child not in kept:
            attached = joint.parent in kept and joint.type.nv == 0
            (kept if attached else cut).add(joint.child)
    lost = sum(link.inertia.mass for link in tree.links if link.name in cut and link.inertia is not None)
    if lost > 0:
        warn(
            DoubtfulModelWarning(
                f"chain({root!r}, {tip!r}) of {model.name!r} cuts moving branches of {lost:.3g} kg in all; "
                "lock their joints first to keep their weight"
            )
        )
    joints = [joint for joint in tree.joints if joint.child in kept]
    refuse_lost_sources(joints, f"chain({root!r}, {tip!r})")
    loops = uncut_loops(tree, kept, f"chain({root!r}, {tip!r})")
    return replace(
        tree,
        links=tuple(link for link in tree.links if link.name in kept),
        joints=tuple(joints),
        loops=loops,
        elastic=uncut_elements(tree, kept, f"chain({root!r}, {tip!r})"),
        fluid=elements_on(tree.fluid, kept),
        **kept_transmissions(tree, kept, {one.name for one in joints}, f"chain({root!r}, {tip!r})"),
    )


def uncut_loops(model: Model, kept: set[str], edit: str) -> tuple[KinematicLoop, ...]:
    """The loops between links that are kept; one with only one link left cannot be."""
    for loop in model.loops:
        if (loop.link_a in kept) != (loop.link_b in kept):
            raise ModelError(
                f"{edit} would cut the loop {loop.name!r} between {loop.link_a!r} and {loop.link_b!r}"
            )
    return tuple(loop for loop in model.loops if loop.link_a in kept)


def uncut_elements(model: Model, kept: set[str], edit: str) -> tuple[ElasticElement, ...]:
    """The elastic elements between links that are kept; one with only one end left cannot be."""
    here = {*kept, THE_WORLD}
    for one in model.elastic:
        if (one.link_a in here) != (one.link_b in here):
            raise ModelError(
                f"{edit} would cut the elastic element {one.name!r} between {one.link_a!r} and {one.link_b!r}"
            )
    return tuple(one for one in model.elastic if one.link_a in here)


def refuse_lost_sources(joints: list[Joint], edit: str) -> None:
    names = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            raise ModelError(
                f"{edit} would keep joint {joint.name!r} but not {joint.mimic.joint!r}, which it mimics"
            )


def lock(model: Model, positions: Mapping[str, ArrayLike]) -> Model:
    """Joints fixed at the given coordinates; a joint that mimics a locked one is fixed with it."""
    if not isinstance(positions, Mapping):
        raise ModelError(
            f"lock takes joint names with their coordinates, such as {{'elbow': 0.5}}; got {positions!r}"
        )
    base = [joint.name for joint in model.moving_joints if joint.parent == ""]
    fixed: dict[str, Joint] = {}
    at: dict[str, float] = {}
    for name, value in positions.items():
        if name in base:
            raise ModelError(f"the base joint {name!r} cannot be locked: load the robot with base='fixed'")
        joint = model.joint(name)
        if joint.mimic is not None:
            raise ModelError(f"joint {name!r} mimics {joint.mimic.joint!r}: lock that one instead")
        fixed[name] = _frozen(joint, value)
        at[name] = float(np.ravel(np.asarray(value, dtype=np.float64))[0])
    for body in model.bodies:
        if body.joint.mimic is not None:
            source = body.joint
            while source.mimic is not None:
                source = model.joint(source.mimic.joint)
            if source.name in fixed:
                q = body.multiplier * at[source.name] + body.offset
                fixed[body.joint.name], at[body.joint.name] = _frozen(body.joint, q), q
    # Loops are put back once it is known which of them the locked joints have made rigid.
    joints = tuple(fixed.get(joint.name, joint) for joint in model.joints)
    locked = replace(model, joints=joints, loops=(), elastic=(), couplings=(), tendons=(), actuators=())
    loops, elastic = still_open(locked, model.loops), still_elastic(locked, model.elastic)
    couplings = still_coupled(model.couplings, at)
    moving = locked_transmissions(model, at)
    return replace(locked, loops=loops, elastic=elastic, couplings=couplings, **moving)


def _frozen(joint: Joint, value: ArrayLike) -> Joint:
    what, nq = f"coordinates of joint {joint.name!r}", joint.type.nq
    given = float_array(value, f"{what} must be numbers", ModelError)
    q = frozen_array(np.atleast_1d(given), (nq,), what)
    on = joint.type.nearest(q)
    if not np.all(np.isfinite(on)) or not np.allclose(on, q, rtol=0, atol=1e-3):
        raise ModelError(f"{what} cannot be {q}: they are finite, and a quaternion has length 1")
    R, p = (np.array(ca.evalf(ca.SX(part))) for part in joint.type.pose(ca.SX(on)))
    placement = joint.placement @ Placement(R, p.ravel())
    return Joint(joint.name, Fixed(), joint.parent, joint.child, placement)


def with_frame(model: Model, name: str, link: str, placed: Placement) -> Model:
    """A massless link `name` fixed to `link` at a placement seen from it."""
    model.link(link)
    if not isinstance(name, str) or not name:
        raise ModelError(f"a frame needs a name, got {name!r}")
    if name in {one.name for one in model.links}:
        raise ModelError(f"robot {model.name!r} has a link called {name!r} already; choose another name")
    joint, taken = f"{name}_joint", {one.name for one in model.moving_joints + model.joints}
    while joint in taken:
        joint += "_"
    fixed = Joint(joint, Fixed(), link, name, placed)
    return model.replaced((*model.links, Link(name)), (*model.joints, fixed))


def with_payload(model: Model, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Model:
    """A body fixed to `link`: its center of mass (m) and inertia about it (kg·m²) in that link's frame."""
    if model.frame(link).body == WORLD:
        raise ModelError(f"link {link!r} does not move: a payload on it would change nothing")
    load = Inertia.from_com(mass, com, inertia)
    doubts = load.doubts() or ([] if load.mass > 0 else [f"mass {mass} kg"])
    if doubts:
        raise ModelError(f"payload on {link!r} is impossible: {'; '.join(doubts)}")
    own = model.link(link)
    carried = load if own.inertia is None else own.inertia + load
    return model.replaced(replace(own, inertia=carried) if one is own else one for one in model.links)


def with_parameters(model: Model, pi: ArrayLike) -> Model:
    """Other inertial parameters: 10 for each moving body, about the frame of the link that its joint carries.

    That link takes all of them; links fixed to it keep their frames and become massless.
    """
    n = len(model.bodies)
    flat = np.ravel(float_array(pi, f"inertial parameters of {n} bodies: expected numbers", ModelError))
    rows = frozen_array(flat, (10 * n,), f"inertial parameters of {n} bodies").reshape(n, 10)
    if not np.all(np.isfinite(rows)):
        raise ModelError("inertial parameters must be finite")
    carriers = {body.name: Inertia.from_parameters(row) for body, row in zip(model.bodies, rows, strict=True)}

    def with_inertia(link: Link) -> Link:
        moves = model.frame(link.name).body != WORLD
        return replace(link, inertia=carriers.get(link.name)) if moves else link

    return model.replaced(with_inertia(link) for link in model.links)


def reroot(model: Model, link: str) -> Model:
    """The same robot with `link` as its root: the joints between it and the old root are reversed.

    A joint's frame is where its child is. The child of the reversed joint (the old parent) is not there, so
    a massless link `<joint>_reversed` is put where the joint's frame ends and the old parent fixed to it.
    """
    by_child = {joint.child: joint for joint in model.joints}
    turned, at = {}, model.link(link).name
    while at != model.root:
        turned[by_child[at].name] = by_child[at]
        at = by_child[at].parent
    links, joints = list(model.links), []
    names = {one.name for one in model.links} | {one.name for one in model.joints}
    for joint in model.joints:
        if joint.name not in turned:
            joints.append(joint)
            continue
        end = f"{joint.name}_reversed"
        while end in names:
            end += "_"
        links.append(Link(end))
        joints.append(_reversed(joint, end))
        joints.append(Joint(end, Fixed(), end, joint.parent, joint.placement.inverse))
    return model.replaced(links, joints)


def _reversed(joint: Joint, end: str) -> Joint:
    """The joint from its child to the new link `end`."""
    order = joint.type.reversed_order
    values: dict[str, Any] = {name: order(getattr(joint, name)) for name in PER_VELOCITY}
    stated = np.concatenate(list(values.values()))
    if joint.type.nv > 2 and (joint.limits is not None or np.any(stated)):
        warn(
            DoubtfulModelWarning(
                f"joint {joint.name!r} is {joint.type.kind}: seen from its other side, its coordinates are "
                "others; its limits, friction, springs and armature are kept as stated"
            )
        )
    return replace(
        joint,
        type=joint.type.reversed(),
        parent=joint.child,
        child=end,
        placement=Placement(),
        limits=None if joint.limits is None else Limits(*map(order, joint.limits)),
        rate_limits=None if joint.rate_limits is None else RateLimits(*map(order, joint.rate_limits)),
        rest=joint.type.reversed_coordinates(joint.rest),
        **values,
    )
