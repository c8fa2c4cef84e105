"""Scenes of MoveIt: planning scenes as YAML, and the text that RViz saves as `.scene`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.arrays import file_name, float_array
from helicoid.errors import InputError, optional_import
from helicoid.geometry import quaternion
from helicoid.geometry.shapes import Box, Cylinder, Mesh, Plane, Shape, Sphere
from helicoid.robot.collision.scene.scene import Scene


def read_moveit(source: str | os.PathLike[str], allowed: bool = True) -> Scene:
    """See `Scene.from_moveit`."""
    path = Path(file_name(source))
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a scene: {error}") from error
    scene = Scene()
    if path.suffix == ".scene" and not text.lstrip().startswith(("world", "name:", "{")) and "\n*" in text:
        _read_text(text, str(path), scene)
    else:
        _read_yaml(text, str(path), scene, allowed)
    return scene


# YAML --------------------------------------------------------------------------------------------------


def _read_yaml(text: str, where: str, scene: Scene, allowed: bool) -> None:
    yaml = optional_import("yaml", "reading MoveIt's YAML", "pyyaml")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: is no YAML: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"{where}: is no planning scene: it has no `world`")
    if (data.get("robot_state") or {}).get("attached_collision_objects"):
        raise InputError(
            f"{where}: objects attached to the robot are not read; attach them with scene.attach"
        )
    world = data.get("world") or data
    if (world.get("octomap") or {}).get("octomap", {}).get("data"):
        raise InputError(f"{where}: an octomap is not read; add its points as hc.PointCloud")
    if "collision_objects" not in world:
        raise InputError(f"{where}: has no `collision_objects`")
    for number, one in enumerate(world["collision_objects"] or []):
        name = str(one.get("id") or f"object_{number}")
        _add_parts(scene, name, list(_yaml_parts(one, f"{where}: object {name!r}")))
    if allowed:
        _allow(data.get("allowed_collision_matrix") or {}, scene, where)


def _yaml_parts(one: dict[str, Any], what: str) -> Iterator[tuple[Shape, Array]]:
    base = _yaml_pose(one.get("pose"), what)
    for shapes, poses, make in (
        ("primitives", "primitive_poses", _yaml_primitive),
        ("meshes", "mesh_poses", _yaml_mesh),
        ("planes", "plane_poses", _yaml_plane),
    ):
        given, placed = one.get(shapes) or [], one.get(poses) or []
        if placed and len(placed) != len(given):
            raise InputError(f"{what}: {len(given)} {shapes}, but {len(placed)} {poses}")
        for k, shape in enumerate(given):
            yield make(shape, what), base @ _yaml_pose(placed[k] if placed else None, what)


def _yaml_primitive(given: dict[str, Any], what: str) -> Shape:
    kinds = {1: "box", 2: "sphere", 3: "cylinder", 4: "cone"}
    kind = given.get("type")
    kind = kinds.get(kind, str(kind)) if isinstance(kind, int) else str(kind).lower()
    numbers = float_array(given.get("dimensions", []), f"{what}: dimensions are numbers").ravel()
    if kind == "cylinder" and len(numbers) == 2:
        numbers = numbers[::-1]  # MoveIt has the height first
    return _primitive(kind, numbers, what)


def _primitive(kind: str, numbers: Array, what: str) -> Shape:
    counts = {"box": 3, "sphere": 1, "cylinder": 2}
    if kind not in counts:
        raise InputError(f"{what}: a {kind} is not read; there are: {', '.join(counts)}, mesh, plane")
    if len(numbers) != counts[kind]:
        raise InputError(f"{what}: a {kind} has {counts[kind]} dimensions; got {len(numbers)}")
    try:
        if kind == "box":
            return Box(numbers)  # type: ignore[arg-type]
        return Sphere(float(numbers[0])) if kind == "sphere" else Cylinder(*map(float, numbers))
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _yaml_mesh(given: dict[str, Any], what: str) -> Shape:
    def row(one: Any, names: tuple[str, ...]) -> Any:
        return [one[name] for name in names] if isinstance(one, dict) else one

    vertices = [row(one, ("x", "y", "z")) for one in given.get("vertices", [])]
    faces = [one["vertex_indices"] if isinstance(one, dict) else one for one in given.get("triangles", [])]
    try:
        return Mesh(vertices=vertices, faces=faces)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _yaml_plane(given: dict[str, Any], what: str) -> Shape:
    """The half-space a x + b y + c z + d ≤ 0."""
    return _plane(float_array(given.get("coef", []), f"{what}: coefficients are numbers"), what)


def _plane(coefficients: Array, what: str) -> Shape:
    if coefficients.shape != (4,):
        raise InputError(f"{what}: a plane has four coefficients")
    size = float(np.linalg.norm(coefficients[:3])) or 1.0
    return Plane(coefficients[:3], -float(coefficients[3]) / size)  # type: ignore[arg-type]


def _yaml_pose(given: Any, what: str) -> Array:
    if not given:
        return np.eye(4)

    def numbers(value: Any, names: str) -> Any:
        return [value[name] for name in names] if isinstance(value, dict) else value

    position = numbers(given.get("position", [0, 0, 0]), "xyz")
    turn = numbers(given.get("orientation", [0, 0, 0, 1]), "xyzw")
    return _pose(position, turn, what)


def _pose(position: Any, turn: Any, what: str) -> Array:
    """A pose from a point and a quaternion (x, y, z, w)."""
    p = float_array(position, f"{what}: a position has three numbers")
    x = float_array(turn, f"{what}: an orientation has four numbers")
    if p.shape != (3,) or x.shape != (4,) or not np.all(np.isfinite([*p, *x])):
        raise InputError(f"{what}: a pose has a position (3) and an orientation (x, y, z, w)")
    size = float(np.linalg.norm(x))
    if size == 0:  # as MoveIt has it
        x, size = np.array([0.0, 0.0, 0.0, 1.0]), 1.0
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = quaternion.to_matrix(np.roll(x / size, 1)), p
    return T


def _allow(matrix: dict[str, Any], scene: Scene, where: str) -> None:
    names, rows = matrix.get("entry_names") or [], matrix.get("entry_values") or []
    if len(names) != len(rows):
        raise InputError(f"{where}: the allowed collision matrix has {len(names)} names and {len(rows)} rows")
    for i, row in enumerate(rows):
        values = row.get("enabled", []) if isinstance(row, dict) else row
        for j in range(i + 1, min(len(values), len(names))):
            if values[j]:
                scene.allow(str(names[i]), str(names[j]))


def _add_parts(scene: Scene, name: str, parts: list[tuple[Shape, Array]]) -> None:
    for k, (shape, pose) in enumerate(parts):
        scene.add(name if len(parts) == 1 else f"{name}[{k}]", shape, pose)


# Text --------------------------------------------------------------------------------------------------


class _Lines:
    """Lines of a `.scene` file, with errors that name them."""

    def __init__(self, text: str, where: str) -> None:
        self.lines, self.where, self.at = text.splitlines(), where, 0

    @property
    def here(self) -> str:
        return f"{self.where}, line {self.at}"

    def word(self) -> str:
        while self.at < len(self.lines):
            self.at += 1
            if self.lines[self.at - 1].strip():
                return self.lines[self.at - 1].strip()
        raise InputError(f"{self.where}: ends within an object")

    def numbers(self, count: int) -> Array:
        text = self.word()
        try:
            found = np.array([float(x) for x in text.split()])
        except ValueError:
            found = np.zeros(0)
        if len(found) != count:
            raise InputError(f"{self.here}: {count} numbers are expected; got {text!r}")
        return found


def _read_text(text: str, where: str, scene: Scene) -> None:
    lines = _Lines(text, where)
    lines.word()  # the name of the scene
    while (mark := lines.word()) != ".":
        if not mark.startswith("*"):
            raise InputError(
                f"{lines.here}: an object begins with `* name`, the file ends with `.`; got {mark!r}"
            )
        name, base = mark[1:].strip() or f"object_{len(scene)}", np.eye(4)
        first = lines.word()
        newer = len(first.split()) == 3  # a pose of the object came with MoveIt 1.1
        if newer:
            base = _pose([float(x) for x in first.split()], lines.numbers(4), lines.here)
            first = lines.word()
        if not first.isdigit():
            raise InputError(f"{lines.here}: a number of shapes is expected; got {first!r}")
        parts = [_text_part(lines, base) for _ in range(int(first))]
        if newer:
            for _ in range(3 * int(lines.numbers(1)[0])):  # subframes: name, position, orientation
                lines.word()
        _add_parts(scene, name, parts)


def _text_part(lines: _Lines, base: Array) -> tuple[Shape, Array]:
    kind = lines.word().lower()
    what = lines.here
    shape: Shape
    if kind == "mesh":
        vertices, triangles = (int(x) for x in lines.numbers(2))
        points = [lines.numbers(3) for _ in range(vertices)]
        shape = Mesh(vertices=points, faces=[lines.numbers(3) for _ in range(triangles)])
    elif kind == "plane":
        shape = _plane(lines.numbers(4), what)
    else:
        counts = {"box": 3, "sphere": 1, "cylinder": 2}
        shape = _primitive(kind, lines.numbers(counts.get(kind, 2)), what)
    pose = _pose(lines.numbers(3), lines.numbers(4), lines.here)
    lines.numbers(4)  # colour
    return shape, base @ pose
