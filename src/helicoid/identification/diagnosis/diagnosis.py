"""Diagnosis of a log: the simplest hypothesis on a wrong column that explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import Evidence, prior, some_motion
from helicoid.identification.diagnosis.loads import undescribed_load
from helicoid.identification.diagnosis.motions import exchanged_joints, in_other_units
from helicoid.identification.diagnosis.tilted_base import tilted
from helicoid.identification.diagnosis.torques import exchanged, flipped, multiples, scaled
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_ABOUT_TORQUES = (flipped, exchanged, scaled)
_ABOUT_MOTION = (in_other_units, exchanged_joints, tilted)  # each needs new equations
_MAX_JOINTS = 12  # with more, hypotheses on the motion take too long
_MIN_SAMPLES = 20
_MAX_PLAUSIBLE_MISFIT = 100.0  # S for each joint of a correct log
_MIN_DECREASE, _MAX_RATIO = 60.0, 0.45  # of S by a hypothesis: absolute, and to that of the log as given
_MAX_MISFIT = 600.0  # S for each joint under a hypothesis: about an eighth of the torque is unexplained
_MISFIT_TIE = 1.3  # ratio to the least S, within which the simplest hypothesis is taken


def diagnose(robot: Robot, stretches: Sequence[Samples]) -> Candidate | None:
    """The simplest of the hypotheses that explain a log of torques best; None for a plausible log.

    A hypothesis must lower the misfit S (see `evidence.py`) by far: a wrong description, friction of another
    shape or noise are left to the fit. With more than 12 joints, hypotheses are about signs, order and scales
    of torques only.
    """
    motion = some_motion(stretches)
    if len(motion.q) < _MIN_SAMPLES:
        return None
    evidence = Evidence(prior(robot), motion)
    if not evidence.rows:
        return None
    now = evidence.misfit()
    found = None
    n = len(evidence.rows)
    if now > _MAX_PLAUSIBLE_MISFIT * n:
        found = _chosen(
            min(now - _MIN_DECREASE, _MAX_RATIO * now, _MAX_MISFIT * n), list(_hypotheses(evidence))
        )
    if found is None or found.kind == "gear":
        found = multiples(evidence) or found
    if found is not None and found.kind in ("gear", "current", "unit"):
        plausible = max(_MAX_PLAUSIBLE_MISFIT * n, found.misfit)
        return undescribed_load(evidence, min(plausible, _MAX_RATIO * now), plausible) or found
    if found is None and n <= _MAX_JOINTS:
        return undescribed_load(evidence, 0.0)
    return found


def _hypotheses(evidence: Evidence) -> Iterator[Candidate]:
    few = len(evidence.names) <= _MAX_JOINTS
    for hypothesis in (*_ABOUT_TORQUES, *_ABOUT_MOTION) if few else _ABOUT_TORQUES:
        yield from hypothesis(evidence)


def _chosen(bound: float, hypotheses: Sequence[Candidate]) -> Candidate | None:
    """The simplest of the hypotheses with the least S, if that is below a bound."""
    good = [one for one in hypotheses if one.misfit < bound]
    if not good:
        return None
    least = min(one.misfit for one in good)
    alike = [one for one in good if one.misfit < _MISFIT_TIE * least + _MIN_DECREASE / 2]
    return min(alike, key=lambda one: (one.free, one.misfit))
