"""Atomic writing of files, reading of CSV tables, and of NumPy archives with a check of their size first."""

from __future__ import annotations

import csv
import math
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from helicoid._typing import Array
from helicoid.errors import InputError

MAX_BYTES = 2_000_000_000
"""Largest size of an expanded archive (bytes), unless the caller allows more."""


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file atomically.

    Raises:
        InputError: there is no such folder.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_table(path: Path) -> tuple[list[str], Array]:
    """Header and numbers (rows, columns) of a CSV file; an empty cell is NaN, an empty line is skipped.

    Raises:
        OSError, ValueError, csv.Error: it cannot be read, or is no table of numbers; the message says where.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = [name.strip() for name in next(rows, [])]
        table = []
        for number, row in enumerate(rows, start=2):
            if not row:
                continue
            if len(row) != len(header):
                n = len(header)
                raise ValueError(f"line {number}: {len(row)} values; the first line names {n} columns")
            try:
                table.append([float(word) if word.strip() else np.nan for word in row])
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return header, np.array(table).reshape(len(table), len(header))


def read_archive(path: str | os.PathLike[str], max_bytes: float = MAX_BYTES) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name; nothing in it is ever executed.

    Raises:
        InputError: the file is not there, damaged, no archive of arrays, holds Python objects, or would
            expand to more than `max_bytes`.
    """
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            size = sum(one.file_size for one in members)
            if size > max_bytes:
                raise InputError(
                    f"{name}: would expand to {size / 1e6:.6g} MB, and {max_bytes / 1e6:.6g} MB are allowed; "
                    f"if it is meant to be so large, read it with max_bytes={size}"
                )
            return {one.filename.removesuffix(".npy"): _array(archive, one) for one in members}
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise InputError(f"{name}: cannot be opened: {error.strerror}") from error
    except InputError:
        raise
    except Exception as error:  # decoders raise a dozen kinds of errors on damaged bytes
        raise InputError(
            f"{name}: cannot be read as an archive of NumPy arrays (.npz); it may be damaged or something "
            f"else: {str(error) or type(error).__name__}"
        ) from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, if its header states as many bytes as follow: a wrong one would fill the memory first."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, _, dtype = readers[version](file)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not read")
        stated = math.prod(shape) * dtype.itemsize
        if stated != member.file_size - file.tell():
            raise ValueError(f"{member.filename} says that it has {shape} numbers, and has not")
    with archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)
