"""Promises of the protocol of controllers: each a function of a case, which fails by an AssertionError."""

from __future__ import annotations

import functools
import pickle
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.contract.controllers import Case

import helicoid as hc
from helicoid._typing import Array
from helicoid.compiler.evaluation.compiled import CompiledEvaluator
from helicoid.control import ControllerProtocol

NOT_APPLICABLE = "–"


class Unreadable:
    """An object that no array can be made of, such as a tensor that needs gradients."""

    def __array__(self, *arguments: object, **keywords: object) -> Array:
        raise RuntimeError("no array")


def invalid(size: int) -> list[Any]:
    """What is no measurement of so many numbers."""
    return [
        *(Unreadable(), 10**400, 10**5000, "x", {}, None, np.nan, object()),
        *(np.zeros(size + 1), np.zeros((1, size)), np.zeros((3, size)), np.full(size, np.nan)),
        *(np.full(size, np.inf), np.zeros(size, complex), np.zeros(size, bool), np.zeros(size, object)),
        *(np.full(size, "1.0"), np.ma.array(np.zeros(size), mask=True)),
    ]


def answers_the_protocol(case: Case) -> None:
    controller = case.controller
    assert isinstance(controller, ControllerProtocol)
    assert controller.period is None or 0 < controller.period < 1
    assert isinstance(controller.status, hc.Status) and controller.status is hc.Status.NOT_STARTED


def says_ok_only_if_it_is(case: Case) -> None:
    """After a valid step, and after an invalid measurement."""
    controller = case.controller
    for k in range(3):
        case.step(controller, *case.state(k))
        _consistent(controller)
        assert controller.ok, controller.message
    q, v = case.state(3)
    case.step(controller, np.full(len(q), np.nan), v)
    _consistent(controller)
    assert controller.status is hc.Status.BAD_MEASUREMENT


def never_raises_and_never_nan(case: Case) -> None:
    """Whatever is measured, once the loop has begun; nothing is compiled or loaded then."""
    controller = case.controller
    q, v = case.state(0)
    size = np.shape(case.step(controller, q, v))
    with pytest.MonkeyPatch.context() as patch:
        loads: list[CompiledEvaluator] = []
        patch.setattr(CompiledEvaluator, "_load", lambda one, *_: loads.append(one))
        _takes_anything(case, controller, size)
        assert not loads


def _takes_anything(case: Case, controller: Any, size: tuple[int, ...]) -> None:
    q, v = case.state(0)
    lower, upper = case.limits
    needs_v = getattr(controller, "command", "tau") != "v"
    for k in range(len(invalid(1))):
        for bad_q, bad_v in ((invalid(len(q))[k], v), (q, invalid(len(v))[k])):
            command = case.step(controller, bad_q, bad_v)
            assert np.shape(command) == size and np.all(np.isfinite(command))
            assert np.all((lower - 1e-9 <= command) & (command <= upper + 1e-9))
            _consistent(controller)
            if bad_q is not q or needs_v:
                assert not controller.ok and controller.status is hc.Status.BAD_MEASUREMENT
    case.step(controller, q, v)
    assert controller.status is not hc.Status.BAD_MEASUREMENT


def keeps_limits(case: Case) -> None:
    """Far from the reference, at velocities of all sizes."""
    controller, rng = case.controller, np.random.default_rng(0)
    lower, upper = case.limits
    case.step(controller, *case.state(0))
    for size in (0.1, 10.0, 1e3, 1e8, 1e160):
        q = np.asarray(case.robot.integrate(case.q, rng.normal(size=case.robot.nv)))
        command = case.step(controller, q, size * rng.normal(size=case.robot.nv))
        assert np.all(np.isfinite(command))
        assert np.all((lower - 1e-9 <= command) & (command <= upper + 1e-9))
        _consistent(controller)


def pickles(case: Case) -> None:
    """A copy takes the same next step, or the same first steps where a copy begins anew."""
    controller = case.controller
    if case.keeps_state:
        case.run(controller)
    copy = pickle.loads(pickle.dumps(controller))
    if not case.keeps_state:
        controller.reset()
    np.testing.assert_array_equal(case.run(copy), case.run(controller))
    assert copy.status is controller.status


def resets_to_a_fresh_one(case: Case) -> None:
    """Bit for bit, also after invalid measurements."""
    controller, first = case.controller, case.recorded[1]
    np.testing.assert_array_equal(case.run(controller), first)
    case.step(controller, np.full(len(case.q), np.nan), case.state(0)[1])
    controller.reset()
    assert controller.status is hc.Status.NOT_STARTED and not controller.ok
    np.testing.assert_array_equal(case.run(controller), first)


def sets_all_or_none(case: Case) -> None:
    """What is no finite number is refused and changes nothing."""
    controller, (name, value) = case.controller, case.number
    first = case.run(controller)
    for given in (10**400, "x", {}, 1j, np.nan, np.inf, Unreadable(), np.ma.masked, object()):
        try:
            controller.set(**{name: given})
        except hc.InputError:
            continue
        raise AssertionError(f"{name} = {type(given).__name__} was accepted")
    try:
        controller.set(**{name: value, "no_such_number": 1.0})
    except hc.InputError:
        pass
    else:
        raise AssertionError("an unknown name was accepted")
    controller.reset()
    np.testing.assert_array_equal(case.run(controller), first)


def follows(case: Case) -> None:
    """`following(reference)` is a controller too, and takes the same steps."""
    following = case.following()
    assert isinstance(following, ControllerProtocol) and following.period == case.recorded[0].period
    measured = {"tau": np.zeros(case.robot.nv)} if "tau" in following.measures.split() else {}
    commands = [following.step(*case.state(k), t=0.01 * k, **measured) for k in range(3)]
    assert np.all(np.isfinite(commands)) and following.ok
    _consistent(following)
    q, v = case.state(0)
    for bad in invalid(len(q)):
        assert np.all(np.isfinite(following.step(bad, v, t=0.1, **measured)))
        assert not following.ok and following.status is hc.Status.BAD_MEASUREMENT
    following.reset()
    assert following.status is hc.Status.NOT_STARTED


def is_simulated(case: Case) -> None:
    """`hc.simulate` takes it."""
    following, plant = case.following(), case.plant()
    dt = following.period or 0.002
    trajectory = hc.simulate(plant, case.q, case.v, duration=5 * dt, controller=following, dt=dt)
    assert len(trajectory.t) == 6 and np.all(np.isfinite(trajectory.q))


def keeps_its_period(case: Case) -> str | None:
    """A loop of half its period calls `step` at every other of its steps."""
    following = case.following()
    if following.period is None:
        return NOT_APPLICABLE
    counting = _Counting(following)
    duration = 4 * following.period
    hc.simulate(case.plant(), case.q, case.v, duration=duration, controller=counting, dt=following.period / 2)
    assert counting.count == 4
    return None


def is_the_same_in_c(case: Case) -> str | None:
    """The program that is exported with it repeats steps and compares them with those of Python."""
    if not case.exports:
        return NOT_APPLICABLE
    with tempfile.TemporaryDirectory() as folder:
        files = case.controller.export_c(folder, "exported")
        for main in (path for path in files if path.name == "main.c"):  # of each of its libraries
            program = main.parent / "check"
            sources = [str(path) for path in files if path.suffix == ".c" and path.parent == main.parent]
            subprocess.run(["cc", "-std=c99", "-O1", *sources, "-o", str(program), "-lm"], check=True)
            found = subprocess.run([program], capture_output=True, text=True, check=False)
            assert found.returncode == 0, found.stdout
    return None


def _consistent(controller: Any) -> None:
    """`ok`, `status` and `message` agree."""
    assert isinstance(controller.status, hc.Status)
    assert controller.ok == (controller.status is hc.Status.OK) == (controller.message == "")


class _Counting:
    """A controller that counts its steps."""

    def __init__(self, controller: Any) -> None:
        self._controller, self.count = controller, 0

        @functools.wraps(controller.step)
        def step(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            return controller.step(*arguments, **named)

        self.step = step

    def __getattr__(self, name: str) -> Any:
        if name in ("in_loop", "function"):
            raise AttributeError(name)
        return getattr(self._controller, name)


PROMISES: dict[str, Callable[[Case], str | None]] = {
    "protocol": answers_the_protocol,
    "ok only if it is": says_ok_only_if_it_is,
    "never raises, never NaN": never_raises_and_never_nan,
    "limits kept": keeps_limits,
    "pickles": pickles,
    "resets": resets_to_a_fresh_one,
    "set refuses": sets_all_or_none,
    "following": follows,
    "simulate": is_simulated,
    "period": keeps_its_period,
    "C equals Python": is_the_same_in_c,
}
