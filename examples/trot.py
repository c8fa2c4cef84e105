"""Trot of a quadruped by model predictive control with contact phases.

    python examples/trot.py [picture.png]

Stands, trots three strides forward at 0.4 m/s and stands again. Draws where the feet are and what they carry.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import helicoid as hc

FEET = ("FL_foot", "RR_foot", "FR_foot", "RL_foot")
DT = 0.025  # s
STAND = hc.mpc.Phase(0.25, contacts=FEET)
TROT = [hc.mpc.Phase(0.25, contacts=FEET[:2]), hc.mpc.Phase(0.25, contacts=FEET[2:])]
RADIUS = 0.02  # m, of the feet

Array = NDArray[np.float64]


def walking_problem(robot: hc.Robot, q: Array) -> hc.mpc.Problem:
    """Optimal control problem over half a second: commanded velocity, level trunk, low effort."""
    problem = hc.mpc.Problem(robot, horizon=20, dt=DT, phases=[STAND, *TROT], foot_radius=RADIUS)
    velocity = problem.parameter("velocity", [0.4, 0.0, 0.0])
    problem.add_cost("speed", problem.v[3:6] - velocity, 20.0, 20.0)
    level = [50.0, 50.0, 50.0, 0.0, 0.0, 100.0, *np.ones(12)]
    problem.add_posture_cost(q, level, level)
    calm = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, *np.full(12, 0.01)]
    problem.add_velocity_cost(calm, calm)
    problem.add_torque_cost(1e-3, reference=np.zeros(18))
    problem.add_control_cost([*np.full(18, 1e-5), *np.full(12, 1e-6)])
    problem.add_swing_cost(height=0.05, weight=1000.0)
    problem.add_friction_cone(friction=0.6)
    problem.add_limits(position=None)
    return problem


def walk(robot: hc.Robot, q: Array, steps: int) -> tuple[Array, list[dict[str, Array]]]:
    """Configurations and contact forces of each step."""
    problem = walking_problem(robot, q)
    controller = hc.mpc.Controller(problem, iterations=2)
    controller.set(phases=[STAND, *3 * TROT, hc.mpc.Phase(np.inf, contacts=FEET)])
    v, path, forces = np.zeros(robot.nv), [q], []
    for step in range(steps):
        controller.set(velocity=[0.4 * min(1.0, max(0.0, (64 - step) / 20)), 0.0, 0.0])  # slower at the end
        controller.step(q, v)
        if not controller.ok:
            print(f"{step * DT:.3f} s: {controller.message}")
        plan = controller.plan
        q, v = plan.q[1], plan.v[1]  # what the model does; a robot would be measured here
        path.append(q)
        forces.append({name: force[0] for name, force in plan.forces.items()})
    return np.array(path), forces


def draw(robot: hc.Robot, path: Array, forces: list[dict[str, Array]]) -> plt.Figure:
    """Figure of the motion of the legs, heights of the feet, and contact forces."""
    t = DT * np.arange(len(path))
    figure, (scene, lifts, loads) = plt.subplots(
        3, 1, figsize=(9, 7.2), height_ratios=(2, 1, 1.2), layout="constrained"
    )
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(path)))
    for k in range(0, len(path), 9):
        for side, line in (("L", "-"), ("R", ":")):
            for leg in (f"F{side}", f"R{side}"):
                links = [f"{leg}_thigh", f"{leg}_calf", f"{leg}_foot"]
                points = np.array([robot.pose(link)(path[k])[[0, 2], 3] for link in links])
                scene.plot(*points.T, line, color=colours[k], linewidth=1.6 if side == "L" else 1.0)
        hips = np.array([robot.pose(f"{leg}_thigh")(path[k])[[0, 2], 3] for leg in ("FL", "RL")])
        scene.plot(*hips.T, color=colours[k], linewidth=2.5)
    scene.axhline(0.0, color="0.3", linewidth=1)
    scene.set(
        xlabel="x (m)",
        ylabel="z (m)",
        aspect="equal",
        title="A quadruped trots, drawn every 0.225 s (right legs dotted)",
    )
    for number, foot in enumerate(FEET):
        z = np.asarray(robot.pose(foot)(path))[:, 2, 3] - RADIUS
        lifts.plot(t, 100 * z, color=f"C{number}", label=foot)
        loads.step(t[:-1], [one[foot][2] for one in forces], where="post", color=f"C{number}")
    lifts.set(ylabel="height (cm)", xlim=(0, t[-1]))
    lifts.legend(ncols=4, frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    loads.set(xlabel="time (s)", ylabel="normal force (N)", xlim=(0, t[-1]))
    for axis in (scene, lifts, loads):
        axis.grid(alpha=0.25)
    return figure


def main() -> None:
    folder = Path(__file__).parent / "output"
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "trot.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    q[2] += RADIUS - min(robot.pose(foot)(q)[2, 3] for foot in FEET)
    path, forces = walk(robot, q, 84)
    draw(robot, path, forces).savefig(picture, dpi=130)
    print(f"{path[-1, 0]:.2f} m in {DT * (len(path) - 1):.2f} s; {picture}")


if __name__ == "__main__":
    main()
