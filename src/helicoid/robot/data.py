"""Data of a robot: the model, its parameters, and the cache of its functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function, in_parallel
from helicoid.dynamics import parametric
from helicoid.dynamics.constraints.equations import KinematicConstraint
from helicoid.dynamics.friction import check_friction
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.model.connections.semantics import BASE, Keyframe, Posture
from helicoid.model.edits import flexible
from helicoid.model.mjcf.coordinates import MujocoCoordinates
from helicoid.model.model import Model, look_up
from helicoid.model.parts import Limits, RateLimits
from helicoid.robot.catalog import PLAIN, Catalog
from helicoid.robot.constraints import Constraints
from helicoid.robot.function import FunctionSpec, RobotFunction
from helicoid.robot.functions.options import FunctionOptions

_T = TypeVar("_T")
DEFAULT_OPTIONS = FunctionOptions()


class RobotData(Catalog):
    """A model with its parametric inputs, constraints and actuators, and its functions.

    `Robot` adds the edits, which return another robot.
    """

    def __init__(
        self,
        model: Model,
        selection: parametric.Selection | None = None,
        added: Sequence[KinematicConstraint] = (),
        actuators: tuple[str, ...] | None = None,
    ) -> None:
        check_friction(model)
        self.model = model
        self.constraints = Constraints(model, tuple(added))
        self.actuators = actuators
        self._selection = selection or parametric.Selection()
        self._memo: dict[Hashable, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self._selection, self.constraints.added, self.actuators)

    # Description --------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The robot's name in its description."""
        return self.model.name

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies; what is fixed together is one body."""
        return len(self.model.bodies)

    @property
    def mass(self) -> float:
        """Total mass of the moving bodies (kg), as in `center_of_mass`; a fixed base is not counted."""
        return float(sum(body.inertia.mass for body in self.model.bodies))

    @property
    def joint_names(self) -> list[str]:
        """The joints that own coordinates, in the order of q and v."""
        return [joint.name for joint in self.model.independent_joints]

    @property
    def link_names(self) -> list[str]:
        """Every link; each is a frame."""
        return [link.name for link in self.model.links]

    def index(self, joint: str) -> tuple[slice, slice]:
        """Slices of a joint's coordinates in q and of its velocities in v; of a mimic, those of its source.

        >>> import helicoid as hc
        >>> robot = hc.load("quadruped", base="floating")
        >>> robot.index("floating_base"), robot.index(robot.joint_names[1])
        ((slice(0, 7, None), slice(0, 6, None)), (slice(7, 8, None), slice(6, 7, None)))
        """
        bodies = {body.joint.name: body for body in self.model.bodies}
        body = look_up(bodies, joint, f"moving joint of {self.name!r}")
        return body.q, body.v

    @cached_property
    def limits(self) -> Limits:
        """lower, upper (nq), velocity, effort (nv); infinite where unlimited."""
        ranges = [joint.range for joint in self.model.independent_joints]
        columns = [np.concatenate([np.zeros(0), *(r[k] for r in ranges)]) for k in range(4)]
        for column in columns:
            column.setflags(write=False)
        return Limits(*columns)

    @cached_property
    def rate_limits(self) -> RateLimits:
        """acceleration, deceleration, jerk (nv); infinite where unlimited."""
        rates = [joint.rates for joint in self.model.independent_joints]
        columns = [np.concatenate([np.zeros(0), *(r[k] for r in rates)]) for k in range(3)]
        for column in columns:
            column.setflags(write=False)
        return RateLimits(*columns)

    def neutral(self, within_limits: bool = False) -> Array:
        """The configuration (nq) in which every joint is at its zero, also where its limits exclude that.

        With `within_limits` coordinates are at the nearest limit instead. Simulations begin there, and
        control laws and inverse kinematics prefer it, unless they are given another configuration.

        >>> import helicoid as hc
        >>> panda = hc.load("panda")  # whose elbow is always bent
        >>> print(panda.neutral(within_limits=True))
        [ 0.      0.      0.     -0.0698  0.      0.      0.    ]
        """
        parts = [joint.type.neutral() for joint in self.model.independent_joints]
        q = np.concatenate([np.zeros(0), *parts])
        return np.clip(q, self.limits.lower, self.limits.upper) if within_limits else q

    @cached_property
    def postures(self) -> Mapping[str, Array]:
        """Named configurations (nq) of the robot's SRDF; joints that one leaves out are at their zero."""
        found = {}
        for name, stated in self.model.semantics.postures.items():
            found[name] = self._stated(stated, "q")
            found[name].setflags(write=False)
        return MappingProxyType(found)

    def _stated(self, stated: Posture, what: Literal["q", "v"]) -> Array:
        """Coordinates or velocities from those by joint; others are at their zero."""
        parts = []
        for joint in self.model.independent_joints:
            own = stated.get(joint.name if joint.parent else BASE)
            zero = joint.type.neutral() if what == "q" else np.zeros(joint.type.nv)
            parts.append(zero if own is None or len(own) != len(zero) else np.array(own))
        return np.concatenate([np.zeros(0), *parts])

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Named groups of the robot's SRDF: their joints that own coordinates, in the order of q."""
        own, groups = self.joint_names, self.model.semantics.groups
        return MappingProxyType(
            {key: tuple(one for one in own if one in set(has)) for key, has in groups.items()}
        )

    def random(self, rng: np.random.Generator | int | None = None, size: int | None = None) -> Array:
        """A configuration (nq) drawn uniformly within the limits, or `size` of them, (size, nq).

        `rng` may be a seed. Turns of quaternion joints are uniform over all rotations; coordinates without
        limits are drawn near zero.

        >>> import helicoid as hc
        >>> hc.load("panda").random(0, size=1000).shape
        (1000, 7)
        """
        if size is not None and (not isinstance(size, (int, np.integer)) or size < 0):
            raise InputError(f"random: size is a number of configurations, 0 or more; got {size!r}")
        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise InputError(f"random: rng is a seed, 0 or more, or a NumPy Generator; got {rng!r}") from None
        lead = () if size is None else (int(size),)
        parts = [
            joint.type.random(generator, joint.range.lower, joint.range.upper, lead)
            for joint in self.model.independent_joints
        ]
        return np.concatenate([np.zeros((*lead, 0)), *parts], axis=-1)

    @cached_property
    def theta(self) -> parametric.Theta:
        """The input `theta` of a parametric robot: names, nominal values, slices of groups; else empty.

        >>> import helicoid as hc
        >>> hc.load("double_pendulum").parametric("armature", "gravity").theta.slices
        {'armature': slice(0, 2, None), 'gravity': slice(2, 5, None)}
        """
        return self._selection.parameters(self.model)

    @property
    def parameters(self) -> parametric.Parameters:
        """Names and values: `theta` of a parametric robot, else the inertial ones, 10 per moving body."""
        return self.theta if self.theta.groups else parametric.inertial_parameters(self.model)

    # MuJoCo -------------------------------------------------------------------------------------------

    @cached_property
    def mujoco(self) -> MujocoCoordinates:
        """Conversion of q, v, a, τ from and to MuJoCo's, of a robot that was read from MJCF.

        >>> import helicoid as hc
        >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
        >>> robot = hc.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        >>> robot.mujoco.v([0.3], [0.1])
        array([0.1])
        """
        return MujocoCoordinates(self.model)

    @cached_property
    def keyframes(self) -> Mapping[str, Keyframe]:
        """The keyframes of an MJCF by name, each with `q`, `v`, `ctrl` and `time`; empty for other robots.

        They follow edits; joints that were attached since are at their zero.
        """
        found, actuators = {}, [one.name for one in self.model.actuators]
        for name, key in self.model.semantics.keyframes.items():
            u = np.array([key.controls.get(one, 0.0) for one in actuators])
            found[name] = Keyframe(self._stated(key.q, "q"), self._stated(key.v, "v"), u, key.time)
        return found

    # Actuators ----------------------------------------------------------------------------------------

    @property
    def motor_joints(self) -> list[str]:
        """The actuated joints: all but a floating base and the springs of flexible joints.

        Or those that `with_actuators` named; `selection_matrix` has their rows.
        """
        named, able = self.actuators, self.model.independent_joints
        return [j.name for j in able if (flexible.has_motor(j) if named is None else j.name in named)]

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """The velocities that an actuator drives, as indices."""
        return tuple(k for name in self.motor_joints for k in range(self.nv)[self.index(name)[1]])

    @cached_property
    def unactuated(self) -> tuple[int, ...]:
        """The velocities that no actuator drives, as indices: a floating base, passive joints."""
        return tuple(k for k in range(self.nv) if k not in self.actuated)

    @cached_property
    def selection_matrix(self) -> Array:
        """S, actuators × nv, with Sᵀ τ the force of the actuators: by default all but a floating base."""
        return np.asarray(np.eye(self.nv)[list(self.actuated)])

    # Functions ----------------------------------------------------------------------------------------

    def function(self, spec: FunctionSpec, options: FunctionOptions = DEFAULT_OPTIONS) -> RobotFunction:
        """The Function of a specification with options; created once."""
        return self.memo((spec, options), lambda: RobotFunction(self, spec, options))

    def memo(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The result of `make()`, computed once for this robot and key, and freed with the robot."""
        if key not in self._memo:
            self._memo.setdefault(key, make())
        found: _T = self._memo[key]
        return found

    def compile(self, *functions: str, batch: bool = False) -> None:
        """Compile functions ahead of time, several at once: `robot.compile("inverse_dynamics", "gravity")`.

        With `batch`, the code for batches too.
        """
        for name in functions:
            if name not in PLAIN:
                raise InputError(f"a robot has no function {name!r}; there are: {', '.join(PLAIN)}")
        chosen: list[Function] = [getattr(self, name) for name in functions]
        in_parallel(partial(function.compile, batch) for function in chosen)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes that the catalog names."""
        springs = sum(flexible.motor_of(self.model, j) is not None for j in self.model.independent_joints)
        return {
            "nq": self.nq,
            "nv": self.nv,
            "3nv": 3 * self.nv,
            "n": self.n_bodies,
            "nt": len(self.model.tendons),
            "na": len(self.model.actuators),
            "3e": 3 * len(self.model.elastic),
            "10n": 10 * self.n_bodies,
            "k": self.constraints.rows,
            "nu": len(self.actuated),
            "nq_link": self.nq - springs,
            "nv_link": self.nv - springs,
        }

    @cached_property
    def tangent(self) -> ca.Function | None:
        """q -> Γ(q) of q̇ = Γ v, or None where v is q̇."""
        if self.nq == self.nv:
            return None
        q = ca.SX.sym("q", self.nq)
        return ca.Function("tangent", [q], [ca.densify(rate_matrix(self.model, q))])

    def __repr__(self) -> str:
        base = "floating" if self.model.floating else "fixed"
        theta = f", theta[{len(self.theta)}]" if self.theta.groups else ""
        rows = self.constraints.rows
        held = f", {rows} constraint rows" if rows else ""
        size = f"nq={self.nq}, nv={self.nv}, {self.n_bodies} bodies"
        return f"Robot({self.name!r}, {size}, {base} base{held}{theta})"

    def _repr_html_(self) -> str:
        from helicoid.robot.functions.description import to_html

        return to_html(self)
