"""Compiled libraries as callables of Python: through a C extension, or else through ctypes."""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from helicoid._typing import Array
from helicoid.compiler.build.cache import KERNEL_HEADERS, library, loaded
from helicoid.compiler.locks import new_lock
from helicoid.compiler.symbolic.signature import Shape
from helicoid.errors import CompileError, HelicoidError, PerformanceWarning, warn

KERNEL_ABI = 1  # HELICOID_KERNEL_ABI of runtime/kernel.h

_MODULE = "helicoid_binding"
_Class = TypeVar("_Class", bound=type)


class Kernel(Protocol):
    """An `Evaluator` of compiled code, which may lack the code for one sample or that for batches."""

    @property
    def has_scalar(self) -> bool:
        """Whether `evaluate` works."""

    @property
    def has_batch(self) -> bool:
        """Whether `evaluate_batch` works."""

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """See `Evaluator`."""

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        """See `Evaluator`."""


def load_kernel(
    paths: Sequence[Path],
    input_shapes: Sequence[Shape],
    output_shapes: Sequence[Shape],
    result_type: type[tuple[Any, ...]] | None,
) -> Kernel:
    """The kernel in one or several libraries: the first that has code for one sample gives that, the
    first that has code for batches gives that.

    Args:
        result_type: the named tuple for several outputs; ignored for one output.

    Raises:
        CompileError: a library cannot be loaded, or is not of these shapes.
    """
    extension = prepare()
    _warn_once()
    try:
        if extension is None:
            return CtypesKernel(paths, input_shapes, output_shapes)
        several = result_type if len(output_shapes) > 1 else None
        kernel: Kernel = extension.Kernel(paths, input_shapes, output_shapes, several)
        return kernel
    except (OSError, ValueError) as error:
        raise cannot_be_loaded(error) from error


def cannot_be_loaded(error: Exception) -> CompileError:
    """The error for a library that the system refuses to load."""
    return CompileError(
        f"compiled code cannot be loaded: {error}. `helicoid cache clear` removes all of it; if programs "
        "may not be run from that folder (noexec), name another one in HELICOID_CACHE"
    )


def direct_call_class(cls: _Class) -> _Class:
    """A subclass of `cls` whose calls go to the kernel first: `f.__class__ = direct_call_class(type(f))`.

    Python looks up `__call__` in the class, so that only another class can replace it for one instance. The
    subclass adds nothing else. `cls` has the slot `_kernel`, from one base class for all. A call with plain
    float64 arrays goes straight to the kernel in that slot (`fast_call` of runtime/binding.c); every other
    call, and any call while the slot has no `Kernel` of the extension, goes to `cls.__call__`. Without the
    extension this is `cls` itself.
    """
    extension = prepare()
    with _lock:
        if extension is not None and cls not in _direct_call_classs:
            names = ("__module__", "__qualname__", "__doc__")
            content = {"__slots__": (), **{name: getattr(cls, name) for name in names}}
            faster = type(cls)(cls.__name__, (cls,), content)
            extension.install_fast_call(faster)
            _direct_call_classs[cls] = _direct_call_classs[faster] = faster
        return _direct_call_classs.get(cls, cls)


def get_num_threads() -> int:
    """The maximum number of threads of a batch; see `set_num_threads`."""
    return _num_threads


def set_num_threads(n: int) -> None:
    """Let one batch use up to `n` threads; at first it is all cores that this process may run on.

    Results do not depend on the number. A small batch uses fewer, as many as make it faster.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    global _num_threads
    if not isinstance(n, (int, np.integer)) or not 1 <= n <= 4096:
        raise HelicoidError(f"the number of threads is an integer from 1 to 4096; got {n!r}")
    with _lock:
        _num_threads = int(n)
        if _extension is not None:
            _extension.set_num_threads(_num_threads)
        for callback in _followers:
            callback(_num_threads)


def follow_num_threads(callback: Callable[[int], Any]) -> None:
    """Call a function with the number of threads, now and whenever it is set."""
    with _lock:
        _followers.append(callback)
        callback(_num_threads)


def prepare() -> Any:
    """The C extension, compiled and loaded at the first call; None where that is not possible.

    It takes half a second once, which can pass in another thread while a first kernel compiles.
    """
    global _extension, _prepared, _missing
    with _lock:
        if not _prepared:
            try:
                _extension = _load_extension()
                _extension.set_num_threads(_num_threads)
            except (CompileError, ImportError) as error:
                _missing = str(error)
            _prepared = True
        return _extension


def _warn_once() -> None:
    """Warn once that the extension is missing, when there is a kernel that would use it."""
    global _missing
    if _missing:
        text = f"functions are compiled, but each call costs some µs more than it could: {_missing}"
        _missing = ""
        warn(PerformanceWarning(text))


def _load_extension() -> Any:
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise CompileError(f"{headers / 'Python.h'} is missing (Debian and Ubuntu have it in python3-dev)")
    link = ["-pthread"]
    if sys.platform == "darwin":
        link += ["-undefined", "dynamic_lookup"]
    elif sys.platform.startswith("linux"):
        link += ["-ldl"]
    name = f"{_MODULE} {sys.version} {sysconfig.get_config_var('SOABI')} NumPy {np.__version__}"
    source, include = KERNEL_HEADERS / "binding.c", (headers, Path(np.get_include()))
    return loaded(
        lambda: library(name, lambda: [source.read_text(encoding="utf-8")], include=include, link=link),
        _import,
    )


def _import(path: Path) -> Any:
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _all_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_lock = new_lock()
_extension: Any = None
_prepared = False
_missing = ""  # why there is no extension, until the warning
_direct_call_classs: dict[Any, Any] = {}
_num_threads = _all_cores()
_followers: list[Callable[[int], Any]] = []


class _Code(ctypes.Structure):
    """`helicoid_kernel` of runtime/kernel.h."""

    _fields_ = (
        ("abi", ctypes.c_int64),
        ("n_in", ctypes.c_int64),
        ("n_out", ctypes.c_int64),
        ("in_size", ctypes.POINTER(ctypes.c_int64)),
        ("out_size", ctypes.POINTER(ctypes.c_int64)),
        ("lanes", ctypes.c_int64),
        ("operations", ctypes.c_int64),
        ("scalar_work", ctypes.c_int64),
        ("batch_work", ctypes.c_int64),
        ("scalar", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        (
            "batch",
            ctypes.CFUNCTYPE(
                None,
                ctypes.c_void_p,
                ctypes.c_void_p,
                ctypes.c_void_p,
                ctypes.c_ssize_t,
                ctypes.c_ssize_t,
                ctypes.c_void_p,
            ),
        ),
    )


class CtypesKernel:
    """A kernel called through ctypes, for Pythons without the headers that the extension needs.

    Some µs slower per call than the extension, and a batch is computed by the calling thread alone.
    """

    def __init__(
        self, paths: Sequence[Path], input_shapes: Sequence[Shape], output_shapes: Sequence[Shape]
    ) -> None:
        self._input_shapes = tuple(input_shapes)
        self._output_shapes = tuple(output_shapes)
        self._libraries = [ctypes.CDLL(str(path)) for path in paths]  # keeps the code mapped
        codes = [self._checked(entry) for entry in self._libraries]
        self._scalar = next((code for code in codes if code.scalar), None)
        self._batch = next((code for code in codes if code.batch), None)

    def _checked(self, entry: ctypes.CDLL) -> _Code:
        entry.helicoid_kernel_entry.restype = ctypes.POINTER(_Code)
        code: _Code = entry.helicoid_kernel_entry().contents
        if code.abi != KERNEL_ABI:
            raise ValueError(f"{entry._name}: is no kernel of interface {KERNEL_ABI}")
        sizes = code.in_size[: code.n_in], code.out_size[: code.n_out]
        shapes = self._input_shapes, self._output_shapes
        if sizes != tuple([int(np.prod(shape)) for shape in group] for group in shapes):
            raise ValueError(f"{entry._name}: the kernel has other inputs or outputs than were asked for")
        return code

    @property
    def has_scalar(self) -> bool:
        return self._scalar is not None

    @property
    def has_batch(self) -> bool:
        return self._batch is not None

    def evaluate(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        if self._scalar is None:
            raise ValueError("this kernel has no code for one sample")
        arrays = _addresses(inputs, self._input_shapes), _addresses(outputs, self._output_shapes)
        scratch = _scratch(self._scalar.scalar_work)  # has a name, so that it lives during the call
        self._scalar.scalar(*arrays, scratch.ctypes.data)

    def evaluate_batch(self, inputs: Sequence[Array], outputs: Sequence[Array], n_samples: int) -> None:
        if self._batch is None:
            raise ValueError("this kernel has no code for batches")
        shapes = [
            shape if value.ndim == len(shape) else (n_samples, *shape)
            for value, shape in zip(inputs, self._input_shapes, strict=True)
        ]
        strides = (ctypes.c_ssize_t * len(inputs))()
        for k, shape in enumerate(self._input_shapes):
            strides[k] = int(np.prod(shape)) if len(shapes[k]) > len(shape) else 0
        targets = _addresses(outputs, [(n_samples, *shape) for shape in self._output_shapes])
        scratch = _scratch(self._batch.batch_work)
        if n_samples:
            self._batch.batch(
                _addresses(inputs, shapes), strides, targets, n_samples, n_samples, scratch.ctypes.data
            )


def _addresses(arrays: Sequence[Array], shapes: Sequence[Shape]) -> ctypes.Array[ctypes.c_void_p]:
    for array, shape in zip(arrays, shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
            raise ValueError(f"kernels take C-contiguous float64 arrays, here of shape {shape}")
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def _scratch(n_bytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Memory that begins at a multiple of 64 bytes."""
    memory = np.empty(n_bytes + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :]
