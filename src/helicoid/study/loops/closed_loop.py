"""Ready-made episodes: a controller on a plant whose parameters, sensors and delay differ from its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from helicoid.errors import InputError
from helicoid.robot import Robot, as_robot
from helicoid.simulation import ContactPoint, Ground
from helicoid.simulation.engines import Engine
from helicoid.simulation.equations.actuated import ActuatedSystem, is_actuated_system
from helicoid.simulation.inputs.stepped import is_observer
from helicoid.study.loops.compiled_loop import CompiledLoop
from helicoid.study.loops.loop_settings import Each, LoopSettings, checked_noise
from helicoid.study.loops.measures import Measure, usual_measures
from helicoid.study.loops.single_loop import SingleLoop

_METHODS = ("rk4", "semi_implicit_euler", "euler")


def closed_loop(
    controller: Any,
    plant: Robot | ActuatedSystem,
    duration: float,
    *,
    reference: Any = None,
    targets: Callable[[float], Mapping[str, ArrayLike]] | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    theta: ArrayLike | None = None,
    states0: ArrayLike | None = None,
    noise: Mapping[str, ArrayLike] | None = None,
    delay: float = 0.0,
    each: Each | None = None,
    period: float | None = None,
    substeps: int = 1,
    method: str = "rk4",
    friction: bool = True,
    ground: Ground | Sequence[Ground] | None = None,
    contacts: Sequence[ContactPoint] | Literal["collision"] | None = None,
    measure: Measure = usual_measures,
    engine: Engine = "helicoid",
) -> CompiledLoop | SingleLoop:
    """An episode for `hc.Study`: a controller on a plant with parameters, sensor noise and delay of the case.

    Takes every controller that `hc.simulate` takes. A symbolic law, of `hc.control` or `hc.aerial`, runs in
    batches, law, sensors and plant in one compiled step; every other controller runs step by step.

    Args:
        controller: a copy of it is reset before each episode.
        plant: the robot or the vehicle that moves, which need not be the one of the controller's model. Its
            parameters vary where it is parametric: `robot.parametric("payload", payload_link="tool0")`.
        duration: of an episode (s), a whole number of periods.
        reference: as `controller.following(reference)` takes it, such as {"q_ref": q}, a callable
            `t -> dict`, or a trajectory; None where the controller needs none or has one already.
        targets: `t -> dict` for `controller.set` before each step, as an `hc.mpc.Controller` takes them.
        q0, v0, theta, states0: the initial state and the parameters of the plant, as in `hc.simulate`.
        noise: standard deviations of measurements, {"q": rad, "v": rad/s}.
        delay: of measurements (s), a whole number of periods; those of `each` are at most this.
        each: `case -> dict` with the values that differ from case to case: q0, v0, theta, states0, noise,
            delay, and `set`, numbers of the controller.
        period: time between steps (s); by default that of the controller, or 1 ms.
        substeps: steps of the integrator in a period.
        method: "rk4", "semi_implicit_euler" or "euler"; step by step it is "rk4".
        friction: whether the plant's friction acts.
        ground, contacts: as in `hc.simulate`; such a loop runs step by step.
        engine: "mujoco" as in `hc.simulate`; such a loop runs step by step, by MuJoCo's method.
        measure: performance measures: takes `Loops`, returns arrays with one entry for each loop.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> law = hc.control.ComputedTorque(robot, frequency=20.0)
    >>> loop = hc.study.closed_loop(
    ...     law, robot.parametric("payload", payload_link="tip"), 0.05, q0=[0.0, 0.5],
    ...     reference={"q_ref": [0.1, 0.5]},
    ...     each=lambda case: {"theta": hc.payload(case["mass"], [0, 0, 0], [[0] * 3] * 3)},
    ... )
    >>> study = hc.Study(loop, seed=0)
    >>> study.vary("mass", hc.study.uniform(0.0, 2.0))
    >>> table = study.run(4, on="here")
    >>> table.results
    ('rms', 'peak', 'final', 'effort', 'trouble', 'diverged')
    """
    if not is_actuated_system(plant):
        as_robot(plant, "closed_loop")
    if not any(callable(getattr(controller, name, None)) for name in ("step", "in_loop")):
        raise InputError(f"closed_loop takes a controller with step(q, v); got {controller!r}")
    if method not in _METHODS:
        raise InputError(f"method is one of {', '.join(_METHODS)}; got {method!r}")
    if not isinstance(substeps, int) or substeps < 1:
        raise InputError(f"substeps is a whole number, at least 1; got {substeps!r}")
    own = getattr(controller, "period", None)
    dt = float((1e-3 if own is None else own) if period is None else period)
    world = {"ground": ground, "contacts": contacts, "engine": None if engine == "helicoid" else engine}
    settings = LoopSettings(
        *(plant, duration, q0, v0, theta, states0, dict(noise or {}), delay, dt, substeps, method, friction),
        each=each,
        world={name: x for name, x in world.items() if x is not None},
    )
    checked_noise(settings.robot, settings.noise)
    settings.longest_delay  # noqa: B018 - refused here and not in a worker
    if reference is not None or (not getattr(controller, "required", True) and not is_observer(controller)):
        if not callable(getattr(controller, "following", None)):
            raise InputError(
                f"{type(controller).__name__} has no following(reference): see ControllerProtocol, or let "
                "its step(q, v) know the reference"
            )
        controller = controller.following(reference)
    compiled = callable(getattr(controller, "in_loop", None)) and targets is None and not settings.world
    if compiled and (settings.system is None or method == "rk4"):
        return CompiledLoop(controller, settings, measure)
    if method != "rk4":
        raise InputError(f"a {type(controller).__name__} is run step by step, with method='rk4'")
    return SingleLoop(controller, settings, targets, measure)
