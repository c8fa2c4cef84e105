"""Payload identification: the ten inertial parameters of a load on a known robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from helicoid._typing import Array
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.stack import triangular
from helicoid.identification.linear.solving.consistent import consistent_body, free_body
from helicoid.identification.logs.filtering import low_pass, noise_bandwidth
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
    robot: Robot | Identification, log: Log, link: str, cutoff: float | Literal["auto"] | None = "auto"
) -> Payload:
    """Identify the load fixed to `link` during a log, physically consistent.

    `robot` is what carries it: a robot whose friction counts, or better the result of identifying it without
    load. `cutoff` (Hz) is that of the low-pass, None for none; by default the result's own, and none for a
    robot. Joints are weighted by their residuals, and σ counts only the noise that the low-pass
    leaves independent.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> loaded = robot.with_payload("tip", 0.5, [0.1, 0, 0], np.diag([0.01, 0.01, 0.01]))
    >>> t = np.arange(300) / 100.0
    >>> q, v, a = (np.column_stack([f(2 * t), f(3 * t + 1)]) for f in (np.sin, np.cos, np.sin))
    >>> v, a = v * [2, 3], -a * [4, 9]
    >>> log = hc.Log.from_arrays(t, q, v, a, loaded.inverse_dynamics(q, v, a, friction=True))
    >>> round(hc.identify_payload(robot, log, "tip").inertia.mass, 3)
    0.5
    """
    result = robot if isinstance(robot, Identification) else None
    bare = robot.nominal if isinstance(robot, Identification) else robot
    if cutoff == "auto":
        cutoff = None if result is None else result.cutoff
    check(bare, log, moving=False)
    frame = bare.model.frame(link)
    to_body = transformation(frame.placement.rotation, frame.placement.translation)
    own = slice(10 * frame.body, 10 * frame.body + 10)
    factors = [np.zeros((11, 11), order="F") for _ in range(bare.nv)]
    counts = np.zeros(bare.nv, dtype=int)
    part = 1.0
    with one_blas_thread():
        for samples in prepare(bare, log, cutoff)[0]:
            samples = samples.delayed(0.0 if result is None else result.lag)
            part = noise_bandwidth(samples.rate, cutoff)
            q, v, a = samples.q, samples.v, samples.a
            known = (
                bare.inverse_dynamics(q, v, a, friction=True)
                if result is None
                else result.regression.predict(result.x, q, v, a)
            )
            Y = low_pass(np.asarray(bare.regressor(q, v, a))[:, :, own] @ to_body, samples.rate, cutoff)
            left = samples.y - low_pass(np.asarray(known), samples.rate, cutoff)
            for k in range(bare.nv):
                used = samples.weights[:, k] > 0
                factors[k] = triangular(factors[k], np.column_stack([Y[used, k], left[used, k]]))
                counts[k] += int(used.sum())
        factor = _weighted(factors, counts)
        pi, sigma = consistent_body(factor, int(counts.sum()))
    return Payload(link, Inertia.from_parameters(pi), sigma / np.sqrt(part))


def _weighted(factors: Sequence[Array], counts: Array) -> Array:
    """One factor of all joints, each divided by its residual of a fit to all."""
    scales = np.ones(len(factors))
    for _ in range(3):
        factor = np.zeros((11, 11), order="F")
        for own, scale in zip(factors, scales, strict=True):
            factor = triangular(factor, own / scale)
        pi = free_body(factor)
        left = np.array([np.linalg.norm(own[:, :-1] @ pi - own[:, -1]) for own in factors])
        size = np.array([np.linalg.norm(own[:, -1]) for own in factors])
        left = np.maximum(left, 1e-6 * size.max(initial=0.0)) / np.sqrt(np.maximum(counts, 1))
        scales = np.maximum(left, 1e-12)
    return factor
