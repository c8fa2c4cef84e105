"""What holds a robot back: loops, contacts with the world, equations of its own; and what drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.dynamics.constraints.contacts import ContactKind, contact
from helicoid.dynamics.constraints.equations import Closure, Constraint, closure, user_constraint
from helicoid.dynamics.kinematics import pose
from helicoid.errors import InputError, ModelError
from helicoid.model.flexible import has_motor
from helicoid.model.loops import Loop, LoopKind, placement
from helicoid.model.model import Model
from helicoid.model.parts import Placement
from helicoid.robot.base import RobotBase
from helicoid.robot.function import Options, Recipe, RobotFunction

_R = TypeVar("_R", bound="Restraints")


class Restraints(RobotBase):
    """Ways to constrain a robot: each gives another robot."""

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """Loops of the model, then contacts and equations in the order in which they were added."""
        return (*map(closure, self.model.loops), *self.added)

    @cached_property
    def selection_matrix(self) -> Array:
        """S, actuators × nv, with Sᵀ τ the force of the actuators: by default all but a floating base."""
        return np.asarray(np.eye(self.nv)[list(self.actuated)])

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """The velocities that an actuator drives, as indices."""
        chosen: list[int] = []
        for body in self.model.bodies:
            joint = body.joint
            able = has_motor(joint) if self.actuators is None else joint.name in self.actuators
            if joint.mimic is None and able:
                chosen.extend(range(body.v.start, body.v.stop))
        return tuple(chosen)

    @cached_property
    def unactuated(self) -> tuple[int, ...]:
        """The velocities that no actuator drives, as indices: a floating base, passive joints."""
        return tuple(k for k in range(self.nv) if k not in self.actuated)

    def close_loop(
        self: _R,
        link_a: str,
        link_b: str,
        kind: LoopKind,
        origin_a: ArrayLike = (0.0, 0.0, 0.0),
        origin_b: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike | None = None,
        axis_b: ArrayLike | None = None,
        name: str | None = None,
    ) -> _R:
        """The robot with two links joined: "point" (3 rows), "line" (5, a hinge) or "pose" (6).

        `origin_a` and `origin_b` are where the frames sit that are held together: points (m) or 4 × 4 poses,
        seen from their links. The hinge of a "line" is the z axis of both frames, or `axis` seen from
        `link_a` and `axis_b` seen from `link_b`, the same numbers when not given.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").close_loop("base_link", "tip", "point", origin_a=(1, 0, 1))
        >>> robot.constraint_jacobian(robot.neutral()).shape
        (3, 2)
        """
        if kind != "line" and (axis is not None or axis_b is not None):
            raise ModelError(f"only a loop of kind 'line' has an axis, and this one is {kind!r}")
        named = name or self._fresh_name(f"{link_a}_{link_b}")
        a = placement(origin_a, axis, f"loop {named!r}: origin_a")
        b = placement(origin_b, axis if axis_b is None else axis_b, f"loop {named!r}: origin_b")
        loop = Loop(named, kind, link_a, link_b, a, b)
        return self._held(replace(self.model, loops=(*self.model.loops, loop)), self.added)

    def with_contact(
        self: _R,
        link: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        kind: ContactKind = "point",
        *,
        q: ArrayLike | None = None,
        at: ArrayLike | None = None,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        name: str | None = None,
    ) -> _R:
        """The robot with a link held to the world: "point" or "stick" (3 rows), "surface" (6), "normal" (1).

        `point` is seen from the link (m); several, as (n, 3), give a contact each: the corners of a foot. It
        is held where it is at the configuration `q`, or `at` a point of the world; a surface, which may not
        turn either, at a 4 × 4 pose of the link's axes. A "normal" contact slides without friction in the
        plane through `at`, by default through the origin; a "stick" contact is somewhere in that plane and
        does not slide. Rows are along the axes of a frame whose z is `normal`.

        >>> import helicoid as hc
        >>> wall = dict(kind="normal", normal=(1, 0, 0), at=(1, 0, 0))
        >>> hc.load("planar_2r").with_contact("tip", **wall).constraint_jacobian([0.0, 1.0])
        array([[-0.673177, -0.673177]])
        """
        points = np.atleast_2d(_numbers("point", point))
        if points.ndim != 2 or points.shape[1:] != (3,):
            raise InputError(f"with_contact: point is three numbers or (n, 3), got shape {np.shape(point)}")
        poses = self._anchors(link, points, kind, q, at)
        base, added = name or f"{link}_contact", list(self.added)
        for k, (one, posed) in enumerate(zip(points, poses, strict=True)):
            named = base if name and len(points) == 1 else self._fresh_name(base, added, k)
            added.append(contact(named, link, kind, one, posed, _numbers("normal", normal)))
        return self._held(self.model, added)

    def constrain(
        self: _R,
        holonomic: Callable[[Expression], Any] | None = None,
        pfaffian: Callable[[Expression], Any] | None = None,
        name: str | None = None,
    ) -> _R:
        """The robot with equations of its own: φ(q) = 0, or A(q) v = 0 that no φ has, or both.

        Each is a Python function of a CasADi symbol q that gives an expression or a list of rows.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r").constrain(holonomic=lambda q: q[0] + 2 * q[1] - 1)
        >>> robot.constraint_jacobian([0.0, 0.0])
        array([[1., 2.]])
        """
        if holonomic is None and pfaffian is None:
            raise InputError("constrain needs holonomic=..., pfaffian=... or both, as functions of q")
        added = list(self.added)
        for kind, written in (("holonomic", holonomic), ("pfaffian", pfaffian)):
            if written is not None:
                named = self._fresh_name(name or kind, added)
                added.append(user_constraint(self.model, kind, written, named))
        return self._held(self.model, added)

    def with_actuators(self: _R, *joints: str) -> _R:
        """The robot of which only these joints have actuators: what `selection_matrix` says."""
        able = [joint.name for joint in self.model.independent_joints]
        for name in joints:
            if name not in able:
                raise ModelError(
                    f"no joint with a coordinate is called {name!r}; there are: {', '.join(able)}"
                )
        return type(self)(self.model, self.selection, self.added, tuple(joints))

    # Inside -------------------------------------------------------------------------------------------

    def _held(self: _R, model: Model, added: Iterable[Constraint]) -> _R:
        robot = type(self)(model, self.selection, tuple(added), self.actuators)
        names = [one.name for one in robot.constraints]
        for one in robot.constraints:
            one.check(model)
            if names.count(one.name) > 1:
                raise ModelError(f"two constraints are called {one.name!r}; names must be unique")
        return robot

    def _after_edit(self, model: Model) -> tuple[tuple[Constraint, ...], tuple[str, ...] | None]:
        """The added constraints and the actuators of an edited model; refused where one loses its meaning."""
        for one in self.added:
            in_world = isinstance(one, Closure) and one.link_a is None
            if in_world and not model.floating and model.root != self.model.root:
                raise ModelError(
                    f"contact {one.name!r} is with the world, which this edit would move: edit first"
                )
            one.check(model)
        names = {joint.name for joint in model.independent_joints}
        kept = None if self.actuators is None else tuple(name for name in self.actuators if name in names)
        return self.added, kept

    def _fresh_name(self, base: str, added: Iterable[Constraint] = (), first: int = 0) -> str:
        names = {one.name for one in (*self.constraints, *added)}
        number, name = first, base if first == 0 else f"{base}_{first}"
        while name in names:
            number += 1
            name = f"{base}_{number}"
        return name

    def _anchors(
        self, link: str, points: Array, kind: str, q: ArrayLike | None, at: ArrayLike | None
    ) -> list[Placement]:
        """Where the link's axes are posed at each point when the contact holds."""
        if q is not None and at is not None:
            raise InputError("with_contact takes q or at, not both: each says where the point is held")
        if q is not None:
            T = np.asarray(self._pose(link)(q))
            return [Placement(T[:3, :3], T[:3, :3] @ point + T[:3, 3]) for point in points]
        if at is None and kind in ("normal", "stick"):
            at = np.zeros(3)
        if at is None:
            raise InputError(f"with_contact: say where {link!r} is held, by q=... or at=...")
        given = _numbers("at", at)
        if given.shape == (4, 4) and len(points) == 1:
            return [placement(given, None, f"contact of {link!r}: at")]
        if kind == "surface" or given.shape not in ((3,), points.shape):
            raise InputError(
                f"with_contact: at takes a point of the world for each point of the link, or for one point a "
                f"4 × 4 pose, which a surface needs; got shape {given.shape}"
            )
        return [Placement(translation=where) for where in np.broadcast_to(given, points.shape)]

    def _pose(self, link: str) -> RobotFunction:
        self.model.frame(link)
        recipe = Recipe("pose", pose, ("q",), (("T", (4, 4)),), physical=False, arguments=(link,))
        return self.function(recipe, Options())


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"with_contact: {name} must be numbers, got {value!r}") from error
