"""The report and the command: the verdict follows the figures, the page is whole, names cannot break it."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from synthetic_logs import arm, recording, truth

import helicoid as hc
from helicoid import Robot
from helicoid.cli.identify import run
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.identify import identify
from helicoid.identification.logs.log import Log
from helicoid.identification.report.assessment import Assessment
from helicoid.identification.report.page import report_page, spectrum
from helicoid.identification.result import Identification

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def robot() -> Robot:
    return arm(2)


@pytest.fixture(scope="module")
def logs(robot: Robot) -> tuple[Log, Log]:
    actual = truth(robot, 1)
    return recording(actual, 2, noise=0.02, seconds=5.0), recording(actual, 7, noise=0.02, seconds=4.0)


@pytest.fixture(scope="module")
def result(robot: Robot, logs: tuple[Log, Log]) -> Identification:
    return identify(robot, logs[0], cutoff=None, regularisation=1.0)


class Elements(HTMLParser):
    """The tags of a page that are opened, and whether every one is closed in order."""

    VOID = ("meta", "br", "link")

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.names.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Elements:
    elements = Elements()
    elements.feed(page)
    assert elements.open == []
    return elements


def test_a_good_result_is_called_good(result: Identification, logs: tuple[Log, Log]) -> None:
    assessment = Assessment(result, logs[:1], logs[1])
    assert assessment.light == "good"
    assert assessment.verdict.startswith("This result can be trusted: torque error")
    assert [check.light for check in assessment.checks] == ["good"] * 7
    assert assessment.described.overall_relative > 3 * assessment.unseen.overall_relative


def test_wrong_parameters_are_called_bad(result: Identification, logs: tuple[Log, Log]) -> None:
    wrong = Assessment(replace(result, x=3 * result.x), logs[:1], logs[1])
    assert wrong.light == "bad"
    assert wrong.verdict.startswith("Do not trust this result") and "unseen data" in wrong.verdict


def test_impossible_bodies_are_called_bad(result: Identification, logs: tuple[Log, Log]) -> None:
    x = np.array(result.x)
    x[0] = -1.0
    assessment = Assessment(replace(result, x=x), logs[:1])
    answers = {check.topic: check for check in assessment.checks}
    assert answers["impossible bodies"].light == "bad" and "link_1" in answers["impossible bodies"].answer


def test_without_unseen_data_there_is_doubt(result: Identification, logs: tuple[Log, Log]) -> None:
    unknown = replace(result.held_out, rmse=np.full(2, np.nan))
    assessment = Assessment(replace(result, held_out=unknown), logs[:1])
    assert assessment.light == "doubtful" and "not tried on unseen data" in assessment.verdict


def test_a_motion_of_one_joint_excites_too_little(robot: Robot) -> None:
    """A joint that hardly moves leaves most of the bodies to the description."""
    full = recording(truth(robot, 1), 2, seconds=5.0)
    q, v, a = np.array(full.q), np.array(full.v), np.array(full.a)
    q[:, 1], v[:, 1], a[:, 1] = 0.3 + 1e-3 * q[:, 1], 1e-3 * v[:, 1], 1e-3 * a[:, 1]
    rng = np.random.default_rng(0)
    tau = truth(robot, 1).inverse_dynamics(q, v, a, friction=True) + 0.1 * rng.normal(size=v.shape)
    poor = Log.from_arrays(full.t, q, v, a, tau)
    rich = Log.from_arrays(full.t, full.q, full.v, full.a, full.tau + 0.1 * rng.normal(size=v.shape))
    groups = ("inertia", "viscous", "offset")
    known = [
        np.count_nonzero(
            Assessment(identify(robot, log, groups=groups, cutoff=None, regularisation=1.0), [log]).precision
            > 3.0
        )
        for log in (poor, rich)
    ]
    assert known[0] < known[1]


def test_the_page_is_whole_and_loads_nothing(
    result: Identification, logs: tuple[Log, Log], tmp_path: Path
) -> None:
    result.report(tmp_path / "report.html", logs[1])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    icon = '<link rel="icon" href="data:,">'  # an empty one, which keeps browsers from asking a server
    assert page.count(icon) == 1
    page = page.replace(icon, "")
    names = parsed(page).names
    assert (
        names.count("figure") == 4 and names.count("svg") == 2 * 12
    )  # 2 joints in 2 logs, 3 plots of 2 each
    assert "script" not in names and "link" not in names and "img" not in names
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert "This result can be trusted" in page
    for name in (*result.parameters.names[:3], *result.regression.row_names):
        assert name.rpartition(".")[2] in page


def test_names_from_files_are_escaped(robot: Robot, logs: tuple[Log, Log]) -> None:
    links = [replace(link, name=link.name.replace("link_2", NASTY)) for link in robot.model.links]
    joints = [
        replace(
            joint,
            name=joint.name.replace("joint_1", NASTY),
            child=joint.child.replace("link_2", NASTY),
            parent=joint.parent.replace("link_2", NASTY),
        )
        for joint in robot.model.joints
    ]
    other = Robot(replace(robot.model, name=NASTY, links=tuple(links), joints=tuple(joints)))
    log = replace(logs[0], source=NASTY)
    nasty = identify(other, log, cutoff=None, regularisation=1.0)
    page = report_page(replace(nasty, notes=(*nasty.notes, f"Warning: {NASTY}")), log)
    assert "script" not in parsed(page).names
    assert NASTY not in page and "&lt;script&gt;" in page


def test_the_spectrum_of_a_sine_peaks_at_its_frequency() -> None:
    t = np.arange(5000) / 100.0
    frequency, density = spectrum(3.0 + np.sin(2 * np.pi * 5.0 * t), 100.0)
    assert frequency[np.argmax(density)] == pytest.approx(5.0, abs=0.2)


def test_the_command_writes_what_it_says(robot: Robot, logs: tuple[Log, Log], tmp_path: Path) -> None:
    paths = []
    for k, log in enumerate(logs):
        header = ["t", *(f"{kind}{j}" for kind in ("q", "dq", "ddq", "tau") for j in range(2))]
        rows = np.column_stack([log.t, log.q, log.v, log.a, log.tau])
        paths.append(tmp_path / f"run{k}.csv")
        np.savetxt(paths[-1], rows, delimiter=",", header=",".join(header), comments="")
    out = StringIO()
    console = Console(file=out, width=120)
    assessment = run(robot, paths[:1], paths[1], tmp_path / "out", console)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "identified.urdf",
        "parameters.csv",
        "report.html",
    }
    assert assessment.light == "good" and "This result can be trusted" in out.getvalue()
    again = hc.load(tmp_path / "out" / "identified.urdf")
    log = logs[1]
    np.testing.assert_allclose(
        again.inverse_dynamics(log.q, log.v, log.a, friction=True),
        assessment.result.robot.inverse_dynamics(log.q, log.v, log.a, friction=True),
        rtol=1e-6,
        atol=1e-8,
    )
    with (tmp_path / "out" / "parameters.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["parameter"] for row in rows] == list(assessment.result.parameters.names)
    assert [float(row["value"]) for row in rows] == list(assessment.result.parameters.values)


def test_the_command_says_what_is_wrong(robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run(robot, [tmp_path / "none.csv"], None, tmp_path, Console(file=StringIO()))
    with pytest.raises(HelicoidError, match="bag"):  # a folder is read as one
        run(robot, [tmp_path], None, tmp_path, Console(file=StringIO()))
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(HelicoidError, match="no folder"):
        run(robot, [tmp_path / "none.csv"], None, tmp_path / "file", Console(file=StringIO()))


@pytest.mark.parametrize(("rmse", "size", "light"), [(1.0, 0.1, "good"), (10.0, 1.0, "bad")])
def test_smaller_torques_on_unseen_data_are_no_overfitting(
    result: Identification, logs: tuple[Log, Log], rmse: float, size: float, light: str
) -> None:
    assessment = Assessment(result, logs[:1], logs[1])
    fitted = assessment.fitted
    vars(assessment)["unseen"] = replace(fitted, rmse=rmse * fitted.rmse, size=size * fitted.size)
    answers = {check.topic: check.light for check in assessment.checks}
    assert answers["overfitting"] == light


def test_the_page_says_whether_the_motion_was_excited(result: Identification, logs: tuple[Log, Log]) -> None:
    log = logs[1]
    assert log.v is not None and log.a is not None
    fast = Log.from_arrays(log.t / 4, log.q, 4 * log.v, 16 * log.a, log.tau)
    page = report_page(result, logs[0], fast)
    parsed(page)
    assert "Does the motion of the validation log lie" in page and "times what was recorded" in page
    assert "Does the motion of the validation log lie" not in report_page(result, logs[0])
