"""Effective mass of a frame: the inertia that a force meets in each direction (Khatib 1995).

A unit force along the unit vector u at the frame's origin accelerates it along u by uᵀ A u, A = J_v M⁻¹
J_vᵀ, as if it were a mass m(u) = 1/(uᵀ A u). The ellipsoid xᵀ A x = 1 has the radius √m(u) along u: it is
long in directions of large effective mass, and its semi-axes are the roots of the principal masses, the
eigenvalues of Λ_v = A⁻¹. Rotation of the frame and its motion in other directions are unconstrained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.dynamics.tree import joint_motions, world_poses
from helicoid.errors import optional_import
from helicoid.model.model import WORLD
from helicoid.robot import Robot

_MIN_RELATIVE_MOBILITY = 1e-10  # of the largest eigenvalue of A; below it the mass is infinite
_RELATIVE_SIZE = 0.3  # longest semi-axis relative to the robot's extent
_MAX_AXIS_RATIO = 6.0  # longest to shortest semi-axis; longer ones, up to infinity, are clipped


class EffectiveMasses(NamedTuple):
    """Principal masses (kg), ascending, infinite where no force moves the frame; directions as columns."""

    masses: Array
    directions: Array


def effective_masses(robot: Robot, frame: str, q: ArrayLike) -> EffectiveMasses:
    """Principal effective masses of a frame's origin and their directions in world axes.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")  # at a right angle: a force along the first link meets the tip's mass
    >>> print(effective_masses(robot, "tip", [0.0, 1.5707963267948966]).masses.round(6))
    [1. 2.5 inf]
    """
    J = robot.jacobian(frame, "world_aligned")(q)[3:]
    mobility, directions = np.linalg.eigh(J @ robot.mass_matrix_inverse(q) @ J.T)
    moves = mobility > _MIN_RELATIVE_MOBILITY * mobility[-1]
    masses = np.where(moves, 1 / np.where(moves, mobility, 1.0), np.inf)
    return EffectiveMasses(masses[::-1], directions[:, ::-1])


def effective_mass_ellipsoid(robot: Robot, frame: str, q: ArrayLike, ax: Any = None) -> Any:
    """Draw the ellipsoid of a frame's effective mass on the robot's skeleton; returns the 3-D axes.

    The radius along a direction is proportional to the root of the effective mass along it; the legend gives
    the principal masses. Semi-axes are clipped at six times the shortest. `ax`: matplotlib
    axes with `projection="3d"`, by default new ones.
    """
    plt = optional_import("matplotlib.pyplot", "a plot", "helicoid[plot]")
    q = np.asarray(q, dtype=np.float64)
    masses, directions = effective_masses(robot, frame, q)
    segments = skeleton(robot, frame, q)
    if ax is None:
        ax = plt.figure(figsize=(6.4, 6.0)).add_subplot(projection="3d", computed_zorder=False)
    for segment in segments:
        ax.plot(*segment.T, "o-", color="0.35", linewidth=3, markersize=4, zorder=1)
    points = np.concatenate(segments)
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    center = robot.pose(frame)(q)[:3, 3]
    radii = np.minimum(np.sqrt(masses), _MAX_AXIS_RATIO * np.sqrt(masses[0]))
    semi_axes = directions * (_RELATIVE_SIZE * extent * radii / radii.max())
    _draw_ellipsoid(ax, center, semi_axes, masses)
    reach = np.abs(semi_axes).sum(axis=1)
    _frame_axes(ax, np.vstack([points, center - reach, center + reach]))
    ax.set(title=f"{robot.name}: effective mass at {frame}", xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    ax.legend(loc="upper left", frameon=False, title="principal masses")
    return ax


def skeleton(robot: Robot, frame: str, q: Array) -> list[Array]:
    """Line segments (2, 3) from each moving body's origin to its parent's, and on to the frame's."""
    model = robot.model
    poses = world_poses(model, joint_motions(model, ca.SX(q)))
    origins = [np.array(ca.evalf(p)).ravel() for _, p in poses]

    def origin(body: int) -> Array:
        return np.zeros(3) if body == WORLD else origins[body]

    segments = [np.array([origin(body.parent), origins[i]]) for i, body in enumerate(model.bodies)]
    return [*segments, np.array([origin(model.frame(frame).body), robot.pose(frame)(q)[:3, 3]])]


def _draw_ellipsoid(ax: Any, center: Array, semi_axes: Array, masses: Array) -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, np.pi, 25))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    surface = center[:, None, None] + np.einsum("ij,jkl->ikl", semi_axes, sphere)
    ax.plot_surface(*surface, color="tab:blue", alpha=0.25, linewidth=0, zorder=2)
    for mass, axis, color in zip(masses, semi_axes.T, ("tab:green", "tab:orange", "tab:red"), strict=True):
        label = "∞" if np.isinf(mass) else f"{mass:.3g} kg"
        ends = np.array([center - axis, center + axis])
        ax.plot(*ends.T, color=color, linewidth=2, label=label, zorder=3)


def _frame_axes(ax: Any, points: Array) -> None:
    """Set a cubic view box around all points: equal scales on all axes."""
    middle, half = (points.max(0) + points.min(0)) / 2, np.ptp(points, axis=0).max() / 2
    ax.set(**{f"{name}lim": (m - half, m + half) for name, m in zip("xyz", middle, strict=True)})
    ax.set_box_aspect((1, 1, 1))
    ax.locator_params(nbins=5)
