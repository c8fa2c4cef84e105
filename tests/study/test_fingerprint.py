"""Fingerprints of episodes: a study whose code changed is not resumed, and the error says what changed."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.study.fingerprint import UNREADABLE, fingerprint, unreadable
from helicoid.study.results.folder import StudyError, StudyWarning

OFFSET = 0.0


def closure(x: float) -> Any:
    gain = 1.0 + x
    return lambda case: {"x": gain}


def array_closure(x: float) -> Any:
    gains = np.array([1.0, x])
    return lambda case: {"x": gains.sum()}


def inner_closure(x: float) -> Any:
    def helper() -> float:
        return x

    return lambda case: {"x": helper()}


def plain(case: Any, gain: float = 1.0) -> dict[str, float]:
    return {"x": gain}


def twice(case: Any, gain: float = 1.0) -> dict[str, float]:
    return {"x": 2.0 * gain}


def default(x: float) -> Any:
    def episode(case: Any, gain: float = x) -> dict[str, float]:
        return {"x": gain}

    return episode


def keyword_default(x: float) -> Any:
    def episode(case: Any, *, gain: float = x) -> dict[str, float]:
        return {"x": gain}

    return episode


def constant(x: float) -> Any:
    return eval(f"lambda case: {{'x': {x}}}")


def nested_constant(x: float) -> Any:
    return eval(f"lambda case: {{'x': (lambda: {x})()}}")


def global_variable(x: float) -> Any:
    scope = {"OFFSET": x}
    exec("def episode(case):\n    return {'x': OFFSET}", scope)
    return scope["episode"]


def global_function(x: float) -> Any:
    scope: dict[str, Any] = {}
    exec(f"def helper():\n    return {x}\ndef episode(case):\n    return {{'x': helper()}}", scope)
    return scope["episode"]


class Episode:
    """A callable object."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, case: Any) -> dict[str, float]:
        return {"x": self.gain}

    def method(self, case: Any) -> dict[str, float]:
        return {"x": self.gain}


class Slotted:
    """A callable object without a dictionary."""

    __slots__ = ("gain",)

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, case: Any) -> dict[str, float]:
        return {"x": self.gain}


@dataclasses.dataclass
class Data:
    """A callable data class."""

    gain: float

    def __call__(self, case: Any) -> dict[str, float]:
        return {"x": self.gain}


def method_body(x: float) -> Any:
    def call(self: Any, case: Any) -> dict[str, float]:
        return {"x": 1.0 if x else 0.0}

    def other(self: Any, case: Any) -> dict[str, float]:
        return {"x": 2.0}

    return type("Made", (), {"__call__": other if x > 1 else call, "__module__": __name__})()


CHANGES: dict[str, tuple[Callable[[float], Any], str]] = {
    "closure variable": (closure, "closure variable 'gain'"),
    "array in a closure": (array_closure, "closure variable 'gains'"),
    "closure of a function in a closure": (inner_closure, "closure variable 'helper'"),
    "default": (default, "default of 'gain'"),
    "default of a keyword": (keyword_default, "default of 'gain'"),
    "constant of a lambda": (constant, "the body of the function"),
    "constant of a lambda in a lambda": (nested_constant, "the body of the function"),
    "keyword of a partial": (lambda x: functools.partial(plain, gain=x), "keyword 'gain' of the partial"),
    "function of a partial": (lambda x: functools.partial(plain if x < 1 else twice, gain=1.0), "the body"),
    "argument of a partial": (
        lambda x: functools.partial(lambda gain, case: {"x": gain}, x),
        "argument 0 of the partial",
    ),
    "attribute": (Episode, "attribute 'gain'"),
    "attribute in a slot": (Slotted, "attribute 'gain'"),
    "field of a data class": (Data, "attribute 'gain'"),
    "object of a method": (lambda x: Episode(x).method, "the object of the method"),
    "method of a class": (method_body, "its class"),
    "global variable": (global_variable, "global variable 'OFFSET'"),
    "global function": (global_function, "global variable 'helper'"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_episode_is_refused_and_the_change_is_named(change: str, tmp_path: Path) -> None:
    make, named = CHANGES[change]
    hc.Study(make(0.5)).run(3, on="here", out=tmp_path)
    hc.Study(make(0.5)).run(4, on="here", out=tmp_path)
    with pytest.raises(StudyError, match="the code of the episode differs in") as caught:
        hc.Study(make(1.5)).run(4, on="here", out=tmp_path)
    assert named in str(caught.value)


def test_a_changed_draw_is_refused_and_the_change_is_named(tmp_path: Path) -> None:
    def run(width: float) -> None:
        study = hc.Study(lambda case: {"x": case["mass"]})
        study.vary("mass", lambda rng: rng.uniform(0.0, width))
        study.run(3, on="here", out=tmp_path)

    run(1.0)
    run(1.0)
    with pytest.raises(StudyError, match=r"varied differs in 'mass' \(closure variable 'width'\)"):
        run(2.0)


def test_what_has_no_content_to_compare_is_reported(tmp_path: Path) -> None:
    lock = threading.Lock()

    def episode(case: Any) -> dict[str, float]:
        with lock:
            return {"x": 1.0}

    assert fingerprint(episode)["closure variable 'lock'"] == UNREADABLE
    with pytest.warns(
        StudyWarning, match="a change of closure variable 'lock' of this study will not be noticed"
    ):
        hc.Study(episode).run(2, on="here", out=tmp_path)


def test_use_does_not_change_a_fingerprint() -> None:
    """Robots, functions and loops cache what they computed."""
    robot = hc.load("planar_2r")
    law = hc.control.ComputedTorque(robot, frequency=20.0)
    loop = hc.study.closed_loop(law, robot, 0.1, q0=[0.0, 0.5], reference={"q_ref": [0.1, 0.6]})

    def episode(case: Any) -> dict[str, float]:
        return {"x": robot.kinetic_energy([0.0, 1.0], [1.0, case.index]), "y": len(robot.parameters.values)}

    before = fingerprint(loop), fingerprint(episode)
    assert not unreadable({"loop": before[0], "episode": before[1]})
    study = hc.Study(loop)
    study.grid("k", [1])
    study.run(3, on="here")
    hc.Study(episode).run(3, on="here")
    assert (fingerprint(loop), fingerprint(episode)) == before
    stiffer = hc.control.ComputedTorque(robot, frequency=21.0)
    other = hc.study.closed_loop(stiffer, robot, 0.1, q0=[0.0, 0.5], reference={"q_ref": [0.1, 0.6]})
    assert fingerprint(other) != before[0]


SCRIPT = """
import json, numpy as np
from helicoid.study.fingerprint import fingerprint
words, gains, table = {"a", "b", "c", "d"}, np.arange(3.0), {"x": [1.0, (2, "y")]}
class Tool:
    names = frozenset("wxyz")
    def __init__(self): self.own = {"k": 1.0}
tool = Tool()
def helper(x): return x in words
def episode(case, k=(1, 2)): return {"x": gains.sum() + helper(k) + table["x"][0] + tool.own["k"]}
print(json.dumps(fingerprint(episode)))
"""


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    """Hashes of strings, and with them the order of sets, differ from process to process."""
    found = {
        subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(found) == 1
    assert UNREADABLE not in found.pop()
