"""A law that is a function runs inside the compiled loop, and steers as the same law in Python does."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.simulation.inputs.laws import _MAX_CACHED_LOOPS

GOAL = np.array([0.3, -0.4])
Q0 = np.array([0.1, 0.2])


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return hc.load("planar_2r")


def torque(t: Any, q: Any, v: Any) -> Any:
    return 8.0 * (GOAL - q) - 2.0 * v + 5.0 * np.sin(30.0 * t)


def law(robot: hc.Robot) -> hc.Function:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    tau = 8.0 * (GOAL - q) - 2.0 * v + 5.0 * ca.sin(30.0 * t)
    return hc.Function.from_expressions("law", {"q": q, "v": v, "t": t}, {"tau": tau})


def asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every question in Python fail: what still runs, runs in the loop."""

    def asked(*_: Any) -> None:
        raise AssertionError("the law was asked in Python")

    monkeypatch.setattr("helicoid.simulation.inputs.forces.SystemInputs.sample", asked)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"substeps": 3},
        {"method": "stiction", "substeps": 2},
        {"method": "semi_implicit_euler", "disturbance": np.linspace(0, 1, 24).reshape(12, 2)},
        {"f_ext": {"tip": [0, 0, 0, 1.0, -2.0, 0]}, "expressed_in": "world", "gravity": [0, 0, -3.0]},
        {"q0": np.stack([Q0, -Q0, 2 * Q0]), "substeps": 2},
        {"method": "adaptive"},
    ],
    ids=lambda options: ", ".join(options) or "plain",
)
def test_the_loop_does_what_asking_does(robot: hc.Robot, options: dict[str, Any]) -> None:
    asked, looped = (
        hc.simulate(robot, **{"q0": Q0, "duration": 0.12, "dt": 0.01, "controller": one, **options})
        for one in (torque, law(robot))
    )
    for name in ("q", "v", "tau", "a"):
        np.testing.assert_allclose(getattr(looped, name), getattr(asked, name), rtol=1e-9, atol=1e-10)


def test_motors_saturate_in_the_loop(robot: hc.Robot) -> None:
    weak = robot.with_joints(effort=[2.0, np.inf])
    run = {"q0": Q0, "duration": 0.1, "dt": 0.01, "saturate": True, "disturbance": [0.1, 0.2]}
    asked, looped = (hc.simulate(weak, **run, controller=one) for one in (torque, law(robot)))
    assert np.abs(looped.tau[:, 0]).max() == 2.0 < np.abs(looped.tau[:, 1]).max()
    np.testing.assert_allclose(looped.tau, asked.tau, rtol=0, atol=1e-12)
    np.testing.assert_allclose(looped.a, asked.a, rtol=0, atol=1e-10)


@pytest.mark.parametrize("of_casadi", [False, True])
def test_functions_are_not_asked_in_python(
    robot: hc.Robot, monkeypatch: pytest.MonkeyPatch, of_casadi: bool
) -> None:
    asks_nothing(monkeypatch)
    given = law(robot)
    moved = hc.simulate(robot, Q0, duration=0.1, dt=0.01, controller=given.casadi if of_casadi else given)
    assert np.abs(moved.tau).max() > 0
    held = hc.simulate(robot, Q0, duration=0.1, dt=0.01, controller=robot.gravity)
    np.testing.assert_allclose(held.q[-1], Q0, atol=1e-12)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_law_that_ends_in_no_number_is_reported(robot: hc.Robot, bad: str, saturate: bool) -> None:
    t, q = ca.SX.sym("t"), ca.SX.sym("q", 2)
    late = t > 0.045
    wrong = ca.if_else(late, float(bad), 0.0)
    given = hc.Function.from_expressions("law", {"t": t, "q": q}, {"tau": ca.vertcat(q[0], wrong)})
    with pytest.raises(
        hc.HelicoidError, match=r"at 0\.05 s its answer for joint 'joint_?2' is not"
    ) as caught:
        hc.simulate(robot, Q0, duration=0.1, dt=0.01, controller=given, saturate=saturate)
    part = caught.value.trajectory  # type: ignore[attr-defined]
    assert len(part.t) == 6 and all(np.isfinite(one).all() for one in (part.q, part.v, part.tau, part.a))


class InPython(ca.Callback):
    """A function of CasADi that no expression states."""

    def __init__(self) -> None:
        ca.Callback.__init__(self)
        self.construct("law", {})

    def get_n_in(self) -> int:
        return 3

    def get_sparsity_in(self, which: int) -> ca.Sparsity:
        return ca.Sparsity.dense(1 if which == 0 else 2)

    def get_sparsity_out(self, which: int) -> ca.Sparsity:
        return ca.Sparsity.dense(2)

    def eval(self, values: list[ca.DM]) -> list[ca.DM]:
        return [ca.DM(torque(*(np.array(one).ravel() for one in values)))]


def test_what_is_no_expression_is_asked(robot: hc.Robot) -> None:
    run = {"q0": Q0, "duration": 0.05, "dt": 0.01}
    np.testing.assert_allclose(
        hc.simulate(robot, **run, controller=InPython()).q, hc.simulate(robot, **run, controller=torque).q
    )


def test_laws_do_not_pile_up(robot: hc.Robot) -> None:
    own = robot.with_joints(damping=0.1)
    for _ in range(_MAX_CACHED_LOOPS + 3):
        hc.simulate(own, Q0, duration=0.01, dt=0.01, controller=law(robot))
    assert len(own.memo("loops with laws", dict)) == _MAX_CACHED_LOOPS


def test_a_column_of_numbers_is_a_constant_torque(robot: hc.Robot) -> None:
    run = {"q0": Q0, "duration": 0.05, "dt": 0.01}
    plain = hc.simulate(robot, **run, controller=[1.0, -2.0])
    for column in (np.array([[1.0], [-2.0]]), ca.DM([1.0, -2.0])):
        np.testing.assert_array_equal(hc.simulate(robot, **run, controller=column).q, plain.q)


def test_no_duration_at_all(robot: hc.Robot) -> None:
    still = hc.simulate(robot, Q0, duration=0.0, controller=law(robot))
    np.testing.assert_allclose(still.tau[0], torque(0.0, Q0, np.zeros(2)))


@pytest.mark.needs_compiler
def test_compiled_and_not_compiled_agree(robot: hc.Robot) -> None:
    run = {"q0": np.stack([Q0, -Q0]), "duration": 0.05, "dt": 0.01, "substeps": 2}
    asked = hc.simulate(robot, **run, controller=torque)
    hc.set_compile(True)
    try:
        looped = hc.simulate(hc.load("planar_2r"), **run, controller=law(robot))
    finally:
        hc.set_compile(False)
    np.testing.assert_allclose(looped.q, asked.q, rtol=0, atol=1e-12)
