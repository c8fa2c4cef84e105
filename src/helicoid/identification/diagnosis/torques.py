"""Hypotheses on the torques: other sign, exchanged joints, another unit, motor side of a gear, currents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from helicoid._typing import Array
from helicoid.identification.diagnosis.candidate import Candidate, listed
from helicoid.identification.diagnosis.evidence import Evidence

_UNITS = {1e3: "mN·m", 1e2: "N·cm", 1e-3: "kN·m"}
_UNIT_TOLERANCE = 1.7  # factor between a scale and that of a unit
_MAX_DESCRIPTION_ERROR = 1.7  # factor between torques and those of the model, by a wrong description
_COMPLEXITY_PENALTY = 6.0  # on S, for each free number
_MIN_DECREASE, _MAX_RATIO = 30.0, 0.8  # of S by one more free scale: absolute, and to that before
_MAX_GEARED = 0.6  # fraction of the joints: if more are scaled, the log holds currents
_MIN_FACTOR_OF_ALL = 2.5  # between measured and described torques of most joints
_MIN_FACTOR_OF_ONE = 8.0  # between those of a single joint
_MIN_DEVIATION_ABOVE, _MIN_DEVIATION_BELOW = 6.0, 2.0  # σ of that factor by the prior of the bodies
_MIN_EXPLAINED = 0.5  # of the variance of a torque without friction, by the bodies
_MIN_FRACTION_OF_JOINTS = 0.7  # of the joints whose torque bodies explain
_COARSE_SCALES = np.exp(np.linspace(np.log(2e-4), np.log(5e3), 25))
_FINE_SCALES = np.exp(np.linspace(-0.4, 0.4, 7))


def flipped(evidence: Evidence) -> Iterator[Candidate]:
    """Torques with the other sign: of all joints, and of some, found one by one."""
    names, rows = evidence.names, evidence.suspects()
    sign = np.ones(len(names))
    if len(rows) > 1:
        yield _flip(names, evidence.rows, evidence.misfit(scale=-sign) + _COMPLEXITY_PENALTY)
    chosen: list[int] = []
    best = np.inf
    for _ in range(max(1, len(rows) - 1)):
        tried = {}
        for k in rows:
            if k not in chosen:
                other = np.array(sign)
                other[k] = -1.0
                tried[k] = evidence.misfit(scale=other) + _COMPLEXITY_PENALTY * (len(chosen) + 1)
        k = min(tried, key=lambda one: tried[one])
        if tried[k] > best:
            return
        sign[k], best = -1.0, tried[k]
        chosen.append(k)
        yield _flip(names, sorted(chosen), best)


def _flip(names: Sequence[str], rows: Sequence[int], misfit: float) -> Candidate:
    joints = tuple(names[k] for k in rows)
    return Candidate(
        "sign", joints, misfit,
        f"the torque of {listed(joints)} has the other sign: multiply it by -1",
    )  # fmt: skip


def exchanged(evidence: Evidence) -> Iterator[Candidate]:
    """Torques of two joints in each other's columns."""
    for i, j in combinations(evidence.suspects(), 2):
        columns = list(range(len(evidence.names)))
        columns[i], columns[j] = j, i
        joints = evidence.names[i], evidence.names[j]
        yield Candidate(
            "swapped torques", joints, evidence.misfit(columns) + _COMPLEXITY_PENALTY,
            f"the torques of {listed(joints)} are in each other's columns: exchange them",
        )  # fmt: skip


def scaled(evidence: Evidence) -> Iterator[Candidate]:
    """Torques that are multiples of what bodies need: of some joints, found one by one, or of all."""
    ones, rows = np.ones(len(evidence.names)), evidence.suspects()
    common = _best(evidence, ones, evidence.rows)
    for start in (ones, common * ones):
        scale, freed = start, list[int]()
        best = evidence.misfit(scale=scale)
        if scale[0] != 1.0:
            yield _scale(evidence, evidence.rows, scale, best, 1)
        while len(freed) < len(rows):
            tried = {k: scale[k] * _best(evidence, scale, [k]) for k in rows if k not in freed}
            found = {k: evidence.misfit(scale=_with(scale, k, s)) for k, s in tried.items()}
            k = min(found, key=lambda one: found[one])
            if found[k] > min(best - _MIN_DECREASE, _MAX_RATIO * best):
                break
            scale, best = _with(scale, k, tried[k]), found[k]
            freed.append(k)
            own = [k for k in evidence.rows if abs(np.log(scale[k])) > np.log(_MAX_DESCRIPTION_ERROR)]
            if own:
                yield _scale(evidence, own, scale, best, len(freed) + (start is not ones))


def _best(evidence: Evidence, scale: Array, rows: Sequence[int]) -> float:
    """The factor on the scale of some rows that has the least S."""
    best = 1.0
    for grid in (_COARSE_SCALES, _FINE_SCALES):
        tried = {f: evidence.misfit(scale=_with(scale, rows, f * scale[rows])) for f in best * grid}
        best = min(tried, key=lambda factor: tried[factor])
    return float(best)


def _with(scale: Array, rows: int | Sequence[int], value: float | Array) -> Array:
    other = np.array(scale)
    other[rows] = value
    return other


def _scale(
    evidence: Evidence, rows: Sequence[int], scale: Array, misfit: float, free: int, everywhere: bool = False
) -> Candidate:
    joints, factors = tuple(evidence.names[k] for k in rows), 1.0 / scale[list(rows)]
    each = listed([f"{joint} ({factor:.2g})" for joint, factor in zip(joints, factors, strict=True)])
    middle = float(np.exp(np.mean(np.log(factors))))
    unit = next((u for f, u in _UNITS.items() if abs(np.log(middle / f)) < np.log(_UNIT_TOLERANCE)), "")
    alike = float(np.ptp(np.log(factors))) < 2 * np.log(_UNIT_TOLERANCE)
    if unit and alike:
        remedy = next(f for f, u in _UNITS.items() if u == unit)
        text = f"the torque of {listed(joints)} is in {unit}: divide it by {remedy:g}"
        return Candidate("unit", joints, misfit, text, free)
    if everywhere or len(rows) >= max(2, _MAX_GEARED * len(evidence.rows)):
        text = (
            f"what is given as torque is a multiple of it in each joint: {each}. Most likely it is the "
            "current of the drives: multiply by their gains, which hc.drive_gains finds with a known load"
        )
        return Candidate("current", joints, misfit, text, free)
    text = (
        f"the torque is a multiple of what bodies and friction need: {each}. Most likely the gear ratio is "
        "wrong, or the torque that of the motor's side: divide it by that factor"
    )
    return Candidate("gear", joints, misfit, text, free)


def multiples(evidence: Evidence) -> Candidate | None:
    """Torques that are far from what the described bodies need: of nearly all joints, or by much of some.

    S hardly penalises bodies that are all lighter by the same factor, so the factor is bounded here.
    """
    found = _factors(evidence)
    far = {k: f for k, (f, _) in found.items() if abs(np.log(f)) > np.log(_MIN_FACTOR_OF_ALL)}
    everywhere = (
        len(far) >= max(2, _MIN_FRACTION_OF_JOINTS * len(found)) and len({f > 1 for f in far.values()}) == 1
    )
    if not everywhere:
        far = {k: f for k, f in far.items() if _is_multiple(*found[k])}
    if not far:
        return None
    scale = np.ones(len(evidence.names))
    scale[list(far)] = 1.0 / np.array(list(far.values()))
    return _scale(evidence, list(far), scale, evidence.misfit(scale=scale), len(far), everywhere)


def _is_multiple(factor: float, sigma: float) -> bool:
    """Whether a factor of one joint, with the prior σ that uncertain bodies give it, is another unit's."""
    deviation = _MIN_DEVIATION_ABOVE if factor > 1 else _MIN_DEVIATION_BELOW
    return abs(np.log(factor)) > np.log(_MIN_FACTOR_OF_ONE) and abs(factor - 1.0) > deviation * sigma


def _factors(evidence: Evidence) -> dict[int, tuple[float, float]]:
    """Ratio of the measured to the described torque of the bodies, by row, where it is identifiable; its σ.

    Beside the joint's own friction, offset, armature and spring; σ is that of the prior of the bodies.
    """
    known, found = evidence.known, {}
    inertial = known.regression.parameters.groups["inertia"]
    T = known.T[inertial, inertial]
    for k in evidence.rows:
        Y = evidence.Y[:, k]
        own = np.delete(Y, np.r_[inertial], axis=1)
        own = own[:, np.any(own != 0, axis=0)]
        Q = np.linalg.qr(own / np.linalg.norm(own, axis=0))[0]
        described = Y[:, inertial] @ known.origin[inertial]
        block = np.column_stack([described, evidence.motion.tau[:, k], Y[:, inertial] @ T])
        block -= Q @ (Q.T @ block)
        bodies, tau = block[:, :2].T
        size = max(float(bodies @ bodies), 1e-300)
        factor = float(bodies @ tau) / size
        if factor > 0 and factor * float(bodies @ tau) > _MIN_EXPLAINED * float(tau @ tau):
            found[k] = factor, float(np.linalg.norm(block[:, 2:].T @ bodies)) / size
    return found
