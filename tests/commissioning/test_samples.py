"""Samples that repeat, come late, in another unit, or not at all."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.commissioning.plant.watchdog import within

pytestmark = pytest.mark.compiled

START = np.array([0.3, 0.5])
QUICK: dict[str, Any] = {"duration": 4.0, "max_frequency": 15.0, "progress": False}


def described() -> hc.Robot:
    return hc.load("planar_2r").with_joints(velocity=2.0, effort=100.0)


class Reporting:
    """A plant behind `report`, which makes a sample from the count and the true one."""

    period = 0.005

    def __init__(self, report: Any, period: float = 0.005) -> None:
        true = described().with_joints(damping=[2.0, 1.0], friction=[1.5, 0.8], armature=[0.3, 0.2])
        noise = {"q": 1e-5, "v": 2e-3, "tau": 0.05}
        self.inner = hc.Plant(true, START, noise=noise, period=period)
        self.report, self.count, self.held = report, 0, 0

    def measure(self) -> Any:
        self.count += 1
        x = self.inner.measure()
        return self.report(self, SimpleNamespace(q=x.q, v=x.v, tau=x.tau, t=float(x.t)))

    def apply(self, tau: Array) -> None:
        self.inner.apply(tau)

    def hold(self) -> None:
        self.held += 1


def frozen(after: int, **without: Any) -> Any:
    def report(plant: Any, sample: Any) -> Any:
        if plant.count <= after:
            plant.last = SimpleNamespace(**{**vars(sample), **without})
        return plant.last

    return report


def scaled(**by: Any) -> Any:
    def report(plant: Any, sample: Any) -> Any:
        return SimpleNamespace(**{k: by.get(k, 1.0) * x for k, x in vars(sample).items() if k != "t"})

    return report


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (frozen(300), "has repeated the same sample for"),
        (frozen(300, tau=None), "has repeated the same sample for"),
        (scaled(v=np.array([1.0, 2.0])), "'joint_2' moves 0.5 times as far as its velocity says"),
        (scaled(v=0.5), "the time between samples is likely 10 ms, not 5 ms"),
        (scaled(tau=np.array([3.0, 1.0])), "'joint_1' reports 3 times the torque of its commands"),
    ],
    ids=["frozen", "frozen without torque", "velocity", "period", "torque"],
)
def test_wrong_samples_stop_the_procedure(report: Any, text: str, tmp_path: Path) -> None:
    plant = Reporting(report)
    result = hc.commission(described(), plant, tmp_path, **QUICK)
    assert result.status == "bad measurement" and text in result.message, result.message
    assert plant.held and np.abs(plant.inner.v).max() < 2.0


def test_samples_at_other_times_than_stated_stop_the_procedure(tmp_path: Path) -> None:
    plant = Reporting(lambda plant, sample: sample, period=0.01)
    result = hc.commission(described(), plant, tmp_path, **QUICK)
    assert result.status == "bad measurement"
    assert "samples are 10 ms apart" in result.message and "period says 5 ms" in result.message


def test_a_frozen_sample_is_not_believed_by_the_brake(tmp_path: Path) -> None:
    plant = Reporting(frozen(300))
    result = hc.commission(described(), plant, tmp_path, **QUICK)
    assert "whether the arm came to rest was not measured" in result.message
    assert np.abs(plant.inner.tau - described().gravity(plant.last.q)).max() < 1e-6


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm")
def test_a_plant_that_does_not_answer_stops_the_procedure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helicoid.commissioning.plant.protocol._MAX_ANSWER_TIME", 1.0)

    def report(plant: Any, sample: Any) -> Any:
        if plant.count > 200:
            time.sleep(3600)
        return sample

    plant = Reporting(report)
    result = hc.commission(described(), plant, tmp_path, **QUICK)
    assert result.status == "plant failed" and "TimeoutError: no answer within 1 s" in result.message
    assert plant.held and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarm")
def test_the_alarm_of_others_is_left_alone() -> None:
    def other(*_: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGALRM, other)
    try:
        assert within(1e-4, lambda: time.sleep(0.01)) is None
        assert signal.getsignal(signal.SIGALRM) is other
    finally:
        signal.signal(signal.SIGALRM, before)
