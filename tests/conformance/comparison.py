"""How far Helicoid and Pinocchio are apart on one robot.

An error is the largest difference over all states, relative to the largest entry of Pinocchio's result.
Forward dynamics divides by M and is judged state by state, by what M lets one ask. With κ the condition
number of M in units that make its diagonal one, a rounding of relative size 1e-15 somewhere in M (both
readers round angles and inertias to about that) changes the acceleration by up to κ 1e-15. Hence

- κ <= 1e5: they must agree to 1e-10;
- κ <= 1e7: the state is badly conditioned, they must agree to 1e-8;
- above: the state is nearly singular (a gimbal lock of massless bodies), they must agree to κ 1e-15.

In every state, M a + h = τ must hold to rounding. A robot whose M is singular in all states has no forward
dynamics, and asking for it raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from pinocchio_peer import Pinocchio
from real_robots import FILES, Array, States, load, random_states

import helicoid as hc

TOLERANCE, LOOSE_TOLERANCE = 1e-10, 1e-8
GOOD, BAD, SINGULAR = 1e5, 1e7, 1e12  # condition numbers
ROUNDING = 1e-15
FORWARD = ("forward_dynamics", "forward_dynamics_crba")
# References smaller than this (relative to M, or to one) are zero but for rounding.
ZERO = 1e-3

Errors = dict[str, float]


def relative_error(ours: Array, reference: Array, floor: float = 0.0) -> float:
    """Largest difference over the largest entry of the reference, or over `floor` where that is larger."""
    assert ours.shape == reference.shape
    if np.array_equal(ours, reference, equal_nan=True):
        return 0.0
    return float(np.abs(ours - reference).max() / max(np.abs(reference).max(), floor))


def evaluate(function: hc.Function, states: States) -> Array:
    """The function at all states in one call."""
    arguments = states._asdict()
    return np.asarray(function(**{item.name: arguments[item.name] for item in function.inputs}))


def dynamics_errors(name: str, base: str, n: int) -> Errors:
    """The error of each quantity but forward dynamics, at n states."""
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, n)
    theirs = peer.dynamics(states)
    # Generalised forces at velocities and accelerations of order one are of the order of M.
    floor = ZERO * np.abs(theirs["mass_matrix"]).max(initial=0.0)
    forces = "inverse_dynamics", "bias", "gravity", "coriolis"
    errors = {
        quantity: relative_error(
            evaluate(getattr(robot, quantity), states), value, floor * (quantity in forces)
        )
        for quantity, value in theirs.items()
    }
    mass = np.array(sum(body.inertia.mass for body in robot.model.bodies))
    return errors | {"total_mass": relative_error(mass, np.array(peer.total_mass()))}


class ForwardErrors(NamedTuple):
    """For each state: κ, the relative error of each method, and how far it misses M a + h = τ."""

    condition: Array
    errors: dict[str, Array]
    residuals: dict[str, Array]

    @property
    def tolerance(self) -> Array:
        """The error that is allowed in each state."""
        tiers = [self.condition <= GOOD, self.condition <= BAD]
        return np.select(tiers, [TOLERANCE, LOOSE_TOLERANCE], self.condition * ROUNDING)


def condition(M: Array) -> Array:
    """κ of each matrix in a stack, in units that make its diagonal one; infinite where those do not exist."""
    diagonal = np.einsum("nii->ni", M)
    if M.shape[1] == 0:
        return np.ones(len(M))
    if np.any(diagonal <= 0):
        return np.full(len(M), np.inf)
    scale = 1 / np.sqrt(diagonal)
    return np.linalg.cond(M * scale[:, :, None] * scale[:, None, :])


def forward_errors(name: str, base: str, n: int) -> ForwardErrors:
    """Forward dynamics in both ways against Pinocchio, at n states. ModelError where it is not defined."""
    robot = load(name, base)
    states = random_states(robot, n)
    ours = {method: evaluate(getattr(robot, method), states) for method in FORWARD}
    peer = Pinocchio(FILES[name], robot, base)
    M, h = peer.mass_matrix(states), peer.dynamics(states)["bias"]
    theirs = peer.forward_dynamics(states, M, h)

    def missed(a: Array) -> Array:
        terms = M * a[:, None, :]
        size = np.abs(terms).sum(2) + np.abs(h) + np.abs(states.tau)
        return _each_relative_to(terms.sum(2) + h - states.tau, size)

    return ForwardErrors(
        condition(M),
        {method: _each_relative_to(a - theirs, theirs) for method, a in ours.items()},
        {method: missed(a) for method, a in ours.items()},
    )


def _each_relative_to(difference: Array, reference: Array) -> Array:
    """Per sample: the largest difference over the largest entry of the reference."""
    return np.abs(difference).max(1, initial=0.0) / np.abs(reference).max(1, initial=1e-300)


def is_singular(name: str, base: str) -> bool:
    """Whether Pinocchio's M has a condition number beyond 1e12 in all states."""
    robot = load(name, base)
    M = Pinocchio(FILES[name], robot, base).mass_matrix(random_states(robot, 10))
    return bool(np.all(condition(M) > SINGULAR))


def frame_errors(name: str, base: str, frames: Iterable[str], n: int) -> Errors:
    """The largest error over these frames and the three references of each quantity, at n states."""
    robot = load(name, base)
    states = random_states(robot, n)
    theirs = Pinocchio(FILES[name], robot, base).frames(states, list(frames))
    errors: Errors = {}
    for (quantity, *of), value in theirs.items():
        error = relative_error(evaluate(getattr(robot, quantity)(*of), states), value, ZERO)
        errors[quantity] = float(np.maximum(errors.get(quantity, 0.0), error))  # keeps a NaN
    return errors
