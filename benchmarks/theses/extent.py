"""Extent of a run and the robots of the theses."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from xml.etree import ElementTree

from benchmarks.harness.plan import Plan
from benchmarks.harness.subjects import Subject, bundled_subject, chain_subject, plain_urdf
from benchmarks.report import published
from helicoid.model import bundled

TITLES = {"pan_tilt_pendulum": "pendulum", "ur5": "UR5", "kuka_lwr4": "KUKA LWR", "snake": "snake"}
"""Bundled robots of the urdf2casadi thesis, by the names that it gives them."""


@dataclass(frozen=True)
class Extent:
    """How much of the tables is measured."""

    states: int = 1000
    robots: tuple[str, ...] = tuple(TITLES)
    heidelberg: tuple[str, ...] = ("Panda", "double pendulum", "chain of 14")
    snakes: tuple[int, ...] = (16, 32)
    chains: tuple[int, ...] = (1, *published.JOINTS)
    derivative_chains: tuple[int, ...] = (1, *published.JOINTS)
    identified: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    libraries: tuple[str, ...] = ("Pinocchio", "MuJoCo", "PyBullet", "KDL", "urdf2casadi")
    max_operations: int = 1_500_000
    """Functions with more are counted and not compiled."""
    max_nodes: int = 6_000
    """Derivatives of urdf2casadi with more are given a limited time: CasADi makes one C function of each."""
    max_growth_operations: int = 300_000
    """The same for derivatives of long chains that are not compiled as loops."""
    minutes: float = 4.0
    interpreted_minutes: float = 4.0
    """For such a derivative without compiling it."""
    rounds: int = 5
    turn: float = 0.002
    slow_libraries: bool = True
    """Whether urdf2casadi, which compiles its functions, is timed."""

    @property
    def timed(self) -> tuple[str, ...]:
        """Robots of the tables of times: those of which times are published."""
        return tuple(name for name in self.robots if name in published.TIMES)

    @property
    def plan(self) -> Plan:
        """The same for the harness."""
        return Plan(
            "theses",
            robots=self.robots,
            chains=self.chains,
            batch_robots=(),
            batch=0,
            rounds=self.rounds,
            batch_rounds=0,
            turn=self.turn,
            slow_libraries=self.slow_libraries,
        )


FULL = Extent()
QUICK = Extent(
    snakes=(16,),
    chains=(1, 2, 10),
    derivative_chains=(1, 2, 10),
    identified=(1, 2),
    max_operations=12_000,
    max_growth_operations=12_000,
    rounds=3,
    slow_libraries=False,
)


def snake(n_snakes: int) -> Subject:
    """Snakes of 16 joints end to end; two of them are the hypothetical one of 32 joints."""
    if n_snakes == 1:
        return bundled_subject("snake")
    one = ElementTree.fromstring(plain_urdf(bundled.text("snake")))
    whole = ElementTree.Element("robot", name=f"snake_{16 * n_snakes}")
    whole.append(one.findall("link")[0])
    for k in range(n_snakes):
        for part in one[1:]:
            whole.append(_shifted(part, 16 * k))
    return Subject(f"snake of {16 * n_snakes}", ElementTree.tostring(whole, encoding="unicode"))


def _shifted(part: ElementTree.Element, by: int) -> ElementTree.Element:
    """Copy of a link or joint whose numbers, and those of its links, are so much higher."""
    part = copy.deepcopy(part)
    for element, key in [(part, "name"), *((end, "link") for end in part if "link" in end.attrib)]:
        kind, _, number = element.attrib[key].rpartition("_")
        if number.isdigit():
            element.set(key, f"{kind}_{int(number) + by}")
        elif by:
            element.set(key, f"link_{by}")
    return part


def heidelberg(extent: Extent) -> dict[str, Subject]:
    """Robots of the Heidelberg thesis; its chain of 14 joints is not described, ours is UR5-like."""
    subjects = {
        "Panda": bundled_subject("panda"),
        "double pendulum": bundled_subject("double_pendulum"),
        "chain of 14": chain_subject(14),
    }
    return {name: subjects[name] for name in extent.heidelberg}
