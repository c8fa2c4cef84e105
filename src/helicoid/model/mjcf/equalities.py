"""Equality constraints: linear couplings of joints as mimics, `connect` and `weld` as kinematic loops.

MuJoCo's constraints are soft, ours are rigid. Couplings that no mimic can state, such as polynomials, are
`Coupling`s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from helicoid.model.connections.couplings import Coupling
from helicoid.model.connections.loops import KinematicLoop, LoopKind
from helicoid.model.mjcf.forces.tendons import tendon_names
from helicoid.model.mjcf.joints import JointAddress, disabled
from helicoid.model.mjcf.names import Names, fresh
from helicoid.model.mjcf.placements import rotation
from helicoid.model.mjcf.unsupported import Refusals
from helicoid.model.model import Model
from helicoid.model.parts import Joint, Mimic, Placement

CONNECT, WELD, JOINT, TENDON = range(4)  # mjtEq
_BODY = 1  # mjtObj: the ends of a connect or weld are bodies, else sites


def with_equalities(
    model: Model, compiled: Any, names: Names, addresses: list[JointAddress], refusals: Refusals
) -> Model:
    """The model with the active equality constraints of a compiled model."""
    if disabled(compiled, "mjDSBL_EQUALITY", "mjDSBL_CONSTRAINT"):
        return model
    found: list[str] = []
    taken: set[str] = set()
    for i in map(int, np.flatnonzero(compiled.eq_active0)):
        kind, stated = int(compiled.eq_type[i]), compiled.eq(i).name
        name = fresh(stated or f"equality_{i}", taken)
        if kind in (CONNECT, WELD):
            loop = _loop(compiled, i, name, names)
            if {loop.link_a, loop.link_b} - set(model.frames):
                found.append(f"<equality name={name!r}>: with the world, which a floating base leaves out")
            elif model.frame(loop.link_a).body != model.frame(loop.link_b).body:
                model = replace(model, loops=(*model.loops, loop))
        elif kind == JOINT:
            coupling = _coupling(compiled, i, name, addresses)
            model = _coupled(model, coupling)
        elif kind == TENDON:
            model = replace(model, couplings=(*model.couplings, _of_tendons(compiled, i, name)))
        else:
            found.append(f"<equality name={name!r}> of type {kind}")
    refusals.refuse("equality", found)
    return model


def _loop(compiled: Any, i: int, name: str, names: Names) -> KinematicLoop:
    """A `connect` as a point, a `weld` as a pose, between bodies or sites."""
    kind: LoopKind = "point" if compiled.eq_type[i] == CONNECT else "pose"
    a, b = int(compiled.eq_obj1id[i]), int(compiled.eq_obj2id[i])
    if compiled.eq_objtype[i] != _BODY:
        return KinematicLoop(name, kind, names.sites[a], names.sites[b])
    data = compiled.eq_data[i]
    if kind == "point":
        placed = Placement(translation=data[:3]), Placement(translation=data[3:6])
    else:  # of a weld the point on the second body comes first
        placed = Placement(rotation(data[6:10]), data[3:6]), Placement(translation=data[:3])
    return KinematicLoop(name, kind, names.bodies[a], names.bodies[b], *placed)


def _coupling(compiled: Any, i: int, name: str, addresses: list[JointAddress]) -> Coupling:
    """y - y₀ = Σ c_k (x - x₀)^k with the reference configuration; a fixed y without a second joint."""
    ends = [int(compiled.eq_obj1id[i]), int(compiled.eq_obj2id[i])]
    joints = [addresses[j].joints[0] if j >= 0 else "" for j in ends]
    at = [float(compiled.qpos0[compiled.jnt_qposadr[j]]) if j >= 0 else 0.0 for j in ends]
    coefficients = compiled.eq_data[i][:5] if joints[1] else compiled.eq_data[i][:1]
    return Coupling(name, joints[0], joints[1], coefficients, (at[0], at[1]))


def _of_tendons(compiled: Any, i: int, name: str) -> Coupling:
    ends = [int(compiled.eq_obj1id[i]), int(compiled.eq_obj2id[i])]
    known = tendon_names(compiled)
    at = [float(compiled.tendon_length0[j]) if j >= 0 else 0.0 for j in ends]
    follower, source = (known[j] if j >= 0 else "" for j in ends)
    coefficients = compiled.eq_data[i][:5] if source else compiled.eq_data[i][:1]
    return Coupling(name, follower, source, coefficients, (at[0], at[1]), "tendons")


def _coupled(model: Model, coupling: Coupling) -> Model:
    """The model with a mimic joint where the coupling is linear and the joint follows no other yet."""
    c0, c1, *higher = *coupling.coefficients, 0.0
    joint = model.joint(coupling.follower)
    linear = coupling.source and c1 != 0 and not any(higher)
    if not linear or joint.mimic is not None or _follows(model, coupling.source, joint.name):
        return replace(model, couplings=(*model.couplings, coupling))
    y0, x0 = coupling.reference
    mimic = Mimic(coupling.source, float(c1), float(y0 + c0 - c1 * x0))

    def following(one: Joint) -> Joint:
        return replace(one, mimic=mimic) if one is joint else one

    return model.replaced(joints=map(following, model.joints))


def _follows(model: Model, name: str, source: str) -> bool:
    """Whether a joint follows another, by a chain of mimics, or is it."""
    joint = model.joint(name)
    while joint.name != source:
        if joint.mimic is None:
            return False
        joint = model.joint(joint.mimic.joint)
    return True
