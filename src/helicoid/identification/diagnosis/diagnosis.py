"""What a log most likely is, where it is not what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import Evidence, prior, some_motion
from helicoid.identification.diagnosis.motions import exchanged_joints, in_other_units
from helicoid.identification.diagnosis.tilted_base import tilted
from helicoid.identification.diagnosis.torques import exchanged, flipped, multiples, scaled
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_ABOUT_TORQUES = (flipped, exchanged, scaled)
_ABOUT_MOTION = (in_other_units, exchanged_joints, tilted)  # equations anew for each guess
_MANY = 12  # joints: with more, guesses about the motion take too long
_FEW = 20  # samples
_SOUND = 100.0  # S for each joint: nothing to explain
_LOWER, _PART = 60.0, 0.45  # of S: by how much, and to which part of itself, a guess must lower it
_EXPLAINED = 600.0  # S for each joint: about an eighth of the torque is left, and the guess explains the rest
_AS_GOOD = 1.3  # times the least S: the simplest guess is taken


def diagnose(robot: Robot, stretches: Sequence[Samples]) -> Candidate | None:
    """What is wrong with a log of torques: the simplest guess of those that explain it best.

    None where no guess explains the log much better than it explains itself: a wrong description, friction
    of another shape or noise are for the fit. `S` of `evidence.py` is what decides. With more than 12 joints,
    guesses are about signs, order and scales of torques only.
    """
    motion = some_motion(stretches)
    if len(motion.q) < _FEW:
        return None
    evidence = Evidence(prior(robot), motion)
    if not evidence.rows:
        return None
    now = evidence.misfit()
    found = None
    n = len(evidence.rows)
    if now > _SOUND * n:
        found = _chosen(min(now - _LOWER, _PART * now, _EXPLAINED * n), list(_guesses(evidence)))
    if found is None or found.kind == "gear":
        found = multiples(evidence) or found
    return found


def _guesses(evidence: Evidence) -> Iterator[Candidate]:
    few = len(evidence.names) <= _MANY
    for guess in (*_ABOUT_TORQUES, *_ABOUT_MOTION) if few else _ABOUT_TORQUES:
        yield from guess(evidence)


def _chosen(bound: float, guesses: Sequence[Candidate]) -> Candidate | None:
    """The simplest of the guesses with the least S, if that is below a bound."""
    good = [one for one in guesses if one.misfit < bound]
    if not good:
        return None
    least = min(one.misfit for one in good)
    alike = [one for one in good if one.misfit < _AS_GOOD * least + _LOWER / 2]
    return min(alike, key=lambda one: (one.free, one.misfit))
