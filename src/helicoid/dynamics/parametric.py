"""Parameters at run time: their names, their nominal values, and the physics with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.dynamics.friction import TERMS
from helicoid.dynamics.physics import FrictionEntry, Physics, friction_entry, nominal, stated_entries
from helicoid.errors import ModelError
from helicoid.model.connections.elastic import NUMBERS
from helicoid.model.inertia import PARAMETER_NAMES, frozen_array, transformation
from helicoid.model.model import WORLD, Model


def term_groups() -> tuple[str, ...]:
    """Groups of one friction term each: viscous and Coulomb friction together are the group "friction"."""
    return tuple(term.name for term in TERMS.values() if not term.field and not term.shapes)


def parameter_groups() -> tuple[str, ...]:
    """Groups of parameters that may be part of θ."""
    return ("inertia", "friction", "armature", "gravity", "payload", "elastic", *term_groups())


@dataclass(frozen=True, eq=False)
class Parameters:
    """A named vector: `names[k]` belongs to `values[k]`, and `parameters["link.m"]` looks one up."""

    names: tuple[str, ...]
    values: Array

    def __post_init__(self) -> None:
        values = frozen_array(self.values, (len(self.names),), "parameters")
        object.__setattr__(self, "values", values)

    def index(self, name: str) -> int:
        """The position of a name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ModelError(f"no parameter is called {name!r}; there are: {', '.join(self.names)}") from None

    def __getitem__(self, name: str) -> float:
        return float(self.values[self.index(name)])

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype)

    def __repr__(self) -> str:
        shown = ", ".join(f"{n}={v:.4g}" for n, v in zip(self.names[:4], self.values[:4], strict=True))
        return f"Parameters({len(self)}: {shown}{', ...' if len(self) > 4 else ''})"


@dataclass(frozen=True, eq=False, repr=False)
class Theta(Parameters):
    """θ of a parametric robot: names, nominal values and the selection; of any other robot, empty."""

    selection: Selection
    slices: dict[str, slice]
    """Slice of each group in θ."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of parameters, in the order of θ."""
        return self.selection.groups

    @property
    def payload_link(self) -> str:
        """The link that carries the payload; empty where none is selected."""
        return self.selection.payload_link


@dataclass(frozen=True)
class Selection:
    """Groups of parameters that are inputs (in the order of θ), and the link that carries the payload."""

    groups: tuple[str, ...] = ()
    payload_link: str = ""

    def parameters(self, model: Model) -> Theta:
        """Names and nominal values of θ; a payload is nominally nothing."""
        names: list[str] = []
        values: list[Array] = [np.zeros(0)]
        slices: dict[str, slice] = {}
        for group in self.groups:
            group_names, group_values = _nominal_group(model, group)
            slices[group] = slice(len(names), len(names) + len(group_names))
            names.extend(group_names)
            values.append(group_values)
        return Theta(tuple(names), np.concatenate(values), self, slices)

    def slices(self, model: Model) -> dict[str, slice]:
        """Slice of each group in θ."""
        return self.parameters(model).slices

    def physics(self, model: Model, theta: Expression) -> Physics:
        """The model's physics with the selected groups taken from θ."""
        physics, slices = nominal(model), self.slices(model)
        for (
            group
        ) in parameter_groups():  # the payload last: it adds to the inertia, whichever comes first in θ
            if group in slices:
                physics = self._replaced(model, physics, group, theta[slices[group]])
        return physics

    def _replaced(self, model: Model, physics: Physics, group: str, theta: Expression) -> Physics:
        nv = model.nv
        if group == "inertia":
            bodies = tuple(theta[10 * i : 10 * i + 10] for i in range(len(model.bodies)))
            return replace(physics, inertias=bodies)
        if group == "friction":
            return replace(physics, damping=theta[:nv], friction=theta[nv:])
        if group == "armature":
            return replace(physics, armature=theta)
        if group == "gravity":
            return replace(physics, gravity=theta)
        if group == "elastic":
            elements = tuple((theta[k], theta[k + 1], theta[k + 2]) for k in range(0, theta.numel(), 3))
            return replace(physics, elastic=elements)
        if group in term_groups():
            return replace(physics, friction_entries=_with_term(model, physics, group, theta))
        frame = model.frame(self.payload_link)
        R, p = frame.placement.rotation, frame.placement.translation
        inertias = list(physics.inertias)
        inertias[frame.body] = inertias[frame.body][:10] + ca.SX(transformation(R, p)) @ theta
        return replace(physics, inertias=tuple(inertias))


def select(model: Model, groups: Sequence[str], payload_link: str | None) -> Selection:
    """Check the groups, and find the link of the payload when it is not named."""
    for group in groups:
        if not isinstance(group, str) or group not in parameter_groups():
            there = ", ".join(parameter_groups())
            raise ModelError(f"no group of parameters is called {group!r}; there are: {there}")
        if groups.count(group) > 1:
            raise ModelError(f"the group {group!r} is named twice")
    if "payload" not in groups:
        if payload_link is not None:
            raise ModelError("payload_link goes with the group 'payload'")
        return Selection(tuple(groups))
    link = _only_tip(model) if payload_link is None else payload_link
    if model.frame(link).body == WORLD:
        raise ModelError(f"link {link!r} does not move: a payload on it would change nothing")
    return Selection(tuple(groups), link)


def inertial_parameters(model: Model) -> Parameters:
    """Ten for each moving body: `link.m`, `link.hx`, ... `link.Izz`."""
    return Parameters(*_nominal_group(model, "inertia"))


def _nominal_group(model: Model, group: str) -> tuple[tuple[str, ...], Array]:
    joints = model.velocity_names
    if group == "inertia":
        names = tuple(f"{body.name}.{name}" for body in model.bodies for name in PARAMETER_NAMES)
        return names, np.concatenate([np.zeros(0), *(body.inertia.parameters for body in model.bodies)])
    physics = nominal(model)
    if group == "friction":
        names = tuple(f"{joint}.{kind}" for kind in ("damping", "friction") for joint in joints)
        return names, _values(ca.vertcat(physics.damping, physics.friction))
    if group == "armature":
        return tuple(f"{joint}.armature" for joint in joints), _values(physics.armature)
    if group in term_groups():
        values = np.zeros(model.nv)
        for body in model.bodies:
            if body.joint.mimic is None:
                values[body.v] = body.joint.friction_terms.get(group, 0.0)
        return tuple(f"{joint}.{group}" for joint in joints), values
    if group == "elastic":
        names = tuple(f"{element.name}.{number}" for element in model.elastic for number in NUMBERS)
        return names, np.array([getattr(element, number) for element in model.elastic for number in NUMBERS])
    if group == "gravity":
        return ("gravity.x", "gravity.y", "gravity.z"), np.array(model.gravity)
    return tuple(f"payload.{name}" for name in PARAMETER_NAMES), np.zeros(10)


def _with_term(model: Model, physics: Physics, group: str, theta: Expression) -> tuple[FrictionEntry, ...]:
    """The friction entries with one term from θ; a mimic joint keeps the coefficient that it states."""
    found = [one for one in physics.friction_entries if one.term != group]
    for body in model.bodies:
        if body.joint.mimic is not None:
            found += [one for one in stated_entries(body) if one.term == group]
        else:
            nv = body.joint.type.nv
            found += [friction_entry(body, group, i, theta[body.v.start + i], {}) for i in range(nv)]
    return tuple(found)


def _values(constant: Expression) -> Array:
    return np.array(ca.evalf(constant), dtype=np.float64).ravel()


def _only_tip(model: Model) -> str:
    parents = {joint.parent for joint in model.joints}
    tips = [joint.child for joint in model.joints if joint.child not in parents]
    moving = [tip for tip in tips if model.frame(tip).body != WORLD]
    if len(moving) != 1:
        raise ModelError(
            f"robot {model.name!r} has {len(moving)} tips ({', '.join(moving)}): say which link carries "
            "the payload with payload_link=..."
        )
    return moving[0]
