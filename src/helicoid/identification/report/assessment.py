"""Assessment of a result: questions, each answered by a number and a rating (good, doubtful, bad)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.deprecation import former_attribute
from helicoid.errors import InputError
from helicoid.identification.identifiability.identifiability import Identifiability, identifiability
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.linear.equations.stack import triangle
from helicoid.identification.linear.identified_robot import impossible_bodies
from helicoid.identification.linear.weighting import weighted_samples
from helicoid.identification.logs.filtering import noise_bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import prepare
from helicoid.identification.report.score import Score

if TYPE_CHECKING:
    from helicoid.identification.result import Identification

Light = Literal["good", "doubtful", "bad"]
LIGHTS: tuple[Light, ...] = ("good", "doubtful", "bad")

# Pairs of limits: good up to the first, doubtful up to the second.
_MAX_ERROR = (0.10, 0.25)  # relative, of all torques, on unseen data
_MAX_JOINT_ERROR = (0.30, 0.70)  # relative, of the worst joint
_MAX_OVERFIT = (1.5, 2.5)  # ratio of the error on unseen data to that on the fitted log
_MAX_SIGMA = 0.3  # of a combination of parameters, relative to the body
_MAX_UNIDENTIFIED = (0.5, 1.0)  # fraction of combinations with a larger σ, for which the description stands


@dataclass(frozen=True)
class Check:
    """A question, its answer in words, its rating `light`, and its subject in a word or two."""

    topic: str
    question: str
    answer: str
    light: Light


@dataclass(frozen=True, eq=False)
class Assessment:
    """Assessment of a result, given the logs it was fitted to and perhaps one it was not."""

    result: Identification
    training: Sequence[Log]
    validation: Log | None = None

    def __post_init__(self) -> None:
        if not self.training:
            raise InputError("an assessment needs the log that the result was fitted to")

    @cached_property
    def unseen(self) -> Score:
        """Score on unseen data: the validation log, or else by cross-validation."""
        return self.result.held_out if self.validation is None else self.result.score(self.validation)

    @cached_property
    def fitted(self) -> Score:
        """Score on the (first) log that was fitted."""
        return self.result.score(self.training[0])

    @cached_property
    def described(self) -> Score:
        """Score of the description on the log of `unseen`."""
        stated = replace(self.result, x=self.result.regression.parameters.nominal)
        return stated.score(self.training[0] if self.validation is None else self.validation)

    @cached_property
    def identifiability(self) -> Identifiability:
        """Structural identifiability of the unknowns from torques."""
        return identifiability(self.result.regression)

    told = former_attribute("told", "identifiability")

    @cached_property
    def precision(self) -> Array:
        """Precision of the bodies: 1/σ of each identifiable combination of their parameters.

        In whitened coordinates, where 0.1 is a tenth of a body in whatever direction; sorted, the best first.
        The other unknowns are free.
        """
        result = self.result
        prepared = [prepare(result.nominal, log, result.cutoff)[0] for log in self.training]
        stretches = [samples.delayed(result.lag) for own in prepared for samples in own]
        with one_blas_thread():
            data = weighted_samples(result.regression, stretches)
            A = data.whole.combined(data.weights).R @ data.coordinates.T
            bodies = data.coordinates.inertial > 0
            R = triangle(np.column_stack([A[:, ~bodies], A[:, bodies]]))
            first = int(np.count_nonzero(~bodies))
            values = np.linalg.svd(R[first:, first:], compute_uv=False)
        rate = stretches[0].rate / thinning(stretches[0])
        rank = max(0, self.identifiability.rank - first)
        return np.asarray(values[:rank] * np.sqrt(noise_bandwidth(rate, result.cutoff)))

    @property
    def condition(self) -> float:
        """Condition number of the bodies' whitened regressor."""
        values = self.precision
        return float(values[0] / values[-1]) if len(values) and values[-1] > 0 else float("inf")

    @property
    def warnings(self) -> list[str]:
        """Notes that are warnings."""
        return [note for note in self.result.notes if note.startswith("Warning") or "left out" in note]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """All questions and answers."""
        return tuple(self._checks())

    @property
    def light(self) -> Light:
        """Worst rating of all questions but the last: doubtful data that predict well are good enough."""
        return max((check.light for check in self.checks[:-1]), key=LIGHTS.index)

    @property
    def verdict(self) -> str:
        """Overall assessment in one sentence."""
        error = self.unseen.overall_relative
        how = "on a log it has not seen" if self.validation is not None else "on parts of the log held out"
        figure = (
            f"torque error {100 * error:.2g} % {how}" if np.isfinite(error) else "not tried on unseen data"
        )
        words = {
            "good": "This result can be trusted",
            "doubtful": "Use this result with care",
            "bad": "Do not trust this result",
        }
        reasons = [check.topic for check in self.checks if check.light == self.light]
        why = "" if self.light == "good" else f" Look at: {', '.join(reasons)}."
        return f"{words[self.light]}: {figure}.{why}"

    def _checks(self) -> Iterator[Check]:
        yield self._belonging()
        yield self._prediction()
        yield self._against_description()
        yield self._generalisation()
        yield self._excitation()
        yield self._consistency()
        warnings = self.warnings
        count = f"{len(warnings)} warning{'s' if len(warnings) > 1 else ''}, see the notes"
        answer = count if warnings else "no warnings"
        yield Check("the warnings", "Is the data sound?", answer, "doubtful" if warnings else "good")

    def _belonging(self) -> Check:
        diagnosis, answer = self.result.diagnosis, "signs, order, units and gravity are as described"
        light: Light = "good"
        if diagnosis and self.result.diagnosis_kind == "load":
            light, answer = "doubtful", f"yes, but {diagnosis}"
        elif diagnosis:
            light, answer = "bad", f"most likely not: {diagnosis}"
        return Check(
            "the columns of the log",
            "Do the columns of the log fit the robot?",
            answer,
            light,
        )

    def _prediction(self) -> Check:
        error = self.unseen.overall_relative
        if not np.isfinite(error):
            return Check(
                "the error on unseen data",
                "Does it predict unseen data?",
                "not tried: give a validation log",
                "doubtful",
            )
        relative = np.where(np.isfinite(self.unseen.relative), self.unseen.relative, 0.0)
        worst = int(np.argmax(relative))
        light = max(_light(error, _MAX_ERROR), _light(relative[worst], _MAX_JOINT_ERROR), key=LIGHTS.index)
        where = "validation log" if self.validation is not None else "cross-validation inside the log"
        answer = (
            f"{100 * error:.2g} % error ({where}); worst joint {self.unseen.names[worst]} with "
            f"{100 * relative[worst]:.2g} %"
        )
        return Check("the error on unseen data", "Does it predict unseen data?", answer, light)

    def _against_description(self) -> Check:
        before, after = self.described.overall_relative, self.unseen.overall_relative
        after = after if np.isfinite(after) else self.fitted.overall_relative
        light: Light = "good" if after < before else "bad" if after > 1.1 * before else "doubtful"
        answer = f"description {100 * before:.2g} %, identified {100 * after:.2g} % error"
        return Check("the error of the description", "Is it better than the description?", answer, light)

    def _generalisation(self) -> Check:
        fitted, unseen = self.fitted.overall_relative, self.unseen.overall_relative
        if not np.isfinite(unseen):
            return Check("overfitting", "Does it generalise?", "not known without unseen data", "doubtful")
        # Another motion may have smaller torques, or larger errors with larger torques: no overfitting yet.
        absolute = _rmse(self.unseen) / max(_rmse(self.fitted), 1e-300)
        ratio = min(unseen / fitted, absolute) if fitted > 0 else 1.0
        light = "good" if unseen < 1e-4 else _light(ratio, _MAX_OVERFIT)
        answer = f"error on unseen data is {ratio:.2g} times that on the fitted log"
        return Check("overfitting", "Does it generalise?", answer, light)

    def _excitation(self) -> Check:
        known, rank = int(np.count_nonzero(self.precision > 1 / _MAX_SIGMA)), len(self.precision)
        answer = (
            f"{known} of {rank} combinations of the bodies' parameters are known to {100 * _MAX_SIGMA:g} %"
        )
        return Check(
            "excitation",
            "Did the motion excite enough?",
            answer,
            _light(1 - known / max(rank, 1), _MAX_UNIDENTIFIED),
        )

    def _consistency(self) -> Check:
        result = self.result
        bodies = result.regression.parameters.of(result.x, "inertia").reshape(-1, 10)
        impossible = impossible_bodies(result.regression, result.x)
        if impossible:
            return Check("impossible bodies", "Can such bodies exist?", f"no: {', '.join(impossible)}", "bad")
        return Check("impossible bodies", "Can such bodies exist?", f"yes, all {len(bodies)} of them", "good")


def _light(value: float, limits: tuple[float, float]) -> Light:
    return "good" if value <= limits[0] else "doubtful" if value <= limits[1] else "bad"


def _rmse(score: Score) -> float:
    return float(np.linalg.norm(score.rmse))
