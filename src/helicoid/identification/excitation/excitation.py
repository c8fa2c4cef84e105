"""Optimised excitation trajectories for identification."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.excitation.bounds import find_bounds
from helicoid.identification.excitation.fourier import RestingSeries
from helicoid.identification.excitation.problem import Criterion, ExcitationProblem
from helicoid.identification.excitation.start import start_problem
from helicoid.identification.identifiability.base_equations import BaseEquations
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot, as_robot
from helicoid.robot.collision.scene import Scene
from helicoid.simulation.trajectory import Trajectory
from helicoid.simulation.trajectory.plot import Panel, plot_over_time

_SMOOTHING = 0.1  # rad/s: of Coulomb friction, wide enough for derivatives
_RANDOM_STARTS = 30
_CHECKS_PER_POINT = 10  # samples of the check for each point of the optimisation
_BOUND_TOLERANCE = 1e-6  # rad, m and their rates
_MAX_MARGIN = 0.2  # relative, or m: by which bounds are tightened


@dataclass(frozen=True, eq=False)
class Excitation:
    """An excitation trajectory, periodic, at rest at both ends.

    `trajectory` holds its samples, with the torques of the description's inverse dynamics. `condition` is
    cond(W) of the base parameters' regressor, columns in units of their prior σ, rows in units of the noise;
    `log_det` is log det Wᵀ W per sample. `notes` say in words what was not taken into account.
    """

    trajectory: Trajectory
    series: RestingSeries
    coefficients: Array
    condition: float
    log_det: float
    notes: tuple[str, ...]

    @property
    def t(self) -> Array:
        """Times (s), (N,)."""
        return self.trajectory.t

    @property
    def q(self) -> Array:
        """Coordinates (rad, m), (N, nq)."""
        return self.trajectory.q

    @property
    def v(self) -> Array:
        """Velocities (rad/s, m/s), (N, nv)."""
        return self.trajectory.v

    @property
    def a(self) -> Array:
        """Accelerations (rad/s², m/s²), (N, nv)."""
        return self.trajectory.a

    @property
    def tau(self) -> Array:
        """Torques (N·m, N) that the description needs, friction included, (N, nv)."""
        return self.trajectory.tau

    def __repr__(self) -> str:
        return f"Excitation({self.trajectory!r}, condition {self.condition:.3g}, log det {self.log_det:.4g})"

    def at(self, times: ArrayLike) -> tuple[Array, Array, Array]:
        """q, v, a at any times (s), exactly; the motion repeats."""
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))
        q, v, a = (Phi @ self.coefficients for Phi in self.series.matrices(t))
        return q, v, a

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples to a .csv or .npz file; `Trajectory.load` reads it."""
        self.trajectory.save(path)

    def plot(self) -> Any:
        """A matplotlib figure of coordinates, velocities, accelerations and torques, with the limits' use."""
        names = self.trajectory.v_names
        panels = [
            Panel("position (rad, m)", self.q, names),
            Panel("velocity (rad/s, m/s)", self.v, names),
            Panel("acceleration (rad/s², m/s²)", self.a, names),
            Panel("torque (N·m, N)", self.tau, names),
        ]
        figures = f"condition number {self.condition:.3g}, log det {self.log_det:.4g}"
        title = f"{self.trajectory.name}: excitation trajectory, {figures}"
        return plot_over_time(self.t, panels, title)


@interruptible()
def excitation(
    robot: Robot,
    duration: float = 10.0,
    *,
    groups: Sequence[str] = ("inertia", "friction"),
    criterion: Criterion = "d-optimal",
    harmonics: int = 5,
    start: ArrayLike | None = None,
    use: float = 0.9,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    workspace: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    clearance: float = 0.02,
    scene: Scene | None = None,
    rate: float = 100.0,
    seed: int = 0,
    iterations: int = 150,
    time_limit: float = 50.0,
    progress: Progress | bool | None = None,
) -> Excitation:
    """Optimise an excitation trajectory: the most informative periodic motion within the robot's limits.

    A Fourier series of each joint (Swevers et al. 1997) with the D-optimal or best conditioned regressor.

    Args:
        robot: any whose joints have one coordinate for each velocity; a floating base has no such series
            and is refused.
        duration: of one period (s).
        groups: the parameters to be identified, as in `Robot.parametric`.
        criterion: "d-optimal", the smallest confidence ellipsoid, or "condition", the best condition number.
        harmonics: of the Fourier series of each joint.
        start: where it begins and ends (n); free unless given.
        use: the part of every limit that may be used.
        velocity, acceleration, effort: limits (n, or one for all) in place of the description's, which has
            none for accelerations. Where the description has no velocity limit, one must be given.
        workspace: for links by name, the box (lower, upper) in the world (m) that their origin must stay in.
        clearance: least distance (m) between links that are no neighbours, by their collision shapes; meshes
            have no shape here, which `notes` says.
        scene: whose boxes, spheres, capsules, cylinders and planes the links keep the clearance to as well,
            by spheres that contain them (`Robot.spheres`), meshes included.
        rate: of the samples (Hz).
        seed: of the random motions that it starts from.
        iterations, time_limit: of the optimisation; the best motion by then is taken (s).
        progress: how progress is shown, by default by a bar where it takes long; see `helicoid.progress`.

    Raises:
        InputError: the robot, a limit or the start is not usable; of a start it says what is violated there.
        HelicoidError: no motion within the limits was found.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> motion = hc.excitation(hc.load("planar_2r"), 4.0, harmonics=3, velocity=2.0, iterations=20)
    >>> motion.q.shape, bool(np.abs(motion.v).max() <= 0.9 * 2.0)
    ((401, 2), True)
    """
    _check(as_robot(robot, "excitation"), duration, harmonics, use, rate)
    bounds, notes = find_bounds(robot, use, velocity, acceleration, effort, workspace, clearance, scene)
    at = None if start is None else bounds.checked_start(start)
    if at is not None and (violated := start_problem(robot, bounds, at)):
        raise InputError(f"start: no excitation trajectory begins there: {violated}")
    equations = BaseEquations(robot, tuple(groups), smoothing=_SMOOTHING)
    series = RestingSeries(float(duration), harmonics, at)
    problem = ExcitationProblem(equations, series, bounds, criterion)
    y = _random_start(problem, np.random.default_rng(seed))
    with reporting(progress, "Excitation trajectory") as report:

        def on_iteration(count: int, loss: float) -> None:
            report(f"Excitation trajectory, criterion {loss:.2f}", count / iterations)

        y = _solved(problem, y, iterations, time_limit, on_iteration)
    return _result(problem, y, rate, notes)


def _solved(
    problem: ExcitationProblem,
    y: Array,
    iterations: int,
    seconds: float,
    on_iteration: Callable[[int, float], None],
) -> Array:
    """Solve, and tighten the bounds that are violated between the points until none is."""
    start, margins = y, dict[str, float]()
    for part in (0.7, 0.1, 0.1, 0.1):
        y = problem.solve(y, round(iterations * max(part, 0.3)), part * seconds, margins, on_iteration)
        exceeded = _exceeded(problem, y)
        if not exceeded:
            return y
        for what, by in exceeded.items():
            margins[what] = margins.get(what, 0.0) + 1.2 * by + 1e-3
        if max(margins.values()) > _MAX_MARGIN:
            break
    return _feasible(problem, start, y)


def _feasible(problem: ExcitationProblem, start: Array, y: Array) -> Array:
    """The first feasible motion on the line from y back to the start of the optimisation.

    A solver that ran out of time often ends with small violations.
    """
    for back in np.geomspace(1e-3, 1.0, 40):
        motion = y + back * (start - y)
        exceeded = _exceeded(problem, motion)
        if not exceeded:
            return motion
    what, by = max(exceeded.items(), key=lambda item: item[1])
    raise HelicoidError(
        f"no excitation trajectory within the limits was found: {what} is exceeded by {by:.3g}; "
        "allow more of it (`effort`, `workspace`, `clearance`), a longer duration or a longer `time_limit`"
    )


def _exceeded(problem: ExcitationProblem, y: Array) -> dict[str, float]:
    """Violations of the limits, also between the points of the optimisation."""
    n, bounds = _CHECKS_PER_POINT * 12 * problem.series.harmonics, problem.bounds
    q, v, a = (Phi @ problem.series.coefficients(y) for Phi in problem.series.matrices(problem.grid(n)))
    over = {
        "position": float(np.maximum(q - bounds.upper, bounds.lower - q).max()) - _BOUND_TOLERANCE,
        "velocity": float((np.abs(v) - bounds.velocity).max()) - _BOUND_TOLERANCE,
        "acceleration": float((np.abs(a) - bounds.acceleration).max()) - _BOUND_TOLERANCE,
        **problem.violations(y, n),
    }
    return {what: by for what, by in over.items() if by > 0}


def _result(problem: ExcitationProblem, y: Array, rate: float, notes: tuple[str, ...]) -> Excitation:
    robot, series = problem.equations.robot, problem.series
    coefficients = series.coefficients(y)
    t = np.linspace(0.0, series.duration, round(series.duration * rate) + 1)
    q, v, a = (Phi @ coefficients for Phi in series.matrices(t))
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    trajectory = Trajectory(t, q, v, tau, robot)
    trajectory.known.update(
        a=a, kinetic_energy=robot.kinetic_energy(q, v), potential_energy=robot.potential_energy(q)
    )
    W = problem.regressor(q, v, a)
    singular = np.linalg.svd(W, compute_uv=False)
    with np.errstate(divide="ignore"):
        condition = float(singular[0] / singular[-1])
        log_det = float(2 * np.log(singular / np.sqrt(len(t))).sum())
    return Excitation(trajectory, series, coefficients, condition, log_det, notes)


def _check(robot: Robot, duration: float, harmonics: int, use: float, rate: float) -> None:
    for joint in robot.model.independent_joints:
        if joint.type.nq != joint.type.nv or joint.parent == "":
            raise InputError(
                f"joint {joint.name!r} is {joint.type.kind}: excitation moves joints along series in their "
                "coordinates; lock it, or excite the arm on a fixed base"
            )
    numeric = all(isinstance(given, Real) for given in (duration, rate, use, harmonics))
    if not numeric or not duration > 0 or not rate > 0 or not 0 < use <= 1 or harmonics < 3:
        raise InputError(
            "excitation needs duration and rate above zero, use in (0, 1] and at least 3 harmonics; got "
            f"{duration!r}, {rate!r}, {use!r}, {harmonics!r}"
        )


def _random_start(problem: ExcitationProblem, rng: np.random.Generator) -> Array:
    """The most informative of some random motions that use half of the limits."""
    return min((random_motion(problem, rng, 0.5) for _ in range(_RANDOM_STARTS)), key=problem.loss)


def random_motion(problem: ExcitationProblem, rng: np.random.Generator, use: float) -> Array:
    """y of a random motion about the middle of the range, scaled to `use` of the limits of q, v and a."""
    series, bounds = problem.series, problem.bounds
    y = rng.normal(size=(series.n_free, problem.equations.robot.nv))
    rest = series.coefficients(np.zeros_like(y))
    Phis = series.matrices(problem.grid(20 * series.harmonics))
    middle = (bounds.lower + bounds.upper) / 2
    q, v, a = (np.abs(Phi @ series.basis @ y).max(axis=0) for Phi in Phis)
    half = (bounds.upper - bounds.lower) / 2
    scale = use * np.minimum.reduce([half / q, bounds.velocity / v, bounds.acceleration / a])
    center = np.linalg.lstsq(series.basis, np.outer(np.eye(len(rest))[0], middle) - rest, rcond=None)[0]
    return np.asarray(scale * y + center, np.float64)
