"""Costs on controls, their rate and torques."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid.mpc.costs.cost import Cost, cost_of
from helicoid.mpc.system.holding import rigid_torque_at_rest, torque_at_rest
from helicoid.mpc.system.robot_system import SMOOTH_TORQUE
from helicoid.mpc.system.symbols import Symbols
from helicoid.mpc.system.system import State


def control_cost(symbols: Symbols, weight: ArrayLike, name: str = "control") -> Cost:
    """½ w |u|² of the controls: accelerations (rad/s², m/s²) or torques (N·m, N), and contact forces (N)."""
    return cost_of(symbols, name, symbols.system.u, weight)


PREVIOUS = "previous"  # name of the state that holds the previous control


def control_rate_cost(symbols: Symbols, weight: ArrayLike, name: str = "control_rate") -> Cost:
    """½ w |(u - u_before) / h|²: jerk (rad/s³) where the controls are accelerations.

    The control before the first is free, unless a Controller knows what it applied.
    """
    system = symbols.system
    states: list[State] = []
    if PREVIOUS not in symbols:
        states.append(State(PREVIOUS, ca.SX.sym(PREVIOUS, system.nu), system.u))
    before = states[0].symbol if states else symbols[PREVIOUS]
    return cost_of(symbols, name, (system.u - before) / system.length, weight, states=states)


def torque_cost(
    symbols: Symbols, weight: ArrayLike, reference: ArrayLike | None = None, name: str = "torque"
) -> Cost:
    """½ w |τ - τ_ref|² (N·m, N) of the motors; τ_ref is the torque at rest (gravity, springs, and
    the estimated disturbance d), or numbers (nv), settable as `name`. Friction counts but for dry friction,
    which any motion takes: at its price a plan would rather stop short of a target.

    Joints without a motor have no cost. Weights are one for all, or nv of them.
    """
    robot, tau = symbols.robot, symbols[SMOOTH_TORQUE if SMOOTH_TORQUE in symbols else "tau"]
    driven = list(robot.actuated) or list(range(robot.nv))
    weights = np.asarray(weight)[driven] if np.shape(weight) == (robot.nv,) else weight
    if reference is None:
        q, theta, (d, *_) = symbols["q"], symbols.system.theta, symbols.system.of_joints(robot.nv)
        own = symbols.friction
        held = rigid_torque_at_rest(robot, q, theta) if own is None else torque_at_rest(own, q, theta)
        held = held + d if d.numel() else held
        return cost_of(symbols, name, (tau - held)[driven], weights)
    given = symbols.parameter(name, reference, robot.nv)
    return cost_of(symbols, name, (tau - given.symbol)[driven], weights, parameters=[given])
