"""Hypothesis of a tilted base: gravity in another direction than described."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helicoid._typing import Array
from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import Evidence
from helicoid.robot import Robot

_COMPLEXITY_PENALTY = 12.0  # on S, for two free numbers
_MIN_TILT = 4.0  # degrees


def tilted(evidence: Evidence) -> Iterator[Candidate]:
    """The direction of gravity that explains the log best, where the base of a robot is fixed."""
    from scipy.optimize import minimize

    robot = evidence.known.regression.robot
    down = np.array(robot.model.gravity)
    size = float(np.linalg.norm(down))
    if size == 0 or any(body.joint.parent == "" for body in robot.model.bodies):
        return
    columns = gravity_columns(robot, evidence.motion.q)
    own = slice(0, columns.shape[-1])

    def misfit(gravity: Array) -> float:
        Y = np.array(evidence.Y)
        Y[:, :, own] += np.tensordot(gravity - down, columns, 1)
        return Evidence(evidence.known, evidence.motion, Y).misfit()

    # Two numbers that turn gravity about two axes across it.
    across = np.linalg.svd(down[None])[2][1:]

    def turned(angles: Array) -> Array:
        angle = float(np.linalg.norm(angles))
        if angle == 0:
            return down
        axis = angles @ across / angle
        return np.asarray(down * np.cos(angle) + np.cross(axis, down) * np.sin(angle))

    starts = [np.array([np.cos(b), np.sin(b)]) * a for a in (0.5, 1.4) for b in np.arange(4) * np.pi / 2]
    starts += [np.array([np.pi, 0.0])]
    start = min(starts, key=lambda one: misfit(turned(one)))
    options = {"maxfev": 40, "xatol": 5e-3, "fatol": 0.5, "initial_simplex": start + 0.3 * np.eye(3, 2, -1)}
    found = minimize(lambda x: misfit(turned(x)), start, method="Nelder-Mead", options=options)
    gravity = turned(found.x)
    angle = float(np.degrees(np.arccos(np.clip(gravity @ down / size**2, -1, 1))))
    if angle > _MIN_TILT:
        words = ", ".join(f"{x:.2f}" for x in gravity)
        yield Candidate(
            "tilted base", (), float(found.fun) + _COMPLEXITY_PENALTY,
            f"the base is tilted by {angle:.0f}°: gravity pulls along ({words}) m/s² in its frame. Put the "
            "tilt into the first fixed joint of the URDF",
            2,
        )  # fmt: skip


def gravity_columns(robot: Robot, q: Array) -> Array:
    """Y(q, 0, 0) for gravity of 1 m/s² along each axis of the base, (3, N, nv, 10 n_bodies).

    By CasADi's virtual machine: not worth compiling.
    """
    function = robot.parametric("gravity").gravity_parameter_derivatives.casadi
    many = function.map(len(q))
    found = [np.asarray(many(q.T, np.tile(axis[:, None], (1, len(q))))) for axis in np.eye(3)]
    return np.array([x.reshape(robot.nv, len(q), -1).transpose(1, 0, 2) for x in found])
