"""Partition of a program into functions of bounded length: their instructions, loads and stores.

One long function takes a C compiler time that grows faster than its length. Pieces of some hundred
operations compile in linear time; only values that cross a cut go through memory, in slots that are reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from helicoid.compiler.code.program import CONSTANT, Program

SEGMENT_LENGTH = 600  # operations


@dataclass(slots=True)
class Instruction:
    """The operation that gives one value, or, with several `angles`, the sines and cosines of all of them."""

    value: int = -1
    angles: tuple[int, ...] = ()


@dataclass
class CodeSegment:
    """Instructions in order, the outputs to write, and the slots to load values from and to store them in.

    Values have the names that `named` gives them.
    """

    instructions: list[Instruction] = field(default_factory=list)
    loads: dict[int, int] = field(default_factory=dict)  # name -> slot
    stores: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # name -> (output, element)


@dataclass(frozen=True)
class Schedule:
    """The segments of a program, and the number of slots that they need."""

    segments: tuple[CodeSegment, ...]
    n_slots: int


def schedule(program: Program, angles_at_once: int, size: int = SEGMENT_LENGTH) -> Schedule:
    """Partition a program; `angles_at_once` independent sines and cosines form one instruction."""
    instructions = list(_instructions(program, angles_at_once))
    segments = [CodeSegment(instructions[k : k + size]) for k in range(0, len(instructions), size)] or [
        CodeSegment()
    ]
    home: dict[int, int] = {}  # value -> segment that computes it
    for number, segment in enumerate(segments):
        for instruction in segment.instructions:
            home.update(dict.fromkeys(computed(program, instruction), number))
    for output, elements in enumerate(program.outputs):
        for element, value in enumerate(elements):
            if program.values[value].operation != CONSTANT:
                name = named(program, value)
                segments[home.get(name, 0)].outputs.setdefault(name, []).append((output, element))
    return Schedule(tuple(segments), _assign_slots(program, segments, home))


def _instructions(program: Program, angles_at_once: int) -> Iterator[Instruction]:
    """Operations in order; sines and cosines are grouped by the number of them that precede."""
    levels = _levels(program)
    by_level: dict[int, list[int]] = {}
    for number, level in enumerate(levels):
        by_level.setdefault(level, []).append(number)
    values, is_computed = program.values, program.is_computed
    for level in sorted(by_level):
        turning = [n for n in by_level[level] if values[n].operation in ("sin", "cos")]
        angles = list(dict.fromkeys([values[n].arguments[0] for n in turning]))
        for k in range(0, len(angles), angles_at_once):
            yield Instruction(angles=tuple(angles[k : k + angles_at_once]))
        apart = set(turning)
        for number in by_level[level]:
            if is_computed[number] and number not in apart:
                yield Instruction(number)


def _levels(program: Program) -> list[int]:
    """The number of sines and cosines on the longest path to each value, itself included."""
    levels: list[int] = []
    for value in program.values:
        before = max([levels[argument] for argument in value.arguments], default=0)
        levels.append(before + (value.operation in ("sin", "cos")))
    return levels


def computed(program: Program, instruction: Instruction) -> tuple[int, ...]:
    """The names of the values that an instruction computes."""
    if not instruction.angles:
        return (instruction.value,)
    return tuple(number for angle in instruction.angles for number in (sine(angle), cosine(angle)))


def sine(angle: int) -> int:
    """The name that stands for the sine of a value: sin and cos of one angle come together."""
    return -2 * angle - 1


def cosine(angle: int) -> int:
    """The name that stands for the cosine of a value."""
    return -2 * angle - 2


def named(program: Program, number: int) -> int:
    """The name of a value in the segments."""
    value = program.values[number]
    if value.operation == "sin":
        return sine(value.arguments[0])
    if value.operation == "cos":
        return cosine(value.arguments[0])
    return number


def needed(program: Program, instruction: Instruction) -> list[int]:
    """The names of the computed values that an instruction reads."""
    arguments: Sequence[int] = instruction.angles or program.values[instruction.value].arguments
    return [named(program, number) for number in arguments if program.is_computed[number]]


def _assign_slots(program: Program, segments: list[CodeSegment], home: dict[int, int]) -> int:
    if len(segments) == 1:
        return 0
    last_use: dict[int, int] = {}
    for number, segment in enumerate(segments):
        for instruction in segment.instructions:
            for name in needed(program, instruction):
                if home[name] != number:
                    last_use[name] = number
    n_slots = 0
    free: list[int] = []
    slots: dict[int, int] = {}
    expiring: list[list[int]] = [[] for _ in segments]
    for number, segment in enumerate(segments):
        if number > 0:
            free.extend(expiring[number - 1])
        for instruction in segment.instructions:
            for name in needed(program, instruction):
                if home[name] != number:
                    segment.loads[name] = slots[name]
            for name in computed(program, instruction):
                if name in last_use:
                    if not free:
                        free.append(n_slots)
                        n_slots += 1
                    slots[name] = segment.stores[name] = free.pop()
                    expiring[last_use[name]].append(slots[name])
    return n_slots
