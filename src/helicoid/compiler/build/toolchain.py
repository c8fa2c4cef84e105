"""The C compiler: its command, its flags, and the features of the processor."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from helicoid.compiler.build import processes
from helicoid.errors import CompileError

# Never -ffast-math nor -Ofast: linking with them makes the whole process flush small numbers to zero.
FLAGS = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
)


def optimisation_limit() -> tuple[str, ...]:
    """The flags that `$HELICOID_OPTIMISE` (0, 1 or 2) stands for: faster builds, slower code.

    The macro of the same name tells runtimes that ask for more by themselves.

    Raises:
        CompileError: it is something else.
    """
    level = os.environ.get("HELICOID_OPTIMISE", "").strip()
    if level not in ("", "0", "1", "2"):
        raise CompileError(f"HELICOID_OPTIMISE is 0, 1 or 2, or not set for full optimisation; got {level!r}")
    return (f"-O{level}", f"-DHELICOID_OPTIMISE={level}") if level else ()


# Passes of -O3 without which large runtimes build a quarter faster and run equally fast.
_COSTLY_PASSES = ("no-ipa-cp-clone", "no-tree-pre", "no-gcse", "no-code-hoisting", "no-tree-dse", "no-dse")


def loop_pragma(large: bool = False) -> str:
    """The line of C that has the loops of a runtime unrolled (-O3), unless optimisation is limited.

    A `large` runtime does without some passes, which take long there.
    """
    names = ", ".join(f'"{name}"' for name in ("O3", *(_COSTLY_PASSES if large else ())))
    return "" if optimisation_limit() else f"#pragma GCC optimize ({names})\n"


_HOW_TO_GET_ONE = (
    "install gcc or clang from the system's packages, or `pip install helicoid[compiler]`, "
    "or name a compiler in the environment variable CC"
)


@dataclass(frozen=True)
class Compiler:
    """A C compiler that takes the options of gcc: the command without sources and flags.

    >>> Compiler(("zig", "cc")).is_zig
    True
    """

    command: tuple[str, ...]

    @property
    def is_zig(self) -> bool:
        """Whether it is `zig cc`, a clang that names the processor differently."""
        return any(Path(word).stem in ("zig", "ziglang") for word in self.command)

    @property
    def identity(self) -> str:
        """Hexadecimal digest that changes when the compiler is another one or an updated one.

        It contains paths, sizes and dates of the programs in the command, so that nothing has to run.
        """
        parts = []
        for word in self.command:
            found = _module_file(word) if word == "ziglang" else shutil.which(word)
            if found is None or (self.is_zig and word == "cc"):  # there "cc" is no program but an argument
                parts.append(word)
                continue
            status = os.stat(found)
            parts.append(f"{os.path.realpath(found)} {status.st_size} {status.st_mtime_ns}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def compile(
        self,
        sources: Sequence[Path],
        output: Path,
        *,
        include: Iterable[Path] = (),
        link: Iterable[str] = ("-lm",),
        report: Callable[[float], None] = lambda done: None,
    ) -> None:
        """Make one shared library from C files, several at a time if there are several.

        Objects and the compiler's own temporary files go to the folder of `output`.

        Args:
            include: folders of headers.
            link: arguments for the linker.
            report: is called with the share of the work that is done, 0 to 1.

        Raises:
            CompileError: the compiler cannot be run, takes too long or refuses the sources.
        """
        flags = [
            *FLAGS,
            *optimisation_limit(),
            *native_flags(self.is_zig),
            *(f"-I{folder}" for folder in include),
        ]
        environment = {**os.environ, "TMPDIR": str(output.parent), "LC_ALL": "C"}

        def task(*arguments: str) -> Callable[[], None]:
            return lambda: processes.run([*self.command, *flags, *arguments], environment)

        parts = [str(source) for source in sources]
        if len(sources) > 1:
            objects = [str(output.with_name(f"{output.stem}-{k}.o")) for k in range(len(sources))]
            pairs = zip(parts, objects, strict=True)
            processes.in_parallel([task("-c", part, "-o", target) for part, target in pairs], report)
            parts = objects
        processes.in_parallel([task("-shared", *parts, "-o", str(output), *link)])


def find_compiler() -> Compiler:
    """The compiler of `$CC`, else cc, gcc or clang on the path, else `ziglang` as installed by pip.

    Raises:
        CompileError: there is none; says how to get one.
    """
    if sys.platform == "win32":
        raise CompileError("functions are not compiled on Windows; use the Windows Subsystem for Linux")
    named = os.environ.get("CC", "").strip()
    if named:
        try:
            command = tuple(shlex.split(named))
        except ValueError as error:
            raise CompileError(f"the environment variable CC, {named!r}, is no command: {error}") from error
        if shutil.which(command[0]) is None:
            raise CompileError(f"the environment variable CC names {command[0]!r}, which cannot be run")
        return Compiler(command)
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path is not None:
            return Compiler((path,))
    if _module_file("ziglang") is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc"))
    raise CompileError(f"no C compiler found: {_HOW_TO_GET_ONE}")


# Levels for HELICOID_MARCH besides "native": lanes, and the processor's flags in /proc/cpuinfo.
_LEVELS = {
    "x86-64-v2": (2, "cx16 popcnt ssse3 sse4_1 sse4_2"),
    "x86-64-v3": (4, "avx avx2 bmi1 bmi2 f16c fma movbe"),
    "x86-64-v4": (8, "avx512f avx512bw avx512cd avx512dq avx512vl"),
}


def target() -> str:
    """The processor that code is made for: "native", or the level that `$HELICOID_MARCH` names.

    Code for a level is the same on every machine, so that a cache can be shared between different ones.

    Raises:
        CompileError: there is no such level, or this processor is below it.
    """
    level = os.environ.get("HELICOID_MARCH", "").strip() or "native"
    if level == "native":
        return level
    cpu = _cpu()
    if cpu.machine not in ("x86_64", "amd64") or level not in _LEVELS:
        names = ", ".join(["native", *_LEVELS])
        raise CompileError(f"HELICOID_MARCH is one of {names} (levels are of x86-64 only); got {level!r}")
    lacking = set(_LEVELS[level][1].split()) - cpu.features
    if lacking and cpu.features:
        text = f"HELICOID_MARCH asks for {level}, and this processor has no {', '.join(sorted(lacking))}"
        raise CompileError(text)
    return level


def native_lanes() -> int:
    """Number of float64 in one vector register of the target: 8, 4 or 2."""
    if target() != "native":
        return _LEVELS[target()][0]
    features = _cpu().features
    if "avx512f" in features:
        return 8
    return 4 if "avx" in features or "avx1.0" in features else 2


def native_flags(is_zig: bool) -> list[str]:
    """The flags that let a compiler use all of the target."""
    cpu, level = _cpu(), target()
    on_x86 = cpu.machine in ("x86_64", "amd64", "i686")
    if not on_x86 and cpu.machine not in ("aarch64", "arm64"):
        return []
    if is_zig:
        level = level.replace("x86-", "x86_").replace("-v", "_v")
    flags = [f"-march={level}" if on_x86 and not is_zig else f"-mcpu={level}"]
    if native_lanes() == 8:
        flags.append("-mprefer-vector-width=512")  # else clang halves vectors of 64 bytes
    if is_zig:
        flags.append("-fno-sanitize=undefined")
    return flags


def cpu_identity() -> str:
    """Text that differs between targets for which the native flags may give different code."""
    cpu = _cpu()
    if target() != "native":
        return f"{sys.platform} {cpu.machine} {target()}"
    return f"{sys.platform} {cpu.machine} {cpu.model}: {' '.join(sorted(cpu.features))}"


@dataclass(frozen=True)
class _Cpu:
    machine: str
    model: str
    features: frozenset[str]


@functools.cache
def _cpu() -> _Cpu:
    machine = platform.machine().lower()
    if sys.platform == "darwin":
        names = ("machdep.cpu.features", "machdep.cpu.leaf7_features")
        features = " ".join(_sysctl(name) for name in names).lower()
        return _Cpu(machine, _sysctl("machdep.cpu.brand_string"), frozenset(features.split()))
    fields = _first_of_cpuinfo()
    features = fields.pop("flags", "") or fields.pop("Features", "")
    kept = ("vendor_id", "cpu family", "model", "model name", "CPU implementer", "CPU variant", "CPU part")
    model = ", ".join(fields[key] for key in kept if key in fields)
    return _Cpu(machine, model or platform.processor(), frozenset(features.split()))


def _first_of_cpuinfo() -> dict[str, str]:
    """/proc/cpuinfo of the first processor; reading all takes long where there are many."""
    fields: dict[str, str] = {}
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, colon, value = line.partition(":")
            if not colon:
                break
            fields[key.strip()] = value.strip()
    return fields


def _sysctl(name: str) -> str:
    """A string from sysctl on macOS; empty where there is none."""
    library, size = ctypes.CDLL(None), ctypes.c_size_t(0)
    if library.sysctlbyname(name.encode(), None, ctypes.byref(size), None, 0):
        return ""
    buffer = ctypes.create_string_buffer(size.value)
    library.sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, 0)
    return buffer.value.decode(errors="replace")


def _module_file(name: str) -> str | None:
    spec = importlib.util.find_spec(name)
    return None if spec is None else spec.origin
