"""Extent of a measurement."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.harness.subjects import QUANTITIES
from benchmarks.peers import LIBRARIES
from benchmarks.report import published

DERIVATIVES = ("∂ID", "∂ID (AD)", "dID/dt")


@dataclass(frozen=True)
class Plan:
    """Extent of one run: subjects, repetitions and durations (s)."""

    name: str
    robots: tuple[str, ...]
    chains: tuple[int, ...]
    batch_robots: tuple[str, ...]
    batch: int
    rounds: int
    batch_rounds: int
    turn: float = 0.002
    quantities: tuple[str, ...] = tuple(QUANTITIES)
    chain_quantities: tuple[str, ...] = published.LABELS
    libraries: tuple[str, ...] = tuple(LIBRARIES)
    patience: float = 20.0
    """A library that takes longer than this to prepare a chain is not asked for longer chains."""
    slow_libraries: bool = True
    """Whether libraries that compile are asked for derivatives and chains, too."""
    start: int = 3
    """How often starting is repeated."""
    limit: bool = True
    memory: tuple[int, ...] = (1_000_000,)
    """Sizes of the batches whose memory is measured."""
    rollouts: int = 0
    """How many rollouts are simulated side by side, beside a single one; 0 for no simulation at all."""
    large_compile: int = 0
    """Joints of the chain whose forward dynamics is compiled to see how that takes; 0 for none."""


QUICK = Plan(
    name="quick",
    robots=("pan_tilt_pendulum", "ur5", "panda"),
    chains=(1, 2, 4, 8, 16),
    batch_robots=("ur5", "panda"),
    batch=20_000,
    rounds=10,
    batch_rounds=5,
    chain_quantities=("G", "ID", "M", "FD (ABA)"),
    slow_libraries=False,
    start=2,
    rollouts=1024,
)
FULL = Plan(
    name="full",
    robots=("pan_tilt_pendulum", "ur5", "panda", "snake", "talos"),
    chains=(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60),
    batch_robots=("ur5", "panda", "snake", "talos"),
    batch=100_000,
    rounds=60,
    batch_rounds=8,
    memory=(100_000, 1_000_000),
    rollouts=1024,
    large_compile=60,
)
