"""Active limits of a step of differential kinematics, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from helicoid.control.differential.formulation import VelocityProgram
from helicoid.control.program.loop import CompiledStep
from helicoid.control.program.numbers import Numbers

Kind = Literal["velocity", "position", "acceleration", "self_distance"]
Side = Literal["lower", "upper"]


class Limit(NamedTuple):
    """An active limit: its joint or its two links, its kind and its side."""

    joint: str
    kind: Kind
    side: Side


def limits_at(formulation: VelocityProgram, loop: CompiledStep) -> Iterator[Limit]:
    """Active limits of the velocity in the memory of runtime/differential.h."""
    robot, shapes, pairs = formulation.robot, formulation.capsules, formulation.pairs
    numbers, memory, lower = loop.numbers, loop.memory, loop.at["lower"]
    sides: tuple[tuple[Side, slice, int], ...] = (("lower", lower, -1), ("upper", loop.at["upper"], 1))
    for joint in robot.joint_names:
        for k in range(robot.nv)[robot.index(joint)[1]]:
            for side, bounds, sign in sides:
                if _equal(memory[k], bound := memory[bounds][k]):
                    yield Limit(joint, _kind(numbers, k, bound, sign, memory[robot.nv + k]), side)
    if shapes is not None:
        for pair, state in zip(pairs, memory[lower.start - len(pairs) : lower.start], strict=True):
            if state:
                links = " and ".join(str(shapes[number].link) for number in pair)
                yield Limit(links, "self_distance", "lower")


def _kind(numbers: Numbers, k: int, bound: float, sign: int, before: float) -> Kind:
    """Kind of the limit that determines a bound of velocity k."""
    p = numbers.values
    if _equal(bound, sign * p[numbers["velocity_limit"].at][k]):
        return "velocity"
    change = p[numbers["acceleration_limit"].at][k] * p[numbers["dt"].at.start]
    at_change = _equal(bound, before + change) or _equal(bound, before - change)
    return "acceleration" if at_change else "position"


def _equal(a: float, b: float) -> bool:
    return bool(np.isfinite(b)) and abs(a - b) <= 1e-7 * (1e-2 + abs(b))
