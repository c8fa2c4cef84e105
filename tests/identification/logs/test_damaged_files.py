"""Files of recordings that were cut, overwritten, or made to harm: what a reader says of them is ours.

Every damage ends in a HelicoidError that names the file, or in an object that is whole.
"""

from __future__ import annotations

import io
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written_bags import recorded, written

import helicoid as hc
from helicoid.errors import HelicoidError, InputError
from helicoid.view.motion import read_motion

ROBOT = hc.load("double_pendulum")
Reader = Callable[[Path], Any]
READERS: dict[str, tuple[str, Reader]] = {
    "log.npz": (".npz", hc.Log.from_npz),
    "log.csv": (".csv", hc.Log.from_csv),
    "motion.npz": (".npz", lambda path: read_motion(ROBOT, path)),
    "motion.csv": (".csv", lambda path: read_motion(ROBOT, path)),
    "trajectory.npz": (".npz", lambda path: hc.Trajectory.load(path, ROBOT)),
    "trajectory.csv": (".csv", lambda path: hc.Trajectory.load(path, ROBOT)),
    "log.bag": (".bag", hc.Log.from_bag),
    "log.mcap": (".mcap", hc.Log.from_bag),
    "log.db3": (".db3", hc.Log.from_bag),
}
BAGS = {".bag": "ros1", ".mcap": "mcap_file", ".db3": "db3_file"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An undamaged file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    path = hc.simulate(ROBOT, [0.5, 0.2], [0.0, 0.0], duration=0.1, dt=0.01)
    path.save(folder / "run.npz")
    path.save(folder / "run.csv")
    found = {ending: (folder / f"run{ending}").read_bytes() for ending in (".npz", ".csv")}
    for ending, form in BAGS.items():
        inside = folder / form
        inside.mkdir()
        found[ending] = written(inside, form, {"/joint_states": recorded()}).read_bytes()
    return found


def damages(content: bytes, rng: np.random.Generator, count: int) -> Iterator[bytes]:
    """Cut off, overwritten at random, with a piece taken out or put in twice."""
    for _ in range(count):
        kind, at = rng.integers(4), int(rng.integers(len(content)))
        if kind == 0:
            yield content[:at]
        elif kind == 1:
            flipped = bytearray(content)
            for place in rng.integers(len(content), size=int(rng.integers(1, 9))):
                flipped[place] = rng.integers(256)
            yield bytes(flipped)
        elif kind == 2:
            yield content[:at] + content[at + int(rng.integers(1, 200)) :]
        else:
            yield content[:at] + content[at : at + 100] + content[at:]


def judge(reader: Reader, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            reader(path)
        except HelicoidError as error:
            assert path.name in str(error)


def sweep(kind: str, whole: dict[str, bytes], folder: Path, rng: np.random.Generator, count: int) -> None:
    ending, reader = READERS[kind]
    path = folder / f"damaged{ending}"
    path.write_bytes(whole[ending])
    reader(path)
    for content in damages(whole[ending], rng, count):
        path.write_bytes(content)
        judge(reader, path)


@pytest.mark.parametrize("kind", READERS)
def test_damaged_files(kind: str, whole: dict[str, bytes], tmp_path: Path, rng: np.random.Generator) -> None:
    sweep(kind, whole, tmp_path, rng, 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", READERS)
def test_many_damaged_files(
    kind: str, whole: dict[str, bytes], tmp_path: Path, rng: np.random.Generator
) -> None:
    sweep(kind, whole, tmp_path, rng, 500)


def member(array: Any, **header: Any) -> bytes:
    """An array as a file inside an archive, its header overwritten where asked for."""
    file = io.BytesIO()
    if header:
        stated = np.lib.format.header_data_from_array_1_0(np.asarray(array)) | header
        np.lib.format.write_array_header_1_0(file, stated)
        file.write(np.asarray(array).tobytes())
    else:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def rewritten(content: bytes, changes: dict[str, bytes | None]) -> bytes:
    """An archive with members replaced, or left out."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content_of = changes.get(name.removesuffix(".npy"), old.read(name))
            if content_of is not None:
                new.writestr(name, content_of)
    return file.getvalue()


WRONG: dict[str, bytes | None] = {
    "left out": None,
    "objects": member(np.array([{"a": 1}] * 11, dtype=object)),
    "text": member(np.array(["a"] * 11)),
    "complex": member(np.ones((11, 2), dtype=complex)),
    "dates": member(np.zeros((11, 2), dtype="datetime64[s]")),
    "records": member(np.zeros(11, dtype=[("x", float)])),
    "a number": member(1.0),
    "empty": member(np.zeros((0, 2))),
    "four axes": member(np.zeros((11, 2, 1, 1))),
    "huge by its header": member(np.zeros((11, 2)), shape=(10**12, 2)),
    "a negative shape": member(np.zeros((11, 2)), shape=(-11, 2)),
    "no array": b"not an array at all",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind.endswith("npz")])
@pytest.mark.parametrize("name", ["t", "q"])
@pytest.mark.parametrize("wrong", WRONG)
def test_archives_with_wrong_members(
    kind: str, name: str, wrong: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "wrong.npz"
    path.write_bytes(rewritten(whole[".npz"], {name: WRONG[wrong]}))
    with pytest.raises(InputError, match=r"wrong\.npz"):
        READERS[kind][1](path)


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind.endswith("npz")])
def test_an_archive_that_expands_is_asked_about(kind: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    """Three gigabytes of zeros take three megabytes; the directory says so without expanding them."""
    path = tmp_path / "bomb.npz"
    zeros = bytes(10**6)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("t.npy", "w") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (3 * 10**6,)}
        )
        for _ in range(24):
            file.write(zeros)
    read = {"log": hc.Log.from_npz, "motion": lambda p, **k: read_motion(ROBOT, p, **k)}.get(
        kind.removesuffix(".npz"), hc.Trajectory.load
    )
    with pytest.raises(InputError, match=r"bomb\.npz: would expand to 24.* MB.*max_bytes=24000"):
        read(path, max_bytes=1e6)
    path.write_bytes(whole[".npz"])
    read(path, max_bytes=1e6)


def test_a_bag_that_is_too_large_is_asked_about(whole: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(whole[".mcap"])
    with pytest.raises(InputError, match=r"run\.mcap.* take more than 0.0001 MB"):
        hc.Log.from_bag(path, max_bytes=100)


@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_file(kind: str, tmp_path: Path) -> None:
    ending, reader = READERS[kind]
    with pytest.raises(HelicoidError, match="missing"):
        reader(tmp_path / f"missing{ending}")
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    with pytest.raises(HelicoidError, match="folder"):
        reader(folder)
    shutil.rmtree(folder)
