"""Identification of a robot from logs; options that are not given are selected by cross-validation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from helicoid._typing import Array
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError
from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.diagnosis import diagnose
from helicoid.identification.diagnosis.wrenches import diagnose_wrenches
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.compression import (
    Preparation,
    automatic,
    compressed,
    left_out,
    loaded,
    some_of,
    surveyed,
)
from helicoid.identification.linear.cross_validation import held_out
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import thinning
from helicoid.identification.linear.options import WITH_PRIOR, Estimator, Options, read_cutoff
from helicoid.identification.linear.selection import (
    Selected,
    excerpt,
    select,
    usable,
)
from helicoid.identification.linear.solving.consistent import Bounds
from helicoid.identification.linear.solving.estimators import (
    coloured,
    covariance,
    huber,
    posterior,
    residual_redundancy,
)
from helicoid.identification.linear.solving.instrumental import instrumental
from helicoid.identification.linear.solving.whitened_coordinates import usual_magnitudes
from helicoid.identification.linear.weighting import (
    WeightedFolds,
    between_models,
    fitter,
    weighted_folds,
    weighted_samples,
)
from helicoid.identification.logs.filtering import noise_bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.preparation import Samples, smoothed
from helicoid.identification.logs.single_frequency import single_frequency_joints
from helicoid.identification.logs.sources import LogFiles, sources
from helicoid.identification.report.notes import notes_on, offset_notes
from helicoid.identification.report.score import Score
from helicoid.identification.report.validity import ambiguous_springs
from helicoid.identification.result import Identification
from helicoid.identification.trajectory_matching.dispatch import commands_only, identify_by_default
from helicoid.identification.trajectory_matching.result import CommandIdentification
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot
from helicoid.workers.contract import Executor
from helicoid.workers.executor import executor

_ITERATIVE = ("huber", "instrumental")  # over samples: factors do not suffice
_MIN_LOAD_EVIDENCE = 0.5  # for samples to be read again with the load of the identified bodies
_SINGLE_FREQUENCY_SIGMA = 3.0  # times the prior σ of joints' unknowns where motions are single sines


@overload
def identify(
    robot: Robot,
    log: Any,
    *,
    servo: Servo,
    groups: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> CommandIdentification: ...


@overload
def identify(
    robot: Robot,
    log: Any,
    *,
    estimator: Estimator = "consistent",
    groups: Sequence[str] | None = None,
    form: str = "torque",
    cutoff: float | Literal["auto"] | None = "auto",
    regularisation: float | None = None,
    lag: float | None = None,
    dead_zone: float = 0.0,
    bounds: Bounds | None = None,
    on: Any = None,
    progress: Progress | bool | None = None,
) -> Identification: ...


@interruptible()
@renamed_arguments(strength="regularisation")
def identify(
    robot: Robot,
    log: Any,
    *,
    estimator: Estimator = "consistent",
    groups: Sequence[str] | None = None,
    form: str = "torque",
    cutoff: float | Literal["auto"] | None = "auto",
    regularisation: float | None = None,
    lag: float | None = None,
    dead_zone: float = 0.0,
    bounds: Bounds | None = None,
    on: Any = None,
    servo: Servo | None = None,
    progress: Progress | bool | None = None,
) -> Identification | CommandIdentification:
    """Identify the dynamic parameters of a robot from measured motion and torques (or wrenches).

    Weighted least squares on y = Y(q, v, a) x, under the constraint that every body can exist
    (semidefinite pseudo-inertia, Wensing, Kim and Slotine 2018), regularised towards the description.

    A log of positions and commands alone goes to `hc.identify_from_commands`, which finds joints, servo and
    delay by output error and gives a `CommandIdentification`.

    Args:
        robot: its kinematics, and the prior values of its parameters.
        log: one recording, or several of the same robot; also files and patterns of files, such as
            "folder/*.npz" or `hc.logs("folder/*.npz")`.
        estimator: "consistent" (the default) gives every body a mass distribution that exists, by a
            semidefinite program; "ridge" only regularises; "weighted" and "ordinary" are least
            squares with and without a weight for each joint; "huber" is robust against outliers;
            "total" and "instrumental" allow for noise in the motion.
        groups: the unknowns, see `Regression`; by default inertia, viscous and Coulomb friction and offset,
            with the average over models with and without armature, a root term, load-dependent friction and
            springs, weighted by held-out error (`result.evidence`); and "elastic" where elastic elements are
            described. Of logs with wrenches inertia and "offset", a constant of each channel of the sensors
            (`result.wrench_offsets`); give ("inertia",) where the sensors were zeroed. What is not among them
            counts as described: bodies, springs and armature always, friction if other friction is unknown.
        form: "torque", or without accelerations "momentum" or "energy"; or "power".
        cutoff: of the zero-phase low-pass (Hz), None for none; by default selected by cross-validation.
        regularisation: weight of the squared distance of bodies from the description, which is their
            prior; 0 or more, by default from the effective number of samples.
        lag: by which torques follow the motion (s); by default estimated, and 0 unless it is significant.
        dead_zone: velocities (rad/s) below which a joint's torque is not used.
        bounds: on masses and centres of mass, for the consistent estimator.
        on: where logs are read and compressed: "processes", "here", the address of a dask scheduler, or a
            `dask.distributed.Client`. No process then holds more than a few logs. By default automatic: more
            than 8 files in a process pool, other logs in memory. On workers, a log that cannot be used is
            left out, by name, and cut-off, lag and terms are selected on up to 8 logs.
        servo: of logs without torques, the servos that follow the commanded positions; by default gains are
            unknown, and torques are commanded where the log has `tau_command` alone.
        progress: how progress is shown, by default by a bar where it takes long; see `helicoid.progress`.

    Returns:
        the result: `.robot`, `.predict(log)`, `.score(log)`, `.parameters`, `.notes`, ...

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> t = np.arange(400) / 100.0
    >>> q = np.column_stack([np.sin(2 * t), np.cos(3 * t)])
    >>> v = np.column_stack([2 * np.cos(2 * t), -3 * np.sin(3 * t)])
    >>> a = np.column_stack([-4 * np.sin(2 * t), -9 * np.cos(3 * t)])
    >>> log = hc.Log.from_arrays(t, q, v, a, robot.inverse_dynamics(q, v, a))
    >>> result = hc.identify(robot, log, groups=("inertia",), cutoff=None, regularisation=1.0)
    >>> result.score(log).overall_relative < 1e-6
    True
    """
    options = Options(estimator, form, regularisation, bounds, groups, read_cutoff(cutoff), lag, dead_zone)
    if servo is not None or commands_only(log):
        return identify_by_default(robot, log, servo, options, on, progress)
    workers = None if on is None else executor(on)
    with one_blas_thread(), reporting(progress, "Identifying") as report:
        if workers is None and (isinstance(log, LogFiles) or _names_files(log)):
            known = sources(log)
            if estimator not in _ITERATIVE and automatic(known) == "processes":
                workers = executor("processes")
            else:
                log = [loaded(robot, one) for one in known]
        if workers is not None:
            return _identified_on(workers, robot, log, options, report)
        logs = list(log) if isinstance(log, Iterable) else [log]
        return _identified(robot, logs, options, report)


def _names_files(given: Any) -> bool:
    """Whether logs are given by file names or patterns."""
    if isinstance(given, (str, os.PathLike)):
        return True
    return isinstance(given, (list, tuple)) and any(isinstance(one, (str, os.PathLike)) for one in given)


def _identified(robot: Robot, logs: list[Log], options: Options, report: Progress) -> Identification:
    options.check(robot, logs)
    some = [part for one in logs for part in excerpt(one)]
    selected, stretches, notes = select(robot, some, options, report)
    report("Fitting", 0.0)
    ready = selected.data if some == logs else None
    if some != logs:
        parts, notes = usable(robot, logs)
        everything = [smoothed(robot, one, selected.cutoff, options.dead_zone) for one in parts]
        stretches = [samples.delayed(selected.lag) for samples in everything]

    def data(regression: Regression) -> WeightedFolds:
        if ready is not None and regression is selected.regression:
            return ready
        return weighted_samples(regression, stretches, options.form, selected.mixture)

    result = conclude(robot, selected, data, stretches, options, notes, report)
    return replace(result, logs=tuple(logs))


def _identified_on(
    workers: Executor, robot: Robot, given: Any, options: Options, report: Progress
) -> Identification:
    """As `_identified`, with logs that only workers hold; selection is on some of them."""
    if options.estimator in _ITERATIVE:
        raise InputError(f"the estimator {options.estimator!r} iterates over the samples: leave out on=")
    known = sources(given)
    few = some_of(robot, known)
    options.check(robot, few)
    some = [part for one in few for part in excerpt(one)]
    selected, _, _ = select(robot, some, options, report)
    how = Preparation(robot, selected.cutoff, options.dead_zone, tuple(few[0].wrenches))
    survey = surveyed(workers, how, known, report)
    notes = [*left_out(known, survey), *(note for one in survey for note in one.notes)]
    good = [k for k, one in enumerate(survey) if not one.error]
    used, seen = [known[k] for k in good], [survey[k] for k in good]

    def data(regression: Regression) -> WeightedFolds:
        parts = compressed(workers, how, regression, options.form, selected.lag, used, seen, report)
        return weighted_folds(regression, *parts, selected.mixture)

    spans: Any = [span for one in seen for span in one.spans]
    result = conclude(robot, selected, data, spans, options, notes, report)
    return replace(result, logs=tuple(few))


def conclude(
    robot: Robot,
    selected: Selected,
    data_of: Callable[[Regression], WeightedFolds],
    stretches: Sequence[Samples],
    options: Options,
    notes: Sequence[str],
    report: Progress,
) -> Identification:
    """The result from factors of the samples; most fits need only lengths and rates of `stretches`."""
    regression = selected.regression
    data = data_of(regression)
    if options.estimator in WITH_PRIOR and options.regularisation is None:
        options = replace(options, regularisation=selected.regularisation)
    # The load is that of the identified bodies, no longer of those described.
    if regression.load_dependent and selected.evidence.get("load", 1.0) > _MIN_LOAD_EVIDENCE:
        x = fitter(options.estimator, regression, data, options.regularisation or 0.0, options.bounds)(
            data.whole
        )
        regression = regression.loaded_by(x)
        data = data_of(regression)
    selected = selected._replace(regression=regression)
    result = fitted(robot, selected, stretches, data, options, notes)
    report("Fitting", 1.0)
    return result


def fitted(
    robot: Robot,
    selected: Selected,
    stretches: Sequence[Samples],
    data: WeightedFolds,
    options: Options,
    notes: Sequence[str],
) -> Identification:
    """The result of one fit, with its scores, uncertainty and notes."""
    cutoff, lag, regression, weight = *selected[:3], options.regularisation or 0.0
    fit = fitter(options.estimator, regression, data, weight, options.bounds)
    x = fit(data.whole)
    if options.estimator == "huber":
        x = huber(regression, stretches, x, fit, options.form)
    elif options.estimator == "instrumental":
        x = instrumental(regression, stretches, data.weights, data.coordinates)
    thin = thinning(stretches[0])
    part = noise_bandwidth(stretches[0].rate / thin, cutoff)
    spread = covariance(data.whole.combined(data.weights), data.coordinates, weight, part)
    others = [fit(stack) for stack in data.folds.without]  # each leaves out one fold
    training, expected = _scores(robot, regression, data, others, x, stretches)
    by_speed = held_out([fit(stack) for stack in data.folds.without_speed], data.recorded.speeds)
    by_speed = by_speed if len(by_speed) == len(expected.rmse) else expected.rmse
    usual = usual_magnitudes(regression)
    longest = max(stretches, key=len)
    held = [samples for samples in stretches if isinstance(samples, Samples)]  # or workers have them
    sines = single_frequency_joints(robot, [] if regression.wrenches else held)
    redundancy = data.redundancy
    if isinstance(longest, Samples):
        redundancy = residual_redundancy(regression, longest, x, data.folds.redundancy)
    known = posterior(
        data.whole.combined(data.weights),
        data.coordinates,
        redundancy,
        _SINGLE_FREQUENCY_SIGMA * usual if sines.majority else usual,
    )
    smooth = (
        _low_passed_error(data, others) if len(data.weights) == len(training.names) else expected.relative
    )
    diagnosis = _diagnosis(robot, regression, stretches)
    said = (
        *notes,
        *([f"Warning: most likely, {diagnosis.text}."] if diagnosis else []),
        *notes_on(
            *(regression, x, spread, cutoff, lag, weight, training, expected, smooth, stretches),
            *(sines.joints, selected.evidence),
        ),
        *offset_notes(regression, x, known),
    )
    return Identification(
        robot,
        regression.loaded_by(x),
        x,
        spread,
        options.estimator,
        cutoff,
        lag,
        weight,
        training,
        expected,
        said,
        posterior=known + between_models(regression, data, options.regularisation or 0.0),
        evidence=selected.evidence,
        unexplained=np.maximum(expected.rmse, by_speed),
        coloured=coloured(regression, longest, x) if isinstance(longest, Samples) else None,
        diagnosis=diagnosis.text if diagnosis else "",
        diagnosis_kind=diagnosis.kind if diagnosis else "",
        load=None if diagnosis is None or diagnosis.load is None else (diagnosis.joints[0], *diagnosis.load),
        ambiguous_springs=ambiguous_springs(robot, sines.joints.values()),
    )


def _diagnosis(robot: Robot, regression: Regression, stretches: Sequence[Samples]) -> Candidate | None:
    """Likely error of the log (sign, order, unit, axes, load); None too where workers hold the log."""
    held = [samples for samples in stretches if isinstance(samples, Samples)]
    if not held:
        return None
    links = regression.wrenches
    return diagnose_wrenches(robot, links, held) if links else diagnose(robot, held)


def _low_passed_error(data: WeightedFolds, others: Sequence[Array]) -> Array:
    """Held-out relative error of each row after the low-pass: without most of the sensor noise."""
    whole = data.whole
    size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / np.maximum(np.array(whole.counts), 1))
    return held_out(others, data.folds.parts) / np.where(size > 0, size, np.nan)


def _scores(
    robot: Robot,
    regression: Regression,
    data: WeightedFolds,
    others: Sequence[Array],
    x: Array,
    stretches: Sequence[Samples],
) -> tuple[Score, Score]:
    """Scores on the log as recorded: of the fit itself, and of fits to the other folds.

    The latter are by weighted least squares for estimators that reweight samples or simulate.
    """
    whole = data.recorded.whole
    counts = np.maximum(np.array(whole.counts, dtype=np.float64), 1.0)
    size = _measured_size(regression, stretches)
    if size is None or len(size) != len(counts):
        size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / counts)
    names = regression.row_names
    effort = robot.limits.effort if not regression.wrenches else np.full(len(names), np.nan)
    n = max(whole.counts)
    left = held_out(others, data.recorded.parts)
    fitted = np.sqrt(whole.squares(x) / counts)
    return Score(names, fitted, size, effort, n), Score(names, left, size, effort, n)


def _measured_size(regression: Regression, stretches: Sequence[Samples]) -> Array | None:
    """RMS of the measurement, where part of it is known; None otherwise, or where workers hold the log."""
    held = [samples for samples in stretches if isinstance(samples, Samples)]
    if not held or regression.known(held[0].q[:1], held[0].v[:1], held[0].a[:1]) is None:
        return None
    weights = np.vstack([samples.weights > 0 for samples in held])
    squares = np.where(weights, np.vstack([samples.raw for samples in held]) ** 2, 0.0)
    return np.asarray(np.sqrt(squares.sum(axis=0) / np.maximum(weights.sum(axis=0), 1)))
