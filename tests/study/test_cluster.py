"""Studies on a real dask cluster of two worker processes: one is killed, the scheduler is restarted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.study.results.folder import StudyWarning
from helicoid.workers.contract import WorkerError

PATIENCE = 300.0
WITH_TESTS = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # which workers find this file in


def episode(case: Any) -> dict[str, float]:
    """Kills the worker it is of, once: as a machine that is switched off."""
    once = Path(case["place"]) / "killed"
    if case.index == 30 and not once.exists():
        once.touch()
        os.kill(os.getppid(), signal.SIGKILL)
    return {"x": case["mass"] + case.rng.normal()}


def study(place: Path, run: Any = episode) -> hc.Study:
    made = hc.Study(run, seed=3)
    made.vary("mass", hc.study.normal(2.0, 0.5))
    made.grid("place", [str(place)])
    return made


class Dask:
    """A scheduler and two workers, each a process of its own, on the loopback only."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._processes = folder, []  # type: ignore[var-annotated]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        listen = "--host", "127.0.0.1", "--no-dashboard"
        self.scheduler = self._start("scheduler", *listen, "--port", str(self._port))
        for _ in range(2):
            self._start("worker", self.address, *listen, "--no-nanny", "--nthreads", "1")

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=WITH_TESTS,
        )
        self._processes.append(process)
        return process

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    started = Dask(tmp_path_factory.mktemp("dask"))
    try:
        yield started
    finally:
        started.stop()


def test_a_cluster_gives_the_same_numbers_though_a_worker_is_killed(dask: Dask, tmp_path: Path) -> None:
    table = study(tmp_path).run(60, on=dask.address, out=tmp_path / "out")
    assert (tmp_path / "killed").exists()
    assert table.n_failed == 0
    assert np.array_equal(table["x"], study(tmp_path).run(60, on="here")["x"])


def stops(case: Any) -> dict[str, float]:
    if case.index == 3:
        os.kill(os.getpid(), signal.SIGSTOP)
    if case.index == 4:
        os._exit(3)
    return {"x": case["mass"]}


@pytest.mark.slow
def test_an_episode_that_stops_its_process_is_a_row_on_a_cluster(dask: Dask, tmp_path: Path) -> None:
    """Without a time limit too; workers live on."""
    with pytest.warns(StudyWarning):
        table = study(tmp_path, stops).run(10, on=dask.address)
    assert table.failed["episode"].tolist() == [3, 4]
    assert "stopped by signal" in table.failed["error"][0] and "code 3" in table.failed["error"][1]


def rough(case: Any) -> dict[str, float]:
    if case.index == 5:
        time.sleep(1e6)
    return {"x": case["mass"]}


@pytest.mark.slow
def test_a_time_limit_holds_on_a_cluster(dask: Dask, tmp_path: Path) -> None:
    from distributed import Client

    with (
        Client(dask.address, set_as_default=False) as client,
        pytest.warns(StudyWarning, match="stopped after 10 s, in rough"),
    ):
        table = study(tmp_path, rough).run(20, on=client, time_limit=10.0)
    assert table.failed["episode"].tolist() == [5]


def slow(case: Any) -> dict[str, float]:
    while case.index >= 10 and not (Path(case["place"]) / "go").exists():
        time.sleep(0.05)
    return {"x": case["mass"]}


@pytest.mark.slow
def test_a_scheduler_that_restarts_loses_nothing(dask: Dask, tmp_path: Path) -> None:
    import threading

    def restart() -> None:
        until = time.monotonic() + PATIENCE
        while not list((tmp_path / "out").glob("part-*")) and time.monotonic() < until:
            time.sleep(0.1)
        dask.scheduler.kill()
        dask.scheduler.wait()
        dask.start()

    thread = threading.Thread(target=restart)
    thread.start()
    with pytest.raises(WorkerError, match="lost or restarted; finished results are stored"):
        study(tmp_path, slow).run(30, on=dask.address, out=tmp_path / "out")
    thread.join()
    (tmp_path / "go").touch()
    assert 0 < len(hc.study.read(tmp_path / "out")) < 30
    table = study(tmp_path, slow).run(30, on=dask.address, out=tmp_path / "out")
    assert np.array_equal(table["x"], study(tmp_path, slow).run(30, on="here")["x"])


@pytest.mark.slow
def test_a_missing_scheduler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helicoid.workers.cluster._CONNECT_TIMEOUT", "0.2 s")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens there
        with pytest.raises(WorkerError, match="no dask scheduler answers"):
            study(Path()).run(3, on=f"tcp://127.0.0.1:{free.getsockname()[1]}")
