"""Where can a UR5 hold its tool down, and in how many ways? By inverse kinematics, thousands of poses a call.

    python examples/reach.py reach.png

Left: a plane beside the base, the tool pointing down at every point; colors count distinct configurations,
of which an arm of six joints has up to eight. Right: the same plane for any direction of the tool, as the
share of 40 directions that can be reached.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np

import helicoid as hc
from helicoid.geometry import so3

STEP = 0.04  # m


def poses(points: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    """Every point with every rotation, (points × rotations, 4, 4)."""
    T = np.tile(np.eye(4), (len(points), len(rotations), 1, 1))
    T[..., :3, 3] = points[:, None]
    T[..., :3, :3] = rotations
    return T.reshape(-1, 4, 4)


def main(picture: str) -> None:
    """Draw both."""
    robot = hc.load("ur5")
    # Joints within half a turn either way: whole turns more are no other way to stand.
    robot = robot.with_joints(lower=-np.pi, upper=np.pi)
    ik = hc.control.InverseKinematics(robot, "tool0", tolerance=1e-4, starts=8)
    x, z = np.arange(-1.1, 1.1001, STEP), np.arange(-0.9, 1.2001, STEP)
    points = np.array([(a, 0.15, b) for b in z for a in x])
    down = np.diag([1.0, -1.0, -1.0])

    reached = ik(poses(points, down[None])).success
    ways = np.zeros(len(points))
    for k in np.flatnonzero(reached):
        ways[k] = len(ik.all(poses(points[k : k + 1], down[None])[0]))

    turns = np.stack([so3.exp(v) for v in np.random.default_rng(0).normal(0.0, 1.5, (40, 3))])
    shares = ik(poses(points, turns)).success.reshape(len(points), -1).mean(axis=1)

    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), constrained_layout=True)
    extent = (x[0], x[-1], z[0], z[-1])
    maps = (
        (ways, "distinct configurations, tool down", 8, "viridis"),
        (100 * shares, "directions of the tool within reach (%)", 100, "magma"),
    )
    for axis, (values, title, top, colors) in zip(axes, maps, strict=True):
        grid = np.where(values > 0, values, np.nan).reshape(len(z), len(x))
        drawn = axis.imshow(grid, origin="lower", extent=extent, vmin=0, vmax=top, cmap=colors)
        figure.colorbar(drawn, ax=axis, shrink=0.85)
        axis.set(title=title, xlabel="x (m)", ylabel="z (m)")
        axis.plot(0, 0, "s", color="grey", markersize=7)
    figure.savefig(picture, dpi=110)
    print(f"{len(points)} poses tool down, {len(points) * len(turns)} of any direction: {picture}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "reach.png")
