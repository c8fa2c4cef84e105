"""MJCF -> Model, through the model that MuJoCo compiles.

MuJoCo's compiler resolves defaults, classes, includes, units, and inertia from geoms; the arrays of its
result are read here: bodies as links, joints, sites as frames, geoms as shapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from helicoid.errors import DoubtfulModelWarning, ModelError, RobotDescriptionError, warn
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Fixed
from helicoid.model.mjcf.compiling.compiled import (
    Compiled,
    Packages,
    compile_file,
    compile_text,
    given_model,
)
from helicoid.model.mjcf.contacts import disabled_pairs
from helicoid.model.mjcf.equalities import with_equalities
from helicoid.model.mjcf.forces.actuators import (
    actuators,
    controls,
    with_actuated_joints,
    with_actuated_tendons,
    without_coupled_ranges,
)
from helicoid.model.mjcf.forces.fluid import fluid_elements
from helicoid.model.mjcf.forces.tendons import inertia_across_branches, tendons
from helicoid.model.mjcf.joints import BALL, FREE, JointAddress, body_chain, disabled
from helicoid.model.mjcf.names import Names
from helicoid.model.mjcf.origin import with_keyframes, with_origin
from helicoid.model.mjcf.placements import inertial_placement, placement_of
from helicoid.model.mjcf.shapes import Shapes
from helicoid.model.mjcf.unsupported import Refusals
from helicoid.model.model import Model, located_doubts
from helicoid.model.parts import GravityCompensation, Joint, Link


def read_mjcf_text(
    text: str,
    floating: bool = False,
    name: str = "<text>",
    folder: str = "",
    ignore: Iterable[str] = (),
    packages: Packages = None,
) -> Model:
    """The robot that an MJCF text describes; `name` stands in messages, meshes are relative to `folder`."""
    return _read(compile_text(text, name, folder, packages), floating, ignore)


def read_mjcf(
    path: str, floating: bool = False, ignore: Iterable[str] = (), packages: Packages = None
) -> Model:
    """The robot that an MJCF file describes; `packages` are further folders that it may include from."""
    return _read(compile_file(path, packages), floating, ignore)


def read_mujoco(source: Any, floating: bool = False, ignore: Iterable[str] = ()) -> Model:
    """The robot of a `mujoco.MjModel` or `mujoco.MjSpec`."""
    return _read(given_model(source), floating, ignore)


def _read(source: Compiled, floating: bool, ignore: Iterable[str]) -> Model:
    refusals = Refusals(source, ignore)
    refusals.check()
    try:
        model, addresses, auxiliary, shapes, names = _tree(source)
        if floating:
            model, addresses = _on_floating_base(model, addresses, source.name)
        model = with_actuated_joints(model, source.model, addresses)
        held, inside = tendons(source.model, names, addresses)
        refusals.refuse("tendon", inside)
        model = replace(model, tendons=tuple(with_actuated_tendons(held, source.model)))
        found = actuators(source.model, names, addresses, set(model.frames))
        about = replace(model.semantics, disabled=disabled_pairs(model, source.model, names))
        model = replace(model, semantics=about)
        model = with_equalities(model, source.model, names, addresses, refusals)
        found = without_coupled_ranges(model, found)
        wet = () if "fluid" in refusals.names else fluid_elements(source.model, names, set(model.frames))
        model = replace(model, actuators=tuple(found), fluid=tuple(wet))
        model = with_origin(model, source.model, addresses, source.spec)
        model = with_keyframes(model, source.model, controls(source.model))
        doubts = [d for d in located_doubts(model) if not (d[0] == "link" and d[1] in auxiliary)]
    except ModelError as error:
        raise RobotDescriptionError(f"{source.name}: {error}") from error
    texts = [f'{what} "{name}": {text}' for what, name, text in doubts]
    texts += [
        f"{len(geoms)} colliding geoms of type {kind} are no shapes of the robot: {', '.join(geoms[:3])}"
        for kind, geoms in shapes.unsupported.items()
    ]
    texts += [
        f'joint "{address.name}" is a ball, whose range is not among the limits of a robot'
        for j, address in enumerate(addresses)
        if address.kind == BALL and source.model.jnt_limited[j]
    ]
    texts += [
        f'tendon "{name}": its armature couples branches, which MuJoCo leaves out of its mass matrix'
        for name in inertia_across_branches(source.model, model.tendons)
    ]
    for text in (*texts, *refusals.ignored):
        warn(DoubtfulModelWarning(f"{source.name}: {text}"))
    return model


def _tree(source: Compiled) -> tuple[Model, list[JointAddress], set[str], Shapes, Names]:
    compiled, names = source.model, Names(source.model)
    shapes = Shapes(compiled, source.folder, source.meshes)
    links = [Link(names.bodies[0], None, *shapes.of(0))]
    joints: list[Joint] = []
    addresses: list[JointAddress] = []
    auxiliary: set[str] = set()
    for body in range(1, compiled.nbody):
        chain = body_chain(compiled, body, names)
        joints += chain.joints
        addresses += chain.addresses
        auxiliary |= {link.name for link in chain.links}
        about = _inertia(compiled, body), *shapes.of(body), _compensation(compiled, body)
        links += [*chain.links, Link(names.bodies[body], *about)]
    for site in range(compiled.nsite):
        body = names.bodies[compiled.site_bodyid[site]]
        frame = names.site(compiled.site(site).name, body)
        placed = placement_of(compiled, "site", site)
        names.sites.append(frame)
        links.append(Link(frame))
        joints.append(Joint(names.joint(f"{frame}_fixed"), Fixed(), body, frame, placed))
    gravity = np.zeros(3) if disabled(compiled, "mjDSBL_GRAVITY") else compiled.opt.gravity
    x, y, z = map(float, gravity)
    model = Model(source.robot, tuple(links), tuple(joints), gravity=(x, y, z))
    return model, addresses, auxiliary, shapes, names


def _inertia(compiled: Any, body: int) -> Inertia:
    placed = inertial_placement(compiled, body)
    turned = placed.rotation @ np.diag(compiled.body_inertia[body]) @ placed.rotation.T
    return Inertia.from_com(compiled.body_mass[body], placed.translation, (turned + turned.T) / 2)


def _compensation(compiled: Any, body: int) -> GravityCompensation | None:
    """The part `gravcomp` of the weight, which acts at the centre of mass.

    MuJoCo has none without springs and dampers, or where that of no body is above zero.
    """
    carried = float(compiled.body_gravcomp[body] * compiled.body_mass[body])
    none = disabled(compiled, "mjDSBL_SPRING") and disabled(compiled, "mjDSBL_DAMPER")
    if not carried or none or not np.any(compiled.body_gravcomp > 0):
        return None
    return GravityCompensation(carried, inertial_placement(compiled, body).translation)


def _on_floating_base(
    model: Model, addresses: list[JointAddress], name: str
) -> tuple[Model, list[JointAddress]]:
    """The only body on the world as a floating base, without the shapes and sites of the world."""
    sites = {link.name for link in model.links} - {joint.parent for joint in model.joints}
    carried = [joint for joint in model.joints if joint.parent == model.root]
    bodies = [joint for joint in carried if joint.type.nv or joint.child not in sites]
    free = {address.joints[0] for address in addresses if address.kind == FREE and len(address.joints) == 1}
    if len(bodies) != 1 or (bodies[0].type.nv and bodies[0].name not in free):
        on = ", ".join(repr(joint.child) for joint in bodies) or "none"
        raise RobotDescriptionError(
            f"{name}: base='floating' needs one body on the world, fixed or free; there are: {on}. Load it "
            "with base='fixed', where free joints move as the file says"
        )
    gone = {model.root, *(joint.child for joint in carried if joint is not bodies[0])}
    kept = replace(
        model,
        links=tuple(link for link in model.links if link.name not in gone),
        joints=tuple(joint for joint in model.joints if joint not in carried),
        floating=True,
    )
    base = kept.moving_joints[0].name
    moved = [a._replace(joints=(base,)) if a.joints == (bodies[0].name,) else a for a in addresses]
    return kept, moved
