"""Background compilation: functions that run on the virtual machine until their code is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler import Function, Iteration
from helicoid.compiler.evaluation.background import BackgroundEvaluator
from helicoid.compiler.evaluation.compiled import MAX_OPERATIONS_TOGETHER
from helicoid.errors import HelicoidError, PerformanceWarning


def spring(factor: float) -> Function:
    x, k = ca.SX.sym("x", 2), ca.SX.sym("k")
    return Function.from_expressions("spring", {"x": x, "k": k}, {"x": factor * k * ca.sin(x), "e": k * x[0]})


def waited(function: Function) -> BackgroundEvaluator:
    evaluator = function._numeric.evaluator
    assert isinstance(evaluator, BackgroundEvaluator)
    evaluator.wait(300)
    return evaluator


@pytest.mark.needs_compiler
def test_first_calls_return_immediately_and_later_ones_use_compiled_code() -> None:
    hc.set_compile("background")
    function, x = spring(0.7185), np.array([0.3, -1.2])
    first = function(x, 2.0)
    assert isinstance(function._numeric.evaluator, BackgroundEvaluator)
    kernel = waited(function).kernel
    assert kernel is not None and kernel.has_scalar and kernel.has_batch
    again = function(x, 2.0)
    assert function._kernel is kernel
    np.testing.assert_allclose(again.x, first.x, rtol=1e-14)
    np.testing.assert_allclose(function(np.array([x, 2 * x]), 2.0).x[0], first.x, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_each_kind_of_a_large_function_is_compiled_on_demand() -> None:
    hc.set_compile("background")
    x = ca.SX.sym("x", 2)
    y = x
    for k in range(MAX_OPERATIONS_TOGETHER // 3 + 1):  # three operations each
        y = ca.vertcat(ca.sin(y[1]) + 0.1 * k, y[0] * 0.5)
    function = Function.from_expressions("large", {"x": x}, {"y": y})
    first = function(np.ones(2))
    assert waited(function).kernel.has_scalar and not function._numeric.evaluator.kernel.has_batch
    batch = function(np.ones((3, 2)))
    assert waited(function).kernel.has_batch and function._numeric.evaluator.kernel.has_scalar
    np.testing.assert_allclose(batch, np.tile(first, (3, 1)), rtol=1e-12)
    np.testing.assert_allclose(function(np.ones((3, 2))), batch, rtol=1e-12)


@pytest.mark.needs_compiler
def test_iterations_use_what_is_there() -> None:
    hc.set_compile("background")
    x = ca.SX.sym("x")
    function = Function.from_expressions("half", {"x": x}, {"x": x / 2 + 0.0071})
    wanted = [8.0, 4.0071, 2.01065, 1.012425]
    for _ in range(2):
        rows = np.full((4, 1), 8.0)
        Iteration(function, [rows], []).run(0, 3)
        np.testing.assert_allclose(rows.ravel(), wanted, rtol=1e-14)
        waited(function)
    assert Iteration(function, [rows], [])._iterate is not None


def test_without_a_compiler_it_goes_on_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    hc.set_compile("background")
    function = spring(0.1239)
    with pytest.warns(PerformanceWarning, match="spring stays on CasADi's virtual machine"):
        function(np.ones(2), 1.0)
        waited(function)
    assert function(np.ones(2), 1.0).e == 1.0


def test_other_words_are_refused() -> None:
    with pytest.raises(HelicoidError, match='True, False or "background"'):
        hc.set_compile("later")  # type: ignore[arg-type]


def test_the_interpreter_ends_while_a_compiler_works(tmp_path: Path) -> None:
    """At once, without a word, and nothing half made is left; the compiler here would take ten minutes."""
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/began\nexec sleep 600\n")
    slow.chmod(0o755)
    code = f"""
import time, pathlib, numpy as np, helicoid as hc
hc.set_compile("background")
robot = hc.load("planar_2r")
print(robot.gravity(np.zeros(2)).shape, flush=True)
end = time.monotonic() + 60
while not pathlib.Path({str(tmp_path / "began")!r}).exists() and time.monotonic() < end:
    time.sleep(0.01)
"""
    cache = tmp_path / "cache"
    environment = {**os.environ, "CC": str(slow), "HELICOID_CACHE": str(cache), "HELICOID_COMPILE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "(2,)\n", "")
    assert (tmp_path / "began").exists()
    end = time.monotonic() + 20
    while list(cache.glob("build-*")) and time.monotonic() < end:
        time.sleep(0.05)
    assert not list(cache.glob("build-*"))
