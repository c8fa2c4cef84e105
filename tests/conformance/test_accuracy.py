"""Forward dynamics keeps as many digits as Pinocchio's, against extended precision from the file itself."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.accuracy import errors, robots
from benchmarks.reference import EXTENDED, Reference

from helicoid import Robot, load

pytestmark = pytest.mark.skipif(not EXTENDED, reason="NumPy has no extended precision on this machine")


def path_of(file: str):
    return next(path for name, path in robots().items() if name.endswith(f"/{file}"))


# A head that is a point mass on three axes through one point; many bodies; light links with products of
# inertia of 1e-13 kg·m² and less, which are more than noise (the error was 200 times Pinocchio's); angles of
# π/2 to 12 digits (40 times).
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "base"),
    [
        ("icub.urdf", "fixed"),
        pytest.param("human.urdf", "floating", marks=pytest.mark.slow),
        ("double_pendulum_continuous.urdf", "floating"),
        ("kinova.urdf", "fixed"),
    ],
)
def test_no_digits_are_lost_to_where_inertias_are_taken_about(file: str, base: str) -> None:
    """Of many states the mean: one of them may be lucky. Level is a ratio of 1, and once it was 18."""
    found = errors(path_of(file), base, 40)
    assert found.aba < 3 * found.aba_peer
    assert found.crba < 3 * found.crba_peer


@pytest.mark.slow
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    "file",
    [
        "kinova.urdf",
        "anymal-kinova.urdf",
        "icub_reduced.urdf",
        "romeo_small.urdf",
        "anymal.urdf",
        "g1_29dof_rev_1_0.urdf",
    ],
)
def test_on_other_robots(file: str, base: str) -> None:
    """Level, or exact to four units in the last place."""
    found, exact = errors(path_of(file), base, 40), 4 * np.finfo(float).eps
    assert found.aba < max(3 * found.aba_peer, exact)
    assert found.crba < max(3 * found.crba_peer, exact)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_reference_agrees_with_newton_and_euler(base: str, rng: np.random.Generator) -> None:
    """Two algorithms by two hands: the torque that inverse dynamics asks for causes the acceleration."""
    path = path_of("TwoDofs.urdf")
    robot: Robot = load(path, base=base)  # type: ignore[arg-type]
    q = np.array([robot.random(rng) for _ in range(5)])
    v, a = rng.normal(size=(2, 5, robot.nv))
    exact = Reference(path, list(robot.joint_names), base)
    found = exact.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
    np.testing.assert_allclose(found.astype(float), a, rtol=0, atol=1e-11)
