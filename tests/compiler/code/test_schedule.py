"""Pieces compute every value before it is used and never lose one that is still needed."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helicoid.compiler.code.program import CONSTANT, INPUT, Program
from helicoid.compiler.code.schedule import Instruction, Schedule, cosine, named, needed, schedule, sine
from random_graphs import deep_graph, graphs


def given_by(step: Instruction) -> list[int]:
    """Names of what a step computes."""
    if step.angles:
        return [name for angle in step.angles for name in (sine(angle), cosine(angle))]
    return [step.value]


def run(program: Program, plan: Schedule) -> list[tuple[int, int]]:
    """Follow the names of values through pieces and slots as the C does; the output elements written."""
    slots: dict[int, int] = {}
    written: list[tuple[int, int]] = []
    for piece in plan.segments:
        for name, slot in piece.loads.items():
            assert slots[slot] == name, "a slot was overwritten, or not yet written"
        known = set(piece.loads)
        for step in piece.instructions:
            assert set(needed(program, step)) <= known
            known.update(given_by(step))
        for name, slot in piece.stores.items():
            assert name in known
            assert 0 <= slot < plan.n_slots
            slots[slot] = name
        for name, places in piece.outputs.items():
            for output, element in places:
                value = program.outputs[output][element]
                assert name == named(program, value)
                assert name in known or program.values[value].operation == INPUT
                written.append((output, element))
    return written


def computed_elements(program: Program) -> list[tuple[int, int]]:
    """The output elements that are no constants."""
    return [
        (output, element)
        for output, elements in enumerate(program.outputs)
        for element, value in enumerate(elements)
        if program.values[value].operation != CONSTANT
    ]


sizes = st.sampled_from([1, 5, 12, 600])


@given(graphs(), sizes, st.sampled_from([1, 2, 4]))
def test_values_are_known_where_they_are_used(function: ca.Function, size: int, angles: int) -> None:
    program = Program.from_casadi(function)
    plan = schedule(program, angles_at_once=angles, size=size)
    written = run(program, plan)
    assert sorted(written) == computed_elements(program)  # each once


@given(graphs(), sizes, st.sampled_from([1, 4]))
def test_pieces_hold_every_step_once_and_not_more_than_asked(
    function: ca.Function, size: int, angles: int
) -> None:
    program = Program.from_casadi(function)
    plan = schedule(program, angles_at_once=angles, size=size)
    steps = [step for piece in plan.segments for step in piece.instructions]
    assert all(len(piece.instructions) <= size for piece in plan.segments)
    assert all(len(step.angles) <= angles for step in steps)
    names = [name for step in steps for name in given_by(step)]
    assert len(set(names)) == len(names)
    operations = [k for k, v in enumerate(program.values) if v.operation not in (INPUT, CONSTANT)]
    assert {named(program, number) for number in operations} <= set(names)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_long_programs_keep_what_they_still_need(size: int) -> None:
    program = Program.from_casadi(deep_graph(np.random.default_rng(9), 400))
    plan = schedule(program, angles_at_once=4, size=size)
    written = run(program, plan)
    assert len(plan.segments) > 500 / size
    assert sorted(written) == computed_elements(program)


def test_slots_are_reused() -> None:
    x = y = ca.SX.sym("x")
    for k in range(100):
        y = ca.sqrt(y + k)
    program = Program.from_casadi(ca.Function("chain", [x], [y]))
    plan = schedule(program, angles_at_once=1, size=5)
    run(program, plan)
    assert len(plan.segments) == 40
    assert plan.n_slots <= 2


def test_one_piece_needs_no_slots() -> None:
    x = ca.SX.sym("x", 3)
    program = Program.from_casadi(ca.Function("f", [x], [ca.sin(x) * ca.cos(x) + x]))
    plan = schedule(program, angles_at_once=4)
    assert (len(plan.segments), plan.n_slots) == (1, 0)


@pytest.mark.parametrize(("at_once", "steps"), [(1, 6), (2, 3), (4, 2)])
def test_independent_angles_share_a_step(at_once: int, steps: int) -> None:
    x = ca.SX.sym("x", 6)
    program = Program.from_casadi(ca.Function("f", [x], [ca.vertcat(ca.sin(x), ca.cos(x[:3]))]))
    plan = schedule(program, angles_at_once=at_once)
    assert len(plan.segments[0].instructions) == steps


def test_an_angle_that_depends_on_another_is_ordered_after_it() -> None:
    x = ca.SX.sym("x")
    program = Program.from_casadi(ca.Function("f", [x], [ca.sin(ca.sin(ca.cos(x)))]))
    plan = schedule(program, angles_at_once=4, size=1)
    run(program, plan)
    assert [len(step.angles) for piece in plan.segments for step in piece.instructions] == [1, 1, 1]


def test_a_function_that_computes_nothing_is_one_empty_piece() -> None:
    x = ca.SX.sym("x", 2)
    program = Program.from_casadi(ca.Function("f", [x], [ca.vertcat(x[1], 3, x[0])]))
    plan = schedule(program, angles_at_once=4)
    assert len(plan.segments) == 1 and not plan.segments[0].instructions
    assert sorted(run(program, plan)) == [(0, 0), (0, 2)]
