"""Exported C builds everywhere with all warnings, checks itself, and touches nothing else."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.export.c_library import Precision, export_c, export_library
from helicoid.compiler.function import Function, Input, Output
from helicoid.errors import HelicoidError
from random_graphs import (
    deep_graph,
    every_operation,
    every_operation_at_special_points,
    relative_error,
    special_points,
)

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
COMPILERS = [name for name in ("cc", "clang") if shutil.which(name)]

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")


def build(compiler: str, files: list[Path], *flags: str) -> Path:
    """The program made of the exported C files."""
    program = files[0].with_suffix(f".{compiler}{''.join(flags)}")
    sources = [str(path) for path in files if path.suffix == ".c"]
    subprocess.run([compiler, *STRICT, *flags, *sources, "-o", str(program), "-lm"], check=True)
    return program


def as_function(function: ca.Function) -> Function:
    inputs = [Input(function.name_in(k), (function.nnz_in(k),)) for k in range(function.n_in())]
    outputs = [Output(function.name_out(k), (function.nnz_out(k),)) for k in range(function.n_out())]
    return Function(function.name(), inputs, outputs, function)


def mixed() -> Function:
    """Scalars, a matrix, constants, nothing at all, and names that C has other plans for."""
    k, m, none = ca.SX.sym("k"), ca.SX.sym("m", 2, 3), ca.SX.sym("none", 0)
    inputs = [(Input("double", ()), k), (Input("λ", (2, 3)), m), (Input("none", (0,)), none)]
    product = ca.sin(k) * m
    outputs = [(Output("work_", (2, 3)), product), (Output("NAN", ()), ca.norm_fro(m))]
    return Function.from_expressions("sin", inputs, [*outputs, (Output("λ", (2,)), ca.SX([0, 0.1]))])


@pytest.fixture(scope="module")
def everything() -> dict[str, Function]:
    """Functions of all bundled robots, and of all operations."""
    functions: dict[str, Function] = {}
    for name in hc.robots():
        robot = hc.load(name)
        for function in (robot.inverse_dynamics, robot.forward_dynamics, robot.mass_matrix):
            functions[f"{name}_{function.name}"] = function
    panda = hc.load("panda")
    functions["panda_jacobian"] = panda.jacobian(panda.link_names[-1])
    functions["quadruped floating"] = hc.load("quadruped", base="floating").inverse_dynamics
    functions["every"] = as_function(every_operation())
    functions["deep"] = as_function(deep_graph(np.random.default_rng(6), 1500))
    functions["sin"] = mixed()
    return functions


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("precision", "level"),
    [
        ("double", "-O0"),
        pytest.param("double", "-O1", marks=pytest.mark.slow),
        pytest.param("double", "-O2", marks=pytest.mark.slow),
        pytest.param("single", "-O1", marks=pytest.mark.slow),
    ],
)
def test_library_builds_without_warnings_and_checks_itself(
    everything: dict[str, Function], tmp_path: Path, compiler: str, precision: Precision, level: str
) -> None:
    files = export_library("everything", everything, tmp_path, precision)
    told = subprocess.run([build(compiler, files, level)], capture_output=True, text=True, check=False)
    lines = told.stdout.splitlines()
    assert told.returncode == 0, told.stdout
    assert len(lines) == len(everything) and all(line.startswith("correct") for line in lines)


@needs_compiler
def test_check_fails_when_the_code_is_wrong(tmp_path: Path) -> None:
    files = export_c(hc.load("double_pendulum").gravity, tmp_path)
    assert subprocess.run([build(COMPILERS[0], files)], check=False).returncode == 0
    text = files[1].read_text()
    assert "9.81" in text
    files[1].write_text(text.replace("9.81", "9.810000001"))
    told = subprocess.run([build(COMPILERS[0], files)], capture_output=True, text=True, check=False)
    assert told.returncode == 1 and told.stdout.startswith("WRONG")


@needs_compiler
def test_every_operation_even_of_nan_and_infinities(tmp_path: Path) -> None:
    files = export_c(as_function(every_operation()), tmp_path)
    library = tmp_path / "every.so"
    command = [COMPILERS[0], "-std=c99", "-shared", "-fPIC", str(files[1]), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    wanted = every_operation_at_special_points()
    found = np.empty_like(wanted)
    every = ctypes.CDLL(str(library)).every
    for x, y, row in zip(*special_points(), found, strict=True):
        every(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y, row)))
    assert relative_error(found, wanted) < 1e-12


@needs_compiler
def test_code_keeps_no_state_and_calls_nothing_but_mathematics(
    everything: dict[str, Function], tmp_path: Path
) -> None:
    if not shutil.which("nm"):
        pytest.skip("there is no nm")
    files = export_library("all", {name: everything[name] for name in ("every", "deep", "sin")}, tmp_path)
    for path in files[1:4]:
        target = path.with_suffix(".o")
        subprocess.run([COMPILERS[0], *STRICT, "-O1", "-c", str(path), "-o", str(target)], check=True)
        symbols = subprocess.run(["nm", str(target)], capture_output=True, text=True, check=True).stdout
        kinds = {line.split()[-1]: line.split()[-2] for line in symbols.splitlines()}
        assert set(kinds.values()) <= {"T", "t", "U", "r"}, "there is data that can change"
        called = {name.lstrip("_") for name, kind in kinds.items() if kind == "U"}
        assert called <= {*dir(ca), "erfc", "pow", "sincos", "GLOBAL_OFFSET_TABLE_"}


def test_header_says_what_goes_in_and_out(tmp_path: Path) -> None:
    header, *_ = export_c(mixed(), tmp_path)
    text = header.read_text()
    assert header.name == "sin_.h"
    prototype = re.search(r"void .*?;", text, re.DOTALL)
    assert prototype is not None
    assert " ".join(prototype[0].split()) == (
        "void sin_(double double_, const double lamda[6], const double *none, "
        "double work[6], double *NAN_, double lamda_out[2]);"
    )
    assert "#define SIN__LAMDA_SIZE 6" in text
    assert "2 x 3, row-major" in text and "operations" in text and "bytes of stack" in text


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")
def test_header_serves_cpp_too(tmp_path: Path) -> None:
    header, *_ = export_c(mixed(), tmp_path)
    command = ["c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", str(header)]
    subprocess.run(command, check=True)


@pytest.mark.skipif(not shutil.which("cmake"), reason="there is no CMake")
@pytest.mark.needs_compiler
def test_cmake_builds_and_tests(tmp_path: Path) -> None:
    export_c(hc.load("double_pendulum").mass_matrix, tmp_path / "source")
    folder = str(tmp_path / "build")
    subprocess.run(["cmake", "-S", str(tmp_path / "source"), "-B", folder], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", folder], check=True, capture_output=True)
    told = subprocess.run(["ctest"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "100% tests passed" in told and "out of 1" in told
    assert list((tmp_path / "build").glob("libmass_matrix.a"))


def test_single_precision_has_no_double_in_it(tmp_path: Path) -> None:
    header, source, *_ = export_c(hc.load("ur5").forward_dynamics, tmp_path, "single")
    assert "double" not in header.read_text() + source.read_text()
    assert not re.search(r"\d\.\d+(?![\df]|e[-+]?\d+f)", source.read_text())


def test_same_function_gives_the_same_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        export_c(mixed(), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["CMakeLists.txt", "main.c", "sin_.c", "sin_.h"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_names_that_would_be_the_same_file_are_distinguished(tmp_path: Path) -> None:
    f = hc.load("double_pendulum").gravity
    files = export_library("two", {"a:b": f, "a_b": f, "A b": f, "main": f}, tmp_path)
    assert [path.name for path in files if path.suffix == ".c"] == [
        *("a_b.c", "a_b_2.c", "A_b_3.c", "main_.c", "main.c")
    ]


def test_only_files_of_an_earlier_export_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    first = export_c(mixed(), tmp_path)
    first[0].write_text(first[0].read_text() + "changed")
    assert "changed" not in export_c(mixed(), tmp_path)[0].read_text()
    (tmp_path / "CMakeLists.txt").write_text("project(mine)")
    first[0].write_text(first[0].read_text() + "changed")
    with pytest.raises(HelicoidError, match=r"CMakeLists\.txt: was not written by Helicoid"):
        export_c(mixed(), tmp_path)
    assert "changed" in first[0].read_text()  # nothing was written
    assert (tmp_path / "CMakeLists.txt").read_text() == "project(mine)"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 5


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    f = mixed()
    with pytest.raises(HelicoidError, match="precision is 'double' or 'single', got 'half'"):
        export_c(f, tmp_path, "half")  # type: ignore[arg-type]
    with pytest.raises(HelicoidError, match="no function to export"):
        export_library("empty", {}, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(HelicoidError, match="cannot be exported to"):
        export_c(f, tmp_path / "file")
    x = ca.SX.sym("x")
    printing = Function.from_expressions("printing", {"x": x}, {"y": x.printme(x)})
    with pytest.raises(HelicoidError, match=r"printing: CasADi.s operation"):
        export_c(printing, tmp_path / "printing")
    assert not (tmp_path / "printing").exists()


@pytest.mark.parametrize("line", ["/* Not Written by Helicoid. */", "/* Written by Helicoid. */ int x;", ""])
def test_a_file_that_only_mentions_us_is_left_alone(tmp_path, line):
    x = ca.SX.sym("x")
    square = Function.from_expressions("square", {"x": x}, {"y": x * x})
    first = next(path for path in square.export_c(tmp_path) if path.suffix == ".c")
    first.write_text(f"{line}\nint mine;\n")
    with pytest.raises(HelicoidError, match="is not replaced"):
        square.export_c(tmp_path)
    assert first.read_text() == f"{line}\nint mine;\n"
