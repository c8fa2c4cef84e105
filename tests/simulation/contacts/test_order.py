"""The order of the time step in smooth contact: the error over the step, against references."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import helicoid as hc
from contact_bodies import G, ball, world_velocity

pytestmark = pytest.mark.needs_compiler

LENGTH, TILT, DURATION = 0.5, 0.3, 0.2
STEPS = (4e-3, 2e-3, 1e-3)
ROD = hc.load(
    f"""<robot name="rod"><link name="rod"><inertial><mass value="1"/><inertia ixx="{LENGTH**2 / 12}"
    iyy="{LENGTH**2 / 12}" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>""",
    "floating",
)


def check_order(error: Callable[[float], float], largest: float) -> None:
    """Order 1: half the step, half the error; and the error of the shortest step."""
    errors = [error(dt) for dt in STEPS]
    ratios = np.divide(errors[:-1], errors[1:])
    assert np.all((ratios > 1.9) & (ratios < 2.1)) and errors[-1] < largest, errors


def fallen(dt: float, friction: float) -> float:
    """The tilt of a rod that stood on its end, after it fell for a while."""
    q0 = LENGTH / 2 * np.array([math.sin(TILT), 0, math.cos(TILT)])
    turned = [math.cos(TILT / 2), 0, math.sin(TILT / 2), 0]
    motion = hc.simulate(
        ROD,
        [*q0, *turned],
        duration=DURATION,
        dt=dt,
        ground=hc.Ground(friction=friction),
        contacts=[hc.ContactPoint("rod", (0, 0, -LENGTH / 2))],
    )
    return 2 * math.atan2(motion.q[-1, 5], motion.q[-1, 3])


def reference(acceleration: Callable[[float, float], float]) -> float:
    solution = solve_ivp(
        lambda t, y: [y[1], acceleration(*y)], (0, DURATION), [TILT, 0.0], rtol=1e-12, atol=1e-12
    )
    return float(solution.y[0, -1])


def test_a_rod_that_tips_over_its_end() -> None:
    exact = reference(lambda θ, ω: 1.5 * G / LENGTH * math.sin(θ))
    check_order(lambda dt: abs(fallen(dt, math.inf) - exact), 2e-4)


def test_a_rod_whose_end_slides_without_friction() -> None:
    r, inertia = LENGTH / 2, LENGTH**2 / 12

    def acceleration(θ: float, ω: float) -> float:
        s, c = math.sin(θ), math.cos(θ)
        return (G - r * c * ω**2) * r * s / (inertia + (r * s) ** 2)

    exact = reference(acceleration)
    check_order(lambda dt: abs(fallen(dt, 0.0) - exact), 6e-4)


def test_a_ball_that_slides() -> None:
    robot, speed = ball(0.1), math.hypot(2, 1)

    def error(dt: float) -> float:
        motion = hc.simulate(
            robot,
            [0, 0, 0.1, 1, 0, 0, 0],
            [0, 0, 0, 2.0, 1.0, 0],
            0.1,
            dt=dt,
            ground=hc.Ground(friction=0.3),
            contacts="collision",
        )
        exact = (speed - 0.3 * G * 0.1) * np.array([2, 1, 0]) / speed
        return float(np.abs(world_velocity(robot, motion)[3:] - exact).max())

    check_order(error, 3e-3)
