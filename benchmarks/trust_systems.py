"""Systems of `benchmarks.mpc_trust`: problems, targets within and out of reach, exact and wrong plants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

import helicoid as hc
from helicoid.mpc import Problem

PERIOD, SUBSTEPS = 0.02, 10


@dataclass
class Case:
    """A system: its problem, start, random targets and plants, and the excess over its limits.

    A target is a point, the number that is called `goal`; `place` is where the system has it. A plant, right
    or wrong, gives the states within one period from a state and a control. The first `split` elements of the
    state are positions. `limit` is that of the controls.
    """

    name: str
    problem: Problem
    start: np.ndarray
    goal: str
    place: Callable[[np.ndarray], np.ndarray]
    target: Callable[[np.random.Generator], np.ndarray]
    plant: Callable[[np.random.Generator, bool], Callable[[np.ndarray, np.ndarray], np.ndarray]]
    split: int
    excess: Callable[[np.ndarray], dict[str, float]]
    limit: np.ndarray


def direction(rng: np.random.Generator, lower: float, upper: float, size: int = 3) -> np.ndarray:
    """A random point at a distance between two."""
    d = rng.normal(size=size)
    return np.asarray(d / np.linalg.norm(d) * rng.uniform(lower, upper))


def arm(name: str, robot: hc.Robot, frame: str, start: np.ndarray, base: np.ndarray, reach: float) -> Case:
    """A robot arm with targets up to twice its reach."""
    problem = Problem(robot, horizon=20, dt=PERIOD)
    problem.add_position_cost(frame, np.zeros(3), weight=50.0, end_weight=500.0)
    problem.add_velocity_cost(0.2, end_weight=5.0)
    problem.add_torque_cost(1e-3)
    problem.add_limits()
    start = np.concatenate([start, np.zeros(robot.nv)])

    def target(rng: np.random.Generator) -> np.ndarray:
        return base + direction(rng, 0.2 * reach, 2.0 * reach)

    def place(x: np.ndarray) -> np.ndarray:
        return np.asarray(robot.pose(frame)(x[: robot.nq])[:3, 3])

    size = np.where(np.isfinite(robot.limits.effort), robot.limits.effort, 10.0)
    with_friction = robot.with_joints(friction=0.005 * size, damping=0.005 * size)
    plant = plant_of(robot.forward_dynamics, with_friction.forward_dynamics, robot)
    excess, limit = excess_of(robot), robot.limits.effort
    return Case(name, problem, start, "position", place, target, plant, robot.nq, excess, limit)


def on_four_feet() -> tuple[hc.Robot, Any]:
    """The bundled quadruped with fixed feet, and its standing configuration."""
    robot = hc.load("quadruped", base="floating")
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    feet = [link for link in robot.link_names if link.endswith("_foot")]
    q[2] -= min(robot.pose(foot)(q)[2, 3] for foot in feet)
    for foot in feet:
        robot = robot.with_contact(foot, kind="point", q=q)
    return robot, q


def quadruped() -> Case:
    """The trunk of a quadruped on four feet, with targets up to 40 cm away, most of them out of reach."""
    robot, q = on_four_feet()
    problem = Problem(robot, horizon=15, dt=PERIOD)
    goal = problem.parameter("trunk", q[:3])
    problem.add_cost("place", problem.q[:3] - goal, 100.0, 1000.0)
    problem.add_posture_cost(q, 1.0, 1.0)
    problem.add_velocity_cost(0.1, 1.0)
    problem.add_control_cost(np.concatenate([np.full(18, 1e-4), np.full(12, 1e-6)]))
    problem.add_torque_cost(1e-4, reference=np.zeros(18))
    problem.add_limits()
    x0 = np.concatenate([q, np.zeros(robot.nv)])

    def held(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.asarray(robot.constrained_forward_dynamics.with_options(stabilisation=20.0)(q, v, tau)[0])

    def target(rng: np.random.Generator) -> np.ndarray:
        return q[:3] + direction(rng, 0.02, 0.4)

    plant, limit = plant_of(held, held, robot), np.where(robot.limits.effort > 0, robot.limits.effort, np.inf)
    limit[list(robot.unactuated)] = np.inf
    return Case(
        *("quadruped on its feet", problem, x0, "trunk", lambda x: x[:3], target, plant, robot.nq),
        *(excess_of(robot), limit),
    )


Law = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def plant_of(right: Law, wrong: Law, robot: hc.Robot) -> Callable[[np.random.Generator, bool], Any]:
    """Plants of a robot, from accelerations of (q, v, τ); the wrong one is 20 % heavier or lighter."""

    def plant(rng: np.random.Generator, is_wrong: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        share = rng.choice([-0.2, 0.2]) if is_wrong else 0.0
        law = wrong if is_wrong else right

        def advance(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
            """Heavier by a share: the same motion as with less torque against friction and damping.

            Steps of order 2: those of Euler add more to velocities than the tolerance of the limits.
            """
            states, h, acting = [x], PERIOD / SUBSTEPS, tau / (1 + share)
            for _ in range(SUBSTEPS):
                q, v = states[-1][: robot.nq], states[-1][robot.nq :]
                middle = v + h / 2 * law(q, v, acting)
                a = law(robot.integrate(q, h / 2 * v), middle, acting)
                states.append(np.concatenate([robot.integrate(q, h * middle), v + h * a]))
            return np.array(states[1:])

        return advance

    return plant


def excess_of(robot: hc.Robot) -> Callable[[np.ndarray], dict[str, float]]:
    """Excess of states over a robot's limits, relative to them."""
    limits = robot.limits
    half = np.where(np.isfinite(limits.upper - limits.lower), (limits.upper - limits.lower) / 2, np.inf)

    def excess(x: np.ndarray) -> dict[str, float]:
        q, v = x[:, : robot.nq], x[:, robot.nq :]
        with np.errstate(invalid="ignore"):
            outside = np.maximum(q - limits.upper, limits.lower - q) / half
        return {
            "velocity": float((np.abs(v) / limits.velocity).max() - 1),
            "position": float(np.nan_to_num(outside, nan=-1.0).max()),
        }

    return excess


def quadrotor() -> Case:
    """A planar quadrotor: x, z, angle and their rates, two thrusts; targets beyond walls and ceiling."""
    x, u = ca.SX.sym("x", 6), ca.SX.sym("u", 2)
    mass, arm_length, inertia, g = 1.0, 0.2, 0.02, 9.81
    m = ca.SX.sym("mass")

    def rate(mass: Any) -> ca.SX:
        total, turn = u[0] + u[1], arm_length * (u[1] - u[0]) / inertia
        return ca.vertcat(x[3:], -total * ca.sin(x[2]) / mass, total * ca.cos(x[2]) / mass - g, turn)

    problem = Problem.from_ode(x, u, rate(mass), horizon=25, dt=0.04)
    goal = problem.parameter("goal", [0.0, 0.0])
    problem.add_cost("position", x[:2] - goal, 10.0, end_weight=100.0)
    problem.add_cost("rest", x[2:], 0.5, end_weight=5.0)
    problem.add_cost("effort", u - mass * g / 2, 0.01)
    problem.add_constraint("thrust", u, 0.0, 10.0, scale=0.1)
    problem.add_constraint("wall", x[:2], -1.0, 1.0)
    problem.add_constraint("speed", x[3:5], -2.0, 2.0, scale=0.5)
    f = ca.Function("f", [x, u, m], [rate(m)])

    def plant(rng: np.random.Generator, wrong: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        true = mass * (1 + (rng.choice([-0.2, 0.2]) if wrong else 0.0))

        def advance(state: np.ndarray, control: np.ndarray) -> np.ndarray:
            h, states = 0.04 / SUBSTEPS, [state]
            for _ in range(SUBSTEPS):
                s = states[-1]
                k1 = np.array(f(s, control, true)).ravel()
                k2 = np.array(f(s + h / 2 * k1, control, true)).ravel()
                k3 = np.array(f(s + h / 2 * k2, control, true)).ravel()
                k4 = np.array(f(s + h * k3, control, true)).ravel()
                states.append(s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
            return np.array(states[1:])

        return advance

    def excess(states: np.ndarray) -> dict[str, float]:
        return {
            "velocity": float(np.abs(states[:, 3:5]).max() / 2.0 - 1),
            "position": float(np.abs(states[:, :2]).max() - 1),
        }

    def target(rng: np.random.Generator) -> np.ndarray:
        return direction(rng, 0.2, 2.5, 2)

    start, limit = np.zeros(6), np.full(2, 10.0)
    return Case(
        *("quadrotor (plane)", problem, start, "goal", lambda x: x[:2], target, plant, 3, excess, limit)
    )


def cases(quick: bool) -> list[Callable[[], Case]]:
    """Constructors of the systems."""

    def chain() -> Case:
        robot = hc.serial_chain(3)
        frame = robot.link_names[-1]
        return arm("arm of 3 joints", robot, frame, np.full(3, 0.3), np.array([0, 0, 0.09]), 0.82)

    def panda() -> Case:
        start = np.array([0, -0.8, 0, -2.4, 0, 1.6, 0.8])
        robot = hc.load("panda").with_joints(friction=0.0)  # as its plant
        return arm("Panda", robot, "panda_link8", start, np.array([0, 0, 0.33]), 0.9)

    def ur5() -> Case:
        start = np.array([0, -1.2, 1.5, -1.0, -1.57, 0.0])
        return arm("UR5", hc.load("ur5"), "tool0", start, np.array([0, 0, 0.1]), 0.95)

    return [chain, quadrotor] if quick else [chain, quadrotor, panda, ur5, quadruped]
