"""Residuals by the speed of the joint."""

from __future__ import annotations

import numpy as np

from helicoid.identification.report.residual_profile import ResidualProfile


def test_profile_of_noise_that_depends_on_speed() -> None:
    rng = np.random.default_rng(0)
    v = rng.uniform(-1, 1, (20_000, 2))
    sigma = np.where(np.abs(v) < 0.1, [5.0, 1.0], [1.0, 1.0])
    profile = ResidualProfile.of(v, sigma * rng.normal(size=v.shape))
    slow = profile.at(np.array([[0.0, 0.0], [-0.05, 0.05]]))
    np.testing.assert_allclose(slow, [[25, 1], [25, 1]], rtol=0.2)
    np.testing.assert_allclose(profile.at(np.array([[0.5, -3.0]])), [[1, 1]], rtol=0.1)


def test_few_samples_are_one_class_and_joints_at_rest_have_one_too() -> None:
    v = np.array([[0.0, 0.1]] * 10)
    np.testing.assert_allclose(ResidualProfile.of(v, 2.0 + 0 * v).at(np.array([[1.0, 0.0]])), 4.0)
    still = np.zeros((1000, 1))
    np.testing.assert_allclose(ResidualProfile.of(still, still + 3.0).at(np.array([[0.0], [1.0]])), 9.0)
