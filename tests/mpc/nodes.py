"""One node of a problem in numbers, and derivatives of formulas along its tangent space by differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import helicoid as hc
from helicoid.mpc import Problem
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.structure import Structure, Term

Array = np.ndarray

TREE = """
<robot name="tree">
  <link name="base"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 0.3"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="leg"><inertial><origin xyz="0.1 0 0"/><mass value="0.4"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0.1 0.2"/><limit lower="-2" upper="2" effort="5" velocity="10"/></joint>
  <joint name="hip" type="prismatic"><parent link="base"/><child link="leg"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="1" effort="7" velocity="0.8"/></joint>
</robot>"""


@functools.cache
def robot(kind: str) -> hc.Robot:
    """An arm on a fixed base, or a tree with two branches on a floating one."""
    return hc.load("planar_2r") if kind == "arm" else hc.load(TREE, base="floating")


@functools.cache
def bare(kind: str, formulation: str = "inverse_dynamics") -> Problem:
    """A problem of two intervals without costs; its structure is a value, so tests may share it."""
    return Problem(robot(kind), horizon=2, dt=0.1, formulation=formulation)  # type: ignore[arg-type]


FRAMES = {"arm": "tip", "tree": "arm"}


class Point(NamedTuple):
    """Where a node is evaluated: configuration, velocity, control, and what a problem adds to the state."""

    q: Array
    v: Array
    u: Array
    more: Array

    @property
    def x(self) -> Array:
        return np.concatenate([self.q, self.v, self.more])

    def moved(self, model: hc.Robot, dz: Array) -> Point:
        """z ⊕ dz for z = (u, q, v, more)."""
        nu, nv = len(self.u), model.nv
        du, dq, dv, rest = np.split(dz, [nu, nu + nv, nu + 2 * nv])
        return Point(model.integrate(self.q, dq), self.v + dv, self.u + du, self.more + rest)

    @property
    def size(self) -> int:
        return len(self.u) + 2 * len(self.v) + len(self.more)


def point(kind: str, rng: np.random.Generator, structure: Structure) -> Point:
    """A random one."""
    model = robot(kind)
    q = model.integrate(model.neutral(), rng.normal(size=model.nv))
    more = rng.normal(size=structure.system.x.numel() - model.nq - model.nv)
    return Point(q, rng.normal(size=model.nv), rng.normal(size=structure.system.nu), more)


@dataclass
class Node:
    """What the functions of a node give, without padding; `jacobian` has all rows in their order."""

    cost: float
    gradient: Array
    rows: Array
    hessian: Array
    jacobian: Array
    gap: Array
    dynamics: Array


def with_terms(kind: str, *make: Callable[..., Term | list[Term]], formulation: str = "inverse_dynamics"):  # type: ignore[no-untyped-def]
    """The structure with what functions of its symbols make."""
    structure = bare(kind, formulation)._structure
    for one in make:
        made = one(structure.symbols)
        structure = structure.with_terms(made if isinstance(made, list) else [made])
    return structure


def node_function(structure: Structure, last: bool = False) -> Callable[..., Node]:
    """(point, following, h) -> Node, on CasADi's virtual machine."""
    compiled = Compiled(structure, {})
    stages, memory = replace(compiled.stages, lanes=1), compiled.memory
    rows, nz = stages.end_rows if last else stages.path_rows, stages.nzp
    function, p = stages.end() if last else stages.stage(), memory.parameters[-1 if last else 0]

    def node(at: Point, following: Array, h: float = 0.1) -> Node:
        if last:
            values = list(function.call([at.x, p, memory.constants]))
            values.insert(2, np.zeros(stages.system.nx))
        else:
            values = list(function.call([at.x, at.u, following, p, memory.constants, h]))
        cost, gradient, gap, scaled, hessian, general = (np.array(v, float).ravel() for v in values[:6])
        jacobian, others = np.zeros((len(rows), nz)), iter(general.reshape(-1, nz))
        for k, row in enumerate(rows):
            if row.box is None:
                jacobian[k] = next(others)
            else:
                jacobian[k, row.box] = row.factor
        AB = np.zeros((0, nz))
        if not last and not stages.system.uses_double_integrator:
            AB = np.array(values[6], float).reshape(nz, stages.nxp, order="F").T
        return Node(float(cost[0]), gradient, scaled[: len(rows)], hessian.reshape(nz, nz), jacobian, gap, AB)

    return node


def evaluate(structure: Structure, at: Point, following: Array, h: float = 0.1, last: bool = False) -> Node:
    """What the functions of a node give at a point."""
    return node_function(structure, last)(at, following, h)


def slopes(f: Callable[[Point], Array], kind: str, at: Point, step: float = 1e-5) -> Array:
    """df/dz along the tangent space, by central differences."""
    columns = []
    for k in range(at.size):
        dz = np.zeros(at.size)
        dz[k] = step
        ahead, behind = (np.atleast_1d(f(at.moved(robot(kind), sign * dz))) for sign in (1, -1))
        columns.append((ahead - behind) / (2 * step))
    return np.stack(columns, axis=1)
