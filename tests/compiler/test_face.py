"""Public face of the package, and that importing it costs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid.compiler as compiler
from helicoid.errors import CompileError


def test_every_name_is_there_and_no_other() -> None:
    assert dir(compiler) == sorted(compiler.__all__)
    for name in compiler.__all__:
        assert hasattr(compiler, name)
    with pytest.raises(AttributeError, match="no attribute 'kernel_of'"):
        compiler.kernel_of  # noqa: B018


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = "import sys, types; sys.modules['helicoid'] = m = types.ModuleType('helicoid'); "
    code += f"m.__path__ = [{str(Path(compiler.__file__).parents[1])!r}]; import helicoid.compiler; "
    code += "print(sorted(n for n in sys.modules if n.startswith(('helicoid', 'casadi', 'numpy'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['helicoid', 'helicoid._lazy', 'helicoid.compiler']"


def test_c_calls_functions_compiled_for_it(tmp_path: Path) -> None:
    """A runtime sums what two functions give for three samples."""
    x = ca.SX.sym("x", 2)
    functions = [ca.Function("a", [x], [ca.sin(x)]), ca.Function("b", [x], [x[0] * x[1]])]
    (tmp_path / "total.h").write_text("""
        static double total(const double *p, int n) {
          double sum = 0;
          for (int k = 0; k < n; k++) sum += p[k];
          return sum;
        }""")
    runtime, code = compiler.compile_runtime(
        "a test",
        """
        #include <stdlib.h>
        #include "kernel.h"
        #include "total.h"
        __attribute__((visibility("default"))) double run(const helicoid_kernel *f, const double *x) {
          double y[64], *out[] = {y};
          const double *in[] = {x};
          ptrdiff_t stride[] = {2};
          void *work = aligned_alloc(64, (f->batch_work + 127) / 64 * 64);
          f->batch(in, stride, out, 3, 3, work);
          free(work);
          return total(y, 3 * (int)f->out_size[0]);
        }""",
        tmp_path,
        [lambda f=f: f for f in functions],
    )
    import ctypes

    runtime.run.restype = ctypes.c_double
    runtime.run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    samples = np.array([[1.0, 2.0], [0.3, -4.0], [5.0, 0.5]])
    wanted = np.sin(samples).sum(), (samples[:, 0] * samples[:, 1]).sum()
    for item, value in zip(code, wanted, strict=True):
        assert runtime.run(item.address, samples.ctypes.data) == pytest.approx(value, rel=1e-14)


def test_a_runtime_that_changes_is_compiled_again(tmp_path: Path) -> None:
    text = '#include "number.h"\n__attribute__((visibility("default"))) int number(void) { return NUMBER; }\n'
    for number in (1, 2):
        (tmp_path / "number.h").write_text(f"#define NUMBER {number}\n")
        assert compiler.compile_runtime("a test", text, tmp_path).library.number() == number


def test_a_function_that_does_not_compile_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    x = ca.SX.sym("x")
    with pytest.raises(CompileError):
        compiler.compile_batch("a test", [lambda: ca.Function("f", [x], [x + 0.123456])])
