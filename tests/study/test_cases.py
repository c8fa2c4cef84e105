"""Reproducibility: every episode has the same values and random numbers in any order of execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.study.cases import Sampler

SAMPLER = Sampler(
    7,
    {
        "mass": hc.study.normal(2.0, 0.5),
        "push": hc.study.uniform([0, 0], [1, 2]),
        "floor": hc.study.choice("ab"),
    },
    {"gain": (4, 6, 8), "on": (False, True)},
)


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=30))
def test_values_do_not_depend_on_the_other_cases(indices: list[int]) -> None:
    together = SAMPLER.cases(indices)
    for k, index in enumerate(indices):
        alone = SAMPLER.cases([index])[0]
        assert alone.index == together[k].index == index
        assert alone["mass"] == together[k]["mass"]
        assert alone["floor"] == together[k]["floor"]
        assert np.array_equal(alone["push"], together[k]["push"])
        assert alone.seed == together[k].seed


def test_random_numbers_are_of_the_episode_alone() -> None:
    first = [case.rng.normal(size=3) for case in SAMPLER.cases(np.arange(20))]
    second = [SAMPLER.cases([k])[0].rng.normal(size=3) for k in reversed(range(20))][::-1]
    assert np.array_equal(first, second)
    assert len({tuple(numbers) for numbers in first}) == 20
    assert len({case.seed for case in SAMPLER.cases(np.arange(500))}) == 500


def test_values_are_independent_of_each_other_and_of_the_random_numbers() -> None:
    cases = SAMPLER.cases(np.arange(4000))
    noise = np.array([case.rng.normal() for case in cases])
    columns = np.column_stack([cases["mass"], cases["push"], noise])
    correlation = np.corrcoef(columns.T) - np.eye(4)
    assert np.abs(correlation).max() < 0.06


def test_one_more_name_changes_nothing_of_the_others() -> None:
    more = Sampler(7, {"new": hc.study.uniform(0, 1), **SAMPLER.varied}, SAMPLER.grids)
    assert np.array_equal(more.cases(np.arange(600))["mass"], SAMPLER.cases(np.arange(600))["mass"])
    other = Sampler(8, SAMPLER.varied, SAMPLER.grids)
    assert not np.any(other.cases(np.arange(600))["mass"] == SAMPLER.cases(np.arange(600))["mass"])


def test_grids_give_all_combinations_in_turn() -> None:
    cases = SAMPLER.cases(np.arange(12))
    pairs = list(zip(cases["gain"].tolist(), cases["on"].tolist(), strict=True))
    assert pairs[:6] == [(4, False), (4, True), (6, False), (6, True), (8, False), (8, True)]
    assert pairs[6:] == pairs[:6]


def test_a_case_is_a_mapping_of_plain_values() -> None:
    case = SAMPLER.cases([3])[0]
    assert set(case) == {"mass", "push", "floor", "gain", "on"}
    assert type(case["mass"]) is float
    assert type(case["floor"]) is str
    assert case.get("wind", 1.5) == 1.5
    assert "wind" not in case
    with pytest.raises(hc.InputError, match=r"'wind' varies in this study; there is mass"):
        case["wind"]


def test_own_draws() -> None:
    own = hc.Study(lambda case: {}, seed=1)
    own.vary("q0", lambda rng: rng.normal(size=2))
    assert own.case(5)["q0"].shape == (2,)
    own.vary("bad", lambda rng: {})
    with pytest.raises(hc.InputError, match=r"vary\('bad'\)"):
        own.case(5)
