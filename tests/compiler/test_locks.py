"""Values computed once by several threads, and across a fork."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORK = """
import os, threading
import casadi as ca
from helicoid.compiler.locks import building
from helicoid.compiler.function import Function, Input, Output

began, end = threading.Event(), threading.Event()

def slow():
    began.set()
    {wait}
    x = ca.SX.sym("x")
    return [x], [2 * x]

shared = Function("shared", [Input("x", ())], [Output("y", ())], slow)
thread = threading.Thread(target={target}, daemon=True)
thread.start()
began.wait()
child = os.fork()
if child == 0:
    end.set()
    x = ca.SX.sym("x")
    other = Function.from_expressions("other", {{"x": x}}, {{"y": 3 * x}})
    os._exit(0 if other(1.0) == 3.0 and shared(1.0) == 2.0 else 1)
end.set()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shared(1.0))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    ("target", "wait"),
    [
        ("lambda: shared.casadi", "threading.Timer(0.2, end.set).start(); end.wait()"),  # an expression
        ("lambda: shared(1.0)", "threading.Timer(0.2, end.set).start(); end.wait()"),  # an evaluator
    ],
)
def test_a_fork_while_another_thread_builds_leaves_no_lock_held(target: str, wait: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK.format(target=target, wait=wait)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == ["0", "2.0"], done.stderr
