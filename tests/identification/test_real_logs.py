"""The logs of real robots, where they are at hand: defaults only, one setting for all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid.identification.identify import identify
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.log import Log
from helicoid.identification.report.score import Score

REPOSITORY = Path(__file__).parents[2]
DATA = Path(os.environ.get("HELICOID_DATA", REPOSITORY.parent / "shared" / "data"))

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="the logs of real robots are not here (HELICOID_DATA)"),
    pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning"),
]


def halves(path: Path) -> tuple[Log, Log]:
    log = Log.from_csv(path)
    split = log.t[0] + 0.6 * (log.t[-1] - log.t[0])
    first = int(np.searchsorted(log.t, split))
    return log[:first], log[first:]


@pytest.mark.slow
def test_kuka_predicts_the_second_run() -> None:
    folder = DATA / "kuka_lwr4"
    robot = hc.load(folder / "kuka_lwr4.urdf")
    result = identify(robot, Log.from_csv(folder / "measurements_1.csv"))
    test = Log.from_csv(folder / "measurements_2.csv")
    inner = slice(500, -100)
    effort = np.array([176.0, 176, 100, 100, 100, 38, 38])
    score = Score.of(result.regression.row_names, test.tau[inner], result.predict(test)[inner], effort)
    assert score.overall_nrms < 0.00120
    assert all(body.inertia.mass > 0 and not body.inertia.doubts() for body in result.robot.model.bodies)


@pytest.mark.slow
def test_ur10_predicts_the_rest_of_its_run() -> None:
    train, test = halves(DATA / "ur10" / "ur10_exciting_trajectory.csv")
    result = identify(hc.load(DATA / "ur10" / "ur10_robot.urdf"), train)
    assert result.predict(test).shape == test.tau.shape
    assert result.score(test).overall_relative < 0.0415
    found = result.robot.inverse_dynamics(test.q, test.v, np.zeros_like(test.v), friction=True)
    wanted = result.regression.predict(result.x, test.q, test.v, np.zeros_like(test.v))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
def test_panda_predicts_the_rest_of_its_run() -> None:
    train, test = halves(DATA / "panda" / "panda_exciting_trajectory.csv")
    result = identify(hc.load(DATA / "panda" / "panda_arm_7dof.urdf"), train)
    measured, inner = low_pass(np.asarray(test.tau), test.rate, 4.0), slice(20, -20)
    off = (measured - result.predict(test))[inner]
    assert np.linalg.norm(off) / np.linalg.norm(measured[inner]) < 0.0182
