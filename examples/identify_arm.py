"""From a URDF to an identified URDF: an arm whose description is wrong, and two recordings of it.

    python examples/identify_arm.py [folder]

The "real" arm is a UR5 whose masses, friction and rotor inertias differ from its description. It tracks two
excitation trajectories, recorded by noisy sensors. The robot identified from the description and the first
recording predicts the torques of the second. Output: both recordings, the report, the URDF and a picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import helicoid as hc

Array = NDArray[np.float64]
RATE = 250.0  # Hz, of the sensors


def real_arm(described: hc.Robot) -> hc.Robot:
    """An arm of the same kinematics: masses up to 30 % off, joint friction, and rotor inertia."""
    rng = np.random.default_rng(1)
    bodies = [rng.uniform(0.7, 1.3) * body.inertia.parameters for body in described.model.bodies]
    nv = described.nv
    return described.with_parameters(np.concatenate(bodies)).with_joints(
        damping=rng.uniform(1.0, 3.0, nv),
        friction=rng.uniform(0.5, 2.0, nv),
        armature=rng.uniform(0.05, 0.2, nv),
    )


def recorded(arm: hc.Robot, described: hc.Robot, motion: hc.Excitation, seed: int) -> hc.Log:
    """Log of the arm tracking a trajectory with a controller that uses the nominal model."""
    # Rotors, which the description leaves out, are what a drive has to move at the wrist.
    gains = np.max([np.diag(described.mass_matrix(q)) for q in motion.q[::50]], axis=0) + 0.3

    def controller(t: float, q: Array, v: Array) -> Array:
        q_ref, v_ref, a_ref = (values[0] for values in motion.at([t]))
        return described.inverse_dynamics(q_ref, v_ref, a_ref) + gains * (
            900 * (q_ref - q) + 60 * (v_ref - v)
        )

    run = hc.simulate(arm, motion.q[0], motion.v[0], float(motion.t[-1]), controller, dt=1e-3, substeps=5)
    sensors = hc.Sensors(noise={"q": 2e-5, "v": 2e-3, "tau": 0.3}, rate=RATE, seed=seed)
    return hc.Log.from_trajectory(sensors(run), source=f"run{seed}.csv")


def save(log: hc.Log, path: Path) -> None:
    """As the command line reads it: t, q0 ..., dq0 ..., tau0 ..."""
    columns = [f"{kind}{k}" for kind in ("q", "dq", "tau") for k in range(log.q.shape[1])]
    table = np.column_stack([log.t, log.q, log.v, log.tau])
    np.savetxt(path, table, delimiter=",", header=",".join(["t", *columns]), comments="", fmt="%.9g")


def draw(log: hc.Log, described: Array, identified: Array, names: tuple[str, ...]) -> plt.Figure:
    """Measured torques of the second run against those of the description and of the identified robot."""
    figure, axes = plt.subplots(3, 2, figsize=(10, 6.5), sharex=True, layout="constrained")
    for k, axis in enumerate(axes.flat):
        axis.plot(log.t, log.tau[:, k], color="0.75", linewidth=2.5, label="measured")
        axis.plot(log.t, described[:, k], color="tab:red", linewidth=1, label="description")
        axis.plot(log.t, identified[:, k], color="tab:blue", linewidth=1, label="identified")
        axis.set_title(names[k], fontsize=10)
        axis.set_ylabel("torque (N·m)")
        axis.grid(alpha=0.25)
    for axis in axes[-1]:
        axis.set_xlabel("time (s)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "output" / "identify_arm"
    folder.mkdir(parents=True, exist_ok=True)
    described = hc.load("ur5")
    arm = real_arm(described)
    motions = [hc.excitation(described, 10.0, acceleration=4.0, seed=seed, time_limit=15) for seed in (0, 7)]
    first, second = (recorded(arm, described, motion, k + 1) for k, motion in enumerate(motions))
    for log in (first, second):
        save(log, folder / log.source)
    described.to_urdf(folder / "described.urdf")

    result = hc.identify(described, first)
    print(result.score(second))
    result.report(folder / "report.html", validation=second)
    result.to_urdf(folder / "identified.urdf")

    guess = described.inverse_dynamics(second.q, second.v, np.gradient(second.v, second.t, axis=0))
    picture = draw(second, guess, result.predict(second), result.regression.row_names)
    picture.savefig(folder / "identify_arm.png", dpi=120)
    print(folder)


if __name__ == "__main__":
    main()
