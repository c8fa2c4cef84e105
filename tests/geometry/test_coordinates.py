"""Cylindrical and spherical coordinates: round trips, E by differentiation, the z axis."""

import numpy as np
import pytest
from geometry_support import derivatives, quick, vectors
from hypothesis import given
from hypothesis import strategies as st

from helicoid.errors import InputError
from helicoid.geometry import coordinates

azimuths = st.floats(-3.1, 3.1)
lengths = st.floats(0.1, 10.0)
cylindrical = st.builds(lambda *x: np.array(x), lengths, azimuths, st.floats(-10.0, 10.0))
spherical = st.builds(lambda *x: np.array(x), lengths, azimuths, st.floats(0.05, 3.09))


@quick
@given(cylindrical, spherical, vectors(3))
def test_round_trips(c, s, p):
    assert np.allclose(
        coordinates.cartesian_to_cylindrical(coordinates.cylindrical_to_cartesian(c)), c, atol=1e-13
    )
    assert np.allclose(
        coordinates.cartesian_to_spherical(coordinates.spherical_to_cartesian(s)), s, atol=1e-13
    )
    assert np.allclose(
        coordinates.cylindrical_to_cartesian(coordinates.cartesian_to_cylindrical(p)), p, atol=1e-13
    )
    assert np.allclose(
        coordinates.spherical_to_cartesian(coordinates.cartesian_to_spherical(p)), p, atol=1e-13
    )


@quick
@given(cylindrical)
def test_cylindrical_rates_are_the_derivative_of_the_position(chi):
    e = coordinates.cylindrical_rate_to_velocity(chi)
    assert np.allclose(e, derivatives(coordinates.cylindrical_to_cartesian, chi)[1], atol=1e-14)
    assert np.allclose(coordinates.velocity_to_cylindrical_rate(chi) @ e, np.eye(3), atol=1e-13)


@quick
@given(spherical)
def test_spherical_rates_are_the_derivative_of_the_position(chi):
    e = coordinates.spherical_rate_to_velocity(chi)
    assert np.allclose(e, derivatives(coordinates.spherical_to_cartesian, chi)[1], atol=1e-14)
    assert np.allclose(coordinates.velocity_to_spherical_rate(chi) @ e, np.eye(3), atol=1e-12)


@quick
@given(spherical)
def test_the_inverse_rates_are_the_derivative_of_the_coordinates(chi):
    p = coordinates.spherical_to_cartesian(chi)
    for to, inverse in (
        (coordinates.cartesian_to_cylindrical, coordinates.velocity_to_cylindrical_rate),
        (coordinates.cartesian_to_spherical, coordinates.velocity_to_spherical_rate),
    ):
        jacobian = derivatives(to, p)[1]
        assert np.allclose(inverse(to(p)), jacobian, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("position", [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, -2.0]])
def test_the_z_axis_has_an_answer_and_finite_derivatives(position):
    for to in (coordinates.cartesian_to_cylindrical, coordinates.cartesian_to_spherical):
        value, *slopes = derivatives(to, position)
        assert np.array_equal(value, to(position))
        assert value[1] == 0.0
        assert all(np.isfinite(slope).all() for slope in slopes)


def test_rates_on_the_z_axis_are_an_error():
    with pytest.raises(InputError, match="z axis"):
        coordinates.velocity_to_cylindrical_rate([0.0, 1.0, 2.0])
    with pytest.raises(InputError, match="z axis"):
        coordinates.velocity_to_spherical_rate([2.0, 1.0, 0.0])
