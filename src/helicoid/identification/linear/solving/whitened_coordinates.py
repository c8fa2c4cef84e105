"""Unknowns measured by what the description says: coordinates in which "a tenth off" means the same for all.

The ten parameters of a body become the elements of L⁻¹ P L⁻ᵀ, with P its pseudo-inertia and L Lᵀ that of the
described body (Lee, Wensing and Park 2019): distances do not depend on units or on the choice of frames, and
P is positive definite where the 4 × 4 matrix of these elements is. Other unknowns are divided by a size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.stack import Factor
from helicoid.identification.linear.solving.whitening import Whitening, reference, usual_sizes
from helicoid.model.inertia import Inertia
from helicoid.robot import Robot

_PART = 0.01  # of a robot's mean mass of bodies: none is lighter where it serves as a measure
_TOLD = 0.1  # of its usual size: an unknown of a joint with a larger σ is not told
EXPECTED = 0.1  # of its usual size: σ of what an unknown of a joint may be beyond what the description says


@dataclass(frozen=True, eq=False, repr=False)
class WhitenedCoordinates:
    """x = origin + T u: `bodies` are the first of each body's ten elements of u; `others` the rest.

    ‖u‖² over the bodies is the squared distance from the description. Columns of T are zero for `untold`
    unknowns, which stay as described. `pull` (u) multiplies the deviations of the others in a prior, if any.
    """

    origin: Array
    T: Array
    bodies: tuple[int, ...]
    others: tuple[int, ...]
    untold: tuple[int, ...] = ()
    pull: Array | None = None

    def pulled(self, usual: Array, excess: float) -> WhitenedCoordinates:
        """These coordinates with a pull to the description for the unknowns of joints.

        An unknown is expected within a tenth of its usual size about what is described. Samples count as if
        `excess` of them were one: what a model lacks is no noise that is new at each of them.
        """
        pull = np.zeros(len(self.origin))
        others = list(self.others)
        pull[others] = np.sqrt(excess) * self.T[others, others] / (EXPECTED * usual[others])
        return replace(self, pull=pull)

    def factor(self, factor: Factor) -> Factor:
        """A least squares problem in x as one in u."""
        return Factor(factor.R @ self.T, factor.z - factor.R @ self.origin, factor.rest, factor.n_equations)

    def stated(self, start: int) -> Array:
        """The whitened elements of a described body, the first of which is `start`."""
        own = slice(start, start + 10)
        return np.asarray(np.linalg.solve(self.T[own, own], self.origin[own]), dtype=np.float64)

    def without_untold(self, factor: Factor, usual: Array) -> WhitenedCoordinates:
        """These coordinates with the unknowns of joints fixed of which a factor, in units of σ, says nothing.

        A joint that stands still shows no friction: least squares would be free to give it any.
        """
        size = np.linalg.norm(factor.R, axis=0) * usual
        untold = tuple(k for k in self.others if k in self.untold or _TOLD * size[k] < 1.0)
        T = np.array(self.T)
        T[:, untold] = 0.0
        return replace(self, T=T, untold=untold)

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
    """Of each body: where its parameters start from, and π of the elements that whitening makes of them."""
    inertias = [Inertia.from_parameters(body.inertia.parameters) for body in robot.model.bodies]
    masses = [inertia.mass for inertia in inertias if inertia.mass > 0]
    least = _PART * (float(np.mean(masses)) if masses else 1.0)
    found = []
    for inertia in inertias:
        solid = reference(inertia, least)
        start = solid if inertia.mass <= 0 or inertia.doubts() else inertia
        found.append((start.parameters, np.asarray(Whitening(solid).inverse, dtype=np.float64)))
    return found


def usual_magnitudes(regression: Regression) -> Array:
    """What each unknown of a joint may be expected to be at most, in its unit; 1 for those of bodies."""
    effort, velocity, inertia = usual_sizes(regression.robot)
    result = np.ones(len(regression.parameters))
    for group, own in regression.parameters.groups.items():
        if group == "armature":
            size = 0.1 * (inertia + effort / velocity)  # a tenth of the effort gives full speed in a second
        elif group in TERMS:
            size = TERMS[group].usual_size(effort, velocity)
        else:
            continue
        result[own] = size[list(regression.velocities(group))]
    return result
