"""Properties of a robot and their consumers: each is run and compared with the table in the docs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from consumer_table import EXCEPTIONS, NOTES, entry, markdown
from consumers import CONSUMERS, DT, VARIANTS, Q, V, answer, arm

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "what-counts.md"

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(autouse=True, scope="module")
def quick_builds() -> Iterator[None]:
    """Functions by CasADi's virtual machine, loops without optimisation: each is run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HELICOID_OPTIMISE", "0")
        hc.set_compile(False)
        yield
        hc.set_compile(True)


@pytest.mark.slow
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_property_counts_as_the_table_says(consumer: str) -> None:
    expected = {prop: entry(consumer, prop).answer for prop in VARIANTS}
    found = {prop: answer(consumer, prop, dict(entry(consumer, prop).option) or None) for prop in VARIANTS}
    assert found == expected


def test_every_exception_of_the_table_is_of_a_consumer_and_has_a_reason() -> None:
    assert set(EXCEPTIONS) == set(CONSUMERS)
    entries = [one for row in EXCEPTIONS.values() for one in row.values()]
    assert all(set(row) <= set(VARIANTS) for row in EXCEPTIONS.values())
    assert {one.text for one in entries if one.answer == "no"} == set(NOTES)


def test_the_page_has_the_table() -> None:
    """`python tests/consumer_table.py` prints it."""
    assert markdown() in PAGE.read_text("utf-8")


def sprung() -> hc.Robot:
    """The arm with joint springs and a gravity compensator."""
    springs = arm().with_joints(stiffness=4.0, rest=0.2)
    return springs.with_spring("world", "link_2", 80.0, 0.3, point_a=(0, 0, 1))


def test_joint_impedance_holds_a_robot_with_springs_where_it_is() -> None:
    robot, zero = sprung(), np.zeros(3)
    tau = hc.control.JointImpedance(robot, 200.0, 5.0).step(Q, zero, Q)
    np.testing.assert_allclose(robot.forward_dynamics(Q, zero, tau), 0.0, atol=1e-9)


def test_adaptive_control_compensates_springs() -> None:
    """With exact parameters the tracking error decays as without them: s = 0 leaves the reference's a."""
    robot, zero = sprung(), np.zeros(3)
    law = hc.control.AdaptiveControl(robot, 12.0, 2.0, dt=DT)
    tau = law.step(Q, V, Q, V, zero)
    np.testing.assert_allclose(robot.forward_dynamics(Q, V, tau), zero, atol=1e-3)


def test_springs_are_no_external_torque_for_the_momentum_observer() -> None:
    robot, zero = sprung(), np.zeros(3)
    observer = hc.control.MomentumObserver(robot, gain=20.0, dt=DT)
    for _ in range(50):
        residual = observer.step(Q, zero, robot.bias(Q, zero))
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)
