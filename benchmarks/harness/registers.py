"""The upper halves of vector registers, which one library can leave in a state that slows another one down.

On x86, code with 256 or 512 bit vectors that ends without `vzeroupper` makes each older SSE instruction after
it wait for the register's former content, in whatever library that instruction is, until somebody cleans up.
Peers from PyPI are mostly SSE code. So every turn of a measurement begins with clean registers.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from benchmarks.harness.calls import Call
from helicoid.compiler.build.cache import library
from helicoid.compiler.build.toolchain import cpu_identity

_SOURCE = """
__attribute__((visibility("default"))) void clean(void) {
#ifdef __AVX__
  __builtin_ia32_vzeroupper();
#endif
}
__attribute__((visibility("default"))) int in_use(void) { /* state components 2 and 6: upper halves */
#if defined(__x86_64__)
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1u << 2 | 1u << 6)) != 0;
#else
  return 0;
#endif
}
"""


@functools.cache
def _code() -> Any:
    return ctypes.CDLL(str(library(_SOURCE, lambda: [_SOURCE])))


def clean_registers() -> None:
    """Let no earlier code slow down what runs next."""
    _code().clean()


def leaves_registers_in_use(call: Call) -> bool:
    """Whether a call slows down what runs after it; False where the processor does not tell."""
    if "xgetbv1" not in cpu_identity().split():
        return False
    names = dict(call.names)
    statement = compile(call.statement, "<call>", "exec")
    exec(statement, names)  # the first time may compile or load
    in_use = _code().in_use
    clean_registers()
    exec(statement, names)
    return bool(in_use())
