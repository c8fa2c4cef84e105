"""Simulate a robot or a vehicle: states over time from an initial state, a controller and external forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.deprecation import warn_renamed
from helicoid.errors import HelicoidError, InputError
from helicoid.interrupts import interruptible
from helicoid.progress import Progress
from helicoid.robot import Robot, as_robot
from helicoid.robot.collision.scene import Scene
from helicoid.simulation.contacts import ContactPoint, Ground, World
from helicoid.simulation.contacts.crossing import warn_of_crossing
from helicoid.simulation.energy import EnergyGain
from helicoid.simulation.engines import ENGINES, Engine
from helicoid.simulation.engines.mujoco.plant import MujocoWorld
from helicoid.simulation.engines.mujoco.rollouts import MujocoRollouts
from helicoid.simulation.equations import FIXED
from helicoid.simulation.equations.actuated import ActuatedSystem, is_actuated_system
from helicoid.simulation.equations.adaptive import SOLVERS
from helicoid.simulation.inputs.controllers import Controller, command_of
from helicoid.simulation.inputs.forces import Force, NotFinite, SystemInputs
from helicoid.simulation.inputs.start import check_memory, initial_states, sampling_times, start
from helicoid.simulation.inputs.stepped import Commanded, is_observer
from helicoid.simulation.rollouts import RobotRollouts, VehicleRollouts
from helicoid.simulation.running import Advance, run
from helicoid.simulation.trajectory import Trajectory

Method = Literal["rk4", "semi_implicit_euler", "euler", "stiction", "adaptive", "stiff", "time_stepping"]

METHODS = (*FIXED, *SOLVERS, "time_stepping")


class SimulationError(HelicoidError):
    """A simulation that cannot continue; `trajectory` holds the states before."""

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
    ground: Ground | Sequence[Ground] | Scene | None = None,
    contacts: Sequence[ContactPoint] | Literal["collision"] | None = None,
    end_stops: bool | None = None,
    disturbance: Force = None,
    friction: bool = True,
    saturate: bool = False,
    theta: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
    smoothing: float | None = None,
    expressed_in: Literal["body", "world"] = "body",
    observer: Any = None,
    states0: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: Progress | bool | None = None,
    engine: Engine = "helicoid",
) -> Trajectory:
    """Integrate M(q) v̇ + h(q, v) + friction(v) = τ + disturbance + Σ Jᵀ w over `duration` (s).

    The command of the controller changes at the sampling times 0, dt, 2 dt, ... and is held in between
    (zero-order hold), as by a digital controller; whatever the method, samples are dt apart. A batch of
    rollouts runs side by side on SIMD lanes and all cores.

    Torque, disturbance and wrenches are each given as

    - a vector: constant;
    - an array (N, size), N = duration / dt: row k acts from k·dt to (k + 1)·dt;
    - an array (B, N, size): one series for each rollout of a batch;
    - a callable `(t, q, v) -> force`, evaluated at every sampling time. Without one the whole rollout runs in
      compiled code.

    The controller may also be

    - any controller of `hc.control`, `hc.mpc`, `hc.aerial` or `hc.walking`, or an object with `step(q, v)`:
      it is stepped once every `period`, which must be a multiple of dt, and its command is held in between.
      A law that needs references is given as `law.following(reference)`. Laws run inside the compiled loop,
      in batches too, each from its initial memory; after a single rollout `status` says how it ended.
      Joint velocities, as those of `DifferentialIK`, act through an ideal inner velocity loop:
      τ = ID(q, v, (v_command - v) / T) with T the time left of the period, within the effort limits.
      `hc.mpc.Adaptive` gets the torque that acted until then. An observer alone runs with zero torque.
    - a `Function` or a CasADi function of some of t, q and v, evaluated inside the compiled loop;
    - torques over time, such as a `Plan`, a `Trajectory` or a `Log`, whose `tau[k]` acts from `t[k]` on.

    A vehicle of `hc.aerial` may stand in place of the robot. The command is then its controls, and a
    callable may take its actuator states, `(t, q, v, states)`. The trajectory has `controls` and `states`,
    its `tau` is the generalised force of all actuators, and the method is "rk4".

    A robot with constraints obeys them, and is projected on them after every step.

    Args:
        robot: a robot or a vehicle.
        q0: initial coordinates, nq; None is `robot.neutral(within_limits=True)`. (B, nq) simulates a batch of
            B rollouts; so do v0 (B, nv), theta (B, n), states0 (B, n) and forces (B, N, size).
        v0: initial velocities, nv; None is at rest.
        duration: a whole number of dt (s).
        controller: torque of the motors (N·m, N), nv, or controls of a vehicle; None is zero.
        dt: sampling time (s).
        method: "rk4" (order 4), "semi_implicit_euler", "euler" (order 1) or "stiction" (order 1, dry friction
            that holds a joint at rest) with steps of dt / substeps; "adaptive" (Dormand-Prince, order 8) or
            "stiff" (LSODA) with error control by `rtol` and `atol`; "time_stepping" (Moreau, order 2 between
            impacts) with contacts, end stops and dry friction as complementarity conditions. None is
            "time_stepping" where there are contacts or end stops, else "rk4".
        f_ext: wrenches (n, f) by link, 6 each, at the link's origin.
        substeps: steps of the integrator in a sampling time.

        ground: `hc.Ground`, a list of them, or an `hc.Scene` of planes and height fields, that `contacts` may
            touch.
        contacts: points of links that may touch the ground, `[hc.ContactPoint(link, point), ...]`, or
            "collision" for the collision geometry of all links.
        end_stops: whether joints stop at their position limits, without rebound; None: if there is a ground.

        disturbance: further torque at the joints, which `Trajectory.tau` does not include.
        friction: whether joint damping and friction act.
        saturate: limit the motors' torque at `robot.limits.effort`.
        theta: parameters of a parametric robot; None is `robot.parameters.values`.
        gravity, smoothing, expressed_in: options of `robot.forward_dynamics`.

        observer: an observer beside the controller, such as `hc.control.MomentumObserver`: it is stepped once
            every `period` with q, v and the torque that acts; `trajectory.observed` has its estimates.
        states0: initial actuator states of a vehicle; None is its own default.
        seed: of a vehicle's random disturbances, such as gusts.

        rtol, atol: relative and absolute tolerance of "adaptive" and "stiff".
        progress: None shows a bar where a run takes long, False none; see `helicoid.progress`.
        engine: "mujoco" (`pip install 'helicoid[mujoco]'`) lets MuJoCo move the robot: one that was read from
            MJCF in its own model and scene, any other by `robot.to_mjcf`. All colliding shapes touch each
            other and the ground, which may be left out; `contacts=[]` turns contacts off. Torques act as
            generalised forces: actuators of the model do nothing. `method` is that of the file,
            "rk4" or "semi_implicit_euler", dt / substeps MuJoCo's time step, and joints have end stops by
            default. See docs/how-to/mujoco.md.

    Warns:
        DoubtfulMotionWarning: with a ground, links of the first rollout pass through each other, by a quarter
            of the thinner one or more: contacts between links are not simulated. Primitive collision shapes
            are checked after the run, and with `contacts="collision"` meshes of moving links too, at up to
            200 samples; not links that a joint connects, unless it is floating, nor shapes that overlap at
            q0.

    Raises:
        SimulationError: a velocity diverged, steps are so long for the velocities that the integration gained
            energy, or a callable returned NaN. Its `trajectory` holds the states before.

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
    if is_observer(controller) and observer is None:
        controller, observer = None, controller
    if engine not in ENGINES:
        raise InputError(f"engine is one of {', '.join(ENGINES)}; got {engine!r}")
    if is_actuated_system(robot):
        if engine != "helicoid":
            raise InputError(
                "controls of actuators and vehicles need engine='helicoid'; MuJoCo takes torques, such "
                "as controller=lambda t, q, v: robot.actuator_torque(q, v, u)"
            )
        _check_method(method or "rk4", substeps, rtol, atol)
        given = (f_ext, disturbance, gravity, smoothing, ground, contacts, end_stops, observer)
        chosen = method or "rk4", friction, saturate, expressed_in
        if any(one is not None for one in given) or chosen != ("rk4", True, False, "body"):
            raise InputError(
                "a vehicle is simulated by method 'rk4' with its own forces: leave out f_ext, disturbance, "
                "gravity, smoothing, friction, saturate, expressed_in, ground, contacts, end_stops, observer"
            )
        vehicle = _vehicle(robot, q0, v0, sampling_times(duration, dt), controller, states0, theta, seed)
        return _run(vehicle, vehicle.fixed(int(substeps)), progress)
    if states0 is not None:
        raise InputError("states0 are a vehicle's; a robot has none but q and v")
    robot = as_robot(robot, "simulate")
    mujoco = MujocoWorld.of(ground, contacts, end_stops) if engine == "mujoco" else None
    world = _world(robot, ground, contacts, end_stops, method) if mujoco is None else None
    chosen_method = method or ("rk4" if world is None else "time_stepping")
    _check_method(chosen_method, substeps, rtol, atol)
    if mujoco is not None and smoothing is not None:
        raise InputError("smoothing is of Helicoid's friction; engine='mujoco' has MuJoCo's")
    times = sampling_times(duration, dt, robot.nq + robot.nv)
    if f_ext is not None and not isinstance(f_ext, Mapping):
        raise InputError(f"f_ext names links, such as {{'tool0': [0, 0, 0, 0, 0, 10]}}; got {f_ext!r}")
    wrenches = dict(f_ext or {})
    options: dict[str, Any] = {"friction": friction}
    options |= {} if smoothing is None else {"smoothing": smoothing}
    options |= {} if gravity is None else {"gravity": gravity}
    names, limit = robot.model.velocity_names, robot.limits.effort if saturate else None
    command = command_of(controller, Commanded(robot, names, None, limit, dict(options), theta), times)
    options |= {"f_ext": tuple(wrenches), "expressed_in": expressed_in}
    begin = start(robot, q0, v0, theta, command, disturbance, *wrenches.values())
    check_memory(len(times), len(begin.q) * (robot.nq + 2 * robot.nv))
    n_rollouts = len(begin.q) if begin.many else None
    inputs = SystemInputs(command, len(times) - 1, n_rollouts, names, limit, disturbance, wrenches)
    if mujoco is not None:
        there = MujocoRollouts(robot, times, begin, inputs, options, observer, mujoco, method)
        return _run(there, there.stepping(int(substeps)), progress)
    rollouts = RobotRollouts(robot, times, begin, inputs, chosen_method, options, observer)
    if world is not None:
        world.check_start(robot, begin.q)
        advance = rollouts.time_stepping(world, int(substeps))
    else:
        advance = rollouts.adaptive(rtol, atol) if chosen_method in SOLVERS else rollouts.fixed(int(substeps))
    trajectory = _run(rollouts, advance, progress)
    if world is not None and world.grounds:
        warn_of_crossing(robot, times, rollouts.q[:, 0], meshes=isinstance(contacts, str))
    return trajectory


def _run(
    rollouts: RobotRollouts | VehicleRollouts, advance: Advance, progress: Progress | bool | None
) -> Trajectory:
    """Compute all rows.

    Raises:
        SimulationError: see `simulate`.
    """
    n_steps = len(rollouts.times) - 1
    try:
        if not n_steps:
            rollouts.command_at_start()
        balance = rollouts.energy_balance
        n_rows = run(n_steps, advance, rollouts.v, rollouts.one_by_one, progress, balance)
    except NotFinite as error:
        raise SimulationError(str(error), rollouts.trajectory(error.row + 1)) from error
    except EnergyGain as error:
        raise SimulationError(rollouts.gain(error), rollouts.trajectory(error.row)) from error
    if n_rows <= n_steps:
        raise SimulationError(rollouts.divergence(n_rows), rollouts.trajectory(n_rows))
    return rollouts.trajectory(n_rows)


def _vehicle(
    system: ActuatedSystem,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    times: Array,
    controller: Any,
    states0: ArrayLike | None,
    theta: ArrayLike | None,
    seed: int | np.random.Generator,
) -> VehicleRollouts:
    robot, nu = system.robot, len(system.controls)
    if controller is None:
        controller = np.clip(np.zeros(nu), *system.control_limits)
    command = command_of(controller, Commanded(robot, system.controls, len(system.states)), times)
    states = initial_states(system, states0)
    series = None if states.ndim == 1 else np.zeros((len(states), 1, robot.nv))
    begin = start(robot, q0, v0, theta, command, series)
    n = len(begin.q)
    check_memory(len(times), n * (robot.nq + robot.nv + states.shape[-1] + nu))
    noun = f"controls ({', '.join(system.controls)})"
    inputs = SystemInputs(command, len(times) - 1, n if begin.many else None, system.controls, noun=noun)
    states = np.array(np.broadcast_to(states, (n, states.shape[-1])))
    return VehicleRollouts(system, times, begin, inputs, states, seed)


def _world(
    robot: Robot, ground: Any, contacts: Any, end_stops: bool | None, method: str | None
) -> World | None:
    """The contacts and end stops of the simulation; None where it is smooth."""
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
    """Former name of `simulate` on level ground."""
    warn_renamed("simulate_contacts", "simulate(..., ground=hc.Ground(...), contacts=[...])")
    ground = Ground(restitution=restitution)
    return simulate(robot, *arguments, ground=ground, contacts=contacts, **options)
