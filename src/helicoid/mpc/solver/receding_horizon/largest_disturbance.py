"""Bounds of the estimated disturbance (runtime/loop/disturbance.h)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Array
from helicoid.compiler import interpreted
from helicoid.mpc.solver.engine import SqpSolver
from helicoid.mpc.structure import Structure
from helicoid.robot import Robot

EFFORT_FRACTION = 0.3  # of an effort limit
SAMPLES, STEP = 256, 1e-3  # of the rates of an ODE; of their finite differences (s)
BREAKAWAY_WIDTHS = 10.0  # at which tanh, of friction, is 1 to 4e-9: enough for light joints
MAX_BOUND = 1e6  # within which states and controls are sampled


def largest_disturbance(structure: Structure, engine: SqpSolver) -> Array:
    """Bounds of the estimate of d: torques of a robot's joints, or rates of an ODE or a vehicle.

    They follow from the constraints at construction; zero if a control of an ODE is unbounded. The change of
    dry friction of driven joints is within -1 and 0, their breakaway velocity within `BREAKAWAY_WIDTHS`.
    """
    if structure.robot is not None:
        bounds, driven = _of_joints(structure.robot), np.zeros(structure.robot.nv)
        if structure.system.disturbance.numel() == len(bounds):
            return bounds
        assert structure.friction is not None
        driven[list(structure.robot.actuated)] = 1.0
        return np.concatenate([bounds, driven, BREAKAWAY_WIDTHS * structure.friction.rest_velocity * driven])
    low, high = _bounds(structure, engine)
    nu = structure.system.nu
    if not (np.isfinite(low[:nu]) & np.isfinite(high[:nu])).all():
        # An unbounded control has no scale for d, which would wind up where the motion is blocked.
        return np.zeros(structure.system.disturbance.numel())
    return _of_rates(structure, engine, low, high)


def _of_joints(robot: Robot) -> Array:
    """A fraction of each joint's effort limit, or a gravity torque where it has none.

    The weight m of a robot at its radius of inertia r about the joint, M_jj = m r², is m g r = g √(m M_jj).
    """
    theta = [robot.theta.values] if len(robot.theta) else []
    M = np.asarray(interpreted(robot.mass_matrix, robot.neutral(), *theta))
    weight = 9.81 * np.sqrt(np.maximum(robot.mass * np.diag(M), 0.0))
    known = np.isfinite(robot.limits.effort)
    known[list(robot.unactuated)] = False
    return np.where(known, EFFORT_FRACTION * np.where(known, robot.limits.effort, 0.0), weight)


def _bounds(structure: Structure, engine: SqpSolver) -> tuple[Array, Array]:
    """The bounds of each control and each state (in the tangent space) that are rows of their own."""
    stages, size = engine.stages, structure.system.nu + structure.system.nx
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    for k, row in enumerate(stages.path_rows):
        node = 0 if row.at_first else 1  # the first one's state is given, and has no bounds
        if row.box is not None and node < structure.intervals:
            at = stages.z_at.index(row.box)
            one, other = engine["lower"][node, k] / row.factor, engine["upper"][node, k] / row.factor
            low[at], high[at] = max(low[at], min(one, other)), min(high[at], max(one, other))
    return low, high


def _of_rates(structure: Structure, engine: SqpSolver, low: Array, high: Array) -> Array:
    """The largest rates of the model at random states and controls within the bounds.

    A state without bounds is sampled within one unit of zero, or of a vehicle's initial state.
    """
    system, carried = structure.system, structure.carried
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0, -1.0))
    high = np.where(np.isfinite(high), high, low + 2.0)
    low, high = np.clip(low, -MAX_BOUND, MAX_BOUND), np.clip(high, -MAX_BOUND, MAX_BOUND)
    z = np.random.default_rng(0).uniform(np.minimum(low, high), high, (SAMPLES, len(low))).T
    start = np.zeros(system.x.numel())
    if carried is not None:  # quaternions have unit length, and rotors turn
        own = system.units[2 * carried.nv :]
        start[: carried.nq] = carried.neutral()
        start[carried.nq + carried.nv : carried.nq + carried.nv + len(own)] = own
    dx, h = ca.SX.sym("dx", system.nx), ca.SX.sym("h")
    moves = system.local(system.x, system.after(h))[system.disturbed] / h
    rate = ca.Function("rate", [system.x, system.u, system.constants, h], [moves])
    place = ca.Function("place", [dx], [system.retract(ca.SX(start), dx)])
    constants = engine["theta"][: system.constants.numel()]
    rates = np.abs(np.array(rate(place(z[system.nu :]), z[: system.nu], constants, STEP)))
    return np.asarray(np.nan_to_num(rates, nan=0.0, posinf=0.0).max(axis=1))
