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
import itertools
import json
import os
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helicoid.arrays import file_name
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
        self.path = Path(file_name(path))

    # Reading ------------------------------------------------------------------------------------------

    @property
    def record(self) -> dict[str, Any] | None:
        """Record of the study in this folder; None if there is none."""
        try:
            text = (self.path / RECORD).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StudyError(f"{self.path / RECORD}: cannot be read: {error}") from error
        try:
            record = _checked_record(json.loads(text))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StudyError(f"{self.path / RECORD}: is no record of a study: {error}") from error
        if record.get("version") != _VERSION:
            raise StudyError(
                f"{self.path / RECORD}: has version {record.get('version')}, this reads {_VERSION}"
            )
        return dict(record)

    def parts(self) -> dict[tuple[int, int], Path]:
        """Parts by their episodes (start, stop).

        Raises:
            StudyError: two parts have an episode in common, or the folder cannot be read.
        """
        found = {}
        try:
            for path in self.path.iterdir():
                match = _PART.fullmatch(path.name)
                if match:
                    found[int(match[1]), int(match[2])] = path
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StudyError(f"{self.path}: cannot be read: {error}") from error
        parts = dict(sorted(found.items()))
        for one, other in itertools.pairwise(parts):
            if other[0] < one[1]:
                raise StudyError(
                    f"{self.path}: {parts[one].name} and {parts[other].name} both have episode {other[0]}: "
                    "remove the one that does not belong to this study"
                )
        return parts

    def table(self, n: int | None = None) -> Any:
        """A pyarrow Table of all rows in the order of episodes, or of the episodes before n.

        Raises:
            StudyError: a part is damaged, or does not fit to the others.
        """
        pq = parquet()
        import pyarrow as pa

        columns = (self.record or {}).get("columns", ())
        tables = []
        for (start, stop), path in self.parts().items():
            if n is None or start < n:
                try:
                    tables.append(pq.read_table(path))
                    why = _damage(tables[-1], start, stop, columns)
                except (pa.ArrowException, OSError, ValueError) as error:
                    why = str(error)
                if why:
                    raise StudyError(
                        f"{path}: is damaged: {why}. Remove it, and run the study again with this folder to "
                        "repeat its episodes"
                    )
        if not tables:
            return pa.table({EPISODE: pa.array([], pa.int64())})
        try:
            table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
        except (pa.ArrowException, ValueError) as error:
            raise StudyError(
                f"{self.path}: has parts of different studies: {error}. Name another folder with out="
            ) from error
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
        read = parquet().ParquetFile
        columns = (self.record or {}).get("columns", ())
        complete = []
        for (start, stop), path in self.parts().items():
            try:
                with read(path) as part:
                    names = part.schema_arrow.names
                    whole = part.metadata.num_rows == stop - start and not _missing(names, columns)
            except (OSError, ValueError):
                whole = False
            if whole:
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


def _checked_record(record: Any) -> dict[str, Any]:
    """The content of a record; raises ValueError, TypeError or KeyError where it is none."""
    if record["format"] != _FORMAT:
        raise ValueError(f"its format is {record['format']!r}")
    episodes, columns = record["episodes"], record.get("columns", [])
    if isinstance(episodes, bool) or not isinstance(episodes, int) or episodes < 0:
        raise ValueError(f"its number of episodes is {episodes!r}")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ValueError(f"its columns are {columns!r}")
    return dict(record)


def _missing(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Columns that every part has and this one lacks."""
    return sorted({EPISODE, SECONDS, ERROR, *columns} - set(names))


def _damage(table: Any, start: int, stop: int, columns: Iterable[str]) -> str:
    """Defect of a part in words, empty if there is none."""
    import pyarrow as pa

    missing = _missing(table.column_names, columns)
    if missing:
        return f"it has no column {missing[0]!r}"
    if len(set(table.column_names)) < table.num_columns:
        return "two of its columns have one name"
    kinds = {EPISODE: pa.types.is_integer, SECONDS: pa.types.is_floating, ERROR: _is_text}
    for name, is_right in kinds.items():
        if not is_right(table.schema.field(name).type):
            return f"its column {name!r} is of type {table.schema.field(name).type}"
    if table[EPISODE].null_count or not np.array_equal(table[EPISODE].to_numpy(), np.arange(start, stop)):
        return f"its rows are not the episodes {start} to {stop - 1} of its name"
    return ""


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_null(kind))


def _difference(name: str, known: dict[str, Any], record: dict[str, Any]) -> str:
    old, new = known.get(name), record[name]
    if name == "code":
        parts = _changed(old, new)
        return f"the code of the episode differs{f' in {parts}' if parts else ''}"
    if isinstance(old, dict) and isinstance(new, dict):
        return f"{name} differs in {_changed(old, new) or 'its order'}"
    return f"{name} is {old!r} there and {new!r} here"


def _changed(old: Any, new: Any) -> str:
    """Names of the entries in which two records differ; of a fingerprint with its parts."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return ""
    names = []
    for key in {**old, **new}:
        if old.get(key) != new.get(key):
            codes = [x.get("code", x) if isinstance(x, dict) else None for x in (old.get(key), new.get(key))]
            inner = _changed(*codes) if all(isinstance(x, dict) for x in codes) else ""
            names.append(f"{key!r} ({inner})" if inner else key if " " in key else repr(key))
    return ", ".join(names)


def _arrow(rows: EpisodeRows) -> Any:
    import pyarrow as pa

    failed = np.array([error is not None for error in rows.error])
    columns = {EPISODE: pa.array(rows.episode), **{name: pa.array(x) for name, x in rows.values.items()}}
    columns |= {name: pa.array(x, mask=failed) for name, x in rows.results.items()}
    columns |= {SECONDS: pa.array(rows.seconds), ERROR: pa.array(rows.error, pa.string())}
    return pa.table(columns)
