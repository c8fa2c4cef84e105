"""A Panda whose target leaves its reach and comes back, drawn: `python -m benchmarks.mpc_out_of_reach FILE`.

The four costs that docs/how-to/mpc.md recommends, default settings. The target moves from the flange
to a point far beyond the arm's reach in two seconds, waits there for two, and returns. The plant is MuJoCo
with its own dynamics, and Coulomb friction and damping that the controller does not know.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.mpc import Controller, Problem

OFFSET_OUT_OF_REACH = np.array([0.9, 0.7, 0.9])  # m, from the flange to where the target waits
PERIOD, SUBSTEPS = 0.02, 20
FRAME, START = "panda_link8", np.array([0, -0.8, 0, -2.4, 0, 1.6, 0.8])


def task(robot: hc.Robot) -> Problem:
    """The flange at a target, near a posture, slowly and with little torque, within all limits."""
    problem = Problem(robot, horizon=20, dt=PERIOD)
    problem.add_position_cost(FRAME, np.zeros(3), weight=50.0, end_weight=500.0)
    problem.add_posture_cost(START, weight=0.5, end_weight=0.5)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    return problem


def share(t: float) -> float:
    """Position of the target on its way out, 0 to 1."""
    return float(np.sin(np.pi / 2 * np.clip(min(t / 2, (6 - t) / 2), 0, 1)) ** 2)


def plant(robot: hc.Robot) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """An arm in MuJoCo, with friction of 0.5 % of each effort and as much damping."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        robot.to_urdf(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = PERIOD / SUBSTEPS, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.dof_frictionloss[:] = model.dof_damping[:] = 0.005 * robot.limits.effort
    return model, mujoco.MjData(model)


def run(seconds: float = 9.0) -> dict[str, Array]:
    """Rows by period: time, target, flange, velocities as a share of their limits, torques likewise, ok."""
    robot = hc.load("panda")
    place, controller = robot.pose(FRAME), Controller(task(robot))
    model, data = plant(robot)
    data.qpos[:] = START
    home = place(START)[:3, 3]
    rows: dict[str, list[Array]] = {name: [] for name in ("t", "target", "flange", "v", "tau", "ok")}
    for k in range(round(seconds / PERIOD)):
        target = home + share(k * PERIOD) * OFFSET_OUT_OF_REACH
        controller.set(position=target)
        tau = controller.step(data.qpos, data.qvel)
        values = (
            *(k * PERIOD, target, place(data.qpos)[:3, 3], data.qvel / robot.limits.velocity),
            *(tau / robot.limits.effort, controller.ok),
        )
        for row, value in zip(rows.values(), values, strict=True):
            row.append(np.array(value))
        data.qfrc_applied[:] = tau
        mujoco.mj_step(model, data, SUBSTEPS)
    return {name: np.array(values) for name, values in rows.items()}


def draw(rows: dict[str, Array], path: str) -> None:
    """Plot target and flange from above and over time, and the utilisation of the limits."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 3.4), width_ratios=(1, 1.2, 1.2))
    t, apart = rows["t"], np.linalg.norm(rows["target"] - rows["flange"], axis=1)
    axes[0].plot(*rows["target"][:, :2].T, color="C3", label="target")
    axes[0].plot(*rows["flange"][:, :2].T, color="C0", label="flange")
    axes[0].plot(0, 0, "o", color="0.4")
    axes[0].set(xlabel="x (m)", ylabel="y (m), from above", aspect="equal")
    axes[0].legend(frameon=False)
    axes[1].plot(t, apart, color="C0")
    axes[1].set(xlabel="time (s)", ylabel="from flange to target (m)")
    axes[2].plot(t, 100 * rows["v"], linewidth=0.9)
    axes[2].axhline(100, color="0.4", linestyle="--", linewidth=0.8)
    axes[2].axhline(-100, color="0.4", linestyle="--", linewidth=0.8)
    axes[2].set(xlabel="time (s)", ylabel="velocities (% of their limits)")
    for axis in axes[1:]:
        axis.axvspan(2, 4, color="0.93")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Write the picture and print its figures."""
    rows = run()
    waiting = (rows["t"] > 3) & (rows["t"] < 4)
    apart = np.linalg.norm(rows["target"] - rows["flange"], axis=1)
    speeds, used = 100 * np.abs(rows["v"]).max(axis=1), 100 * np.abs(rows["tau"]).max()
    print(f"ok in {100 * rows['ok'].mean():.1f} % of {len(apart)} steps; torque at most {used:.0f} %")
    print(f"velocities at most {speeds.max():.1f} % of their limits")
    print(f"target {100 * apart[waiting].min():.0f} cm away: at most {speeds[waiting].max():.2f} %")
    print(f"at the end {1000 * apart[-1]:.1f} mm away, {speeds[-1]:.2f} %")
    draw(rows, sys.argv[1] if len(sys.argv) > 1 else "mpc_out_of_reach.png")


if __name__ == "__main__":
    main()
