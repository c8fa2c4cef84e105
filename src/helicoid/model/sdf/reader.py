"""SDF -> Model: links, joints and frames of a model and of those inside it, as one tree with loops."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np

from helicoid.errors import ModelError, RobotDescriptionError
from helicoid.model.connections.loops import KinematicLoop, LoopKind
from helicoid.model.joints import Fixed
from helicoid.model.model import GRAVITY, Model, located_doubts
from helicoid.model.parts import Joint, Link, Placement
from helicoid.model.sdf.documents import Context, Document, Scope, chosen_model, model_name, truth
from helicoid.model.sdf.frames import WORLD, Frames, read_pose
from helicoid.model.sdf.joints import SdfJoint, read_joint, with_gearboxes
from helicoid.model.sdf.links import read_link
from helicoid.model.urdf.markup import MAX_BYTES, Element, Source
from helicoid.model.urdf.roots import Roots
from helicoid.model.urdf.syntax import plain_numbers

Packages = Mapping[str, str | os.PathLike[str]]

_CHILDREN = {
    *("pose", "link", "joint", "frame", "model", "include", "static", "self_collide", "gripper"),
    *("allow_auto_disable", "enable_wind", "plugin"),
}
_LOOPS: dict[str, LoopKind] = {"revolute": "line", "continuous": "line", "ball": "point", "fixed": "pose"}
"""Joints to a link that has a parent already, by type."""

_ORIGIN = 1e-12  # m, and of a rotation matrix: a link that is not moved


def read_sdf_text(
    text: str,
    floating: bool = False,
    name: str = "<text>",
    folder: str = "",
    model: str | None = None,
    packages: Packages | None = None,
    ignore: Iterable[str] = (),
) -> Model:
    """The robot that an SDF text describes; it includes files of `packages`, and of `folder` if given."""
    roots = Roots(os.path.join(folder, "text.sdf") if folder else "", packages)
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise RobotDescriptionError(f"{name}: not a text: {error}") from error
    context = Context(roots, ignore)
    return _read(context.document(data, "utf-8", name, folder), context, floating, model)


def read_sdf(
    path: str,
    floating: bool = False,
    model: str | None = None,
    packages: Packages | None = None,
    ignore: Iterable[str] = (),
) -> Model:
    """The robot that an SDF file describes; of several models the one of the name `model`.

    Raises:
        RobotDescriptionError: with file and line.
    """
    if not os.path.isfile(path):
        what = "is a folder, not a file" if os.path.isdir(path) else "there is no such file"
        raise RobotDescriptionError(f"{path}: {what}")
    context = Context(Roots(path, packages), ignore)
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    folder = os.path.dirname(os.path.abspath(path))
    return _read(context.document(data, None, path, folder), context, floating, model)


def _read(document: Document, context: Context, floating: bool, wanted: str | None) -> Model:
    try:
        found = _model(document, context, floating, wanted)
    except ModelError as error:
        raise RobotDescriptionError(f"{document.source.name}: {error}") from error
    except RecursionError as error:
        raise RobotDescriptionError(f"{document.source.name}: its models nest too deep") from error
    for source in context.sources:
        source.emit_warnings()
    return found


def _model(document: Document, context: Context, floating: bool, wanted: str | None) -> Model:
    scope = chosen_model(document, wanted, context)
    for one in scope.all():
        _check(one, context)
    frames = Frames(scope)
    links = {
        name: read_link(element, owner, name, frames, context)
        for name, (element, owner) in frames.links.items()
    }
    joints = [
        read_joint(element, one, frames) for one in scope.all() for element in one.element.findall("joint")
    ]
    joints = with_gearboxes(joints, frames)
    built = _Tree(scope, frames, links)
    for joint in joints:
        built.chosen(joint)
    for joint in joints:
        built.add(joint)
    built.add_root(floating)
    for one in scope.all():
        built.add_frames(one)
    gravity = _gravity(document)
    name = model_name(scope)
    model = Model(
        name, tuple(built.links), tuple(built.joints), floating, tuple(built.loops), gravity=gravity
    )
    places = {one.name: one for one in joints}
    for what, named, text in located_doubts(model):
        if what == "joint" and named in places:
            places[named].scope.source.add_warning(places[named].element, text)
        elif what == "link" and named in frames.links:
            element, owner = frames.links[named]
            owner.source.add_warning(element, text)
    return model


def _check(scope: Scope, context: Context) -> None:
    for child in scope.element.children:
        if child.tag not in _CHILDREN and ":" not in child.tag:
            raise scope.source.error(
                child, f"<{child.tag}> in <model> is not understood; correct or remove it"
            )
        if child.tag == "static" and truth(child, scope.source):
            context.refuse(scope.source, child)


def _gravity(document: Document) -> tuple[float, float, float]:
    world = document.root.find("world")
    stated = None if world is None else world.find("gravity")
    if stated is None:
        return GRAVITY
    x, y, z = plain_numbers(stated, "gravity", stated.text, 3, document.source)
    return x, y, z


class _Tree:
    """Links and joints of ours, made joint by joint; a second joint to a link closes a loop."""

    def __init__(self, scope: Scope, frames: Frames, links: dict[str, Link]) -> None:
        self._scope, self._frames, self._named = scope, frames, links
        self.links: list[Link] = list(links.values())
        self.joints: list[Joint] = []
        self.loops: list[KinematicLoop] = []
        self._taken = set(links)
        self._joint_names: set[str] = set()
        self._parents: dict[str, str] = {}
        self._in_tree: dict[str, SdfJoint] = {}

    def _pose(self, name: str, element: Element, source: Source) -> Placement:
        return Placement() if name == WORLD else self._frames.pose(name, element, source)

    def fresh(self, name: str, taken: set[str]) -> str:
        """A name that is not taken: numbered where it is."""
        found, count = name, 1
        while found in taken:
            count += 1
            found = f"{name}_{count}"
        taken.add(found)
        return found

    def add(self, one: SdfJoint) -> None:
        """Add a joint, with a massless link where its frame is not that of its child."""
        source, element = one.scope.source, one.element
        if one.type is None:
            return
        before = self._pose(one.parent, element, source).inverse @ one.pose
        after = one.pose.inverse @ self._pose(one.child, element, source)
        if one.child == WORLD or self._closes(one):
            self._close(one, before, after)
            return
        if one.parent == WORLD and WORLD not in self._taken:
            self._taken.add(WORLD)
            self.links.insert(0, Link(WORLD))
        self._parents[one.child] = one.parent
        name = self.fresh(one.name, self._joint_names)
        apart = one.type.nv > 0 and not _is_identity(after)
        try:
            if not apart:
                child = one.child
                before = before if one.type.nv else before @ after
            else:
                child = self.fresh(f"{one.name}_link", self._taken)
                self.links.append(Link(child))
            self.joints.append(Joint(name, one.type, one.parent, child, before, **one.numbers))
        except ModelError as error:
            raise source.error(element, str(error).removeprefix(f"joint {name!r}: ")) from error
        if apart:
            fixed = self.fresh(f"{one.child}_fixed", self._joint_names)
            self.joints.append(Joint(fixed, Fixed(), child, one.child, after))

    def chosen(self, one: SdfJoint) -> None:
        """The tree's joint among several to a link: the first that cannot close a loop, or the first."""
        other = self._in_tree.setdefault(one.child, one)
        if other.kind in _LOOPS and one.kind not in _LOOPS:
            self._in_tree[one.child] = one

    def _closes(self, one: SdfJoint) -> bool:
        """Whether the child has a parent already, or carries the parent."""
        where: str | None = one.parent
        while where is not None and where != one.child:
            where = self._parents.get(where)
        return self._in_tree[one.child] is not one or where == one.child

    def _close(self, one: SdfJoint, before: Placement, after: Placement) -> None:
        source = one.scope.source
        if one.kind not in _LOOPS:
            raise source.error(
                one.element,
                f"a {one.kind} joint to {one.child!r}, which has a parent already: loops are closed by "
                f"{', '.join(_LOOPS)}",
            )
        if any(np.any(one.numbers.get(key, 0.0)) for key in ("damping", "friction", "stiffness")):
            source.add_warning(
                one.element, "it closes a loop, so that its damping, friction and spring do not act"
            )
        turned = Placement(_to_axis(one.axes[0])) if one.axes else Placement()
        if WORLD in (one.parent, one.child) and WORLD not in self._taken:
            raise source.error(one.element, "a joint with the world stands before those that close loops")
        ends = (before @ turned, after.inverse @ turned)
        self.loops.append(KinematicLoop(one.name, _LOOPS[one.kind], one.parent, one.child, *ends))

    def add_root(self, floating: bool) -> None:
        """Fix the root where its pose says, or leave it to a floating base."""
        roots = [name for name in self._named if name not in self._parents]
        source, element = self._scope.source, self._scope.element
        if WORLD in self._taken and WORLD not in self._named:
            if floating:
                raise source.error(element, "a joint holds it in the world: load it with base='fixed'")
            if roots:
                raise source.error(element, f"{_listed(roots)} no joint holds; others are held in the world")
            return
        if len(roots) != 1:
            raise source.error(element, f"a tree needs one root link; it has {_listed(roots) or 'none'}")
        (root,) = roots
        pose = self._pose(root, element, source)
        if not floating and not _is_identity(pose) and WORLD not in self._taken:
            self._taken.add(WORLD)
            self.links.insert(0, Link(WORLD))
            fixed = self.fresh(f"{root}_fixed", self._joint_names)
            self.joints.insert(0, Joint(fixed, Fixed(), WORLD, root, pose))

    def add_frames(self, scope: Scope) -> None:
        """Frames and sensors as links without mass."""
        source = scope.source
        for element in scope.element.findall("frame"):
            full = f"{scope.prefix}{element.attrib['name']}"
            link = self._frames.link_of(full, element, source)
            self._fix(full, link, self._frames.pose(full, element, source), element, source)
        joints = [(one, f"{scope.prefix}{one.attrib['name']}") for one in scope.element.findall("joint")]
        links = [(one, f"{scope.prefix}{one.attrib['name']}") for one in scope.element.findall("link")]
        for owner, name in (*links, *joints):
            for sensor in owner.findall("sensor"):
                link = name if owner.tag == "link" else self._frames.link_of(name, sensor, source)
                pose = sensor.find("pose")
                relative_to = "" if pose is None else pose.attrib.get("relative_to", "")
                there = self._frames.full(scope, relative_to) if relative_to else name
                stated = self._frames.pose(there, sensor, source) @ read_pose(pose, source)
                own = sensor.attrib.get("name", "") or "sensor"
                frame = f"{scope.prefix}{own}"
                if frame in self._taken:
                    frame = f"{name}_{own}"
                self._fix(frame, link, stated, sensor, source)

    def _fix(self, name: str, link: str, pose: Placement, element: Element, source: Source) -> None:
        if link == WORLD and WORLD not in self._taken:
            source.add_warning(element, "a frame of the world, which the robot does not have, is left out")
            return
        frame = self.fresh(name, self._taken)
        self.links.append(Link(frame))
        placed = self._pose(link, element, source).inverse @ pose
        joint = self.fresh(f"{frame}_fixed", self._joint_names)
        self.joints.append(Joint(joint, Fixed(), link, frame, placed))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


def _is_identity(pose: Placement) -> bool:
    return bool(
        np.abs(pose.translation).max() < _ORIGIN and np.abs(pose.rotation - np.eye(3)).max() < _ORIGIN
    )


def _to_axis(axis: np.ndarray) -> np.ndarray:
    """A rotation that turns z to an axis."""
    across = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(across, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])
