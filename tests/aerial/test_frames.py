from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helicoid as hc
from helicoid.geometry import euler, quaternion

ANGLE = st.floats(-1.5, 1.5)
F = np.diag([1.0, -1.0, -1.0])


@given(ANGLE, ANGLE, ANGLE)
def test_attitude_is_yaw_pitch_roll_with_z_down(roll, pitch, yaw):
    R_down = np.asarray(euler.from_euler([yaw, pitch, roll], "zyx"))
    R_up = np.asarray(quaternion.to_matrix(hc.aerial.attitude(roll, pitch, yaw)))
    np.testing.assert_allclose(F @ R_up @ F, R_down, atol=1e-12)


@given(ANGLE, ANGLE, ANGLE, ANGLE, st.floats(-1.0, 1.0))
def test_angles_come_back(roll, pitch, yaw, alpha, beta):
    V = 20.0
    body = V * np.array([np.cos(alpha) * np.cos(beta), np.sin(beta), np.sin(alpha) * np.cos(beta)])
    q = np.concatenate([np.zeros(3), hc.aerial.attitude(roll, pitch, yaw)])
    seen = hc.aerial.angles(q, np.concatenate([np.zeros(3), F @ body]))
    wanted = (roll, pitch, yaw, alpha, beta, V)
    found = (seen.roll, seen.pitch, seen.yaw, seen.alpha, seen.beta, seen.airspeed)
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_frame_names_agree_with_their_axes():
    """Nose up climbs, right wing down shows the left wing up, a turn to the right is positive."""
    level = np.array([0, 0, 0, 1.0, 0, 0, 0])
    up = np.concatenate([np.zeros(3), hc.aerial.attitude(0.0, 0.2, 0.0)])
    ahead = np.array([0, 0, 0, 10.0, 0, 0])
    assert hc.aerial.angles(up, ahead).gamma == pytest.approx(0.2)
    nose = np.asarray(quaternion.to_matrix(up[3:])) @ [1, 0, 0]
    assert nose[2] == pytest.approx(np.sin(0.2))  # z up
    banked = np.asarray(quaternion.to_matrix(hc.aerial.attitude(0.3, 0.0, 0.0)))
    left_wing = banked @ [0, 1, 0]
    assert left_wing[2] == pytest.approx(np.sin(0.3))
    right = np.asarray(quaternion.to_matrix(hc.aerial.attitude(0.0, 0.0, 0.4))) @ [1, 0, 0]
    assert right[1] == pytest.approx(-np.sin(0.4))  # y is left
    falling = hc.aerial.angles(level, [0, 0, 0, 10.0, 0, -1.0])
    assert falling.alpha > 0 > falling.gamma


def test_wind_parts_heading_and_course():
    q = np.array([0, 0, 0, 1.0, 0, 0, 0])
    seen = hc.aerial.angles(q, [0, 0, 0, 10.0, 0, 0], wind=[0, 10.0, 0])  # over ground north, air goes west
    assert seen.course == pytest.approx(0.0)
    assert seen.heading == pytest.approx(np.pi / 4)  # through the air to the right
    assert seen.airspeed == pytest.approx(np.hypot(10, 10)) and seen.groundspeed == pytest.approx(10)
