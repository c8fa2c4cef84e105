"""Equations of torques or wrenches in the base parameters of a parametric robot.

    τ = τ_nominal + Y_θ (θ - θ_nominal) = τ_nominal + Y_β δβ,   δβ = K (θ - θ_nominal)

β are base parameters: all that torques identify, and fewer than θ. Y_β are columns of Y_θ.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.arrays import shown
from helicoid.compiler import Function, Input, Output
from helicoid.dynamics.forces.tendon_inertia import tendon_mass_matrix
from helicoid.dynamics.parametric import inertial_parameters
from helicoid.dynamics.physics import SMOOTHING, nominal
from helicoid.dynamics.tree import along_motion
from helicoid.errors import InputError
from helicoid.identification.identifiability.identifiability import Identifiability, from_rows, spanning_rows
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.inertia import Inertia, transformation
from helicoid.robot import Robot, as_robot

_GROUPS = ("inertia", "friction", "armature", "payload")
_REGRESSION_GROUPS = ("inertia", "viscous", "coulomb", "armature")


@dataclass(frozen=True, eq=False)
class BaseEquations:
    """A robot, and the groups of parameters of `Robot.parametric` that are unknown.

    `smoothing` is the velocity (rad/s, m/s) over which Coulomb friction changes sign. `wrenches` names links
    whose joints' wrenches are measured, six rows each, in place of all joint torques. With `bias` each of
    these rows has an unknown constant too.
    """

    robot: Robot
    groups: tuple[str, ...]
    payload_link: str | None = None
    smoothing: float = SMOOTHING
    wrenches: tuple[str, ...] = ()
    bias: bool = False

    def __post_init__(self) -> None:
        as_robot(self.robot, "identification")
        for group in self.groups:
            if not isinstance(group, str) or group not in _GROUPS:
                raise InputError(
                    f"{shown(group)} cannot be identified from torques; groups: {', '.join(_GROUPS)}"
                )
        if self.wrenches and {"friction", "armature"} & set(self.groups):
            raise InputError("wrenches do not depend on friction and armature; groups: inertia, payload")
        if self.robot.model.loops:
            raise InputError(
                f"robot {self.robot.name!r} has closed loops: the forces in them enter its torques, so that "
                "torques alone do not identify its parameters"
            )
        if not self.groups:
            raise InputError(f"name at least one group of parameters: {', '.join(_GROUPS)}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled functions are not pickled: the copy builds its own.
        return BaseEquations, tuple(getattr(self, one.name) for one in fields(self))

    @property
    def rows(self) -> int:
        """Number of measured numbers of a sample."""
        return 6 * len(self.wrenches) or self.robot.nv

    @property
    def offsets(self) -> int:
        """Number of unknown constants of the rows."""
        return self.rows if self.bias else 0

    def by_sensor(self, offsets: Array) -> dict[str, Array]:
        """Numbers of all offsets as (6,) of each sensor; empty where there are none."""
        return dict(zip(self.wrenches if self.bias else (), offsets.reshape(-1, 6), strict=True))

    @cached_property
    def parametric(self) -> Robot:
        """The robot that takes θ."""
        return self.robot.parametric(*self.groups, payload_link=self.payload_link)

    @cached_property
    def nominal(self) -> Array:
        """θ of the description."""
        return self.parametric.parameters.values

    @property
    def slices(self) -> dict[str, slice]:
        """Slice of θ of each group."""
        return self.parametric.theta.slices

    @cached_property
    def identifiability(self) -> Identifiability:
        """The base parameters among θ."""
        groups = ("inertia",) if self.wrenches else _REGRESSION_GROUPS
        regression = Regression(self.robot, groups, wrenches=self.wrenches)
        rows, method = spanning_rows(regression)
        n, parameters = 10 * self.robot.n_bodies, regression.parameters
        spread = np.zeros((len(rows), n + 3 * self.robot.nv))  # friction of a floating base is unidentifiable
        spread[:, :n] = rows[:, parameters.groups["inertia"]]
        for k, group in enumerate(() if self.wrenches else ("viscous", "coulomb", "armature")):
            columns = n + k * self.robot.nv + np.array(regression.jointed, dtype=np.intp)
            spread[:, columns] = rows[:, parameters.groups[group]]
        return from_rows(self.parametric.parameters.names, spread @ self._map, method)

    @cached_property
    def _map(self) -> Array:
        """(10 n + 3 nv, θ): the share of each θ in [π | damping | Coulomb | armature]."""
        n, nv = 10 * self.robot.n_bodies, self.robot.nv
        full = np.zeros((n + 3 * nv, len(self.nominal)))
        starts = {
            "inertia": slice(0, n),
            "friction": slice(n, n + 2 * nv),
            "armature": slice(n + 2 * nv, None),
        }
        for group, own in self.slices.items():
            if group == "payload":
                frame = self.robot.model.frame(self.parametric.theta.payload_link)
                R, p = frame.placement.rotation, frame.placement.translation
                full[10 * frame.body : 10 * frame.body + 10, own] = transformation(R, p)
            else:
                full[starts[group], own] = np.eye(own.stop - own.start)
        return full

    def _reduced(self, inertial: Expression, friction: Expression, armature: Expression) -> Expression:
        """Y_β, (nv, r), from the regressors of all parameters."""
        columns = ca.sparsify(ca.SX(self._map[:, list(self.identifiability.independent)]))
        return ca.horzcat(inertial, friction, armature) @ columns

    def _nominal_torque(self, q: Expression, v: Expression, a: Expression) -> Expression:
        """The torque of the described robot: with friction, springs and whatever else it states."""
        return self.robot.inverse_dynamics(q, v, a, friction=True, smoothing=self.smoothing)

    @cached_property
    def torque_rows(self) -> Function:
        """`(q, v, a) -> rows`, (offsets + r + 1, rows): [1 Y_β]ᵀ and below the nominal torque, or wrench."""
        q, v, a = self._symbols("q v a")
        if self.wrenches:
            inertial = ca.vertcat(*(self.robot.wrench_regressor(link)(q, v, a) for link in self.wrenches))
            nothing = ca.SX(self.rows, 2 * self.robot.nv), ca.SX(self.rows, self.robot.nv)
            described = ca.vertcat(*(self.robot.sensor_wrench(link)(q, v, a) for link in self.wrenches))
            rows = ca.horzcat(self._reduced(inertial, *nothing), described).T
            rows = ca.vertcat(ca.SX.eye(self.offsets), rows) if self.bias else rows
        else:
            Y = self._reduced(self.robot.regressor(q, v, a), self._friction(v), ca.diag(a))
            rows = ca.horzcat(Y, self._nominal_torque(q, v, a)).T
        return self._function("torque_rows", {"q": q, "v": v, "a": a}, {"rows": rows})

    @cached_property
    def momentum_rows(self) -> Function:
        """`(q, v) -> momentum, rate`, both (r + 1, nv), of τ = d/dt momentum + rate: no acceleration."""
        q, v = self._symbols("q v")
        robot, nv = self.robot, self.robot.nv
        pi, J = inertial_parameters(robot.model).values, nominal(robot.model).armature
        of_momentum, of_rate = robot.momentum_regressor(q, v), robot.momentum_rate_regressor(q, v)
        momentum = self._reduced(of_momentum, ca.SX(nv, 2 * nv), ca.diag(v))
        rate = self._reduced(of_rate, self._friction(v), ca.SX(nv, nv))
        # At a = 0 the nominal torque holds ∂(M v)/∂t as well, which belongs to the other term.
        still = ca.SX.zeros(nv)
        of_tendons = tendon_mass_matrix(robot.model, q)
        moving = (robot.regressor(q, v, still) - of_rate) @ pi
        moving += along_motion(robot.model, of_tendons, q, v) @ v
        rows = {
            "momentum": ca.horzcat(momentum, of_momentum @ pi + J * v + of_tendons @ v).T,
            "rate": ca.horzcat(rate, self._nominal_torque(q, v, still) - moving).T,
        }
        return self._function("momentum_rows", {"q": q, "v": v}, rows)

    def _friction(self, v: Expression) -> Expression:
        regressor = self.robot.friction_regressor.with_options(smoothing=self.smoothing)
        return regressor(v)[:, : 2 * self.robot.nv]

    def _symbols(self, names: str) -> list[Expression]:
        return [ca.SX.sym(name, self.robot.nq if name == "q" else self.robot.nv) for name in names.split()]

    def _function(self, name: str, inputs: dict[str, Expression], outputs: dict[str, Expression]) -> Function:
        shape = (self.offsets + self.identifiability.rank + 1, self.rows)
        return Function.from_expressions(
            name,
            [(Input(key, (value.shape[0],)), value) for key, value in inputs.items()],
            [(Output(key, shape), value) for key, value in outputs.items()],
        )


def with_theta(equations: BaseEquations, theta: Array) -> Robot:
    """The robot with θ in place of its own values."""
    robot, slices = equations.robot, equations.slices
    if "inertia" in slices:
        robot = robot.with_parameters(theta[slices["inertia"]])
    if "payload" in slices:
        load = Inertia.from_parameters(theta[slices["payload"]])
        robot = robot.with_payload(equations.parametric.theta.payload_link, load.mass, load.com, load.at_com)
    carried = np.ones(robot.nv)  # a floating base has neither friction nor armature
    for body in robot.model.bodies:
        carried[body.v] = 1.0 if body.joint.parent else 0.0
    own: dict[str, Array] = {}
    if "friction" in slices:
        own["damping"], own["friction"] = carried * theta[slices["friction"]].reshape(2, -1)
    if "armature" in slices:
        own["armature"] = carried * theta[slices["armature"]]
    return robot.with_joints(**own)
