"""Identification during model predictive control, in the configuration that a thesis gives for it.

    python examples/thesis_adaptive_mpc.py [picture.png]

Algorithm 4 of a thesis from Heidelberg, "System Identification during Nonlinear Model Predictive Control",
as it is stated there: shooting over 2 nodes, a final time that is free between one and three periods of
10 ms, torques within ±100 N·m, at most 10 iterations, the distance of the final state from the desired one as
the only cost; sensors without noise that give q, q̇, q̈ and the wrench in every joint; true parameters
that change at random. What should come out: from wrenches all links but the first are identified, and two
consecutive samples are enough for that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import helicoid as hc

Array = NDArray[np.float64]

DT, NODES = 1 / 100, 2  # s, and how many intervals of shooting
TORQUE = 100.0  # N·m
CHANGED = 1.0  # N, N·m: a wrench that no estimate of the same robot leaves unexplained
STEPS, CHANGE_EVERY, TARGET_EVERY = 300, 100, 40
START = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
POSTURES = np.array([[0.6, -0.3, 0.4, -1.9, 0.3, 1.9, 0.2], START])


class Record(NamedTuple):
    """By step: distance of the joints (rad), errors of the wrenches (N, N·m) and of θ."""

    distance: Array
    wrench_error: Array
    theta_error: Array


def optimal_control(robot: hc.Robot) -> hc.mpc.Problem:
    """min Φ(x(t_f)) with t_f free; the model's θ are all inertial parameters."""
    # Over two intervals a constant acceleration moves joints half as far as Euler's step: such short plans
    # are timid then, and after 40 steps are at 11 % of the way, and not at 2 %.
    problem = hc.mpc.Problem(
        robot,
        horizon=NODES,
        dt=DT,
        formulation="forward_dynamics",
        duration=(DT, 3 * DT),
        integrator="semi_implicit",
    )
    problem.add_posture_cost(POSTURES[0], 0.0, end_weight=1.0)
    problem.add_velocity_cost(0.0, end_weight=3e-3)
    problem.add_control_cost(1e-9)  # the thesis has none; it makes the torques unique
    problem.add_constraint("torque_limit", problem.tau, -TORQUE, TORQUE, scale=1 / TORQUE)
    return problem


def changed(parameters: Array, rng: np.random.Generator) -> Array:
    """Every body lighter or heavier by up to a fifth."""
    return np.asarray(parameters * np.repeat(rng.uniform(0.8, 1.2, len(parameters) // 10), 10))


def run(robot: hc.Robot, seed: int = 0, steps: int = STEPS) -> Record:
    """Algorithm 4: measure, solve a linear least-squares problem for θ, solve for the torques, act."""
    rng = np.random.default_rng(seed)
    parametric, links = robot.parametric("inertia"), [body.name for body in robot.model.bodies]
    problem, nominal = optimal_control(parametric), robot.parameters.values
    estimator = hc.OnlineIdentifier(robot, ("inertia",), wrenches=links, noise=1e-9)
    q, v, true = START, np.zeros(robot.nv), nominal
    actions: list[Array] = []
    window: list[tuple[Array, ...]] = []  # the last two samples: without noise they determine θ
    rows = []
    for step in range(steps):
        if step % CHANGE_EVERY == 0:
            true = changed(nominal, rng)
        target = POSTURES[step // TARGET_EVERY % 2]
        if not actions:  # solve again from the measured state, with what is known by now
            problem.set(theta=estimator.theta, posture=target)
            actions = list(problem.solve(q, v, solver="ipopt", max_iterations=10).tau)
        tau = np.clip(actions.pop(0), -TORQUE, TORQUE)
        a = parametric.forward_dynamics(q, v, tau, true)
        measured = parametric.joint_wrenches(q, v, a, true)
        if np.abs(parametric.joint_wrenches(q, v, a, estimator.theta) - measured).max() > CHANGED:
            window = []  # θ has changed: what was measured before is of another robot
        window = [*window[-1:], (q, v, a, measured.ravel())]
        estimator.update_window(*(np.array(values) for values in zip(*window, strict=True)))
        left = parametric.joint_wrenches(q, v, a, estimator.theta) - measured
        wrong = estimator.theta - true
        rows.append([np.linalg.norm(q - target), np.abs(left).max(), np.abs(wrong[10:]).max()])
        motion = hc.simulate(
            parametric, q, v, duration=DT, dt=DT, controller=tau, theta=true, substeps=4, friction=False
        )
        q, v = motion.q[-1], motion.v[-1]
    return Record(*np.array(rows).T)


def draw(record: Record, path: Path) -> None:
    """The distance from the desired posture, and the error of the estimate."""
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
    t = DT * np.arange(len(record.distance))
    above.plot(t, record.distance, color="#2a6cb8")
    above.set(ylabel="distance of the joints (rad)", title="Control, while all bodies change every second")
    below.semilogy(t, np.maximum(record.theta_error, 1e-16), color="#c8324a")
    title = "Worst error of the 60 parameters of links 2 to 7"
    below.set(xlabel="time (s)", ylabel="kg, kg·m, kg·m²", title=title)
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    robot = hc.load("panda")
    links = [body.name for body in robot.model.bodies]
    identifiable = hc.identifiability(robot, wrenches=links)
    print("parameters of each link that wrenches tell: alone, only in combination, not at all")
    for link, (alone, combined, never) in identifiable.of_links().items():
        print(f"  {link}: {alone:2d} {combined:2d} {never:2d}")
    record = run(robot)
    print("\nworst errors of the estimate: of its wrenches (N, N·m), of the parameters of links 2 to 7")
    print("step   distance (rad)   wrenches   parameters")
    for start in range(0, STEPS, CHANGE_EVERY):
        for step in (start, start + 1, start + 2, start + CHANGE_EVERY - 1):
            distance, wrench, theta = (values[step] for values in record)
            print(f"{step:4d} {distance:16.4f} {wrench:10.1e} {theta:12.1e}")
    if len(sys.argv) > 1:
        draw(record, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
