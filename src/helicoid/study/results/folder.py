"""Folder of a study: a record in JSON, and Parquet parts that are written atomically.

    folder/study.json                           record of the study
    folder/part-0000001000-0000001512.parquet   episodes 1000 to 1511

A part is written under a temporary name, flushed to disk and renamed, so every part is complete; its name
gives its episodes. A resumed study runs the missing episodes. A file lock, which the system releases when its
holder ends, excludes a second writer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helicoid.errors import HelicoidError, warn
from helicoid.study.results.rows import EPISODE, ERROR, SECONDS, EpisodeRows

RECORD = "study.json"
_LOCK = ".lock"
_FORMAT = "helicoid study"
_VERSION = 1
_PART = re.compile(r"part-(\d{10,})-(\d{10,})\.parquet")
_DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StudyError(HelicoidError):
    """A study that cannot start or continue; finished episodes are in its folder."""


class StudyWarning(UserWarning):
    """A study that continued in spite of a problem."""


def parquet() -> Any:
    """Import pyarrow's Parquet module.

    Raises:
        StudyError: it is not installed.
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise StudyError("studies need pyarrow: pip install 'helicoid[study]'") from error
    return parquet


class Folder:
    """Folder of a study, for reading, and for writing while `locked`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    # Reading ------------------------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any] | None:
        """Record of the study in this folder; None if there is none."""
        try:
            text = (self.path / RECORD).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StudyError(f"{self.path / RECORD}: cannot be read: {error}") from error
        try:
            record = json.loads(text)
            if record["format"] != _FORMAT:
                raise ValueError(f"its format is {record['format']!r}")
            int(record["episodes"])
        except (ValueError, TypeError, KeyError) as error:
            raise StudyError(f"{self.path / RECORD}: is no record of a study: {error}") from error
        if record.get("version") != _VERSION:
            raise StudyError(
                f"{self.path / RECORD}: has version {record.get('version')}, this reads {_VERSION}"
            )
        return dict(record)

    def parts(self) -> dict[tuple[int, int], Path]:
        """Parts by their episodes (start, stop)."""
        found = {}
        with contextlib.suppress(FileNotFoundError):
            for path in self.path.iterdir():
                match = _PART.fullmatch(path.name)
                if match:
                    found[int(match[1]), int(match[2])] = path
        return dict(sorted(found.items()))

    def table(self, n: int | None = None) -> Any:
        """A pyarrow Table of all rows in the order of episodes, or of the episodes before n."""
        import pyarrow as pa

        read = parquet().read_table
        tables = [read(path) for (start, _), path in self.parts().items() if n is None or start < n]
        if not tables:
            return pa.table({EPISODE: pa.array([], pa.int64())})
        table = pa.concat_tables(tables, promote_options="permissive").sort_by(EPISODE)
        if n is not None:
            table = table.slice(0, int(np.searchsorted(table[EPISODE].to_numpy(), n)))
        last = [name for name in (SECONDS, ERROR) if name in table.column_names]
        return table.select([*(name for name in table.column_names if name not in last), *last])

    # Writing ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for writing; it is created if there is none.

        Raises:
            StudyError: another process holds the lock, or the folder is not writable.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = open(self.path / _LOCK, "a+", encoding="utf-8")  # noqa: SIM115 - open while locked
        except OSError as error:
            raise StudyError(f"{self.path}: no folder can be created or written there: {error}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "another process"
                raise StudyError(
                    f"{self.path}: another study is writing to this folder ({holder}): wait for it, stop it, "
                    "or name another folder with out="
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
            self._remove_temporary_files()
            yield

    def begin(self, record: dict[str, Any], episodes: int = 0) -> None:
        """Write the record of the study, or check it against the one in the folder.

        Args:
            record: everything that determines the results.
            episodes: planned number of episodes; may grow later.

        Raises:
            StudyError: the folder holds another study; the message lists the differences.
        """
        known = self.record
        if known is None and self.parts():
            raise StudyError(
                f"{self.path}: has parts of a study but no {RECORD}: name another folder with out="
            )
        record = json.loads(json.dumps(record))  # normalise to JSON types
        changed = [name for name, value in record.items() if known and known.get(name) != value]
        if known and changed:
            how = " and ".join(_difference(name, known, record) for name in changed)
            raise StudyError(
                f"{self.path}: holds another study: {how}. "
                "Rows of both would be mixed: name another folder with out=, or remove this one"
            )
        planned = max(episodes, int(known["episodes"]) if known else 0)
        content = {"format": _FORMAT, "version": _VERSION, **record, "episodes": planned}
        if content != known:
            self._write(RECORD, json.dumps(content, indent=1).encode())

    def done(self) -> list[tuple[int, int]]:
        """Ranges of finished episodes; a part that cannot be read is removed, with a warning."""
        read = parquet().read_metadata
        complete = []
        for (start, stop), path in self.parts().items():
            try:
                rows = read(path).num_rows
            except (OSError, ValueError):
                rows = -1
            if rows == stop - start:
                complete.append((start, stop))
            else:
                warn(StudyWarning(f"{path}: is damaged; its episodes are run again"))
                path.unlink(missing_ok=True)
        return complete

    def add(self, rows: EpisodeRows) -> None:
        """Write rows of consecutive episodes as a part."""
        start, stop = int(rows.episode[0]), int(rows.episode[-1]) + 1
        buffer = io.BytesIO()
        parquet().write_table(_arrow(rows), buffer, compression="zstd")
        self._write(f"part-{start:010d}-{stop:010d}.parquet", buffer.getvalue())

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.path / f".{name}.new"
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path / name)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            what = "the disk is full" if error.errno in _DISK_FULL_ERRORS else "the folder is not writable"
            raise StudyError(
                f"{self.path}: {what} ({error.strerror or error}). All finished parts are saved: fix the "
                "cause and run the study again with the same out= to resume"
            ) from error

    def _remove_temporary_files(self) -> None:
        for path in self.path.glob(".*.new"):
            path.unlink(missing_ok=True)


def _difference(name: str, known: dict[str, Any], record: dict[str, Any]) -> str:
    old, new = known.get(name), record[name]
    if name == "code":
        return "the code of the episode differs"
    if isinstance(old, dict) and isinstance(new, dict):
        names = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        return f"{name} differs in {', '.join(map(repr, names)) or 'its order'}"
    return f"{name} is {old!r} there and {new!r} here"


def _arrow(rows: EpisodeRows) -> Any:
    import pyarrow as pa

    failed = np.array([error is not None for error in rows.error])
    columns = {EPISODE: pa.array(rows.episode), **{name: pa.array(x) for name, x in rows.values.items()}}
    columns |= {name: pa.array(x, mask=failed) for name, x in rows.results.items()}
    columns |= {SECONDS: pa.array(rows.seconds), ERROR: pa.array(rows.error, pa.string())}
    return pa.table(columns)
