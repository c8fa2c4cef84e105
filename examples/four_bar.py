"""A four-bar linkage driven through two turns: where it goes, what its motor gives, what its hinge carries.

    python examples/four_bar.py [picture.png]

URDF knows trees only: the linkage is cut at the hinge between coupler and rocker, and a loop closes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import helicoid as hc
from helicoid.simulation import Trajectory, simulate

Array = NDArray[np.float64]

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.35, 0.9, 0.75  # m
TRACER = (0.45, 0.0, 0.35)  # the point of the coupler that draws the curve (m)
SPEED = 4.0  # rad/s


def bar(name: str, length: float) -> str:
    """A thin rod of 1 kg/m along x."""
    moment = length**3 / 12
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{length}"/>
      <inertia ixx="1e-4" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/></inertial></link>"""


def pivot(name: str, parent: str, child: str, x: float) -> str:
    """A hinge in the x-z plane, its angle counted from x towards z."""
    return f"""<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{x} 0 0"/><axis xyz="0 -1 0"/></joint>"""


def four_bar() -> hc.Robot:
    """The linkage as a tree of three bars, closed by a hinge; its motor turns the crank."""
    tree = hc.load(f"""<robot name="four_bar"><link name="ground"/>
      {bar("crank", CRANK)}{bar("coupler", COUPLER)}{bar("rocker", ROCKER)}
      {pivot("crank_joint", "ground", "crank", 0)}{pivot("coupler_joint", "crank", "coupler", CRANK)}
      {pivot("rocker_joint", "ground", "rocker", GROUND)}</robot>""")
    closed = tree.close_loop(
        "coupler",
        "rocker",
        "line",
        origin_a=(COUPLER, 0, 0),
        origin_b=(ROCKER, 0, 0),
        axis=(0, -1, 0),
        name="hinge",
    )
    return closed.with_actuators("crank_joint")


def drive(robot: hc.Robot, turns: float = 2.0) -> Trajectory:
    """The crank at constant speed, by the motor torque that inverse dynamics asks for at every sample."""
    start = robot.find_consistent([0.0, 1.0, 1.8], hold=["crank_joint"]).q
    # A velocity of the mechanism: any allowed one, scaled to the desired crank speed.
    allowed = robot.project_velocity(start, np.array([1.0, 0.0, 0.0]))
    v0 = allowed * SPEED / allowed[0]

    def motor(t: float, q: Array, v: Array) -> Array:
        free = robot.constrained_forward_dynamics(q, v, np.zeros(3)).a
        unit = robot.constrained_forward_dynamics(q, v, np.array([1.0, 0.0, 0.0])).a
        a_ref = 50.0 * (SPEED - v[0])  # rad/s²: none, but for what a sampled motor misses
        return np.array([(a_ref - free[0]) / (unit[0] - free[0]), 0.0, 0.0])

    dt = 2e-3
    steps = round(turns * 2 * np.pi / SPEED / dt)
    return simulate(robot, start, v0, steps * dt, motor, dt=dt)


def picture(robot: hc.Robot, motion: Trajectory, path: Path) -> None:
    """Linkage and coupler curve on the left, torque and hinge force over the crank's angle on the right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["linkage", "torque"], ["linkage", "force"]],
        figsize=(11, 5),
        width_ratios=[1.35, 1],
        layout="constrained",
    )
    draw_linkage(axes["linkage"], robot, motion)
    turn = np.degrees(motion.q[:, 0])
    second = turn >= 360.0
    force = np.linalg.norm(motion.constraint_forces[:, :3], axis=1)
    for name, values, label in (
        ("torque", motion.tau[:, 0], "motor torque (N·m)"),
        ("force", force, "hinge force (N)"),
    ):
        axes[name].plot(turn[second] - 360.0, values[second], color="#1f4e8c", linewidth=1.8)
        axes[name].set(ylabel=label, xlim=(0, 360), xticks=range(0, 361, 90))
        axes[name].grid(alpha=0.3)
    axes["torque"].axhline(0, color="0.5", linewidth=0.8)
    axes["torque"].set_title(f"One turn at {SPEED:g} rad/s")
    axes["force"].set_xlabel("crank angle (°)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_linkage(axis: Any, robot: hc.Robot, motion: Trajectory) -> None:
    """Twelve instants of the second turn, the older the fainter, over the curve of the tracer point."""
    plot, fill = axis.plot, axis.fill
    poses = {link: robot.pose(link)(motion.q) for link in ("crank", "coupler", "rocker")}
    tracer = poses["coupler"] @ [*TRACER, 1.0]
    second = motion.q[:, 0] >= 2 * np.pi
    plot(*tracer[second][:, [0, 2]].T, color="#c8553d", linewidth=2.2, label="coupler curve", zorder=3)
    instants = np.linspace(np.argmax(second), len(motion.t) - 1, 13).astype(int)[1:]
    for k in instants:
        last = k == instants[-1]
        shade = {
            "alpha": 1.0 if last else 0.25,
            "linewidth": 3.0 if last else 1.6,
            "zorder": 4 if last else 2,
        }
        joints = np.array([poses["crank"][k][:3, 3], poses["coupler"][k][:3, 3], end_of_coupler(poses, k)])
        ground = poses["rocker"][k][:3, 3]
        fill(
            *np.array([joints[1], joints[2], tracer[k][:3]])[:, [0, 2]].T,
            color="#4f86c6",
            alpha=0.35 if last else 0.04,
        )
        for ends, color in (
            (joints[:2], "#2a9d4a"),
            (joints[1:], "#1f4e8c"),
            ((joints[2], ground), "#6b4c9a"),
        ):
            plot(*np.array(ends)[:, [0, 2]].T, color=color, solid_capstyle="round", **shade)
        if last:
            for point in (*joints, ground):
                plot(point[0], point[2], "o", color="white", markeredgecolor="black", markersize=7, zorder=5)
            plot(tracer[k][0], tracer[k][2], "o", color="#c8553d", markersize=7, zorder=5)
    for x in (0.0, GROUND):
        plot(x, -0.035, "^", color="0.35", markersize=13, zorder=1)
    axis.set(xlabel="x (m)", ylabel="z (m)", title="Four-bar linkage, every 30° of the crank")
    axis.set_aspect("equal")
    axis.legend(loc="upper left", frameon=False)
    axis.grid(alpha=0.3)


def end_of_coupler(poses: dict[str, Array], k: int) -> Array:
    """Where the hinge is at sample k (m)."""
    return (poses["coupler"][k] @ [COUPLER, 0.0, 0.0, 1.0])[:3]


def main() -> None:
    """Simulate, draw, and say how well the loop held."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "four_bar.png"
    robot = four_bar()
    motion = drive(robot)
    print(robot.constraint_report(motion.q[-1]))
    print(f"largest gap of the hinge on the way: {np.abs(robot.constraint_position(motion.q)).max():.1e} m")
    picture(robot, motion, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
