"""The effective mass ellipsoid: its numbers by definition, its picture by what is on the axes."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

import helicoid as hc
from helicoid.view import effective_mass_ellipsoid, effective_masses
from helicoid.view.ellipsoid import skeleton

POSE = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8])


def panda() -> tuple[hc.Robot, np.ndarray]:
    robot = hc.load("panda")
    return robot, np.concatenate([POSE, np.zeros(robot.nq - 7)])


def test_masses_are_what_a_push_meets() -> None:
    """A force f u at the frame accelerates it by f/m along u, for the principal directions u."""
    robot, q = panda()
    masses, directions = effective_masses(robot, "panda_link8", q)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-12)
    assert np.all(np.diff(masses) >= 0)
    still = np.zeros(robot.nv)
    hold = robot.gravity(q)
    for mass, u in zip(masses, directions.T, strict=True):
        push = np.concatenate([np.zeros(3), 5.0 * u])
        a = robot.forward_dynamics(q, still, hold, f_ext={"panda_link8": push}, expressed_in="world")
        moved = robot.acceleration("panda_link8", "world_aligned")(q, still, a)[3:]
        np.testing.assert_allclose(moved, 5.0 / mass * u, atol=1e-10)


def test_masses_are_the_eigenvalues_of_the_task_inertia() -> None:
    robot, q = panda()
    expected = np.linalg.eigvalsh(robot.task_inertia("panda_link8", rows="linear")(q))
    np.testing.assert_allclose(effective_masses(robot, "panda_link8", q).masses, expected, rtol=1e-10)


def test_picture_shows_the_ellipsoid_at_the_frame() -> None:
    robot, q = panda()
    ax = effective_mass_ellipsoid(robot, "panda_link8", q)
    masses, directions = effective_masses(robot, "panda_link8", q)
    axes = [np.array(line.get_data_3d()).T for line in ax.lines[-3:]]
    center = robot.pose("panda_link8")(q)[:3, 3]
    lengths = np.array([np.linalg.norm(ends[1] - ends[0]) / 2 for ends in axes])
    for ends, direction in zip(axes, directions.T, strict=True):
        np.testing.assert_allclose(ends.mean(axis=0), center, atol=1e-12)
        assert abs(abs((ends[1] - ends[0]) @ direction) / np.linalg.norm(ends[1] - ends[0]) - 1) < 1e-12
    np.testing.assert_allclose(lengths / lengths[0], np.sqrt(masses / masses[0]), rtol=1e-10)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"{m:.3g} kg" for m in masses]
    plt.close(ax.figure)


def test_infinite_mass_is_cut_and_named() -> None:
    """A planar arm: no push across its plane moves it."""
    figure = plt.figure()
    given = figure.add_subplot(projection="3d")
    robot = hc.load("planar_2r")
    ax = effective_mass_ellipsoid(robot, "tip", [0.3, 1.2], ax=given)
    assert ax is given
    assert ax.get_legend().get_texts()[-1].get_text() == "∞"
    assert np.all(np.isfinite(ax.get_xlim3d()))
    plt.close(figure)


def test_skeleton_joins_the_bodies() -> None:
    segments = skeleton(hc.load("planar_2r"), "tip", np.array([0.0, np.pi / 2]))
    expected = [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0.8]]]
    np.testing.assert_allclose(segments, expected, atol=1e-14)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(hc.HelicoidError, match=r"pip install 'helicoid\[plot\]'"):
        effective_mass_ellipsoid(hc.load("planar_2r"), "tip", [0.3, 1.2])
