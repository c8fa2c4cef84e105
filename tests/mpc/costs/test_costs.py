"""Every cost against its formula in NumPy: value, gradient and Hessian, on the path and at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import helicoid as hc
from helicoid.errors import InputError
from helicoid.mpc import costs
from mpc.nodes import FRAMES, Point, bare, evaluate, node_function, point, robot, slopes, with_terms

H = 0.1
TARGET = np.array([0.3, -0.2, 0.5])
TURN = Rotation.from_rotvec([0.2, -0.4, 0.1]).as_matrix()
POSE = np.block([[TURN, TARGET[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def pose(kind: str, at: Point) -> np.ndarray:
    return np.asarray(robot(kind).pose(FRAMES[kind])(at.q))


def turn(kind: str, at: Point) -> np.ndarray:
    return Rotation.from_matrix(TURN.T @ pose(kind, at)[:3, :3]).as_rotvec()


def goal(kind: str) -> np.ndarray:
    model = robot(kind)
    return np.asarray(model.integrate(model.neutral(), 0.3 * np.ones(model.nv)))


def torque(kind: str, at: Point) -> np.ndarray:
    return np.asarray(robot(kind).inverse_dynamics(at.q, at.v, at.u))


class Case:
    """A cost, its residual in NumPy, and whether it may count at the end."""

    def __init__(self, make: Callable[..., Any], residual: Callable[..., Any], at_end: bool = True) -> None:
        self.make, self.residual, self.at_end = make, residual, at_end


CASES = {
    "position": Case(
        lambda s, kind, w, e: costs.position_cost(s, FRAMES[kind], TARGET, w, e),
        lambda kind, at: pose(kind, at)[:3, 3] - TARGET,
    ),
    "orientation": Case(lambda s, kind, w, e: costs.orientation_cost(s, FRAMES[kind], TURN, w, e), turn),
    "pose": Case(
        lambda s, kind, w, e: costs.pose_cost(s, FRAMES[kind], POSE, w, e),
        lambda kind, at: np.concatenate([turn(kind, at), pose(kind, at)[:3, 3] - TARGET]),
    ),
    "posture": Case(
        lambda s, kind, w, e: costs.posture_cost(s, goal(kind), w, e),
        lambda kind, at: robot(kind).difference(goal(kind), at.q),
    ),
    "velocity": Case(lambda s, kind, w, e: costs.velocity_cost(s, w, e), lambda kind, at: at.v),
    "torque beyond gravity": Case(
        lambda s, kind, w, e: costs.torque_cost(s, w),
        lambda kind, at: (torque(kind, at) - robot(kind).gravity(at.q))[list(robot(kind).actuated)],
        at_end=False,
    ),
    "torque beyond numbers": Case(
        lambda s, kind, w, e: costs.torque_cost(s, w, reference=np.arange(robot(kind).nv)),
        lambda kind, at: (torque(kind, at) - np.arange(robot(kind).nv))[list(robot(kind).actuated)],
        at_end=False,
    ),
    "control": Case(lambda s, kind, w, e: costs.control_cost(s, w), lambda kind, at: at.u, at_end=False),
    "control rate": Case(
        lambda s, kind, w, e: costs.control_rate_cost(s, w),
        lambda kind, at: (at.u - at.more) / H,
        at_end=False,
    ),
    "of one's own": Case(
        lambda s, kind, w, e: costs.cost_of(s, "own", ca.sin(s["q"][0]) * s["v"], w, e),
        lambda kind, at: np.sin(at.q[0]) * at.v,
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_hessian(name: str, kind: str, rng: np.random.Generator) -> None:
    case = CASES[name]
    size = len(case.residual(kind, point(kind, rng, bare(kind)._structure)._replace(more=np.zeros(1))))
    weights = rng.uniform(0.5, 2.0, size)
    exact = with_terms(kind, lambda s: case.make(s, kind, weights, 3.0 * weights))
    structure = replace(exact, hessian="gauss_newton")
    at = point(kind, rng, structure)
    for last in (False, True) if case.at_end else (False,):
        node = evaluate(structure, at, at.x, H, last)
        scale = 3.0 if last else H  # end weights count once, the path by the length of its intervals

        def value(at: Point, scale: float = scale) -> np.ndarray:
            r = case.residual(kind, at)
            return np.array([0.5 * scale * np.sum(weights * r**2)])

        assert node.cost == pytest.approx(value(at)[0], rel=1e-12)
        np.testing.assert_allclose(node.gradient, slopes(value, kind, at)[0], rtol=1e-6, atol=1e-6)
        J = slopes(lambda at: case.residual(kind, at), kind, at)
        np.testing.assert_allclose(node.hessian, scale * J.T @ (weights[:, None] * J), rtol=1e-6, atol=1e-5)
        if kind == "arm" and not name.startswith("torque"):

            def gradient(at: Point, last: bool = last) -> np.ndarray:
                return evaluate(exact, at, at.x, H, last).gradient

            bent = evaluate(exact, at, at.x, H, last).hessian
            np.testing.assert_allclose(bent, slopes(gradient, kind, at), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_cost_that_is_no_square_has_its_exact_second_derivatives(
    kind: str, rng: np.random.Generator
) -> None:
    """Along the manifold: on a floating base the second derivative of a coordinate is not zero."""
    structure = with_terms(
        kind,
        lambda s: costs.cost_of(s, "own", s["q"][-1] ** 3 + s["q"][4 % robot(kind).nq] ** 2, 2.0, 1.0, False),
    )
    at = point(kind, rng, structure)
    evaluated = node_function(structure)
    node = evaluated(at, at.x, H)

    def gradient(at: Point) -> np.ndarray:
        return evaluated(at, at.x, H).gradient

    assert node.cost == pytest.approx(2.0 * H * (at.q[-1] ** 3 + at.q[4 % robot(kind).nq] ** 2), rel=1e-12)
    # Of a gradient in body coordinates, the symmetric part is the second derivative.
    D = slopes(gradient, kind, at)
    np.testing.assert_allclose(node.hessian, (D + D.T) / 2, rtol=1e-5, atol=1e-5)


def test_forward_dynamics_sees_the_torque_as_control_and_the_acceleration_as_result(
    rng: np.random.Generator,
) -> None:
    structure = with_terms(
        "arm", lambda s: costs.cost_of(s, "a", s["a"], 1.0), formulation="forward_dynamics"
    )
    at = point("arm", rng, structure)

    def acceleration(at: Point) -> np.ndarray:
        return np.asarray(robot("arm").forward_dynamics(at.q, at.v, at.u))

    node = evaluate(structure, at, at.x, H)
    assert node.cost == pytest.approx(0.5 * H * acceleration(at) @ acceleration(at), rel=1e-10)
    J = slopes(acceleration, "arm", at)
    np.testing.assert_allclose(node.hessian, H * J.T @ J, rtol=1e-6, atol=1e-6)


def test_a_second_rate_cost_shares_the_state_of_the_first(rng: np.random.Generator) -> None:
    one = with_terms("arm", lambda s: costs.control_rate_cost(s, 1.0))
    two = with_terms(
        "arm",
        lambda s: costs.control_rate_cost(s, 1.0),
        lambda s: costs.control_rate_cost(s, 2.0, name="again"),
    )
    assert two.system.nx == one.system.nx == bare("arm").system.nx + 2
    at = point("arm", rng, one)
    assert evaluate(two, at, at.x).cost == pytest.approx(3 * evaluate(one, at, at.x).cost, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": [1.0, 2.0, 3.0]}, "1 or 2 numbers"),
        ({"weight": -1.0}, "not negative"),
        ({"weight": np.nan}, "finite"),
        ({"weight": "much"}, "weights are numbers"),
        ({"weight": [[1.0, 2.0]]}, "1 or 2 numbers"),
        ({"weight": 1.0, "square": False}, "needs a number"),
    ],
)
def test_weights_of_no_use_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        costs.cost_of(bare("arm").symbols, "c", bare("arm").v, **arguments)


def test_a_robot_is_needed_for_what_is_said_of_robots() -> None:
    x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
    problem = hc.mpc.Problem.from_ode(x, u, ca.vertcat(x[1], u), horizon=2, dt=0.1)
    with pytest.raises(InputError, match="needs a robot"):
        problem.add_position_cost("tip", [0, 0, 0], 1.0)
    with pytest.raises(InputError, match=r"no symbol 'v'; there are: x, u"):
        problem.add_velocity_cost(1.0)
    with pytest.raises(AttributeError, match=r"no symbol 'q'"):
        _ = problem.q
