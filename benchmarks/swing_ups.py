"""Swing-ups with torques as controls, beside ipopt: `python -m benchmarks.swing_ups [--variants N]`.

A pendulum, a cart with a pole, a double pendulum and an acrobot hang at rest and shall stand, with motors too
weak to lift them at once. Nothing is guessed: the search starts from hanging still. Variant 0 is as stated in
`TASKS`; the others have masses, lengths, times and limits drawn around that by their number. The solver was
made on variants 0 to 4; those from 100 on were not looked at.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

import helicoid as hc
from helicoid.mpc import Problem


@dataclass(frozen=True)
class Task:
    """Masses (kg) and lengths (m) of the rods, efforts (N or N·m), time (s), where each joint shall be."""

    masses: tuple[float, ...]
    lengths: tuple[float, ...]
    efforts: tuple[float, ...]
    duration: float
    target: tuple[float, ...]
    cart: float | None = None  # its mass (kg)


TASKS = {
    "pendulum": Task((1.0,), (1.0,), (2.0,), 4.0, (np.pi,)),
    "cart-pole": Task((0.3,), (1.0,), (8.0, 0.0), 3.0, (0.0, np.pi), cart=1.0),
    "double pendulum": Task((1.0, 0.8), (1.0, 0.8), (6.0, 6.0), 3.0, (np.pi, 0.0)),
    "acrobot": Task((1.0, 1.0), (1.0, 1.0), (0.0, 10.0), 4.0, (np.pi, 0.0)),
}
STEP = 0.05  # s


def varied(task: Task, variant: int) -> Task:
    """The task with other numbers; variant 0 is the task itself."""
    if variant == 0:
        return task
    rng = np.random.default_rng(variant)

    def around(values: tuple[float, ...], by: float) -> tuple[float, ...]:
        return tuple(float(x) for x in np.array(values) * np.exp(rng.uniform(-by, by, len(values))))

    return Task(
        around(task.masses, 0.3),
        around(task.lengths, 0.3),
        around(task.efforts, 0.2),
        STEP * round(around((task.duration,), 0.25)[0] / STEP),
        task.target,
        None if task.cart is None else around((task.cart,), 0.3)[0],
    )


def robot_of(task: Task) -> hc.Robot:
    """Uniform rods that hang along -z and swing in the x-z plane, the first on a cart if there is one."""
    parts, parent, at = ['<link name="base"/>'], "base", 0.0
    if task.cart is not None:
        parts += [_body("cart", task.cart, 0.0), _joint("rail", "prismatic", parent, "cart", 0.0, "1 0 0")]
        parent = "cart"
    for k, (mass, length) in enumerate(zip(task.masses, task.lengths, strict=True)):
        parts += [_body(f"rod_{k}", mass, length), _joint(f"joint_{k}", "continuous", parent, f"rod_{k}", at)]
        parent, at = f"rod_{k}", -length
    robot = hc.load(f'<robot name="swing_up">{"".join(parts)}</robot>')
    return robot.with_actuators(*(n for n, e in zip(robot.joint_names, task.efforts, strict=True) if e > 0))


def _body(name: str, mass: float, length: float) -> str:
    across = mass * length**2 / 12 + 1e-3
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {-length / 2}"/><mass value="{mass}"/>'
        f'<inertia ixx="{across}" iyy="{across}" izz="2e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(name: str, kind: str, parent: str, child: str, at: float, axis: str = "0 1 0") -> str:
    limit = 'lower="-3" upper="3" ' if kind == "prismatic" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 {at}"/><axis xyz="{axis}"/><limit {limit}effort="100" velocity="100"/></joint>'
    )


def swing_up(name: str, variant: int = 0, **options: Any) -> Problem:
    """The problem: stand at the end, with little effort on the way and within limits of effort."""
    task = varied(TASKS[name], variant)
    robot = robot_of(task)
    options = {"formulation": "forward_dynamics"} | options
    problem = Problem(robot, horizon=round(task.duration / STEP), dt=STEP, **options)
    problem.add_posture_cost(task.target, 0.1, 100.0)
    problem.add_velocity_cost(0.01, 10.0)
    driven = list(robot.actuated)
    problem.add_cost("effort", problem.tau[driven], 1e-2)
    limit = np.array(task.efforts)[driven]
    labels = [robot.joint_names[k] for k in driven]
    problem.add_constraint("effort_limit", problem.tau[driven], -limit, limit, scale=1 / limit, labels=labels)
    return problem


def compare(variants: range, options: dict[str, Any], with_ipopt: bool) -> None:
    """The table, and how often ours converged within 60 iterations to no more than ipopt's cost."""
    print(f"{'':18}{'variant':>8}{'iterations':>12}{'cost':>11}{'ms':>8}{'ipopt':>9}{'cost':>11}  status")
    count = good = 0
    for name, task in TASKS.items():
        for variant in variants:
            problem, rest = swing_up(name, variant, **options), np.zeros(len(task.target))
            ours = problem.solve(rest)
            ms = 1e3 * problem._compiled.engine.result("seconds")
            line = f"{name:18}{variant:8d}{ours.iterations:12d}{ours.cost:11.5f}{ms:8.1f}"
            if with_ipopt:
                other = problem.solve(rest, solver="ipopt", max_iterations=1000)
                line += f"{other.iterations:9d}{other.cost:11.5f}"
                good += ours.success and ours.iterations <= 60 and ours.cost < 1.001 * other.cost
            print(f"{line}  {ours.status}", flush=True)
            count += 1
    if with_ipopt:
        print(f"within 60 iterations to no more than the cost of ipopt: {good} of {count}")


def main() -> None:
    """The table for some variants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first variant")
    parser.add_argument("--variants", type=int, default=1, help="how many")
    parser.add_argument("--hessian", default="auto")
    parser.add_argument("--integrator", default="constant_acceleration")
    parser.add_argument("--formulation", default="forward_dynamics")
    parser.add_argument("--alone", action="store_true", help="without ipopt")
    given = parser.parse_args()
    options = {key: getattr(given, key) for key in ("hessian", "integrator", "formulation")}
    compare(range(given.first, given.first + given.variants), options, not given.alone)


if __name__ == "__main__":
    main()
