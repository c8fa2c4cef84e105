"""A problem of predictive control that follows a path through the air."""

from __future__ import annotations

import numpy as np

import helicoid as hc
from helicoid.geometry import quaternion

HORIZON, DT, PERIOD = 20, 0.05, 0.01


def tracking(name: str, wind: hc.aerial.Wind) -> hc.mpc.Problem:
    """A problem that follows places and speeds; the model knows the mean wind."""
    quad = hc.aerial.load(name, wind=wind)
    made = hc.mpc.Problem(quad, horizon=HORIZON, dt=DT, substeps=2)
    place, speed = made.parameter("place", np.zeros(3)), made.parameter("speed", np.zeros(3))
    R = quaternion.to_matrix(made.q[3:7])
    made.add_cost("away", made.q[:3] - place, 200.0, end_weight=200.0)
    made.add_cost("moving", R @ made.v[3:6] - speed, 5.0, end_weight=20.0)
    made.add_cost("turned", R[1, 0], 20.0, end_weight=10.0)
    made.add_cost("spin", made.v[:3], 0.05, end_weight=0.1)
    made.add_cost("rotors", (made.u - quad.trim().u) / 100, 0.02)
    return made
