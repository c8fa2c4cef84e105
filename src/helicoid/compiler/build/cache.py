"""Compiled libraries on disk, so that a second run needs no compiler.

    folder/<key>/<compiler>-<sha256>.so

The key is a digest of all that determines the code. The name of the file has the compiler that made it and
the digest of the file itself: one rename publishes a library together with its checksum, so that processes
may race without locks. A file that does not have its digest is removed, never loaded.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from helicoid.compiler.build.private import (
    Refused,
    check_private,
    digest_of_private,
    private_folder,
    temporary_folder,
)
from helicoid.compiler.build.toolchain import FLAGS, Compiler, cpu_identity, find_compiler, optimisation_limit
from helicoid.errors import CompileError

KERNEL_HEADERS = Path(__file__).parent / "runtime"

_T = TypeVar("_T")
_KEY = re.compile(r"[0-9a-f]{64}")
_LIBRARY = re.compile(r"(?P<compiler>[0-9a-f]{16})-(?P<digest>[0-9a-f]{64})\.so")
_FULL = re.compile("No space left on device|Disk quota exceeded")  # as a compiler says it
_BUILD = "build-"  # prefix of the folders in which a compiler works
_STALE_AFTER = 3600.0  # s: an older build folder was left behind by a killed process


class CacheInfo(NamedTuple):
    """The folder of the libraries, their number and their size."""

    folder: Path
    n_libraries: int
    n_bytes: int


def library(
    content: str,
    sources: Callable[[], Sequence[str]],
    *,
    include: Iterable[Path] = (),
    link: Iterable[str] = ("-lm",),
    report: Callable[[float], None] = lambda done: None,
) -> Path:
    """The shared library of some C, from the cache or compiled now.

    Args:
        content: identifies what the C computes; `sources` is called only if it is not in the cache.
        sources: gives the text of each translation unit. They find the headers of `runtime/`.
        include: more folders of headers.
        link: arguments for the linker.
        report: is called with the share of the work that is done, 0 to 1.

    Raises:
        CompileError: it is not in the cache, and there is no compiler or it fails.
    """
    cache, key = open_cache(), entry_key(content)
    try:
        compiler = find_compiler()
    except CompileError:
        found = cache.get(key)
        if found is None:
            raise
        return found

    def compiled_in(cache: Cache) -> Path:
        found = cache.get(key, compiler)
        places = (KERNEL_HEADERS, *include)
        return found or cache.build(key, compiler, sources, include=places, link=link, report=report)

    try:
        return compiled_in(cache)
    except (OSError, CompileError) as error:
        if isinstance(error, CompileError) and not _FULL.search(str(error)):
            raise
        try:
            return compiled_in(Cache(temporary_folder(f"{cache.folder} cannot be written to ({error})")))
        except OSError as second:
            raise CompileError(f"there is no place to compile in: {second}") from second


def loaded(make: Callable[[], Path], load: Callable[[Path], _T]) -> _T:
    """Load a library; compile it once more if another process cleared the cache in between."""
    path = make()
    try:
        return load(path)
    except (OSError, ImportError, CompileError):
        if path.exists():
            raise
    return load(make())


def in_cache(content: str) -> bool:
    """Whether `library` would find this content and need no compiler."""
    try:
        compiler = find_compiler()
    except CompileError:
        compiler = None
    return open_cache().get(entry_key(content), compiler) is not None


def entry_key(content: str) -> str:
    """The name of an entry: a digest of the content, the flags, the processor and the code generator."""
    parts = (content, *FLAGS, *optimisation_limit(), cpu_identity(), _generator_digest())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def _generator_digest() -> str:
    """A digest of the compiler's own code: with another version of it, the same program is other C."""
    digest = hashlib.sha256()
    for path in _generator_files():
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _generator_files() -> list[Path]:
    folder = KERNEL_HEADERS.parents[1]
    return sorted(path for kind in ("*.py", "*.[ch]") for path in folder.rglob(kind))


def open_cache() -> Cache:
    """The cache in `$HELICOID_CACHE`, or `$XDG_CACHE_HOME/helicoid`, or `~/.cache/helicoid`.

    Where others could put code into that folder, it is not used. A warning says so, and this process
    compiles into a folder of its own, which it removes at its end: slower to start, but as fast to call.
    """
    try:
        return Cache(private_folder(_folder()))
    except (OSError, RuntimeError, Refused) as error:
        return Cache(temporary_folder(str(error)))


def _folder() -> Path:
    named = os.environ.get("HELICOID_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification of this variable says to ignore relative paths.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "helicoid"


@dataclass(frozen=True)
class Cache:
    """The libraries in one private folder."""

    folder: Path

    def get(self, key: str, compiler: Compiler | None = None) -> Path | None:
        """A verified library of this key that this compiler made, or any compiler if none is given."""
        maker = None if compiler is None else compiler.identity[:16]
        for path in self._libraries(key):
            match = _LIBRARY.fullmatch(path.name)
            if match is None or maker not in (None, match["compiler"]):
                continue
            try:
                if digest_of_private(path) == match["digest"]:
                    return path
            except (OSError, Refused):
                pass
            with contextlib.suppress(OSError):
                path.unlink()
        return None

    def build(
        self,
        key: str,
        compiler: Compiler,
        sources: Callable[[], Sequence[str]],
        *,
        include: Iterable[Path] = (),
        link: Iterable[str] = ("-lm",),
        report: Callable[[float], None] = lambda done: None,
    ) -> Path:
        """Compile a library and publish it under this key.

        Raises:
            CompileError: the compiler fails.
            OSError: the folder cannot be written to.
        """
        self._remove_stale()
        work = Path(tempfile.mkdtemp(prefix=_BUILD, dir=self.folder))
        try:
            units: list[Path] = []
            for text in sources():
                units.append(work / f"unit{len(units)}.c")
                units[-1].write_text(text, encoding="utf-8")
            output = work / "library.so"
            compiler.compile(units, output, include=include, link=link, report=report)
            return self._publish(key, compiler, output)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def info(self) -> CacheInfo:
        """Number and size of the libraries."""
        sizes = []
        for key in self._keys():
            for path in self._libraries(key):
                with contextlib.suppress(OSError):
                    sizes.append(path.stat().st_size)
        return CacheInfo(self.folder, len(sizes), sum(sizes))

    def clear(self) -> CacheInfo:
        """Remove all libraries; what was removed. A process that has loaded some keeps using them."""
        before = self.info()
        for key in self._keys():
            self._discard(self.folder / key)
        self._remove_stale()
        return before

    def _publish(self, key: str, compiler: Compiler, output: Path) -> Path:
        os.chmod(output, 0o600)
        with open(output, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
            os.fsync(file.fileno())
        entry = self.folder / key
        target = entry / f"{compiler.identity[:16]}-{digest}.so"
        for _ in range(3):  # another process may be clearing the cache
            try:
                check_private(entry, os.lstat(_created(entry)))
            except Refused as error:
                raise PermissionError(str(error)) from error
            with contextlib.suppress(FileNotFoundError):
                os.replace(output, target)
                return target
        raise FileNotFoundError(f"{entry}: other processes keep removing it")

    def _libraries(self, key: str) -> list[Path]:
        """Files of an entry; an entry that is not private is removed with all that is in it."""
        entry = self.folder / key
        try:
            status = os.lstat(entry)
            if not stat.S_ISDIR(status.st_mode):
                raise Refused(f"{entry} is no folder")
            check_private(entry, status)
            return sorted(path for path in entry.iterdir() if path.suffix == ".so")
        except OSError:
            return []
        except Refused:
            self._discard(entry)
            return []

    def _keys(self) -> Iterator[str]:
        with contextlib.suppress(OSError):
            yield from [path.name for path in self.folder.iterdir() if _KEY.fullmatch(path.name)]

    def _discard(self, entry: Path) -> None:
        """Rename an entry, so that no process finds it any more, then delete it."""
        hidden = self.folder / f"{_BUILD}{uuid.uuid4().hex}"
        with contextlib.suppress(OSError):
            os.rename(entry, hidden)
            _remove(hidden)

    def _remove_stale(self) -> None:
        """Delete build folders of processes that were killed while they compiled."""
        with contextlib.suppress(OSError):
            for path in list(self.folder.glob(f"{_BUILD}*")):
                with contextlib.suppress(OSError):
                    if time.time() - os.lstat(path).st_mtime > _STALE_AFTER:
                        _remove(path)


def _created(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
