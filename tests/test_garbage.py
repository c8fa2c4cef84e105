"""Garbage in edits of robots and in logs: refused by an error of Helicoid, or taken, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import helicoid as hc

DRAWS = 2000
N = 20
T = 0.01 * np.arange(N)


class Hostile:
    """An object that raises whatever is asked of it."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise RuntimeError("no number")


GARBAGE: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1e300,
        -1e-300,
        float("nan"),
        float("inf"),
        10**400,
        1j,
        "",
        "x",
        "joint_1",
        "tip",
        b"x",
    ),
    *(
        [],
        [1.0],
        [1.0, 2.0],
        [1.0, "x"],
        [[1.0], [1.0, 2.0]],
        [None],
        (),
        {},
        {"joint_1": 1.0},
        {"joint_1": "x"},
    ),
    *({1: 2.0}, {"tip": [1.0]}, {"nobody": 0.0}, set(), object(), object, len, lambda: None, Ellipsis),
    *(np.array(1.0), np.zeros(0), np.zeros(2), np.zeros((3, 3)), np.eye(4), -np.eye(4), np.full(3, np.nan)),
    *(np.array([1, 2], dtype=object), np.array(["a", "b"]), np.array([1j, 2]), np.array([True, False])),
    *(
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.zeros((N, 2)),
        np.zeros((N, 2, 2)),
        T,
        T[::-1],
        np.zeros(N),
    ),
    *(np.array(["2020"], dtype="datetime64[s]"), np.zeros(2, dtype=[("a", float)]), Hostile(), [Hostile()]),
    SimpleNamespace(t=T, q=np.zeros((N, 2))),
]
CALLS: dict[str, Callable[[hc.Robot, Callable[[], Any]], Any]] = {
    "with_joints": lambda robot, any: robot.with_joints(damping=any(), friction=any()),
    "with_joints of limits": lambda robot, any: robot.with_joints(lower=any(), velocity=any()),
    "with_payload": lambda robot, any: robot.with_payload("tip", any(), any(), any()),
    "with_payload of a link": lambda robot, any: robot.with_payload(any(), 1.0),
    "with_parameters": lambda robot, any: robot.with_parameters(any()),
    "with_frame": lambda robot, any: robot.with_frame("new", "tip", any()),
    "with_frame of a link": lambda robot, any: robot.with_frame(any(), any()),
    "with_actuators": lambda robot, any: robot.with_actuators(any(), any()),
    "lock": lambda robot, any: robot.lock(any()),
    "lock of a joint": lambda robot, any: robot.lock({"joint_1": any()}),
    "chain": lambda robot, any: robot.chain(any(), any()),
    "parametric": lambda robot, any: robot.parametric(any()),
    "load": lambda robot, any: hc.load(any()),
    "load with packages": lambda robot, any: hc.load("planar_2r", base=any(), packages=any()),
    "Log": lambda robot, any: hc.Log(any(), any(), any(), any(), any()),
    "Log of positions": lambda robot, any: hc.Log(T, any(), v=any(), tau=any()),
    "Log of wrenches": lambda robot, any: hc.Log(T, np.zeros((N, 2)), wrenches=any()),
    "Log.from_arrays": lambda robot, any: hc.Log.from_arrays(any(), any(), any()),
    "Log.from_trajectory": lambda robot, any: hc.Log.from_trajectory(any()),
    "Log.from_csv": lambda robot, any: hc.Log.from_csv(any()),
    "Log.from_npz": lambda robot, any: hc.Log.from_npz(any()),
    "study.read": lambda robot, any: hc.study.read(any()),
    "simulate": lambda robot, any: hc.simulate(robot, any(), any(), duration=0.01),
}


def test_garbage_is_refused_by_our_own_errors(
    rng: np.random.Generator, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    robot = hc.load("planar_2r")
    names, foreign = list(CALLS), []
    for _ in range(DRAWS):
        name = names[rng.integers(len(names))]
        drawn: list[Any] = []

        def any_value(drawn: list[Any] = drawn) -> Any:
            drawn.append(GARBAGE[rng.integers(len(GARBAGE))])
            return drawn[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                CALLS[name](robot, any_value)
            except hc.HelicoidError as error:
                assert str(error)
            except Exception as error:
                kinds = [type(x).__name__ for x in drawn]
                foreign.append(f"{name}({kinds}): {type(error).__name__}: {error}")
    assert not foreign, f"{len(foreign)} of {DRAWS}:\n" + "\n".join(sorted(set(foreign)))


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])
NO_NUMBERS = {
    "masked": MASKED,
    "complex": np.array([1.0 + 0j, 2.0]),
    "object": np.array([1.0, 2.0], dtype=object),
    "boolean": np.array([True, False]),
    "text": np.array(["1", "2"]),
    "list of text": ["1", "2"],
    "times": np.array([1, 2], dtype="timedelta64[s]"),
}
TAKERS: dict[str, Callable[[hc.Robot, Any], Any]] = {
    "function": lambda robot, x: robot.inverse_dynamics(x, np.zeros(2), np.zeros(2)),
    "simulate q0": lambda robot, x: hc.simulate(robot, x, duration=0.01),
    "simulate v0": lambda robot, x: hc.simulate(robot, np.zeros(2), x, duration=0.01),
    "with_joints": lambda robot, x: robot.with_joints(damping=x),
    "Log": lambda robot, x: hc.Log(T, np.ma.stack([x] * N) if x is MASKED else np.stack([x] * N)),
    "Log.from_arrays": lambda robot, x: hc.Log.from_arrays(
        T, np.ma.stack([x] * N) if x is MASKED else np.stack([x] * N)
    ),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("taker", TAKERS)
def test_what_is_no_array_of_real_numbers_is_refused(taker: str, kind: str) -> None:
    with pytest.raises(hc.HelicoidError, match=r"number|masked"):
        TAKERS[taker](hc.load("planar_2r"), NO_NUMBERS[kind])
