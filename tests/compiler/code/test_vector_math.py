"""Vector mathematics of batch kernels, compiled: accuracy against mpmath, C's meaning to the bit, memory."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

import helicoid.compiler

RUNTIME = Path(helicoid.compiler.__file__).parent / "build" / "runtime"
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.needs_compiler

FAST = "-O2 -march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math"
PLAIN = "-O2 -ffp-contract=off"  # no fused multiply-add, no vectors wider than the baseline
# (lanes, flags); beyond the width of the machine's registers the compiler splits the vectors.
BUILDS = [(1, FAST), (4, FAST), (8, FAST), (1, PLAIN), (4, PLAIN), (8, PLAIN)]
builds = pytest.mark.parametrize(
    "build",
    [b if b in ((1, PLAIN), (4, FAST)) else pytest.param(b, marks=pytest.mark.slow) for b in BUILDS],
    ids=lambda b: f"{b[0]}-{'fast' if b[1] == FAST else 'plain'}",
)

# Operation -> what it means for one lane, in C.
CLOSE = {
    **{name: f"{name}(x)" for name in ("sin", "cos", "exp", "tanh", "atan", "asin", "acos")},
    "erfinv": "hc_erfinv_scalar(x)",
}
CLOSE_BINARY = {"atan2": "atan2(x, y)"}
EXACT_UNARY = {
    "sign": "x < 0 ? -1 : x > 0 ? 1 : x",
    "not": "!x",
    **{name: f"{name}(x)" for name in ("log", "log1p", "expm1", "sqrt", "floor", "ceil", "fabs", "erf")},
    **{name: f"{name}(x)" for name in ("tan", "sinh", "cosh", "asinh", "acosh", "atanh")},
}
EXACT_BINARY = {
    **{name: f"{name}(x, y)" for name in ("pow", "fmod", "remainder", "copysign", "fmin", "fmax", "hypot")},
    "lt": "x < y",
    "le": "x <= y",
    "eq": "x == y",
    "ne": "x != y",
    "and": "x && y",
    "or": "x || y",
    "if_else_zero": "x ? y : 0",
}

MAP = """
void vector_{name}(const double *x, const double *y, double *z, ptrdiff_t n) {{
  for (ptrdiff_t i = 0; i < n; i += HC_LANES) hc_store(z + i, hc_{name}({arguments}));
  (void)y;
}}
void scalar_{name}(const double *xs, const double *ys, double *z, ptrdiff_t n) {{
  for (ptrdiff_t i = 0; i < n; i++) {{
    const double x = xs[i], y = ys[i];
    z[i] = {meaning};
    (void)y;
  }}
}}
"""
ROWS = """
void sincos_(const double *x, const double *y, double *z, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i += HC_LANES) {
    hc_v s, c;
    hc_sincos(hc_load(x + i), &s, &c);
    hc_store(z + i, s);
    hc_store((double *)y + i, c);
  }
}
void splat(double x, double *z) { hc_store(z, hc_splat(x)); }
/* x: n vectors at any address, through an aligned copy whose end is marked */
int load(const double *p, ptrdiff_t stride, ptrdiff_t n, double *x, ptrdiff_t readable, ptrdiff_t r) {
  hc_v t[65];
  t[n] = hc_splat(-77.0);
  if (r) hc_load_rows_partial(p, stride, n, t, r);
  else hc_load_rows(p, stride, n, t, readable);
  for (ptrdiff_t j = 0; j < n; j++) hc_store(x + j * HC_LANES, t[j]);
  return ((const hc_lanes *)t)[n].lane[0] == -77.0 && ((const hc_lanes *)t)[n].lane[HC_LANES - 1] == -77.0;
}
void store(double *p, ptrdiff_t n, const double *y, ptrdiff_t r) {
  hc_v t[64];
  for (ptrdiff_t j = 0; j < n; j++) t[j] = hc_load(y + j * HC_LANES);
  if (r) hc_store_rows_partial(p, n, t, r);
  else hc_store_rows(p, n, t);
}
"""


@pytest.fixture(scope="module")
def library_path(tmp_path_factory) -> Callable[[tuple[int, str]], str]:
    @cache
    def build(lanes_and_flags: tuple[int, str]) -> str:
        lanes, flags = lanes_and_flags
        maps = [
            MAP.format(name=name, arguments=arguments, meaning=meaning)
            for arguments, operations in [
                ("hc_load(x + i)", CLOSE | EXACT_UNARY),
                ("hc_load(x + i), hc_load(y + i)", CLOSE_BINARY | EXACT_BINARY),
            ]
            for name, meaning in operations.items()
        ]
        folder = tmp_path_factory.mktemp("vector_math")
        source, library = folder / "driver.c", folder / "driver.so"
        source.write_text(f'#define HC_LANES {lanes}\n#include "vector_math.h"\n{"".join(maps)}{ROWS}')
        strict = "-std=gnu11 -Wall -Wextra -Werror -Wno-psabi"
        command = f"{COMPILER} {strict} {flags} -fPIC -shared -I{RUNTIME} {source} -o {library} -lm"
        subprocess.run(command.split(), check=True)
        return str(library)

    return build


@pytest.fixture
def library(library_path, build) -> ctypes.CDLL:
    return ctypes.CDLL(library_path(build))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def apply(function, x, y=None) -> np.ndarray:
    """function of all of x (and y): filled up to a multiple of 16 lanes, in and out."""
    x = np.asarray(x, float)
    n = -(-len(x) // 16) * 16
    xs, ys, z = np.resize(x, n), np.resize(x if y is None else np.asarray(y, float), n), np.empty(n)
    function(pointer(xs), pointer(ys), pointer(z), ctypes.c_ssize_t(n))
    return z[: len(x)]


def assert_same_bits(value, expected, what=""):
    both_nan = np.isnan(value) & np.isnan(expected)
    different = (value.view(np.int64) != expected.view(np.int64)) & ~both_nan
    assert not different.any(), f"{what}: {value[different][:3]} for {expected[different][:3]}"


def worst_ulp(value: np.ndarray, exact: list) -> float:
    """Largest error in units in the last place of the exact value's double."""
    return max(
        float(abs(mpf(float(v)) - e) / mpf(math.ulp(float(e)))) for v, e in zip(value, exact, strict=True)
    )


@cache
def near_multiples_of_half_pi() -> np.ndarray:
    """The doubles up to 1e5 nearest to a multiple of pi/2, worst first, and their neighbours."""
    with mpmath.workprec(300):
        half_pi = int(mpmath.floor(mpmath.pi / 2 * mpf(2) ** 200))

    def nearest(k: int) -> float:
        return k * half_pi / (1 << 200)  # a quotient of integers is rounded correctly

    def relative_gap(k: int) -> float:
        p, q = nearest(k).as_integer_ratio()
        return abs((p << 200) // q - k * half_pi) / k

    multiples = [*range(1, 200), *sorted(range(200, 63662), key=relative_gap)[:1000], *range(63000, 63662, 5)]
    x = np.array([nearest(k) for k in multiples])
    return np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, 1e6), x + 1e-9])


@cache
def angles() -> tuple[np.ndarray, list, list]:
    """Arguments up to 1e5 in magnitude with their exact sine and cosine."""
    rng = np.random.default_rng(1)
    small = [0.0, -0.0, 5e-324, -2.2e-308, 1e-200, 1e-20, 1e-8, 1e5, -1e5]
    quarters = (np.arange(-40, 40) + 0.5) * (math.pi / 2)  # where the quadrant changes
    x = np.concatenate([
        small, quarters, np.nextafter(quarters, 9e9), near_multiples_of_half_pi(),
        rng.uniform(-1e5, 1e5, 3000), rng.uniform(-4, 4, 4000), 10.0 ** rng.uniform(-12, 5, 1000),
    ])  # fmt: skip
    x = np.concatenate([x, -x[:2000]])
    with mpmath.workprec(200):
        pairs = [mpmath.cos_sin(mpf(float(v))) for v in x]
    return x, [s for _, s in pairs], [c for c, _ in pairs]


@builds
def test_sine_and_cosine_are_within_two_ulp(library, build):
    x, sine, cosine = angles()
    s, c = apply(library.vector_sin, x), apply(library.vector_cos, x)
    errors = worst_ulp(s, sine), worst_ulp(c, cosine)
    assert max(errors) <= 2.0, f"ulp of sin, cos: {errors}"
    assert np.signbit(s[np.flatnonzero(x == 0)]).tolist() == np.signbit(x[x == 0]).tolist()

    x = np.ascontiguousarray(x[: len(x) // 16 * 16])
    both_c, both_s = np.empty_like(x), np.empty_like(x)
    library.sincos_(pointer(x), pointer(both_c), pointer(both_s), ctypes.c_ssize_t(len(x)))
    assert_same_bits(both_s, s[: len(x)])
    assert_same_bits(both_c, c[: len(x)])


@builds
def test_far_angles_are_those_of_libm_and_leave_their_neighbours_alone(library, build, rng):
    beyond = rng.uniform(100_000.001, 110_000.0, 500)
    far = np.array([1.0000000000000002e5, -1e6, 1e22, -1.7e308, math.inf, -math.inf, math.nan])
    alone = np.array([0.3, -0.0, 2.0, 1e5, -7e4, 1e-310, 40.0])
    for name in ("sin", "cos"):
        vector, scalar = getattr(library, f"vector_{name}"), getattr(library, f"scalar_{name}")
        assert_same_bits(apply(vector, far), apply(scalar, far), name)
        assert_same_bits(apply(vector, beyond), apply(scalar, beyond), name)
        assert np.isnan(apply(vector, far)[4:]).all()
        mixed = apply(vector, np.ravel([alone, far], order="F"))
        assert_same_bits(mixed[::2], apply(vector, alone), name)
        assert_same_bits(mixed[1::2], apply(vector, far), name)


_TURNS = [math.tan(math.pi / 8), 1.0, 1 - 2.0**-53, 1 + 2.0**-52, math.tan(3 * math.pi / 8)]  # other formulas


@cache
def exact_values(name: str) -> tuple[np.ndarray, list]:
    rng = np.random.default_rng(2)
    more = {
        "exp": np.concatenate([rng.uniform(0, 708, 1500), [708.0]]),
        "tanh": rng.uniform(0, 25, 1500),
        "atan": np.concatenate([10.0 ** rng.uniform(-2, 2, 1500), 10.0 ** rng.uniform(2, 280, 100), _TURNS]),
        **dict.fromkeys(
            ("asin", "acos", "erfinv"), np.concatenate([rng.uniform(0, 1, 150), 1 - 2.0 ** -np.arange(1, 54)])
        ),
    }[name]
    x = np.concatenate([10.0 ** rng.uniform(-15, 0, 300), [1e-310, 0.34657359, 0.35, 0.5], more])
    x = np.concatenate([x, -x])
    with mpmath.workprec(250):
        return x, [getattr(mpmath, name)(mpf(float(v))) for v in x]


@builds
@pytest.mark.parametrize(
    ("name", "limit"),
    [("exp", 2.0), *((name, 3.0) for name in ("tanh", "erfinv", "atan", "asin", "acos"))],
)
def test_other_functions_of_our_own_are_close_to_mpmath(library, build, name, limit):
    x, exact = exact_values(name)
    error = worst_ulp(apply(getattr(library, f"vector_{name}"), x), exact)
    assert error <= limit, f"{name}: {error} ulp"


@builds
def test_exponential_beyond_the_normal_numbers_and_special_values(library, build):
    x = np.array(
        [708.0000001, 709.78, 709.79, 1e300, -708.5, -745.1, -745.2, -1e300, math.inf, -math.inf, math.nan]
    )
    assert_same_bits(apply(library.vector_exp, x), apply(library.scalar_exp, x))
    special = np.array([math.inf, -math.inf, math.nan, 0.0, -0.0, 1e300, -21.0])
    assert_same_bits(apply(library.vector_tanh, special), np.array([1, -1, math.nan, 0.0, -0.0, 1, -1]))
    outside = np.array([1.0, -1.0, 1.0000000000000002, -2.0, math.inf, math.nan, 0.0, -0.0])
    expected = np.array([math.inf, -math.inf, *[math.nan] * 4, 0.0, -0.0])
    assert_same_bits(apply(library.vector_erfinv, outside), expected)


@builds
def test_angles_of_pairs_are_within_three_ulp(library, build):
    rng = np.random.default_rng(3)
    slopes = np.concatenate([rng.normal(size=800), 10.0 ** rng.uniform(-300, 280, 200), _TURNS])
    x = np.concatenate(
        [rng.normal(size=len(slopes)), 10.0 ** rng.uniform(-200, 1, 20), -np.ones(len(_TURNS))]
    )
    y = np.concatenate([slopes * x[: len(slopes)], np.zeros(20), _TURNS])
    y, x = np.concatenate([y, x, y]), np.concatenate([x, y, -x])
    kept = (x != 0) | (y != 0)
    y, x = y[kept], x[kept]
    with mpmath.workprec(250):
        exact = [mpmath.atan2(mpf(float(a)), mpf(float(b))) for a, b in zip(y, x, strict=True)]
    assert worst_ulp(apply(library.vector_atan2, y, x), exact) <= 3.0


@builds
def test_angles_of_zeros_infinities_and_nan_are_those_of_c(library, build):
    special = np.array([0.0, -0.0, 5e-324, -1e-310, 1e-300, 1e300, -1.7e308, math.inf, -math.inf, math.nan])
    y, x = (a.ravel() for a in np.meshgrid(special, [*special, 1.0, -1.0]))
    value, expected = apply(library.vector_atan2, y, x), apply(library.scalar_atan2, y, x)
    np.testing.assert_allclose(value, expected, rtol=1e-15, atol=0)
    assert (np.signbit(value) == np.signbit(expected))[~np.isnan(expected)].all()
    alone = np.array([0.3, -2.0, 0.7])  # beside lanes that take libm's value
    mixed = apply(library.vector_atan2, np.ravel([alone, 0 * alone], order="F"), np.ones(6))
    assert_same_bits(mixed[::2], apply(library.vector_atan2, alone, np.ones(3)))
    outside = np.array([1.0000000000000002, -2.0, math.inf, math.nan])
    ends = np.array([1.0, -1.0, 0.0, -0.0])
    for name in ("asin", "acos"):
        vector, scalar = getattr(library, f"vector_{name}"), getattr(library, f"scalar_{name}")
        assert np.isnan(apply(vector, outside)).all()
        np.testing.assert_allclose(apply(vector, ends), apply(scalar, ends), rtol=1e-15, atol=0)
    assert np.signbit(apply(library.vector_asin, [-0.0, -1e-320])).all()


SPECIAL = np.array([
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 1e-3, 5e-324, -1e-310, 0.49999999999999994,
    2.0**52 - 0.5, -(2.0**51) - 0.5, 2.0**52, 1e300, -1e300, math.inf, -math.inf, math.nan,
])  # fmt: skip


def assert_meaning_of_c(library, x, y):
    for name in EXACT_UNARY | EXACT_BINARY:
        value = apply(getattr(library, f"vector_{name}"), x, y)
        expected = apply(getattr(library, f"scalar_{name}"), x, y)
        if name in ("fmin", "fmax"):  # C leaves open which zero comes out of two
            value, expected = value + 0.0, expected + 0.0
        assert_same_bits(value, expected, name)


@builds
def test_every_other_operation_means_what_c_means(library, build):
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    assert_meaning_of_c(library, x, y)
    z = np.empty(build[0])
    for value in (-0.0, 2.5, math.inf):
        library.splat(ctypes.c_double(value), pointer(z))
        assert_same_bits(z, np.full(build[0], value))


@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1, max_size=16))
def test_any_numbers_mean_what_c_means(library_path, pairs):
    x, y = np.array(pairs).T
    for build in BUILDS[:3]:
        assert_meaning_of_c(ctypes.CDLL(library_path(build)), x, y)


@pytest.mark.parametrize("lanes", [1, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 8, 16))])
def test_rows_go_in_and_come_out_transposed_and_nothing_else_is_touched(library_path, lanes, rng):
    library, c, margin = ctypes.CDLL(library_path((lanes, FAST))), ctypes.c_ssize_t, 40
    for n in range(41):
        for stride in {0, n, n + 3}:
            memory = rng.normal(size=lanes * (n + 3) + lanes)
            for r in (0, 1, lanes - 1):  # 0: a whole block
                x, last = np.full((n, lanes), np.nan), (r or lanes) - 1
                inside = library.load(pointer(memory), c(stride), c(n), pointer(x), c(memory.size), c(r))
                rows = [memory[min(s, last) * stride :][:n] for s in range(lanes)]
                assert inside, f"wrote behind {n} columns"
                np.testing.assert_array_equal(x, np.reshape(rows, (lanes, n)).T)
        for r in (0, 1, lanes - 1):
            y, size = rng.normal(size=(n, lanes)), n * (r or lanes)
            out = np.full(lanes * n + 2 * margin, -77.0)
            library.store(ctypes.c_void_p(out.ctypes.data + 8 * margin), c(n), pointer(y), c(r))
            np.testing.assert_array_equal(out[margin : margin + size], y.T[: r or lanes].ravel())
            assert (np.delete(out, np.s_[margin : margin + size]) == -77.0).all(), (n, r)


# An array that ends where the next page begins, which nobody may touch.
GUARDED = """
import ctypes, mmap, sys
import numpy as np
library, lanes, lie = ctypes.CDLL(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
c, page, size = ctypes.c_ssize_t, mmap.PAGESIZE, 4 * mmap.PAGESIZE
memory = mmap.mmap(-1, size + page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + size), ctypes.c_size_t(page), 0) == 0
doubles = np.frombuffer(memory, count=size // 8)
doubles[:] = np.arange(doubles.size)
x = np.empty((40, lanes))
for n in range(1, 41):
    for stride in (0, n, n + 2):
        for spare in range(lanes + 1):
            readable = (lanes - 1) * stride + n + spare
            p = ctypes.c_void_p(start + size - 8 * readable)
            library.load(p, c(stride), c(n), ctypes.c_void_p(x.ctypes.data), c(readable + lie), c(0))
            rows = [doubles[doubles.size - readable + s * stride :][:n] for s in range(lanes)]
            assert (x[:n] == np.array(rows).T).all()
    out = ctypes.c_void_p(start + size - 8 * lanes * n)
    library.store(out, c(n), ctypes.c_void_p(x.ctypes.data), c(0))
    doubles[:] = np.arange(doubles.size)
print("all read")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is POSIX")
@pytest.mark.parametrize("lanes", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 8))])
def test_nothing_is_read_beyond_what_is_readable(library_path, lanes):
    def run(lie: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", GUARDED, library_path((lanes, FAST)), str(lanes), str(lie)]
        return subprocess.run(command, capture_output=True, text=True)

    honest = run(0)
    assert (honest.returncode, honest.stdout) == (0, "all read\n"), honest.stderr
    assert run(lanes).returncode < 0, "the guard page did not catch an overrun"


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only", "-DHC_LANES=3"])
def test_what_would_make_it_wrong_is_refused(tmp_path, flag):
    source = tmp_path / "refused.c"
    source.write_text('#ifndef HC_LANES\n#define HC_LANES 4\n#endif\n#include "vector_math.h"\n')
    command = [*COMPILER.split(), flag, f"-I{RUNTIME}", "-fsyntax-only", str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode != 0
    assert "#error" in result.stderr
