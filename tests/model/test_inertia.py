"""Ten numbers against the point masses that they sum up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from helicoid.errors import ModelError
from helicoid.geometry import so3
from helicoid.model.inertia import PARAMETER_NAMES, Inertia, total
from random_trees import Array, assert_close, inertia, rotation, seeds


def cloud(seed: int) -> tuple[Array, Array]:
    """Masses and points."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))


def summed(masses: Array, points: Array) -> Inertia:
    """By definition: Σ m, Σ m r, Σ m (r·r 1 - r rᵀ)."""
    r2 = np.einsum("ni,ni->n", points, points)
    second = np.einsum("n,ni,nj->ij", masses, points, points)
    return Inertia(float(masses.sum()), masses @ points, masses @ r2 * np.eye(3) - second)


@given(seeds)
def test_center_of_mass_and_parallel_axes(seed: int) -> None:
    masses, points = cloud(seed)
    body, c = summed(masses, points), masses @ points / masses.sum()
    about_com = summed(masses, points - c).rotational
    assert_close(body.com, c)
    assert_close(body.at_com, about_com)
    assert_close(Inertia.from_com(masses.sum(), c, about_com).parameters, body.parameters)


@given(seeds)
def test_transformed(seed: int) -> None:
    """The same points seen from another frame."""
    masses, points = cloud(seed)
    rng = np.random.default_rng(seed + 1)
    R, p = rotation(rng), rng.normal(size=3)
    moved = summed(masses, points @ R.T + p)
    assert_close(summed(masses, points).transformed(R, p).parameters, moved.parameters)


@given(seeds)
def test_parameters_and_pseudo_inertia_round_trip(seed: int) -> None:
    masses, points = cloud(seed)
    body = summed(masses, points)
    homogeneous = np.column_stack([points, np.ones(len(points))])
    assert_close(body.pseudo, np.einsum("n,ni,nj->ij", masses, homogeneous, homogeneous))
    assert_close(Inertia.from_pseudo(body.pseudo).parameters, body.parameters, 1e-14)
    np.testing.assert_array_equal(Inertia.from_parameters(body.parameters).parameters, body.parameters)


@given(seeds)
def test_sums(seed: int) -> None:
    masses, points = cloud(seed)
    halves = [summed(masses[:2], points[:2]), summed(masses[2:], points[2:])]
    whole = summed(masses, points).parameters
    assert_close((halves[0] + halves[1]).parameters, whole)
    assert_close(total(halves).parameters, whole)
    np.testing.assert_array_equal(total([]).parameters, np.zeros(10))


def test_order_of_parameters() -> None:
    body = Inertia.from_com(2.0, [1.0, 0.0, 0.0], [[1, 4, 5], [4, 2, 6], [5, 6, 3]])
    named = dict(zip(PARAMETER_NAMES, body.parameters, strict=True))
    assert named == {
        "m": 2, "hx": 2, "hy": 0, "hz": 0,
        "Ixx": 1, "Ixy": 4, "Ixz": 5, "Iyy": 4, "Iyz": 6, "Izz": 5,
    }  # fmt: skip


def test_nothing_has_its_center_at_the_origin() -> None:
    np.testing.assert_array_equal(Inertia.zero().com, np.zeros(3))
    assert Inertia.zero().doubts() == []


@given(seeds)
def test_bodies_are_not_doubted(seed: int) -> None:
    assert inertia(np.random.default_rng(seed)).doubts() == []


@pytest.mark.parametrize("moments", [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
def test_rods_points_and_plates_are_not_doubted(moments: list[float]) -> None:
    assert Inertia.from_com(1.0, [0.1, 0.2, 0.3], np.diag(moments)).doubts() == []


@pytest.mark.parametrize(
    ("mass", "moments", "doubt"),
    [
        (-1.0, [1.0, 1.0, 1.0], "negative mass -1 kg"),
        (1.0, [1.0, 1.0, -0.1], "negative principal moment -0.1 kg"),
        (1.0, [1.0, 1.0, 3.0], "1, 1, 3 kg·m² break the triangle inequality"),
        (0.0, [1.0, 1.0, 1.0], "mass is zero but its moments are not"),
    ],
)
def test_impossible_bodies_are_doubted(mass: float, moments: list[float], doubt: str) -> None:
    turned = rotation(np.random.default_rng(0))
    body = Inertia.from_com(mass, [0.1, 0.2, 0.3], turned @ np.diag(moments) @ turned.T)
    assert any(doubt in text for text in body.doubts())


@pytest.mark.parametrize(
    ("mass", "com", "moments", "message"),
    [
        (1.0, [0, 0], np.eye(3), r"center of mass: expected shape \(3,\), got \(2,\)"),
        (1.0, [0, 0, 0], np.ones(6), r"rotational inertia: expected shape \(3, 3\), got \(6,\)"),
        (1.0, "abc", np.eye(3), r"center of mass: expected numbers of shape \(3,\); got 'abc'"),
        ("heavy", [0, 0, 0], np.eye(3), r"mass: expected numbers"),
        (np.nan, [0, 0, 0], np.eye(3), "finite numbers"),
        (1.0, [0, 0, np.inf], np.eye(3), "finite numbers"),
        (1.0, [0, 0, 0], np.diag([1, 1, np.nan]), "finite numbers"),
        (1.0, [0, 0, 0], [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "expected a symmetric matrix"),
    ],
)
def test_wrong_numbers_are_refused(mass: float, com: object, moments: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Inertia.from_com(mass, com, moments)  # type: ignore[arg-type]


def test_wrong_counts_are_refused() -> None:
    with pytest.raises(ModelError, match=r"inertial parameters: expected shape \(10,\), got \(9,\)"):
        Inertia.from_parameters(np.zeros(9))
    with pytest.raises(ModelError, match=r"pseudo-inertia: expected shape \(4, 4\)"):
        Inertia.from_pseudo(np.eye(3))


def test_frozen() -> None:
    """Neither the body nor the arrays that it was made of can change it."""
    com = np.array([1.0, 0.0, 0.0])
    body = Inertia.from_com(1.0, com, np.eye(3))
    com[0] = 5.0
    assert body.com[0] == 1.0
    for array in (body.first_moment, body.rotational):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_thin_body_far_from_its_origin_keeps_its_small_moments() -> None:
    """A point mass: its moment about the axis that it nearly lies on is m d², to the last digits."""
    m, near, far = 1.5, 1e-6, 1.0
    body = Inertia.from_com(m, [near, far, 0.0], np.zeros((3, 3)))
    np.testing.assert_allclose(body.rotational[1, 1], m * near**2, rtol=1e-15)
    np.testing.assert_allclose(body.second_moment, m * np.outer([near, far, 0], [near, far, 0]), rtol=1e-15)


def test_moving_and_adding_lose_no_digits_of_a_small_body() -> None:
    turned, away = so3.exp([0.3, -0.5, 0.9]), np.array([0.0, 30.0, 100.0])
    small = Inertia.from_com(2.0, [0.0, 0.0, 0.01], np.diag([1e-6, 2e-6, 2.5e-6]))
    back = small.transformed(turned, away).transformed(turned.T, -turned.T @ away)
    # The center of mass itself is only known to 100 m times the rounding.
    np.testing.assert_allclose(back.at_com, small.at_com, rtol=0, atol=1e-20)
    np.testing.assert_allclose(back.rotational, small.rotational, rtol=0, atol=1e-14)
    both = small.transformed(turned, away) + small.transformed(turned, away)
    np.testing.assert_allclose(both.at_com, 2 * small.transformed(turned, away).at_com, rtol=1e-12)
