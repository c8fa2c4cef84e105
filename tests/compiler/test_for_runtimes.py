"""Code that the C of other packages calls."""

from __future__ import annotations

import ctypes
from pathlib import Path

import casadi as ca
import pytest

from helicoid.compiler import compile_batch, compile_runtime
from helicoid.compiler.code.program import UnsupportedOperation
from helicoid.errors import CompileError

RUNTIME = '#include "seven.h"\n__attribute__((visibility("default"))) int seven(void) { return SEVEN; }\n'


def square() -> ca.Function:
    x = ca.SX.sym("x", 2)
    return ca.Function("square", [x], [x**2])


def test_a_runtime_finds_its_headers_and_is_made_anew_when_they_change(tmp_path: Path) -> None:
    for number in (7, 8):
        (tmp_path / "seven.h").write_text(f"#define SEVEN {number}\n")
        assert compile_runtime("a test", RUNTIME, tmp_path).library.seven() == number


@pytest.mark.needs_compiler
def test_code_that_the_system_does_not_load_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As from a folder in which nothing may be run."""
    (tmp_path / "seven.h").write_text("#define SEVEN 7\n")

    def refuse(name: str) -> None:
        raise OSError(f"{name}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(CompileError, match=r"failed to map(.|\n)*noexec"):
        compile_runtime("a test", RUNTIME, tmp_path)
    with pytest.raises(CompileError, match=r"failed to map(.|\n)*noexec"):
        compile_batch("a test", [square])


def test_what_has_no_counterpart_in_c_is_reported_and_leaves_nothing_running() -> None:
    def unsupported() -> ca.Function:
        raise UnsupportedOperation("a rotten function")

    with pytest.raises(UnsupportedOperation, match="rotten"):
        compile_batch("a test", [square, unsupported])
    assert compile_batch("a test", [square])[0].address
