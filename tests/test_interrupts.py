"""Ctrl-C arrives whatever CasADi does at that moment, and leaves everything usable.

Signals are raised from inside, at chosen calls of Python functions, so that nothing depends on the clock.
"""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.compiler.evaluation import compiled
from helicoid.interrupts import attended, interruptible, solving

CTRL_C = signal.SIGINT
Handler = Callable[[int, FrameType | None], Any]


@pytest.fixture(autouse=True)
def python_handles_signals() -> Iterator[None]:
    """As at a terminal; a suite that a script began in the background inherits SIGINT ignored."""
    before = signal.signal(CTRL_C, signal.default_int_handler)
    gc.collect()
    gc.disable()  # Python drops what a finaliser raises: none of what other tests left runs in the middle
    yield
    gc.enable()
    assert signal.getsignal(CTRL_C) is signal.default_int_handler
    signal.signal(CTRL_C, before)


def calls_of(work: Callable[[], Any], interrupted_at: int = -1) -> int:
    """How many Python functions are called during the work; a signal comes when one is the k-th."""
    count = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        if event == "call":
            count += 1
            if count == interrupted_at:
                sys.setprofile(None)
                signal.raise_signal(CTRL_C)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def assert_stops(work: Callable[[], Any], moments: int) -> None:
    """At moments spread over the work, it ends with KeyboardInterrupt; then it still gives its answer."""
    expected = work()
    total = calls_of(work)
    for k in np.unique(np.linspace(1, total, moments + 1).astype(int)[:-1]):
        with pytest.raises(KeyboardInterrupt):
            calls_of(work, int(k))
    assert np.allclose(work(), expected, rtol=1e-9)


def conversions() -> float:
    x, A = ca.SX.sym("x", 2, 2), np.ones((2, 2))
    with interruptible():
        y = ca.vertcat(x + A, ca.mtimes(x, A), ca.SX(A))
    return float(y.numel())


def build() -> float:
    robot = hc.load("planar_2r")
    return float(robot.forward_dynamics.jacobian("q").casadi.n_instructions())


def simulate() -> float:
    return float(hc.simulate(hc.load("planar_2r"), [0.3, 0.2], duration=0.02).q.sum())


def identify() -> float:
    robot = hc.load("planar_2r")
    t = np.arange(0, 1, 0.02)
    q, v, a = np.sin(t + np.pi / 2 * np.arange(3)[:, None])[..., None] * [1.0, 0.5]
    log = hc.Log(t, q, v, tau=robot.inverse_dynamics(q, v, a))
    return float(hc.identify(robot, log).parameters.values.sum())


def plan() -> float:
    problem = hc.mpc.Problem(hc.load("planar_2r"), horizon=5, dt=0.05)
    problem.add_posture_cost([0.1, 0.2], 10.0, 100.0)
    problem.add_control_cost(1e-3)
    return float(problem.solve([0.0, 0.0], solver="ipopt").q.sum())


def test_every_moment_of_a_conversion() -> None:
    assert_stops(conversions, calls_of(conversions))


@pytest.mark.parametrize("work", [build, simulate, plan], ids=lambda work: work.__name__)
def test_moments_spread_over_the_work(work: Callable[[], float]) -> None:
    assert_stops(work, 4)


@pytest.mark.slow
@pytest.mark.parametrize("work", [build, simulate, identify, plan], ids=lambda work: work.__name__)
def test_many_moments_spread_over_the_work(work: Callable[[], float]) -> None:
    assert_stops(work, 100)


class Finalised:
    """Python ignores what is raised in here."""

    def __del__(self) -> None:
        len("")


def test_every_moment_of_a_finaliser() -> None:
    def work() -> float:
        with interruptible():
            kept: weakref.WeakSet[Finalised] = weakref.WeakSet()
            for _ in range(3):
                kept.add(Finalised())
        return 1.0

    assert_stops(work, calls_of(work))


def test_every_moment_of_a_generator_that_is_closed_early() -> None:
    """Closing it enters it once more, and Python ignores what is raised there."""

    def work() -> float:
        with interruptible():
            return float(any(x > 0 for x in (1, 2, 3)))

    assert_stops(work, calls_of(work))


def test_a_handler_of_ones_own_is_called_once() -> None:
    seen = []
    for k in range(1, calls_of(conversions) + 1):
        signal.signal(CTRL_C, lambda number, frame: seen.append(number))
        calls_of(conversions, k)
        assert seen == [CTRL_C] * k
    signal.signal(CTRL_C, signal.default_int_handler)


@pytest.mark.parametrize("disposition", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_the_system_handles_is_left_to_it(disposition: signal.Handlers) -> None:
    signal.signal(CTRL_C, disposition)
    with interruptible(), solving():
        assert signal.getsignal(CTRL_C) is disposition
    assert signal.getsignal(CTRL_C) is disposition
    signal.signal(CTRL_C, signal.default_int_handler)


def test_other_threads_leave_the_handler_alone() -> None:
    seen: list[Any] = []

    def work() -> None:
        with interruptible(), solving():
            seen.append(signal.getsignal(CTRL_C))
        seen.append(attended(lambda: 7, lambda: None))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, 7]


def test_a_handler_set_meanwhile_stays() -> None:
    def own(number: int, frame: FrameType | None) -> None:
        pass

    with interruptible():
        signal.signal(CTRL_C, own)
    assert signal.getsignal(CTRL_C) is own
    signal.signal(CTRL_C, signal.default_int_handler)


class Iterations(ca.Callback):
    """Ctrl-C at the second iteration of a solver, counted from there on."""

    def __init__(self) -> None:
        ca.Callback.__init__(self)
        self.count = 0
        self.construct("iterations", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        n = {"f": 1, "x": 2, "lam_x": 2}.get(ca.nlpsol_out(i), 0)
        return ca.Sparsity.dense(n) if n else ca.Sparsity(0, 0)

    def eval(self, arguments: Any) -> list[int]:
        self.count += 1
        if self.count == 2:
            signal.raise_signal(CTRL_C)
        return [0]


def test_a_solver_of_casadi_stops_and_the_interrupt_arrives() -> None:
    x = ca.MX.sym("x", 2)
    watch = Iterations()
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}, "iteration_callback": watch}
    rosenbrock = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": rosenbrock}, options)
    with pytest.raises(KeyboardInterrupt), solving():
        solver(x0=ca.DM([-1.2, 1.0]))
    assert watch.count < 5  # of some twenty
    assert np.allclose(solver(x0=ca.DM([-1.2, 1.0]))["x"].full(), 1.0, atol=1e-6)


def test_interruptible_work_is_asked_to_stop() -> None:
    began, told = threading.Event(), threading.Event()

    def work() -> int:
        began.set()
        assert told.wait(300)
        return 1

    def interrupt() -> None:
        began.wait(300)
        os.kill(os.getpid(), CTRL_C)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        attended(work, told.set)
    thread.join()
    assert attended(lambda: 3, told.set) == 3
    with pytest.raises(ZeroDivisionError):
        attended(lambda: 1 // 0, told.set)


def test_an_interrupt_ends_compilers_and_the_next_call_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several functions and of the extension; what follows is neither given up nor on a slow path."""
    told, child = tmp_path / "told", tmp_path / "child"
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\nsleep 600 & echo $! >> {child}; echo >> {told}; wait\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("HELICOID_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", shlex.quote(str(compiler)))
    compiled.set_compile(True)
    robot = hc.load("double_pendulum")

    def interrupt() -> None:
        while not told.exists():
            threading.Event().wait(0.01)
        os.kill(os.getpid(), CTRL_C)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        robot.compile("gravity", "mass_matrix")
    thread.join()
    for pid in child.read_text().split():
        status = Path(f"/proc/{pid}/stat")
        assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"
    monkeypatch.delenv("CC")
    assert np.isfinite(robot.gravity([0.1, 0.2])).all()
    assert isinstance(robot.gravity._numeric.evaluator, compiled.CompiledEvaluator)
