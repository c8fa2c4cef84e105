"""Hypotheses on the motion: degrees or millimetres, exchanged joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from helicoid.identification.diagnosis.candidate import Candidate, listed
from helicoid.identification.diagnosis.evidence import Evidence, LoggedMotion
from helicoid.robot import Robot

_COMPLEXITY_PENALTY = 6.0  # on S, for each free number


def in_other_units(evidence: Evidence) -> Iterator[Candidate]:
    """Positions, velocities and accelerations in degrees (or mm): of all joints, and of some, one by one."""
    places = single(evidence.known.regression.robot)
    joints = [k for k in evidence.suspects() if k in places]
    if len(places) > 1:
        yield _unit(evidence, list(places))
    chosen: list[int] = []
    best = np.inf
    while len(chosen) < min(len(joints), max(1, len(places) - 1)):
        tried = [_unit(evidence, [*chosen, k]) for k in joints if k not in chosen]
        found = min(tried, key=lambda one: one.misfit)
        if found.misfit > best:
            return
        best = found.misfit
        chosen = [k for k in joints if evidence.names[k] in found.joints]
        yield found


def _unit(evidence: Evidence, rows: Sequence[int]) -> Candidate:
    robot = evidence.known.regression.robot
    places = single(robot)
    q, v, a, tau = (np.array(x) for x in evidence.motion)
    for k in rows:
        factor = _factor(robot, k)
        q[:, places[k]] *= factor
        v[:, k] *= factor
        a[:, k] *= factor
    names = tuple(evidence.names[k] for k in sorted(rows))
    misfit = Evidence(evidence.known, LoggedMotion(q, v, a, tau)).misfit() + _COMPLEXITY_PENALTY * len(rows)
    slides = _factor(robot, rows[0]) == 1e-3
    unit, remedy = ("mm", "divide it by 1000") if slides else ("degrees", "multiply it by pi/180")
    return Candidate("motion unit", names, misfit, f"the motion of {listed(names)} is in {unit}: {remedy}")


def exchanged_joints(evidence: Evidence) -> Iterator[Candidate]:
    """Two joints in each other's columns: motion and torque, or the motion alone."""
    places = single(evidence.known.regression.robot)
    for i, j in combinations([k for k in evidence.suspects() if k in places], 2):
        q, v, a, tau = (np.array(x) for x in evidence.motion)
        q[:, [places[i], places[j]]] = q[:, [places[j], places[i]]]
        v[:, [i, j]], a[:, [i, j]] = v[:, [j, i]], a[:, [j, i]]
        other = Evidence(evidence.known, LoggedMotion(q, v, a, tau))
        columns = list(range(len(evidence.names)))
        columns[i], columns[j] = j, i
        names = evidence.names[i], evidence.names[j]
        yield Candidate(
            "swapped joints", names, other.misfit(columns) + _COMPLEXITY_PENALTY,
            f"{listed(names)} are in each other's columns, motion and torque: exchange them",
        )  # fmt: skip
        yield Candidate(
            "swapped motion", names, other.misfit() + _COMPLEXITY_PENALTY,
            f"the motions of {listed(names)} are in each other's columns: exchange them",
        )  # fmt: skip


def single(robot: Robot) -> dict[int, int]:
    """Index in q of each joint with one coordinate, by its index in v."""
    bodies = [b for b in robot.model.bodies if b.joint.mimic is None and b.joint.type.nq == 1]
    return {body.v.start: body.q.start for body in bodies}


def _factor(robot: Robot, k: int) -> float:
    """From degrees to rad, or from mm to m where a joint slides."""
    kind = next(body.joint.type.kind for body in robot.model.bodies if body.v.start == k)
    return 1e-3 if kind == "prismatic" else np.pi / 180.0
