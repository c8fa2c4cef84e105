"""Simulate a machine: all rollouts side by side in compiled code, its law of control included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Iteration, Output
from helicoid.errors import InputError
from helicoid.progress import Progress
from helicoid.simulation.equations.actuated import (
    ActuatedSystem as Machine,
)
from helicoid.simulation.equations.actuated import (
    actuated_step_function as _step,
)
from helicoid.simulation.equations.actuated import (
    clipped,
    force_function,
    rk4_step,
)
from helicoid.simulation.inputs.forces import NotFinite, numbers
from helicoid.simulation.inputs.laws import LoopLaw
from helicoid.simulation.inputs.start import check_memory, sampling_times, start
from helicoid.simulation.machines.laws import Feedback, steering
from helicoid.simulation.running import Advance, run
from helicoid.simulation.trajectory import Motion, Trajectory


class Flight:
    """Arrays (N + 1, rollouts, n) of q, v, z and u while they are computed; row k + 1 of u acted from k on,
    and there is one more of them for the end."""

    def __init__(
        self,
        machine: Machine,
        times: Array,
        q0: ArrayLike | None,
        v0: ArrayLike | None,
        z0: ArrayLike | None,
        theta: ArrayLike | None,
        controller: Any,
        seed: int | np.random.Generator,
    ) -> None:
        robot = machine.robot
        self.machine, self.times, self.n_steps = machine, times, len(times) - 1
        steered = steering(controller, machine, times)
        rows = steered if isinstance(steered, np.ndarray) else None
        series = rows[..., :1] * np.zeros(robot.nv) if rows is not None and rows.ndim == 3 else None
        z = _states(machine, z0)
        length = None if z.ndim == 1 else np.zeros((len(z), 1, robot.nv))
        begin = start(robot, q0, v0, theta, series, length)
        self.many, n = begin.many, len(begin.q)
        nz, nu = len(machine.states), len(machine.controls)
        check_memory(len(times), n * (robot.nq + robot.nv + nz + nu))
        shapes = (robot.nq, robot.nv, nz)
        self.q, self.v, self.z = (np.zeros((len(times), n, size)) for size in shapes)
        self.held = np.zeros((len(times) + 1, n, nu))
        self.u = self.held[:-1]
        self.q[0], self.v[0], self.z[0], self.theta = begin.q, begin.v, z, begin.theta[None]
        rng = np.random.default_rng(seed)
        dt = float(times[1]) if self.n_steps else 1.0
        self.noise = rng.normal(size=(max(self.n_steps, 1), n, machine.n_noise)) / np.sqrt(dt)
        self.steered: LoopLaw | Feedback | Array = steered if rows is None else self._rows(rows)

    def _rows(self, given: Array) -> Array:
        """Numbers of controls as (steps or 1, rollouts or 1, nu)."""
        nu, n, steps = len(self.machine.controls), self.q.shape[1], max(self.n_steps, 1)
        if not np.isfinite(given).all():
            raise InputError("controls have entries that are not finite")
        if given.shape == (nu,):
            return given.reshape(1, 1, nu)
        if given.ndim == 2 and given.shape[1] == nu and len(given) in (steps, steps + 1):
            return np.ascontiguousarray(given[:steps, None, :])
        if given.ndim == 3 and given.shape[::2] == (n, nu) and given.shape[1] in (steps, steps + 1):
            return np.ascontiguousarray(given[:, :steps].transpose(1, 0, 2))
        raise InputError(
            f"controls ({', '.join(self.machine.controls)}) have shape ({nu},) to stay constant, or "
            f"({steps}, {nu}) for each step; got {given.shape}"
        )

    def advance(self, dt: float, substeps: int) -> tuple[Advance, bool]:
        """What computes rows, and whether that must go one by one."""
        steered = self.steered
        if isinstance(steered, LoopLaw):
            return self._with_law(steered, dt, substeps), False
        step = _step(self.machine)
        states = [x for x in (self.q, self.v, self.z) if x.shape[-1]]
        u = np.zeros((max(self.n_steps, 1), *self.u.shape[1:])) if callable(steered) else steered
        inputs = [u, *self._given(), np.full((1, 1), dt / substeps)]
        loop = Iteration(step, states, inputs, substeps)
        if not callable(steered):
            self.u[1:] = u
            return loop.run, False

        def sampled(k: int, last: int) -> None:
            u[k] = self._asked(steered, k)
            self.u[k + 1] = u[k]
            loop.run(k, last)

        return sampled, True

    def _asked(self, feedback: Feedback, k: int) -> Array:
        state = [x[k] if self.many else x[k, 0] for x in (self.q, self.v, self.z)]
        t, wanted = float(self.times[k]), self.u.shape[1:] if self.many else self.u.shape[2:]
        answer = numbers(
            "controller must return", feedback(t, *(x.copy() for x in state)), t, wanted, wanted[-1:]
        )
        if not np.isfinite(answer).all():
            raise NotFinite(f"controller must return finite numbers; at {t:g} s it gave {answer}", k)
        return answer

    def _given(self) -> list[Array]:
        """Noise and θ, where there are any."""
        return [x for x in (self.noise, self.theta) if x.shape[-1]]

    def _with_law(self, law: LoopLaw, dt: float, substeps: int) -> Advance:
        step = _step_with_law(self.machine, law, substeps > 1)
        n = self.q.shape[1]
        states = [x for x in (self.q, self.v, self.z, self.u) if x.shape[-1]]
        if law.memory.size:
            memory = np.zeros((len(self.times), n, *law.memory.shape))
            memory[0] = law.memory
            states.append(memory)
        numbers_ = [self.times[:, None]] if any(x.name == "t" for x in law.function.inputs) else []
        rows = [law.rows[x.name][:, None] for x in law.function.inputs if x.name in law.rows]
        if substeps > 1:
            states.append(np.zeros((len(self.times), n)))
            rows.append(np.array([[float(substeps)]]))
        inputs = [*numbers_, *rows, *self._given(), np.full((1, 1), dt / substeps)]
        return Iteration(step, states, [np.ascontiguousarray(x) for x in inputs], substeps).run

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows as the user gets them."""
        machine, robot = self.machine, self.machine.robot
        self.held[n] = self.held[n - 1]
        rows = [self.q[:n], self.v[:n], self.z[:n], self.held[1 : n + 1]]
        flat = [x.reshape(-1, x.shape[-1]) for x in rows if x.shape[-1]]
        force = np.asarray(force_function(machine)(*flat)).reshape(*self.v[:n].shape)
        q, v, z, u, tau = (self._public(x) for x in (*rows, force))
        theta = self.theta[0] if self.many else self.theta[0, :1]
        inputs = {"tau": tau, "theta": theta[:, None, :] if self.many else theta}
        motion = Motion(robot, inputs, "rk4", {"friction": True})
        known = {"controls": u, "states": z}
        return Trajectory(self.times[:n], q, v, tau, robot, motion=motion, known=known)

    def _public(self, rows: Array) -> Array:
        """The same numbers by rollouts, where they are: to copy a batch takes as long as to compute it."""
        return rows.transpose(1, 0, 2) if self.many else rows[:, 0]


def simulate_machine(
    machine: Machine,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    duration: float,
    controller: Any,
    dt: float,
    substeps: int,
    states0: ArrayLike | None,
    theta: ArrayLike | None,
    seed: int | np.random.Generator,
    progress: Progress | bool | None,
) -> tuple[Flight, int, str]:
    """Fly; the flight, the number of good rows, and what ended it before its time, if anything did."""
    times = sampling_times(duration, dt, machine.robot.nq + machine.robot.nv)
    flight = Flight(machine, times, q0, v0, states0, theta, controller, seed)
    advance, one_by_one = flight.advance(dt, substeps)
    try:
        return flight, run(len(times) - 1, advance, flight.v, one_by_one, progress), ""
    except NotFinite as error:
        return flight, error.row + 1, str(error)


def _states(machine: Machine, given: ArrayLike | None) -> Array:
    z = np.asarray(machine.start() if given is None else given, dtype=np.float64)
    size = len(machine.states)
    if z.ndim not in (1, 2) or z.shape[-1] != size or not np.isfinite(z).all():
        raise InputError(
            f"states0 are {size} finite numbers ({', '.join(machine.states) or 'none'}), or (B, {size}); got "
            f"shape {z.shape}"
        )
    return z


# Functions ----------------------------------------------------------------------------------------------


def _step_with_law(machine: Machine, law: LoopLaw, held: bool) -> Function:
    """`(q, v, [states], u, [memory], [count], ...)` -> the same one step later; the law is asked first.

    Where a sampling time has several steps, `count` is the number done of them: u is kept until all are.
    """
    states = _present([*_state_inputs(machine), Input("u", (len(machine.controls),))])
    states += [Input("memory", law.memory.shape)] if law.memory.size else []
    states += [Input("count", ())] if held else []
    further = [x for x in law.function.inputs if x.name in law.rows or x.name == "t"]
    further.sort(key=lambda item: item.name != "t")
    total = [Input("substeps", ())] if held else []
    inputs = [*states, *further, *total, *_given_inputs(machine), Input("dt", ())]

    def expressions() -> Expressions:
        x = _symbols(inputs)
        known = {**x, "states": x.get("states", ca.SX(0, 1)), "memory": x.get("memory", ca.SX(0, 1))}
        results = law.function.casadi.call([known[item.name] for item in law.function.inputs], True, False)
        names = [item.name for item in law.function.outputs]
        u = results[law.which]
        memory = results[names.index("memory_next")] if law.memory.size else None
        begins = x["count"] < 0.5 if held else None
        if begins is not None:
            u = ca.if_else(begins, u, x["u"])
            memory = None if memory is None else ca.if_else(begins, memory, x["memory"])
        following = [*_following(machine, x, u), u]
        following += [] if memory is None else [memory]
        if held:
            following.append(ca.if_else(x["count"] + 1.5 > x["substeps"], 0, x["count"] + 1))
        return list(x.values()), following

    outputs = [Output(f"{item.name}_next", item.shape) for item in states]
    kept: dict[Any, Function] = machine.robot.memo("loops of machines", dict)
    key = machine, law.function, tuple(law.rows), held
    if key not in kept:
        while len(kept) >= 8:  # a program may make a new law again and again
            del kept[next(iter(kept))]
        kept[key] = Function("rk4_step_with_law", inputs, outputs, expressions)
    return kept[key]


def _following(machine: Machine, x: dict[str, Expression], u: Expression) -> list[Expression]:
    q, v, z, _ = _all(x)
    noise, theta = x.get("noise", ca.SX(0, 1)), x.get("theta", ca.SX(0, 1))
    q, v, z = rk4_step(machine, (q, v, z), clipped(machine, u), noise, theta, x["dt"])
    return [q, v, z] if machine.states else [q, v]


def _all(x: dict[str, Expression]) -> tuple[Expression, Expression, Expression, Expression]:
    return x["q"], x["v"], x.get("states", ca.SX(0, 1)), x.get("u", ca.SX(0, 1))


def _state_inputs(machine: Machine) -> list[Input]:
    robot = machine.robot
    return [Input("q", (robot.nq,)), Input("v", (robot.nv,)), Input("states", (len(machine.states),))]


def _given_inputs(machine: Machine) -> list[Input]:
    return _present([Input("noise", (machine.n_noise,)), Input("theta", (len(machine.robot.theta),))])


def _present(inputs: Sequence[Input]) -> list[Input]:
    return [item for item in inputs if item.shape != (0,)]


def _symbols(inputs: Sequence[Input]) -> dict[str, Expression]:
    return {item.name: ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in inputs}
