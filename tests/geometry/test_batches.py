"""One array, a batch of them, and CasADi give the same; exact near 0 and near π, against 40 digits."""

import casadi as ca
import mpmath
import numpy as np
import pytest
from geometry_support import SPECIAL_ANGLES, fewest, twists
from hypothesis import given

from helicoid.errors import InputError
from helicoid.geometry import quaternion, se3, so3, spatial

# Each function of one argument with its argument, made of a twist.
ONE_ARGUMENT = {
    "so3.hat": (so3.hat, lambda xi: xi[:3]),
    "so3.vee": (so3.vee, lambda xi: so3.hat(xi[:3])),
    "so3.exp": (so3.exp, lambda xi: xi[:3]),
    "so3.log": (so3.log, lambda xi: so3.exp(xi[:3])),
    "so3.left_jacobian": (so3.left_jacobian, lambda xi: xi[:3]),
    "so3.left_jacobian_inverse": (so3.left_jacobian_inverse, lambda xi: xi[:3]),
    "so3.right_jacobian": (so3.right_jacobian, lambda xi: xi[:3]),
    "so3.right_jacobian_inverse": (so3.right_jacobian_inverse, lambda xi: xi[:3]),
    "quaternion.exp": (quaternion.exp, lambda xi: xi[:3]),
    "quaternion.log": (quaternion.log, lambda xi: quaternion.exp(xi[:3])),
    "quaternion.conjugate": (quaternion.conjugate, lambda xi: quaternion.exp(xi[:3])),
    "quaternion.normalize": (quaternion.normalize, lambda xi: 3.0 * quaternion.exp(xi[:3])),
    "quaternion.to_matrix": (quaternion.to_matrix, lambda xi: quaternion.exp(xi[:3])),
    "quaternion.from_matrix": (quaternion.from_matrix, lambda xi: so3.exp(xi[:3])),
    "se3.hat": (se3.hat, lambda xi: xi),
    "se3.vee": (se3.vee, se3.hat),
    "se3.exp": (se3.exp, lambda xi: xi),
    "se3.log": (se3.log, se3.exp),
    "se3.inverse": (se3.inverse, se3.exp),
    "se3.rotation": (se3.rotation, se3.exp),
    "se3.translation": (se3.translation, se3.exp),
    "se3.adjoint": (se3.adjoint, se3.exp),
    "se3.dual_adjoint": (se3.dual_adjoint, se3.exp),
}
TWO_ARGUMENTS = {
    "quaternion.multiply": (quaternion.multiply, lambda xi: (quaternion.exp(xi[:3]), quaternion.exp(xi[3:]))),
    "quaternion.rotate": (quaternion.rotate, lambda xi: (quaternion.exp(xi[:3]), xi[3:])),
    "se3.pose": (se3.pose, lambda xi: (so3.exp(xi[:3]), xi[3:])),
    "spatial.motion_transform": (spatial.motion_transform, lambda xi: (so3.exp(xi[:3]), xi[3:])),
    "spatial.force_transform": (spatial.force_transform, lambda xi: (so3.exp(xi[:3]), xi[3:])),
}
CALLS = {name: (f, lambda xi, make=make: (make(xi),)) for name, (f, make) in ONE_ARGUMENT.items()}
CALLS |= TWO_ARGUMENTS


def size(*arguments):
    return max(1.0, *(float(np.abs(x).max()) for x in arguments))


@pytest.mark.parametrize("name", CALLS)
@fewest
@given(twists(), twists())
def test_one_many_and_casadi_agree(name, one, other):
    function, make = CALLS[name]
    samples = [make(xi) for xi in (one, other, -one)]
    batch = function(*(np.stack(column) for column in zip(*samples, strict=True)))
    for found, arguments in zip(batch, samples, strict=True):
        single = function(*arguments)
        assert isinstance(single, np.ndarray)
        assert found.shape == single.shape
        tolerance = 4e-15 * size(*arguments)
        assert np.allclose(found, single, rtol=0.0, atol=tolerance)
        casadi = function(*(ca.DM(x) for x in arguments)).full().reshape(single.shape)
        assert np.allclose(casadi, single, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("name", CALLS)
def test_batches_of_any_axes_and_memory_order_lists_and_none(name, rng):
    function, make = CALLS[name]
    samples = [make(xi) for xi in rng.normal(size=(6, 6))]
    columns = [np.stack(column) for column in zip(*samples, strict=True)]
    expected = np.stack([function(*arguments) for arguments in samples])
    grid = [c.reshape(2, 3, *c.shape[1:]) for c in columns]
    assert np.array_equal(function(*grid), function(*columns).reshape(2, 3, *expected.shape[1:]))
    turned = [np.asfortranarray(c) for c in columns]
    assert np.array_equal(function(*turned), function(*columns))
    assert np.allclose(function(*columns), expected, rtol=0.0, atol=1e-14)
    assert np.array_equal(function(*(np.asfortranarray(x) for x in samples[0])), expected[0])
    assert np.array_equal(function(*(x.tolist() for x in samples[0])), expected[0])
    assert function(*(c[:0] for c in columns)).shape == (0, *expected.shape[1:])
    assert function(*(c[:1] for c in columns)).shape == (1, *expected.shape[1:])
    with pytest.raises(InputError, match="for a batch"):
        function(np.zeros((5, 2)), *samples[0][1:])


@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_a_single_sample_is_broadcast_with_batches(name, rng):
    function, make = CALLS[name]
    samples = [make(xi) for xi in rng.normal(size=(3, 6))]
    fixed = samples[0]
    for argument in (0, 1):
        batch = list(fixed)
        batch[argument] = np.stack([sample[argument] for sample in samples])
        for found, sample in zip(function(*batch), samples, strict=True):
            arguments = list(fixed)
            arguments[argument] = sample[argument]
            assert np.allclose(found, function(*arguments), rtol=0.0, atol=1e-14)


def exact_pose(xi):
    """exp of a twist with 40 digits, in floats at the end."""
    with mpmath.workdps(40):
        twist = [mpmath.mpf(float(x)) for x in xi]
        w, v = mpmath.matrix(twist[:3]), mpmath.matrix(twist[3:])
        skew = mpmath.matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        angle = mpmath.norm(w)
        if angle == 0:
            a, b, c = mpmath.mpf(1), mpmath.mpf(1) / 2, mpmath.mpf(1) / 6
        else:
            with mpmath.workdps(400):  # the differences lose twice the digits of a tiny angle, and thrice
                a = mpmath.sin(angle) / angle
                b = (1 - mpmath.cos(angle)) / angle**2
                c = (angle - mpmath.sin(angle)) / angle**3
        one = mpmath.eye(3)
        R = one + a * skew + b * skew * skew
        p = (one + b * skew + c * skew * skew) * v
        return np.array(R.tolist(), dtype=float), np.array(p.T.tolist(), dtype=float).ravel()


@pytest.mark.parametrize("angle", [*SPECIAL_ANGLES, 0.49999, 0.50001, np.pi, 3.5, 6.0])
@pytest.mark.parametrize("axis", [[0.0, 0.0, 1.0], [0.6, 0.0, -0.8], [-0.48, 0.6, 0.64]])
def test_exp_has_all_its_digits_and_log_takes_it_back(angle, axis):
    xi = np.array([*(angle * np.array(axis)), 1.0, -2.0, 0.5])
    R, p = exact_pose(xi)
    T = se3.exp(xi)
    assert np.allclose(T[:3, :3], R, rtol=0.0, atol=1e-15)
    assert np.allclose(T[:3, 3], p, rtol=0.0, atol=3e-15)
    if angle < np.pi:
        assert np.allclose(se3.log(se3.pose(R, p)), xi, rtol=0.0, atol=4e-15)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e200])
def test_what_is_no_number_gives_none_and_no_foreign_error(value):
    xi, T = np.array([value, 0.0, 0.0, 1.0, 0.0, 0.0]), np.full((4, 4), value)
    with np.errstate(all="ignore"):
        for function, argument in ((se3.exp, xi), (so3.exp, xi[:3]), (quaternion.exp, xi[:3])):
            assert np.isnan(function(argument)).any()
        for function, argument in ((se3.log, T), (so3.log, T[:3, :3]), (se3.inverse, T)):
            assert function(argument).dtype == float


def test_a_zero_quaternion_among_many_is_an_error():
    with pytest.raises(InputError, match="zero quaternion"):
        quaternion.normalize(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
