"""Rollouts of a robot in MuJoCo: inputs, laws, observers and trajectory as of Helicoid's own engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Output, from_row_major
from helicoid.dynamics.kinematics.frames import jacobian
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.engines.mujoco.coordinates import Coordinates
from helicoid.simulation.engines.mujoco.loop import (
    CompiledLoop,
    LoopArrays,
    LoopFunctions,
    PythonLoop,
)
from helicoid.simulation.engines.mujoco.plant import MujocoWorld, mujoco_plant
from helicoid.simulation.inputs.forces import SystemInputs
from helicoid.simulation.inputs.laws import LawInStep, forget_oldest, saturated
from helicoid.simulation.inputs.start import Start
from helicoid.simulation.rollouts import RobotRollouts
from helicoid.simulation.running import Advance
from helicoid.simulation.trajectory import Trajectory

METHOD = "mujoco"
"""The method that a trajectory of MuJoCo states."""


class MujocoRollouts(RobotRollouts):
    """Rollouts that MuJoCo steps."""

    def __init__(
        self,
        robot: Robot,
        times: Array,
        begin: Start,
        inputs: SystemInputs,
        options: dict[str, Any],
        observer: Any,
        world: MujocoWorld,
        method: str | None,
    ) -> None:
        super().__init__(robot, times, begin, inputs, METHOD, options, observer)
        if len(begin.theta) > 1:
            raise InputError("engine='mujoco' moves all rollouts of a batch with one theta, of size (n,)")
        self._world, self._integrator = world, method

    def stepping(self, substeps: int) -> Advance:
        """Steps of MuJoCo, `substeps` from one row to the next."""
        self._substeps = substeps
        robot, inputs, times = self.robot, self.inputs, self.times
        rows, rollouts = self.q.shape[:2]
        step = (float(times[1]) if len(times) > 1 else 1e-3) / substeps
        start = _start(robot, self.q[0], self.v[0])
        plant = mujoco_plant(
            robot, self._world, step, start[0][0], self._integrator, self._options, self.theta[0]
        )
        self._plant = plant
        law = None
        if inputs.law is not None:
            law = LawInStep(inputs.law, Input("tau", (robot.nv,)), inputs.law.every > 1)
        functions = _functions(robot, plant.coordinates, law, inputs.limit, self._options, inputs.wrenches)
        given: list[Array] = [inputs.net]
        states: list[Array] = []
        if law is not None:
            given = [inputs.disturbance, *law.input_arrays(times, 1)]
            states = law.state_arrays(1, rollouts)
            states[0] = np.zeros((rows + 1, rollouts, robot.nv))
        wanted = not self._many or bool(self._world.grounds)
        slots = len(plant.contact_names) if wanted else 0
        self._recorded = LoopArrays(
            self.q,
            self.v,
            tuple(states),
            tuple(np.ascontiguousarray(one) for one in (*given, *inputs.wrenches.values())),
            np.zeros((rows, rollouts, plant.model.nv)),
            np.zeros((rows, rollouts, 6 * slots)),
            np.zeros((rows, rollouts, 1)),
        )
        arguments = plant.model, self._recorded, start, plant.slot, substeps
        library = functions.library(slots)
        loop = PythonLoop(functions, *arguments) if library is None else CompiledLoop(library, *arguments)
        return self.sampling(loop.run if law is None else lambda a, b: self._with_law(loop, a, b))

    def _with_law(self, loop: CompiledLoop | PythonLoop, first: int, last: int) -> None:
        """Compute rows, and record the commands of the law."""
        loop.run(first, last)
        inputs, states = self.inputs, self._recorded.states
        inputs.fill(first, states[0][first + 1 : last + 1], self.times, self.v)
        law = inputs.law
        ended = last == len(self.times) - 1 and not self._many and np.all(np.isfinite(self.v[last]))
        if law is not None and law.at_end is not None and ended:
            law.at_end(states[1][0, 0] if law.memory_size else np.zeros(0), self.q[last, 0], self.v[last, 0])

    def trajectory(self, n: int) -> Trajectory:
        """The first n rows; accelerations and contact forces are MuJoCo's."""
        made, x = super().trajectory(n), self._recorded
        flat = [one[:n].reshape(-1, one.shape[-1]) for one in (self.q, self.v, x.qacc)]
        a = np.asarray(_acceleration(self.robot, self._plant.coordinates)(*flat))
        made.known["a"] = self._public(a.reshape(n, -1, self.robot.nv), n)
        slots = x.contacts.shape[2] // 6
        if slots:
            made.contact_names, made.grounds = self._plant.contact_names, self._world.grounds
            if n > 1:
                x.contacts[n - 1], x.depth[n - 1] = x.contacts[n - 2], x.depth[n - 2]
            record = x.contacts[:n].reshape(n, -1, slots, 6)
            known = {"contact_forces": record[..., :3], "contact_points": record[..., 3:]}
            known["penetration"] = x.depth[:n, :, 0]
            made.known |= {
                name: np.moveaxis(one, 1, 0) if self._many else one[:, 0] for name, one in known.items()
            }
        return made

    def _remedy(self, k: int, rollout: int) -> str:
        return "Substeps (shorter steps of MuJoCo) or weaker gains may help"


def _dense(x: Expression) -> ca.SX:
    """The expression with its structural zeros as numbers."""
    return ca.SX(ca.densify(x))


def _start(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """qpos and qvel of the initial states."""
    coordinates = Coordinates.of(robot)

    def made() -> ca.Function:
        x, y = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
        return ca.Function("start", [x, y], [_dense(coordinates.qpos(x)), _dense(coordinates.qvel(x, y))])

    found = robot.memo("start in mujoco", made).map(len(q))(q.T, v.T)
    return np.array(found[0]).T, np.array(found[1]).T


def _acceleration(robot: Robot, coordinates: Coordinates) -> Function:
    def made() -> Function:
        sizes = {"q": robot.nq, "v": robot.nv, "qacc": coordinates.nv}
        inputs = [Input(name, (n,)) for name, n in sizes.items()]

        def expressions() -> Expressions:
            x = [ca.SX.sym(name, n) for name, n in sizes.items()]
            return x, [_dense(coordinates.acceleration(*x))]

        return Function("acceleration", inputs, [Output("a", (robot.nv,))], expressions)

    return robot.memo("acceleration in mujoco", made)


def _functions(
    robot: Robot,
    coordinates: Coordinates,
    law: LawInStep | None,
    limit: Array | None,
    options: Mapping[str, Any],
    wrenches: Mapping[str, Array],
) -> LoopFunctions:
    """The functions around a step, cached."""
    cached: dict[Any, LoopFunctions] = robot.memo("loops in mujoco", dict)
    framed = str(options.get("expressed_in", "body"))
    key = law and (law.key, limit is not None), tuple(wrenches), framed
    if key not in cached:
        forget_oldest(cached)
        before = _before(robot, coordinates, law, limit, tuple(wrenches), framed)
        cached[key] = LoopFunctions(before, _after(robot, coordinates), 0 if law is None else len(law.states))
    return cached[key]


def _before(
    robot: Robot,
    coordinates: Coordinates,
    law: LawInStep | None,
    limit: Array | None,
    links: tuple[str, ...],
    framed: str,
) -> Function:
    """(q, v, states of the law, net torque or disturbance, its inputs, wrenches) -> (qfrc, next states)."""
    states = [] if law is None else law.states
    own = [Input("net", (robot.nv,))]
    if law is not None:
        own = [Input("disturbance", (robot.nv,)), *law.inputs]
    acting = [Input(f"wrench_{number}", (6,)) for number in range(len(links))]
    shaped = [Input("q", (robot.nq,)), Input("v", (robot.nv,)), *states, *own, *acting]
    inputs = [Input(one.name, (int(np.prod(one.shape, initial=1)),)) for one in shaped]
    outputs = [Output("qfrc", (coordinates.nv,))]
    outputs += [Output(f"{one.name}_next", (int(np.prod(one.shape, initial=1)),)) for one in states]

    def expressions() -> Expressions:
        columns = [ca.SX.sym(one.name, *one.shape) for one in inputs]
        x = {one.name: from_row_major(column, one.shape) for one, column in zip(shaped, columns, strict=True)}
        following: list[Expression] = []
        if law is None:
            tau = x["net"]
        else:
            wanted, following = law.evaluate(x)
            tau = saturated(wanted, limit) + x["disturbance"]
        reference: Literal["body", "world_aligned"] = "body" if framed == "body" else "world_aligned"
        for number, link in enumerate(links):
            J = jacobian(robot.model, x["q"], link, reference)
            tau = tau + J.T @ x[f"wrench_{number}"]
        found = [coordinates.qfrc(x["q"], tau), *following]
        return columns, [_dense(ca.vec(one)) for one in found]

    return Function("before_step", inputs, outputs, expressions)


def _after(robot: Robot, coordinates: Coordinates) -> Function:
    """(qpos, qvel) -> (q, v)."""
    inputs = [Input("qpos", (coordinates.nq,)), Input("qvel", (coordinates.nv,))]
    outputs = [Output("q", (robot.nq,)), Output("v", (robot.nv,))]

    def expressions() -> Expressions:
        qpos, qvel = ca.SX.sym("qpos", coordinates.nq), ca.SX.sym("qvel", coordinates.nv)
        return [qpos, qvel], [_dense(one) for one in coordinates.state(qpos, qvel)]

    return Function("after_step", inputs, outputs, expressions)
