"""Collision checking of a robot: enclosing capsules and spheres of its links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from helicoid.robot.assembly import Assembly
from helicoid.robot.collision.capsules import Capsules, fit_capsules
from helicoid.robot.collision.link_shapes import GeometryKind
from helicoid.robot.collision.spheres import Spheres, fit_spheres

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot


class CollisionChecks(Assembly):
    """Base of `Robot` with what its collision geometry is asked for."""

    @property
    def _robot(self) -> Robot:
        return cast("Robot", self)

    def capsules(self, geometry: Literal["collision", "visual"] = "collision") -> Capsules:
        """Capsules around the shapes of all links: a sequence that prints as a table; computed once.

        Spheres and capsules (also as a cylinder between two spheres) are taken exactly; around cylinders,
        boxes and meshes it is the smallest capsule found that encloses them, and the table has its
        excess volume. Capsules inside of another one of their link are left out.
        `problem.add_self_collision` uses them, `hc.view` shows them. Meshes need trimesh:
        `pip install 'helicoid[view]'`.

        Raises:
            InputError: there is no such geometry, or a mesh is not found.

        >>> import helicoid as hc
        >>> capsules = hc.load("planar_2r").capsules("visual")
        >>> print(round(capsules.excess, 2), capsules.of("tip"))
        0.01 ()
        """
        return self.memo(("capsules", geometry), lambda: fit_capsules(self._robot, geometry))

    def spheres(self, tolerance: float = 0.01, geometry: GeometryKind | None = None) -> Spheres:
        """Spheres that contain the collision geometry of every link and reach beyond it by `tolerance` (m).

        Few of them, chosen greedily; that they contain all of the geometry is proven by an octree whose cells
        are each outside of it or inside of one sphere. Of a mesh the convex hull is contained, which reading
        needs trimesh: `pip install 'helicoid[view]'`. They are computed once and cached on disk.
        `geometry` None is the collision geometry, or the visual one of a description that has no other.

        Raises:
            InputError: there is no such geometry, a mesh is not found, or the tolerance is below 0.1 mm.

        >>> import helicoid as hc
        >>> spheres = hc.load("planar_2r").spheres(tolerance=0.02)
        >>> spheres.links, spheres.centers.shape == (len(spheres), 3)
        (('base_link', 'link_1', 'link_2'), True)
        """
        key = "spheres", float(tolerance) if isinstance(tolerance, (int, float)) else id(tolerance), geometry
        return self.memo(key, lambda: fit_spheres(self._robot, tolerance, geometry))
