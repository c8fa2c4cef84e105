from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc


@pytest.fixture(scope="module")
def firefly():
    return hc.aerial.load("firefly")


@pytest.mark.slow
def test_matrix_and_program_agree_where_nothing_limits(firefly, rng):
    allocation = hc.aerial.Allocation(firefly)
    for _ in range(10):
        U = np.array([15.0, *rng.uniform(-0.3, 0.3, 2), rng.uniform(-0.05, 0.05)])
        found = allocation(U[0], U[1:])
        assert found.success
        np.testing.assert_allclose(found.given, U, atol=1e-4)
        np.testing.assert_allclose(
            firefly.allocation_matrix @ allocation.by_matrix(U[0], U[1:]), U, atol=1e-9
        )
        assert np.all(found.speeds <= 838.0 + 1e-6)


@pytest.mark.slow
def test_yaw_gives_way_first(firefly):
    found = hc.aerial.Allocation(firefly)(15.0, [0.5, -0.3, 5.0])
    np.testing.assert_allclose(found.given[:3], [15.0, 0.5, -0.3], atol=1e-3)
    assert not found.success and 0 < found.given[3] < 5.0
    turned = hc.aerial.Allocation(firefly, priorities=(("yaw",), ("thrust", "roll", "pitch")))
    assert turned(15.0, [0.5, -0.3, 0.25]).given[3] == pytest.approx(0.25, abs=1e-3)


def test_a_failed_rotor_stands_still_and_roll_and_pitch_are_kept(firefly):
    allocation = hc.aerial.Allocation(firefly, failed=["rotor_2"])
    found = allocation(firefly.robot.mass * 9.81, [0.0, 0.0, 0.0])
    assert found.speeds[1] == 0
    np.testing.assert_allclose(found.given[:3], [firefly.robot.mass * 9.81, 0, 0], atol=1e-3)
    assert allocation.by_matrix(10.0, [0, 0, 0])[1] == 0


def test_bad_allocations(firefly):
    with pytest.raises(hc.InputError, match="no rotor 'rotor_9'"):
        hc.aerial.Allocation(firefly, failed=["rotor_9"])
    with pytest.raises(hc.InputError, match="once each"):
        hc.aerial.Allocation(firefly, priorities=(("yaw",),))
    with pytest.raises(hc.InputError, match="three moments"):
        hc.aerial.Allocation(firefly)(np.nan, [0, 0, 0])
