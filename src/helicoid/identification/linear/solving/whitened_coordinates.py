"""Whitened coordinates: unknowns in units of the description, so that a tenth means the same for all.

The ten parameters of a body become the elements of L⁻¹ P L⁻ᵀ, with P its pseudo-inertia and L Lᵀ that of the
described body (Lee, Wensing and Park 2019): distances do not depend on units or on the choice of frames, and
P is positive definite where the 4 × 4 matrix of these elements is. Other unknowns are divided by a size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.whitening import (
    Whitening,
    reference,
    usual_sizes,
    usual_wrench,
)
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot

_MIN_REFERENCE_MASS = 0.01  # of the mean mass of a robot's bodies
_MAX_SIGMA = 0.1  # of its usual size: an unknown of a joint with a larger σ is unidentifiable
_JOINT_SIGMA = 0.2  # of its usual size: prior σ of an unknown of a joint about the description
_USUAL_TIMES_DESCRIBED = 10.0  # upper end of the usual range of a stiffness or damping, of that described


@dataclass(frozen=True, eq=False, repr=False)
class WhitenedCoordinates:
    """x = origin + T u: `bodies` are the first of each body's ten elements of u; `others` the rest.

    ‖u‖² over the bodies is the squared distance from the description. Columns of T are zero for `fixed`
    unknowns, which stay as described. `joint_prior` (u) is 1/σ of the others' deviations, if they have one.
    """

    origin: Array
    T: Array
    bodies: tuple[int, ...]
    others: tuple[int, ...]
    fixed: tuple[int, ...] = ()
    joint_prior: Array | None = None

    def with_joint_prior(self, usual: Array, redundancy: float) -> WhitenedCoordinates:
        """These coordinates with a Gaussian prior about the description for the unknowns of joints.

        σ is a fifth of an unknown's usual size. `redundancy` is N / N_eff: errors of the model are not
        independent from sample to sample, so that the prior counts against effective samples.
        """
        prior = np.zeros(len(self.origin))
        others = list(self.others)
        prior[others] = np.sqrt(redundancy) * self.T[others, others] / (_JOINT_SIGMA * usual[others])
        return replace(self, joint_prior=prior)

    def factor(self, factor: Factor) -> Factor:
        """A least squares problem in x as one in u."""
        return Factor(factor.R @ self.T, factor.z - factor.R @ self.origin, factor.rest)

    def stated(self, start: int) -> Array:
        """Whitened elements of a described body, the first of which is `start`."""
        own = slice(start, start + 10)
        return np.asarray(np.linalg.solve(self.T[own, own], self.origin[own]), dtype=np.float64)

    def fixing_unidentifiable(self, factor: Factor, usual: Array) -> WhitenedCoordinates:
        """These coordinates with those unknowns of joints fixed that a factor, in units of σ, leaves open.

        Friction of a joint at rest is unidentifiable: least squares could give it any value.
        """
        size = np.linalg.norm(factor.R, axis=0) * usual
        return self.fixing(k for k in self.others if _MAX_SIGMA * size[k] < 1.0)

    def fixing(self, unknowns: Iterable[int]) -> WhitenedCoordinates:
        """These coordinates with some more unknowns fixed."""
        fixed = tuple(sorted({*self.fixed, *unknowns}))
        T = np.array(self.T)
        T[:, fixed] = 0.0
        return replace(self, T=T, fixed=fixed)

    @property
    def inertial(self) -> Array:
        """1 for the elements of u that belong to bodies, else 0."""
        mask = np.ones(len(self.origin))
        mask[list(self.others)] = 0.0
        return mask


def whitened_coordinates(regression: Regression, factor: Factor) -> WhitenedCoordinates:
    """Whitened bodies; other unknowns so that their columns are as long as the longest of a body."""
    parameters = regression.parameters
    size = np.linalg.norm(factor.R, axis=0)
    T = np.diag(1.0 / np.where(size > 0, size, 1.0))
    origin = np.array(parameters.nominal)
    own = parameters.groups.get("inertia", slice(0, 0))
    bodies = range(own.start, own.stop, 10)
    robot = regression.robot
    described = robot.memo("described bodies", lambda: _described(robot)) if bodies else []
    for start, (pi, inverse) in zip(bodies, described, strict=True):
        T[start : start + 10, start : start + 10], origin[start : start + 10] = inverse, pi
    others = [k for k in range(len(origin)) if not own.start <= k < own.stop]
    longest = float(np.linalg.norm(factor.R @ T[:, own], axis=0).max(initial=0.0))
    T[others, others] *= longest or 1.0
    return WhitenedCoordinates(origin, T, tuple(bodies), tuple(others))


def _described(robot: Robot) -> list[tuple[Array, Array]]:
    """For each body: the parameters that a fit starts from, and the inverse of their whitening."""
    inertias = [Inertia.from_parameters(body.inertia.parameters) for body in robot.model.bodies]
    masses = [inertia.mass for inertia in inertias if inertia.mass > 0]
    least = _MIN_REFERENCE_MASS * (float(np.mean(masses)) if masses else 1.0)
    found = []
    for inertia in inertias:
        solid = reference(inertia, least)
        start = solid if inertia.mass <= 0 or inertia.doubts() else inertia
        found.append((start.parameters, np.asarray(Whitening(solid).inverse, dtype=np.float64)))
    return found


def usual_magnitudes(regression: Regression) -> Array:
    """Upper end of the usual range of each unknown of a joint, in its unit; 1 for those of bodies."""
    effort, velocity, inertia = usual_sizes(regression.robot)
    result = np.ones(len(regression.parameters))
    for group, own in regression.parameters.groups.items():
        if group == "elastic":
            result[own] = np.maximum(
                _USUAL_TIMES_DESCRIBED * regression.parameters.nominal[own], effort.max()
            )
            continue
        if group == "armature":
            size = 0.1 * (inertia + effort / velocity)  # a tenth of the effort gives full speed in a second
        elif group == "offset" and regression.wrenches:
            result[own] = np.tile(usual_wrench(regression.robot), len(regression.wrenches))
            continue
        elif group in TERMS:
            size = TERMS[group].usual_size(effort, velocity)
        else:
            continue
        result[own] = size[list(regression.velocities(group))]
    return result
