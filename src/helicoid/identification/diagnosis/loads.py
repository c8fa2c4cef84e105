"""Hypothesis of a load that the description lacks: torques are those of heavier bodies."""

from __future__ import annotations

import numpy as np

from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import Evidence
from helicoid.identification.linear.solving.whitening import Whitening
from helicoid.model.inertia import Inertia

_LOAD_SIGMA = 5.0  # kg: prior σ of the mass of a load
_LOAD_RADIUS = 0.15  # m: prior σ of its centre of mass about the body
_MIN_MASS = 0.1  # kg


def undescribed_load(evidence: Evidence, most: float) -> Candidate | None:
    """A load on one of the last bodies with which S is below `most`; None where no load explains the log."""
    bodies = evidence.known.regression.robot.model.bodies
    parents = {body.parent for body in bodies}
    found = []
    for k, start in enumerate(evidence.known.bodies):
        if k not in parents:
            one = _on(evidence, k, start)
            if one is not None and one.misfit < most:
                found.append(one)
    return min(found, key=lambda one: one.misfit, default=None)


def _on(evidence: Evidence, k: int, start: int) -> Candidate | None:
    """The load of the body k, whose prior is widened by a load of a few kilograms."""
    own, known = slice(start, start + 10), evidence.known
    ball = Inertia.from_pseudo(_LOAD_SIGMA * np.diag([*[_LOAD_RADIUS**2] * 3, 1.0]))
    wide = Whitening(ball).inverse
    T = np.array(known.T)
    T[own, own] = np.linalg.cholesky(T[own, own] @ T[own, own].T + wide @ wide.T)
    loaded = Evidence(known._replace(T=T), evidence.motion, evidence.Y)
    misfit, u = loaded.fitted()
    more = (T @ u)[own]
    if more[0] < _MIN_MASS:
        return None
    body = known.regression.robot.model.bodies[k].name
    at = ", ".join(f"{x:.2g}" for x in more[1:4] / more[0])
    text = (
        f"the arm carries a load of about {more[0]:.2g} kg on {body!r} at ({at}) m that the description "
        "lacks: add it by robot.with_payload, or find it by hc.identify_payload"
    )
    mass, x, y, z = (float(value) for value in (more[0], *(more[1:4] / more[0])))
    return Candidate("load", (body,), misfit, text, 1, (mass, x, y, z))
