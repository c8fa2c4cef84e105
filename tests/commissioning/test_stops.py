"""Errors of wiring, units and drives stop the procedure, and the message says which is likely."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.controllers import assumed_armature
from helicoid.commissioning.plant.recording import Recording
from helicoid.commissioning.plant.wiring import likely_error

pytestmark = pytest.mark.compiled

FLIP = np.array([1.0, -1.0])


def described() -> hc.Robot:
    return hc.load("planar_2r").with_joints(velocity=2.0, effort=100.0)


class Miswired:
    """A true robot behind what is done to its measurements (q, v, tau) and to its commands."""

    period = 0.005

    def __init__(
        self,
        measured: Callable[[Array, Array, Array], tuple[Any, ...]] = lambda q, v, tau: (q, v, tau),
        applied: Callable[[Array], Array] = lambda tau: tau,
        delay: int = 0,
        interrupt: tuple[int, ...] = (),
    ) -> None:
        scale = np.repeat([0.75, 1.3], 10)
        true = described().with_parameters(scale * described().parameters.values)
        true = true.with_joints(damping=[2.0, 1.0], friction=[1.5, 0.8], armature=[0.3, 0.2])
        noise = {"q": 1e-5, "v": 2e-3, "tau": 0.05}
        self.inner = hc.Plant(true, np.array([0.3, 0.5]), noise=noise, period=self.period)
        self.measured, self.applied, self.interrupt = measured, applied, interrupt
        self.queue: deque[Array] = deque([np.zeros(2)] * delay)
        self.calls, self.held = 0, False

    def measure(self) -> Any:
        sample = self.inner.measure()
        q, v, tau = self.measured(sample.q, sample.v, sample.tau)
        return SimpleNamespace(q=q, v=v, tau=tau)

    def apply(self, tau: Array) -> None:
        self.calls += 1
        if self.calls in self.interrupt:
            raise KeyboardInterrupt
        self.queue.append(self.applied(tau))
        self.inner.apply(self.queue.popleft())

    def hold(self) -> None:
        self.held = True


def failing(tau: Array) -> Array:
    raise ConnectionError("no answer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wiring", "status", "text"),
    [
        (dict(measured=lambda q, v, tau: (FLIP * q, FLIP * v, tau)), "limit reached",
         "the encoder of 'joint_2' counts in the other direction"),
        (dict(measured=lambda q, v, tau: (q, FLIP * v, tau)), "limit reached",
         "the velocity of 'joint_2' is not the derivative of its position"),
        (dict(measured=lambda q, v, tau: (q, [v[0], 0.0], tau)), "limit reached",
         "the velocity of 'joint_2' is not the derivative of its position"),
        (dict(measured=lambda q, v, tau: (q[::-1], v[::-1], tau)), "limit reached",
         "encoders of 'joint_1' and 'joint_2' are exchanged"),
        (dict(measured=lambda q, v, tau: (q[::-1], v[::-1], tau[::-1]), applied=lambda tau: tau[::-1]),
         "limit reached",
         "joints 'joint_1' and 'joint_2' are exchanged"),
        (dict(measured=lambda q, v, tau: (q, v, FLIP * tau)), "bad measurement",
         "'joint_2' reports torques against its commands"),
        (dict(delay=20), "limit reached", "torques act about 100 ms late"),
        (dict(measured=lambda q, v, tau: (q, v, None), applied=lambda tau: np.clip(tau, -3.0, 3.0)),
         "limit reached",
         "'joint_1'"),
        (dict(applied=failing), "plant failed", "apply(tau) raised ConnectionError: no answer"),
        (dict(measured=lambda q, v, tau: (np.rad2deg(q), np.rad2deg(v), tau)), "no excitation",
         "within the limits"),
    ],
    ids=["encoder", "velocity", "still", "encoders", "joints", "torque", "late", "weak", "apply", "degrees"],
)  # fmt: skip
def test_the_reason_of_a_stop(wiring: dict[str, Any], status: str, text: str, tmp_path: Path) -> None:
    plant = Miswired(**wiring)
    result = hc.commission(described(), plant, tmp_path, duration=4.0, max_frequency=15.0, progress=False)
    assert result.status == status and result.controllers is None
    assert text in result.message, result.message
    assert plant.held or not plant.calls


def test_an_interrupt_brakes_and_leaves_a_report_and_what_was_recorded(tmp_path: Path) -> None:
    plant = Miswired(interrupt=(300,))
    with pytest.raises(KeyboardInterrupt, match="the arm was left where it came to rest"):
        hc.commission(described(), plant, tmp_path, duration=4.0, progress=False)
    assert plant.held and plant.calls == 300 + 100  # half a second of braking
    assert np.abs(plant.inner.measure().v).max() < 0.05
    assert "Stopped: interrupted" in (tmp_path / "report.html").read_text("utf-8")
    stopped = Recording.load(tmp_path / "stopped.npz")
    assert stopped is not None and len(stopped) == 299 and np.all(np.isfinite(stopped.q))


def test_a_second_interrupt_ends_the_brake_and_the_arm_is_held(tmp_path: Path) -> None:
    plant = Miswired(interrupt=(300, 310))
    with pytest.raises(KeyboardInterrupt, match="the brake was interrupted as well"):
        hc.commission(described(), plant, tmp_path, duration=4.0, progress=False)
    assert plant.held and plant.calls == 310
    assert Recording.load(tmp_path / "stopped.npz") is not None


def test_after_an_interrupt_resumption_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the identification after the first motion, which is not repeated."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    settings: dict[str, Any] = {"duration": 4.0, "max_frequency": 15.0, "progress": False}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("helicoid.commissioning.commission.identify", interrupted)
        hc.commission(described(), Miswired(), tmp_path, **settings)
    assert "Between motions" in (tmp_path / "report.html").read_text("utf-8")
    before = (tmp_path / "first_motion.npz").read_bytes()
    result = hc.commission(described(), Miswired(), tmp_path, resume=True, **settings)
    assert result.success, result.message
    assert (tmp_path / "first_motion.npz").read_bytes() == before


@pytest.mark.parametrize("ratio", [0.1, 1.0])
def test_no_cause_is_made_up(ratio: float, rng: np.random.Generator) -> None:
    """Right wiring, wrong masses and friction, white noise; and motions of noise alone."""
    robot, n, T = hc.load("ur5"), 400, 1e-3
    tau = 30.0 * rng.choice([-1.0, 1.0], size=(n, 6)) * [1, 1, 1, 0.1, 0.1, 0.1]
    q, v = np.zeros((n, 6)), np.zeros((n, 6))
    for k in range(n - 1):
        a = robot.forward_dynamics(q[k], v[k], tau[k] + robot.gravity(q[k])) * ratio
        v[k + 1] = v[k] + T * a
        q[k + 1] = q[k] + T * (v[k] + v[k + 1]) / 2
    command = tau + np.asarray(robot.gravity(q))
    zero, t = np.zeros_like(q), T * np.arange(n)
    found = likely_error(robot, Recording(t, q, v, command, command, zero, zero, zero))
    assert found is None if ratio == 1.0 else found is not None and "should cause" in found.text
    noise = rng.normal(size=(n, 6))
    assert likely_error(robot, Recording(t, zero, noise, command, command, zero, zero, zero)) is None


def test_joints_that_are_held_back_get_more_gain() -> None:
    robot, inertia = hc.load("ur5"), np.full(6, 1.0)  # heavier than half the effort wants
    first, more = (assumed_armature(robot, inertia, np.full(6, ratio)) for ratio in (15.0, 75.0))
    assert np.all(first[3:] == 0.0) and np.all(more >= first)
    light = np.full(6, 2e-3)
    known, raised = (assumed_armature(robot, light, np.full(6, ratio)) for ratio in (15.0, 75.0))
    assert np.all(raised >= 4 * known) and np.all(known <= 0.5 * robot.limits.effort / 225 + 1e-12)
