"""The closed form on real robots: identities of its matrices, and its rates against complex steps."""

import numpy as np
import pytest
from real_robots import FILES, load, random_states, skip_if_faulty, sweep

from complex_step import step

TOLERANCE = 1e-9
SOME = {("a1.urdf", "floating")}
CHRISTOFFEL = 12  # velocities up to which the tensor of symbols is small


def check(name: str, base: str) -> None:
    robot = load(name, base)
    if robot.nv == 0:
        pytest.skip("nothing moves")
    (q,), (v,), (a,), _ = random_states(robot, 1)
    M, C, g, M_dot, C_dot, g_dot = robot.closed_form_dot(q, v, a)
    size = max(1.0, np.abs(M).max())
    pairs = {
        "M": (M, robot.mass_matrix(q)),
        "g": (g, robot.gravity(q)),
        "C v": (C @ v, robot.bias(q, v) - robot.gravity(q)),
        "M_dot": (M_dot, C + C.T),
        "M_dot, recursion": (M_dot, robot.mass_matrix_dot(q, v)),
    }
    if robot.nv <= CHRISTOFFEL:
        pairs["C v, Christoffel"] = (robot.christoffel_symbols(q) @ v @ v, C @ v)
    tangent = np.eye(robot.nv) if robot.tangent is None else np.array(robot.tangent(q))
    M_step, C_step, g_step = step(robot.closed_form, (q, tangent @ v), (v, a))
    pairs |= {"M rate": (M_dot, M_step), "C rate": (C_dot, C_step), "g rate": (g_dot, g_step)}
    errors = {key: np.abs(x - y).max() / max(size, np.abs(y).max()) for key, (x, y) in pairs.items()}
    assert all(error <= TOLERANCE for error in errors.values()), errors


@sweep(FILES, SOME, alternate=True)
def test_every_robot(name: str, base: str) -> None:
    skip_if_faulty(name, base)
    check(name, base)
