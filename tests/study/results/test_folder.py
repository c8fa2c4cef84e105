"""The folder of a study: parts appear whole, nobody mixes two studies, and no room is no loss."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from helicoid.study.results.folder import Folder, StudyError, StudyWarning
from helicoid.study.results.rows import EpisodeRows


def rows(start: int, stop: int, failing: int | None = None) -> EpisodeRows:
    k = np.arange(start, stop)
    errors = [None if n != failing else "ValueError: no" for n in k]
    return EpisodeRows(k, {"mass": k / 2}, {"rms": np.where(k == failing, np.nan, k * 1.5)}, errors, k * 0.0)


def test_parts_are_read_in_order_and_failed_rows_have_no_result(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "study")
    with folder.locked():
        folder.begin({"seed": 1})
        folder.add(rows(4, 9, failing=6))
        folder.add(rows(0, 4))
    table = folder.table()
    assert table["episode"].to_pylist() == list(range(9))
    assert table["rms"].to_pylist()[5:7] == [7.5, None]
    assert table["error"].to_pylist()[6] == "ValueError: no"
    assert folder.table(5)["episode"].to_pylist() == list(range(5))
    assert table.column_names == ["episode", "mass", "rms", "seconds", "error"]
    assert folder.done() == [(0, 4), (4, 9)]


def test_only_json_and_parquet_are_written(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with folder.locked():
        folder.begin({"seed": 1})
        folder.add(rows(0, 3))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {".lock", "study.json", "part-0000000000-0000000003.parquet"}
    assert json.loads((tmp_path / "study.json").read_text())["seed"] == 1


def test_two_studies_do_not_write_to_one_folder(tmp_path: Path) -> None:
    told = pytest.raises(StudyError, match=rf"another study .*\(process {os.getpid()}")
    with Folder(tmp_path).locked(), told, Folder(tmp_path).locked():
        pass
    with Folder(tmp_path).locked():
        pass


def test_another_study_is_refused_by_what_differs(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    known = {"seed": 1, "code": "a", "varied": {"mass": {"a": 1.0}, "wind": {"a": 2.0}}}
    with folder.locked():
        folder.begin(known)
        folder.begin(known)
        with pytest.raises(StudyError, match=r"seed is 1 there and 2 here.*out="):
            folder.begin({**known, "seed": 2})
        with pytest.raises(StudyError, match="the code of the episode differs"):
            folder.begin({**known, "code": "b"})
        with pytest.raises(StudyError, match="varied differs in 'wind'"):
            folder.begin({**known, "varied": {"mass": {"a": 1.0}, "wind": {"a": 3.0}}})
        (tmp_path / "study.json").unlink()
        folder.add(rows(0, 1))
        with pytest.raises(StudyError, match="has parts of a study but no"):
            folder.begin(known)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"format": "other"}', '{"format": "helicoid study", "version": 9, "episodes": 1}'],
)
def test_a_strange_record_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(StudyError, match=r"study\.json"):
        Folder(tmp_path).begin({"seed": 1})


def test_no_room_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    with folder.locked():
        folder.begin({"seed": 1})
        folder.add(rows(0, 3))

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(StudyError, match=r"the disk is full .*finished parts are saved"):
                folder.add(rows(3, 6))
        assert folder.done() == [(0, 3)]
        assert not list(tmp_path.glob(".*.new"))
        folder.add(rows(3, 6))
        assert folder.done() == [(0, 3), (3, 6)]


def test_half_written_and_damaged_parts_do_not_count(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with folder.locked():
        folder.begin({"seed": 1})
        folder.add(rows(0, 3))
        folder.add(rows(3, 6))
    (tmp_path / ".part-0000000006-0000000009.parquet.new").write_bytes(b"half")
    part = tmp_path / "part-0000000003-0000000006.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with folder.locked():
        with pytest.warns(StudyWarning, match="damaged"):
            assert folder.done() == [(0, 3)]
        assert not list(tmp_path.glob(".*.new"))


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="no folder can be created"), Folder(tmp_path / "file").locked():
        pass
