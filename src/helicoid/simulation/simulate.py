"""Simulate a robot: states over time from an initial state and what acts on it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid.errors import HelicoidError, InputError
from helicoid.interrupts import interruptible
from helicoid.progress import Progress
from helicoid.robot import Robot, as_robot
from helicoid.simulation.contacts import ContactPoint, Ground, World
from helicoid.simulation.equations import FIXED
from helicoid.simulation.equations.actuated import ActuatedSystem, is_actuated_system
from helicoid.simulation.equations.adaptive import SOLVERS
from helicoid.simulation.inputs.controllers import Controller, control_law
from helicoid.simulation.inputs.forces import Force, Forces, NotFinite
from helicoid.simulation.inputs.start import check_memory, sampling_times, start
from helicoid.simulation.machines import simulate_machine
from helicoid.simulation.machines.simulate import Flight
from helicoid.simulation.rollouts import Rollouts, divergence
from helicoid.simulation.running import run
from helicoid.simulation.trajectory import Trajectory

Method = Literal["rk4", "semi_implicit_euler", "euler", "stiction", "adaptive", "stiff", "time_stepping"]


METHODS = (*FIXED, *SOLVERS, "time_stepping")


class SimulationError(HelicoidError):
    """A simulation that cannot go on; `trajectory` holds what was computed until then."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


@interruptible()
def simulate(
    robot: Robot | ActuatedSystem,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    controller: Controller = None,
    dt: float = 1e-3,
    method: Method | None = None,
    f_ext: Mapping[str, Force] | None = None,
    substeps: int = 1,
    *,
    ground: Ground | Sequence[Ground] | None = None,
    contacts: Sequence[ContactPoint] | Literal["collision"] | None = None,
    end_stops: bool | None = None,
    disturbance: Force = None,
    theta: ArrayLike | None = None,
    friction: bool = True,
    saturate: bool = False,
    gravity: ArrayLike | None = None,
    smoothing: float | None = None,
    expressed_in: Literal["body", "world"] = "body",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    states0: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    progress: Progress | bool | None = None,
) -> Trajectory:
    """Integrate M(q) v̇ + h(q, v) + friction(v) = τ + disturbance + Σ Jᵀ w over `duration` (s).

    Forces change at the sampling times 0, dt, 2 dt, ... and are held in between, as a digital controller
    does it; whatever the method, samples are dt apart. Torques, disturbance and wrenches are each given as

    - a vector: constant;
    - an array (N, size), N = duration / dt: row k acts from k·dt to (k + 1)·dt;
    - an array (B, N, size): one series for each rollout of a batch;
    - a callable `(t, q, v) -> force`, asked at every sampling time. Without any the whole rollout runs in
      compiled code, and so does a controller that is a `Function` or a CasADi function.

    A vehicle of `hc.aerial` may stand in place of the robot: `controller` then gives its controls (as
    numbers, a callable `(t, q, v)` or `(t, q, v, states)`, a `Function`, a law that follows something),
    which the trajectory has as `controls` beside its `states`, and `tau` is the generalised force of all
    that acts. Its method is "rk4".

    A robot with constraints obeys them, and is brought back to them after every step.

    Args:
        q0: coordinates at the start, nq; None is `robot.neutral()`. (B, nq) simulates a batch of B rollouts
            side by side, on SIMD lanes and all cores; so do v0 (B, nv), theta (B, n), forces (B, N, size).
        v0: velocities at the start, nv; None is at rest.
        duration: a whole number of dt (s).
        controller: torque of the motors (N·m, N), nv. None is none. Beside numbers and callables it may be
            a `Function` or a CasADi function of some of t, q and v; a controller with `step(q, v)`, such as
            `hc.mpc.Controller`, which is asked once in its `period`; or torques over time, such as a `Plan`,
            a `Trajectory` or a `Log`, whose `tau[k]` acts from `t[k]` on.
        dt: sampling time (s).
        method: "rk4" (order 4), "semi_implicit_euler", "euler" (order 1) or "stiction" (order 1, dry friction
            that holds a joint at rest) with steps of dt / substeps; "adaptive" (Dormand-Prince, order 8) or
            "stiff" (LSODA), which keep to `rtol` and `atol`.
        f_ext: wrenches (n, f) by link, 6 each, at the link's origin.
        disturbance: more torque at the joints, which `Trajectory.tau` does not show.
        theta: parameters of a parametric robot; None is `robot.parameters.values`.
        friction: whether the robot's damping and friction act. They do unless told otherwise: in a simulation
            that is what one expects.
        saturate: cut the motors' torque at `robot.limits.effort`.
        gravity, smoothing, expressed_in: as the options of `robot.forward_dynamics`.
        states0: of a machine, such as what flies, its own states at the start; None is what it says.
        seed: of a machine's noise, such as gusts.
        rtol, atol: relative and absolute tolerance of "adaptive" and "stiff".
        progress: None shows a bar where a run takes long, False none; see `helicoid.progress`.

    Raises:
        SimulationError: a velocity became infinite, NaN or absurd, or a callable gave NaN. Its `trajectory`
            holds what came before.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> fall = hc.simulate(robot, [1.0, 0.0], duration=0.5, dt=0.01, friction=False)
    >>> fall.q.shape, bool(np.ptp(fall.energy) < 1e-6)
    ((51, 2), True)
    >>> held = hc.simulate(robot, [1.0, 0.0], None, 0.5, lambda t, q, v: robot.gravity(q), dt=0.01)
    >>> print(held.q[-1].round(9))
    [1. 0.]
    """
    if is_actuated_system(robot):
        _check_method(method or "rk4", substeps, rtol, atol)
        given = (f_ext, disturbance, gravity, smoothing, ground, contacts, end_stops)
        chosen = method or "rk4", friction, saturate, expressed_in
        if any(one is not None for one in given) or chosen != ("rk4", True, False, "body"):
            raise InputError(
                "a vehicle is simulated by method 'rk4' with its own forces: leave out f_ext, disturbance, "
                "gravity, smoothing, friction, saturate, expressed_in, ground, contacts and end_stops"
            )
        return _flown(
            simulate_machine(
                robot, q0, v0, duration, controller, dt, substeps, states0, theta, seed, progress
            )
        )
    if states0 is not None:
        raise InputError("states0 are a vehicle's; a robot has none but q and v")
    robot = as_robot(robot, "simulate")
    world = _world(robot, ground, contacts, end_stops, method)
    method = method or ("rk4" if world is None else "time_stepping")
    _check_method(method, substeps, rtol, atol)
    times = sampling_times(duration, dt, robot.nq + robot.nv)
    if f_ext is not None and not isinstance(f_ext, Mapping):
        raise InputError(f"f_ext names links, such as {{'tool0': [0, 0, 0, 0, 0, 10]}}; got {f_ext!r}")
    wrenches = dict(f_ext or {})
    options: dict[str, Any] = {"friction": friction, "f_ext": tuple(wrenches), "expressed_in": expressed_in}
    options |= {} if smoothing is None else {"smoothing": smoothing}
    options |= {} if gravity is None else {"gravity": gravity}
    law = control_law(controller, robot, times)
    begin = start(robot, q0, v0, theta, law, disturbance, *wrenches.values())
    n_rollouts = len(begin.q) if begin.many else None
    check_memory(len(times), len(begin.q) * (robot.nq + robot.nv + (robot.nv if callable(law) else 0)))
    limit = robot.limits.effort if saturate else None
    forces = Forces(law, disturbance, wrenches, len(times) - 1, n_rollouts, robot.model.velocity_names, limit)
    rollouts = Rollouts(robot, times, begin, forces, method, options)
    if world is not None:
        world.check_start(robot, begin.q)
        advance = rollouts.time_stepping(world, substeps)
    else:
        advance = rollouts.adaptive(rtol, atol) if method in SOLVERS else rollouts.fixed(dt, substeps)
    try:
        if len(times) == 1:
            forces.sample(0, 0.0, rollouts.q[0], rollouts.v[0])
        n_rows = run(len(times) - 1, advance, rollouts.v, rollouts.one_by_one, progress)
    except NotFinite as error:
        raise SimulationError(str(error), rollouts.trajectory(error.row + 1)) from error
    if n_rows < len(times):
        raise SimulationError(rollouts.divergence(n_rows), rollouts.trajectory(n_rows))
    return rollouts.trajectory(n_rows)


def _flown(outcome: tuple[Flight, int, str]) -> Trajectory:
    flight, n, problem = outcome
    if problem:
        raise SimulationError(problem, flight.trajectory(n))
    if n < len(flight.times):
        worst = int(np.argmax(np.nan_to_num(np.abs(flight.v[n]), nan=np.inf).max(axis=1)))
        message = divergence(flight.machine.robot, float(flight.times[n]), flight.v[n, worst])
        raise SimulationError(f"{message}. Smaller steps or weaker gains may help", flight.trajectory(n))
    return flight.trajectory(n)


def _world(
    robot: Robot, ground: Any, contacts: Any, end_stops: bool | None, method: str | None
) -> World | None:
    """What the robot may touch; None where the simulation is a smooth one."""
    held = method == "stiction" and bool(robot.constraints)
    if method != "time_stepping" and not held and ground is None and contacts is None and not end_stops:
        return None
    if method not in (None, "time_stepping", "stiction"):
        raise InputError(
            f"with contacts or end stops the method is 'time_stepping', not {method!r}: leave it out, and "
            "take substeps for shorter steps"
        )
    return World.of(robot, ground, contacts, end_stops)


def _check_method(method: str, substeps: int, rtol: float, atol: float) -> None:
    if method not in METHODS:
        raise InputError(f"method is one of {', '.join(METHODS)}; got {method!r}")
    if not isinstance(substeps, (int, np.integer)) or substeps < 1:
        raise InputError(f"substeps is a whole number, at least 1; got {substeps!r}")
    if substeps > 1 and method in SOLVERS:
        raise InputError(f"method {method!r} chooses its own steps: leave substeps out, or tighten rtol")
    if not (1e-13 <= rtol < 1 and 0 < atol < np.inf):
        raise InputError(f"rtol is from 1e-13 to 1, and atol above 0; got {rtol!r} and {atol!r}")


def simulate_contacts(
    robot: Robot, contacts: Sequence[ContactPoint], *arguments: Any, restitution: float = 0.0, **options: Any
) -> Trajectory:
    """`simulate` on level ground, under its former name."""
    warnings.warn(
        "simulate_contacts is simulate(..., ground=hc.Ground(...), contacts=[...]) and gives its trajectory",
        DeprecationWarning,
        stacklevel=2,
    )
    ground = Ground(restitution=restitution)
    return simulate(robot, *arguments, ground=ground, contacts=contacts, **options)
