"""Garbage in edits of robots, logs and what sensors measure: taken, or refused by an error of Helicoid."""

from __future__ import annotations

import functools
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


WRENCH = np.zeros((N, 6))
OF_SENSORS: list[Any] = [
    *(np.zeros(6), np.zeros((2, 6)), WRENCH, np.zeros((N, 3)), np.full((N, 6), np.nan), np.zeros((3, 2))),
    *({"tip": WRENCH}, {"tip": np.zeros(3)}, {"link_2": np.zeros((N, 5))}, {"base_link": WRENCH}),
    *(["tip"], ["link_2", "link_2"], ["link_9"], "link_2", {"wrench": 0.1}, {"wrench": "x"}, {"a": 1e308}),
    *(["q0"], "q0", "theta", "body", "link", "world", 0.5, 2, np.zeros((N + 1, 2))),
]
ARM = hc.load("planar_2r")
REST = np.zeros(2)
Q, V, A = (np.column_stack([f(2 * 5 * T), f(3 * 5 * T)]) for f in (np.sin, np.cos, np.sin))
SENSED = hc.Log.from_arrays(T, Q, V, A, wrenches={"link_2": ARM.sensor_wrench("link_2")(Q, V, A)})


@functools.cache
def _motion() -> hc.Trajectory:
    return hc.simulate(ARM.parametric("inertia"), [0.3, 0.2], [0.1, -0.2], duration=0.02)


def _online(wrenches: Any = ("link_2",), **options: Any) -> hc.OnlineIdentifier:
    return hc.OnlineIdentifier(ARM, ("payload",), payload_link="tip", wrenches=wrenches, **options)


MEASURED: dict[str, Callable[[hc.Robot, Callable[[], Any]], Any]] = {
    "joint_wrenches": lambda robot, any: robot.joint_wrenches(any(), any(), any()),
    "joint_wrenches f_ext": lambda robot, any: robot.joint_wrenches(REST, REST, REST, f_ext=any()),
    "joint_wrenches tip": lambda robot, any: robot.joint_wrenches(REST, REST, REST, f_ext={"tip": any()}),
    "joint_wrenches gravity": lambda robot, any: robot.joint_wrenches(REST, REST, REST, gravity=any()),
    "wrench_regressor": lambda robot, any: robot.wrench_regressor(any()),
    "wrench_regressor at": lambda robot, any: robot.wrench_regressor("link_2")(any(), REST, REST),
    "sensor_wrench": lambda robot, any: robot.sensor_wrench(any(), carried=any()),
    "sensor on a frame": lambda robot, any: robot.with_frame("s", "link_2", any()).sensor_wrench("s"),
    "Sensors": lambda robot, any: hc.Sensors(noise=any(), bias=any(), delay=any())(_motion()),
    "Sensors of wrenches": lambda robot, any: hc.Sensors(wrenches=any(), carried=any())(_motion()),
    "Sensors of IMUs": lambda robot, any: hc.Sensors(imus=any(), bias={"imu": any()})(_motion()),
    "Sensors noise": lambda robot, any: hc.Sensors(noise={"wrench": any()}, wrenches=["tip"])(_motion()),
    "Sensors rate": lambda robot, any: hc.Sensors(rate=any(), seed=any())(_motion()),
    "Sensors bandwidth": lambda robot, any: hc.Sensors(bandwidth={"tau": any()})(_motion()),
    "Sensors accelerations": lambda robot, any: hc.Sensors(accelerations=any())(_motion()),
    "Sensors see": lambda robot, any: hc.Sensors(wrenches=["tip"])(any()),
    "Log of a wrench": lambda robot, any: hc.Log(T, Q, wrenches={"link_2": any()}),
    "Log of f_ext": lambda robot, any: hc.Log.from_arrays(T, Q, f_ext=any()),
    "Log of a known wrench": lambda robot, any: hc.Log.from_arrays(T, Q, f_ext={"tip": any()}),
    "sensitivity": lambda robot, any: _motion().sensitivity(any(), any()),
    "sensitivity of": lambda robot, any: _motion().sensitivity("q0").of(any()),
    "gradient": lambda robot, any: _motion().gradient(any(), any()),
    "gradient by v": lambda robot, any: _motion().gradient(dL_dv=any()),
    "identify": lambda robot, any: hc.identify(robot, SENSED, groups=any(), cutoff=any()),
    "identify_payload": lambda robot, any: hc.identify_payload(robot, SENSED, any()),
    "identify_payload by": lambda robot, any: hc.identify_payload(
        robot, SENSED, "tip", any(), any(), any(), any()
    ),
    "identify_payload robot": lambda robot, any: hc.identify_payload(any(), SENSED, "tip"),
    "identifiability": lambda robot, any: hc.identifiability(robot, wrenches=any()),
    "OnlineIdentifier": lambda robot, any: _online(any()),
    "OnlineIdentifier groups": lambda robot, any: hc.OnlineIdentifier(robot, any(), wrenches=["link_2"]),
    "OnlineIdentifier by": lambda robot, any: _online(noise=any(), spread=any()),
    "OnlineIdentifier forgetting": lambda robot, any: _online(forgetting=any(), cutoff=any()),
    "update": lambda robot, any: _online().update(any(), any(), any(), any()),
    "update with": lambda robot, any: _online().update(REST, REST, REST, any()),
    "update_window": lambda robot, any: _online().update_window(any(), any(), any(), any()),
    "update_without_acceleration": lambda robot, any: hc.OnlineIdentifier(robot).update_without_acceleration(
        REST, REST, any(), any()
    ),
    "Adaptive": lambda robot, any: hc.mpc.Adaptive(any(), any()),
    "with_spring": lambda robot, any: robot.with_spring(any(), any(), any(), any(), name=any()),
    "with_spring at": lambda robot, any: robot.with_spring("world", "tip", 1.0, any(), point_a=any()),
}


def _foreign_errors(
    calls: dict[str, Callable[[hc.Robot, Callable[[], Any]], Any]],
    garbage: list[Any],
    draws: int,
    rng: np.random.Generator,
) -> list[str]:
    """What raises an error that is not one of ours, of so many calls with values drawn from the garbage."""
    names, foreign = list(calls), []
    for k in range(draws):
        name = names[k % len(names)]
        drawn: list[Any] = []

        def any_value(drawn: list[Any] = drawn) -> Any:
            drawn.append(garbage[rng.integers(len(garbage))])
            return drawn[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                calls[name](ARM, any_value)
            except hc.HelicoidError as error:
                assert str(error)
            except Exception as error:
                kinds = [type(x).__name__ for x in drawn]
                foreign.append(f"{name}({kinds}): {type(error).__name__}: {error}")
    return sorted(set(foreign))


def test_garbage_is_refused_by_our_own_errors(
    rng: np.random.Generator, tmp_path: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not _foreign_errors(CALLS, GARBAGE, DRAWS, rng)


@pytest.mark.parametrize("draws", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_garbage_in_what_sensors_measure(draws: int, rng: np.random.Generator, monkeypatch: Any) -> None:
    """Joint wrenches, sensors, logs of wrenches, payloads, sensitivities and online identification."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert not _foreign_errors(MEASURED, GARBAGE + OF_SENSORS, draws, rng)


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
        TAKERS[taker](ARM, NO_NUMBERS[kind])
