"""Ready-made episodes: a controller on a plant that is not quite what it thinks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from helicoid.control.laws.torque import TorqueLaw
from helicoid.errors import InputError
from helicoid.robot import Robot, as_robot
from helicoid.study.loops.compiled_loop import CompiledLoop
from helicoid.study.loops.loop_settings import Each, LoopSettings, checked_noise, reference_rows
from helicoid.study.loops.measures import Measure, usual_measures
from helicoid.study.loops.single_loop import SingleLoop

_METHODS = ("rk4", "semi_implicit_euler", "euler")


def closed_loop(
    controller: Any,
    plant: Robot,
    duration: float,
    *,
    reference: Any = None,
    targets: Callable[[float], Mapping[str, ArrayLike]] | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    theta: ArrayLike | None = None,
    noise: Mapping[str, ArrayLike] | None = None,
    delay: float = 0.0,
    each: Each | None = None,
    period: float | None = None,
    substeps: int = 1,
    method: str = "rk4",
    friction: bool = True,
    measure: Measure = usual_measures,
) -> CompiledLoop | SingleLoop:
    """An episode for `hc.Study`: a controller on a plant with parameters, noise and delay of the case.

    A law of `hc.control` that gives torques runs in batches, law and plant in one compiled step. Any other
    controller with `step(q, v)`, such as `hc.mpc.Controller` and `hc.mpc.Adaptive`, runs step by step.

    Args:
        controller: it is reset before each episode.
        plant: the robot that moves, which need not be the one that the controller knows. Its parameters vary
            where it is parametric: `robot.parametric("payload", payload_link="tool0")`.
        duration: of an episode (s), a whole number of periods.
        reference: what a law's `step` takes beside q and v: a dict of what stays, such as {"q_ref": q}; a
            callable `t -> dict`; or a motion with t, q, v and a, sampled at the loop's period.
        targets: `t -> dict` for `controller.set` before each step, as an `hc.mpc.Controller` takes them.
        q0, v0, theta: the start and the plant's parameters, unless `each` says otherwise.
        noise: standard deviations of what is measured, {"q": rad, "v": rad/s}.
        delay: seconds by which it is seen late, a whole number of periods; those of `each` are at most this.
        each: `case -> dict` with what differs from case to case: q0, v0, theta, noise, delay, and `set`,
            numbers of the controller.
        period: time between steps (s); by default that of the controller, or 1 ms.
        substeps: steps of the integrator in a period.
        method: "rk4", "semi_implicit_euler" or "euler"; step by step it is "rk4".
        friction: whether the plant's friction acts.
        measure: what is said of loops in numbers: takes `Loops`, gives arrays with one entry for each.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.ComputedTorque(robot, frequency=20.0)
    >>> loop = hc.study.closed_loop(
    ...     law, robot.parametric("payload", payload_link="tip"), 0.05, q0=[0.0, 0.5],
    ...     reference={"q_ref": [0.1, 0.5]},
    ...     each=lambda case: {"theta": hc.mpc.payload(case["mass"], [0, 0, 0], [[0] * 3] * 3)},
    ... )
    >>> study = hc.Study(loop, seed=0)
    >>> study.vary("mass", hc.study.uniform(0.0, 2.0))
    >>> table = study.run(4, on="here")
    >>> table.results
    ('rms', 'peak', 'final', 'effort', 'trouble', 'diverged')
    """
    as_robot(plant, "closed_loop")
    if not callable(getattr(controller, "step", None)):
        raise InputError(f"closed_loop takes a controller with step(q, v); got {controller!r}")
    if method not in _METHODS:
        raise InputError(f"method is one of {', '.join(_METHODS)}; got {method!r}")
    if not isinstance(substeps, int) or substeps < 1:
        raise InputError(f"substeps is a whole number, at least 1; got {substeps!r}")
    dt = float(period or getattr(controller, "period", None) or 1e-3)
    checked_noise(plant, noise or {})
    settings = LoopSettings(
        plant, duration, q0, v0, theta, dict(noise or {}), delay, dt, substeps, method, friction, each
    )
    rows = reference_rows(reference, settings.times)
    settings.longest_delay  # noqa: B018 - refused here and not in a worker
    if isinstance(controller, TorqueLaw) and targets is None:
        return CompiledLoop(controller, settings, rows, measure)
    if method != "rk4":
        raise InputError(f"a {type(controller).__name__} is run step by step, with method='rk4'")
    return SingleLoop(controller, settings, rows, targets, measure)
