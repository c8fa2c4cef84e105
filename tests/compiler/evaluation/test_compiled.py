"""Functions compiled end to end: the same results as the virtual machine, whichever way they are called."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.evaluation import compiled
from helicoid.compiler.evaluation.compiled import CompiledEvaluator
from helicoid.compiler.evaluation.evaluator import VirtualMachineEvaluator
from helicoid.compiler.function import Function

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def compiling() -> Iterator[None]:
    hc.set_compile(True)
    yield
    hc.set_compile(False)


def spring() -> Function:
    x, k = ca.SX.sym("x", 3), ca.SX.sym("k")
    return Function.from_expressions(
        "spring", {"x": x, "k": k}, {"force": -k * ca.sin(x), "energy": k * ca.dot(x, x)}
    )


def relative(got: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.max(np.abs(got - wanted), initial=0.0) / max(np.max(np.abs(wanted), initial=0.0), 1e-300))


@pytest.mark.parametrize(
    "name",
    [
        name if name == "double_pendulum" else pytest.param(name, marks=pytest.mark.slow)
        for name in hc.robots()
    ],
)
def test_scalar_batch_and_virtual_machine_agree_on_bundled_robots(
    name: str, rng: np.random.Generator, compiling: None
) -> None:
    base = "floating" if name == "quadruped" else "fixed"
    robot, slow = hc.load(name, base=base), hc.load(name, base=base)
    n = 37
    q = np.array([robot.random(rng) for _ in range(n)])
    v, a = rng.normal(size=(2, n, robot.nv))
    for attribute in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity"):
        fast_function = getattr(robot, attribute)
        arguments = (q, v, a)[: len(fast_function.inputs)]
        hc.set_compile(False)
        wanted = getattr(slow, attribute)(*arguments)
        hc.set_compile(True)
        batch = fast_function(*arguments)
        single = np.array([fast_function(*(x[k] for x in arguments)) for k in range(n)])
        assert isinstance(fast_function._numeric.evaluator, CompiledEvaluator)
        assert relative(batch, wanted) <= 1e-12
        assert relative(single, wanted) <= 1e-12


def test_a_compiled_function_is_still_a_function(compiling: None) -> None:
    f = spring()
    force, energy = f(np.ones(3), 2.0)
    assert isinstance(f, Function) and type(f) is not Function
    assert np.allclose(force, -2 * np.sin(np.ones(3)), rtol=1e-15) and energy == 6.0
    assert f(x=[1, 1, 1], k=2).energy == 6.0
    assert f(ca.SX.sym("x", 3), 2)[0].shape == (3, 1)
    assert f.jacobian("x")(np.ones(3), 2.0).denergy_dx.tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(hc.InputError, match="must have shape"):
        f(np.ones(4), 2.0)


def test_results_do_not_depend_on_threads_or_position(rng: np.random.Generator, compiling: None) -> None:
    robot = hc.load("ur5")
    q, v, a = rng.normal(size=(3, 5001, 6))
    before = hc.compiler.build.binding.get_num_threads()  # type: ignore[attr-defined]
    try:
        results = []
        for n in (1, 2, 3):
            hc.set_num_threads(n)
            results.append(robot.inverse_dynamics(q, v, a))
    finally:
        hc.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    for start in (0, 1, 5, 4990):
        assert np.array_equal(robot.inverse_dynamics(q[start:], v[start:], a[start:]), results[0][start:])


def test_threads_call_one_function_at_once(rng: np.random.Generator, compiling: None) -> None:
    robot = hc.load("double_pendulum")
    q, v, a = rng.normal(size=(3, 200, 2))
    wanted = robot.inverse_dynamics(q, v, a)
    wrong: list[int] = []

    def work() -> None:
        for k in range(200):
            if relative(robot.inverse_dynamics(q[k], v[k], a[k]), wanted[k]) > 1e-12:
                wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_only_the_virtual_machine_knows_runs_there(compiling: None) -> None:
    x = ca.SX.sym("x")
    printing = Function.from_expressions("printing", {"x": x}, {"y": x.printme(0) + 1})
    assert printing(2.0) == 3.0
    assert isinstance(printing._numeric.evaluator, VirtualMachineEvaluator)
    with pytest.raises(hc.HelicoidError, match="no counterpart in C"):
        printing.compile()


def test_large_functions_compile_each_kernel_when_needed(
    compiling: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "MAX_OPERATIONS_TOGETHER", 0)
    f = spring()
    assert f(np.ones(3), 1.0).energy == 3.0
    assert f._kernel.has_scalar and not f._kernel.has_batch
    assert f(np.ones((4, 3)), 1.0).energy.tolist() == [3.0] * 4
    assert f._kernel.has_scalar and f._kernel.has_batch


def test_turned_off_it_does_not_compile() -> None:
    f = spring()
    f(np.ones(3), 1.0)
    assert isinstance(f._numeric.evaluator, VirtualMachineEvaluator)
    f.compile(batch=True)
    assert isinstance(f._numeric.evaluator, CompiledEvaluator) and f._kernel.has_batch


def test_ahead_of_time(compiling: None) -> None:
    robot = hc.load("planar_2r")
    robot.compile("inverse_dynamics", "gravity", batch=True)
    assert robot.gravity._kernel.has_batch and robot.inverse_dynamics._kernel.has_scalar
    with pytest.raises(hc.InputError, match="no function 'inverse'"):
        robot.compile("inverse")


def test_without_a_compiler_one_warning_and_the_same_result(
    compiling: None, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled, "_warned", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert spring()(np.ones(3), 1.0).energy == 3.0
        assert spring()(np.ones(3), 1.0).energy == 3.0
    warned = [w for w in caught if issubclass(w.category, hc.PerformanceWarning)]
    assert len(warned) == 1 and "virtual machine" in str(warned[0].message)


def test_second_process_needs_no_compiler(compiling: None) -> None:
    spring()(np.ones(3), 1.0)
    code = (
        "import numpy as np, casadi as ca\n"
        "from helicoid.compiler.function import Function\n"
        "x, k = ca.SX.sym('x', 3), ca.SX.sym('k')\n"
        "f = Function.from_expressions('spring', {'x': x, 'k': k}, "
        "{'force': -k * ca.sin(x), 'energy': k * ca.dot(x, x)})\n"
        "f(np.ones(3), 1.0); print(type(f._numeric.evaluator).__name__)\n"
    )
    environment = {**os.environ, "PATH": "", "HELICOID_COMPILE": "1"}
    environment.pop("CC", None)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.stdout.strip() == "CompiledEvaluator", run.stderr


def test_floating_point_mode_is_unchanged(compiling: None) -> None:
    tiny = np.array([5e-324, 2.2e-308])
    before = (tiny / 3 * 3).tolist()
    spring()(np.ones((3, 3)), 1.0)
    assert (tiny / 3 * 3).tolist() == before and (tiny / 2)[1] > 0


def test_wrong_value_of_the_variable_is_reported() -> None:
    environment = {**os.environ, "HELICOID_COMPILE": "maybe"}
    run = subprocess.run(
        [sys.executable, "-c", "import helicoid"], capture_output=True, text=True, env=environment
    )
    assert run.returncode != 0 and "HELICOID_COMPILE is 0, 1 or background" in run.stderr


def test_a_compiler_that_is_missing_is_said_once() -> None:
    code = """
import warnings
import helicoid as hc
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    robot = hc.load("double_pendulum")
    robot.gravity([0.1, 0.2]), robot.mass_matrix([0.1, 0.2])
for warning in caught:
    print(warning.message)
"""
    environment = {**os.environ, "HELICOID_COMPILE": "1", "CC": "no-such-compiler"}
    environment["HELICOID_CACHE"] = os.devnull + "/none"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if "no-such-compiler" in line]
    assert len(lines) == 1 and "virtual machine" in lines[0], done.stdout + done.stderr
