"""Hypothesis of a load that the description lacks, by the marginal likelihood of the torques.

With S of `evidence.py`, whose prior has the precision I in the whitened unknowns u, and n samples that count
a joint, the torques have the marginal likelihood, after that of the unknown size of the errors,

    log p = -(n / 2) log S - 1/2 log det A,    A = I + Σ_k Y_kᵀ W_k Y_k

(Bishop 2006, section 3.5). How well bodies are described is unknown too: each hypothesis has the prior σ of
bodies that is best for it. A load widens the prior of one of the last bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import EFFECTIVE_SAMPLES, Evidence
from helicoid.identification.linear.solving.bounded import bounded_minimum
from helicoid.identification.linear.solving.whitening import Whitening
from helicoid.model.inertia import Inertia

_LOAD_SIGMA = 5.0  # kg: prior σ of the mass of a load
_LOAD_RADIUS = 0.15  # m: prior σ of its centre of mass about the body
_MIN_MASS, _MIN_CLEAR_MASS = 0.1, 0.3  # kg: of a load in place of another hypothesis, and of its own
_MIN_MASS_TO_BODY = 0.5  # of the described body: less may be a wrong description
_BODY_SCALES = (0.1, 0.3, 1.0)  # of the prior σ of described bodies
_MIN_EVIDENCE = 150.0  # 2 log of the ratio of marginal likelihoods: up to 100 by wrong descriptions


def undescribed_load(evidence: Evidence, most: float, plausible: float = np.inf) -> Candidate | None:
    """A load on one of the last bodies; None where there is none.

    One with which S is below `most`, or `plausible` where its marginal likelihood is far above that of the
    description without load.
    """
    bodies = evidence.known.regression.robot.model.bodies
    parents = {body.parent for body in bodies}
    last = [(k, start) for k, start in enumerate(evidence.known.bodies) if k not in parents]
    loads = _Hypotheses(evidence)
    found = [(loads.best(start), k) for k, start in last]
    clear = loads.best(None).evidence + _MIN_EVIDENCE

    def explains(fit: _Fit, k: int) -> bool:
        heavy = max(_MIN_CLEAR_MASS, _MIN_MASS_TO_BODY * bodies[k].inertia.mass)
        if fit.evidence > clear and fit.load[0] > heavy:
            return fit.misfit < plausible
        return fit.misfit < most and fit.load[0] > _MIN_MASS

    found = [pair for pair in found if explains(*pair)]
    if not found:
        return None
    fit, k = max(found, key=lambda pair: pair[0].evidence)
    mass, x, y, z = (float(value) for value in (fit.load[0], *(fit.load[1:4] / fit.load[0])))
    text = (
        f"the arm carries a load of about {mass:.2g} kg on {bodies[k].name!r} at ({x:.2g}, {y:.2g}, {z:.2g}) "
        "m that the description lacks: add it by robot.with_payload, or find it by hc.identify_payload"
    )
    return Candidate("load", (bodies[k].name,), fit.misfit, text, 1, (mass, x, y, z))


class _Fit(NamedTuple):
    """2 log p but for a constant, S, and the ten parameters beyond those described of the loaded body."""

    evidence: float
    misfit: float
    load: Array


class _Hypotheses:
    """Fits with other priors of the bodies, from one set of normal equations."""

    def __init__(self, evidence: Evidence) -> None:
        self.known, self.samples = evidence.known, EFFECTIVE_SAMPLES * len(evidence.rows)
        self.A, self.b, self.c = evidence.normal_equations()
        ball = Inertia.from_pseudo(_LOAD_SIGMA * np.diag([*[_LOAD_RADIUS**2] * 3, 1.0]))
        self.wide = Whitening(ball).inverse

    def best(self, start: int | None) -> _Fit:
        """The fit with the best prior σ of bodies, and a load on the one whose unknowns begin at `start`."""
        return max(self._fits(start), key=lambda fit: fit.evidence)

    def _fits(self, start: int | None) -> Iterator[_Fit]:
        own = slice(0, 0) if start is None else slice(start, start + 10)
        for scale in _BODY_SCALES:
            blocks = [(slice(k, k + 10), scale * np.eye(10)) for k in self.known.bodies if k != start]
            if start is not None:
                T = self.known.T[own, own]
                loaded = np.linalg.cholesky(scale**2 * T @ T.T + self.wide @ self.wide.T)
                blocks.append((own, np.linalg.solve(T, loaded)))
            yield self._fit(blocks, own)

    def _fit(self, blocks: Sequence[tuple[slice, Array]], own: slice) -> _Fit:
        """In coordinates w with u = B w, where B has these blocks."""
        A, b = np.array(self.A), np.array(self.b)
        for block, B in blocks:
            A[block] = B.T @ A[block]
            A[:, block] = A[:, block] @ B
            b[block] = B.T @ b[block]
        A += np.eye(len(b))
        w = bounded_minimum(A, b, self.known.least)
        misfit = float(max(self.c - 2 * b @ w + w @ A @ w, w @ w))
        evidence = -self.samples * np.log(misfit + 1e-300) - np.linalg.slogdet(A)[1]
        load = self.known.T[own, own] @ blocks[-1][1] @ w[own] if own.stop else np.zeros(10)
        return _Fit(float(evidence), misfit, load)
