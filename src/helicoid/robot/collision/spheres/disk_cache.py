"""Arrays on disk, in the private folder of the compiler's cache.

    folder/<key>/arrays-<sha256>.npz

As with libraries, one rename publishes a file together with its checksum; one without its digest, or that
others can write to, is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from helicoid._typing import Array
from helicoid.compiler import open_cache

Arrays = dict[str, Array]


def cached_arrays(content: bytes, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of `make()`, read from the cache where they are: `content` determines them."""
    key = hashlib.sha256(content).hexdigest()
    entry = open_cache().folder / key
    found = _read(entry)
    if found is None:
        found = make()
        with contextlib.suppress(OSError):  # a full disk: computed again next time
            _write(entry, found)
    return found


def _read(entry: Path) -> Arrays | None:
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError):
        for path in sorted(entry.glob("arrays-*.npz")):
            status = os.lstat(path)
            own = not hasattr(os, "geteuid") or status.st_uid in (os.geteuid(), 0)
            if not stat.S_ISREG(status.st_mode) or not own or status.st_mode & 0o022:
                continue
            data = path.read_bytes()
            if path.name == f"arrays-{hashlib.sha256(data).hexdigest()}.npz":
                with np.load(io.BytesIO(data), allow_pickle=False) as file:
                    return {name: file[name] for name in file.files}
            path.unlink()
    return None


def _write(entry: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    data = buffer.getvalue()
    entry.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=entry, prefix="build-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fsync(file.fileno())
        os.replace(name, entry / f"arrays-{hashlib.sha256(data).hexdigest()}.npz")
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
