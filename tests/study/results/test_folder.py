"""The folder of a study: parts appear whole, nobody mixes two studies, and no room is no loss."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import helicoid as hc
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
def test_a_strange_record_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(StudyError, match=r"study\.json"):
        Folder(tmp_path).begin({"seed": 1})


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_place_that_cannot_be_written_to_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="no folder can be created"), Folder(tmp_path / "file").locked():
        pass


def _study(folder: Path, n: int = 60) -> None:
    """A finished study of three parts."""
    with Folder(folder).locked():
        Folder(folder).begin({"seed": 1, "columns": ["mass"]}, n)
        for start in range(0, n, n // 3):
            Folder(folder).add(rows(start, start + n // 3))


def _rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


FIRST, SECOND = "part-0000000000-0000000020.parquet", "part-0000000020-0000000040.parquet"
DAMAGES: dict[str, Callable[[Path], object]] = {
    "an empty part": lambda p: (p / FIRST).write_bytes(b""),
    "a part that is cut off": lambda p: (p / FIRST).write_bytes((p / FIRST).read_bytes()[:-20]),
    "a part of other bytes": lambda p: (p / FIRST).write_bytes(b"PAR1" + bytes(200) + b"PAR1"),
    "a part in which bytes changed": lambda p: (p / FIRST).write_bytes(
        (p / FIRST).read_bytes()[:4] + bytes(150) + (p / FIRST).read_bytes()[154:]
    ),
    "a part that is a folder": lambda p: ((p / FIRST).unlink(), (p / FIRST).mkdir()),
    "a part without columns": lambda p: _rewrite(p / FIRST, lambda t: t.select([])),
    "a part without episodes": lambda p: _rewrite(p / FIRST, lambda t: t.drop_columns(["episode"])),
    "a part without errors": lambda p: _rewrite(p / FIRST, lambda t: t.drop_columns(["error"])),
    "a part without a varied value": lambda p: _rewrite(p / FIRST, lambda t: t.drop_columns(["mass"])),
    "a part with a row less": lambda p: _rewrite(p / FIRST, lambda t: t.slice(1)),
    "a part with a row twice": lambda p: _rewrite(p / FIRST, lambda t: pa.concat_tables([t.slice(0, 1), t])),
    "a part with other episodes": lambda p: shutil.copy(p / SECOND, p / FIRST),
    "a part with episodes in words": lambda p: _rewrite(
        p / FIRST, lambda t: t.set_column(0, "episode", pa.array([str(k) for k in range(20)]))
    ),
    "a part with results of another type": lambda p: _rewrite(
        p / FIRST, lambda t: t.set_column(2, "rms", pa.array([[str(k)] for k in range(20)]))
    ),
    "a part that overlaps": lambda p: shutil.copy(p / SECOND, p / "part-0000000039-0000000059.parquet"),
    "a record that is a folder": lambda p: ((p / "study.json").unlink(), (p / "study.json").mkdir()),
    "a record of other bytes": lambda p: (p / "study.json").write_bytes(bytes(range(128, 256))),
    "a record that is deep": lambda p: (p / "study.json").write_text("[" * 100_000),
    "a record without episodes": lambda p: _edit_record(p, episodes=None),
    "a record of half an episode": lambda p: _edit_record(p, episodes=0.5),
    "a record with a column": lambda p: _edit_record(p, columns=3),
    "a record of a later version": lambda p: _edit_record(p, version=99),
}


def _edit_record(folder: Path, **changes: Any) -> None:
    record = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps({**record, **changes}))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_reported(damage: str, tmp_path: Path) -> None:
    _study(tmp_path)
    assert len(hc.study.read(tmp_path)) == 60
    DAMAGES[damage](tmp_path)
    with pytest.raises(StudyError, match=re.escape(str(tmp_path))):
        hc.study.read(tmp_path)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name.startswith("a part without")])
def test_a_part_that_lacks_columns_is_run_again(damage: str, tmp_path: Path) -> None:
    _study(tmp_path)
    DAMAGES[damage](tmp_path)
    with pytest.warns(StudyWarning, match="damaged"):
        assert Folder(tmp_path).done() == [(20, 40), (40, 60)]
