"""Finding a compiler, compiling, failing with a message that helps."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helicoid.compiler.build import toolchain
from helicoid.compiler.build.toolchain import (
    FLAGS,
    Compiler,
    cpu_identity,
    find_compiler,
    loop_pragma,
    native_flags,
    native_lanes,
    optimisation_limit,
)
from helicoid.errors import CompileError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "answer.c"
    path.write_text(
        "#ifndef ANSWER\n#define ANSWER 42\n#endif\n"
        '__attribute__((visibility("default"))) int answer(void) { return ANSWER; }\n'
    )
    return path


def script(path: Path, text: str) -> Path:
    """A program that stands in for a compiler."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def wait_for(path: Path, seconds: float = 300.0) -> str:
    """The text of a file that another process writes."""
    deadline = time.monotonic() + seconds
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.01)
    return path.read_text()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent to notice does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_compiles_and_loads(source, tmp_path):
    find_compiler().compile([source], tmp_path / "answer.so")
    assert ctypes.CDLL(str(tmp_path / "answer.so")).answer() == 42


def test_units_are_linked_together(tmp_path):
    """Five units, of which the first calls the others, with a header from an include folder."""
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "parts.h").write_text("".join(f"int part{k}(void);\n" for k in range(1, 5)))
    paths = [tmp_path / f"unit{k}.c" for k in range(5)]
    paths[0].write_text(
        '#include "parts.h"\n#include <math.h>\n__attribute__((visibility("default")))\n'
        "double total(double x) { return part1() + part2() + part3() + part4() + erf(x); }\n"
    )
    for k in range(1, 5):
        paths[k].write_text(f'#include "parts.h"\nint part{k}(void) {{ return {10**k}; }}\n')
    find_compiler().compile(paths, tmp_path / "all.so", include=[headers])
    total = ctypes.CDLL(str(tmp_path / "all.so")).total
    total.restype, total.argtypes = ctypes.c_double, [ctypes.c_double]
    assert total(0.0) == 11110.0


def test_cc_may_have_arguments(source, tmp_path, monkeypatch):
    command = find_compiler().command
    monkeypatch.setenv("CC", f"{shlex.join(command)} -DANSWER=7 '-DUNUSED=a b'")
    assert find_compiler().command == (*command, "-DANSWER=7", "-DUNUSED=a b")
    find_compiler().compile([source], tmp_path / "answer.so")
    assert ctypes.CDLL(str(tmp_path / "answer.so")).answer() == 7


def test_cc_that_is_missing_is_said_not_ignored(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    with pytest.raises(CompileError, match="CC names 'no-such-compiler'"):
        find_compiler()


@pytest.mark.parametrize("named", ["gcc '", 'cc "-O2'])
def test_cc_that_is_no_command_is_said(monkeypatch, named):
    monkeypatch.setenv("CC", named)
    with pytest.raises(CompileError, match="is no command"):
        find_compiler()


def test_no_compiler_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_module_file", lambda name: None)
    with pytest.raises(CompileError, match=r"pip install helicoid\[compiler\]"):
        find_compiler()


def test_windows_is_recognised(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(CompileError, match="Windows"):
        find_compiler()


def test_order_of_preference(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_module_file", lambda name: "ziglang/__init__.py")
    assert find_compiler() == Compiler((sys.executable, "-m", "ziglang", "cc"))
    for name in ("clang", "gcc", "cc"):
        path = script(tmp_path / name, "exit 0")
        assert find_compiler() == Compiler((str(path),))
    monkeypatch.setenv("CC", "clang")
    assert find_compiler() == Compiler(("clang",))


def test_identity_changes_with_the_program_and_its_arguments(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = script(tmp_path / "cc", "exit 0")
    first = Compiler(("cc",)).identity
    assert Compiler(("cc",)).identity == first
    assert Compiler(("cc", "-m32")).identity != first
    script(path, "exit 0 # updated")
    assert Compiler(("cc",)).identity != first


@pytest.mark.needs_compiler
def test_failure_shows_command_and_reason(tmp_path):
    good, bad = tmp_path / "good.c", tmp_path / "bad.c"
    good.write_text("int good;\n")
    bad.write_text("int bad = sizeof(struct undefined);\n")
    for sources in ([bad], [good, bad]):
        with pytest.raises(CompileError) as caught:
            find_compiler().compile(sources, tmp_path / "library.so")
        assert str(bad) in str(caught.value) and "undefined" in str(caught.value)
        assert "-fno-trapping-math" in str(caught.value)
    assert not (tmp_path / "library.so").exists()


def test_program_that_is_no_compiler(tmp_path, source):
    path = tmp_path / "cc"
    path.write_bytes(b"\x00not a program")
    path.chmod(0o700)
    with pytest.raises(CompileError, match="cannot be run"):
        Compiler((str(path),)).compile([source], tmp_path / "library.so")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="asks Linux for the state of processes")
@pytest.mark.parametrize("n_units", [1, 3])
def test_a_compiler_that_hangs_is_ended_with_all_it_started(tmp_path, source, monkeypatch, n_units):
    child = tmp_path / "child"
    path = script(tmp_path / "cc", f"sleep 600 & echo $! >> {child}; wait")

    def communicate(process, timeout):
        wait_for(child)
        raise subprocess.TimeoutExpired("cc", timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    with pytest.raises(CompileError, match="took over"):
        Compiler((str(path),)).compile([source] * n_units, tmp_path / "library.so")
    for pid in wait_for(child).split():
        deadline = time.monotonic() + 300
        while is_alive(int(pid)):
            assert time.monotonic() < deadline, "what the compiler started still runs"
            time.sleep(0.01)


def test_one_failure_stops_the_others(tmp_path, source):
    """The failing unit ends the build at once: the others are not waited for."""
    bad, finished = tmp_path / "bad.c", tmp_path / "finished"
    bad.write_text("")
    text = f'case "$*" in *bad.c*) echo refused >&2; exit 3;; esac; sleep 300; echo > {finished}'
    compiler = script(tmp_path / "cc", text)
    with pytest.raises(CompileError, match=r"failed \(3\)(.|\n)*refused"):
        Compiler((str(compiler),)).compile([bad, source, source, source], tmp_path / "library.so")
    assert not finished.exists()


def test_temporary_files_stay_in_the_folder(tmp_path, source):
    """So that a killed build leaves nothing elsewhere."""
    told = tmp_path / "told"
    compiler = script(tmp_path / "cc", f"echo $TMPDIR > {told}")
    Compiler((str(compiler),)).compile([source], tmp_path / "library.so")
    assert told.read_text().strip() == str(tmp_path)


def test_lanes_are_those_of_the_compiler():
    """What the processor's description promises is what the compiler's own macros say."""
    compiler = find_compiler()
    done = subprocess.run(
        [*compiler.command, *native_flags(compiler.is_zig), "-dM", "-E", "-xc", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
    )
    macros = done.stdout.split()
    expected = 8 if "__AVX512F__" in macros else 4 if "__AVX__" in macros else 2
    assert native_lanes() == expected


def pretend(monkeypatch, machine: str, features: str) -> None:
    cpu = toolchain._Cpu(machine, "a processor", frozenset(features.split()))
    monkeypatch.setattr(toolchain, "_cpu", lambda: cpu)


V2 = "cx16 popcnt ssse3 sse4_1 sse4_2"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


@pytest.mark.parametrize(("level", "lanes"), [("x86-64-v2", 2), ("x86-64-v3", 4), ("x86-64-v4", 8)])
def test_code_for_a_level_is_the_same_on_all_machines(monkeypatch, level, lanes):
    monkeypatch.setenv("HELICOID_MARCH", level)
    pretend(monkeypatch, "x86_64", V4)
    first = cpu_identity()
    assert native_lanes() == lanes and f"-march={level}" in native_flags(False)
    assert f"-mcpu={level.replace('-', '_')}" in native_flags(True)
    pretend(monkeypatch, "x86_64", f"{V4} sha_ni")
    assert cpu_identity() == first
    monkeypatch.setenv("HELICOID_MARCH", "native")
    assert cpu_identity() != first and native_lanes() == 8


@pytest.mark.parametrize(
    ("machine", "features", "level", "message"),
    [
        ("x86_64", V4, "avx2", "is one of native, x86-64-v2"),
        ("aarch64", "asimd fp", "x86-64-v2", "of x86-64 only"),
        ("x86_64", V3, "x86-64-v4", "has no avx512bw"),
    ],
)
def test_a_level_that_cannot_run_here_is_refused(monkeypatch, machine, features, level, message):
    """Code that the processor does not know would end the process."""
    pretend(monkeypatch, machine, features)
    monkeypatch.setenv("HELICOID_MARCH", level)
    with pytest.raises(CompileError, match=message):
        native_lanes()


def test_optimisation_is_limited_by_the_environment(monkeypatch):
    monkeypatch.delenv("HELICOID_OPTIMISE", raising=False)
    assert optimisation_limit() == () and "O3" in loop_pragma()
    monkeypatch.setenv("HELICOID_OPTIMISE", "1")
    assert optimisation_limit() == ("-O1", "-DHELICOID_OPTIMISE=1") and loop_pragma() == ""
    monkeypatch.setenv("HELICOID_OPTIMISE", "fast")
    with pytest.raises(CompileError, match="0, 1 or 2"):
        optimisation_limit()


def test_floating_point_mode_is_left_alone(source, tmp_path):
    """Numbers below 2.2e-308 stay what they are after a library is loaded; -ffast-math would lose them."""
    assert not {"-ffast-math", "-Ofast"} & set(FLAGS)
    tiny = np.array([5e-324, 1e-310, 2.3e-308])
    before = tiny * 0.75
    find_compiler().compile([source], tmp_path / "answer.so")
    ctypes.CDLL(str(tmp_path / "answer.so")).answer()
    assert np.array_equal(tiny * 0.75, before) and np.all(before > 0)


@pytest.mark.skipif(toolchain._module_file("ziglang") is None, reason="ziglang is not installed")
def test_zig_compiles(source, tmp_path):
    Compiler((sys.executable, "-m", "ziglang", "cc")).compile([source], tmp_path / "answer.so")
    assert ctypes.CDLL(str(tmp_path / "answer.so")).answer() == 42
