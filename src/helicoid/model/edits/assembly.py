"""Robots put together and taken apart: attach, detach, rename, another base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, count

from helicoid.errors import ModelError
from helicoid.model.connections.elastic import THE_WORLD, is_world
from helicoid.model.connections.fluid import elements_on
from helicoid.model.edits.structure import refuse_lost_sources, uncut_elements, uncut_loops
from helicoid.model.edits.transmissions import kept_transmissions, renamed_transmissions
from helicoid.model.joint_type import JointType
from helicoid.model.joints import ALIASES, TYPES, Fixed, Floating
from helicoid.model.model import Model, look_up
from helicoid.model.parts import Joint, Link, Placement

Names = Mapping[str, str]


def attach(
    model: Model, other: Model, to: str, placed: Placement, prefix: str = "", joint: JointType | None = None
) -> Model:
    """`other` on the link `to` of `model`, or on the world, by a joint to its root; by default a fixed one.

    `placed` is the joint's frame seen from `to`. Links, joints and connections of `other` get the
    prefix. Where its base floats, the joint takes the place of that.
    """
    if not isinstance(prefix, str):
        raise ModelError(f"attach: prefix is a text that names of {other.name!r} begin with, got {prefix!r}")
    if to == THE_WORLD and to not in model.frames:
        model, to = grounded(model)
    _refuse_clashes(model, other, prefix)
    part = renamed(_held_by_its_root(other), prefix=prefix)
    name, taken = f"{part.root}_joint", {one.name for one in (*model.moving_joints, *part.joints)}
    while name in taken:
        name += "_"
    between = Joint(name, Fixed() if joint is None else joint, model.link(to).name, part.root, placed)
    return replace(
        model,
        links=(*model.links, *part.links),
        joints=(*model.joints, between, *part.joints),
        loops=(*model.loops, *part.loops),
        elastic=(*model.elastic, *part.elastic),
        couplings=(*model.couplings, *part.couplings),
        tendons=(*model.tendons, *part.tendons),
        actuators=(*model.actuators, *part.actuators),
        fluid=(*model.fluid, *part.fluid),
        semantics=model.semantics.merged(part.semantics),
    )


def detach(model: Model, link: str) -> Model:
    """The robot without `link` and all that it carries."""
    first = model.link(link).name
    if first == model.root:
        raise ModelError(f"detach({link!r}): the root of {model.name!r} carries everything; nothing is left")
    gone = {first}
    for joint in model.joints:  # depth first: a parent is decided before its children
        if joint.parent in gone:
            gone.add(joint.child)
    kept, edit = {one.name for one in model.links} - gone, f"detach({link!r})"
    joints = [joint for joint in model.joints if joint.child in kept]
    refuse_lost_sources(joints, edit)
    return replace(
        model,
        links=tuple(one for one in model.links if one.name in kept),
        joints=tuple(joints),
        loops=uncut_loops(model, kept, edit),
        elastic=uncut_elements(model, kept, edit),
        fluid=elements_on(model.fluid, kept),
        **kept_transmissions(model, kept, {one.name for one in joints}, edit),
    )


def renamed(
    model: Model,
    links: Names | None = None,
    joints: Names | None = None,
    prefix: str = "",
    name: str | None = None,
) -> Model:
    """The same robot under other names: those stated, and `prefix` before all others."""
    of_link = _naming((one.name for one in model.links), links, prefix, f"link of {model.name!r}")
    of_joint = _naming((one.name for one in model.joints), joints, prefix, f"joint of {model.name!r}")

    def renamed_joint(joint: Joint) -> Joint:
        mimic = joint.mimic and replace(joint.mimic, joint=of_joint[joint.mimic.joint])
        parent, child = of_link[joint.parent], of_link[joint.child]
        return replace(joint, name=of_joint[joint.name], mimic=mimic, parent=parent, child=child)

    def end(link: str) -> str:
        return link if is_world(model, link) else of_link[link]

    return replace(
        model,
        name=model.name if name is None else name,
        links=tuple(replace(one, name=of_link[one.name]) for one in model.links),
        joints=tuple(map(renamed_joint, model.joints)),
        loops=tuple(
            replace(one, name=prefix + one.name, link_a=of_link[one.link_a], link_b=of_link[one.link_b])
            for one in model.loops
        ),
        elastic=tuple(
            replace(one, name=prefix + one.name, link_a=end(one.link_a), link_b=end(one.link_b))
            for one in model.elastic
        ),
        fluid=tuple(replace(x, name=prefix + x.name, link=of_link[x.link]) for x in model.fluid),
        **renamed_transmissions(model, of_link, of_joint, prefix),
        semantics=model.semantics.renamed(of_link, of_joint, prefix),
    )


def with_base(model: Model, base: str | JointType) -> Model:
    """The robot on another base: fixed, floating, or a joint between a new root link "world" and its root."""
    joint = joint_type_of(base, "with_base")
    if joint.kind in (Fixed.kind, Floating.kind):
        return replace(model, floating=joint.kind == Floating.kind)
    return _on_link(replace(model, floating=False), joint)


def grounded(model: Model) -> tuple[Model, str]:
    """The model with a link that is fixed in the world, and that link: its root, unless its base floats."""
    if not model.floating:
        return model, model.root
    carried = _on_link(replace(model, floating=False), Floating())
    return carried, carried.root


def joint_type_of(given: str | JointType, taker: str) -> JointType:
    """A joint type, or the one of a kind with its default axis."""
    if isinstance(given, JointType):
        return given
    kinds = {kind: kind for kind in TYPES} | ALIASES
    return TYPES[look_up(kinds, given, f"joint type ({taker})")]()


def _on_link(model: Model, joint: JointType) -> Model:
    """The model carried by a joint from a new root link in the world."""
    world = _free(THE_WORLD, (link.name for link in model.links))
    name = _free(f"{joint.kind}_base", (one.name for one in model.joints))
    carrier = Joint(name, joint, world, model.root)
    return model.replaced((Link(world), *model.links), (carrier, *model.joints))


def _free(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    while name in known:
        name = "_" + name
    return name


def _naming(names: Iterable[str], stated: Names | None, prefix: str, what: str) -> dict[str, str]:
    """From each name to the new one."""
    naming = {name: prefix + name for name in names}
    for old, new in (stated or {}).items():
        look_up(naming, old, what)
        if not isinstance(new, str) or not new:
            raise ModelError(f"rename: the new name of {old!r} is a text, got {new!r}")
        naming[old] = new
    return naming


def _held_by_its_root(model: Model) -> Model:
    """The model on a fixed base, and the ends of springs in its world moved to its root, which is there."""
    tied = [one for one in model.elastic if any(is_world(model, link) for link in one.links)]
    if model.floating and tied:
        raise ModelError(
            f"{model.name!r} floats, and its elastic element {tied[0].name!r} ends in the world, which is no "
            "part of it: attach first, then add the element"
        )

    def end(link: str) -> str:
        return model.root if is_world(model, link) else link

    held = tuple(replace(one, link_a=end(one.link_a), link_b=end(one.link_b)) for one in model.elastic)
    return replace(model, floating=False, elastic=held)


def _refuse_clashes(model: Model, other: Model, prefix: str) -> None:
    clashes = _clashes(model, other, prefix)
    if not clashes:
        return
    kind, names = next(iter(clashes.items()))
    shown = ", ".join(map(repr, names[:3])) + (" ..." if len(names) > 3 else "")
    candidates = (f"{other.name}{number}_" for number in chain(("",), count(2)))
    proposal = next(one for one in candidates if not _clashes(model, other, one))
    raise ModelError(
        f"{model.name!r} and what is attached have {kind} of the same name: {shown}; "
        f"choose a prefix, such as prefix={proposal!r}"
    )


def _clashes(model: Model, other: Model, prefix: str) -> dict[str, list[str]]:
    """Names that both would have, by kind."""
    found = {}
    for kind in ("links", "joints", "loops", "elastic", "couplings", "tendons", "actuators", "fluid"):
        own = {one.name for one in getattr(model, kind)}
        if kind == "links" and any(is_world(model, link) for one in model.elastic for link in one.links):
            own.add(THE_WORLD)  # the end of a spring, which a link of that name would catch
        both = [prefix + one.name for one in getattr(other, kind) if prefix + one.name in own]
        if both:
            found[kind + " elements" * (kind in ("elastic", "fluid"))] = both
    return found
