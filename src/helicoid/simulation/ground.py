"""Grounds, and points of links that may touch them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.geometry.shapes import HeightField, Plane

if TYPE_CHECKING:
    from helicoid.robot.collision.scene import Scene

MAX_FRICTION = 1e6  # in place of an infinite coefficient, whose cone has no nearest point


@dataclass(frozen=True, eq=False)
class Ground:
    """A half-space below a plane, or below a height field, with Coulomb friction.

    Attributes:
        height: distance (m) of the plane from the world's origin, along its normal; added to a height field.
        friction: Coulomb's coefficient μ, zero or more; infinite for no slip.
        restitution: coefficient of restitution, 0 to 1.
        normal: direction out of the ground; need not be of unit length.
        heights: a height field (m), (rows along y, columns along x), bilinear in between and level beyond
            its border. The normal is then up.
        spacing: between points of the field (m), one for both directions or (x, y).
        origin: (x, y) of its first point (m); None puts the middle of the field at the world's origin.

    >>> Ground(friction=0.6)
    Ground(height=0.0, friction=0.6, restitution=0.0, normal=(0.0, 0.0, 1.0))
    """

    height: float = 0.0
    friction: float = 0.8
    restitution: float = 0.0
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    heights: Array | None = field(default=None, repr=False)
    spacing: float | tuple[float, float] = field(default=0.1, repr=False)
    origin: tuple[float, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _number("height", self.height, "a height (m)", lambda x: abs(x) < np.inf)
        _number("friction", self.friction, "zero or more", lambda x: x >= 0)
        _number("restitution", self.restitution, "from 0 to 1", lambda x: 0 <= x <= 1)
        normal = _vector("the normal of a ground", self.normal)
        size = float(np.linalg.norm(normal))
        if not size > 0:
            raise InputError("the normal of a ground is a direction; got zeros")
        object.__setattr__(self, "normal", tuple(float(x) for x in normal / size))
        if self.heights is not None:
            self._check_field()

    def _check_field(self) -> None:
        heights = float_array(self.heights, "heights must be numbers")
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise InputError(
                f"heights of a ground are finite (rows, columns), 2 each at least; got {heights.shape}"
            )
        if self.normal != (0.0, 0.0, 1.0):
            raise InputError("a height field has its normal up: leave normal out, or tilt the heights")
        spacing = np.broadcast_to(float_array(self.spacing, "spacing must be numbers"), (2,)).astype(float)
        if not (np.all(spacing > 0) and np.all(np.isfinite(spacing))):
            raise InputError(f"the spacing (m) of a height field is above 0; got {self.spacing!r}")
        middle = -spacing * (np.array(heights.shape[::-1]) - 1) / 2
        origin = middle if self.origin is None else float_array(self.origin, "origin must be numbers")
        if origin.shape != (2,) or not np.isfinite(origin).all():
            raise InputError(f"the origin of a height field is (x, y) in m; got {self.origin!r}")
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "spacing", tuple(spacing.tolist()))
        object.__setattr__(self, "origin", tuple(origin.tolist()))

    @property
    def row(self) -> list[float]:
        """As runtime/surfaces.h has it: normal, offset, friction, restitution, whether it is a field."""
        is_field = self.heights is not None
        mu = min(float(self.friction), MAX_FRICTION)
        return [*self.normal, float(self.height), mu, float(self.restitution), float(is_field)]

    @property
    def table(self) -> Array:
        """The field as runtime/surfaces.h has it; empty where there is none."""
        if self.heights is None:
            return np.zeros(0)
        rows, columns = self.heights.shape
        return np.concatenate(
            [[columns, rows], np.ravel(np.asarray(self.origin)), np.ravel(self.spacing), self.heights.ravel()]
        )

    def height_at(self, x: ArrayLike, y: ArrayLike) -> Array:
        """z of its surface (m) at points (x, y).

        >>> Ground(heights=[[0.0, 1.0], [0.0, 1.0]], spacing=2.0).height_at(0.5, 0.0)
        array(0.75)
        """
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if self.heights is None:
            n = np.array(self.normal)
            if n[2] == 0:
                raise InputError("this ground is a wall, which has no height")
            return np.asarray((self.height - n[0] * x - n[1] * y) / n[2])
        s, t, (a, b, c, d) = self._cell(x, y)
        return np.asarray((1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * c + s * d) + self.height)

    def slope_at(self, x: ArrayLike, y: ArrayLike) -> Array:
        """(dz/dx, dz/dy) of a height field at points (x, y), along the last axis."""
        s, t, (a, b, c, d) = self._cell(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        dx, dy = np.ravel(self.spacing)
        return np.stack(
            [((1 - t) * (b - a) + t * (d - c)) / dx, ((1 - s) * (c - a) + s * (d - b)) / dy], axis=-1
        )

    def _cell(self, x: Array, y: Array) -> tuple[Array, Array, tuple[Array, Array, Array, Array]]:
        """Position of points in their cells of the field, 0 to 1, and heights of the corners."""
        h = self.heights
        assert h is not None and self.origin is not None
        (dx, dy), (x0, y0) = np.ravel(self.spacing), self.origin
        rows, columns = h.shape
        s, t = np.clip((x - x0) / dx, 0, columns - 1), np.clip((y - y0) / dy, 0, rows - 1)
        i, j = np.minimum(s.astype(int), columns - 2), np.minimum(t.astype(int), rows - 2)
        return s - i, t - j, (h[j, i], h[j, i + 1], h[j + 1, i], h[j + 1, i + 1])


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link (m, in its frame) that may touch the ground, or a ball of a radius (m) about it.

    >>> ContactPoint("foot", radius=0.02)
    ContactPoint(link='foot', point=(0.0, 0.0, 0.0), radius=0.02)
    """

    link: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0

    def __post_init__(self) -> None:
        point = _vector(f"the point of a contact of {self.link!r}", self.point)
        object.__setattr__(self, "point", tuple(float(x) for x in point))
        _number(
            f"radius of a contact of {self.link!r}",
            self.radius,
            "zero or more (m)",
            lambda r: 0 <= r < np.inf,
        )


def as_grounds(ground: Any) -> tuple[Ground, ...]:
    """One ground, or several half-spaces, of which one may be a field; or a scene of such.

    Raises:
        InputError: it is something else.
    """
    from helicoid.robot.collision.scene import Scene

    if isinstance(ground, Scene):
        ground = _of_scene(ground)
    given = [ground] if isinstance(ground, Ground) else ground
    if not isinstance(given, Sequence) or not given or not all(isinstance(one, Ground) for one in given):
        raise InputError(f"ground is hc.Ground(...), or a list of them; got {ground!r}")
    if sum(one.heights is not None for one in given) > 1:
        raise InputError("of several grounds, one at most may be a height field")
    return tuple(given)


def _of_scene(scene: Scene) -> list[Ground]:
    """The planes and height fields of a scene, with the friction of `Ground`."""
    found = []
    for one in scene.objects.values():
        R, p, shape = one.pose[:3, :3], one.pose[:3, 3], one.shape
        level = np.allclose(R, np.eye(3), atol=1e-9)
        if one.frame is None and isinstance(shape, Plane):
            n = R @ np.array(shape.normal)
            found.append(Ground(height=shape.offset + float(n @ p), normal=tuple(n.tolist())))
        elif one.frame is None and isinstance(shape, HeightField) and level:
            x, y = np.ravel(np.asarray(shape.origin)) + p[:2]
            field: dict[str, Any] = {"heights": np.asarray(shape.heights), "spacing": shape.spacing}
            found.append(Ground(height=float(p[2]), origin=(float(x), float(y)), **field))
        else:
            what = f"carried by {one.frame!r}" if one.frame else shape.kind.replace("_", " ")
            raise InputError(
                f"object {one.name!r} ({what}) cannot be touched in a simulation, whose ground are planes "
                "and level height fields: leave it out of a copy of the scene (scene.copy, remove)"
            )
    if not found:
        raise InputError("the scene has no plane and no height field to be the ground")
    return found


def ground_arrays(grounds: Sequence[Ground]) -> dict[str, Array]:
    """Grounds as arrays, for files; `grounds_of` reads them."""
    if not grounds:
        return {}
    found = {
        "grounds": np.array([[*one.normal, one.height, one.friction, one.restitution] for one in grounds])
    }
    for number, one in enumerate(grounds):
        if one.heights is not None and one.origin is not None:
            found["ground_heights"] = one.heights
            found["ground_place"] = np.array([number, *np.ravel(one.spacing), *np.ravel(one.origin)])
    return found


def grounds_of(arrays: dict[str, Array]) -> tuple[Ground, ...]:
    """The grounds in arrays of a file, which are taken out; none where there are none.

    Raises:
        InputError: they are not valid.
    """
    rows, heights, place = (arrays.pop(f"ground{part}", None) for part in ("s", "_heights", "_place"))
    if rows is None:
        return ()
    if rows.ndim != 2 or rows.shape[1] != 6 or (heights is None) != (place is None):
        raise InputError(f"grounds are rows of six numbers; got shape {rows.shape}")
    fields: dict[int, dict[str, Any]] = {}
    if heights is not None and place is not None:
        number, *others = float_array(
            place, "the place of a height field must be numbers"
        ).ravel().tolist() + 5 * [np.nan]
        fields[int(number)] = {"heights": heights, "spacing": tuple(others[:2]), "origin": tuple(others[2:4])}
    return as_grounds(
        [
            Ground(float(height), float(mu), float(e), tuple(normal), **fields.get(k, {}))
            for k, (*normal, height, mu, e) in enumerate(rows.tolist())
        ]
    )


def _number(name: str, value: Any, wanted: str, fits: Any) -> None:
    real = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not real or not fits(float(value)):
        raise InputError(f"{name} must be {wanted}; got {value!r}")


def _vector(what: str, value: Any) -> Array:
    array = float_array(value, f"{what} must be numbers")
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"{what} has three finite numbers; got {value!r}")
    return array
