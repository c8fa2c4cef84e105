from __future__ import annotations

import numpy as np
import pytest
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid.identification.linear.equations.regression import default_groups

ROBOT = arm()
TRUTH = truth(ROBOT, 1)


def test_a_payload_is_weighed() -> None:
    bare = recording(TRUTH, 2, noise=0.1, seconds=6.0)
    result = hc.identify(ROBOT, bare, groups=default_groups(), cutoff=10.0, lag=0.0, regularisation=1.0)
    tip = ROBOT.link_names[-1]
    inertia = np.diag([0.02, 0.03, 0.04])
    loaded = TRUTH.with_payload(tip, 2.0, [0.05, -0.02, 0.1], inertia)
    log = recording(loaded, 12, noise=0.5)
    payload = hc.identify_payload(result, log, tip)
    assert payload.inertia.mass == pytest.approx(2.0, abs=max(0.1, 4 * payload.sigma[0]))
    assert not payload.inertia.doubts()
    assert f"Payload({tip!r}, " in repr(payload) and " kg at (" in repr(payload)
    exact = hc.identify_payload(TRUTH, recording(loaded, 12), tip)
    assert exact.inertia.mass == pytest.approx(2.0, abs=1e-3)
    np.testing.assert_allclose(exact.inertia.com, [0.05, -0.02, 0.1], atol=2e-3)
    assert exact.on(TRUTH).parameters.values[20] == pytest.approx(loaded.parameters.values[20], abs=1e-3)


def test_sigma_is_the_scatter_whatever_the_low_pass() -> None:
    tip = ROBOT.link_names[-1]
    clean = recording(TRUTH.with_payload(tip, 2.0, [0.05, -0.02, 0.1], np.diag([0.02, 0.03, 0.04])), 12)
    assert clean.tau is not None
    for cutoff in (None, 5.0):
        off = []
        for seed in range(8):
            noise = 0.5 * np.random.default_rng(seed).normal(size=clean.tau.shape)
            log = hc.Log.from_arrays(clean.t, clean.q, clean.v, clean.a, clean.tau + noise)
            found = hc.identify_payload(TRUTH, log, tip, cutoff=cutoff)
            off.append((found.inertia.mass - 2.0) / found.sigma[0])
        assert 0.4 < np.sqrt(np.mean(np.square(off))) < 1.8  # eight draws of one number
