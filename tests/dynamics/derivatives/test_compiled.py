"""The compiled code and batches of matrices and derivatives give what the virtual machine gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import helicoid as hc
from random_trees import assert_close

FUNCTIONS = (
    "closed_form",
    "closed_form_dot",
    "coriolis_matrix_dot",
    "christoffel_symbols",
    "mass_matrix_derivatives",
    "forward_dynamics_derivatives",
    "slotine_li_regressor",
)


@pytest.fixture
def compiling() -> Iterator[None]:
    hc.set_compile(True)
    yield
    hc.set_compile(False)


def two_links(base: str) -> hc.Robot:
    """A fixed arm, or one on a base that floats and has a mass."""
    if base == "fixed":
        return hc.load("planar_2r")
    with pytest.warns(hc.DoubtfulModelWarning):
        return hc.load("planar_2r", base="floating").with_payload(
            "base_link", 2.0, np.zeros(3), 0.1 * np.eye(3)
        )


# A function with one output, and one with several, are quick; the rest takes the compiler's time.
QUICK = {("closed_form", "fixed"), ("slotine_li_regressor", "floating")}


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param(name, base, marks=() if (name, base) in QUICK else pytest.mark.slow)
        for name in FUNCTIONS
        for base in ("fixed", "floating")
    ],
)
def test_compiled_calls_and_batches(name: str, base: str, rng: np.random.Generator, compiling: None) -> None:
    hc.set_compile(False)
    function = getattr(two_links(base), name)
    robot = two_links(base)
    q = np.array([robot.random(rng) for _ in range(11)])
    inputs = [q, *rng.normal(size=(len(function.inputs) - 1, 11, robot.nv))]
    expected = [function(*(x[k] for x in inputs)) for k in range(11)]
    hc.set_compile(True)
    compiled = getattr(robot, name)
    batch = compiled(*inputs)
    for k in (0, 7, 10):
        one = compiled(*(x[k] for x in inputs))
        several = isinstance(one, tuple)
        for result in (one, tuple(x[k] for x in batch) if several else batch[k]):
            pairs = zip(result, expected[k], strict=True) if several else [(result, expected[k])]
            for found, wanted in pairs:
                assert_close(found, wanted, 1e-11, scale=1.0)
    assert compiled._kernel is not None
