"""The load that a known robot carries: ten unknowns, everything else as the robot says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.consistent import consistent_body
from helicoid.identification.linear.stack import triangular
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.model.inertia import Inertia, transformation
from helicoid.robot import Robot


@dataclass(frozen=True, eq=False)
class Payload:
    """Inertia of a load about the origin of the link that carries it, in its frame; σ of the 10 numbers."""

    link: str
    inertia: Inertia
    sigma: Array

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.3g}" for x in self.inertia.com)
        return f"Payload({self.link!r}, {self.inertia.mass:.4g} ± {self.sigma[0]:.2g} kg at ({com}) m)"

    def on(self, robot: Robot) -> Robot:
        """The robot with the load."""
        return robot.with_payload(self.link, self.inertia.mass, self.inertia.com, self.inertia.at_com)


@interruptible()
def identify_payload(
    robot: Robot | Identification, log: Log, link: str, cutoff: float | None = None
) -> Payload:
    """The load fixed to `link` during a log, consistent with a body that exists.

    `robot` is what carries it: a robot whose friction counts, or better the result of identifying it without
    load, whose offsets and friction then count too. `cutoff` (Hz) is that of the low-pass, by default the
    result's own.
    """
    result = robot if isinstance(robot, Identification) else None
    bare = robot.nominal if isinstance(robot, Identification) else robot
    cutoff = result.cutoff if result is not None and cutoff is None else cutoff
    check(bare, log, moving=False)
    frame = bare.model.frame(link)
    R, p = frame.placement.rotation, frame.placement.translation
    to_body = transformation(R, p)
    own = slice(10 * frame.body, 10 * frame.body + 10)
    factor, equations = np.zeros((11, 11), order="F"), 0
    with one_blas_thread():
        for samples in prepare(bare, log, cutoff)[0]:
            lag = 0.0 if result is None else result.lag
            samples = samples.delayed(lag)
            q, v, a = samples.q, samples.v, samples.a
            known = (
                bare.inverse_dynamics(q, v, a, friction=True)
                if result is None
                else result.regression.predict(result.x, q, v, a)
            )
            Y = low_pass(np.asarray(bare.regressor(q, v, a))[:, :, own] @ to_body, samples.rate, cutoff)
            left = samples.y - low_pass(np.asarray(known), samples.rate, cutoff)
            used = samples.weights > 0
            block = np.column_stack([Y[used], left[used]])
            factor, equations = triangular(factor, block), equations + len(block)
        pi, sigma = consistent_body(factor, equations)
    return Payload(link, Inertia.from_parameters(pi), sigma)
