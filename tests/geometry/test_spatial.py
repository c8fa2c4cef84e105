"""Spatial algebra: duality, derivatives of transforms, inertia as the energy of point masses."""

import numpy as np
import pytest
from geometry_support import poses, quick, rate, twists, vectors
from hypothesis import given

from helicoid.errors import InputError
from helicoid.geometry import se3, spatial


@quick
@given(vectors(3), vectors(3))
def test_cross_is_that_of_numpy(a, b):
    assert np.allclose(spatial.cross(a, b), np.cross(a, b))


@quick
@given(vectors(6), vectors(6), vectors(6))
def test_cross_products_are_dual_and_a_lie_algebra(a, b, c):
    crm, crf = spatial.motion_cross, spatial.force_cross
    assert np.array_equal(crf(a), -crm(a).T)
    assert np.allclose(crm(a) @ b, -crm(b) @ a, atol=1e-11)
    assert np.allclose(crm(crm(a) @ b), crm(a) @ crm(b) - crm(b) @ crm(a), atol=1e-10)
    assert (crm(a) @ b) @ c == pytest.approx(-b @ (crf(a) @ c), abs=1e-9)


@quick
@given(poses)
def test_transforms_are_dual_and_take_either_form(t):
    r, p = se3.rotation(t), se3.translation(t)
    x, x_star = spatial.motion_transform(r, p), spatial.force_transform(r, p)
    assert np.allclose(x.T @ x_star, np.eye(6), atol=1e-12)
    assert np.array_equal(x, spatial.motion_transform(t))
    assert np.array_equal(x_star, spatial.force_transform(t))


@quick
@given(poses, twists(), vectors(6))
def test_transform_commutes_with_the_cross_products(t, v, m):
    x, x_star = spatial.motion_transform(t), spatial.force_transform(t)
    assert np.allclose(spatial.motion_cross(x @ v) @ x, x @ spatial.motion_cross(v), atol=1e-10)
    assert np.allclose(
        spatial.force_cross(x @ v) @ x_star @ m, x_star @ spatial.force_cross(v) @ m, atol=1e-9
    )


@quick
@given(twists(), vectors(6, 1.0))
def test_the_rate_of_a_transform_is_the_cross_product(xi, xi_dot):
    """Ẋ = crm(v) X and Ẋ* = crf(v) X* for the twist v of the moving frame."""
    v = se3.left_jacobian(xi) @ xi_dot
    for transform, cross in (
        (spatial.motion_transform, spatial.motion_cross),
        (spatial.force_transform, spatial.force_cross),
    ):
        x_dot = rate(lambda y, f=transform: f(se3.exp(y)), xi, xi_dot)
        assert np.allclose(x_dot, cross(v) @ transform(se3.exp(xi)), atol=1e-10)


@quick
@given(vectors(6), vectors(12, 1.0))
def test_spatial_inertia_gives_the_energy_and_momentum_of_point_masses(v, numbers):
    points, masses = numbers.reshape(4, 3), np.array([0.5, 1.0, 2.0, 3.0])
    first_moment = masses @ points
    about_origin = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    inertia = spatial.spatial_inertia(masses.sum(), first_moment, about_origin)
    velocities = v[3:] + np.cross(v[:3], points)
    assert v @ inertia @ v / 2 == pytest.approx(masses @ (velocities**2).sum(axis=1) / 2, abs=1e-9)
    momentum = np.concatenate([masses @ np.cross(points, velocities), masses @ velocities])
    assert np.allclose(inertia @ v, momentum, atol=1e-10)


@quick
@given(vectors(10))
def test_parameters_and_inertia_both_ways(pi):
    inertia = spatial.inertia_from_parameters(pi)
    assert np.array_equal(inertia, inertia.T)
    assert np.array_equal(spatial.inertia_to_parameters(inertia), pi)


def test_the_order_of_the_parameters():
    inertia = spatial.inertia_from_parameters(np.arange(10.0))
    assert inertia[3, 3] == 0.0
    assert np.array_equal(inertia[:3, 3:], [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    assert np.array_equal(inertia[:3, :3], [[4, 5, 6], [5, 7, 8], [6, 8, 9]])


def test_a_lone_rotation_is_not_a_pose():
    with pytest.raises(InputError, match=r"\(4, 4\) is right"):
        spatial.motion_transform(np.eye(3))


@quick
@given(vectors(6), vectors(10))
def test_momentum_is_linear_in_the_parameters(v, pi):
    assert np.allclose(spatial.inertia_map(v) @ pi, spatial.inertia_from_parameters(pi) @ v, atol=1e-9)


def test_angular_and_linear_parts_change_places():
    swap = spatial.LINEAR_FIRST
    assert np.array_equal(swap @ np.arange(6.0), [3, 4, 5, 0, 1, 2])
    assert np.array_equal(swap @ swap, np.eye(6))


def test_motion_cross_factor(rng: np.random.Generator) -> None:
    """crm(v) = W (1 ⊗ v), and W is its derivative."""
    v = rng.normal(size=6)
    W = spatial.MOTION_CROSS_FACTOR
    np.testing.assert_allclose(W @ np.kron(np.eye(6), v[:, None]), spatial.motion_cross(v))
    step = rng.normal(size=6)
    difference = spatial.motion_cross(v + step) - spatial.motion_cross(v)
    np.testing.assert_allclose(W @ np.kron(np.eye(6), step[:, None]), difference, atol=1e-14)
