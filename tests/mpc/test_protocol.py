"""Controller and Adaptive answer the protocol of controllers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.control.protocol import ControllerProtocol


class Unreadable:
    """An object that cannot be converted, as a tensor that needs gradients."""

    def __array__(self, *arguments: object, **keywords: object) -> Array:
        raise RuntimeError("no array")


INVALID = [
    *(Unreadable(), 10**400, "x", {}, None, [1j, 0.0], [True, False]),
    *(np.zeros(3), np.zeros((2, 2)), np.array([np.nan, 0.0]), np.ma.array([1.0, 2.0], mask=[1, 0])),
]
ROBOT = hc.load("planar_2r")
LOADED = ROBOT.with_payload("tip", 0.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))


def mpc() -> hc.mpc.Controller:
    problem = hc.mpc.Problem(ROBOT.parametric("payload", payload_link="tip"), horizon=10, dt=0.01)
    problem.add_posture_cost([1.0, 0.5], weight=100.0, end_weight=10.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    return hc.mpc.Controller(problem)


def adaptive() -> hc.mpc.Adaptive:
    return hc.mpc.Adaptive(mpc(), hc.OnlineIdentifier(ROBOT, ("payload",), payload_link="tip"))


def run(controller: Any, steps: int = 300) -> Array:
    """Torques of a loop whose target jumps, with invalid measurements on the way."""
    q, v, torques = np.array([0.8, 0.3]), np.zeros(2), []
    for k in range(steps):
        if k % 50 == 0:
            controller.set(posture=[0.5 + 0.5 * (k % 100 == 0), 0.5])
        if k % 20 == 7 and k // 20 < len(INVALID):
            for measured in ((INVALID[k // 20], v), (q, INVALID[k // 20])):
                torques.append(controller.step(*measured))
                assert controller.status == "bad measurement" and not controller.ok and controller.message
        tau = controller.step(q, v)
        v = v + 0.01 * LOADED.forward_dynamics(q, v, tau)
        q = q + 0.01 * v
        torques.append(tau)
    return np.array(torques)


@pytest.mark.parametrize("make", [mpc, adaptive])
def test_protocol(make: Any) -> None:
    """Never raises, never NaN, within the limits; reset and pickled ones equal a new one, bit for bit."""
    controller = make()
    assert isinstance(controller, ControllerProtocol) and controller.period == 0.01
    assert controller.status is hc.Status.NOT_STARTED
    first = run(controller)
    assert np.isfinite(first).all() and (np.abs(first) <= ROBOT.limits.effort).all()
    assert controller.ok and controller.status == "ok" and controller.message == ""
    if isinstance(controller, hc.mpc.Adaptive):
        assert controller.n_handed_over > 0
    copy = pickle.loads(pickle.dumps(controller))
    copy.reset()
    controller.reset()
    assert controller.status == "not started" and not controller.ok
    np.testing.assert_array_equal(run(controller), first)
    np.testing.assert_array_equal(run(copy), first)
    with pytest.deprecated_call():
        assert controller.details == controller.message


def test_set_refuses_what_is_no_number_as_an_input_error() -> None:
    controller = mpc()
    for value in (Unreadable(), 10**400, "x", {}, None, [1j, 0.0], np.ma.array([1.0, 2.0], mask=[1, 0])):
        with pytest.raises(hc.InputError):
            controller.set(posture=value)


@pytest.mark.parametrize("make", [mpc, adaptive])
def test_follows_a_motion_and_targets_by_name(make: Any) -> None:
    t = np.linspace(0.0, 1.0, 101)
    q = np.transpose([1.0 - 0.3 * np.cos(2.0 * t), 0.5 + 0.2 * t])
    controller = make()
    motion = hc.simulate(ROBOT, q[0], np.zeros(2), 0.05, dt=0.01, controller=controller)
    for reference in (
        {"t": t, "posture": q},
        {"posture": lambda time: [1.0 - 0.3 * np.cos(2.0 * time), 0.5 + 0.2 * time]},
        lambda time: {"posture": [1.0 - 0.3 * np.cos(2.0 * time), 0.5 + 0.2 * time]},
    ):
        following = controller.following(reference)
        following.reset()
        state = q[0], np.zeros(2)
        for k in range(101):
            tau = following.step(*state, t=t[k])
            v = state[1] + 0.01 * ROBOT.forward_dynamics(*state, tau)
            state = state[0] + 0.01 * v, v
        assert following.ok and np.abs(state[0] - q[-1]).max() < 0.05
    following = controller.following(motion)
    following.step(q[0], np.zeros(2), t=0.05)
    assert following.status == "ok"


def test_a_reset_controller_begins_its_phases_again() -> None:
    from mpc.legged import hop

    controller = hc.mpc.Controller(hop())
    controller._memory.advance(0.1)
    controller.set(ground_height=0.01)
    schedule = controller._memory.schedule
    assert schedule is not None and schedule.time == pytest.approx(0.1)
    controller.reset()
    schedule = controller._memory.schedule
    assert schedule is not None and (schedule.time, schedule.ground) == (0.0, 0.01)


def test_adaptive_export_names_what_can_be_exported(tmp_path: Path) -> None:
    with pytest.raises(hc.HelicoidError, match=r"adaptive\.controller\.export_c"):
        adaptive().export_c(tmp_path)
