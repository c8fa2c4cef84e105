"""Task-space dynamics against the same put together from Pinocchio's matrices."""

import numpy as np
import pytest
from comparison import relative_error
from pinocchio_peer import Pinocchio
from real_robots import BASES, FILES, load, named, random_states

TOLERANCE = 1e-9
TASKS = [
    ("panda.urdf", "panda_link8"),
    ("ur5_robot.urdf", "tool0"),
    ("talos_reduced.urdf", "gripper_left_base_link"),
]


QUICK = {("panda.urdf", "world_aligned", "fixed"), ("ur5_robot.urdf", "body", "floating")}


@pytest.mark.parametrize(
    ("file", "frame", "reference", "base"),
    [
        pytest.param(
            file, frame, reference, base, marks=() if (file, reference, base) in QUICK else pytest.mark.slow
        )
        for file, frame in TASKS
        for reference in ("world", "world_aligned", "body")
        for base in BASES
    ],
)
def test_against_pinocchio(file: str, frame: str, reference: str, base: str) -> None:
    name = named(file)
    robot = load(name, base)
    peer, states = Pinocchio(FILES[name], robot, base), random_states(robot, 20)
    theirs, frames = peer.dynamics(states), peer.frames(states, [frame])
    J, J_dot = (frames[quantity, frame, reference] for quantity in ("jacobian", "jacobian_dot"))
    M_inverse_Jt = np.linalg.solve(theirs["mass_matrix"], np.swapaxes(J, 1, 2))
    mobility = J @ M_inverse_Jt
    good = np.linalg.cond(mobility) < 1e5  # elsewhere the arm is nearly singular and rounding decides
    assert good.any()
    Λ = np.linalg.inv(mobility[good])
    J_bar_t = Λ @ np.swapaxes(M_inverse_Jt[good], 1, 2)
    μ = np.einsum("nij,nj->ni", J_bar_t, theirs["coriolis"][good])
    μ -= np.einsum("nij,njk,nk->ni", Λ, J_dot[good], states.v[good])
    p = np.einsum("nij,nj->ni", J_bar_t, theirs["gravity"][good])
    ours = robot.task_dynamics(frame, reference)(states.q[good], states.v[good])  # type: ignore[arg-type]
    for value, expected in zip(ours, (Λ, μ, p), strict=True):
        assert relative_error(value, expected) < TOLERANCE
