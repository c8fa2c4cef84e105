"""Studies on a pool of real processes: whatever happens to a process is a row, or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.study.results.folder import Folder, StudyError, StudyWarning

PATIENCE = 300.0  # seconds, on a busy machine; nothing waits that long unless it fails


def rough(case: Any) -> dict[str, float]:
    """An episode that raises, hangs, crashes, or loses its process once, as its index says."""
    if case.index == 7:
        raise ValueError("seven")
    if case.index == 11:
        time.sleep(1e6)
    if case.index == 13:
        os.kill(os.getpid(), signal.SIGSEGV)
    once = Path(case["place"]) / "killed"
    if case.index == 17 and not once.exists():
        once.touch()
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory is short
    return {"x": case["mass"] + case.rng.normal()}


def smooth(case: Any) -> dict[str, float]:
    return {"x": case["mass"] + case.rng.normal()}


def study(episode: Any, place: Path) -> hc.Study:
    made = hc.Study(episode, seed=3)
    made.vary("mass", hc.study.normal(2.0, 0.5))
    made.grid("place", [str(place)])
    return made


@pytest.mark.slow
def test_whatever_happens_to_a_process_is_a_row_or_nothing(tmp_path: Path) -> None:
    with pytest.warns(StudyWarning, match="3 of 40 episodes failed"):
        table = study(rough, tmp_path).run(40, workers=2, time_limit=10.0, out=tmp_path / "out")
    assert (tmp_path / "killed").exists()
    errors = dict(zip(table.failed["episode"].tolist(), table.failed["error"].tolist(), strict=True))
    assert set(errors) == {7, 11, 13}
    assert errors[7] == "ValueError: seven"
    assert errors[11].startswith("stopped after 10 s, in rough (test_processes.py, line")
    assert "SIGSEGV" in errors[13]
    calm = study(smooth, tmp_path).run(40, on="here")
    good = [k for k in range(40) if k not in errors]
    assert np.array_equal(table["x"][good], calm["x"][good])
    assert np.array_equal(table["mass"], calm["mass"])


def hanging_batch(cases: Any) -> dict[str, Any]:
    if 21 in cases.indices:
        time.sleep(1e6)
    return {"x": cases["mass"] * 2.0}


@pytest.mark.slow
def test_a_batch_that_hangs_is_searched_for_the_one_that_does() -> None:
    made = hc.Study(hanging_batch, batch=True)
    made.vary("mass", hc.study.uniform(1.0, 2.0))
    with pytest.warns(StudyWarning, match="1 of 64 episodes failed: 1 × stopped after 5 s, in hanging_batch"):
        table = made.run(64, workers=1, time_limit=5.0)
    assert table.failed["episode"].tolist() == [21]


SCRIPT = """
    import os, signal, time
    import helicoid as hc

    # A suite that a script began in the background ignores Ctrl-C, and hands that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def episode(case):  # of the main program, without a guard around what follows
        with open("ran", "a") as file:
            file.write(f"{case.index}\\n")
        while case.index >= 20 and not os.path.exists("go"):
            time.sleep(0.05)
        return {"x": case["mass"]}

    study = hc.Study(episode, seed=1)
    study.vary("mass", hc.study.uniform(1, 2))
    print(len(study.run(40, workers=1, out="out")))
    """


def _ran(place: Path) -> list[int]:
    return [int(line) for line in (place / "ran").read_text().split()] if (place / "ran").exists() else []


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_killed_or_interrupted_study_is_resumed(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    first = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + PATIENCE
    while 20 not in _ran(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    if how == signal.SIGINT:
        beside = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
        assert f"another study is writing to this folder (process {first.pid}" in beside.stderr
    first.send_signal(how)
    told = first.communicate(timeout=PATIENCE)[1]
    assert first.returncode != 0
    if how == signal.SIGINT:
        assert "of 40 episodes are done; run the study again" in told
    safe = {k for start, stop in Folder(tmp_path / "out").parts() for k in range(start, stop)}
    assert safe
    assert max(safe) < 20
    (tmp_path / "ran").unlink()
    (tmp_path / "go").touch()
    second = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
    )
    assert second.stdout.strip() == "40", second.stderr
    assert set(_ran(tmp_path)) == set(range(40)) - safe
    assert len(hc.study.read(tmp_path / "out")) == 40


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for some parts, where one may be made."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_reported_and_the_study_continues_once_there_is_space(small_disk: Path) -> None:
    def much(cases: Any) -> dict[str, Any]:
        time.sleep(1e-3 * len(cases))
        return {f"x{k}": np.array([case.rng.normal() for case in cases]) + k for k in range(4)}

    study = hc.Study(much, batch=True)
    study.grid("k", [1])
    with pytest.raises(StudyError, match=r"the disk is full .*finished parts are saved"):
        study.run(2000, workers=2, out=small_disk / "out")
    before = len(hc.study.read(small_disk / "out"))
    assert 0 < before < 2000
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    table = study.run(2000, workers=2, out=small_disk / "out")
    assert np.array_equal(table["x3"], study.run(2000, on="here")["x3"])


def test_work_that_cannot_be_sent_is_reported() -> None:
    lock = __import__("threading").Lock()

    def held(case: Any) -> dict[str, float]:
        with lock:
            return {"x": 1.0}

    with pytest.raises(hc.HelicoidError, match="cannot be sent to other processes"):
        hc.Study(held).run(3, workers=1)
