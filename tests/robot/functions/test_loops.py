"""Large robots: derivatives by loops are those of the straight-line expressions, which other tests check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import helicoid as hc
from helicoid.compiler.code.matrix_program import MatrixProgram
from helicoid.compiler.evaluation.compiled import compile_is_on
from random_trees import fewest, models, seeds, state

pytestmark = pytest.mark.needs_compiler
NAMES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "mass_matrix_inverse")


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    was = compile_is_on()
    hc.set_compile(True)
    yield
    hc.set_compile(was)


def tuples(result: Any) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(one) for one in (result if isinstance(result, (tuple, list)) else (result,)))


def has_loops(function: hc.Function) -> bool:
    return isinstance(function._numeric.evaluator.program("scalar"), MatrixProgram)  # type: ignore[union-attr]


def check(function: hc.Function, samples: list[np.ndarray], tolerance: float = 1e-10) -> None:
    """One sample and a batch of them equal CasADi's virtual machine on the expressions."""
    batch = tuples(function(*samples))
    for k in range(len(samples[0])):
        exact = tuples(function.casadi.call([values[k] for values in samples]))
        single = tuples(function(*(values[k] for values in samples)))
        for found, together, wanted in zip(single, batch, exact, strict=True):
            atol = tolerance * max(1e-3, float(abs(wanted).max()))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=atol)
            np.testing.assert_allclose(together[k], wanted, rtol=0, atol=atol)


def samples(robot: hc.Robot, n: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.array(values) for values in zip(*(state(robot, rng) for _ in range(n)), strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_a_quadruped(name: str) -> None:
    """A floating base, branches, friction and armature."""
    robot = hc.load("quadruped", base="floating").with_joints(damping=0.3, friction=0.2, armature=0.01)
    function = getattr(robot, name)
    if name != "mass_matrix_inverse":
        function = function.with_options(friction=True)
    check(function, samples(robot, 3, 7)[: len(function.inputs)])
    assert has_loops(function)


def test_parameters_at_run_time() -> None:
    robot = hc.serial_chain(12).parametric("inertia", "friction", "gravity")
    function = robot.inverse_dynamics_derivatives
    values = samples(robot, 2, 1)
    theta = robot.theta.values * np.array([[1.0], [1.1]])
    check(function, [*values, theta])
    assert has_loops(function)


def test_mass_matrix_of_a_large_robot() -> None:
    """Two chains on a third one."""
    chain = hc.serial_chain(18)
    robot = chain
    for k, link in enumerate((chain.link_names[6], chain.link_names[-1])):
        robot = robot.attach(chain.with_joints(armature=0.1), to=link, prefix=f"branch{k}_")
    check(robot.mass_matrix, samples(robot, 2, 3)[:1])
    assert has_loops(robot.mass_matrix)
    assert chain.mass_matrix._loops() is None


def test_batches_take_the_fewer_operations() -> None:
    """Loops of a chain of 30 for M⁻¹, straight-line code of derivatives."""
    chain = hc.serial_chain(30)
    for name, loops in (("mass_matrix_inverse", True), ("inverse_dynamics_derivatives", False)):
        function = getattr(chain, name)
        check(function, samples(chain, 2, 4)[: len(function.inputs)])
        batch = function._numeric.evaluator.program("batch")
        assert isinstance(batch, MatrixProgram) == loops


@pytest.mark.slow
@fewest
@given(models(max_bodies=20, mimics=False), seeds)
def test_trees_of_all_joints(model: Any, seed: int) -> None:
    robot = hc.Robot(model)
    for name in NAMES:
        function = getattr(robot, name)
        check(function, samples(robot, 2, seed)[: len(function.inputs)], tolerance=1e-8)


def test_which_robots_have_loops() -> None:
    """Small robots and those with couplings keep straight-line code."""
    small, chain = hc.serial_chain(8), hc.serial_chain(12)
    coupled = chain.with_spring("world", chain.link_names[-1], 100.0, 0.5, point_a=(0, 0, 3))
    for robot in (small, coupled):
        assert robot.inverse_dynamics_derivatives._loops() is None
    assert chain.inverse_dynamics_derivatives._loops() is not None
    assert coupled.mass_matrix_inverse._loops() is not None  # a spring is no mass
