"""Cutting a program into pieces that a C compiler digests: what each computes, and what it hands on.

One long function takes a C compiler time that grows faster than its length. Pieces of some hundred
operations compile in linear time; only values that cross a cut go through memory, in slots that are reused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from helicoid.compiler.code.program import CONSTANT, Program

PIECE = 600  # operations


@dataclass(slots=True)
class Step:
    """The operation that gives one value, or, with several `angles`, the sines and cosines of all of them."""

    value: int = -1
    angles: tuple[int, ...] = ()


@dataclass
class Piece:
    """Steps in order, the outputs to write, and the slots to read values from and to leave values in.

    Values go by the names that `named` gives them.
    """

    steps: list[Step] = field(default_factory=list)
    loads: dict[int, int] = field(default_factory=dict)  # name -> slot
    stores: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # name -> (output, element)


@dataclass(frozen=True)
class Schedule:
    """The pieces of a program, and how many slots they need."""

    pieces: tuple[Piece, ...]
    n_slots: int


def schedule(program: Program, angles_at_once: int, size: int = PIECE) -> Schedule:
    """Cut a program; `angles_at_once` sines and cosines that do not wait for each other form one step."""
    steps = list(_steps(program, angles_at_once))
    pieces = [Piece(steps[k : k + size]) for k in range(0, len(steps), size)] or [Piece()]
    home: dict[int, int] = {}  # value -> piece that computes it
    for number, piece in enumerate(pieces):
        for step in piece.steps:
            home.update(dict.fromkeys(given(program, step), number))
    for output, elements in enumerate(program.outputs):
        for element, value in enumerate(elements):
            if program.values[value].operation != CONSTANT:
                name = named(program, value)
                pieces[home.get(name, 0)].outputs.setdefault(name, []).append((output, element))
    return Schedule(tuple(pieces), _assign_slots(program, pieces, home))


def _steps(program: Program, angles_at_once: int) -> Iterator[Step]:
    """Operations in order; sines and cosines gathered by how many of them lie before them."""
    levels = _levels(program)
    by_level: dict[int, list[int]] = {}
    for number, level in enumerate(levels):
        by_level.setdefault(level, []).append(number)
    for level in sorted(by_level):
        numbers = by_level[level]
        angles = list(dict.fromkeys(program.values[n].arguments[0] for n in numbers if _is_angle(program, n)))
        for k in range(0, len(angles), angles_at_once):
            yield Step(angles=tuple(angles[k : k + angles_at_once]))
        for number in numbers:
            if program.is_computed[number] and not _is_angle(program, number):
                yield Step(number)


def _is_angle(program: Program, number: int) -> bool:
    return program.values[number].operation in ("sin", "cos")


def _levels(program: Program) -> list[int]:
    """How many sines and cosines lie on the longest way to each value, itself included."""
    levels: list[int] = []
    for value in program.values:
        before = max([levels[argument] for argument in value.arguments], default=0)
        levels.append(before + (value.operation in ("sin", "cos")))
    return levels


def given(program: Program, step: Step) -> tuple[int, ...]:
    """The names of the values that a step computes."""
    if not step.angles:
        return (step.value,)
    return tuple(number for angle in step.angles for number in (sine(angle), cosine(angle)))


def sine(angle: int) -> int:
    """The name that stands for the sine of a value: sin and cos of one angle come together."""
    return -2 * angle - 1


def cosine(angle: int) -> int:
    """The name that stands for the cosine of a value."""
    return -2 * angle - 2


def named(program: Program, number: int) -> int:
    """The name under which a value is known to the pieces."""
    value = program.values[number]
    if value.operation == "sin":
        return sine(value.arguments[0])
    if value.operation == "cos":
        return cosine(value.arguments[0])
    return number


def needed(program: Program, step: Step) -> list[int]:
    """The names of the computed values that a step reads."""
    arguments: Sequence[int] = step.angles or program.values[step.value].arguments
    return [named(program, number) for number in arguments if program.is_computed[number]]


def _assign_slots(program: Program, pieces: list[Piece], home: dict[int, int]) -> int:
    last_use: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        for step in piece.steps:
            for name in needed(program, step):
                if home[name] != number:
                    last_use[name] = number
    n_slots = 0
    free: list[int] = []
    slots: dict[int, int] = {}
    expiring: list[list[int]] = [[] for _ in pieces]
    for number, piece in enumerate(pieces):
        if number > 0:
            free.extend(expiring[number - 1])
        for step in piece.steps:
            for name in needed(program, step):
                if home[name] != number:
                    piece.loads[name] = slots[name]
            for name in given(program, step):
                if name in last_use:
                    if not free:
                        free.append(n_slots)
                        n_slots += 1
                    slots[name] = piece.stores[name] = free.pop()
                    expiring[last_use[name]].append(slots[name])
    return n_slots
