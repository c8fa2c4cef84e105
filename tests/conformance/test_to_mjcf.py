"""The MJCF that Helicoid writes of real robots: MuJoCo's dynamics of the file are those of the robot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from comparison import relative_error
from real_robots import FILES, load, random_states, skip_if_faulty, sweep

from written_mjcf import WrittenRobot


@sweep(FILES)
def test_dynamics_of_the_file(name: str, base: str, tmp_path: Path) -> None:
    skip_if_faulty(name, base)
    robot, n = load(name, base), 5
    if robot.nv == 0:
        return
    # Meshes take as long to read as all else, and change no dynamics.
    links = [replace(link, collisions=()) for link in robot.model.links]
    written = WrittenRobot(robot.with_model(robot.model.replaced(links=links)), tmp_path)
    states = random_states(robot, n)
    theirs = [np.array(one) for one in zip(*map(written.answer, states.q, states.v, states.a), strict=True)]
    floor = 1e-3 * np.abs(theirs[0]).max()
    ours = (
        robot.mass_matrix(states.q),
        robot.bias(states.q, states.v),
        robot.inverse_dynamics(states.q, states.v, states.a),
    )
    for mine, other in zip(ours, theirs, strict=True):
        assert relative_error(mine, other, floor) < 1e-10
