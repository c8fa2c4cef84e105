"""Many logs on workers: the result of one process, bad logs left out by name, memory of a few logs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.identification import DoubtfulLogWarning
from helicoid.identification.linear.compression import Tree
from helicoid.identification.logs.sources import LogFile, sources

ROBOT = hc.load("double_pendulum")


def log_arrays(robot: hc.Robot, rng: np.random.Generator, seconds: float, rate: float) -> dict[str, Any]:
    """A motion of some sines, and the torques of this robot with friction, offset and noise."""
    t = np.arange(round(seconds * rate)) / rate
    ω, phase = 2 * np.pi * rng.uniform(0.2, 1.0, (3, robot.nv)), rng.uniform(0, 6, (3, robot.nv))
    size = rng.uniform(0.2, 0.5, (3, robot.nv))
    angle = ω * t[:, None, None] + phase
    q = np.sum(size * np.sin(angle), axis=1)
    v, a = np.sum(size * ω * np.cos(angle), axis=1), -np.sum(size * ω**2 * np.sin(angle), axis=1)
    tau = robot.inverse_dynamics(q, v, a) + 0.3 * v + 0.2 * np.tanh(v / 0.01) + 0.1
    return {"t": t, "q": q, "v": v, "a": a, "tau": tau + 0.02 * rng.normal(size=tau.shape)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(5)
    for k in range(5):
        np.savez(folder / f"run-{k}.npz", **log_arrays(ROBOT, rng, 6.0, 100.0))
    return folder


def same(one: hc.Identification, other: hc.Identification, tolerance: float = 1e-10) -> None:
    size = np.maximum(np.abs(one.x), 1e-3 * np.abs(one.x).max())
    assert np.max(np.abs(one.x - other.x) / size) < tolerance
    assert one.regression.groups == other.regression.groups
    assert (one.cutoff, one.lag, one.regularisation) == (other.cutoff, other.lag, other.regularisation)
    np.testing.assert_allclose(one.held_out.relative, other.held_out.relative, rtol=1e-9)
    finite = np.isfinite(one.covariance)
    assert np.array_equal(finite, np.isfinite(other.covariance))
    np.testing.assert_allclose(one.sigma, other.sigma, rtol=1e-6)


@pytest.mark.slow
def test_workers_find_what_one_process_finds_with_everything_chosen(folder: Path) -> None:
    alone = hc.identify(ROBOT, list(hc.logs(folder / "*.npz")))
    here = hc.identify(ROBOT, hc.logs(folder / "*.npz"), on="here")
    same(alone, here)
    assert alone.held_out.overall_relative < 0.05
    assert [note for note in here.notes if "samples over" in note] == [
        note for note in alone.notes if "samples over" in note
    ]


@pytest.mark.parametrize("settings", [{"estimator": "weighted"}, {"estimator": "ridge", "form": "momentum"}])
def test_other_estimators_and_forms_are_the_same_too(folder: Path, settings: dict[str, Any]) -> None:
    settings = {"cutoff": 10.0, "lag": 0.0, "groups": ("inertia", "viscous", "coulomb", "offset"), **settings}
    alone = hc.identify(ROBOT, list(hc.logs(folder / "*.npz")), **settings)
    same(alone, hc.identify(ROBOT, str(folder / "*.npz"), on="here", **settings), 1e-8)


def test_the_number_of_workers_does_not_change_a_bit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {
        "groups": ("inertia", "viscous"),
        "cutoff": 10.0,
        "lag": 0.0,
        "regularisation": 1.0,
    }
    monkeypatch.setattr("helicoid.identification.linear.compression._TASKS_PER_WORKER", 1)
    found = []
    for n_workers in (1, 2, 5):  # tasks of 8, 4 and 1 logs
        monkeypatch.setattr("helicoid.workers.here.Here.n_workers", n_workers)
        found.append(hc.identify(ROBOT, folder / "*.npz", on="here", **settings))
    for other in found[1:]:
        assert np.array_equal(found[0].x, other.x)
        assert np.array_equal(found[0].covariance, other.covariance, equal_nan=True)


def test_a_bad_log_is_named_and_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 not a log")
    still = {"t": np.arange(50) / 10, "q": np.zeros((50, 2)), "tau": np.zeros((50, 2))}
    np.savez(tmp_path / "still.npz", **still)
    given = [tmp_path / "torn.npz", hc.logs(folder / "*.npz"), tmp_path / "still.npz"]
    settings: dict[str, Any] = {
        "groups": ("inertia", "viscous"),
        "cutoff": 10.0,
        "lag": 0.0,
        "regularisation": 1.0,
    }
    with pytest.warns(DoubtfulLogWarning, match=r"2 of 7 logs cannot be used.*torn\.npz.*still\.npz"):
        found = hc.identify(ROBOT, given, on="here", **settings)
    assert any("torn.npz" in note for note in found.notes)
    same(found, hc.identify(ROBOT, list(hc.logs(folder / "*.npz")), **settings))


def test_without_a_usable_log_the_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / "torn.npz").write_bytes(b"no")
    with pytest.raises(hc.InputError, match=r"no log can be used.*torn\.npz"):
        hc.identify(ROBOT, tmp_path / "torn.npz", on="here")
    with pytest.raises(hc.InputError, match="no such file"):
        hc.logs(tmp_path / "*.csv")
    with pytest.raises(hc.InputError, match="leave out on="):
        hc.identify(ROBOT, tmp_path / "torn.npz", on="here", estimator="huber")
    with pytest.raises(hc.InputError, match="logs are logs, files or patterns"):
        sources(3)


def test_addresses_are_read_by_fsspec(folder: Path) -> None:
    far = hc.logs(f"file://{folder}/*.npz")
    assert len(far) == 5
    assert np.array_equal(far[1].tau, hc.logs(folder / "run-1.npz")[0].tau)
    with pytest.raises(hc.InputError, match="cannot be read"):
        LogFile(f"file://{folder}/none.npz").load()


def test_a_tree_merges_in_the_same_order_whatever_comes_first(rng: np.random.Generator) -> None:
    def total(order: Any) -> str:
        tree: Tree[str] = Tree(lambda a, b: f"({a}{b})")
        for k in order:
            tree.add(int(k), "abcdefghijk"[k])
        return tree.total()

    assert len({total(rng.permutation(11)) for _ in range(20)}) == 1


@pytest.mark.parametrize("n", range(1, 27))
def test_a_tree_of_branches_is_the_tree_of_its_leaves(n: int) -> None:
    """So that the number of workers, which decides on how much is a task, does not change a bit."""

    def total(parts: list[str]) -> str:
        tree: Tree[str] = Tree(lambda a, b: f"({a}{b})")
        for k, part in enumerate(parts):
            tree.add(k, part)
        return tree.total()

    leaves = list("abcdefghijklmnopqrstuvwxyz"[:n])
    for size in (2, 4, 8, 16):
        assert total([total(leaves[k : k + size]) for k in range(0, n, size)]) == total(leaves)


@pytest.mark.slow
def test_processes_find_the_same(folder: Path) -> None:
    settings: dict[str, Any] = {"groups": ("inertia", "viscous", "coulomb"), "cutoff": 10.0, "lag": 0.0}
    found = hc.identify(ROBOT, folder / "*.npz", on="processes", **settings)
    same(hc.identify(ROBOT, list(hc.logs(folder / "*.npz")), **settings), found)
    here = hc.identify(ROBOT, folder / "*.npz", on="here", **settings)
    assert np.array_equal(found.x, here.x)
    assert np.array_equal(found.covariance, here.covariance, equal_nan=True)


ON_PROCESSES = """
import ast, pathlib, pickle, resource, sys
import helicoid as hc

if __name__ == "__main__":
    robot = hc.load("panda")
    robot.inverse_dynamics(robot.neutral(), [0] * 7, [0] * 7)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = hc.identify(robot, sys.argv[1], on="processes", **ast.literal_eval(sys.argv[2]))
    memory = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(memory[0] - before, memory[1])
    (pathlib.Path(sys.argv[1]).parent / "found.pickle").write_bytes(pickle.dumps(found))
"""
"""A process of its own: the memory of all children of a process that has run other tests is no measure."""


@pytest.mark.slow
def test_a_thousand_logs_in_the_memory_of_a_few(tmp_path: Path) -> None:
    """20 s at 500 Hz of seven joints each, 2.2 GB in all: bit for bit what one process finds."""
    robot, rng = hc.load("panda"), np.random.default_rng(1)
    for k in range(1000):
        np.savez(tmp_path / f"run-{k:04d}.npz", **log_arrays(robot, rng, 20.0, 500.0))
    (tmp_path / "run-0500-torn.npz").write_bytes((tmp_path / "run-0500.npz").read_bytes()[:100_000])
    settings: dict[str, Any] = {"cutoff": 10.0, "lag": 0.0, "regularisation": 1.0}
    settings["groups"] = ("inertia", "viscous", "coulomb", "offset")
    (tmp_path / "on_processes.py").write_text(ON_PROCESSES)
    given = [sys.executable, str(tmp_path / "on_processes.py"), str(tmp_path / "*.npz"), repr(settings)]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    assert "1 of 1001 logs cannot be used" in done.stderr and "run-0500-torn.npz" in done.stderr
    grown, workers = (float(word) for word in done.stdout.split())
    assert grown < 400_000 and workers < 400_000  # kB; all logs are 2.2 GB
    found = pickle.loads((tmp_path / "found.pickle").read_bytes())
    assert found.held_out.overall_relative < 0.02
    viscous = found.parameters.values[found.regression.parameters.groups["viscous"]]
    np.testing.assert_allclose(viscous, 0.3, atol=0.02)
    (tmp_path / "run-0500-torn.npz").unlink()
    here = hc.identify(robot, tmp_path / "*.npz", on="here", **settings)
    assert np.array_equal(found.x, here.x)
    assert np.array_equal(found.sigma, here.sigma, equal_nan=True)
    assert np.array_equal(found.held_out.rmse, here.held_out.rmse)
