"""Libraries on disk: found again, verified, safe with several processes and several users."""

from __future__ import annotations

import contextlib
import ctypes
import grp
import os
import pwd
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from helicoid.compiler.build import cache, private, toolchain
from helicoid.compiler.build.cache import KERNEL_HEADERS, Cache, entry_key, library, open_cache
from helicoid.compiler.build.toolchain import Compiler, find_compiler
from helicoid.compiler.code import c_source
from helicoid.compiler.export import casadi_external
from helicoid.errors import CompileError, PerformanceWarning

pytestmark = pytest.mark.needs_compiler

ANOTHER_USER = 54321
ANSWER = '__attribute__((visibility("default"))) int answer(void) { return %d; }\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, and no memory of temporary folders that earlier tests fell back to."""
    path = tmp_path / "cache"
    monkeypatch.setenv("HELICOID_CACHE", str(path))
    monkeypatch.setattr(private, "_spare", None)
    return path


def make(content: str = "answer", value: int = 42) -> Path:
    return library(content, lambda: [ANSWER % value])


def answer(path: Path) -> int:
    """Calls the library; a copy under a new name, so that nothing loaded earlier stands in for it."""
    copy = path.with_name(f"copy-{time.monotonic_ns()}.dll")
    shutil.copy(path, copy)
    result = ctypes.CDLL(str(copy)).answer()
    copy.unlink()
    return result


def no_sources() -> list[str]:
    raise AssertionError("this was in the cache")


def in_another_process(code: str, **environment: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(cache.__file__).parents[3]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_made_once_then_found_with_no_compiler_run(folder, monkeypatch):
    path = make()
    assert answer(path) == 42
    monkeypatch.setattr(Compiler, "compile", lambda *args, **kwargs: pytest.fail("a compiler ran"))
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: pytest.fail("a process was started"))
    assert library("answer", no_sources) == path


def test_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_cache().folder == tmp_path / "named"
    monkeypatch.delenv("HELICOID_CACHE")
    assert open_cache().folder == tmp_path / "xdg" / "helicoid"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert open_cache().folder == tmp_path / "home" / ".cache" / "helicoid"


def test_all_is_private_whatever_the_umask(folder):
    before = os.umask(0)
    try:
        path = make()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in folder.iterdir()] == [path.parent.name]  # no folder of the build


def test_key_depends_on_content_flags_and_processor(monkeypatch):
    keys = {entry_key("a"), entry_key("b")}
    monkeypatch.setattr(cache, "FLAGS", (*cache.FLAGS, "-g"))
    keys.add(entry_key("a"))
    monkeypatch.setattr(cache, "cpu_identity", lambda: "another processor")
    keys.add(entry_key("a"))
    monkeypatch.setattr(cache, "_generator_digest", lambda: "another version")
    keys.add(entry_key("a"))
    assert len(keys) == 5


def test_key_depends_on_all_that_writes_c():
    files = set(cache._generator_files())
    for module in (c_source, casadi_external, cache):
        assert Path(module.__file__) in files
    assert KERNEL_HEADERS / "vector_math.h" in files


def test_each_compiler_has_its_own(folder, monkeypatch):
    program = shlex.join(find_compiler().command)
    first = make()
    monkeypatch.setenv("CC", f"{program} -DOTHER")
    second = make()
    assert first.parent == second.parent and first != second
    assert library("answer", no_sources) == second
    monkeypatch.setenv("CC", program)
    assert library("answer", no_sources) == first


def test_without_compiler_what_is_there_serves(folder, monkeypatch, tmp_path):
    path = make()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_module_file", lambda name: None)
    assert library("answer", no_sources) == path
    with pytest.raises(CompileError, match="no C compiler found"):
        make("something else")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CompileError, match="no C compiler found"):
        make()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def flip_first(path: Path) -> None:
    flip(path, 0)


def flip_middle(path: Path) -> None:
    flip(path, path.stat().st_size // 2)


def flip_last(path: Path) -> None:
    flip(path, path.stat().st_size - 1)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def foreign_code(path: Path) -> None:
    path.write_bytes(make("foreign", 13).read_bytes())


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link(path: Path) -> None:
    """A symbolic link, even to the right bytes, may point to what others can write."""
    elsewhere = path.parent.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def writable(path: Path) -> None:
    path.chmod(0o620)


def writable_entry(path: Path) -> None:
    path.parent.chmod(0o702)


def linked_entry(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)


def entry_is_a_file(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_text("")


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        empty,
        append,
        flip_first,
        flip_middle,
        flip_last,
        foreign_code,
        a_link,
        writable,
        writable_entry,
        linked_entry,
        entry_is_a_file,
    ],
)
def test_damaged_or_foreign_is_rebuilt(folder, damage):
    path = make()
    damage(path)
    rebuilt = []
    again = library("answer", lambda: rebuilt.append(True) or [ANSWER % 42])
    assert rebuilt and answer(again) == 42
    status = os.lstat(again)
    assert stat.S_ISREG(status.st_mode) and not status.st_mode & 0o022
    assert library("answer", no_sources) == again


def test_folder_in_place_of_a_library_is_never_loaded(folder):
    """Nothing here makes folders of that name; the build goes elsewhere rather than delete it."""
    a_folder(make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        assert answer(make()) == 42


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("whose", ["library", "entry"])
def test_of_another_user_is_rebuilt(folder, whose):
    path = make()
    os.chown(path if whose == "library" else path.parent, ANOTHER_USER, ANOTHER_USER)
    rebuilt = []
    again = library("answer", lambda: rebuilt.append(True) or [ANSWER % 42])
    assert rebuilt and answer(again) == 42 and os.lstat(again).st_uid == os.geteuid()


def owned_by_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, ANOTHER_USER, ANOTHER_USER)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: ANOTHER_USER)


def writable_by_group(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def writable_by_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    folder.chmod(0o702)


def in_a_folder_of_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.chmod(0o777)


def in_a_folder_of_a_group(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.chmod(0o770)
    monkeypatch.setattr(private, "is_private_group", lambda gid: False)


def in_a_folder_of_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat
    parent, another = str(folder.parent), {"st_uid": ANOTHER_USER}

    def stat_of(path, **options):
        status = real(path, **options)
        if str(path) != parent:
            return status
        return SimpleNamespace(**{key: getattr(status, key) for key in ("st_mode", "st_gid")}, **another)

    monkeypatch.setattr(os, "stat", stat_of)


def link_to_writable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = folder.with_name("target")
    target.mkdir()
    target.chmod(0o777)
    folder.symlink_to(target)


def is_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("")


@pytest.mark.parametrize(
    "spoil",
    [
        owned_by_another,
        writable_by_group,
        writable_by_all,
        in_a_folder_of_all,
        in_a_folder_of_a_group,
        in_a_folder_of_another,
        link_to_writable,
        is_a_file,
    ],
)
def test_folder_that_is_not_private_is_not_used(folder, monkeypatch, spoil):
    """A warning says so once; the process compiles into a folder of its own, and finds that again."""
    spoil(folder, monkeypatch)
    with pytest.warns(PerformanceWarning, match="not kept for the next run.*(cache|target)"):
        path = make()
    assert folder.resolve() not in path.parents and answer(path) == 42
    if spoil is not is_a_file:
        assert list(folder.resolve().iterdir()) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert library("answer", no_sources) == path


def test_folder_of_all_with_sticky_bit_is_fine(folder):
    """As in /tmp: others cannot rename what is ours."""
    folder.parent.chmod(0o1777)
    assert make().parent.parent == folder


def test_own_link_to_a_private_folder_is_fine(folder):
    target = folder.with_name("target")
    target.mkdir(mode=0o700)
    folder.symlink_to(target)
    assert make().parent.parent == target


def test_temporary_folder_is_removed_at_exit_but_not_by_a_fork(folder):
    folder.mkdir()
    folder.chmod(0o777)
    code = (
        "import os, sys, warnings; warnings.simplefilter('ignore')\n"
        "from helicoid.compiler.build.cache import open_cache\n"
        "path = open_cache().folder\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(path, path.exists())"
    )
    told, _ = in_another_process(code).communicate(timeout=600)
    path, existed = told.split()
    assert existed == "True" and not Path(path).exists()


def test_folder_that_cannot_be_written_to(folder, monkeypatch):
    """A cache that an image brings along: what is in it serves, what is new goes elsewhere."""
    path = make()
    real = Cache.build

    def build(self, *args, **kwargs):
        if self.folder == folder:
            raise PermissionError(13, "Permission denied", str(self.folder))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Cache, "build", build)
    assert library("answer", no_sources) == path
    with pytest.warns(PerformanceWarning, match="cannot be written to"):
        other = make("other", 7)
    assert answer(other) == 7 and folder not in other.parents
    assert library("other", lambda: [ANSWER % 7]) == other


def test_all_that_cannot_be_kept_is_in_one_folder_and_told_once(folder, monkeypatch):
    real = Cache.build

    def build(self, key, *args, **kwargs):
        if self.folder == folder:
            raise PermissionError(13, "Permission denied", f"{self.folder}/{key}")
        return real(self, key, *args, **kwargs)

    monkeypatch.setattr(Cache, "build", build)
    with pytest.warns(PerformanceWarning) as told:
        paths = [make(f"answer {k}", k) for k in range(3)]
    assert len(told) == 1 and len({path.parent.parent for path in paths}) == 1


def test_a_group_of_one_is_private(tmp_path):
    """Where everyone has a group of his own, what he makes may be open to it."""
    account = pwd.getpwuid(os.geteuid())
    group = grp.getgrgid(account.pw_gid)
    alone = group.gr_name == account.pw_name and not set(group.gr_mem) - {account.pw_name}
    assert private.is_private_group(account.pw_gid) is alone
    assert not private.is_private_group(ANOTHER_USER)


def test_a_pipe_in_an_entry_does_not_block(folder):
    path = make()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert answer(make()) == 42 and not stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("words", ["No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_left_for_another(folder, tmp_path, monkeypatch, words):
    compiler = tmp_path / "cc"
    real = shlex.join(find_compiler().command)
    refuse = f'case "$TMPDIR" in {folder}/*) echo "ld: {words}" >&2; exit 1;; esac'
    compiler.write_text(f'#!/bin/sh\n{refuse}\nexec {real} "$@"\n')
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.warns(PerformanceWarning, match=words):
        path = make()
    assert answer(path) == 42 and folder not in path.parents


def test_a_library_that_was_cleared_before_it_was_loaded_is_made_again(folder):
    """Once: a file that is there and cannot be loaded is told."""
    tries = []

    def load(path):
        tries.append(path)
        if len(tries) == 1:
            open_cache().clear()
        return ctypes.CDLL(str(path)).answer()

    assert cache.loaded(make, load) == 42 and len(tries) == 2

    def spoiled(path):
        tries.append(path)
        raise OSError("cannot be mapped")

    with pytest.raises(OSError, match="mapped"):
        cache.loaded(make, spoiled)
    assert len(tries) == 3


SLOW_COMPILER = "#!/bin/sh\necho $$ > {told}.part; mv {told}.part {told}; sleep 600\n"


def test_killed_while_compiling(folder, tmp_path, monkeypatch):
    """Leaves a folder that nobody mistakes for an entry, and that goes away when it is old."""
    told, compiler = tmp_path / "told", tmp_path / "slow-cc"
    compiler.write_text(SLOW_COMPILER.format(told=told))
    compiler.chmod(0o700)
    code = f"from helicoid.compiler.build.cache import library; library('answer', lambda: [{ANSWER % 42!r}])"
    process = in_another_process(code, CC=str(compiler))
    deadline = time.monotonic() + 300
    while not told.exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int(told.read_text()), signal.SIGKILL)
    (left,) = folder.iterdir()
    assert left.name.startswith("build-") and open_cache().info().n_libraries == 0
    assert answer(make()) == 42
    assert left.exists()  # it may be at work still, for all that one can know
    os.utime(left, (time.time() - 7200,) * 2)
    make("another")
    assert not left.exists()


def test_processes_race(folder):
    """Four processes, each after the same library; all get it, and one file is the outcome."""
    code = (
        "import ctypes, sys\n"
        "from helicoid.compiler.build.cache import library\n"
        "sys.stdin.readline()\n"
        f"path = library('answer', lambda: [{ANSWER % 42!r}])\n"
        "print(ctypes.CDLL(str(path)).answer())"
    )
    path = os.pathsep.join([str(Path(cache.__file__).parents[3]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=pipe, stdout=pipe, text=True)
        for _ in range(4)
    ]
    told = [process.communicate("go\n", timeout=600)[0].strip() for process in processes]
    assert told == ["42"] * 4
    assert library("answer", no_sources).exists()
    assert all(entry.name == entry_key("answer") for entry in folder.iterdir())


@pytest.mark.slow
def test_clearing_while_others_build(folder):
    """A thread clears without pause; every build still ends with a library or finds none, never fails."""
    stop, failures = threading.Event(), []

    def clear():
        while not stop.is_set():
            try:
                open_cache().clear()
            except Exception as error:
                failures.append(error)

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            for _ in range(5):
                make()
    finally:
        stop.set()
        thread.join()
    assert not failures


def test_info_and_clear(folder):
    paths = [make("one", 1), make("two", 2)]
    mine = folder / "notes.txt"
    mine.write_text("not of the cache")
    loaded = ctypes.CDLL(str(paths[0]))
    info = open_cache().info()
    assert info == (folder, 2, sum(path.stat().st_size for path in paths))
    assert open_cache().clear() == info
    assert open_cache().info() == (folder, 0, 0)
    assert list(folder.iterdir()) == [mine]
    assert loaded.answer() == 1


def test_failure_leaves_nothing(folder):
    with pytest.raises(CompileError, match=r"unit0\.c"):
        library("broken", lambda: ["this is no C"])
    assert list(folder.iterdir()) == []


def test_threads_that_need_another_folder_share_one_and_are_reported_once(folder, monkeypatch):
    told = []

    def slowly(warning):
        told.append(warning)
        time.sleep(0.1)  # long enough for the others to come

    monkeypatch.setattr(private, "warn", slowly)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(private.temporary_folder("why"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1 and len(set(found)) == 1
