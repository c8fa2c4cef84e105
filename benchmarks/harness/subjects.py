"""Subjects: quantities, robots and states, the same for every library."""

from __future__ import annotations

import importlib.metadata
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.function import Function
from helicoid.errors import DoubtfulModelWarning, HelicoidError
from helicoid.model import bundled
from helicoid.robot import Robot, load

GRAVITY = (0.0, 0.0, -9.81)


class State(NamedTuple):
    """One state (n), or a batch (N, n), with acceleration, torque and the rate of the acceleration."""

    q: Array
    v: Array
    a: Array
    tau: Array
    a_dot: Array


@dataclass(frozen=True)
class Quantity:
    """Something to compute: its label, the parts of a `State` that it takes, and our function for it."""

    label: str
    title: str
    inputs: tuple[str, ...]
    function: Callable[[Robot], Function]

    def arguments(self, state: State) -> list[Array]:
        """The inputs, taken from a state."""
        return [getattr(state, name) for name in self.inputs]


def _quantity(label: str, title: str, inputs: str, function: Callable[[Robot], Function]) -> Quantity:
    return Quantity(label, title, tuple(inputs.split()), function)


QUANTITIES = {
    quantity.label: quantity
    for quantity in (
        _quantity("G", "gravity", "q", lambda robot: robot.gravity),
        _quantity("C", "Coriolis and centrifugal torque", "q v", lambda robot: robot.coriolis),
        _quantity("ID", "inverse dynamics", "q v a", lambda robot: robot.inverse_dynamics),
        _quantity("M", "mass matrix", "q", lambda robot: robot.mass_matrix),
        _quantity(
            "FD (CRBA)",
            "forward dynamics through the mass matrix",
            "q v tau",
            lambda robot: robot.forward_dynamics_crba,
        ),
        _quantity("FD (ABA)", "forward dynamics", "q v tau", lambda robot: robot.forward_dynamics),
        _quantity(
            "∂ID",
            "∂τ/∂q, ∂τ/∂v and M by recursion",
            "q v a",
            lambda robot: robot.inverse_dynamics_derivatives,
        ),
        _quantity(
            "∂ID (AD)",
            "∂τ/∂q and ∂τ/∂v by algorithmic differentiation",
            "q v a",
            lambda robot: robot.inverse_dynamics.jacobian("q", "v"),
        ),
        _quantity("Y", "regressor of the inertial parameters", "q v a", lambda robot: robot.regressor),
        _quantity(
            "dID/dt",
            "time derivative of inverse dynamics",
            "q v a a_dot",
            lambda robot: robot.inverse_dynamics.time_derivative(),
        ),
    )
}
"""From label to quantity. The labels are those of the urdf2casadi thesis where it has one."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A robot as every library gets it: URDF text without drawings, friction and mimicry."""

    name: str
    urdf: str
    base: Literal["fixed", "floating"] = "fixed"

    @cached_property
    def robot(self) -> Robot:
        """The robot as Helicoid reads it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DoubtfulModelWarning)
            return load(self.urdf, base=self.base)

    @property
    def joints(self) -> list[str]:
        """Names of the joints that move, without the base, in Helicoid's order."""
        return self.robot.joint_names[self.n_base :]

    @property
    def n_base(self) -> int:
        """1 with a floating base, else 0."""
        return int(self.base == "floating")

    def state(self, n: int | None = None) -> State:
        """A random state, or a batch of n; the same at each call."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        lead = () if n is None else (n,)
        v, a, tau, a_dot = (rng.normal(size=(*lead, self.robot.nv)) for _ in range(4))
        if n is None:
            return State(self.robot.random(rng), v, a, tau, a_dot)
        # Configurations one by one are slow: a few hundred, repeated.
        few = np.array([self.robot.random(rng) for _ in range(min(n, 256))])
        return State(np.resize(few, (n, self.robot.nq)), v, a, tau, a_dot)


def bundled_subject(name: str) -> Subject:
    """A robot that comes with Helicoid."""
    return Subject(name, plain_urdf(bundled.text(name)))


def chain_subject(n: int) -> Subject:
    """The UR5-like chain of n joints."""
    return Subject(f"chain of {n}", plain_urdf(bundled.serial_chain_urdf(n)))


def humanoid_subject() -> Subject:
    """Talos on a floating base, its grippers locked.

    Raises:
        HelicoidError: the package example-robot-data is not installed.
    """
    ending = "talos_data/robots/talos_full_v2.urdf"
    try:
        files = importlib.metadata.files("example-robot-data") or []
        found = [file for file in files if str(file).endswith(ending)]
        text = Path(str(found[0].locate())).read_text(encoding="utf-8")
    except (importlib.metadata.PackageNotFoundError, IndexError) as error:
        raise HelicoidError("Talos is part of the package example-robot-data, which is missing") from error
    return Subject("talos", plain_urdf(text), "floating")


def plain_urdf(text: str) -> str:
    """The bodies and joints of a URDF, and nothing on which libraries differ.

    Drawings, friction, damping and tips without mass go; joints that mimic, and those that they mimic,
    become fixed.
    """
    root = ElementTree.fromstring(text.encode())
    mimics = {joint: mimic for joint in root.iter("joint") if (mimic := joint.find("mimic")) is not None}
    sources = {mimic.get("joint") for mimic in mimics.values()}
    for joint in root.iter("joint"):
        if joint in mimics or joint.get("name") in sources:
            joint.set("type", "fixed")
    dropped = ("visual", "collision", "dynamics", "mimic", "safety_controller", "calibration")
    for element in list(root.iter()):
        for child in list(element):
            unknown = element is root and child.tag not in ("link", "joint")
            if child.tag in dropped or unknown:
                element.remove(child)
    while _without_massless_tip(root):
        pass
    return ElementTree.tostring(root, encoding="unicode")


def _without_massless_tip(root: ElementTree.Element) -> bool:
    """Remove a link that has no inertia and carries nothing, if there is one; PyBullet would invent one."""
    links = {link.attrib["name"]: link for link in root.findall("link")}
    parents = {end.attrib["link"] for end in root.iterfind("joint/parent")}
    for joint in root.findall("joint"):
        tip = joint.findall("child")[0].attrib["link"]
        if joint.get("type") == "fixed" and tip not in parents and links[tip].find("inertial") is None:
            root.remove(joint)
            root.remove(links[tip])
            return True
    return False
