"""Random robots: trees of every joint type, with masses that bodies can have, as a hypothesis strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from helicoid import Robot
from helicoid.geometry import quaternion
from helicoid.model.inertia import Inertia
from helicoid.model.joint_type import JointType
from helicoid.model.joints import TYPES
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Joint, Link, Mimic, Placement

Array = NDArray[np.float64]

KINDS = tuple(kind for kind in TYPES if kind != "fixed")
ONE_AXIS = ("revolute", "continuous", "prismatic", "helical")

# Building the symbolic functions of a tree dominates an example: fewer of them than elsewhere.
few = settings(max_examples=max(2, settings.default.max_examples // 4))
fewer = settings(max_examples=max(1, settings.default.max_examples // 6))
fewest = settings(max_examples=max(1, settings.default.max_examples // 10))

seeds = st.integers(0, 2**32 - 1)


class State(NamedTuple):
    """A configuration, a velocity, and a vector to use as acceleration or torque."""

    q: Array
    v: Array
    a: Array


def state(robot: Robot, seed: int | np.random.Generator) -> State:
    """A random state of a robot."""
    rng = np.random.default_rng(seed)
    return State(robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv))


def rotation(rng: np.random.Generator) -> Array:
    """A rotation, uniform over all."""
    q = rng.normal(size=4)
    return np.asarray(quaternion.to_matrix(q / np.linalg.norm(q)))


def inertia(rng: np.random.Generator) -> Inertia:
    """The inertia of eight random point masses: whatever it is, a body has it."""
    masses, points = rng.uniform(0.1, 0.5, 8), rng.normal(0.0, 0.3, (8, 3)) + rng.normal(0.0, 0.2, 3)
    moments = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))
    return Inertia(float(masses.sum()), masses @ points, np.asarray(moments))


def placement(rng: np.random.Generator) -> Placement:
    """A pose: half of the time turned by right angles only, which leaves zeros in expressions."""
    if rng.random() < 0.5:
        turned = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)[:, None]
        turned[0] *= np.linalg.det(turned)
    else:
        turned = rotation(rng)
    return Placement(turned, rng.normal(0.0, 0.4, 3))


def axis(rng: np.random.Generator) -> Array:
    """A direction: half of the time along a coordinate axis, either way."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    return rng.normal(size=3)


def joint_type(kind: str, rng: np.random.Generator) -> JointType:
    """A joint type of that kind with random axes and pitch."""
    if kind in ("spherical", "floating"):
        return TYPES[kind]()
    first = axis(rng)
    arguments: dict[str, Any] = {"axis": first}
    if kind == "helical":
        arguments["pitch"] = rng.normal(0.0, 0.2)
    if kind == "universal":
        arguments["axis2"] = np.cross(first, rng.normal(size=3)) + rng.uniform(-0.5, 0.5) * first
    return TYPES[kind](**arguments)


def _joint(name: str, kind: str, parent: str, child: str, rng: np.random.Generator) -> Joint:
    chosen = joint_type(kind, rng)
    damping, friction = rng.uniform(0.0, 0.5, (2, chosen.nv))
    armature = rng.uniform(0.0, 0.3, chosen.nv) * rng.integers(0, 2)
    return Joint(
        name, chosen, parent, child, placement(rng), damping=damping, friction=friction, armature=armature
    )


@st.composite
def models(
    draw: st.DrawFn,
    max_bodies: int = 5,
    kinds: tuple[str, ...] = KINDS,
    floating: bool | None = None,
    mimics: bool = True,
) -> Model:
    """A tree of 1 to `max_bodies` moving joints.

    Hypothesis draws, and shrinks, what the tree is: its shape, the kinds of its joints, which links hang on
    fixed joints and who mimics whom. The numbers come from one drawn seed.
    """
    rng = np.random.default_rng(draw(seeds, label="seed"))
    on_floating_base = draw(st.booleans(), label="floating base") if floating is None else floating
    links, joints = [Link("base", inertia(rng))], []
    names = ["base"]
    n = draw(st.integers(1, max_bodies), label="joints")
    for i in range(n):
        parent = draw(st.sampled_from(names[::-1]), label="parent")
        if draw(st.booleans(), label="on a bracket"):  # a massive link behind a fixed joint in between
            links.append(Link(f"bracket{i}", inertia(rng)))
            joints.append(Joint(f"weld{i}", TYPES["fixed"](), parent, f"bracket{i}", placement(rng)))
            parent = f"bracket{i}"
        kind = draw(st.sampled_from(kinds), label="kind")
        links.append(Link(f"link{i}", inertia(rng)))
        joints.append(_joint(f"joint{i}", kind, parent, f"link{i}", rng))
        names.append(f"link{i}")
    if draw(st.booleans(), label="tool"):
        links.append(Link("tool", inertia(rng)))
        joints.append(Joint("tool_weld", TYPES["fixed"](), names[-1], "tool", placement(rng)))
    if mimics and draw(st.booleans(), label="mimic"):
        joints = _with_mimic(draw, joints, rng)
    return Model("tree", tuple(links), tuple(joints), on_floating_base)


def _with_mimic(draw: st.DrawFn, joints: list[Joint], rng: np.random.Generator) -> list[Joint]:
    able = [k for k, joint in enumerate(joints) if joint.type.kind in ONE_AXIS]
    if len(able) < 2:
        return joints
    follower, source = draw(st.permutations(able), label="mimic")[:2]
    multiplier = rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0])
    mimic = Mimic(joints[source].name, multiplier, rng.normal())
    return [replace(joint, mimic=mimic) if k == follower else joint for k, joint in enumerate(joints)]


def robots(**arguments: Any) -> st.SearchStrategy[Robot]:
    """The robots of `models`."""
    return models(**arguments).map(Robot)


def spans(robot: Robot) -> dict[str, tuple[slice, slice]]:
    """Where in q and in v each joint has its coordinates."""
    return {b.joint.name: (b.q, b.v) for b in robot.model.bodies if b.joint.mimic is None}


def moving_links(robot: Robot) -> list[str]:
    """The links that are not fixed to the world."""
    return [name for name, frame in robot.model.frames.items() if frame.body != WORLD]


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-10, scale: float = 0.0) -> None:
    """Equal within a tolerance relative to the largest entry, or to `scale` if that is larger."""
    size = max(float(np.max(np.abs(expected), initial=0.0)), scale, 1e-3)
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * size)
