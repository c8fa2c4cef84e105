"""An actuated system of one's own in simulate; vehicles are in tests/aerial."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.simulation.inputs.laws import LoopLaw


class Lagging:
    """A pendulum arm whose torque follows its command u with a lag, and drifts with noise."""

    def __init__(self):
        self.robot = hc.load("planar_2r").with_joints(friction=0, damping=0)
        self.controls, self.states, self.n_noise = ("a", "b"), ("ta", "tb"), 1
        self.control_limits = np.array([-5.0, -np.inf]), np.array([5.0, np.inf])

    def start(self):
        return np.array([1.0, 2.0])

    def equations(self, q, v, z, u, w):
        return z, 10 * (u - z) + ca.vertcat(w, 0)


@pytest.fixture(scope="module")
def system():
    return Lagging()


def test_numbers_callables_functions_and_laws_steer_alike(system):
    q, v, z = (ca.SX.sym(name, 2) for name in ("q", "v", "states"))
    law = hc.Function.from_expressions("law", {"q": q, "v": v, "states": z}, {"u": -3 * q - v + z / 2})
    runs = [
        hc.simulate(system, [0.3, 0.2], None, 0.2, controller=one, dt=0.01, substeps=k, seed=5)
        for one in (law, lambda t, q, v, z: -3 * q - v + z / 2)
        for k in (1, 3)
    ]
    np.testing.assert_allclose(runs[0].q, runs[2].q, atol=1e-12)
    np.testing.assert_allclose(runs[1].q, runs[3].q, atol=1e-12)
    np.testing.assert_allclose(runs[0].controls[:-1], runs[2].controls[:-1], atol=1e-12)
    again = hc.simulate(system, [0.3, 0.2], None, 0.2, controller=runs[0].controls, dt=0.01, seed=5)
    np.testing.assert_allclose(again.q, runs[0].q, atol=1e-12)
    np.testing.assert_allclose(again.tau, again.states)


def test_laws_with_memory_and_rows(system):
    memory, target, q = ca.SX.sym("memory", 2), ca.SX.sym("target", 2), ca.SX.sym("q", 2)
    law = hc.Function.from_expressions(
        "pi", {"q": q, "target": target, "memory": memory},
        {"u": target - q + memory, "memory_next": memory + 0.1 * (target - q)},
    )  # fmt: skip
    rows = np.linspace(0, 1, 20)[:, None] * [1.0, 2.0]

    class Following:
        def in_loop(self, times):
            return LoopLaw(law, np.array([0.5, 0.0]), {"target": rows})

    for substeps in (1, 2):
        flown = hc.simulate(system, [0, 0], None, 0.2, Following(), dt=0.01, substeps=substeps)
        kept = np.array([0.5, 0.0])
        for k in range(20):
            np.testing.assert_allclose(flown.controls[k], rows[k] - flown.q[k] + kept, atol=1e-12)
            kept = kept + 0.1 * (rows[k] - flown.q[k])


def test_batches_are_runs_side_by_side_with_noise_of_their_own(system):
    many = hc.simulate(system, np.zeros((4, 2)), None, 0.1, controller=[1.0, 0.0], dt=0.01)
    assert many.q.shape == (4, 11, 2) and many.states.shape == (4, 11, 2)
    assert np.ptp(many.states[:, -1, 0]) > 0 and np.ptp(many.states[:, -1, 1]) == 0
    assert many[2].controls.shape == (11, 2) and many[2][0:3].states.shape == (3, 2)


def test_controls_are_cut_and_kept_in_files(system, tmp_path):
    flown = hc.simulate(system, None, None, 0.1, controller=[50.0, 50.0], dt=0.01, seed=1)
    cut = hc.simulate(system, None, None, 0.1, controller=[5.0, 50.0], dt=0.01, seed=1)
    np.testing.assert_allclose(flown.q, cut.q)
    flown.save(tmp_path / "flight.npz")
    back = hc.Trajectory.load(tmp_path / "flight.npz", system.robot)
    np.testing.assert_array_equal(back.controls, flown.controls)
    np.testing.assert_array_equal(back.states, flown.states)
    assert flown.resample(dt=0.05).states.shape == (3, 2)


def test_what_does_not_fit_is_said(system):
    with pytest.raises(hc.InputError, match="leave out f_ext"):
        hc.simulate(system, f_ext={"tip": np.zeros(6)})
    with pytest.raises(hc.InputError, match="states0 are 2 finite numbers"):
        hc.simulate(system, states0=[1.0])
    with pytest.raises(hc.InputError, match="states0 are a vehicle's"):
        hc.simulate(system.robot, states0=[1.0])
    with pytest.raises(hc.InputError, match=r"controls \(a, b\)"):
        hc.simulate(system, controller=[1.0, 2.0, 3.0])
    strange = hc.Function.from_expressions("f", {"x": ca.SX.sym("x")}, {"u": ca.SX.zeros(2)})
    with pytest.raises(hc.InputError, match="those of a controller are some of t, q, v, states, not x"):
        hc.simulate(system, controller=strange)
    with pytest.raises(hc.SimulationError, match="finite numbers") as caught:
        hc.simulate(system, controller=lambda t, q, v: [np.nan, 0] if t > 0.5 else [0, 0], dt=0.1)
    assert 5 <= len(caught.value.trajectory.t) <= 7
    with pytest.raises(hc.HelicoidError, match="no controls"):
        _ = hc.simulate(system.robot, duration=0.01).controls
