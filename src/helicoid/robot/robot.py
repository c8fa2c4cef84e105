"""The class Robot, with the edits that return another robot. Robots are immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.dynamics import parametric
from helicoid.dynamics.constraints.contacts import ContactKind
from helicoid.dynamics.friction import stated_names
from helicoid.errors import DoubtfulModelWarning, InputError, ModelError, warn
from helicoid.model.connections.elastic import ElasticElement
from helicoid.model.connections.loops import LoopKind, placement
from helicoid.model.edits import flexible
from helicoid.model.edits import structure as edit
from helicoid.model.edits.drives import Drive, with_drives
from helicoid.model.edits.joint_values import JointValues, with_joints
from helicoid.model.model import GRAVITY, Model
from helicoid.robot.collision.collision_checks import CollisionChecks
from helicoid.robot.constraints import Constraints, anchors_at, anchors_of_pose, contact_points


def as_robot(given: Any, taker: str) -> Robot:
    """The argument, if it is a robot; raises with the name of the `taker` if not."""
    if not isinstance(given, Robot):
        raise InputError(f"{taker} takes a robot, such as hc.load('panda'); got {given!r}")
    return given


class Robot(CollisionChecks):
    """A robot: its model, and its kinematics and dynamics as `Function`s.

    Every function is called with NumPy vectors, with batches (N, n), or with CasADi expressions.

    Args:
        model: links and joints.
        selection: which parameters are inputs; see `parametric`.
        added: constraints beside the loops of the model; see `with_contact` and `constrain`.
        actuators: the joints that have one, None for all that can; see `with_actuators`.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> robot.mass_matrix(robot.neutral()).shape
    (2, 2)
    """

    def parametric(self, *groups: str, payload_link: str | None = None) -> Robot:
        """The same robot whose dynamics take one more input, `theta`.

        `groups`: any of "inertia", "friction", "armature", "gravity", "payload", in the order of theta. The
        result's `parameters` holds θ's names and nominal values. A payload is ten inertial parameters in
        the frame of `payload_link` (by default the only tip).

        >>> import helicoid as hc
        >>> robot = hc.load("double_pendulum").parametric("gravity")
        >>> robot.parameters.names
        ('gravity.x', 'gravity.y', 'gravity.z')
        """
        selection = parametric.select(self.model, groups, payload_link)
        return Robot(self.model, selection, self.constraints.added, self.actuators)

    def chain(self, root: str, tip: str) -> Robot:
        """The joints between two links, with the links fixed to them; moving side branches are removed.

        A warning has their mass: `lock` their joints first to keep it.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> robot.chain("base_link", "tip").joint_names, robot.chain("tip", "base_link").joint_names
        (['joint_1', 'joint_2'], ['joint_2', 'joint_1'])
        """
        return self.with_model(edit.chain(self.model, root, tip))

    def lock(self, positions: Mapping[str, ArrayLike]) -> Robot:
        """Joints fixed at given coordinates (rad, m), by name; their bodies merge.

        >>> import helicoid as hc
        >>> hc.load("planar_2r").lock({"joint_2": 0.5}).joint_names
        ['joint_1']
        """
        return self.with_model(edit.lock(self.model, positions))

    def with_payload(
        self, link: str, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike | None = None
    ) -> Robot:
        """A body fixed to a link: its mass (kg), center of mass (m) and 3 × 3 inertia about that (kg·m²).

        Both are in the link's frame. Without them it is a point mass at the frame's origin.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> round(robot.with_payload("tip", 2.0).mass - robot.mass, 9)
        2.0
        """
        moments = np.zeros((3, 3)) if inertia is None else inertia
        return self.with_model(edit.with_payload(self.model, link, mass, com, moments))

    def with_parameters(self, pi: ArrayLike) -> Robot:
        """Other inertial parameters π, in the order of `parameters.names`: 10 per moving body.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> heavier = robot.with_parameters(1.1 * robot.parameters.values)
        >>> round(heavier.mass / robot.mass, 9)
        1.1
        """
        return self.with_model(edit.with_parameters(self.model, pi))

    def with_joints(self, **values: JointValues) -> Robot:
        """Other numbers in the joints; constraints, actuators and the choice of θ stay.

        Per velocity: `damping` (N·m·s/rad), `friction` (Coulomb, N·m), `armature` (kg·m²), `static_friction`
        (N·m), `stribeck_velocity` (rad/s), `stiffness` (N·m/rad), and the limits `velocity` (rad/s) and
        `effort` (N·m); further terms of friction by their names in the table of `helicoid.dynamics.friction`
        (`offset`, `root`, `load`, ...). Per coordinate: `rest` (equilibrium of the spring) and the limits
        `lower` and `upper` (rad); m and N instead along an axis.

        Each is a number for all joints, an array with an entry for each velocity (coordinate), or a mapping
        from joint names to what those joints get while the others stay. A number or an array is the
        total of each coordinate, so that mimic joints then add nothing of their own.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_joints(damping=0.3, friction=[0.5, 0.4], effort={"joint_2": 20})
        >>> print(robot.inverse_dynamics([0, 0], [1, 0], [0, 0], friction=True, gravity=[0, 0, 0]))
        [0.8 0. ]
        """
        return self.with_model(with_joints(self.model, values, stated_names()))

    def with_model(self, model: Model) -> Robot:
        """Another model in place of this one's; constraints, actuators and the choice of θ stay.

        The general edit, for any change of `robot.model`. Refused where a constraint would refer to links
        that do not exist.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_actuators("joint_1")
        >>> bare = robot.with_model(robot.model.replaced(links=robot.model.links))
        >>> bare.motor_joints
        ['joint_1']
        """
        selection = parametric.select(model, self.theta.groups, self.theta.payload_link or None)
        names = {joint.name for joint in model.independent_joints}
        kept = None if self.actuators is None else tuple(name for name in self.actuators if name in names)
        return Robot(model, selection, self.constraints.on(model).added, kept)

    def with_frame(self, name: str, link: str, pose: ArrayLike = (0.0, 0.0, 0.0)) -> Robot:
        """An additional frame, such as a tool centre point: a massless link fixed to another.

        `pose` is its pose in the frame of `link`: a point (m) or a 4 × 4 matrix. It is a frame like any link:
        for `pose`, `jacobian`, `with_payload`, costs and `to_urdf`.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_frame("tcp", "tip", [0, 0, 0.1])
        >>> print(robot.pose("tcp")([0, 0])[:3, 3] - robot.pose("tip")([0, 0])[:3, 3])
        [0.  0.  0.1]
        """
        where = placement(pose, None, f"frame {name!r}: its pose")
        return self.with_model(edit.with_frame(self.model, name, link, where))

    def reroot(self, link: str) -> Robot:
        """The same robot with another of its links as the root."""
        return self.with_model(edit.reroot(self.model, link))

    def with_drives(self, drives: Mapping[str, Drive], full_rotor: bool = False) -> Robot:
        """Joints moved by motors behind gears: armature, effort limits and, as an option, the whole rotor.

        With `full_rotor` each rotor on a moving link is a body that turns with its joint, which
        adds the gyroscopic effect; the inertia of a rotor at rest is part of the link that carries it.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> geared = robot.with_drives({"joint_2": hc.Drive(gear_ratio=100, rotor_inertia=1e-5)})
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
        `link_positions` gives. A number applies to every joint. Armatures must be above zero.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").with_drives({"joint_2": hc.Drive(100, rotor_inertia=1e-5)})
        >>> flexible = robot.with_flexible_joints({"joint_2": 500.0})
        >>> flexible.joint_names, flexible.motor_joints
        (['joint_1', 'joint_2_motor', 'joint_2'], ['joint_1', 'joint_2_motor'])
        >>> print(flexible.link_positions([0.1, 0.2, 0.05]))
        [0.1  0.25]
        """
        return self.with_model(flexible.with_flexible_joints(self.model, stiffness, damping))

    def with_spring(
        self,
        link_a: str,
        link_b: str,
        stiffness: float,
        rest_length: float = 0.0,
        damping: float = 0.0,
        *,
        point_a: ArrayLike = (0.0, 0.0, 0.0),
        point_b: ArrayLike = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> Robot:
        """The robot with a spring and damper between a point of one link and a point of another.

        U = ½ k (d - d₀)² with the distance d of the points, `stiffness` k (N/m) and `rest_length` d₀ (m);
        `damping` (N·s/m) acts against the rate of d, where friction counts. Points are in the frames of the
        links (m); the link "world" is the world. A gravity compensator, a cable, a leg spring: it counts in
        dynamics, energy, simulation, MPC and the written URDF, and `parametric("elastic")` makes its
        numbers inputs.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> held = robot.with_spring("world", "link_1", 250.0, 0.4, point_a=(0, 0, 1), point_b=(0.5, 0, 0))
        >>> held.elastic_torque([0.0, 0.0]).shape, held.parametric("elastic").theta.names[0]
        ((2,), 'spring_1.stiffness')
        """
        taken = {one.name for one in self.model.elastic}
        numbered = (f"spring_{k}" for k in range(1, len(taken) + 2))
        name = next(one for one in numbered if one not in taken) if name is None else name
        ends: dict[str, Any] = {"point_a": point_a, "point_b": point_b}
        element = ElasticElement(name, link_a, link_b, stiffness, rest_length, damping, **ends)
        return self.with_model(replace(self.model, elastic=(*self.model.elastic, element)))

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the robot as a URDF file; reading it gives the same dynamics.

        A URDF has no contacts, user equations and choice of actuators: a warning names them.
        """
        from helicoid.model.urdf.writer import write_urdf

        lost = [repr(one.name) for one in self.constraints.added]
        lost += ["the choice of actuators"] if self.actuators is not None else []
        lost += [f"the coupling {one.name!r}" for one in self.model.couplings]
        lost += [f"tendon {one.name!r}" for one in self.model.tendons]
        lost += [f"actuator {one.name!r}" for one in self.model.actuators]
        lost += ["the forces of a fluid"] if self.model.fluid else []
        lost += [f"gravity compensation of {x.name!r}" for x in self.model.links if x.gravity_compensation]
        lost += [f"gravity {self.model.gravity}"] if self.model.gravity != GRAVITY else []
        if lost:
            text = f"a URDF cannot state {', '.join(lost)}: add it again after loading"
            warn(DoubtfulModelWarning(text))
        links = self.model.links
        own = [x.name for x in links if any(y.kind == "ellipsoid" for y in (*x.visuals, *x.collisions))]
        if own:
            text = f"only Helicoid reads the <ellipsoid> of links {', '.join(own)} in a URDF"
            warn(DoubtfulModelWarning(text))
        write_urdf(self.model, path)

    def to_mjcf(self, path: str | os.PathLike[str]) -> None:
        """Write the robot as an MJCF file, in which MuJoCo has the same dynamics.

        Mimic joints, screws and loops are equalities, which MuJoCo keeps softly; meshes are convex hulls;
        visual shapes are left out. A warning names what MJCF cannot state.

        Raises:
            ModelError: a joint or an inertia is none that MuJoCo has.
        """
        from helicoid.robot.loading import write_mjcf

        write_mjcf(self, path)

    # Constraints --------------------------------------------------------------------------------------

    def close_loop(
        self,
        link_a: str,
        link_b: str,
        kind: LoopKind,
        origin_a: ArrayLike = (0.0, 0.0, 0.0),
        origin_b: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike | None = None,
        axis_b: ArrayLike | None = None,
        name: str | None = None,
    ) -> Robot:
        """The robot with two links joined: "point" (3 rows), "line" (5, a hinge) or "pose" (6).

        `origin_a` and `origin_b` are the frames that are constrained to coincide: points (m) or 4 × 4 poses
        in the frames of their links. The hinge of a "line" is the z axis of both frames, or `axis` in the
        frame of `link_a` and `axis_b` in that of `link_b`, the same numbers when not given.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").close_loop("base_link", "tip", "point", origin_a=(1, 0, 1))
        >>> robot.constraint_jacobian(robot.neutral()).shape
        (3, 2)
        """
        held = self.constraints.with_loop(name, kind, (link_a, link_b), (origin_a, origin_b), (axis, axis_b))
        return self._constrained(held)

    def with_contact(
        self,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        kind: ContactKind = "point",
        *,
        q: ArrayLike | None = None,
        at: ArrayLike | None = None,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        name: str | None = None,
    ) -> Robot:
        """The robot with a contact of a link: "point" or "stick" (3 rows), "surface" (6), "normal" (1).

        `point` is in the frame of the link (m); several, as (n, 3), give a contact each (corners of a foot).
        It is fixed where it is at the configuration `q`, or `at` a point of the world; a surface, which must
        not turn either, at a 4 × 4 pose of the link's axes. A "normal" contact slides without friction in the
        plane through `at`, by default through the origin; a "stick" contact is somewhere in that plane and
        does not slide. Rows are along the axes of a frame whose z is `normal`.

        >>> import helicoid as hc
        >>> wall = dict(kind="normal", normal=(1, 0, 0), at=(1, 0, 0))
        >>> hc.load("planar_2r").with_contact("tip", **wall).constraint_jacobian([0.0, 1.0])
        array([[-0.673177, -0.673177]])
        """
        points = contact_points(point)
        if q is not None and at is not None:
            raise InputError("with_contact takes q or at, not both: each says where the point is held")
        if q is None:
            posed = anchors_at(link, points, kind, at)
        else:
            posed = anchors_of_pose(points, np.asarray(self.pose(link)(q)))
        return self._constrained(self.constraints.with_contacts(name, link, kind, points, posed, normal))

    def constrain(
        self,
        holonomic: Callable[[Expression], Any] | None = None,
        pfaffian: Callable[[Expression], Any] | None = None,
        name: str | None = None,
    ) -> Robot:
        """The robot with user-defined constraints: holonomic φ(q) = 0, Pfaffian A(q) v = 0, or both.

        Each is a Python function of a CasADi symbol q that returns an expression or a list of rows.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").constrain(holonomic=lambda q: q[0] + 2 * q[1] - 1)
        >>> robot.constraint_jacobian([0.0, 0.0])
        array([[1., 2.]])
        """
        if holonomic is None and pfaffian is None:
            raise InputError("constrain needs holonomic=..., pfaffian=... or both, as functions of q")
        return self._constrained(
            self.constraints.with_equations(name, holonomic=holonomic, pfaffian=pfaffian)
        )

    def _constrained(self, constraints: Constraints) -> Robot:
        return Robot(constraints.model, self._selection, constraints.added, self.actuators)

    def with_actuators(self, *joints: str) -> Robot:
        """The robot with actuators at these joints only; see `selection_matrix`."""
        able = [joint.name for joint in self.model.independent_joints]
        for name in joints:
            if not isinstance(name, str):
                raise InputError(
                    f"with_actuators takes names of joints one by one, with_actuators({able[0]!r}, ...); got "
                    f"{name!r}. For a list write with_actuators(*names)"
                )
            if name not in able:
                raise ModelError(
                    f"no joint with a coordinate is called {name!r}; there are: {', '.join(able)}"
                )
        return Robot(self.model, self._selection, self.constraints.added, tuple(joints))
