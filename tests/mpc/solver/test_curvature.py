"""Second derivatives of dynamics and rows: differences of the Lagrangian of a node, without the solver."""

from __future__ import annotations

import pickle
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from helicoid.mpc import Problem
from helicoid.mpc.constraints import constraint_on
from helicoid.mpc.costs import cost_of
from helicoid.mpc.solver.compiled import Compiled
from helicoid.mpc.structure import Structure
from mpc.nodes import Array, node_function, point, robot, with_terms

STEP = 1e-3


def written(kind: str, formulation: str) -> Structure:
    """A cost of torques and accelerations, and a row of everything."""
    return replace(
        with_terms(
            kind,
            lambda s: cost_of(s, "effort", s["tau"] - 0.3, 0.7),
            lambda s: cost_of(s, "jolt", s["a"] * s["v"], 0.2),
            lambda s: constraint_on(
                s, "power", ca.dot(s["tau"], s["v"]) + ca.sin(s["a"][0]), -1.0, 1.0, scale=0.5
            ),
            formulation=formulation,
        ),
        hessian="exact",
    )


@pytest.mark.parametrize("kind", ["arm", "tree"])
@pytest.mark.parametrize("formulation", ["forward_dynamics", "inverse_dynamics"])
def test_hessian_of_the_lagrangian(kind: str, formulation: str, rng: np.random.Generator) -> None:
    """∇² (cost + π gap + w rows) along the tangent space is what `stage` and `curvature` give together."""
    structure = written(kind, formulation)
    stages, memory = replace(Compiled(structure, {}).stages, lanes=1), Compiled(structure, {}).memory
    at = point(kind, rng, structure)
    following = point(kind, rng, structure).x
    h, costate = 0.1, 0.3 * rng.normal(size=stages.system.nx)
    weight = np.zeros(stages.nrp)
    weight[: len(stages.path_rows)] = rng.normal(size=len(stages.path_rows))
    node = node_function(structure)

    def lagrangian(dz: Array) -> float:
        one = node(at.moved(robot(kind), dz), following, h)
        return one.cost + float(costate @ one.gap) + float(weight[: len(one.rows)] @ one.rows)

    assert stages.curvature is not None
    p = memory.parameters[0]
    bent = stages.curvature(at.x, at.u, following, costate, weight, p, memory.constants, h)
    H = node(at, following, h).hessian + np.array(bent).reshape(stages.nzp, stages.nzp)
    np.testing.assert_allclose(H, H.T, atol=1e-9 * np.abs(H).max())
    for _ in range(6):
        d = rng.normal(size=at.size)
        d *= STEP / np.linalg.norm(d)
        # Two step lengths, so that the fourth order is taken off.
        twice = [
            (lagrangian(k * d) - 2 * lagrangian(0 * d) + lagrangian(-k * d)) / (k * STEP) ** 2
            for k in (1.0, 2.0)
        ]
        measured, scale = (4 * twice[0] - twice[1]) / 3, np.abs(H).max()
        assert d @ H @ d / STEP**2 == pytest.approx(measured, abs=2e-6 * scale)


def test_what_needs_no_curvature_has_none() -> None:
    for kind in ("arm", "tree"):
        torques = with_terms(kind, lambda s: cost_of(s, "effort", s["tau"], 1.0))
        # On a floating base only where it is asked for.
        assert (Compiled(torques, {}).stages.curvature is None) == (kind == "tree")
        assert Compiled(replace(torques, hessian="exact"), {}).stages.curvature is not None
        assert Compiled(replace(torques, hessian="gauss_newton"), {}).stages.curvature is None
    straight = with_terms("arm", lambda s: cost_of(s, "speed", s["v"], 1.0))
    assert Compiled(replace(straight, hessian="exact"), {}).stages.curvature is None
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    for rate, curved in ((ca.vertcat(x[1], u), False), (ca.vertcat(x[1], u - ca.sin(x[0])), True)):
        for hessian in ("auto", "exact", "gauss_newton"):
            problem = Problem.from_ode(x, u, rate, horizon=2, dt=0.1, hessian=hessian)
            problem.add_cost("state", x, 1.0)
            found = problem._compiled.stages.curvature is not None
            assert found == (curved and hessian != "gauss_newton")


def test_a_copy_has_the_same_second_derivatives(rng: np.random.Generator) -> None:
    structure = written("arm", "forward_dynamics")
    at = point("arm", rng, structure)
    values = []
    for one in (structure, pickle.loads(pickle.dumps(structure))):
        stages, memory = Compiled(one, {}).stages, Compiled(one, {}).memory
        assert stages.curvature is not None
        inputs = [at.x, at.u, at.x, np.ones(stages.nxp), np.ones(stages.nrp), memory.parameters[0]]
        values.append(np.array(stages.curvature(*inputs, memory.constants, 0.1)))
    np.testing.assert_allclose(values[1], values[0], atol=1e-12)
