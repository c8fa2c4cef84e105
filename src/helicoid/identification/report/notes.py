"""Notes of a result: decisions of the fit, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from helicoid._typing import Array
from helicoid.dynamics.friction import TERMS
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.logs.autocorrelation import autocorrelation_time
from helicoid.identification.logs.filtering import low_pass
from helicoid.identification.logs.preparation import Samples
from helicoid.identification.logs.single_frequency import SineMotion
from helicoid.identification.report.score import Score
from helicoid.model.inertia import Inertia

_MAX_OVERFIT = 1.5  # ratio of held-out to training error
_MAX_RELATIVE_ERROR = 0.2  # of a row on held-out data
_MAX_SAMPLES = 20_000
_OUTLIER_THRESHOLD = 6.0  # robust standard deviations
_MAX_OUTLIERS = 0.003  # fraction of the samples: more are heavy tails
_MIN_CONSTANT = 0.5  # of the root mean square of a residual
_SIGNIFICANT = 4.0  # standard errors of its mean
_MIN_DURATION = 3.0  # s


def notes_on(
    regression: Regression,
    x: Array,
    covariance: Array,
    cutoff: float | None,
    lag: float,
    regularisation: float,
    training: Score,
    expected: Score,
    low_passed_error: Array,
    stretches: Sequence[Samples],
    sines: Mapping[str, SineMotion],
    evidence: Mapping[str, float],
) -> Iterator[str]:
    """Notes on the decisions of the fit, and warnings.

    `low_passed_error` is the held-out relative error of each row after the low-pass, `sines` are the joints
    that moved with one frequency, `evidence` is the weight of each optional term in the model average.
    """
    n = sum(len(samples) for samples in stretches)
    span = sum(len(samples) / samples.rate for samples in stretches)
    if cutoff is None:
        yield f"{n} samples over {span:.1f} s were used as recorded, without a low-pass."
    else:
        yield f"{n} samples over {span:.1f} s were low-passed at {cutoff:.3g} Hz, as was the model."
    if span < _MIN_DURATION:
        yield (
            f"Warning: {span:.1f} s are too short to estimate the error on other motions: the held-out "
            "folds are like the others."
        )
    if lag:
        yield f"Torques lag the motion by {1e3 * lag:.3g} ms; the lag was compensated."
    if evidence:
        each = ", ".join(
            f"{TERMS[term].label if term in TERMS else 'rotor inertia (armature)'} {weight:.2f}"
            for term, weight in evidence.items()
        )
        yield f"Models with and without optional terms were averaged by held-out evidence: {each}."
    if regularisation:
        yield f"The fit is regularised towards the description with weight {regularisation:g}."
    held = [samples for samples in stretches if isinstance(samples, Samples)]  # or workers have them
    yield from _one_frequency(sines)
    if held:
        yield from _heavy_tails(regression, x, held)
        yield from _missing_offsets(regression, x, max(held, key=len))
    yield from _warnings(regression, x, covariance, training, expected, low_passed_error)


def offset_notes(regression: Regression, x: Array, posterior: Array) -> Iterator[str]:
    """The offsets of force/torque sensors with their 95 % intervals."""
    found = regression.wrench_offsets(x)
    reach = regression.wrench_offsets(1.96 * np.sqrt(np.maximum(np.diag(posterior), 0.0)))
    for link, offset in found.items():
        each = [f"{value:.3g} ± {half:.2g}" for value, half in zip(offset, reach[link], strict=True)]
        yield (
            f"Offsets of the sensor at {link!r}, to be subtracted from its readings (95 %): moment "
            f"{', '.join(each[:3])} N·m; force {', '.join(each[3:])} N."
        )


def _one_frequency(found: Mapping[str, SineMotion]) -> Iterator[str]:
    """Joints whose acceleration is a multiple of their position: springs and inertia are ambiguous there."""
    if found:
        hertz = {name: sine.omega / (2 * np.pi) for name, sine in found.items()}
        names = ", ".join(f"{name} ({frequency:.2g} Hz)" for name, frequency in hertz.items())
        yield (
            f"Warning: {names} moved with one frequency: there a spring and the rotor's inertia (armature) "
            "are not separately identifiable, and both stay near the description. A second frequency "
            f"separates them, such as {2 * max(hertz.values()):.2g} Hz or more on top: hc.excitation "
            "optimises such a trajectory."
        )


def _missing_offsets(regression: Regression, x: Array, longest: Samples) -> Iterator[str]:
    """Channels of force/torque sensors whose residual is mostly a constant, where offsets are not unknown."""
    if not regression.wrenches or "offset" in regression.groups:
        return
    predicted = regression.predict(x, longest.q, longest.v, longest.a)
    off = longest.y - low_pass(predicted, longest.rate, longest.cutoff)
    mean, effective = np.abs(off.mean(axis=0)), len(off) / autocorrelation_time(off)
    constant = mean > _MIN_CONSTANT * np.sqrt(np.mean(off**2, axis=0))
    constant &= mean * np.sqrt(effective) > _SIGNIFICANT * off.std(axis=0)
    names = [name for name, is_constant in zip(regression.row_names, constant, strict=True) if is_constant]
    if names:
        yield (
            f"Warning: the residuals of {', '.join(names)} are mostly constant: the sensor likely has an "
            'offset, which was taken for mass. Leave out groups=, or add "offset" to it.'
        )


def _heavy_tails(regression: Regression, x: Array, stretches: Sequence[Samples]) -> Iterator[str]:
    """Rows whose residuals have heavy tails."""
    longest = max(stretches, key=len)
    some = slice(0, min(len(longest), _MAX_SAMPLES))
    q, v, a = longest.q[some], longest.v[some], longest.a[some]
    off = longest.raw[some] - low_pass(regression.predict(x, q, v, a), longest.rate, longest.cutoff)
    off = off - np.median(off, axis=0)
    spread = 1.4826 * np.median(np.abs(off), axis=0)
    part = np.mean(np.abs(off) > _OUTLIER_THRESHOLD * np.maximum(spread, 1e-300), axis=0)
    names = [name for name, many in zip(regression.row_names, part, strict=True) if many > _MAX_OUTLIERS]
    if names:
        yield (
            f"Warning: the residuals of {', '.join(names)} have heavy tails, beyond {_OUTLIER_THRESHOLD:g} "
            'robust standard deviations. estimator="huber" gives such samples less weight.'
        )


def _warnings(
    regression: Regression,
    x: Array,
    covariance: Array,
    training: Score,
    expected: Score,
    low_passed_error: Array,
) -> Iterator[str]:
    ratio = expected.overall_relative / max(training.overall_relative, 1e-12)
    if ratio > _MAX_OVERFIT and expected.overall_relative > 1e-6:
        yield (
            f"Warning: the held-out error is {ratio:.1f} times that on the log: the log is too short, or "
            "excites too little, for so many parameters."
        )
    for name, relative in zip(expected.names, low_passed_error, strict=True):
        if relative > _MAX_RELATIVE_ERROR:
            yield (
                f"Warning: {name} is predicted with {100 * relative:.0f} % error on held-out data: its "
                "torque is small, or the model lacks a term."
            )
    open_ones = np.flatnonzero(~np.isfinite(np.diag(covariance)))
    if len(open_ones):
        yield f"{len(open_ones)} of {len(x)} parameters are not identifiable alone from this log."
    own = regression.parameters.groups.get("inertia", slice(0, 0))
    bodies = [body.name for body in regression.robot.model.bodies]
    for name, start in zip(bodies, range(own.start, own.stop, 10), strict=False):
        doubts = Inertia.from_parameters(x[start : start + 10]).doubts()
        if doubts or x[start] <= 0:
            yield f"Warning: no body can have the parameters of {name!r}: {'; '.join(doubts) or 'no mass'}."
