"""Calling compiled code: every path gives the same numbers, and none harms memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from helicoid.compiler.build import binding
from helicoid.compiler.build.binding import (
    CtypesKernel,
    direct_call_class,
    get_num_threads,
    load_kernel,
    set_num_threads,
)
from helicoid.compiler.build.cache import library
from helicoid.errors import CompileError, HelicoidError, PerformanceWarning

pytestmark = pytest.mark.needs_compiler

INPUTS = ((), (3,), (2, 3))
OUTPUTS = ((2,), (), (3, 2))
Result = namedtuple("Result", ["y", "s", "B"])

# y = k A x, s = sum of x, B = k A^T. Scratch is filled before it is read, so memory that is too small
# or shared between threads shows.
PRODUCTS = r"""
#include "kernel.h"
static const int64_t in_size[] = {1, 3, 6}, out_size[] = {2, 1, 6};
static void products(double k, const double *x, const double *A, double *y, double *s, double *B,
                     volatile double *work, int64_t n_work) {
  for (int64_t i = 0; i < n_work; i++) work[i] = x[i % 3];
  double sum = 0, first = n_work ? work[n_work - n_work % 3 - 3] : x[0];
  for (int i = 1; i < 3; i++) sum += x[i];
  *s = first + sum;
  for (int r = 0; r < 2; r++) {
    y[r] = 0;
    for (int c = 0; c < 3; c++) { y[r] += k * A[3 * r + c] * x[c]; B[2 * c + r] = k * A[3 * r + c]; }
  }
}
static void scalar(const double *const *in, double *const *out, void *work) {
  products(*in[0], in[1], in[2], out[0], out[1], out[2], work, WORK / 8);
}
static void batch(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                  ptrdiff_t readable, void *work) {
  (void)readable;
  for (ptrdiff_t k = 0; k < n; k++)
    products(in[0][k * stride[0]], in[1] + k * stride[1], in[2] + k * stride[2], out[0] + 2 * k, out[1] + k,
             out[2] + 6 * k, work, WORK / 8);
}
static const helicoid_kernel code = {ABI, 3, 3, in_size, out_size, 8, OPERATIONS, WORK, WORK, SCALAR, BATCH};
__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &code; }
"""

# For each sample of one input: the samples of the call it was computed in, and those it may read from it on.
CALLS = r"""
#include "kernel.h"
static const int64_t in_size[] = {1}, out_size[] = {2};
static void batch(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                  ptrdiff_t readable, void *work) {
  (void)work;
  for (ptrdiff_t k = 0; k < n; k++) {
    out[0][2 * k] = (double)n + 0 * in[0][k * stride[0]];
    out[0][2 * k + 1] = (double)(readable - k);
  }
}
static const helicoid_kernel code = {1, 1, 1, in_size, out_size, 8, 100000, 0, 0, 0, batch};
__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &code; }
"""

VECTORS = r"""
#include "kernel.h"
static const int64_t in_size[] = {3, 3}, out_size[] = {3};
static void scalar(const double *const *in, double *const *out, void *work) {
  (void)work;
  for (int i = 0; i < 3; i++) out[0][i] = in[0][i] - 2 * in[1][2 - i];
}
static void batch(const double *const *in, const ptrdiff_t *stride, double *const *out, ptrdiff_t n,
                  ptrdiff_t readable, void *work) {
  (void)readable;
  for (ptrdiff_t k = 0; k < n; k++) {
    const double *one[] = {in[0] + k * stride[0], in[1] + k * stride[1]};
    double *result[] = {out[0] + 3 * k};
    scalar(one, result, work);
  }
}
static const helicoid_kernel code = {1, 2, 1, in_size, out_size, 8, 6, 0, 0, scalar, batch};
__attribute__((visibility("default"))) const helicoid_kernel *helicoid_kernel_entry(void) { return &code; }
"""


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Libraries of these tests go to a cache of their own."""
    patch = pytest.MonkeyPatch()
    path = tmp_path_factory.mktemp("cache")
    patch.setenv("HELICOID_CACHE", str(path))
    yield path
    patch.undo()


@pytest.fixture(autouse=True)
def threads():
    before = get_num_threads()
    yield
    set_num_threads(before)


def products(abi=1, operations=20, work=64, scalar="scalar", batch="batch") -> Path:
    names = {"ABI": abi, "OPERATIONS": operations, "WORK": work, "SCALAR": scalar, "BATCH": batch}
    text = "".join(f"#define {key} {value}\n" for key, value in names.items()) + PRODUCTS
    return library(f"products {names}", lambda: [text])


def vectors() -> Path:
    return library("vectors", lambda: [VECTORS])


class Base:
    """What a function is to the binding: a slot for the kernel, and a way to call without it."""

    __slots__ = ("__dict__", "__weakref__", "_kernel")

    def __call__(self, *args, out=None, **kwargs):
        return "python", args, out, kwargs


class Derived(Base):
    pass


def fast(kernel, cls=Base):
    f = cls()
    f.__class__ = direct_call_class(cls)
    f._kernel = kernel
    return f


def fast_products(**options):
    return fast(load_kernel([products(**options)], INPUTS, OUTPUTS, Result))


def by_python(result) -> bool:
    return isinstance(result, tuple) and isinstance(result[0], str)


@pytest.fixture
def f():
    return fast_products()


@pytest.fixture
def g():
    return fast(load_kernel([vectors()], [(3,), (3,)], [(3,)], None))


def expected(k, x, A):
    return Result(
        np.einsum("...,...ij,...j->...i", k, A, x), x.sum(-1), np.swapaxes(k[..., None, None] * A, -1, -2)
    )


def assert_close(result, reference):
    for value, wanted in zip(result, reference, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-14, atol=1e-14)
        assert np.shape(value) == np.shape(wanted)


def empty_outputs(n=None):
    return [np.empty(shape if n is None else (n, *shape)) for shape in OUTPUTS]


def samples(rng, n):
    return tuple(rng.normal(size=(n, *shape)) for shape in INPUTS)


MAKERS = [
    pytest.param(lambda paths: load_kernel(paths, INPUTS, OUTPUTS, Result), id="extension"),
    pytest.param(lambda paths: CtypesKernel(paths, INPUTS, OUTPUTS), id="ctypes"),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("work", [0, 64, 200_000])
def test_evaluate(make, work, rng):
    kernel = make([products(work=work)])
    for _ in range(3):
        values = [np.array(value[0]) for value in samples(rng, 1)]
        outputs = empty_outputs()
        kernel.evaluate(values, outputs)
        assert_close(outputs, expected(*values))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("work", [0, 64, 200_000])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
def test_evaluate_batch_with_every_mixture(make, work, n, rng):
    """Each input is a batch or is the same for all, in every combination, also none of them a batch."""
    kernel = make([products(work=work)])
    batch = samples(rng, n)
    single = tuple(np.array(value[0]) for value in samples(rng, 1))
    for choice in range(8):
        mixed = [batch[i] if choice >> i & 1 else single[i] for i in range(3)]
        whole = [np.broadcast_to(v, (n, *shape)) for v, shape in zip(mixed, INPUTS, strict=True)]
        outputs = empty_outputs(n)
        kernel.evaluate_batch(mixed, outputs, n)
        assert_close(outputs, expected(*whole))


@pytest.mark.parametrize("make", MAKERS)
def test_one_library_for_samples_and_one_for_batches(make, rng):
    only_scalar, only_batch = products(batch=0), products(scalar=0)
    first, second = make([only_scalar]), make([only_batch])
    assert (first.has_scalar, first.has_batch) == (True, False)
    assert (second.has_scalar, second.has_batch) == (False, True)
    values = [value[0] for value in samples(rng, 1)]
    with pytest.raises(ValueError, match="no code for batches"):
        first.evaluate_batch(values, empty_outputs(1), 1)
    with pytest.raises(ValueError, match="no code for one sample"):
        second.evaluate(values, empty_outputs())
    both = make([only_scalar, only_batch])
    assert both.has_scalar and both.has_batch
    many = samples(rng, 9)
    outputs = empty_outputs(9)
    both.evaluate_batch(many, outputs, 9)
    assert_close(outputs, expected(*many))


@pytest.mark.parametrize("make", MAKERS)
def test_arrays_that_do_not_fit_are_refused(make, rng):
    kernel = make([products()])
    good = [np.array(value[0]) for value in samples(rng, 1)]
    for bad in (np.zeros(4), np.zeros((3, 1)), np.zeros(3, np.float32), np.zeros(6)[::2]):
        with pytest.raises(ValueError):
            kernel.evaluate([good[0], bad, good[2]], empty_outputs())
    with pytest.raises(ValueError):
        kernel.evaluate(good[:2], empty_outputs())
    with pytest.raises(ValueError):
        kernel.evaluate(good, empty_outputs()[:2])
    with pytest.raises(ValueError):
        kernel.evaluate(good, empty_outputs(1))
    with pytest.raises(ValueError):
        kernel.evaluate_batch([good[0], np.zeros((5, 3)), good[2]], empty_outputs(4), 4)
    with pytest.raises(ValueError):
        kernel.evaluate_batch([good[0], np.zeros((4, 3)), good[2]], empty_outputs(5), 4)


@pytest.mark.parametrize("inputs, outputs", [(INPUTS[:2], OUTPUTS), (INPUTS, ((2,), (), (3, 3)))])
def test_other_shapes_than_the_library_has(inputs, outputs):
    with pytest.raises(CompileError, match="other inputs or outputs"):
        load_kernel([products()], inputs, outputs, Result)
    with pytest.raises(ValueError, match="other inputs or outputs"):
        CtypesKernel([products()], inputs, outputs)


def test_libraries_that_are_no_kernels(tmp_path):
    not_a_library = tmp_path / "x.so"
    not_a_library.write_bytes(b"not a library")
    for path, reason in [
        (not_a_library, "cannot be loaded"),
        (tmp_path / "missing.so", "cannot be loaded"),
        (products(abi=2), "no kernel of interface 1"),
        (library("nothing", lambda: ["int nothing;"]), "no kernel of interface 1"),
    ]:
        with pytest.raises(CompileError, match=reason):
            load_kernel([path], INPUTS, OUTPUTS, Result)


def test_result_type_must_be_a_tuple():
    for wrong in (None, dict, 3):
        with pytest.raises(TypeError, match="named tuple"):
            load_kernel([products()], INPUTS, OUTPUTS, wrong)


def test_fast_call_of_one_sample(f, g, rng):
    values = [np.array(value[0]) for value in samples(rng, 1)]
    for k in (values[0], float(values[0]), values[0][()]):
        result = f(k, *values[1:])
        assert type(result) is Result and type(result.s) is float
        assert_close(result, expected(*values))
    x, y = rng.normal(size=(2, 3))
    assert isinstance(g(x, y), np.ndarray)
    np.testing.assert_array_equal(g(x, y), x - 2 * y[::-1])
    np.testing.assert_array_equal(g(x, y, out=None), x - 2 * y[::-1])


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_fast_call_of_batches(f, g, n, rng):
    k, x, A = samples(rng, n)
    assert_close(f(k, x, A), expected(k, x, A))
    whole = expected(np.full(n, 2.5), x, np.broadcast_to(A[:1].sum(0), (n, 2, 3)))
    assert_close(f(2.5, x, A[:1].sum(0)), whole)
    np.testing.assert_array_equal(g(x, np.ones(3)), x - 2)


def test_fresh_results(g, rng):
    """A result is never written to again while anybody refers to it, also by way of a view."""
    x, y = rng.normal(size=(2, 1000, 3))
    kept = [g(x[i], y[i]) for i in range(1000)]
    views = [g(x[i], y[i])[1:] for i in range(1000)]
    buffers = [memoryview(g(x[i], y[i])) for i in range(1000)]
    truth = x - 2 * y[:, ::-1]
    np.testing.assert_array_equal(kept, truth)
    np.testing.assert_array_equal(views, truth[:, 1:])
    np.testing.assert_array_equal(np.array(buffers), truth)


def test_a_result_that_was_changed_is_not_given_again(g):
    """Neither its shape nor its flags come back with the next result."""
    x, y = np.ones(3), np.zeros(3)

    def spoil(change):
        for _ in range(3):
            result = g(x, y)
            change(result)
            del result
            again = g(x, y)
            assert again.shape == (3,) and again.flags.writeable and again.dtype == np.float64
            np.testing.assert_array_equal(again, x)
            del again

    spoil(lambda result: result.resize((2, 3), refcheck=False))
    spoil(lambda result: result.setflags(write=False))
    spoil(lambda result: result.__setitem__(0, 5.0))


def test_out(f, g, rng):
    x, y = rng.normal(size=(2, 3))
    for out in (np.full(3, np.nan), (np.full(3, np.nan),)):
        assert g(x, y, out=out) is out
        np.testing.assert_array_equal(np.reshape(out, 3), x - 2 * y[::-1])
    X, out = rng.normal(size=(9, 3)), np.empty((9, 3))
    assert g(X, y, out=out) is out
    np.testing.assert_array_equal(out, X - 2 * y[::-1])
    values = samples(rng, 5)
    several = tuple(empty_outputs(5))
    assert f(*values, out=several) is several
    assert_close(several, expected(*values))


def test_out_that_kernels_cannot_write_to_goes_to_python(f, g, rng):
    """Above all arrays that share memory with inputs or with each other."""
    x, y = rng.normal(size=(2, 3))
    memory = rng.normal(size=8)
    first, second = memory[:3], memory[2:5]
    locked = np.empty(3)
    locked.setflags(write=False)
    for out in (
        x,
        y,
        np.empty(4),
        np.empty((1, 3)),
        locked,
        np.empty(3, np.float32),
        np.empty(6)[::2],
        3,
        [x],
    ):
        assert by_python(g(x, y, out=out))
    assert by_python(g(first, y, out=second)) and by_python(g(second, y, out=first))
    assert not by_python(g(first, y, out=memory[3:6]))
    one, block = np.empty(()), np.empty(8)
    values = [value[0] for value in samples(rng, 1)]
    assert by_python(f(*values, out=(block[:2], one, block[1:7].reshape(3, 2))))
    assert not by_python(f(*values, out=(block[:2], one, block[2:8].reshape(3, 2))))
    assert by_python(f(*values, out=(block[:2], one)))
    assert by_python(f(*values, out=block[:2]))
    X = rng.normal(size=(8, 3))
    assert by_python(g(X[:4], y, out=X[3:7])) and not by_python(g(X[:4], y, out=X[4:]))


def test_everything_else_goes_to_python_as_it_is(g, rng):
    x, y = rng.normal(size=(2, 3))

    class Subclass(np.ndarray):
        pass

    strange = [
        [1.0, 2.0, 3.0],
        1.0,
        None,
        np.zeros(4),
        np.zeros((2, 3, 3)),
        np.zeros(3, np.float32),
        np.zeros(3, ">f8" if sys.byteorder == "little" else "<f8"),
        np.zeros(6)[::2],
        np.asfortranarray(np.zeros((2, 3))),
        np.zeros(3).view(Subclass),
        np.frombuffer(b"\0" * 25, np.uint8)[1:].view(np.float64),
        np.zeros(()),
    ]
    for value in strange:
        result = g(x, value)
        assert by_python(result) and result[1][0] is x and result[1][1] is value
    assert by_python(g(np.zeros((4, 3)), np.zeros((5, 3))))
    assert g() == ("python", (), None, {}) and by_python(g(x)) and by_python(g(x, y, y))
    assert g(x, second=y) == ("python", (x,), None, {"second": y})
    assert by_python(g(x, y, gravity=1)) and by_python(g(x, y, out=np.empty(3), gravity=1))


def test_without_kernel_calls_go_to_python(g, rng):
    x, y = rng.normal(size=(2, 3))
    kernel = g._kernel
    for other in (None, "no kernel", CtypesKernel([vectors()], [(3,), (3,)], [(3,)])):
        g._kernel = other
        assert by_python(g(x, y))
    del g._kernel
    assert by_python(g(x, y))
    g._kernel = kernel
    assert not by_python(g(x, y))
    only_scalar = fast_products(batch=0)
    assert by_python(only_scalar(*samples(rng, 4)))
    assert not by_python(only_scalar(*(value[0] for value in samples(rng, 1))))


def test_direct_call_class_is_the_same_class_to_everybody_else(g, rng):
    x, y = rng.normal(size=(2, 3))
    assert isinstance(g, Base) and type(g).__name__ == "Base" and type(g).__module__ == Base.__module__
    assert (
        direct_call_class(Base)
        is direct_call_class(Base)
        is direct_call_class(direct_call_class(Base))
        is type(g)
    )
    derived = fast(g._kernel, Derived)
    assert isinstance(derived, Derived) and type(derived) is not type(g)
    np.testing.assert_array_equal(derived(x, y), g(x, y))

    class Further(type(g)):
        pass

    further = Further()
    assert by_python(further(x, y))
    further._kernel = g._kernel
    assert by_python(further(x, y))  # a class of the user's: nobody said that it may be fast
    further.__class__ = direct_call_class(Further)
    assert not by_python(further(x, y)) and by_python(further(x))


def test_class_changes_in_place():
    """Attributes stay, weak references stay, and cycles are still found by the garbage collector."""
    f = Base()
    f.name, f.itself = "before", f
    reference = weakref.ref(f)
    f.__class__ = direct_call_class(Base)
    f._kernel = load_kernel([vectors()], [(3,), (3,)], [(3,)], None)
    assert reference() is f and f.name == "before" and vars(f) == {"name": "before", "itself": f}
    del f
    gc.collect()
    assert reference() is None


def test_errors_of_the_python_path_come_through():
    class Raising(Base):
        __slots__ = ()

        def __call__(self, *args):
            raise HelicoidError("from Python")

    with pytest.raises(HelicoidError, match="from Python"):
        fast(None, Raising)(1)


def test_classes_that_cannot_be_fast():
    class WithoutSlot:
        def __call__(self):
            pass

    class WithoutCall:
        __slots__ = ("_kernel",)

    with pytest.raises(AttributeError, match="_kernel"):
        direct_call_class(WithoutSlot)
    with pytest.raises(TypeError, match="__call__"):
        direct_call_class(WithoutCall)


@pytest.mark.parametrize("n", [8, 9, 1000, 12345])
@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_batches_are_cut_at_whole_vectors(n, n_threads):
    """Every call but the last computes a multiple of the lanes, and may read to the end of the batch."""
    kernel = load_kernel([library("calls", lambda: [CALLS])], [()], [(2,)], None)
    set_num_threads(n_threads)
    out = np.empty((n, 2))
    kernel.evaluate_batch([np.zeros(n)], [out], n)
    np.testing.assert_array_equal(out[:, 1], np.arange(n, 0, -1))
    start = 0
    while start < n:
        size = int(out[start, 0])
        assert size % 8 == 0 or start + size == n
        assert np.all(out[start : start + size, 0] == size)
        start += size
    assert start == n and (out[0, 0] < n) == (n_threads > 1 and n >= 16)


@pytest.mark.parametrize("work", [64, 100_000])
def test_threads_give_the_same_bits(work, rng):
    f = fast_products(operations=10_000, work=work)
    values = samples(rng, 2003)
    set_num_threads(1)
    reference = f(*values)
    for n_threads in (2, 8, 64):
        set_num_threads(n_threads)
        for result, wanted in zip(f(*values), reference, strict=True):
            assert result.tobytes() == wanted.tobytes()


def test_python_threads_share_a_kernel(rng):
    """Eight threads, one function that lets go of the GIL, single samples and batches mixed."""
    f = fast_products(operations=60_000, work=20_000)
    set_num_threads(3)
    values = [samples(rng, 40) for _ in range(8)]
    failures, barrier = [], threading.Barrier(8)

    def work(j):
        try:
            barrier.wait()
            wanted = expected(*values[j])
            for i in range(40):
                one = [np.array(value[i]) for value in values[j]]
                assert_close(f(*one), [item[i] for item in wanted])
                assert_close(f(*values[j]), wanted)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(j,)) for j in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("wrong", [0, -1, 5000, 1.5, "2", None])
def test_invalid_number_of_threads_is_refused(wrong):
    with pytest.raises(HelicoidError, match="1 to 4096"):
        set_num_threads(wrong)


def run_script(code: str, **environment: str) -> str:
    """What a fresh interpreter prints that has this module as `tests`."""
    path = os.pathsep.join([str(Path(binding.__file__).parents[3]), str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", f"import numpy as np\nimport test_binding as tests\n{code}"],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_threads_that_cannot_be_started():
    """With no memory for their stacks, the calling thread computes all of the batch."""
    code = """
import resource
f = tests.fast_products(operations=10_000)
values = tests.samples(np.random.default_rng(0), 1000)
tests.set_num_threads(1)
reference = f(*values)
tests.set_num_threads(64)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20),) * 2)
print(all(np.array_equal(a, b) for a, b in zip(f(*values), reference)))
"""
    assert run_script(code) == "True"


def test_a_forked_process_computes(rng):
    """Also after its parent has used threads."""
    code = """
import os
f = tests.fast_products(operations=10_000)
values = tests.samples(np.random.default_rng(0), 1000)
tests.set_num_threads(4)
reference = f(*values)
child = os.fork()
if child == 0:
    os._exit(not all(np.array_equal(a, b) for a, b in zip(f(*values), reference)))
print(os.waitpid(child, 0)[1])
"""
    assert run_script(code) == "0"


def test_second_process_starts_no_compiler(folder):
    """Extension and kernel come from the cache, with the search path empty and no compiler from pip."""
    products()
    binding.prepare()
    code = """
import subprocess, sys
subprocess.Popen = None
sys.modules["ziglang"] = None
f = tests.fast_products()
print(f(2.0, np.ones(3), np.ones((2, 3))).y)
"""
    assert run_script(code, PATH="") == "[6. 6.]"


def test_without_headers_of_python_ctypes_serves(monkeypatch, tmp_path, rng):
    monkeypatch.setattr(binding, "_prepared", False)
    monkeypatch.setattr(binding, "_extension", None)
    monkeypatch.setattr(binding, "_direct_call_classs", {})
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.warns(PerformanceWarning, match=r"Python\.h is missing"):
        kernel = load_kernel([products()], INPUTS, OUTPUTS, Result)
    assert isinstance(kernel, CtypesKernel) and direct_call_class(Base) is Base
    values, outputs = samples(rng, 9), empty_outputs(9)
    set_num_threads(2)
    kernel.evaluate_batch(values, outputs, 9)
    assert_close(outputs, expected(*values))


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def call_all_ways(f, g, n: int) -> None:
    x, y, out, X = np.ones(3), np.zeros(3), np.empty(3), np.ones((8, 3))
    k, A, K = np.array(2.0), np.ones((2, 3)), np.ones(8)
    inputs, outputs = (k, x, A), empty_outputs()
    for _ in range(n):
        g(x, y)
        g(x, y, out=out)
        g(X, y)
        f(k, x, A)
        f(2.0, x, A).B.sum()
        f(K, X, A)
        g(x)
        f._kernel.evaluate(inputs, outputs)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_no_leaks(f, g):
    """A lost reference to the smallest object, 24 bytes, in one of the calls would be 2.4 MB."""
    call_all_ways(f, g, 2_000)
    before = resident()
    call_all_ways(f, g, 100_000)
    assert resident() - before < 1_000_000


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_no_leaks_of_kernels_and_refused_arguments():
    path = products()

    def work(n):
        for _ in range(n):
            kernel = load_kernel([path], INPUTS, OUTPUTS, Result)
            fast(kernel)(2.0, np.ones(3), np.ones((2, 3)))
            with pytest.raises(ValueError):
                kernel.evaluate([1.0], [])
            with pytest.raises(CompileError):
                load_kernel([path], INPUTS, OUTPUTS[:2], Result)

    work(500)
    before = resident()
    work(10_000)
    assert resident() - before < 1_000_000


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_a_batch_takes_no_memory_that_grows_with_it(f):
    """With out= given, a batch of 200,000 samples (a result of 14 MB) allocates nothing to speak of."""
    n = 200_000
    values = [np.ones(shape) for shape in ((n,), (n, 3), (n, 2, 3))]
    out = tuple(np.zeros((n, *shape)) for shape in OUTPUTS)
    set_num_threads(2)
    f(*(value[:1000] for value in values), out=tuple(item[:1000] for item in out))
    for item in out:
        item.fill(1.0)  # so that their own pages are counted before
    before = resident()
    f(*values, out=out)
    assert resident() - before < 1_000_000


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_a_hundred_million_evaluations(g):
    """The states of a batch repeated, and single calls: 10^8 samples in all."""
    x, y, X = np.ones(3), np.zeros(3), np.ones((100_000, 3))
    out = np.empty_like(X)
    g(X, y, out=out)
    before = resident()
    for _ in range(700):
        g(X, y, out=out)
    for _ in range(30_000_000):
        g(x, y)
    assert resident() - before < 1_000_000


def test_floating_point_mode_is_unchanged_by_loading_and_calling():
    """Read in a fresh process: numbers too small for the normal format are kept, in threads too."""
    code = """
tiny = np.array([5e-324, 1e-310, 2.3e-308])
before = (tiny * 0.75).tobytes()
f = tests.fast_products(operations=100_000)
tests.set_num_threads(4)
k, x, A = np.full(100, 0.75), np.tile(tiny, (100, 1)), np.ones((100, 2, 3))
sums = f(k, x, A).s
small = f(1.0, 0 * x, 1e-310 * A).B
print((tiny * 0.75).tobytes() == before, np.all(sums == tiny.sum()), np.all(small == 1e-310))
"""
    assert run_script(code) == "True True True"
