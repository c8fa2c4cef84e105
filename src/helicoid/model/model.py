"""The model of a robot: links and joints as described, and the tree of moving bodies they form."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from helicoid.errors import ModelError
from helicoid.model.connections.actuators import Actuator, check_actuator
from helicoid.model.connections.couplings import Coupling, check_coupling
from helicoid.model.connections.elastic import ElasticElement, check_element
from helicoid.model.connections.fluid import FluidElement, check_fluid_element
from helicoid.model.connections.loops import KinematicLoop, check_loop
from helicoid.model.connections.semantics import Semantics
from helicoid.model.connections.tendons import Tendon, check_tendon
from helicoid.model.inertia import Inertia, total
from helicoid.model.joints import Floating
from helicoid.model.parts import Joint, Link, Placement

if TYPE_CHECKING:
    from helicoid.model.mjcf.origin import MujocoOrigin

_T = TypeVar("_T")

WORLD = -1  # body index of the fixed world
GRAVITY = (0.0, 0.0, -9.81)
"""Acceleration of free fall (m/s²) where a description states none."""


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body: everything rigidly attached to one moving joint, in the frame of its first link."""

    joint: Joint
    parent: int
    placement: Placement
    inertia: Inertia
    q: slice
    v: slice
    multiplier: float = 1.0
    offset: float = 0.0

    @property
    def name(self) -> str:
        """The child link of the joint."""
        return self.joint.child


class Frame(NamedTuple):
    """The frame of a link: its body, and its placement there."""

    body: int
    placement: Placement


@dataclass(frozen=True, eq=False)
class Model:
    """Links and joints that form one tree, a fixed or floating base, and connections beside them.

    Joints are put in depth-first order from the root, children in the order given. `gravity` is the
    acceleration of free fall (m/s², world axes); `origin` the MuJoCo model that it was read from, if any.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    floating: bool = False
    loops: tuple[KinematicLoop, ...] = ()
    elastic: tuple[ElasticElement, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    fluid: tuple[FluidElement, ...] = ()
    semantics: Semantics = field(default_factory=Semantics)
    gravity: tuple[float, float, float] = GRAVITY
    origin: MujocoOrigin | None = None

    def __post_init__(self) -> None:
        _unique("link", (link.name for link in self.links))
        _unique("joint", (joint.name for joint in self.joints))
        object.__setattr__(self, "joints", tuple(self._depth_first()))
        self._check_mimics()
        for kind, check in _CONNECTIONS.items():
            connections = getattr(self, kind)
            element = " element" * (kind in ("elastic", "fluid"))
            _unique(kind.rstrip("s") + element, (one.name for one in connections))
            for one in connections:
                check(self, one)
        about = self.semantics.within({one.name for one in self.links}, {one.name for one in self.joints})
        object.__setattr__(self, "semantics", about)

    def _depth_first(self) -> Iterator[Joint]:
        names = {link.name for link in self.links}
        children: dict[str, list[Joint]] = {name: [] for name in names}
        parents: dict[str, Joint] = {}
        for joint in self.joints:
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in names:
                    raise ModelError(f"joint {joint.name!r}: its {role} link {link!r} does not exist")
            if joint.child in parents:
                first = parents[joint.child].name
                raise ModelError(
                    f"link {joint.child!r} is the child of two joints, {first!r} and {joint.name!r}"
                )
            parents[joint.child] = joint
            children[joint.parent].append(joint)
        roots = [link.name for link in self.links if link.name not in parents]
        if len(roots) != 1:
            found = "links " + ", ".join(map(repr, roots)) if roots else "no link"
            why = f": {_circle(parents, set(parents))}" if parents and not roots else ""
            raise ModelError(f"robot {self.name!r}: a tree needs exactly one root link, found {found}{why}")
        stack = list(reversed(children[roots[0]]))
        order: list[Joint] = []
        while stack:
            order.append(stack.pop())
            stack.extend(reversed(children[order[-1].child]))
        if len(order) != len(self.joints):
            apart = set(parents) - {joint.child for joint in order}
            raise ModelError(f"robot {self.name!r}: {_circle(parents, apart)}, which hangs on nothing")
        return iter(order)

    def _check_mimics(self) -> None:
        sound: set[str] = set()
        for joint in self.joints:
            path: dict[str, None] = {}  # an ordered set: a chain of mimics may be long
            while joint.mimic is not None and joint.name not in sound:
                path[joint.name] = None
                source = self.joint(joint.mimic.joint)
                if source.name in path:
                    circle = " -> ".join([*path, source.name])
                    raise ModelError(f"joints mimic each other in a circle: {circle}")
                if not source.type.nq == source.type.nv == 1:
                    raise ModelError(
                        f"joint {joint.name!r} mimics {source.name!r}, which is {source.type.kind} "
                        "and has not one coordinate"
                    )
                joint = source
            sound.update(path)

    @cached_property
    def root(self) -> str:
        """The root link, which is the child of no joint."""
        carried = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in carried)

    @cached_property
    def _links(self) -> Mapping[str, Link]:
        return {link.name: link for link in self.links}

    @cached_property
    def _joints(self) -> Mapping[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    def link(self, name: str) -> Link:
        """The link of that name, or an error with the nearest names."""
        return look_up(self._links, name, f"link of {self.name!r}")

    def joint(self, name: str) -> Joint:
        """The joint of that name, or an error with the nearest names."""
        return look_up(self._joints, name, f"joint of {self.name!r}")

    def frame(self, name: str) -> Frame:
        """The frame of the link of that name."""
        return look_up(self._tree[1], name, f"frame of {self.name!r}")

    @cached_property
    def _base(self) -> tuple[Joint, ...]:
        """The joint that a floating base adds; its parent is the world, which is no link."""
        if not self.floating:
            return ()
        name = "floating_base"
        while name in self._joints:
            name = "_" + name
        return (Joint(name, Floating(), "", self.root),)

    @cached_property
    def moving_joints(self) -> tuple[Joint, ...]:
        """The floating base, if any, and the joints that move, in order."""
        return self._base + tuple(joint for joint in self.joints if joint.type.nv)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The moving bodies, parents before children: one for each moving joint."""
        return self._tree[0]

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The frame of every link."""
        return self._tree[1]

    @cached_property
    def _tree(self) -> tuple[tuple[Body, ...], Mapping[str, Frame]]:
        """Bodies and frames: links behind fixed joints merge into the body that carries them."""
        frames: dict[str, Frame] = {} if self.floating else {self.root: Frame(WORLD, Placement())}
        carriers: list[tuple[Joint, int, Placement]] = []
        for joint in self._base + self.joints:
            on = frames[joint.parent] if joint.parent else Frame(WORLD, Placement())
            placed = on.placement @ joint.placement
            if joint.type.nv == 0:
                frames[joint.child] = Frame(on.body, placed)
            else:
                frames[joint.child] = Frame(len(carriers), Placement())
                carriers.append((joint, on.body, placed))
        parts: list[list[Inertia]] = [[] for _ in carriers]
        for link in self.links:
            frame = frames[link.name]
            if link.inertia is not None and frame.body != WORLD:
                parts[frame.body].append(
                    link.inertia.transformed(frame.placement.rotation, frame.placement.translation)
                )
        coordinates = self._coordinates()
        bodies = tuple(
            Body(joint, parent, placed, total(parts[i]), *coordinates[joint.name])
            for i, (joint, parent, placed) in enumerate(carriers)
        )
        return bodies, frames

    def _coordinates(self) -> dict[str, tuple[slice, slice, float, float]]:
        """For each moving joint: its slices of q and v, and how a mimic scales and shifts them."""
        own: dict[str, tuple[slice, slice]] = {}
        nq = nv = 0
        for joint in self.moving_joints:
            if joint.mimic is None:
                own[joint.name] = slice(nq, nq + joint.type.nq), slice(nv, nv + joint.type.nv)
                nq, nv = nq + joint.type.nq, nv + joint.type.nv
        result = {name: (*slices, 1.0, 0.0) for name, slices in own.items()}
        for joint in self.moving_joints:
            waiting = []
            while joint.name not in result:
                waiting.append(joint)
                joint = self.joint(joint.mimic.joint)  # type: ignore[union-attr]
            for follower in reversed(waiting):
                mimic = follower.mimic
                assert mimic is not None
                q, v, multiplier, offset = result[mimic.joint]
                # q = k (k' s + o') + o
                scaled = mimic.multiplier * multiplier, mimic.multiplier * offset + mimic.offset
                if not np.all(np.isfinite(scaled)):
                    raise ModelError(f"joint {follower.name!r}: its chain of mimics overflows")
                result[follower.name] = (q, v, *scaled)
        return result

    @cached_property
    def independent_joints(self) -> tuple[Joint, ...]:
        """The moving joints that own coordinates: all but the mimics."""
        return tuple(joint for joint in self.moving_joints if joint.mimic is None)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(joint.type.nq for joint in self.independent_joints)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(joint.type.nv for joint in self.independent_joints)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for each coordinate: the joint's, numbered when it has several."""
        return _numbered((joint.name, joint.type.nq) for joint in self.independent_joints)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """A name for each velocity: the joint's, numbered when it has several."""
        return _numbered((joint.name, joint.type.nv) for joint in self.independent_joints)

    @cached_property
    def quaternions(self) -> tuple[slice, ...]:
        """Slices of q that are unit quaternions."""
        own = ((body.q.start, body.joint.type.quaternion) for body in self.bodies)
        return tuple(slice(start + part.start, start + part.stop) for start, part in own if part is not None)

    def replaced(self, links: Iterable[Link] | None = None, joints: Iterable[Joint] | None = None) -> Model:
        """The same robot with other links or joints."""
        return replace(
            self,
            links=self.links if links is None else tuple(links),
            joints=self.joints if joints is None else tuple(joints),
        )


_CONNECTIONS: dict[str, Callable[[Model, Any], None]] = {
    "loops": check_loop,
    "elastic": check_element,
    "couplings": check_coupling,
    "tendons": check_tendon,
    "actuators": check_actuator,
    "fluid": check_fluid_element,
}
"""Connections beside the tree of a model, each with the check of one."""


def look_up(table: Mapping[str, _T], name: str, what: str) -> _T:
    """table[name], or a ModelError that offers the nearest names."""
    try:
        return table[name]
    except (KeyError, TypeError):
        near = difflib.get_close_matches(str(name), table, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are: {', '.join(table)}"
        raise ModelError(f"no {what} is called {name!r}; {hint}") from None


def _circle(parents: Mapping[str, Joint], among: Iterable[str]) -> str:
    """Description of a cycle of joints among links without a root."""
    link, path = min(among), dict[str, Joint]()
    while link not in path:
        path[link] = parents[link]
        link = path[link].parent
    joints = list(path.values())[list(path).index(link) :][::-1]
    links = " -> ".join(map(repr, (link, *(joint.child for joint in joints))))
    return f"the links {links} form a loop (joints: {', '.join(joint.name for joint in joints)})"


def _numbered(sizes: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(name if n == 1 else f"{name}[{k}]" for name, n in sizes for k in range(n))


def _unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"two {what}s are called {name!r}; names must be unique")
        seen.add(name)


def doubts(model: Model) -> list[str]:
    """Warnings about statements that are legal in a model but probably not intended.

    >>> from helicoid.model.urdf.reader import read_urdf_text
    >>> doubts(read_urdf_text('<robot name="table"><link name="table"/></robot>'))
    []
    """
    return [f'{what} "{name}": {text}' for what, name, text in located_doubts(model)]


def located_doubts(model: Model) -> Iterator[tuple[str, str, str]]:
    """Each warning with the part that it is about: ("link" or "joint", name, text)."""
    for link in model.links:
        for text in link.inertia.doubts() if link.inertia is not None else ():
            yield "link", link.name, text
    carried = [body.inertia.mass for body in model.bodies]
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:
            carried[body.parent] += carried[i]
    for body, mass in zip(model.bodies, carried, strict=True):
        if mass == 0.0:
            yield "link", body.name, "it moves, but neither it nor anything that it carries has mass"
        elif body.inertia.mass == 0.0 and not np.any(body.joint.armature):
            yield "link", body.name, "it moves but has no mass"
    for joint in model.joints:
        if joint.limits is not None and joint.type.nv > 0:
            for quantity in ("velocity", "effort"):
                spring = quantity == "effort" and np.any(joint.stiffness)  # a passive joint
                if np.any(getattr(joint.limits, quantity) == 0.0) and not spring:
                    yield "joint", joint.name, f"its {quantity} limit is 0, which forbids any; kept as stated"
            if np.any(joint.limits.lower == joint.limits.upper):
                yield "joint", joint.name, "its lower and upper limits are equal; kept as stated"
