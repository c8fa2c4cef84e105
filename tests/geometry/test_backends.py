"""Every public function: NumPy, SX, MX and DM agree, wrong shapes are errors, the docs show an example."""

import inspect

import casadi as ca
import numpy as np
import pytest
from geometry_support import derivatives

from helicoid import geometry
from helicoid.errors import InputError
from helicoid.geometry import coordinates, dual_quaternion, euler, quaternion, se3, so3, spatial

V = np.array([0.3, -0.7, 0.4])
W = np.array([1.2, 0.5, -0.9])
Q = quaternion.exp(V)
P = quaternion.exp(W)
R = so3.exp(W)
XI = np.concatenate([V, W])
T = se3.exp(XI)
DQ = dual_quaternion.exp(XI)
DP = dual_quaternion.exp(np.concatenate([W, V]))
UNIT = V / np.linalg.norm(V)
PI = np.array([2.0, 0.1, 0.2, 0.3, 1.0, 0.01, 0.02, 1.1, 0.03, 0.9])

CALLS = {
    so3: {
        "hat": [V], "vee": [R], "exp": [V], "log": [R],
        "left_jacobian": [V], "left_jacobian_inverse": [V], "right_jacobian": [V],
        "right_jacobian_inverse": [V], "from_angle_axis": [0.8, V], "to_angle_axis": [R],
        "angle_axis_rate_to_angular_velocity": [0.8, UNIT],
        "angular_velocity_to_angle_axis_rate": [0.8, UNIT],
    },
    quaternion: {
        "left_matrix": [Q], "right_matrix": [Q],
        "multiply": [Q, P], "conjugate": [Q], "normalize": [2 * Q], "rotate": [Q, V], "to_matrix": [Q],
        "from_matrix": [R], "exp": [V], "log": [Q], "from_angle_axis": [0.8, V], "to_angle_axis": [Q],
        "rate_matrix": [Q], "rate_matrix_inverse": [Q], "slerp": [Q, P, 0.3],
    },
    euler: {
        "from_euler": [V, "yxz"], "to_euler": [R, "yxy"], "from_rpy": [V], "to_rpy": [R],
        "euler_rate_to_angular_velocity": [V, "zxz", "world", "extrinsic"],
        "angular_velocity_to_euler_rate": [V, "zxz"],
    },
    se3: {
        "pose": [R, V], "rotation": [T], "translation": [T], "inverse": [T], "hat": [XI],
        "vee": [se3.hat(XI)], "exp": [XI], "log": [T], "left_jacobian": [XI], "left_jacobian_inverse": [XI],
        "right_jacobian": [XI], "right_jacobian_inverse": [XI], "adjoint": [T], "dual_adjoint": [T],
        "twist_from_screw": [V, W, 0.3], "screw_from_twist": [XI],
        "product_of_exponentials": [np.column_stack([XI, -2 * XI]), np.array([0.4, 0.5]), T],
    },
    spatial: {
        "cross": [V, W], "motion_cross": [XI], "force_cross": [XI], "motion_transform": [R, V],
        "force_transform": [R, V], "spatial_inertia": [2.0, V, R @ R.T], "inertia_from_parameters": [PI],
        "inertia_to_parameters": [spatial.inertia_from_parameters(PI)], "inertia_map": [XI],
    },
    dual_quaternion: {
        "multiply": [DQ, DP], "conjugate": [DQ], "normalize": [DQ + 0.1], "from_pose": [T], "to_pose": [DQ],
        "exp": [XI], "log": [DQ], "transform_point": [DQ, V], "rate_matrix": [DQ],
    },
    coordinates: {
        "cylindrical_to_cartesian": [V], "cartesian_to_cylindrical": [V], "spherical_to_cartesian": [V],
        "cartesian_to_spherical": [V], "cylindrical_rate_to_velocity": [V],
        "velocity_to_cylindrical_rate": [V], "spherical_rate_to_velocity": [V],
        "velocity_to_spherical_rate": [V],
    },
}  # fmt: skip

CASES = [
    pytest.param(getattr(module, name), arguments, id=f"{module.__name__.split('.')[-1]}.{name}")
    for module, calls in CALLS.items()
    for name, arguments in calls.items()
]


def public_functions(module):
    members = inspect.getmembers(module, inspect.isfunction)
    return {name: f for name, f in members if f.__module__ == module.__name__ and not name.startswith("_")}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def symbol(kind, name, value):
    return kind.sym(name, *np.shape(value)) if np.ndim(value) else kind.sym(name)


def assert_same(casadi_results, numpy_results):
    for found, expected in zip(casadi_results, numpy_results, strict=True):
        shape = (*np.shape(expected), 1, 1)[:2]
        assert found.shape == shape
        assert np.allclose(found.full(), np.reshape(expected, shape), rtol=1e-14, atol=1e-15)


def test_the_table_above_names_every_public_function():
    modules = {getattr(geometry, name) for name in geometry.__all__}
    assert modules == set(CALLS)
    for module, calls in CALLS.items():
        assert set(calls) == set(public_functions(module))


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_symbols_agree_with_numpy(function, arguments, kind):
    numbers = [x for x in arguments if not isinstance(x, str)]
    words = [x for x in arguments if isinstance(x, str)]
    symbols = [symbol(kind, f"x{i}", x) for i, x in enumerate(numbers)]
    expression = ca.Function("f", symbols, as_tuple(function(*symbols, *words)))
    assert_same(expression.call([ca.DM(x) for x in numbers]), as_tuple(function(*arguments)))


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_casadi_numbers_agree_with_numpy(function, arguments):
    converted = [x if isinstance(x, str) else ca.DM(x) for x in arguments]
    results = as_tuple(function(*converted))
    assert all(isinstance(result, ca.DM) for result in results)
    assert_same(results, as_tuple(function(*arguments)))


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_numpy_in_numpy_out_one_axis_a_vector_two_a_matrix(function, arguments):
    for result in as_tuple(function(*arguments)):
        assert isinstance(result, np.ndarray | np.floating)
        assert result.dtype == float
        assert 1 not in np.shape(result)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_one_symbol_among_numbers_is_enough(function, arguments, kind):
    for i, x in enumerate(arguments):
        if isinstance(x, str):
            continue
        s = symbol(kind, "x", x)
        mixed = as_tuple(function(*arguments[:i], s, *arguments[i + 1 :]))
        assert all(isinstance(result, kind) for result in mixed)
        assert_same(ca.Function("f", [s], mixed).call([ca.DM(x)]), as_tuple(function(*arguments)))


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_wrong_shapes_and_types_are_errors_of_ours(function, arguments):
    for wrong in (np.zeros((2, 5)), ca.SX.sym("x", 2, 5), "text", np.zeros(3) + 1j):
        with pytest.raises(InputError):
            function(wrong, *arguments[1:])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (so3.exp, np.zeros(3)), (so3.left_jacobian, np.zeros(3)), (so3.left_jacobian_inverse, np.zeros(3)),
        (quaternion.exp, np.zeros(3)), (quaternion.log, np.eye(4)[0]), (quaternion.log, -np.eye(4)[0]),
        (quaternion.log, np.eye(4)[1]), (quaternion.to_angle_axis, np.eye(4)[0]),
        (se3.exp, np.zeros(6)), (se3.left_jacobian, np.zeros(6)), (se3.left_jacobian_inverse, np.zeros(6)),
        (dual_quaternion.exp, np.zeros(6)), (dual_quaternion.log, np.eye(8)[0]),
        (lambda x: quaternion.slerp(x, x, 0.5), np.eye(4)[0]),
        (lambda x: se3.screw_from_twist(x)[0], np.zeros(6)),
        (lambda x: se3.screw_from_twist(x)[1], np.zeros(6)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [ca.SX, ca.MX])
def test_nothing_is_nan_at_the_singular_points(function, arguments, kind):
    def flat(x):
        result = function(x)
        return ca.vertcat(*result) if isinstance(result, tuple) else result

    for part in derivatives(flat, arguments, kind):
        assert np.isfinite(part).all()


def test_sx_and_mx_together_are_an_error():
    with pytest.raises(InputError, match="mix CasADi SX and MX"):
        spatial.cross(ca.SX.sym("a", 3), ca.MX.sym("b", 3))


def test_a_list_with_symbols_is_a_vector():
    x = ca.SX.sym("x")
    assert so3.hat([x, 0.0, 1.0]).shape == (3, 3)


def test_constants_fold_out_of_the_graph():
    """A rotation about a coordinate axis keeps its exact zeros and ones, also through the exponential."""
    x = ca.SX.sym("x")
    for matrix in (
        euler.from_rpy([0.0, 0.0, x]),
        so3.from_angle_axis(x, [0.0, 0.0, 1.0]),
        so3.exp([0.0, 0.0, x]),
    ):
        constant = [matrix[i, j] for i, j in ((0, 2), (1, 2), (2, 0), (2, 1), (2, 2))]
        assert [float(entry) for entry in constant if entry.is_constant()] == [0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("module", list(CALLS))
def test_every_public_function_shows_an_example(module):
    assert [name for name, f in public_functions(module).items() if ">>>" not in (f.__doc__ or "")] == []
