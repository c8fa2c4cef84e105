"""Actuators of a compiled MuJoCo model, and what they add to their joints."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.model.connections.actuators import (
    Activation,
    Actuator,
    Interval,
    Transmission,
    coupled_joints,
)
from helicoid.model.connections.tendons import Tendon
from helicoid.model.mjcf.forces.tendons import tendon_names
from helicoid.model.mjcf.joints import BALL, JointAddress, disabled
from helicoid.model.mjcf.names import Names, fresh
from helicoid.model.model import Model
from helicoid.model.parts import Joint

JOINT, JOINT_IN_PARENT, SLIDER_CRANK, TENDON, SITE, BODY = range(6)  # mjtTrn
FIXED, AFFINE = range(2)  # mjtGain; of mjtBias 0 is none
_WRAP_JOINT = 1  # mjtWrap
_MIN_TIME_CONSTANT = 1e-15  # s, as in MuJoCo
_UNLIMITED: Interval = (-np.inf, np.inf)
_ACTIVATIONS: dict[int, Activation] = {0: "none", 1: "integrator", 2: "filter", 3: "filter"}  # mjtDyn
_TRANSMISSIONS: dict[int, Transmission] = {
    JOINT: "joint",
    JOINT_IN_PARENT: "joint_in_parent",
    TENDON: "tendon",
    SITE: "frame",
}


def actuators(
    model: Any, names: Names, addresses: list[JointAddress], links: Collection[str]
) -> list[Actuator]:
    """The actuators; of those that are not supported the name and the reason."""
    tendons, taken = tendon_names(model), set[str]()
    found = []
    for i in _enabled(model):
        name = fresh(model.actuator(i).name or f"actuator_{i}", taken)
        reason = "; ".join(_unsupported(model, i, names, addresses, links))
        if reason:
            found.append(Actuator(name, "joint", "", unsupported=reason))
            continue
        kind, target = int(model.actuator_trntype[i]), int(model.actuator_trnid[i][0])
        reference = int(model.actuator_trnid[i][1]) if kind == SITE else -1
        found.append(
            Actuator(
                name,
                _TRANSMISSIONS[kind],
                {SITE: names.sites, TENDON: tendons}[kind][target]
                if kind in (SITE, TENDON)
                else addresses[target].joints[0],
                model.actuator_gear[i],
                names.sites[reference] if reference >= 0 else "",
                **_law(model, i),
            )
        )
    return found


def controls(model: Any) -> list[int]:
    """Where MuJoCo has the control of each actuator."""
    addresses = getattr(model, "actuator_ctrladr", np.arange(len(model.actuator_trntype)))
    return [int(addresses[i]) for i in _enabled(model)]


def _enabled(model: Any) -> list[int]:
    if disabled(model, "mjDSBL_ACTUATION"):
        return []
    return [i for i in range(len(model.actuator_trntype)) if not _in_disabled_group(model, i)]


def _law(model: Any, i: int) -> dict[str, Any]:
    """The force law of an actuator: gain, bias, ranges and activation."""
    return {
        "gain": _affine(model.actuator_gainprm[i], 1 if model.actuator_gaintype[i] == FIXED else 3),
        "bias": _affine(model.actuator_biasprm[i], 0 if model.actuator_biastype[i] == FIXED else 3),
        "control_range": _range(model, i, "ctrl", not disabled(model, "mjDSBL_CLAMPCTRL")),
        "force_range": _range(model, i, "force"),
        "activation": _ACTIVATIONS[int(model.actuator_dyntype[i])],
        "time_constant": max(float(model.actuator_dynprm[i][0]), _MIN_TIME_CONSTANT),
        "activation_range": _range(model, i, "act"),
    }


def _affine(prm: Array, terms: int) -> Array:
    """Coefficients of 1, l and l̇, of which the first `terms` are stated."""
    return np.where(np.arange(3) < terms, prm[:3], 0.0)


def _range(model: Any, i: int, what: str, on: bool = True) -> Interval:
    if not (on and getattr(model, f"actuator_{what}limited")[i]):
        return _UNLIMITED
    lower, upper = map(float, getattr(model, f"actuator_{what}range")[i])
    return lower, upper


def _in_disabled_group(model: Any, i: int) -> bool:
    group = int(model.actuator_group[i])
    return 0 <= group < 31 and bool(int(model.opt.disableactuator) >> group & 1)


def _unsupported(
    model: Any, i: int, names: Names, addresses: list[JointAddress], links: Collection[str]
) -> Iterator[str]:
    """Reasons why the force of an actuator is not known here."""
    kind, target = int(model.actuator_trntype[i]), model.actuator_trnid[i]
    if kind not in _TRANSMISSIONS:
        yield {SLIDER_CRANK: "a slider-crank", BODY: "adhesion of a body"}.get(kind, f"transmission {kind}")
    elif kind in (JOINT, JOINT_IN_PARENT) and len(addresses[int(target[0])].joints) > 1:
        yield "on a free joint with a spring, armature or dry friction"
    elif kind == SITE and {names.sites[k] for k in target if k >= 0} - set(links):
        yield "at a site of the world, which a floating base leaves out"
    elif kind == TENDON and getattr(model, "tendon_actfrclimited", np.zeros(model.ntendon))[target[0]]:
        yield "on a tendon that limits the sum of its actuators"
    yield from _unknown_laws(model, i)


def _unknown_laws(model: Any, i: int) -> Iterator[str]:
    """Reasons why the force of an actuator does not follow from its control, l and l̇."""
    if int(model.actuator_dyntype[i]) not in _ACTIVATIONS:
        yield f"activation dynamics {int(model.actuator_dyntype[i])}"
    if int(model.actuator_gaintype[i]) not in (FIXED, AFFINE) or int(model.actuator_biastype[i]) > 1:
        yield "a gain or bias that is not affine"
    if int(np.asarray(getattr(model, "actuator_ctrlnum", np.ones(i + 1)))[i]) != 1:
        yield "several controls"
    if np.any(np.asarray(getattr(model, "actuator_delay", np.zeros(i + 1)))[i] > 0):
        yield "a delay"
    if int(np.asarray(getattr(model, "actuator_plugin", np.full(i + 1, -1)))[i]) >= 0:
        yield "a plugin"


def unsupported_additions(model: Any) -> Iterator[str]:
    """Armature and damping of actuators that act neither on one coordinate nor on a tendon."""
    for what in ("armature", "damping"):
        for i, value in enumerate(np.asarray(getattr(model, f"actuator_{what}", np.zeros(0)))):
            single = _on_joint(model, i) and model.jnt_type[model.actuator_trnid[i][0]] > BALL
            if value and not (single or int(model.actuator_trntype[i]) == TENDON):
                yield f"<actuator name={model.actuator(i).name!r}>: its {what}"


def unsupported_compensation(model: Any) -> Iterator[str]:
    """Joints whose actuators compensate gravity where that is more than a passive force."""
    if not np.any(model.body_gravcomp > 0):
        return
    none = len(model.actuator_trntype) == 0 or disabled(model, "mjDSBL_ACTUATION")
    for j in np.flatnonzero(model.jnt_actgravcomp):
        if none:
            yield f"<joint name={model.joint(j).name!r}>: gravity compensation by actuators, which it has not"
        elif model.jnt_actfrclimited[j]:
            yield f"<joint name={model.joint(j).name!r}>: gravity compensation within actuatorfrcrange"


def with_actuated_joints(robot: Model, model: Any, addresses: list[JointAddress]) -> Model:
    """The robot whose hinges and slides have the armature, damping and effort limits of their actuators."""
    dampers = not disabled(model, "mjDSBL_DAMPER")
    acting: dict[str, list[int]] = {}
    for i in range(len(model.actuator_trntype)):
        joint = int(model.actuator_trnid[i][0])
        if _on_joint(model, i) and model.jnt_type[joint] > BALL and not _in_disabled_group(model, i):
            acting.setdefault(addresses[joint].joints[0], []).append(i)

    others = _joints_of_other_actuators(model, addresses)

    def added(joint: Joint) -> Joint:
        own = acting.get(joint.name)
        if own is None:
            return joint
        squared = model.actuator_gear[own, 0] ** 2
        zero = np.zeros(len(model.actuator_trntype))
        armature = squared @ getattr(model, "actuator_armature", zero)[own]
        damping = squared @ getattr(model, "actuator_damping", zero)[own] * dampers
        limits, effort = joint.range, sum(_largest_torque(model, i) for i in own)
        if others is not None and joint.name not in others and effort < limits.effort[0]:
            joint = replace(joint, limits=limits._replace(effort=np.array([effort])))
        return replace(joint, armature=joint.armature + armature, damping=joint.damping + damping)

    return robot.replaced(joints=map(added, robot.joints))


def with_actuated_tendons(found: list[Tendon], model: Any) -> list[Tendon]:
    """The tendons with the armature and damping of their actuators."""
    dampers, result = not disabled(model, "mjDSBL_DAMPER"), list(found)
    for i in range(len(model.actuator_trntype)):
        if int(model.actuator_trntype[i]) != TENDON or _in_disabled_group(model, i):
            continue
        zero, squared = np.zeros(i + 1), float(model.actuator_gear[i][0]) ** 2
        target = int(model.actuator_trnid[i][0])
        one = result[target]
        result[target] = replace(
            one,
            armature=one.armature + squared * float(getattr(model, "actuator_armature", zero)[i]),
            damping=one.damping + squared * float(getattr(model, "actuator_damping", zero)[i]) * dampers,
        )
    return result


def without_coupled_ranges(robot: Model, found: list[Actuator]) -> list[Actuator]:
    """The actuators; the force of those at a coupled joint with a range of their sum is not known."""
    coupled = coupled_joints(robot)
    ranged = {joint.name for joint in robot.joints if joint.actuator_range and joint.name in coupled}
    fixed = {one.name: one.joints for one in robot.tendons if not one.branches}

    def moved(one: Actuator) -> set[str]:
        if one.transmission == "tendon":
            return fixed.get(one.target, ranged)
        return ranged if one.transmission == "frame" else one.joints

    reason = "on a coupled joint that limits the sum of its actuators"
    return [
        replace(one, unsupported=one.unsupported or reason) if moved(one) & ranged else one for one in found
    ]


def _joints_of_other_actuators(model: Any, addresses: list[JointAddress]) -> set[str] | None:
    """The joints that actuators move through fixed tendons; None where others may move any joint."""
    found: set[str] = set()
    for i in range(len(model.actuator_trntype)):
        if _on_joint(model, i):
            continue
        tendon = int(model.actuator_trnid[i][0])
        if int(model.actuator_trntype[i]) != TENDON:
            return None
        first = int(model.tendon_adr[tendon])
        rows = range(first, first + int(model.tendon_num[tendon]))
        if any(model.wrap_type[k] != _WRAP_JOINT for k in rows):
            return None
        found |= {addresses[int(model.wrap_objid[k])].joints[0] for k in rows}
    return found


def _on_joint(model: Any, i: int) -> bool:
    return int(model.actuator_trntype[i]) in (JOINT, JOINT_IN_PARENT)


def _largest_torque(model: Any, i: int) -> float:
    """The largest force (N, N·m) that an actuator gives to its hinge or slide."""
    if any(_unknown_laws(model, i)):
        return np.inf
    return abs(float(model.actuator_gear[i][0])) * Actuator("", "joint", "", **_law(model, i)).largest_force
