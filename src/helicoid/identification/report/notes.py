"""What a result should say about itself, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.friction_columns import linear_terms
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.preparation import Samples
from helicoid.identification.logs.swings import Swing
from helicoid.identification.report.score import Score
from helicoid.model.inertia import Inertia

_OVERFIT = 1.5
_POOR = 0.2
_SOME = 20_000  # samples
_FAR, _MANY = 6.0, 0.003  # robust standard deviations, and how many of the samples beyond are heavy tails
_SHORT = 3.0  # s: about a swing of an arm


def remarks(
    regression: Regression,
    x: Array,
    covariance: Array,
    cutoff: float | None,
    lag: float,
    strength: float,
    training: Score,
    expected: Score,
    blurred: Array,
    stretches: Sequence[Samples],
    swings: Mapping[str, Swing],
) -> Iterator[str]:
    """Sentences on how the result came about and what to be careful with.

    `blurred` is the held-out relative error of each row after the low-pass, `swings` are the joints that
    moved with one frequency.
    """
    n = sum(len(samples) for samples in stretches)
    span = sum(len(samples) / samples.rate for samples in stretches)
    if cutoff is None:
        yield f"{n} samples over {span:.1f} s were used as recorded, without a low-pass."
    else:
        yield f"{n} samples over {span:.1f} s were low-passed at {cutoff:.3g} Hz, as was the model."
    if span < _SHORT:
        yield (
            f"Warning: {span:.1f} s are too short to tell how well other motions are predicted: the "
            "parts of the log that are held out are like the rest."
        )
    if lag:
        yield f"Torques follow the motion by {1e3 * lag:.3g} ms; this was taken out."
    extras = [TERMS[group] for group in regression.groups if group in linear_terms("candidate")]
    if extras:
        yield f"Held-out data ask for {' and '.join(term.label for term in extras)}."
    if strength:
        yield f"The fit is pulled to the description with strength {strength:g}."
    held = [samples for samples in stretches if isinstance(samples, Samples)]  # or workers have them
    yield from _one_frequency(swings)
    if held:
        yield from _heavy_tails(regression, x, held)
    yield from _doubts(regression, x, covariance, training, expected, blurred)


def _one_frequency(found: Mapping[str, Swing]) -> Iterator[str]:
    """Joints whose acceleration is a multiple of their position: a spring and inertia look alike there."""
    if found:
        hertz = {name: swing.omega / (2 * np.pi) for name, swing in found.items()}
        names = ", ".join(f"{name} ({frequency:.2g} Hz)" for name, frequency in hertz.items())
        yield (
            f"Warning: {names} moved with one frequency: there a spring and the rotor's inertia (armature) "
            "cannot be told apart, and both stay near the description. A second frequency would tell them, "
            f"such as a swing at {2 * max(hertz.values()):.2g} Hz or faster on top: hc.excitation makes such "
            "a motion."
        )


def _heavy_tails(regression: Regression, x: Array, stretches: Sequence[Samples]) -> Iterator[str]:
    """Rows whose residuals are mostly small and now and then huge."""
    longest = max(stretches, key=len)
    some = slice(0, min(len(longest), _SOME))
    q, v, a = longest.q[some], longest.v[some], longest.a[some]
    off = longest.raw[some] - low_pass(regression.predict(x, q, v, a), longest.rate, longest.cutoff)
    off = off - np.median(off, axis=0)
    spread = 1.4826 * np.median(np.abs(off), axis=0)
    part = np.mean(np.abs(off) > _FAR * np.maximum(spread, 1e-300), axis=0)
    names = [name for name, many in zip(regression.row_names, part, strict=True) if many > _MANY]
    if names:
        yield (
            f"Warning: what is left of {', '.join(names)} has heavy tails: mostly small, now and then beyond "
            f'{_FAR:g} robust standard deviations. estimator="huber" counts such samples for less.'
        )


def _doubts(
    regression: Regression,
    x: Array,
    covariance: Array,
    training: Score,
    expected: Score,
    blurred: Array,
) -> Iterator[str]:
    ratio = expected.overall_relative / max(training.overall_relative, 1e-12)
    if ratio > _OVERFIT and expected.overall_relative > 1e-6:
        yield (
            f"Warning: the held-out error is {ratio:.1f} times that on the log: the log is too short, or "
            "excites too little, for so many parameters."
        )
    for name, relative in zip(expected.names, blurred, strict=True):
        if relative > _POOR:
            yield (
                f"Warning: {name} is predicted with {100 * relative:.0f} % error on held-out data: it does "
                "too little, or something acts on it that the model lacks."
            )
    open_ones = np.flatnonzero(~np.isfinite(np.diag(covariance)))
    if len(open_ones):
        yield f"{len(open_ones)} of {len(x)} parameters cannot be told from this log by themselves."
    own = regression.parameters.groups.get("inertia", slice(0, 0))
    bodies = [body.name for body in regression.robot.model.bodies]
    for name, start in zip(bodies, range(own.start, own.stop, 10), strict=False):
        doubts = Inertia.from_parameters(x[start : start + 10]).doubts()
        if doubts or x[start] <= 0:
            yield f"Warning: no body can have the parameters of {name!r}: {'; '.join(doubts) or 'no mass'}."
