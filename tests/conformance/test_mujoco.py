"""Helicoid against MuJoCo: a second oracle, which shares no code with Pinocchio."""

from comparison import evaluate, relative_error
from mujoco_peer import MuJoCo
from real_robots import FILES, load, random_states, sweep

ROBOTS = [
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",  # a finger mimics the other
    "a1_description/urdf/a1.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
]


@sweep(ROBOTS, alternate=True)
def test_dynamics(name: str, base: str) -> None:
    robot = load(name, base)
    states = random_states(robot, 20)
    theirs = MuJoCo(FILES[name], robot, base).answers(states)._asdict()
    theirs["forward_dynamics_crba"] = theirs["forward_dynamics"]
    errors = {
        quantity: relative_error(evaluate(getattr(robot, quantity), states), value)
        for quantity, value in theirs.items()
    }
    assert {quantity: error for quantity, error in errors.items() if not error <= 1e-9} == {}
