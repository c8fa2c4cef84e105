"""External wrenches of a log: their part in what was measured.

With wrenches w on links the robot moves by τ + Σ Jᵀ w: adding Σ Jᵀ w to measured torques gives those that
its own dynamics need. A force/torque sensor carries what is beyond it, less the wrenches that act there.
"""

from __future__ import annotations

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.forces.external import check_movable
from helicoid.identification.logs.log import Log
from helicoid.robot import Robot
from helicoid.simulation.sensors import external_at_sensor


def external_part(robot: Robot, log: Log) -> Array | float:
    """Part of external wrenches in the torques or wrenches of the motion, (N, rows); 0 without any."""
    if not log.f_ext:
        return 0.0
    for link in log.f_ext:
        check_movable(robot.model, link)
    q = np.asarray(log.q)
    if log.wrenches:
        return np.concatenate([external_at_sensor(robot, one, q, log.f_ext) for one in log.wrenches], axis=1)
    jacobians = {link: np.asarray(robot.jacobian(link, "body")(q)) for link in log.f_ext}
    return np.asarray(sum(np.einsum("kij,ki->kj", jacobians[link], w) for link, w in log.f_ext.items()))
