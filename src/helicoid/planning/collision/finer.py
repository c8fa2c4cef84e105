"""Planners with finer spheres, for queries that begin or end nearer to contact than the tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from helicoid.geometry.shapes import Sphere
from helicoid.planning.collision.contacts import Contact
from helicoid.planning.collision.spheres import link_tolerances
from helicoid.robot.collision.link_shapes import link_shapes
from helicoid.robot.collision.spheres.spheres import Tolerance

if TYPE_CHECKING:
    from helicoid.planning.planner import Planner

FACTOR = 4.0  # by which tolerances become finer
_MAX_ENDS = 8  # starts and goals in collision that are looked at


class FinerPlanners:
    """The finer planners of one planner, kept for each set of links that touched.

    A sphere reaches beyond the geometry by the tolerance at most: a contact that is deeper, for two links
    than the sum of their tolerances, is one of the geometry, which finer spheres do not mend.
    """

    def __init__(self, tolerance: Tolerance | None, options: Mapping[str, Any]) -> None:
        self._tolerance, self._options = tolerance, dict(options)
        self._made: dict[frozenset[str], Planner] = {}

    def planner_for(self, planner: Planner, starts: NDArray[Any], goals: NDArray[Any]) -> Planner | None:
        """The planner for these starts and goals (n, nq); None where finer spheres are of no use."""
        tolerances = self._tolerances(planner)
        if not tolerances:
            return None
        links: set[str] = set()
        for ends in (starts, goals):
            if not planner.in_collision(ends).all():
                continue
            found = [self._links(planner.contacts(q), tolerances) for q in ends[:_MAX_ENDS]]
            promising = [one for one in found if one]
            if not promising:
                return None
            links |= promising[0]
        key = frozenset(links)
        if key not in self._made:
            finer = {link: one / (FACTOR if link in key else 1.0) for link, one in tolerances.items()}
            options = {**self._options, "adaptive": False}
            self._made[key] = type(planner)(planner.robot, tolerance=finer, **options)
        made = self._made[key]
        made.update(planner.scene)
        return made

    def _links(self, contacts: list[Contact], tolerances: Mapping[str, float]) -> set[str]:
        """Links whose spheres touch; none where a contact is one of the geometry itself."""
        found: set[str] = set()
        for contact in contacts:
            both = [link for link in (contact.link, contact.other) if link in tolerances]
            if contact.depth > sum(tolerances[link] for link in both) + 1e-6:
                return set()
            found.update(both)
        return found

    def _tolerances(self, planner: Planner) -> dict[str, float]:
        """Of the links whose geometry is not spheres; empty where all of it is."""
        shapes = link_shapes(planner.robot.model)
        if all(shape.kind == Sphere.kind for own in shapes.values() for shape in own):
            return {}
        if self._tolerance is None:
            return link_tolerances(planner.robot)
        if isinstance(self._tolerance, Mapping):
            return dict(self._tolerance)
        return dict.fromkeys(shapes, float(self._tolerance))
