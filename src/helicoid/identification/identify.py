"""From a robot and a log to the parameters that explain the log, with everything chosen by the log itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.diagnosis.diagnosis import diagnose
from helicoid.identification.distributed.compression import (
    Preparation,
    compressed,
    left_out,
    some_of,
    surveyed,
)
from helicoid.identification.distributed.sources import sources
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.linear.choice import ESTIMATORS, Choice, Estimator, Wish, choose, prepared
from helicoid.identification.linear.equations.regression import Regression
from helicoid.identification.linear.equations.rows import FORMS, thinning
from helicoid.identification.linear.folds import held_out
from helicoid.identification.linear.selection import (
    Weighted,
    choose_strength,
    excerpt,
    fitter,
    weighed,
    weighted,
)
from helicoid.identification.linear.solving.consistent import Bounds
from helicoid.identification.linear.solving.estimators import coloured, covariance, huber, posterior, repeated
from helicoid.identification.linear.solving.instrumental import instrumental
from helicoid.identification.linear.solving.whitened_coordinates import usual_magnitudes
from helicoid.identification.logs.filtering import noise_bandwidth
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.logs.preparation import Samples, measured
from helicoid.identification.logs.swings import swings
from helicoid.identification.report.notes import remarks
from helicoid.identification.report.score import Score
from helicoid.identification.report.trust import confused
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot
from helicoid.workers.contract import Executor
from helicoid.workers.executor import executor

_WITH_PRIOR = ("consistent", "ridge")
_WIDER = 3.0  # times what unknowns of joints may be off by, where one frequency confuses them


@interruptible()
def identify(
    robot: Robot,
    log: Any,
    *,
    estimator: Estimator = "consistent",
    groups: Sequence[str] | None = None,
    form: str = "torque",
    cutoff: float | Literal["auto"] | None = "auto",
    strength: float | None = None,
    lag: float | None = None,
    dead_zone: float = 0.0,
    bounds: Bounds | None = None,
    on: Any = None,
    progress: Progress | bool | None = None,
) -> Identification:
    """The parameters with which a robot's model reproduces the torques (or wrenches) of a log.

    Args:
        robot: kinematics, and the description that the fit starts from.
        log: one recording, or several of the same robot; with `on` also files and patterns of files, such as
            `hc.logs("folder/*.npz")`.
        estimator: "consistent" (the default) gives every body a mass distribution that exists, by a
            semidefinite program; "ridge" pulls to the description only; "weighted" and "ordinary" are least
            squares with and without a weight for each joint; "huber" is robust against single bad samples;
            "total" and "instrumental" allow for noise in the motion.
        groups: the unknowns, see `Regression`; by default inertia, viscous and Coulomb friction with a root
            term where joints are not slow, offset and armature (where joints moved with one frequency, if it
            pays), and those of load-dependent friction and springs that pay on held-out data.
        form: "torque", or without accelerations "momentum" or "energy"; or "power".
        cutoff: of the zero-phase low-pass (Hz), None for none; by default chosen by cross-validation.
        strength: of the pull to the description; by default chosen by cross-validation.
        lag: by which torques follow the motion (s); by default estimated, and 0 unless clearly seen.
        dead_zone: velocities (rad/s) below which a joint's torque is not used.
        bounds: on masses and centers of mass, for the consistent estimator.
        on: where logs are read and compressed, for many of them: "processes", "here", the address of a dask
            scheduler, or a `dask.distributed.Client`. No process then holds more than a few logs. One that
            cannot be used is left out, by name. Cut-off, lag and terms are chosen on up to 8 of them.
        progress: how to tell of it, by default with a bar where it takes long; see `helicoid.progress`.

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
    >>> result = hc.identify(robot, log, groups=("inertia",), cutoff=None, strength=1.0)
    >>> result.score(log).overall_relative < 1e-6
    True
    """
    wish = Wish(estimator, form, strength, bounds, groups, cutoff, lag, dead_zone)
    workers = None if on is None else executor(on)
    with one_blas_thread(), reporting(progress, "Identifying") as tell:
        if workers is not None:
            return _identified_on(workers, robot, log, wish, tell)
        logs = list(log) if isinstance(log, Iterable) and not isinstance(log, str) else [log]
        return _identified(robot, logs, wish, tell)


def _identified(robot: Robot, logs: list[Log], wish: Wish, tell: Progress) -> Identification:
    check_wish(robot, logs, wish)
    some = [part for one in logs for part in excerpt(one)]
    choice, stretches, notes = choose(robot, some, wish, tell)
    tell("Fitting", 0.0)
    ready = choice.data if some == logs else None
    if some != logs:
        everything, notes = prepared(robot, logs, choice.cutoff, wish.dead_zone)
        stretches = [samples.delayed(choice.lag) for samples in everything]

    def data(regression: Regression) -> Weighted:
        if ready is not None and regression is choice.regression:
            return ready
        return weighted(regression, stretches, wish.form)

    result = conclude(robot, choice, data, stretches, wish, notes, tell)
    return replace(result, logs=tuple(logs))


def _identified_on(workers: Executor, robot: Robot, given: Any, wish: Wish, tell: Progress) -> Identification:
    """As `_identified`, with logs that only workers hold; what is chosen is chosen on some of them."""
    if wish.estimator in ("huber", "instrumental"):
        raise InputError(f"the estimator {wish.estimator!r} looks at samples again and again: leave out on=")
    known = sources(given)
    few = some_of(robot, known)
    check_wish(robot, few, wish)
    some = [part for one in few for part in excerpt(one)]
    choice, _, _ = choose(robot, some, wish, tell)
    how = Preparation(robot, choice.cutoff, wish.dead_zone, tuple(few[0].wrenches))
    survey = surveyed(workers, how, known, tell)
    notes = [*left_out(known, survey), *(note for one in survey for note in one.notes)]
    good = [k for k, one in enumerate(survey) if not one.error]
    used, seen = [known[k] for k in good], [survey[k] for k in good]

    def data(regression: Regression) -> Weighted:
        parts = compressed(workers, how, regression, wish.form, choice.lag, used, seen, tell)
        return weighed(regression, *parts)

    spans: Any = [span for one in seen for span in one.spans]
    result = conclude(robot, choice, data, spans, wish, notes, tell)
    return replace(result, logs=tuple(few))


def conclude(
    robot: Robot,
    choice: Choice,
    data_of: Callable[[Regression], Weighted],
    stretches: Sequence[Samples],
    wish: Wish,
    notes: Sequence[str],
    tell: Progress,
) -> Identification:
    """From factors of the samples to a result; of `stretches` only lengths and rates matter to most fits."""
    regression = choice.regression
    data = data_of(regression)
    if wish.estimator in _WITH_PRIOR and wish.strength is None:
        wish = replace(wish, strength=choose_strength(regression, data, wish.estimator, wish.bounds, tell))
    if regression.load_dependent:  # of the weight that was found, no longer of that described
        x = fitter(wish.estimator, regression, data, wish.strength or 0.0, wish.bounds)(data.whole)
        regression = regression.loaded_by(x)
        data = data_of(regression)
    choice = choice._replace(regression=regression)
    result = fitted(robot, choice, stretches, data, wish, notes)
    tell("Fitting", 1.0)
    return result


def check_wish(robot: Robot, logs: Sequence[Log], wish: Wish) -> None:
    """Refuse what cannot be, before anything takes long."""
    if wish.estimator not in ESTIMATORS:
        raise InputError(f"no estimator is called {wish.estimator!r}; there are: {', '.join(ESTIMATORS)}")
    if wish.form not in FORMS:
        raise InputError(f"no form of equations is called {wish.form!r}; there are: {', '.join(FORMS)}")
    if wish.bounds is not None and wish.estimator != "consistent":
        raise InputError(f"bounds go with the estimator 'consistent', not with {wish.estimator!r}")
    if wish.bounds is not None:
        wish.bounds.check(robot)
    if wish.strength is not None and not 0 <= wish.strength < np.inf:
        raise InputError(f"strength of the pull to the description is 0 or more, got {wish.strength}")
    if not 0 <= wish.dead_zone < np.inf or (wish.lag is not None and not np.isfinite(wish.lag)):
        raise InputError(f"dead_zone (rad/s, 0 or more) and lag (s): got {wish.dead_zone} and {wish.lag}")
    if not logs:
        raise InputError("identify needs a log")
    for log in logs:
        check(robot, log)
        measured(log)
        if tuple(log.wrenches) != tuple(logs[0].wrenches):
            raise InputError(f"{log.source}: measures other wrenches than {logs[0].source}")
    if wish.estimator == "instrumental" and (logs[0].wrenches or wish.form != "torque"):
        raise InputError("the estimator 'instrumental' needs joint torques in the form 'torque'")
    if robot.theta.groups:
        raise InputError("identify takes a robot of numbers; this one is parametric")


def fitted(
    robot: Robot,
    choice: Choice,
    stretches: Sequence[Samples],
    data: Weighted,
    wish: Wish,
    notes: Sequence[str],
) -> Identification:
    """The result of one fit, with its scores, what it leaves open and what is to be said of it."""
    cutoff, lag, regression, strength = *choice[:3], wish.strength or 0.0
    fit = fitter(wish.estimator, regression, data, strength, wish.bounds)
    x = fit(data.whole)
    if wish.estimator == "huber":
        x = huber(regression, stretches, x, fit, wish.form)
    elif wish.estimator == "instrumental":
        x = instrumental(regression, stretches, data.weights, data.coordinates)
    thin = thinning(stretches[0])
    part = noise_bandwidth(stretches[0].rate / thin, cutoff)
    spread = covariance(data.whole.combined(data.weights), data.coordinates, strength, part)
    others = [fit(stack) for stack in data.folds.without]  # each has not seen one part
    training, expected = _scores(robot, regression, data, others, x)
    elsewhere = held_out([fit(stack) for stack in data.folds.without_speed], data.recorded.speeds)
    elsewhere = elsewhere if len(elsewhere) == len(expected.rmse) else expected.rmse
    usual = usual_magnitudes(regression)
    longest = max(stretches, key=len)
    held = [samples for samples in stretches if isinstance(samples, Samples)]  # or workers have them
    swung = swings(robot, [] if regression.wrenches else held)
    # Periods of one frequency repeat each other, and what the model lacks with them.
    white = isinstance(longest, Samples) and not swung.mostly
    alike = repeated(regression, longest, x, data.excess) if white else data.excess
    known = posterior(
        data.whole.combined(data.weights), data.coordinates, alike, _WIDER * usual if swung.mostly else usual
    )
    blurred = _blurred(data, others) if len(data.weights) == len(training.names) else expected.relative
    doubt = _doubt(robot, regression, stretches)
    said = (
        *notes,
        *([f"Warning: most likely, {doubt}."] if doubt else []),
        *remarks(
            *(regression, x, spread, cutoff, lag, strength, training, expected, blurred, stretches),
            swung.joints,
        ),
    )
    return Identification(
        robot,
        regression.loaded_by(x),
        x,
        spread,
        wish.estimator,
        cutoff,
        lag,
        strength,
        training,
        expected,
        said,
        posterior=known,
        unexplained=np.maximum(expected.rmse, elsewhere),
        lacking=coloured(regression, longest, x) if isinstance(longest, Samples) else None,
        doubt=doubt,
        confused=confused(robot, swung.joints.values()),
    )


def _doubt(robot: Robot, regression: Regression, stretches: Sequence[Samples]) -> str:
    """What the log most likely is, where it is not what it says; "" where it is, or where workers hold it."""
    held = [samples for samples in stretches if isinstance(samples, Samples)]
    found = diagnose(robot, held) if held and not regression.wrenches else None
    return "" if found is None else found.text


def _blurred(data: Weighted, others: Sequence[Array]) -> Array:
    """The held-out relative error of each row after the low-pass: without most of the sensors' noise."""
    whole = data.whole
    size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / np.maximum(np.array(whole.counts), 1))
    return held_out(others, data.folds.parts) / np.where(size > 0, size, np.nan)


def _scores(
    robot: Robot, regression: Regression, data: Weighted, others: Sequence[Array], x: Array
) -> tuple[Score, Score]:
    """On the log as recorded: of the fit itself, and of fits that did not see what they predict.

    Those are by weighted least squares where the estimator reweighs samples or simulates.
    """
    whole = data.recorded.whole
    counts = np.maximum(np.array(whole.counts, dtype=np.float64), 1.0)
    size = np.sqrt(whole.squares(np.zeros(whole.n_unknowns)) / counts)
    names = regression.row_names
    effort = robot.limits.effort if not regression.wrenches else np.full(len(names), np.nan)
    n = max(whole.counts)
    left = held_out(others, data.recorded.parts)
    fitted = np.sqrt(whole.squares(x) / counts)
    return Score(names, fitted, size, effort, n), Score(names, left, size, effort, n)
