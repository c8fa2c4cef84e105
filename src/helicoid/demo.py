"""The demonstration: a robot that nobody holds falls, and its energy says whether the equations are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.progress import track

from helicoid.errors import HelicoidError
from helicoid.model.inertia import Array
from helicoid.robot import Robot

POSTURE = {"panda_joint2": -0.6, "panda_joint4": -1.8, "panda_joint6": 1.6}
DURATION, STEP = 2.0, 1e-3  # s


def drop(robot: Robot, folder: Path) -> Path:
    """Let the robot fall without torque or friction, and draw the fall; returns the picture's path."""
    try:
        import matplotlib
    except ImportError as error:
        raise HelicoidError("the demo draws with matplotlib: pip install 'helicoid[plot]'") from error
    matplotlib.use("Agg")
    q = robot.neutral()
    for name, angle in POSTURE.items():
        q[robot.joint_names.index(name)] = angle
    t, Q, V = _fall(robot, q)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{robot.name}_drop.png"
    _draw(robot, t, Q, V, path)
    return path


def _fall(robot: Robot, q: Array) -> tuple[Array, Array, Array]:
    """Runge-Kutta of fourth order on the configuration manifold, joint torques zero."""
    n = round(DURATION / STEP)
    Q, V = np.empty((n + 1, robot.nq)), np.empty((n + 1, robot.nv))
    v, tau, h = np.zeros(robot.nv), np.zeros(robot.nv), STEP
    Q[0], V[0] = q, v
    for k in track(range(n), "Falling", transient=True):
        v1, a1 = v, robot.forward_dynamics(q, v, tau)
        v2, q2 = v + h / 2 * a1, robot.integrate(q, h / 2 * v1)
        a2 = robot.forward_dynamics(q2, v2, tau)
        v3, q3 = v + h / 2 * a2, robot.integrate(q, h / 2 * v2)
        a3 = robot.forward_dynamics(q3, v3, tau)
        v4, q4 = v + h * a3, robot.integrate(q, h * v3)
        a4 = robot.forward_dynamics(q4, v4, tau)
        q = robot.integrate(q, h / 6 * (v1 + 2 * v2 + 2 * v3 + v4))
        v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        Q[k + 1], V[k + 1] = q, v
    return np.linspace(0.0, DURATION, n + 1), Q, V


def _draw(robot: Robot, t: Array, Q: Array, V: Array, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, (arm, angles, energies) = plt.subplots(
        1, 3, figsize=(15, 4.6), layout="constrained", width_ratios=(1, 1.3, 1.3)
    )
    links = [name for name in robot.link_names if robot.model.frame(name).body >= 0]
    shown = np.linspace(0, 0.45, 10)
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(shown)))
    for time, color in zip(shown, colors, strict=True):
        k = round(time / STEP)
        points = np.array([[0.0, 0.0, 0.0], *(robot.pose(link)(Q[k])[:3, 3] for link in links)])
        label = f"{time:.2f} s" if time in (shown[0], shown[-1]) else None
        arm.plot(points[:, 0], points[:, 2], "o-", color=color, linewidth=2, markersize=3, label=label)
    arm.set(title="The first half second, seen from the side", xlabel="x (m)", ylabel="z (m)", aspect="equal")
    arm.legend(loc="best", frameon=False)

    for k, name in enumerate(robot.joint_names):
        angles.plot(t, Q[:, k], label=name)
    angles.set(title="Joint angles (limits not enforced)", xlabel="time (s)", ylabel="rad")
    angles.legend(fontsize="small", frameon=False)

    kinetic, potential = robot.kinetic_energy(Q, V), robot.potential_energy(Q)
    total = kinetic + potential
    energies.plot(t, kinetic, label="kinetic")
    energies.plot(t, potential, label="potential")
    drift = float(np.abs(total - total[0]).max())
    energies.plot(t, total, "k--", label=f"total (drift at most {drift:.1e} J)")
    energies.set(title="Energy", xlabel="time (s)", ylabel="J")
    energies.legend(fontsize="small", frameon=False)
    for axes in (arm, angles, energies):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{robot.name}, dropped: no torque, no friction")
    figure.savefig(path, dpi=120)
    plt.close(figure)
