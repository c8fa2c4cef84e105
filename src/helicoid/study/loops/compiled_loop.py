"""Closed loops of a law of control, many side by side: law, sensors, delay and plant in one compiled step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Function, Input, Iteration, Output
from helicoid.control.laws.step import Step
from helicoid.errors import InputError
from helicoid.simulation.equations import step_function
from helicoid.study.cases import Cases
from helicoid.study.loops.loop_settings import LoopSettings, OneLoop, drawn_noise
from helicoid.study.loops.measures import Loops, Measure

SIDE_BY_SIDE = 128  # loops in one call: enough for all lanes, and their histories stay some 20 MB
_WINDOW = 100  # steps between two copies of what is not kept over time

_DEFAULTS = {"axes": np.eye(3)}


@dataclass(frozen=True, eq=False)
class CompiledLoop:
    """An episode for `Study` with batch=True; see `closed_loop`."""

    law: Step
    settings: LoopSettings
    reference: Mapping[str, Array]
    measure: Measure
    _made: dict[str, Function] = field(default_factory=dict, repr=False)

    batch = True

    def __post_init__(self) -> None:
        robot = self.settings.robot
        if self.law.robot.nq != robot.nq or self.law.robot.nv != robot.nv:
            raise InputError(
                f"the law is of a robot with {self.law.robot.nv} velocities, the plant has {robot.nv}"
            )
        self._reference_inputs()

    @property
    def described(self) -> dict[str, Any]:
        """For the record of a study."""
        return {
            **self.settings.described,
            "law": type(self.law).__name__,
            "numbers": self.law._values.tolist(),
            "reference": {name: float(np.sum(rows)) for name, rows in self.reference.items()},
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, cases: Cases) -> dict[str, Any]:
        n = len(cases)
        results: list[Mapping[str, Any]] = []
        for first in range(0, n, SIDE_BY_SIDE):
            part = cases[first : first + SIDE_BY_SIDE]
            alone = len(part) == 1  # one alone would take code for one sample
            loops = self._run(part.chosen([0, 0]) if alone else part)
            found = self.measure(loops)
            results.append({name: np.asarray(x)[: len(part)] for name, x in found.items()})
            if first == 0 and cases.replaying:
                cases.keep(trajectory=loops.trajectory(0), reference=self.reference)
        return {name: np.concatenate([one[name] for one in results]) for name in results[0]}

    # ------------------------------------------------------------------------------------------------

    def _run(self, cases: Cases) -> Loops:
        settings, robot = self.settings, self.settings.robot
        loops = [settings.of(case) for case in cases]
        times, n = settings.times, len(cases)
        steps = len(times) - 1
        q, v = (np.empty((steps + 1, n, size)) for size in (robot.nq, robot.nv))
        tau = np.zeros((steps + 1, n, robot.nv))
        q[0], v[0] = [one.q0 for one in loops], [one.v0 for one in loops]
        inputs = self._inputs(cases, loops, steps)
        function = self._function()
        carried = [
            np.zeros((_WINDOW + 1, n, *item.shape)) for item in function.inputs[3 : len(function.outputs)]
        ]
        carried[0][0] = self.law._start
        if len(carried) > 2:
            carried[2][0] = np.tile(np.concatenate([q[0], v[0]], axis=1), (1, settings.longest_delay))
        for first in range(0, steps, _WINDOW):
            last = min(first + _WINDOW, steps)
            kept = [x[first : last + 1] for x in (q, v, tau)]
            windows = [x[: last - first + 1] for x in carried]
            rows = [x if len(x) == 1 else x[first:last] for x in inputs]
            Iteration(function, [*kept, *windows], rows).run(0, last - first)
            for x in carried:
                x[0] = x[last - first]
        trouble = carried[1][0] / max(steps, 1)
        return self._loops(times, q, v, tau, loops, trouble)

    def _loops(
        self, times: Array, q: Array, v: Array, tau: Array, loops: Sequence[OneLoop], trouble: Array
    ) -> Loops:
        q, v = (np.ascontiguousarray(x.transpose(1, 0, 2)) for x in (q, v))
        # The row after a step holds the torque that acted in it.
        torque = np.ascontiguousarray(np.concatenate([tau[1:], tau[-1:]]).transpose(1, 0, 2))
        theta = np.array([one.theta for one in loops])
        known, s = self.reference, self.settings
        return Loops(s.robot, times, q, v, torque, theta, trouble, known, s.method, s.friction)

    def _inputs(self, cases: Cases, loops: Sequence[OneLoop], steps: int) -> list[Array]:
        """Rows of all inputs after the states: noise, references, numbers, θ, delay, dt."""
        n, nv = len(cases), self.settings.robot.nv
        noisy = any(np.any(one.noise["q"]) or np.any(one.noise["v"]) for one in loops)
        noise = np.zeros((steps if noisy else 1, n if noisy else 1, 2 * nv))
        if noisy:
            for k, (case, one) in enumerate(zip(cases, loops, strict=True)):
                drawn = drawn_noise(case, one, steps)
                noise[:, k, :nv], noise[:, k, nv:] = drawn["q"], drawn["v"]
        references = [
            np.ascontiguousarray(rows[:steps, None] if len(rows) > 1 else rows[:, None])
            for rows in self._reference_inputs().values()
        ]
        numbers = np.array([self._numbers(one) for one in loops])[None]
        theta = np.array([one.theta for one in loops])[None]
        late = np.zeros((1, n, self.settings.longest_delay + 1))
        late[0, np.arange(n), [one.delay for one in loops]] = 1.0
        dt = np.full((1, 1), self.settings.period / self.settings.substeps)
        return [noise, *references, numbers, theta, *([late] if late.shape[2] > 1 else []), dt]

    def _numbers(self, one: OneLoop) -> Array:
        if not one.numbers:
            return self.law._values
        before = self.law._values
        try:
            self.law.set(**one.numbers)
            return self.law._values
        finally:
            self.law._values = before

    def _reference_inputs(self) -> dict[str, Array]:
        """What the law takes beside q, v, numbers and memory, as rows (N + 1 or 1, ...)."""
        result, known = {}, dict(self.reference)
        if "wrench_ref" in known:
            known.setdefault("wrench", known["wrench_ref"])
        for item in self.law.function.inputs[2:-2]:
            if item.name in known:
                rows = known.pop(item.name)
                if rows.shape[1:] != item.shape:
                    raise InputError(
                        f"reference {item.name!r} has shape {rows.shape[1:]}; the law wants {item.shape}"
                    )
                result[item.name] = rows
            elif item.name in ("v_ref", "a_ref", "twist_ref"):
                result[item.name] = np.zeros((1, *item.shape))
            elif item.name == "q_posture":
                result[item.name] = self.law.robot.neutral()[None]
            elif item.name in _DEFAULTS:
                result[item.name] = _DEFAULTS[item.name][None]
            else:
                raise InputError(
                    f"{type(self.law).__name__} needs a reference {item.name!r}, of shape {item.shape}"
                )
        known.pop("wrench", None)
        if known:
            raise InputError(f"{type(self.law).__name__} has no reference {next(iter(known))!r}")
        return result

    def _function(self) -> Function:
        if "step" not in self._made:
            self._made["step"] = _loop_step(self.law, self.settings)
        return self._made["step"]


def _loop_step(law: Step, settings: LoopSettings) -> Function:
    """`(q, v, tau, memory, trouble, [line], noise, references..., numbers, theta, [late], dt)`, a step later.

    `line` are the states of the last periods, newest first; `late` is 1 at the delay that holds, else 0.
    """
    robot, D = settings.robot, settings.longest_delay
    bare = step_function(robot, settings.method, friction=settings.friction)
    theta = bare.inputs[3]
    m, nq, nv = robot.nq + robot.nv, robot.nq, robot.nv
    memory, numbers = law.function.inputs[-1], law.function.inputs[-2]
    states = [Input("q", (nq,)), Input("v", (nv,)), Input("tau", (nv,)), memory, Input("trouble", ())]
    states += [Input("line", (D * m,))] if D else []
    references = list(law.function.inputs[2:-2])
    inputs = [Input("noise", (2 * nv,)), *references, numbers, theta]
    inputs += [Input("late", (D + 1,))] if D else []
    inputs.append(Input("dt", ()))

    def expressions() -> tuple[list[Expression], list[Expression]]:
        x = {item.name: ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in (*states, *inputs)}
        now = ca.vertcat(x["q"], x["v"])
        seen = now
        if D:
            past = ca.reshape(x["line"], m, D)
            seen = now * x["late"][0] + past @ x["late"][1:]
        q_seen = robot.integrate(seen[:nq], x["noise"][:nv])
        v_seen = seen[nq:] + x["noise"][nv:]
        asked = [x[item.name] for item in references]
        told = law.function(q_seen, v_seen, *asked, x["numbers"], x["memory"])
        tau, kept, said = told[0], told[-2], told[-1]
        limit = np.minimum(robot.limits.effort, 1e300)
        given = ca.fmax(ca.fmin(tau, limit), -limit)
        q, v = x["q"], x["v"]
        for _ in range(settings.substeps):
            q, v = bare(q, v, given, x["theta"], x["dt"])
        after = [q, v, given, kept, x["trouble"] + (said[0] != 0)]
        after += [ca.vertcat(now, x["line"])[: D * m]] if D else []
        return list(x.values()), after

    outputs = [Output(f"{item.name}_next", item.shape) for item in states]
    return Function(f"{law.function.name}_loop", [*states, *inputs], outputs, expressions)
