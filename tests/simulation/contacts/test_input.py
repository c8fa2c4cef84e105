"""Invalid input and its messages."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from contact_bodies import box
from helicoid import Ground, InputError
from helicoid.simulation.contacts import shapes

BOX = box()
START = np.array([0, 0, 0.05, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"friction": -0.1}, "friction must be zero or more; got -0.1"),
        ({"friction": np.nan}, "friction must be zero or more"),
        ({"restitution": 1.5}, "restitution must be from 0 to 1"),
        ({"height": np.inf}, "height must be a height"),
        ({"normal": (0, 0, 0)}, "is a direction"),
        ({"normal": (0, np.nan, 1)}, "three finite numbers"),
        ({"heights": [1.0, 2.0]}, "rows, columns"),
        ({"heights": [[0.0, np.nan], [0, 0]]}, "finite"),
        ({"heights": np.zeros((3, 3)), "spacing": 0.0}, "above 0"),
        ({"heights": np.zeros((3, 3)), "normal": (0, 1, 1)}, "normal up"),
    ],
)
def test_grounds_that_make_no_sense(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ground(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ground": Ground()}, "a ground needs contacts"),
        ({"contacts": "collision"}, "something to touch"),
        ({"ground": 0.0, "contacts": "collision"}, "ground is hc.Ground"),
        ({"ground": Ground(), "contacts": "visual"}, "'collision'; got 'visual'"),
        ({"ground": Ground(), "contacts": []}, "a list of hc.ContactPoint"),
        ({"ground": Ground(), "contacts": ["box"]}, "one of them is 'box'"),
        (
            {"ground": Ground(), "contacts": [hc.ContactPoint("foot")]},
            "no link 'foot' in robot 'box'.*there are: box",
        ),
        ({"ground": Ground(), "contacts": "collision", "method": "adaptive"}, "leave it out"),
        ({"ground": Ground(height=0.02), "contacts": "collision"}, "'box' starts 0.02 m below ground: raise"),
        ({"ground": Ground(), "contacts": "collision", "q0": START * np.nan}, "not finite"),
        pytest.param(
            {"ground": Ground(), "contacts": "collision", "controller": lambda t, q, v: np.full(6, np.nan)},
            "finite",
            marks=pytest.mark.needs_compiler,
        ),
    ],
)
def test_simulations_that_make_no_sense(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hc.HelicoidError, match=message):
        hc.simulate(BOX, **{"q0": START, "duration": 0.01, **arguments})


def test_a_contact_needs_a_point_and_a_radius() -> None:
    with pytest.raises(InputError, match="three finite numbers"):
        hc.ContactPoint("box", (0.0, np.nan, 0.0))
    with pytest.raises(InputError, match="radius of a contact of 'box' must be zero or more"):
        hc.ContactPoint("box", radius=-1.0)


def test_a_link_that_cannot_move_cannot_touch() -> None:
    with pytest.raises(InputError, match="base='floating'"):
        arm = hc.load("planar_2r")
        hc.simulate(arm, ground=Ground(), contacts=[hc.ContactPoint(arm.link_names[0])])


def test_robots_without_shapes_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"has no collision geometry.*ContactPoint"):
        hc.simulate(hc.serial_chain(2), ground=Ground(), contacts="collision")


@pytest.mark.needs_compiler
@pytest.mark.parametrize("v", [1e7, 1e160, -1e300])
def test_absurd_states_end(v: float) -> None:
    with pytest.raises(hc.SimulationError, match="diverged"):
        hc.simulate(
            BOX,
            START + np.array([0, 0, 0.2, 0, 0, 0, 0]),
            np.full(6, v),
            0.1,
            ground=Ground(),
            contacts="collision",
        )


@pytest.mark.needs_compiler
def test_a_law_that_diverges_is_not_blamed_for_its_answers_to_invalid_states() -> None:
    q, v = ca.SX.sym("q", 7), ca.SX.sym("v", 6)
    law = hc.Function.from_expressions("law", {"q": q, "v": v}, {"tau": 3e3 * ca.vertcat(0, 0, 0, v[3:])})
    push = np.array([0, 0, 0, 0.1, 0, 0])
    with pytest.raises(hc.SimulationError, match=r"diverged at t = 0.*already: weaker gains") as caught:
        hc.simulate(BOX, START, push, 1.0, law, ground=Ground(), contacts="collision")
    assert np.isfinite(caught.value.trajectory.q).all() and "finite numbers" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_the_former_name_says_so() -> None:
    contacts = [hc.ContactPoint("box", (x, y, -0.05)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    with pytest.warns(DeprecationWarning, match="ground=hc.Ground"):
        motion = hc.simulate_contacts(BOX, contacts, START, duration=0.01)
    assert motion.contact_forces.shape == (11, 4, 3)


def test_corners_of_the_collision_geometry_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, computed, calls = box(), shapes.collision_points, 0

    def counted(one: hc.Robot) -> Any:
        nonlocal calls
        calls += 1
        return computed(one)

    monkeypatch.setattr(shapes, "collision_points", counted)
    first, second = (shapes.points_of(robot, "collision") for _ in range(2))
    assert calls == 1 and np.array_equal(first.rows, second.rows)
