"""The real robots: every URDF of the package example-robot-data, and random states of each."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import files
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

import helicoid as hc

Array = NDArray[np.float64]

FILES: dict[str, Path] = {
    "/".join(file.parts[file.parts.index("robots") + 1 :]): Path(str(file.locate()))
    for file in sorted(files("example-robot-data") or ())
    if file.suffix == ".urdf"
}
"""Path of `<package>/.../<file>.urdf`."""

BASES = ("fixed", "floating")

QUICK = {
    ("double_pendulum_continuous.urdf", "floating"),
    ("ur5_robot.urdf", "fixed"),
    ("panda.urdf", "fixed"),  # a finger mimics the other
    ("a1.urdf", "floating"),
    ("allegro_left_hand.urdf", "fixed"),
    ("hextilt_flying_arm_5.urdf", "floating"),
}
"""A few robots, each unlike the others, for the quick tests; the sweep over all is slow."""


def sweep(
    names: Iterable[str], quick: set[tuple[str, str]] = QUICK, alternate: bool = False
) -> pytest.MarkDecorator:
    """Parametrize over these robots on both bases; those that are not quick are slow.

    `alternate` takes every other robot on a fixed base and the others on a floating one (and the quick ones),
    for sweeps that take minutes.
    """
    pairs = [
        (name, base)
        for k, name in enumerate(names)
        for j, base in enumerate(BASES)
        if not alternate or (k + j) % 2 == 0 or (name.split("/")[-1], base) in quick
    ]
    marked = [
        pytest.param(*pair, marks=() if (pair[0].split("/")[-1], pair[1]) in quick else pytest.mark.slow)
        for pair in pairs
    ]
    # The scope makes pytest run all tests of a robot one after another, which share its functions.
    return pytest.mark.parametrize(("name", "base"), marked, scope="module")


class States(NamedTuple):
    """N states of a robot with an acceleration and a torque each, in Helicoid's order."""

    q: Array
    v: Array
    a: Array
    tau: Array


@lru_cache(maxsize=2)  # tests of one robot follow one another
def load(name: str, base: str) -> hc.Robot:
    """The robot of one file. What is doubtful in the file is not the matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.DoubtfulModelWarning)
        return hc.load(FILES[name], base=base)  # type: ignore[arg-type]


def named(file: str) -> str:
    """The name of the robot whose file is called `file`."""
    return next(name for name in FILES if name.endswith(f"/{file}"))


def skip_if_faulty(name: str, base: str) -> None:
    """Skip the test of a robot that cannot be read."""
    try:
        load(name, base)
    except hc.RobotDescriptionError:
        pytest.skip("the file is faulty, which test_pinocchio.py says in detail")


def random_states(robot: hc.Robot, n: int) -> States:
    """Positions within the joint limits; velocities, accelerations and torques of order one."""
    rng = np.random.default_rng(zlib.crc32(robot.name.encode()))
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a, tau = rng.normal(size=(3, n, robot.nv))
    return States(q, v, a, tau)


def mimics(path: Path) -> dict[str, tuple[str, float, float]]:
    """From each joint that mimics to its source in the end, the multiplier and the offset.

    Read from the XML and not from the Robot, so that a peer does not learn it from whom it checks.
    """
    stated = {}
    for joint in ElementTree.parse(path).getroot().iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("type") != "fixed":
            numbers = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
            stated[joint.attrib["name"]] = (mimic.attrib["joint"], *numbers)
    for name, (source, k, o) in stated.items():
        while source in stated:
            source, k_s, o_s = stated[source]
            k, o = k * k_s, o + k * o_s
        stated[name] = source, k, o
    return stated
