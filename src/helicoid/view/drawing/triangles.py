"""Triangle meshes: primitives, welding of vertices, normals with sharp creases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.model.parts import Geometry, Placement
from helicoid.model.shapes import PRIMITIVES

Indices = NDArray[np.int64]

_CIRCLE_SIDES = 40
_HEMISPHERE_RINGS = 10
_MAX_CELLS = 2**20  # along an edge of the box around a mesh
_CREASE_ANGLE = 40.0  # degrees between two faces above which their edge is drawn sharp


class Triangles(NamedTuple):
    """Vertices (n, 3) in m, and faces (m, 3): vertex indices, counterclockwise from outside."""

    vertices: Array
    faces: Indices

    def moved(self, placement: Placement) -> Triangles:
        """Triangles expressed in frame a, given the placement of their frame b in a."""
        return Triangles(self.vertices @ placement.rotation.T + placement.translation, self.faces)


def box(size: ArrayLike) -> Triangles:
    """Box with edges (x, y, z), centred.

    >>> box([1, 2, 3]).faces.shape
    (12, 3)
    """
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    squares = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return Triangles(corners * np.asarray(size, dtype=np.float64), _split(squares))


def cylinder(radius: float, length: float) -> Triangles:
    """Cylinder around z, centred."""
    return _revolved([(0.0, -length / 2), (radius, -length / 2), (radius, length / 2), (0.0, length / 2)])


def capsule(radius: float, length: float) -> Triangles:
    """Capsule around z, centred: a cylinder of this length closed by hemispheres."""
    angles = np.linspace(0, np.pi / 2, _HEMISPHERE_RINGS + 1)
    top = [(radius * np.cos(a), length / 2 + radius * np.sin(a)) for a in angles]
    return _revolved([(r, -z) for r, z in reversed(top)] + top)


def sphere(radius: float) -> Triangles:
    """Sphere, centred."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 2 * _HEMISPHERE_RINGS + 1)
    return _revolved([(radius * np.cos(a), radius * np.sin(a)) for a in angles])


def cone(radius: float, length: float) -> Triangles:
    """Cone around z, from its base at 0 to its tip."""
    return _revolved([(0.0, 0.0), (radius, 0.0), (0.0, length)])


def ellipsoid(semi_axes: ArrayLike) -> Triangles:
    """Ellipsoid, centred; semi-axes as the columns of a 3 × 3 matrix."""
    ball = sphere(1.0)
    return Triangles(ball.vertices @ np.asarray(semi_axes, dtype=np.float64).T, ball.faces)


def primitive(shape: Geometry) -> Triangles:
    """Primitive of any kind: the convex hull of points on its spheres and circles.

    >>> primitive(Geometry("box", (1.0, 2.0, 3.0))).faces.shape
    (12, 3)
    """
    from scipy.spatial import ConvexHull

    row, ball = PRIMITIVES[shape.kind], sphere(1.0).vertices
    angles = np.linspace(0, 2 * np.pi, _CIRCLE_SIDES, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_CIRCLE_SIDES)])
    spheres = [one[:3] + one[3] * ball for one in row.spheres(*shape.size)]
    circles = [r * ring + [0.0, 0.0, z] for z, r in row.circles(*shape.size)]
    points = np.unique(np.concatenate([*spheres, *circles]), axis=0)
    hull = ConvexHull(points)
    faces = hull.simplices.astype(np.int64)
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Triangles(points, faces)


def rod(start: Array, end: Array, radius: float, shape: str = "capsule") -> Triangles:
    """Capsule or cylinder from one point to another."""
    along = end - start
    length = float(np.linalg.norm(along))
    z = along / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    turned = Placement(np.column_stack([x, np.cross(z, x), z]), (start + end) / 2)
    return (capsule if shape == "capsule" else cylinder)(radius, length).moved(turned)


def tube(points: Array, radius: float, sides: int = 6) -> Triangles:
    """Tube along a polyline (n, 3), of rings in a rotation-minimising frame."""
    step = np.linalg.norm(np.diff(points, axis=0), axis=1)
    points = points[np.concatenate([[True], step > radius / 4])]
    if len(points) < 2:
        return sphere(radius).moved(Placement(translation=points[0]))
    along = np.gradient(points, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    side = np.eye(3)[np.argmin(np.abs(along[0]))]
    angles = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rings = []
    for point, z in zip(points, along, strict=True):
        side = side - (side @ z) * z
        side = side / max(float(np.linalg.norm(side)), 1e-12)
        rings.append(
            point + radius * (np.outer(np.cos(angles), side) + np.outer(np.sin(angles), np.cross(z, side)))
        )
    return Triangles(np.concatenate(rings), _split(_squares(len(points), sides)))


def joined(pieces: list[Triangles]) -> Triangles:
    """Concatenate meshes into one.

    >>> joined([box([1, 1, 1]), box([2, 2, 2])]).vertices.shape
    (16, 3)
    """
    starts = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    faces = [piece.faces + start for piece, start in zip(pieces, starts, strict=False)]
    return Triangles(np.concatenate([piece.vertices for piece in pieces]), np.concatenate(faces))


def welded(mesh: Triangles, cell: float) -> Triangles:
    """Merge vertices that share a cubic cell of this edge; drop degenerate and duplicate faces.

    A tiny cell merges the duplicate vertices of a file; a larger one simplifies (vertex clustering).
    """
    low = mesh.vertices.min(axis=0)
    cell = max(cell, float((mesh.vertices - low).max()) / _MAX_CELLS)
    cells = np.round((mesh.vertices - low) / cell).astype(np.int64)
    _, inverse, counts = np.unique(_packed(cells), return_inverse=True, return_counts=True)
    columns = [np.bincount(inverse, weights=column) / counts for column in mesh.vertices.T]
    faces = inverse[mesh.faces]
    distinct = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[distinct]
    _, first = np.unique(_packed(np.sort(faces, axis=1)), return_index=True)
    return Triangles(np.column_stack(columns), faces[np.sort(first)])


def creased(mesh: Triangles) -> tuple[Triangles, Array]:
    """Split vertices at sharp edges; returns the mesh and its vertex normals.

    The normal at a corner of a face is the area-weighted mean over the adjacent faces within the crease
    angle of that face.
    """
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a)
    sizes = np.linalg.norm(areas, axis=1, keepdims=True)
    units = areas / np.maximum(sizes, 1e-300)
    corners = mesh.faces.reshape(-1)
    normals = np.empty((len(corners), 3))
    order = np.argsort(corners, kind="stable")
    starts = np.searchsorted(corners[order], np.arange(len(mesh.vertices) + 1))
    counts = np.diff(starts)
    for n in np.unique(counts[counts > 0]):  # all vertices with n faces at once
        block = order[starts[:-1][counts == n][:, None] + np.arange(n)]  # (vertices, n) corner indices
        faces = block // 3
        near = np.einsum("vik,vjk->vij", units[faces], units[faces]) > np.cos(np.radians(_CREASE_ANGLE))
        normals[block] = np.einsum("vij,vjk->vik", near, areas[faces])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(lengths > 1e-300, normals / np.maximum(lengths, 1e-300), np.repeat(units, 3, axis=0))
    directions = np.round(100 * normals).astype(np.int64) + 100  # 0 to 200 each
    keys = corners * 201**3 + directions @ np.array([201**2, 201, 1])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    split = Triangles(mesh.vertices[corners[first]], inverse.reshape(-1, 3))
    return split, normals[first]


def _packed(triples: Indices) -> Indices:
    """Pack rows of three integers below 2²¹ into one each, which sorts many times faster."""
    return (triples[:, 0] << 42) | (triples[:, 1] << 21) | triples[:, 2]


def _revolved(profile: list[tuple[float, float]]) -> Triangles:
    """Surface of revolution about z of a profile (radius, z) from bottom to top, closed on the axis."""
    angles = np.linspace(0, 2 * np.pi, _CIRCLE_SIDES, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = [np.column_stack([r * circle, np.full(_CIRCLE_SIDES, z)]) for r, z in profile]
    mesh = Triangles(np.concatenate(rings), _split(_squares(len(profile), _CIRCLE_SIDES)))
    extent = float(np.abs(mesh.vertices).max()) or 1.0
    return welded(mesh, 1e-6 * extent)  # the rings of radius zero become points


def _squares(rings: int, sides: int) -> Indices:
    ring, side = np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij")
    below, next_side = ring * sides, (side + 1) % sides
    columns = (below + side, below + next_side, below + sides + next_side, below + sides + side)
    return np.stack([column.reshape(-1) for column in columns], axis=1)


def _split(squares: Indices) -> Indices:
    return squares[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
