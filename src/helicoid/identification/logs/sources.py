"""Logs by name, read on demand: files, patterns of files, addresses of fsspec."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helicoid.errors import InputError, optional_import
from helicoid.identification.logs.log import Log
from helicoid.robot import Robot

_BAGS = (".mcap", ".db3", ".bag")


@dataclass(frozen=True)
class LogFile:
    """A log by its path or address: .npz, a bag, or text with a line of column names."""

    path: str

    @property
    def source(self) -> str:
        """Name in messages."""
        return self.path

    def load(self, robot: Robot | None = None) -> Log:
        """Read it; bags are read in the order of the robot's joints.

        Raises:
            HelicoidError: there is no such file, or it is no log.
        """
        with _local(self.path) as path:
            if path.is_dir() or path.suffix in _BAGS:
                return Log.from_bag(path, robot=robot)
            if not path.exists():
                raise InputError(f"{self.path}: there is no such file")
            return Log.from_npz(path) if path.suffix == ".npz" else Log.from_csv(path)


class LogFiles(Sequence[Log]):
    """Logs of files, each read on access; `files` are their names."""

    def __init__(self, files: Sequence[LogFile]) -> None:
        self.files = tuple(files)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, key: Any) -> Any:
        return LogFiles(self.files[key]) if isinstance(key, slice) else self.files[key].load()

    def __repr__(self) -> str:
        return f"LogFiles({len(self)}: {self.files[0].path} ...)"


def logs(*patterns: str | os.PathLike[str]) -> LogFiles:
    """Logs by file names or patterns, in the order of their names; none is read before it is needed.

    A pattern may be an address that fsspec knows, such as "s3://bucket/run-*.npz".

    Raises:
        InputError: nothing has this name.

    >>> import numpy as np, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for k in range(3):
    ...     np.savez(f"{folder}/run-{k}.npz", t=[0.0, 0.1], q=[[0.0], [0.1]], tau=[[1.0], [1.0]])
    >>> len(logs(f"{folder}/run-*.npz"))
    3
    """
    found: list[LogFile] = []
    for pattern in patterns:
        text = os.fspath(pattern)
        names = _addresses(text) if "://" in text else sorted(glob.glob(text))
        if not names:
            raise InputError(f"{text}: there is no such file")
        found.extend(LogFile(name) for name in names)
    return LogFiles(found)


def sources(given: Any) -> list[Log | LogFile]:
    """Sources of logs given by a user: logs, files, patterns, or several of those."""
    if isinstance(given, (Log, LogFile)):
        return [given]
    if isinstance(given, LogFiles):
        return list(given.files)
    if isinstance(given, (str, os.PathLike)):
        return list(logs(given).files)
    if isinstance(given, Iterable):
        return [one for each in given for one in sources(each)]
    raise InputError(f"logs are logs, files or patterns such as 'folder/*.npz'; got {given!r}")


def _addresses(pattern: str) -> list[str]:
    fsspec = _fsspec()
    system, path = fsspec.core.url_to_fs(pattern)
    return sorted(system.unstrip_protocol(name) for name in system.glob(path))


@contextmanager
def _local(path: str) -> Iterator[Path]:
    """The file on this machine; a remote one is fetched, and removed afterwards."""
    if "://" not in path:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="helicoid-log-") as folder:
        target = Path(folder) / path.rsplit("/", 1)[-1]
        try:
            with _fsspec().open(path, "rb") as far, open(target, "wb") as near:
                shutil.copyfileobj(far, near)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
        yield target


def _fsspec() -> Any:
    return optional_import("fsspec", "reading remote logs", "helicoid[study]")
