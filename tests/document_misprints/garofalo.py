"""Misprints of the paper of Garofalo, Ott and Albu-Schäffer."""

from __future__ import annotations

import numpy as np

from document_misprints.common import CHAIN, GAROFALO, both, misprint, state, unit
from helicoid.geometry import se3, so3, spatial


@misprint(f"{GAROFALO}, proposition 6")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    q, v, _ = state(rng)
    M_dot = np.zeros((3, 3))
    for k, body in enumerate(CHAIN.model.bodies):
        J, J_dot = (
            CHAIN.jacobian(f"link_{k + 1}", "body")(q),
            CHAIN.jacobian_dot(f"link_{k + 1}", "body")(q, v),
        )
        Λ = spatial.inertia_from_parameters(body.inertia.parameters)
        M_dot += J_dot.T @ Λ @ J + J.T @ Λ @ J_dot
    by_state = CHAIN.mass_matrix_derivatives(q)
    return bool(np.allclose(CHAIN.mass_matrix_dot(q, v), M_dot)), M_dot.shape == by_state.shape


@misprint(f"{GAROFALO}, (9) and appendix")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    m, r, I_C, twist = 2.0, rng.normal(size=3), np.diag([0.3, 0.4, 0.5]), rng.normal(size=6)
    I_O = I_C - m * so3.hat(r) @ so3.hat(r)
    Λ = spatial.spatial_inertia(m, m * r, I_O)
    π = [np.array([m, *m * r, *one[np.triu_indices(3)]]) for one in (I_O, I_C)]
    return both(Λ @ twist, *(spatial.inertia_map(twist) @ one for one in π))


@misprint(f"{GAROFALO}, remark 7")
def _(rng: np.random.Generator) -> tuple[bool, bool]:
    e, c = unit(rng), rng.normal(size=3)
    linear = se3.twist_from_screw(e, c, 0.0)[3:]
    return both(linear, -np.cross(e, c), -np.cross(e, e))
