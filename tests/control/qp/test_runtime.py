"""The runtime as C99 for other programs: no warnings, nothing but libm, sizes that are known when it runs."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from control.qp import problems
from helicoid.control.qp import QuadraticProgram
from helicoid.control.qp.program import RUNTIME

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
COMPILERS = [name for name in ("cc", "clang") if shutil.which(name)]

MAIN = """
#include "qp_lexicographic.h"
#include <stdio.h>

static double H[] = {%(H)s}, f[] = {%(f)s}, A[] = {%(A)s}, lower[] = {%(lower)s}, upper[] = {%(upper)s};
static double x[%(n)d], multiplier[%(n)d + %(m)d], state[%(n)d + %(m)d], work[QP_WORK(%(n)d, %(m)d)];

int main(void) {
  qp s = {0};
  int i;
  s.n = %(n)d, s.m = %(m)d, s.H = H, s.f = f, s.A = A, s.lower = lower, s.upper = upper;
  s.x = x, s.multiplier = multiplier, s.state = state, s.work = work, s.max_iterations = 1000;
  printf("%%d\\n", qp_solve(&s));
  for (i = 0; i < s.n; i++) printf("%%.17g\\n", x[i]);
  return sizeof(qp_levels) == 0 && qp_solve_levels(0);
}
"""


@pytest.mark.needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("sizes", ["", pytest.param("#define QP_N 4\n", marks=pytest.mark.slow)])
def test_it_is_strict_c99_and_solves_the_same(compiler, sizes, rng, tmp_path):
    n, m = 4, 9
    p = problems.equations(rng, n, m)
    text = {
        name: ", ".join(repr(float(value)) for value in np.ravel(values))
        for name, values in {
            "H": p.H,
            "f": p.f,
            "A": p.A,
            "lower": np.append(p.lower, p.row_lower),
            "upper": np.append(p.upper, p.row_upper),
        }.items()
    }
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text(sizes + MAIN % {**text, "n": n, "m": m})
    subprocess.run(
        [compiler, *STRICT, "-O1", f"-I{RUNTIME}", str(source), "-o", str(program), "-lm"], check=True
    )
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    s = QuadraticProgram(n, m).solve(**p.__dict__)
    assert told[0] == "0" and s.success
    assert np.allclose(np.array(told[1:], float), s.x, rtol=0, atol=1e-12 * (1 + np.abs(s.x).max()))
