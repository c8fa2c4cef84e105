"""Distributions: what they draw is what they say, and what makes no sense is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import helicoid as hc


def test_normal_is_that_of_the_textbook(rng: np.random.Generator) -> None:
    drawn = hc.study.normal(2.0, 0.5).draw(rng, 20_000)
    assert stats.kstest(drawn, stats.norm(2.0, 0.5).cdf).pvalue > 1e-4


def test_cut_normal_is_the_truncated_one(rng: np.random.Generator) -> None:
    drawn = hc.study.normal(0.0, 1.0, least=0.5, most=2.0).draw(rng, 20_000)
    assert drawn.min() >= 0.5
    assert drawn.max() <= 2.0
    assert stats.kstest(drawn, stats.truncnorm(0.5, 2.0).cdf).pvalue > 1e-4


def test_uniform_and_log_uniform(rng: np.random.Generator) -> None:
    assert stats.kstest(hc.study.uniform(-1, 3).draw(rng, 20_000), stats.uniform(-1, 4).cdf).pvalue > 1e-4
    factors = hc.study.log_uniform(0.1, 100).draw(rng, 20_000)
    assert stats.kstest(factors, stats.loguniform(0.1, 100).cdf).pvalue > 1e-4


def test_vectors_have_an_axis_more(rng: np.random.Generator) -> None:
    drawn = hc.study.normal([0.0, 100.0], 1.0).draw(rng, 500)
    assert drawn.shape == (500, 2)
    assert abs(drawn[:, 1].mean() - 100) < 0.5


def test_a_deviation_of_zero_is_the_mean(rng: np.random.Generator) -> None:
    assert np.all(hc.study.normal(3.0, 0.0).draw(rng, 10) == 3.0)


def test_choice_has_its_shares(rng: np.random.Generator) -> None:
    drawn = hc.study.choice(["a", "b", "c"], shares=[1, 0, 3]).draw(rng, 8000)
    assert set(drawn) == {"a", "c"}
    assert abs(np.mean(drawn == "c") - 0.75) < 0.03
    assert hc.study.choice(range(1, 7)).draw(rng, 10).dtype.kind == "i"


@pytest.mark.parametrize(
    "call",
    [
        lambda: hc.study.normal(0.0, -1.0),
        lambda: hc.study.normal(0.0, 1.0, least=50.0),
        lambda: hc.study.normal(0.0, 0.0, least=1.0),
        lambda: hc.study.normal(np.nan, 1.0),
        lambda: hc.study.uniform(2.0, 1.0),
        lambda: hc.study.uniform(0.0, np.inf),
        lambda: hc.study.uniform(np.zeros((2, 2)), 1.0),
        lambda: hc.study.log_uniform(0.0, 1.0),
        lambda: hc.study.choice([]),
        lambda: hc.study.choice([1, 2], shares=[1]),
        lambda: hc.study.choice([[1, 2], [3, 4]]),
        lambda: hc.study.choice([1.0, np.nan]),
    ],
)
def test_invalid_arguments_are_refused(call: Any) -> None:
    with pytest.raises(hc.InputError):
        call()
