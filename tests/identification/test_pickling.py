"""Results of identification are pickled and equal in other processes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc

ROBOT = arm(2)
TRUTH = truth(ROBOT, 1)
LOG = recording(TRUTH, 2, noise=0.02, seconds=4.0)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def result() -> hc.Identification:
    groups = ("inertia", "viscous", "coulomb", "load")
    return hc.identify(ROBOT, LOG, groups=groups, cutoff=5.0, lag=0.0, regularisation=1.0)


def both_ways(pool: ProcessPoolExecutor, value: Any) -> list[Any]:
    """Through another process and back, and copied here."""
    return [pool.submit(copy.copy, value).result(), copy.deepcopy(value)]


def test_logs(pool: ProcessPoolExecutor) -> None:
    for log in both_ways(pool, LOG):
        np.testing.assert_array_equal(log.tau, LOG.tau)
        assert repr(log) == repr(LOG)
    assert pool.submit(attrgetter("rate"), LOG).result() == LOG.rate


@pytest.mark.parametrize("friction", [None, "stribeck"])
def test_results(pool: ProcessPoolExecutor, result: hc.Identification, friction: str | None) -> None:
    own = result if friction is None else hc.fit_nonlinear(result, LOG, friction)
    expected = own.predict(LOG)
    np.testing.assert_allclose(
        pool.submit(methodcaller("predict", LOG), own).result(), expected, rtol=0, atol=1e-12
    )
    for other in both_ways(pool, own):
        np.testing.assert_array_equal(other.x, own.x)
        np.testing.assert_allclose(other.predict(LOG), expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(other.robot.parameters.values, own.robot.parameters.values)


@pytest.mark.slow
def test_identifiability(pool: ProcessPoolExecutor) -> None:
    told = hc.identifiability(ROBOT)
    for other in both_ways(pool, told):
        assert str(other) == str(told)


@pytest.mark.slow
def test_exciting_motions(pool: ProcessPoolExecutor) -> None:
    motion = hc.excitation(ROBOT, 4.0, harmonics=3, velocity=2.0, iterations=3)
    for other in both_ways(pool, motion):
        np.testing.assert_array_equal(other.tau, motion.tau)
        for here, there in zip(motion.at([0.1, 0.2]), other.at([0.1, 0.2]), strict=True):
            np.testing.assert_array_equal(here, there)


@pytest.mark.slow
def test_online_identifiers_go_on_where_they_were(pool: ProcessPoolExecutor) -> None:
    identifier = hc.OnlineIdentifier(ROBOT, ("inertia", "friction"), noise=0.1, forgetting=0.99)
    samples = list(zip(LOG.q, LOG.v, LOG.a, LOG.tau, strict=True))
    for sample in samples[:30]:
        identifier.update(*sample)
    np.testing.assert_allclose(
        pool.submit(attrgetter("theta"), identifier).result(), identifier.theta, rtol=1e-12
    )
    others = both_ways(pool, identifier)
    for sample in samples[30:60]:
        for one in (identifier, *others):
            one.update(*sample)
            one.update_without_acceleration(sample[0], sample[1], sample[3], 0.01)
    for other in others:
        np.testing.assert_allclose(other.theta, identifier.theta, rtol=1e-9, atol=1e-12)
        assert other.change.sum == pytest.approx(identifier.change.sum, rel=1e-9)
        assert repr(other) == repr(identifier)
