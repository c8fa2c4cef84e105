"""Garbage numbers and states into controllers that solve programs: `python -m tests.control.number_fuzz`.

Numbers come by `set`, which may refuse them, and straight into the vector that compiled code reads, as an
exported library in C takes them. Run it under sanitizers as `make test-sanitize` runs the tests:

    make fuzz STEPS=1000000
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.control import DifferentialIK, PointContact, PoseTask, PostureTask, WholeBody

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ABSURD = (
    *(0.0, -1.0, 1e-3, 1.0, 1e3, 1e9, 5e-324, 1e-300, 1e-160, 1e-30, 1e-12, 1e12, 1e30, 1e160, 1e300),
    *(np.inf, -np.inf, np.nan, -1e300, -5e-324, 1e200),
)


def arm(priorities: Any) -> DifferentialIK:
    robot = hc.load("ur5")
    q = np.array([0.0, -1.0, 1.0, 0.0, 1.0, 0.0])
    hand = PoseTask(robot.link_names[-1], robot.pose(robot.link_names[-1])(q), name="hand")
    return DifferentialIK(robot, [hand, PostureTask(q, weight=1e-6)], 0.01, priorities)


def dog(priorities: Any) -> WholeBody:
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    tasks = [PoseTask("trunk", robot.pose("trunk")(q), name="trunk"), PostureTask(q, weight=1e-3)]
    return WholeBody(robot, tasks, [PointContact(foot, 0.5, radius=0.02) for foot in FEET], 0.002, priorities)


BATCH = 10_000
"""Steps after which numbers are reported, and the seed changes."""

CONTROLLERS: dict[str, Callable[[], Any]] = {
    "DifferentialIK, weighted": lambda: arm("weighted"),
    "DifferentialIK, strict": lambda: arm("strict"),
    "WholeBody, weighted": lambda: dog("weighted"),
    "WholeBody, strict": lambda: dog("strict"),
}


def fuzz(controller: Any, steps: int, seed: int, check_every: int = 1) -> Counter[str]:
    """Step with garbage, then restore the numbers; how often each status came, and how often `set` refused.

    Raises:
        AssertionError: a command is not finite or beyond its limit, or `ok` is wrong.
    """
    rng, robot, found = np.random.default_rng(seed), controller.robot, Counter()
    start, unchecked = controller.numbers.values.copy(), False
    # Drawing a configuration takes longer than a step.
    configurations = [robot.random(rng) for _ in range(min(steps, 500))]
    for k in range(steps):
        if k % 20 == 0:
            controller.numbers.values[:] = start
            controller.reset()
            unchecked = False
        if rng.random() < 0.5:
            found["refused"] += not _change(controller, rng)
        if (written := rng.random()) < 0.03:
            share = rng.uniform(0, 0.5) if written < 0.01 else 1 / len(start)
            places = rng.random(len(start)) < share
            controller.numbers.values[places] = rng.choice(ABSURD, places.sum())
            unchecked = True
        q, v = _state(configurations, robot.nv, rng)
        command = controller.step(q, v)
        found[str(controller.status)] += 1
        assert np.all(np.isfinite(command)), (k, controller.status)
        if isinstance(controller, WholeBody):
            _check_torques(controller, command)
            if controller.ok and not unchecked and k % check_every == 0:
                check_ok(controller, q, v, command)
    controller.numbers.values[:] = start
    return found


def _change(controller: Any, rng: np.random.Generator) -> bool:
    """Change one number by `set`; whether it was accepted."""
    names = controller.numbers.names
    name = names[rng.integers(len(names))]
    entry = controller.numbers[name]
    value = controller.numbers.values[entry.at].copy()
    one = rng.choice(ABSURD) if rng.random() < 0.5 else 10 ** rng.uniform(-20, 20)
    if rng.random() < 0.5 or not value.size:
        value[:] = one
    else:
        value[rng.integers(value.size)] = one
    try:
        controller.set(**{name: value[:3] if name.endswith("_normal") else value.reshape(entry.shape)})
    except hc.InputError:
        return False
    return True


def _state(configurations: list[Array], nv: int, rng: np.random.Generator) -> tuple[Array, Array]:
    q, v = configurations[rng.integers(len(configurations))].copy(), rng.normal(size=nv)
    if rng.random() < 0.05:
        q[rng.integers(len(q))] = rng.choice(ABSURD)
    if rng.random() < 0.1:
        v *= 10 ** rng.uniform(-5, 20)
    return q, v


def _check_torques(wb: WholeBody, tau: Array) -> None:
    limit = wb.numbers.values[wb.numbers["torque_limit"].at]
    limit = np.where(limit >= 0, limit, 0.0)
    assert np.all(np.abs(tau[list(wb.robot.actuated)]) <= limit)


def check_ok(wb: WholeBody, q: Array, v: Array, tau: Array) -> None:
    """Equations of motion, friction cones and force limits of a step that says ok."""
    robot, p, q = wb.robot, wb.numbers.values, q.copy()
    q[3:7] /= np.linalg.norm(q[3:7])
    h, inertia = robot.bias(q, v, friction=False), robot.mass_matrix(q) @ wb.accelerations
    pushed = np.zeros(robot.nv)
    size = np.abs(h) + np.abs(robot.mass_matrix(q)) @ np.abs(wb.accelerations) + 9.81 * robot.mass
    for contact, name in zip(wb.formulation.contacts, wb.formulation.contact_names, strict=True):
        f, turn = wb.forces[contact.name], p[wb.numbers[f"{name}_normal"].at].reshape(3, 3)
        J = robot.jacobian(contact.frame, "world_aligned")(q)
        at = robot.pose(contact.frame)(q)[:3, :3] @ np.asarray(contact.point) - contact.radius * turn[:, 2]
        point = J[3:] + np.cross(J[:3].T, at).T
        pushed += point.T @ f
        size += np.abs(point.T) @ np.abs(f)
        friction = p[wb.numbers[f"{name}_friction"].at][0]
        local, slack = turn.T @ f, 1e-5 * (np.abs(f).max() * (1 + friction) + 9.81 * robot.mass)
        assert np.hypot(local[0], local[1]) <= friction * local[2] + slack, (name, f)
        most = p[wb.numbers[f"{name}_max_force"].at][0]
        assert -slack <= local[2] <= most + slack, (name, f)
    wrong = np.abs(inertia + h - tau - pushed)
    assert np.all(wrong <= 1e-5 * size), (wrong / size).max()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20_000, help="of all controllers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=CONTROLLERS, action="append", help="one of the controllers")
    given = parser.parse_args()
    names = given.only or list(CONTROLLERS)
    for name in names:
        controller, found, done = CONTROLLERS[name](), Counter[str](), 0
        for batch in range(-(-given.steps // len(names) // BATCH)):
            steps = min(BATCH, given.steps // len(names) - done)
            found += fuzz(controller, steps, given.seed + batch, check_every=10)
            done += steps
            counts = ", ".join(f"{status} {count}" for status, count in sorted(found.items()))
            print(f"{name}: {done} steps: {counts}", flush=True)


if __name__ == "__main__":
    main()
