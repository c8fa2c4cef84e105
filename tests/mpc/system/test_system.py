"""Systems: the step and its derivatives on the manifold, what is refused, copies."""

from __future__ import annotations

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import DoubtfulModelWarning, InputError
from helicoid.mpc import Problem
from helicoid.mpc.costs import control_cost, control_rate_cost
from mpc.nodes import FRAMES, Point, evaluate, node_function, point, robot, slopes, with_terms

BRICK = """<robot name="brick"><link name="brick"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("kind", FRAMES)
def test_a_step_and_its_derivatives(kind: str, rng: np.random.Generator) -> None:
    """v⁺ = v + h a, q⁺ = q ⊕ (h v + ½ h² a), and the control is remembered where its rate costs."""
    model = robot(kind)
    structure = with_terms(kind, lambda s: control_rate_cost(s, 1.0))
    at = point(kind, rng, structure)
    other = at.moved(model, 0.1 * rng.normal(size=at.size))

    def gap(at: Point) -> np.ndarray:
        v = at.v + 0.1 * at.u
        q = model.integrate(at.q, 0.1 * (at.v + v) / 2)
        return np.concatenate([model.difference(other.q, q), v - other.v, at.u - other.more])

    node = evaluate(structure, at, other.x)
    np.testing.assert_allclose(node.gap, gap(at), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(node.dynamics, slopes(gap, kind, at), rtol=1e-6, atol=1e-6)


def test_a_robot_without_motors_is_doubted() -> None:
    with pytest.warns(DoubtfulModelWarning, match=r"no motor moves robot 'brick'") as seen:
        Problem(hc.load(BRICK, base="floating"), horizon=2, dt=0.1)
    assert seen[0].filename == __file__


def test_an_ode_names_the_symbol_that_it_does_not_know() -> None:
    x, u, k = ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("stiffness")
    with pytest.raises(InputError, match=r"depends on stiffness, which is in none of x, u and theta.*theta="):
        Problem.from_ode(x, u, ca.vertcat(x[1], u - k * x[0]), horizon=2, dt=0.1)
    problem = Problem.from_ode(x, u, ca.vertcat(x[1], u - k * x[0]), theta=k, horizon=2, dt=0.1)
    problem.add_cost("state", x, 1.0)
    assert "theta" in problem.names


@pytest.mark.parametrize(
    ("x", "u", "rate", "message"),
    [
        (ca.SX.sym("x", 2), ca.MX.sym("u"), ca.SX(2, 1), "u must be a vector of SX symbols"),
        (ca.SX.sym("x", 2, 2), ca.SX.sym("u"), ca.SX(2, 1), "x must be a column"),
        (ca.SX.sym("x", 2), ca.SX(0, 1), ca.SX(2, 1), "u must be a column"),
        (ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX(3, 1), "must have 2 elements"),
        (ca.SX.sym("x", 2), ca.SX.sym("u"), ca.MX.sym("m", 2), "got MX"),
    ],
)
def test_odes_of_no_use_are_refused(x: object, u: object, rate: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem.from_ode(x, u, rate, horizon=2, dt=0.1)


def test_an_ode_is_integrated_to_fourth_order() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    errors = []
    for steps in (1, 2):
        problem = Problem.from_ode(x, u, ca.vertcat(x[1], u - x[0]), steps=steps, horizon=1, dt=1.0)
        problem.add_cost("state", x, 1.0)
        system = problem.system
        step = ca.Function("F", [x, u, system.constants, system.h], [system.following])
        reached = np.array(step([1.0, 0.0], 0.0, 0.0, 1.0)).ravel()
        errors.append(np.linalg.norm(reached - [np.cos(1), -np.sin(1)]))
    assert 12 < errors[0] / errors[1] < 20


@pytest.mark.parametrize("kind", FRAMES)
def test_a_copy_of_a_structure_computes_the_same_with_symbols_of_its_own(
    kind: str, rng: np.random.Generator
) -> None:
    structure = with_terms(
        kind, lambda s: control_rate_cost(s, 1.0), lambda s: control_cost(s, 2.0)
    ).with_parameter(with_terms(kind).symbols.parameter("own", [1.0, 2.0]))
    at = point(kind, rng, structure)
    expected = node_function(structure)(at, at.x)
    for other in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure)):
        node = node_function(other)(at, at.x)
        for name in ("cost", "gradient", "rows", "hessian", "gap", "dynamics"):
            np.testing.assert_array_equal(getattr(node, name), getattr(expected, name))
        assert str(other.system.x) == str(structure.system.x)
        assert not ca.is_equal(other.system.x, structure.system.x)
        assert other.parameters[-1].name == "own"
