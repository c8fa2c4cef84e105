"""Constraints of a robot: kinematic loops of its model, contacts with the world, user equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.arrays import float_array
from helicoid.dynamics.constraints.contacts import contact
from helicoid.dynamics.constraints.couplings import CouplingConstraint
from helicoid.dynamics.constraints.equations import Closure, KinematicConstraint, closure, user_constraint
from helicoid.errors import InputError, ModelError
from helicoid.model.connections.loops import KinematicLoop, LoopKind, placement
from helicoid.model.model import Model
from helicoid.model.parts import Placement


@dataclass(frozen=True, eq=False)
class Constraints(Sequence[KinematicConstraint]):
    """The constraints of a robot, in order: loops and couplings of the model, then those that were `added`.

    Immutable: each method returns other constraints, checked, on a model of their own.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r").with_contact("tip", kind="normal")
    >>> [one.name for one in robot.constraints], robot.constraints.rows
    (['tip_contact'], 1)
    """

    model: Model
    added: tuple[KinematicConstraint, ...] = ()

    @cached_property
    def _all(self) -> tuple[KinematicConstraint, ...]:
        return (*map(closure, self.model.loops), *map(CouplingConstraint, self.model.couplings), *self.added)

    @overload
    def __getitem__(self, k: int) -> KinematicConstraint: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[KinematicConstraint, ...]: ...
    def __getitem__(self, k: int | slice) -> KinematicConstraint | tuple[KinematicConstraint, ...]:
        return self._all[k]

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return f"Constraints({', '.join(one.name for one in self)})"

    @property
    def rows(self) -> int:
        """Number of equations, the rows of A."""
        return sum(one.rows for one in self)

    def with_loop(
        self,
        name: str | None,
        kind: LoopKind,
        links: tuple[str, str],
        origins: tuple[ArrayLike, ArrayLike],
        axes: tuple[ArrayLike | None, ArrayLike | None],
    ) -> Constraints:
        """With a loop closure of two links; see `Robot.close_loop`."""
        if kind != "line" and any(axis is not None for axis in axes):
            raise ModelError(f"only a loop of kind 'line' has an axis, and this one is {kind!r}")
        named = name or self._fresh_name("_".join(links))
        a = placement(origins[0], axes[0], f"loop {named!r}: origin_a")
        b = placement(origins[1], axes[0] if axes[1] is None else axes[1], f"loop {named!r}: origin_b")
        loop = KinematicLoop(named, kind, *links, a, b)
        return Constraints(replace(self.model, loops=(*self.model.loops, loop)), self.added)._checked()

    def with_contacts(
        self,
        name: str | None,
        link: str,
        kind: Any,
        points: Array,
        anchors: list[Placement],
        normal: ArrayLike,
    ) -> Constraints:
        """With contacts of points of a link, each at its anchor in the world; see `Robot.with_contact`."""
        base, added = name or f"{link}_contact", list(self.added)
        for k, (point, anchor) in enumerate(zip(points, anchors, strict=True)):
            named = base if name and len(points) == 1 else self._fresh_name(base, added, k)
            added.append(contact(named, link, kind, point, anchor, numbers("normal", normal)))
        return Constraints(self.model, tuple(added))._checked()

    def with_equations(self, name: str | None, **written: Callable[[Expression], Any] | None) -> Constraints:
        """With user equations, by their kind; see `Robot.constrain`."""
        added = list(self.added)
        for kind, equation in written.items():
            if equation is not None:
                added.append(
                    user_constraint(self.model, kind, equation, self._fresh_name(name or kind, added))
                )
        return Constraints(self.model, tuple(added))._checked()

    def on(self, model: Model) -> Constraints:
        """The same constraints on an edited model; refused where one refers to what is gone."""
        for one in self.added:
            in_world = isinstance(one, Closure) and one.link_a is None
            if in_world and not model.floating and model.root != self.model.root:
                raise ModelError(
                    f"contact {one.name!r} is with the world, which this edit would move: edit first"
                )
            one.check(model)
        return Constraints(model, self.added)

    def _checked(self) -> Constraints:
        names = [one.name for one in self]
        for one in self:
            one.check(self.model)
            if names.count(one.name) > 1:
                raise ModelError(f"two constraints are called {one.name!r}; names must be unique")
        return self

    def _fresh_name(self, base: str, added: Iterable[KinematicConstraint] = (), first: int = 0) -> str:
        names = {one.name for one in (*self, *added)}
        number, name = first, base if first == 0 else f"{base}_{first}"
        while name in names:
            number += 1
            name = f"{base}_{number}"
        return name


def contact_points(point: ArrayLike) -> Array:
    """(n, 3) from one point or several."""
    points = np.atleast_2d(numbers("point", point))
    if points.ndim != 2 or points.shape[1:] != (3,):
        raise InputError(f"with_contact: point is three numbers or (n, 3), got shape {np.shape(point)}")
    return points


def anchors_of_pose(points: Array, T: Array) -> list[Placement]:
    """Pose of the link's axes at each point, for a link at the pose T."""
    return [Placement(T[:3, :3], T[:3, :3] @ point + T[:3, 3]) for point in points]


def anchors_at(link: str, points: Array, kind: str, at: ArrayLike | None) -> list[Placement]:
    """Pose of the link's axes at each point in contact, `at` points of the world or a pose."""
    if at is None and kind in ("normal", "stick"):
        at = np.zeros(3)
    if at is None:
        raise InputError(f"with_contact: give the place of the contact of {link!r}, by q=... or at=...")
    given = numbers("at", at)
    if given.shape == (4, 4) and len(points) == 1:
        return [placement(given, None, f"contact of {link!r}: at")]
    if kind == "surface" or given.shape not in ((3,), points.shape):
        raise InputError(
            f"with_contact: at takes a point of the world for each point of the link, or for one point a "
            f"4 × 4 pose, which a surface needs; got shape {given.shape}"
        )
    return [Placement(translation=where) for where in np.broadcast_to(given, points.shape)]


def numbers(name: str, value: ArrayLike) -> Array:
    """An argument of `with_contact` as a float64 array."""
    return float_array(value, f"with_contact: {name} must be numbers")
