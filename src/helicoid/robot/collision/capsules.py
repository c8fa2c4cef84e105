"""Capsules of a robot, one around each collision shape, and the pairs that can collide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import Function
from helicoid.errors import InputError
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Link
from helicoid.model.shapes import is_solid
from helicoid.pages.tables import table
from helicoid.robot.collision.fitting import Fit, Names, fewer, fit
from helicoid.robot.collision.pairs import Pair, could_meet, distance_function, separate_pairs
from helicoid.robot.collision.shapes import PlacedCapsule

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot

Kind = Literal["collision", "visual"]


@dataclass(frozen=True, eq=False)
class FittedCapsule(PlacedCapsule):
    """A capsule around a shape of a link, in the link's frame (m).

    `held` is the volume (m³) of the shape, of a mesh that of its convex hull; `of` says which shape it is.
    """

    held: float = 0.0
    of: str = ""

    @property
    def excess(self) -> float:
        """Volume in excess of the shape (m³)."""
        return max(self.volume - self.held, 0.0)


@dataclass(frozen=True, eq=False)
class Capsules(Sequence[FittedCapsule]):
    """The capsules of a robot, as a sequence; printed, a table. `robot.capsules()` makes them.

    >>> import helicoid as hc
    >>> capsules = hc.load("planar_2r").capsules("visual")
    >>> capsules[0].link, len(capsules)
    ('base_link', 5)
    """

    robot: Robot = field(repr=False)
    shapes: tuple[FittedCapsule, ...]

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, which: int) -> FittedCapsule:  # type: ignore[override]
        return self.shapes[which]

    def __iter__(self) -> Iterator[FittedCapsule]:
        return iter(self.shapes)

    def of(self, link: str) -> tuple[FittedCapsule, ...]:
        """The capsules of one link."""
        return tuple(shape for shape in self.shapes if shape.link == link)

    @property
    def excess(self) -> float:
        """Excess volume of all capsules, relative to the volume of the shapes."""
        held = sum(shape.held for shape in self.shapes)
        return sum(shape.excess for shape in self.shapes) / held if held else np.inf

    # Pairs ------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs that are neither on one body nor on neighbours, by their numbers in this sequence."""
        return self.robot.memo(("pairs", self), lambda: separate_pairs(self.robot.model, self.shapes))

    def could_meet(self, margin: float = 0.02) -> tuple[Pair, ...]:
        """The `pairs` that can come within a margin (m), without those that are always within it.

        The distance of each pair is sampled at random configurations within the limits, and minimised from
        the nearest of them. Pairs within the margin at 19 of 20 configurations, such as shapes around one
        joint, are not collisions and are left out.
        """
        key = "could meet", self, float(margin)
        return self.robot.memo(key, lambda: could_meet(self.robot, self.shapes, self.pairs, margin))

    def distances(self, q: Array) -> Array:
        """Distances (m) of the `pairs` at q (nq), or at many (N, nq); negative where they overlap."""
        return np.asarray(self._function(q))

    @property
    def _function(self) -> Function:
        return self.robot.memo(
            ("distances", self), lambda: distance_function(self.robot.model, self.shapes, self.pairs)
        )

    # Shown ------------------------------------------------------------------------------------------------

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                shape.link or "",
                shape.of,
                f"{100 * shape.radius:.1f}",
                f"{100 * shape.length:.1f}",
                f"{1e3 * shape.held:.3g}",
                f"{100 * shape.excess / shape.held:.0f} %" if shape.held else "–",
            )
            for shape in self.shapes
        ]

    def __repr__(self) -> str:
        rows = [_HEADS, *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADS))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([self._title, *lines])

    def _repr_html_(self) -> str:
        return table(self._title, _HEADS, self._rows())

    @property
    def _title(self) -> str:
        larger = f"{100 * self.excess:.0f} % larger than their shapes"
        return f"{len(self)} capsules of {self.robot.name}, {larger}"


_MERGE_TOLERANCE = 0.01  # of the total volume: excess up to which two capsules are merged
_HEADS = ("link", "around", "radius (cm)", "length (cm)", "shape (l)", "excess")


def fit_capsules(robot: Robot, geometry: Kind) -> Capsules:
    """See `Robot.capsules`."""
    if geometry not in ("collision", "visual"):
        raise InputError(f"capsules are fitted to 'collision' or to 'visual' geometry, got {geometry!r}")
    model: Model = robot.model
    bodies: dict[int, list[tuple[Fit, Names]]] = {}
    for link in model.links:
        body, placement = model.frame(link.name)
        for one, word in _of_link(link, geometry):
            bodies.setdefault(body, []).append((one.moved(placement), ((link.name, word),)))
    if not bodies:
        drawn = any(link.visuals for link in model.links)
        hint = "; robot.capsules('visual') takes the visual one" if geometry == "collision" and drawn else ""
        raise InputError(f"robot {robot.name!r} has no {geometry} geometry to fit capsules to{hint}")
    more = _MERGE_TOLERANCE * sum(one.volume for fits in bodies.values() for one, _ in fits)
    order = {link.name: k for k, link in enumerate(model.links)}
    shapes = [_on_link(model, *one) for fits in bodies.values() for one in fewer(fits, more)]
    return Capsules(robot, tuple(sorted(shapes, key=lambda shape: order[str(shape.link)])))


def _of_link(link: Link, geometry: Kind) -> list[tuple[Fit, str]]:
    shapes = link.collisions if geometry == "collision" else link.visuals
    solid = [shape for shape in _with_round_ends(shapes) if is_solid(shape)]
    return [(fit(shape).moved(shape.placement), _word(shape)) for shape in solid]


def _on_link(model: Model, one: Fit, names: Names) -> FittedCapsule:
    """A capsule in the frame of the first of the links whose shapes it holds."""
    link = names[0][0]
    back = model.frame(link).placement.inverse
    here = one.moved(back)
    words = dict.fromkeys(word if name == link else f"{word} of {name}" for name, word in names)
    return FittedCapsule(here.radius, here.start, here.end, link, here.held, ", ".join(words))


def _word(shape: Geometry) -> str:
    return shape.filename.rpartition("/")[2] if shape.kind == "mesh" else shape.kind


def _with_round_ends(shapes: Sequence[Geometry]) -> list[Geometry]:
    """Shapes in which a cylinder between two spheres, a common way to state a capsule, is one."""
    balls = [(shape.placement.translation, shape.size[0]) for shape in shapes if shape.kind == "sphere"]

    def rounded(shape: Geometry) -> Geometry:
        if shape.kind != "cylinder":
            return shape
        r, length = shape.size
        axis = shape.placement.rotation[:, 2] * length / 2
        ends = (shape.placement.translation + axis, shape.placement.translation - axis)
        near = 1e-6 * (r + length)
        closed = all(
            any(abs(radius - r) <= near and np.abs(center - end).max() <= near for center, radius in balls)
            for end in ends
        )
        return Geometry("capsule", shape.size, shape.placement) if closed else shape

    return [rounded(shape) for shape in shapes]
