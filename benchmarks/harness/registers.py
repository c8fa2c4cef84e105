"""The upper halves of vector registers, which one library can leave in a state that slows another one down.

On x86, code with 256 or 512 bit vectors that ends without `vzeroupper` makes each older SSE instruction after
it wait for the register's former content, in whatever library that instruction is, until somebody cleans up.
Peers from PyPI are mostly SSE code. So every turn of a measurement begins with clean registers.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from benchmarks.harness.calls import Call
from helicoid.compiler.build.cache import library
from helicoid.compiler.build.toolchain import cpu_identity

_SOURCE = """
#define SHOWN __attribute__((visibility("default")))
#if defined(__x86_64__)
SHOWN void clean(void) { __asm__ volatile("vzeroupper"); }
SHOWN void leave(void) { __asm__ volatile("vpcmpeqd %ymm0, %ymm0, %ymm0"); }
SHOWN int in_use(void) { /* state components 2 and 6: upper halves */
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1u << 2 | 1u << 6)) != 0;
}
#endif
"""


@functools.cache
def code() -> Any:
    """Functions that clear the upper vector registers, use one, and detect one in use; None elsewhere."""
    if not {"avx", "xgetbv1"} <= set(cpu_identity().split()):
        return None
    return ctypes.CDLL(str(library(_SOURCE, lambda: [_SOURCE])))


def clean_registers() -> None:
    """Let no earlier code slow down what runs next."""
    if code() is not None:
        code().clean()


def is_seen(n_times: int = 20) -> bool:
    """Whether a register that compiled code leaves in use is still so when Python gets to ask.

    That is up to the processor and to the C library: copying memory with AVX2 cleans up behind itself, and
    the interpreter copies memory between two calls.
    """
    if code() is None:
        return False
    return all(_in_use_after(code().leave) and not _in_use_after(code().clean) for _ in range(n_times))


def leaves_registers_in_use(call: Call) -> bool:
    """Whether a call slows down what runs after it; False where that is not seen (see `is_seen`)."""
    if not is_seen():
        return False
    names = dict(call.names)
    statement = compile(call.statement, "<call>", "exec")
    exec(statement, names)  # the first time may compile or load
    return _in_use_after(lambda: exec(statement, names))


def _in_use_after(action: Callable[[], object]) -> bool:
    in_use = code().in_use
    clean_registers()
    action()
    return bool(in_use())
