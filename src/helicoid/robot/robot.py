"""Robot: a model and the functions made of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.dynamics import link_side, parametric
from helicoid.errors import DoubtfulModelWarning
from helicoid.model import edit, flexible
from helicoid.model.drives import Drive, with_drives
from helicoid.model.joint_values import JointValues, with_joints
from helicoid.model.model import Model
from helicoid.model.parts import Limits
from helicoid.robot.constraints import ConstraintFunctions
from helicoid.robot.dynamics import DynamicsFunctions
from helicoid.robot.frames import FrameFunctions
from helicoid.robot.function import Options, Recipe, RobotFunction


class Robot(ConstraintFunctions, DynamicsFunctions, FrameFunctions):
    """A robot: what it is (`model`) and its kinematics and dynamics as `Function`s.

    Every function is called with NumPy vectors, with batches (N, n), or with CasADi expressions.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> robot.mass_matrix(robot.neutral()).shape
    (2, 2)
    """

    @property
    def name(self) -> str:
        """The robot's name in its description."""
        return self.model.name

    @property
    def joint_names(self) -> list[str]:
        """The joints that own coordinates, in the order of q and v."""
        return [joint.name for joint in self.model.independent_joints]

    @property
    def link_names(self) -> list[str]:
        """Every link; each is a frame."""
        return [link.name for link in self.model.links]

    @cached_property
    def limits(self) -> Limits:
        """lower, upper (nq), velocity, effort (nv); infinite where unlimited."""
        ranges = [joint.range for joint in self.model.independent_joints]
        columns = [np.concatenate([np.zeros(0), *(r[k] for r in ranges)]) for k in range(4)]
        for column in columns:
            column.setflags(write=False)
        return Limits(*columns)

    def neutral(self) -> Array:
        """The configuration in which every joint is at its zero."""
        parts = [joint.type.neutral() for joint in self.model.independent_joints]
        return np.concatenate([np.zeros(0), *parts])

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration drawn uniformly within the limits; `rng` may be a seed."""
        generator = np.random.default_rng(rng)
        parts = [
            joint.type.random(generator, joint.range.lower, joint.range.upper)
            for joint in self.model.independent_joints
        ]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def motor_joints(self) -> list[str]:
        """The joints that a drive acts on: all but a floating base and the springs of flexible joints.

        Or those that `with_actuators` named; `selection_matrix` has their rows.
        """
        named, able = self.actuators, self.model.independent_joints
        return [j.name for j in able if (flexible.has_motor(j) if named is None else j.name in named)]

    @cached_property
    def link_positions(self) -> RobotFunction:
        """`(q) -> q_link`: where the links are, θ + δ at a flexible joint; q as if stiff."""
        return self._link_side("link_positions", link_side.link_positions, "q", self.nq)

    @cached_property
    def link_velocities(self) -> RobotFunction:
        """`(v) -> v_link`: likewise θ̇ + δ̇; of accelerations too."""
        return self._link_side("link_velocities", link_side.link_velocities, "v", self.nv)

    def _link_side(self, name: str, algorithm: Callable[..., Expression], of: str, n: int) -> RobotFunction:
        stiff = n - sum(flexible.motor_of(self.model, j) is not None for j in self.model.independent_joints)
        return self.function(
            Recipe(name, algorithm, (of,), ((f"{of}_link", (stiff,)),), physical=False), Options()
        )

    def __repr__(self) -> str:
        base = "floating" if self.model.floating else "fixed"
        theta = f", theta[{len(self.parameters)}]" if self.selection.groups else ""
        rows = sum(one.rows for one in self.constraints)
        held = f", {rows} constraint rows" if rows else ""
        size = f"nq={self.nq}, nv={self.nv}, {self.n_bodies} bodies"
        return f"Robot({self.name!r}, {size}, {base} base{held}{theta})"

    # Other robots -------------------------------------------------------------------------------------

    def parametric(self, *groups: str, payload_link: str | None = None) -> Robot:
        """The same robot whose dynamics take one more input, `theta`.

        `groups`: any of "inertia", "friction", "armature", "gravity", "payload", in the order wanted. The
        result's `parameters` holds θ's names and nominal values. A payload is ten inertial parameters in
        the frame of `payload_link` (by default the only tip).

        >>> import helicoid as hc
        >>> robot = hc.load("double_pendulum").parametric("gravity")
        >>> robot.parameters.names
        ('gravity.x', 'gravity.y', 'gravity.z')
        """
        selection = parametric.select(self.model, groups, payload_link)
        return Robot(self.model, selection, self.added, self.actuators)

    def chain(self, root: str, tip: str) -> Robot:
        """The joints between two links, with what is fixed to them; moving side branches are cut."""
        return self.with_model(edit.chain(self.model, root, tip))

    def lock(self, positions: Mapping[str, ArrayLike]) -> Robot:
        """Joints frozen at given coordinates; their bodies merge."""
        return self.with_model(edit.lock(self.model, positions))

    def with_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Robot:
        """A body fixed to a link: center of mass (m) and inertia about it (kg·m²) in the link's frame."""
        return self.with_model(edit.with_payload(self.model, link, mass, com, inertia))

    def with_parameters(self, pi: ArrayLike) -> Robot:
        """Other inertial parameters, in the order of `parameters`: 10 per moving body."""
        return self.with_model(edit.with_parameters(self.model, pi))

    def with_joints(self, **values: JointValues) -> Robot:
        """Other numbers in the joints; constraints, actuators and the choice of θ stay.

        Per velocity: `damping` (N·m·s/rad), `friction` (Coulomb, N·m), `armature` (kg·m²), `static_friction`
        (N·m), `stribeck_velocity` (rad/s), `stiffness` (N·m/rad), and the limits `velocity` (rad/s) and
        `effort` (N·m). Per coordinate: `rest` (where the spring is at ease) and the limits `lower` and
        `upper` (rad); m and N instead along an axis.

        Each is a number for all joints, an array with an entry for each velocity (coordinate), or a mapping
        from joint names to what those joints get while the others stay. A number or an array says what each
        coordinate feels in all, so joints that mimic another then add nothing of their own.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_joints(damping=0.3, friction=[0.5, 0.4], effort={"joint_2": 20})
        >>> print(robot.inverse_dynamics([0, 0], [1, 0], [0, 0], friction=True, gravity=[0, 0, 0]))
        [0.8 0. ]
        """
        return self.with_model(with_joints(self.model, values))

    def with_model(self, model: Model) -> Robot:
        """Another model in place of this one's; constraints, actuators and the choice of θ stay.

        The general edit, for whatever can be made of `robot.model`. Refused where a constraint would lose its
        meaning.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_actuators("joint_1")
        >>> bare = robot.with_model(robot.model.replaced(links=robot.model.links))
        >>> bare.motor_joints
        ['joint_1']
        """
        payload = self.selection.payload_link or None
        selection = parametric.select(model, self.selection.groups, payload)
        return Robot(model, selection, *self._after_edit(model))

    def reroot(self, link: str) -> Robot:
        """The same robot standing on another of its links."""
        return self.with_model(edit.reroot(self.model, link))

    def with_drives(self, drives: Mapping[str, Drive], full_rotor: bool = False) -> Robot:
        """Joints moved by motors behind gears: armature, effort limits and, if wanted, the whole rotor.

        With `full_rotor` each rotor that rides on a moving link is a body that turns with its joint, which
        adds the gyroscopic effect; the inertia of a rotor at rest is part of the link that carries it.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> geared = robot.with_drives({"joint_2": Drive(gear_ratio=100, rotor_inertia=1e-5)})
        >>> print((geared.mass_matrix([0, 0]) - robot.mass_matrix([0, 0])).round(6))
        [[0.  0. ]
         [0.  0.1]]
        """
        return self.with_model(with_drives(self.model, drives, full_rotor))

    def with_flexible_joints(
        self, stiffness: float | Mapping[str, float], damping: float | Mapping[str, float] = 0.0
    ) -> Robot:
        """Each chosen joint becomes two in series: `<joint>_motor` and the spring `<joint>`.

        The motor turns by θ against the joint's armature and friction, within its limits; the spring by δ,
        with stiffness (N·m/rad) and damping (N·m·s/rad) of its own; the link is at θ + δ, which
        `link_positions` gives. A number holds for every joint. Armatures must be above zero.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_drives({"joint_2": Drive(100, rotor_inertia=1e-5)})
        >>> flexible = robot.with_flexible_joints({"joint_2": 500.0})
        >>> flexible.joint_names, flexible.motor_joints
        (['joint_1', 'joint_2_motor', 'joint_2'], ['joint_1', 'joint_2_motor'])
        >>> print(flexible.link_positions([0.1, 0.2, 0.05]))
        [0.1  0.25]
        """
        return self.with_model(flexible.with_flexible_joints(self.model, stiffness, damping))

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the robot as a URDF file; reading it gives the same dynamics.

        Contacts, own equations and a choice of actuators have no place there: a warning names them.
        """
        from helicoid.model.urdf.writer import write_urdf

        lost = [repr(one.name) for one in self.added]
        lost += ["the choice of actuators"] if self.actuators is not None else []
        if lost:
            text = f"a URDF cannot state {', '.join(lost)}: add it again after loading"
            warnings.warn(DoubtfulModelWarning(text), stacklevel=2)
        write_urdf(self.model, path)
