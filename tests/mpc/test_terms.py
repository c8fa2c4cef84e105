"""Terms that are refused, and numbers that outlive a change of the problem."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.mpc import PlacedCapsule, PlacedSphere, Problem
from helicoid.robot.collision import distance


def plain() -> Problem:
    problem = Problem(hc.load("planar_2r"), horizon=3, dt=0.1)
    problem.add_posture_cost([0.0, 0.0], 1.0, 1.0)
    return problem


WRONG: dict[str, tuple[Callable[[Problem], object], str]] = {
    "symbol": (lambda p: p.add_cost("c", ca.SX.sym("stranger"), 1.0), "stranger are no symbols"),
    "mx": (lambda p: p.add_constraint("c", ca.MX.sym("m"), 0, 1), "got MX"),
    "matrix": (lambda p: p.add_cost("c", p.q @ p.q.T, 1.0), "needs a column"),
    "target": (lambda p: p.add_position_cost("tip", [0, 0, np.nan], 1.0), "must be finite"),
    "normal": (lambda p: p.add_half_space("tip", [0, 0, 0], 1.0), "must not be zero"),
    "scale": (lambda p: p.add_constraint("c", p.v, 0, 1, scale=0.0), "positive scales"),
    "labels": (lambda p: p.add_constraint("c", p.v, 0, 1, labels=["one"]), "2 labels"),
    "nowhere": (lambda p: p.add_constraint("c", p.tau, 0, 1, on_path=False), "nowhere"),
    "price": (lambda p: p.add_constraint("c", p.v, 0, 1, soft=np.nan), "price"),
    "factor": (lambda p: p.add_limits(torque=0.0), "factors of limits"),
    "radius": (lambda p: p.add_distance(PlacedSphere(-0.1), PlacedSphere(0.1, link="tip")), "radius"),
    "final": (lambda p: p.set_end(v=[0.0]), "takes 2 numbers"),
    "final mask": (lambda p: p.set_end(v=[0.0, 0.0], mask=[True]), "mask needs 2"),
    "initial mask": (lambda p: p.set_initial(q=[True, True, True]), "mask needs 2"),
}


@pytest.mark.parametrize("which", WRONG)
def test_terms_of_no_use_are_refused(which: str) -> None:
    add, message = WRONG[which]
    with pytest.raises(InputError, match=message):
        add(plain())


@pytest.mark.parametrize(
    "wrong",
    [
        {"horizon": 0, "dt": 0.1},
        {"horizon": 2.5, "dt": 0.1},
        {"horizon": 3, "dt": np.nan},
        {"grid": [0, 1, np.inf]},
        {"horizon": 3, "dt": 0.1, "duration": (1.0, np.inf)},
        {"horizon": 3, "dt": 0.1, "duration": 2.0},
    ],
)
def test_grids_of_no_use_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"horizon|grid|duration"):
        Problem(hc.load("planar_2r"), **wrong)  # type: ignore[arg-type]


def test_a_refused_term_can_be_added_once_more() -> None:
    problem = plain()
    with pytest.raises(InputError, match="not negative"):
        problem.add_position_cost("tip", [1, 0, 0], -1.0)
    problem.add_position_cost("tip", [1, 0, 0], 1.0)
    with pytest.raises(InputError, match="price"):
        problem.add_distance(PlacedSphere(0.1), PlacedSphere(0.1, link="tip"), soft=-1.0, name="ball")
    problem.add_distance(PlacedSphere(0.1), PlacedSphere(0.1, link="tip"), name="ball")
    assert {"position", "ball_point", "ball_lower"} <= set(problem.names)


def test_numbers_that_were_set_outlive_more_terms() -> None:
    problem = plain()
    problem.add_constraint("speed", problem.v, -1, 1, scale=0.5)
    problem.set(posture=[1.0, 2.0], posture_end_weight=7.0, speed_upper=[3.0, 4.0])
    problem.add_velocity_cost(1.0)
    problem.set_initial(v=False)
    memory = problem._compiled.memory
    np.testing.assert_array_equal(memory.parameters[:, :2], np.tile([1.0, 2.0], (4, 1)))
    np.testing.assert_array_equal(memory.parameters[:, 2], [1, 1, 1, 7])
    np.testing.assert_array_equal(memory.upper[:, :2], np.tile([1.5, 2.0], (4, 1)))


def test_only_weights_that_count_can_be_set() -> None:
    problem = plain()
    problem.add_velocity_cost(1.0)
    problem.add_cost("last", problem.q, 0.0, end_weight=1.0)
    assert "velocity_weight" in problem.names and "last_end_weight" in problem.names
    for name in ("velocity_end_weight", "last_weight"):
        assert name not in problem.names
        with pytest.raises(InputError, match="stays zero"):
            problem.set(**{name: 1.0})


def test_a_capsule_without_length_is_a_sphere() -> None:
    point, a, b = ca.DM([0.3, -0.2, 0.5]), ca.DM([1, 0, 0]), ca.DM([0, 1, 0])
    ball = float(distance([point], [a, b]))
    assert float(distance([point, point], [a, b])) == pytest.approx(ball, abs=1e-9)
    assert float(distance([a, b], [point, point])) == pytest.approx(ball, abs=1e-9)
    problem = plain()
    problem.add_distance(PlacedCapsule(0.1, (0, 0, 0), (0, 0, 0)), PlacedSphere(0.1, link="tip"), name="dot")
    assert {"dot_start", "dot_end"} <= set(problem.names)
