"""Collision checking of a robot: enclosing capsules and spheres of its links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from helicoid.robot.assembly import Assembly
from helicoid.robot.collision.capsules import Capsules, fit_capsules
from helicoid.robot.collision.distances.checker import Proximity, checked_length, checked_scene, checker
from helicoid.robot.collision.distances.self_pairs import SelfCollisionPairs
from helicoid.robot.collision.link_shapes import GeometryKind
from helicoid.robot.collision.spheres import Spheres, fit_spheres
from helicoid.robot.collision.spheres.spheres import Tolerance

if TYPE_CHECKING:
    from helicoid.robot.collision.scene import Scene
    from helicoid.robot.robot import Robot


class CollisionChecks(Assembly):
    """Base of `Robot` with its queries of collision geometry."""

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

    def spheres(self, tolerance: Tolerance = 0.01, geometry: GeometryKind | None = None) -> Spheres:
        """Spheres that contain the collision geometry of every link and reach beyond it by `tolerance` (m).

        Few of them, chosen greedily; that they contain all of the geometry is proven by an octree whose cells
        are each outside of it or inside of one sphere. Of a mesh the convex hull is contained, which reading
        needs trimesh: `pip install 'helicoid[view]'`. They are computed once and cached on disk.
        `tolerance` is one number or one for each link with geometry, `{link: tolerance}`.
        `geometry` None is the collision geometry, or the visual one of a description that has no other.

        Raises:
            InputError: there is no such geometry, a mesh is not found, or the tolerance is below 0.1 mm.

        >>> import helicoid as hc
        >>> spheres = hc.load("planar_2r").spheres(tolerance=0.02)
        >>> spheres.links, spheres.centers.shape == (len(spheres), 3)
        (('base_link', 'link_1', 'link_2'), True)
        """
        key: Any = id(tolerance)
        if isinstance(tolerance, (int, float)):
            key = float(tolerance)
        elif isinstance(tolerance, Mapping):
            key = tuple((link, repr(one)) for link, one in sorted(tolerance.items()))
        return self.memo(("spheres", key, geometry), lambda: fit_spheres(self._robot, tolerance, geometry))

    def distance(
        self,
        q: ArrayLike,
        scene: Scene | None = None,
        *,
        gradient: bool = False,
        self_collision: bool = True,
        geometry: GeometryKind | None = None,
    ) -> Any:
        """Signed distance (m) of the robot to a scene and to itself, at q (nq) or at many (N, nq).

        The least over all pairs of a link, or of what the robot carries, and an object or another link:
        exact where they are apart; negative by the penetration depth where they overlap. Links count with
        their collision shapes, meshes with their convex hulls. Pairs that are not checked: on one body or
        neighbouring ones, both fixed to the world, that always overlap (see `self_collision_pairs`), disabled
        by the SRDF, or that `scene.allow` names.
        With `gradient` also ∂d/∂v, (nv) or (N, nv): d(q ⊕ v dt) ≈ d + (∂d/∂v) · v dt. Infinite where there
        is no pair. Compiled C, in threads for batches; nothing is compiled again for another robot or scene.

        Raises:
            InputError: q is not finite or has another size, or the robot has no geometry.

        >>> import helicoid as hc
        >>> robot, scene = hc.load("planar_2r"), hc.Scene()
        >>> scene.add("ball", hc.Sphere(0.1), pose=[0.5, 0, 0.5])
        >>> robot.distance([0.0, 0.0], scene) > 0, robot.distance([[0.0, 0.0], [0.5, 0.0]], scene).shape
        (True, (2,))
        """
        return checker(self._robot, geometry).distance(
            q, checked_scene(scene), bool(self_collision), bool(gradient)
        )

    def in_collision(
        self,
        q: ArrayLike,
        scene: Scene | None = None,
        *,
        margin: float = 0.0,
        self_collision: bool = True,
        geometry: GeometryKind | None = None,
    ) -> Any:
        """Whether the robot is nearer than `margin` (m) to a scene or to itself, at q (nq) or many (N, nq).

        As `distance(q, scene) < margin`, and faster: it ends with the first pair that is.

        >>> import helicoid as hc
        >>> robot, scene = hc.load("planar_2r"), hc.Scene()
        >>> scene.add("ball", hc.Sphere(0.3), pose=[1.0, 0, 0])
        >>> robot.in_collision([0.0, 0.0], scene)
        True
        """
        return checker(self._robot, geometry).in_collision(
            q, checked_scene(scene), bool(self_collision), checked_length("margin", margin)
        )

    def closest(
        self,
        q: ArrayLike,
        scene: Scene | None = None,
        *,
        within: float = np.inf,
        self_collision: bool = True,
        geometry: GeometryKind | None = None,
    ) -> list[Proximity]:
        """Nearest pairs at q (nq): one entry for each pair of names within a distance, nearest first.

        Each has the signed distance, the two names, the nearest points, the normal and the gradient.
        """
        return checker(self._robot, geometry).closest(
            q, checked_scene(scene), bool(self_collision), checked_length("distance within", within)
        )

    def self_collision_pairs(self, geometry: GeometryKind | None = None) -> SelfCollisionPairs:
        """Pairs of links: `checked`, `never` and `always` in contact, `disabled`, `neighbours`.

        Whether links with up to three coordinates between them never or always meet is proven by bounds on
        how far joints move them, not by samples; what is not proven within some thousand distances is
        checked.

        >>> import helicoid as hc
        >>> pairs = hc.load("planar_2r").self_collision_pairs()
        >>> pairs.neighbours
        (('base_link', 'link_1'), ('link_1', 'link_2'))
        """
        return checker(self._robot, geometry).self_pairs
