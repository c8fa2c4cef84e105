"""Trajectories: other times, files, pictures."""

from __future__ import annotations

import copy
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from helicoid import InputError, Robot
from helicoid.simulation import Trajectory, simulate

NAMES = ("t", "q", "v", "a", "tau", "kinetic_energy", "potential_energy")


@pytest.fixture(scope="module")
def dog() -> Robot:
    return hc.load("quadruped", base="floating")


@pytest.fixture(scope="module")
def flight(dog: Robot) -> Trajectory:
    rng = np.random.default_rng(5)
    tau = rng.normal(size=(20, dog.nv))
    return simulate(dog, dog.random(rng), rng.normal(size=dog.nv), 0.2, tau, 0.01, substeps=4)


@pytest.fixture(scope="module")
def many(dog: Robot) -> Trajectory:
    v = np.random.default_rng(6).normal(size=(3, dog.nv))
    return simulate(dog, None, v, 0.05, dt=0.01)


def test_resampling_at_the_samples_changes_nothing(flight: Trajectory) -> None:
    for again in (flight.resample(flight.t), flight.resample(dt=0.01)):
        for name in NAMES:
            np.testing.assert_allclose(getattr(again, name), getattr(flight, name), rtol=0, atol=1e-11)
    half = flight.resample(dt=0.02)
    np.testing.assert_allclose(half.q, flight.q[::2], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(half.tau, flight.tau[::2])


def test_resampling_lies_on_the_motion(dog: Robot) -> None:
    """Against a finer simulation: q of third order or better between samples, also of the base's rotation."""
    v = 2 * np.random.default_rng(1).normal(size=dog.nv)
    fine = simulate(dog, None, v, 0.16, dt=0.0025)
    errors = []
    for every in (16, 8):
        between = fine.resample(fine.t[::every]).resample(fine.t)
        errors.append(np.abs(dog.difference(fine.q, between.q)).max())
        np.testing.assert_allclose(np.linalg.norm(between.q[:, 3:7], axis=1), 1, rtol=0, atol=1e-14)
        np.testing.assert_allclose(between.v, fine.v, rtol=0, atol=0.2)
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] > 10


def test_resampling_a_batch_is_resampling_each(many: Trajectory) -> None:
    times = [0.001, 0.013, 0.05]
    batch = many.resample(times)
    for k in range(3):
        alone = many[k].resample(times)
        for name in NAMES:
            values = batch.t if name == "t" else getattr(batch, name)[k]
            np.testing.assert_allclose(values, getattr(alone, name), rtol=0, atol=1e-10)


def test_resampling_refuses_what_it_cannot_know(flight: Trajectory) -> None:
    with pytest.raises(InputError, match=r"covers 0 to 0.2 s; there is no state at 0.3 s"):
        flight.resample([0.1, 0.3])
    with pytest.raises(InputError, match="either times or dt"):
        flight.resample()
    with pytest.raises(InputError, match="dt must be positive"):
        flight.resample(dt=-1)
    with pytest.raises(InputError, match="times is empty"):
        flight.resample([])
    with pytest.raises(InputError, match="times are numbers"):
        flight.resample("end")


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_files_give_back_what_was_saved(flight: Trajectory, dog: Robot, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"flight.{ending}"
    flight.save(path)
    again = Trajectory.load(path, dog)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(again, name), getattr(flight, name))
    assert (again.q_names, again.v_names) == (flight.q_names, flight.v_names)
    finer = again.resample(dt=0.005)
    np.testing.assert_allclose(finer.q, flight.resample(dt=0.005).q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(finer.a[::2], flight.a, rtol=0, atol=1e-12)
    assert list(tmp_path.iterdir()) == [path]
    plain = Trajectory.load(path)
    assert plain.robot is None and plain.q.shape == flight.q.shape
    with pytest.raises(InputError, match=r"robot=..."):
        plain.resample(dt=0.1)
    with pytest.raises(InputError, match="has the joints"):
        Trajectory.load(path, hc.load("panda"))


def test_batches_are_saved_as_npz_only(many: Trajectory, tmp_path: Path) -> None:
    many.save(tmp_path / "many.npz")
    again = Trajectory.load(tmp_path / "many.npz")
    assert again.batch == 3
    np.testing.assert_array_equal(again.a, many.a)
    np.testing.assert_array_equal(again[2].a, many.a[2])
    with pytest.raises(InputError, match="CSV file holds one motion"):
        many.save(tmp_path / "many.csv")
    with pytest.raises(InputError, match=r"saved as .npz or .csv"):
        many.save(tmp_path / "many.txt")


def test_what_fails_leaves_no_file(
    flight: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flight.save(tmp_path / "flight.csv")
    before = (tmp_path / "flight.csv").read_bytes()
    monkeypatch.setattr(np, "column_stack", lambda columns: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        flight.save(tmp_path / "flight.csv")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


def test_files_of_other_shapes_are_refused(flight: Trajectory, tmp_path: Path) -> None:
    flight.save(tmp_path / "flight.npz")
    with np.load(tmp_path / "flight.npz") as file:
        arrays = dict(file)
    for name in ("t", "v", "a", "kinetic_energy"):
        np.savez(tmp_path / "cut.npz", **{**arrays, name: arrays[name][:-1]})
        with pytest.raises(InputError, match="shape"):
            Trajectory.load(tmp_path / "cut.npz")
    np.save(tmp_path / "one.npy", arrays["q"])
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    (tmp_path / "empty.npz").touch()
    for name in ("one.npz", "empty.npz"):
        with pytest.raises(InputError, match="cannot be read as an archive"):
            Trajectory.load(tmp_path / name)
    flight.save(tmp_path / "flight.csv")
    lines = (tmp_path / "flight.csv").read_text().splitlines()
    (tmp_path / "cut.csv").write_text("\n".join([*lines[:3], lines[3].rpartition(",")[0]]))
    with pytest.raises(InputError, match="line 4: "):
        Trajectory.load(tmp_path / "cut.csv")


def test_a_missing_folder_is_named(flight: Trajectory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere'"):
        flight.save(tmp_path / "nowhere" / "flight.csv")


@pytest.mark.parametrize("text", ["", "t,q.a\n1\n", "x,y\n1,2\n", "t,q.a,v.a\n0,one,2\n"])
def test_files_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "wrong.csv").write_text(text)
    with pytest.raises(InputError, match="cannot be read as a trajectory"):
        Trajectory.load(tmp_path / "wrong.csv")
    (tmp_path / "wrong.npz").write_bytes(b"PK" + text.encode())
    with pytest.raises(InputError, match="cannot be read as an archive"):
        Trajectory.load(tmp_path / "wrong.npz")
    with pytest.raises(InputError, match=r"read from .npz or .csv"):
        Trajectory.load(tmp_path / "wrong.json")


def test_plot_has_a_line_for_every_joint(flight: Trajectory, many: Trajectory) -> None:
    import matplotlib.pyplot as plt

    figure = flight.plot()
    lines = [len(axis.get_lines()) for axis in figure.axes]
    assert lines == [19, 18, 18, 3]
    assert all(axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
    with pytest.raises(InputError, match="one motion"):
        many.plot()


def test_an_integer_picks_one_of_a_batch(flight: Trajectory, many: Trajectory) -> None:
    assert len(many) == 3 and len(flight) == 21
    assert [part.q.shape for part in many] == [(6, 19)] * 3
    np.testing.assert_array_equal(many[-1].q, many.q[2])
    with pytest.raises(InputError, match=r"trajectory\.q\[0\], or trajectory\[0:1\]"):
        flight[0]
    with pytest.raises(InputError, match="3 rollouts; there is none of number 3"):
        many[3]
    with pytest.raises(InputError, match="slices of times; got 'q'"):
        flight["q"]  # type: ignore[index]
    assert repr(many) == "Trajectory(quadruped, 3 rollouts of 6 samples, 0 to 0.05 s)"


@pytest.mark.parametrize(
    ("part", "rows"),
    [
        (slice(3, 6), slice(3, 6)),
        (slice(None, None, 4), slice(None, None, 4)),
        (slice(-2, None), slice(19, 21)),
        (slice(0.05, 0.1), slice(5, 11)),  # s: both ends belong to it, rounding or not
        (slice(0.043, 0.087), slice(5, 9)),
        (slice(None, 0.03), slice(0, 4)),
        (slice(0, 0.03), slice(0, 4)),
        (slice(0.199, None), slice(20, 21)),
    ],
)
def test_a_slice_has_all_that_its_samples_have(flight: Trajectory, part: slice, rows: slice) -> None:
    for source in (flight, Trajectory(flight.t, flight.q, flight.v, flight.tau, motion=flight.motion)):
        cut = source[part]  # of what is known already, and of what is still to be computed
        for name in (*NAMES, "constraint_forces"):
            np.testing.assert_allclose(getattr(cut, name), getattr(flight, name)[rows], rtol=0, atol=1e-12)


def test_slices_of_a_batch_are_rollouts_or_times(many: Trajectory) -> None:
    two, early = many[1:], many.between(0.01, 0.02)
    assert (two.batch, early.batch) == (2, 3)
    np.testing.assert_allclose(two.a, many.a[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(early.a, many.a[:, 1:3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("part", [slice(5, 5), slice(None, None, -1), slice(0.5, 1.0), slice(0.0, 0.1, 2)])
def test_slices_without_a_sample_are_refused(flight: Trajectory, part: slice) -> None:
    with pytest.raises(InputError, match=r"no sample from 0\.5 to 1 s|no ascending samples|without a step"):
        flight[part]


def test_a_dataframe_has_the_columns_of_a_file(flight: Trajectory, many: Trajectory, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    flight.save(tmp_path / "flight.csv")
    frame, read = flight.to_dataframe(), pd.read_csv(tmp_path / "flight.csv", index_col="t")
    pd.testing.assert_frame_equal(frame, read, rtol=0, atol=1e-12)
    batch = many.to_dataframe()
    assert batch.index.names == ["rollout", "t"]
    np.testing.assert_array_equal(batch.loc[2, f"v.{many.v_names[-1]}"], many.v[2, :, -1])


def test_a_dataframe_needs_pandas(flight: Trajectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hc.HelicoidError, match="pip install pandas"):
        flight.to_dataframe()


def test_a_notebook_shows_first_and_last_states(flight: Trajectory, many: Trajectory) -> None:
    shown = flight._repr_html_()
    assert "quadruped, 21 samples" in shown and shown.count("<tr>") == 7
    assert f"<td>{flight.q[-1, 2]:.4g}</td>" in shown
    assert "<table>" not in many._repr_html_()


def test_what_is_not_known_is_left_out_of_files(flight: Trajectory, tmp_path: Path) -> None:
    """A trajectory made by hand does not say what moved the robot."""
    made = Trajectory(flight.t, flight.q, flight.v, flight.tau, flight.robot)
    with pytest.raises(hc.HelicoidError, match="has no a, nor the equations"):
        made.a  # noqa: B018
    for ending in ("csv", "npz"):
        made.save(tmp_path / f"made.{ending}")
        again = Trajectory.load(tmp_path / f"made.{ending}", flight.robot)
        np.testing.assert_array_equal(again.tau, made.tau)
        assert not again.has("a") and not again.has("kinetic_energy")


def energy(motion: Trajectory) -> np.ndarray:
    return motion.energy


def test_trajectories_go_to_other_processes_and_come_back() -> None:
    """Before and after what follows from them has been computed; processes that share no memory."""
    arm = hc.load("double_pendulum")
    motion = simulate(arm, [0.5, 0.1], duration=0.05, dt=0.01)
    fresh, copied = motion[1:], copy.deepcopy(motion)
    np.testing.assert_array_equal(copied.energy, motion.energy)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(energy, motion).result()
        back = pool.submit(Trajectory.resample, fresh, dt=0.02).result()
    np.testing.assert_allclose(there, motion.energy, rtol=1e-15)
    np.testing.assert_allclose(back.a, fresh.resample(dt=0.02).a, rtol=1e-12)
