"""Closed loops of a symbolic law, many side by side: law, sensors, delay and plant in one compiled step."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Function, Input, Output
from helicoid.simulation.equations import repeated, step_function
from helicoid.simulation.equations.actuated import actuated_step_function
from helicoid.simulation.inputs.laws import LawLoop, LoopLaw
from helicoid.study.cases import Cases
from helicoid.study.loops.loop_settings import Episode, LoopSettings, drawn_noise
from helicoid.study.loops.measures import Loops, Measure

SIDE_BY_SIDE = 128  # loops in one call: enough for all lanes, and their histories stay some 20 MB


@dataclass(frozen=True, eq=False)
class CompiledLoop:
    """An episode for `Study` with batch=True, of a law that has its reference; see `closed_loop`."""

    controller: Any
    settings: LoopSettings
    measure: Measure
    _made: dict[str, Function] = field(default_factory=dict, repr=False)

    batch = True

    def __post_init__(self) -> None:
        s = self.settings
        self.law.check(s.robot, s.n_states, s.command_names, len(s.times) - 1)

    @cached_property
    def law(self) -> LoopLaw:
        """The law with its references at the sampling times."""
        law: LoopLaw = self.controller.in_loop(self.settings.times)
        return law

    @property
    def _own(self) -> Any:
        """The law without its reference."""
        return getattr(self.controller, "controller", self.controller)

    @cached_property
    def reference(self) -> dict[str, Array]:
        """References at the sampling times, (N + 1, ...) each."""
        n = len(self.settings.times)
        names = [name for name in getattr(self._own, "references", ()) if name in self.law.rows]
        rows = {name: self.law.rows[name] for name in names}
        return {
            name: np.broadcast_to(x, (n, *x.shape[1:])) if len(x) == 1 else np.concatenate([x, x[-1:]])[:n]
            for name, x in rows.items()
        }

    @property
    def described(self) -> dict[str, Any]:
        """Settings of the loop for the record of a study."""
        return {
            **self.settings.described,
            "law": type(self._own).__name__,
            "numbers": self.law.rows["numbers"][0].tolist(),
            "reference": {name: float(np.sum(rows)) for name, rows in self.reference.items()},
        }

    def __getstate__(self) -> dict[str, Any]:
        kept = ("controller", "settings", "measure")
        return {**{name: self.__dict__[name] for name in kept}, "_made": {}}

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
        s, law = self.settings, self.law
        episodes = [s.of(case) for case in cases]
        times, n = s.times, len(cases)
        steps = len(times) - 1
        first = [np.array([getattr(one, name) for one in episodes]) for name in ("q0", "v0", "states0")]
        states = [np.empty((steps + 1, *x.shape)) for x in first if x.shape[1]]
        for array, row in zip(states, first, strict=False):
            array[0] = row
        rows = self._rows(cases, episodes, steps)
        history = np.tile(np.concatenate(first[:2], axis=1), (1, s.longest_delay))
        start = np.tile(law.memory, (n, 1)), np.zeros((n, 1)), history
        sensed = LoopLaw(self._function(), np.concatenate(start, axis=1), rows)
        theta = np.array([one.theta for one in episodes])
        others, limit = [theta[None]], None
        if s.system is None:
            step, limit = step_function(s.robot, s.method, friction=s.friction), s.robot.limits.effort
        else:
            step = actuated_step_function(s.system)
            gusts = [s.gusts(case, steps) for case in cases]
            others = [x for x in (np.stack(gusts, axis=1), theta[None]) if x.shape[-1]]
        step = repeated(s.robot, step, s.substeps)
        length = s.period / s.substeps
        loop = LawLoop(s.robot, step, sensed, states, others, times, limit=limit, length=length)
        loop.run(0, steps)
        trouble = loop.memory[:, law.memory_size] / max(steps, 1)
        return self._loops(times, states, loop.command[1:], episodes, trouble, limit)

    def _loops(
        self,
        times: Array,
        states: Sequence[Array],
        command: Array,
        episodes: Sequence[Episode],
        trouble: Array,
        limit: Array | None,
    ) -> Loops:
        s, theta = self.settings, np.array([one.theta for one in episodes])
        command[-1] = command[-2]
        if limit is not None:
            np.clip(command, -limit, limit, out=command)
        q, v, *z, tau = (np.ascontiguousarray(x.transpose(1, 0, 2)) for x in (*states, command))
        return Loops(s, times, q, v, tau, theta, trouble, self.reference, z[0] if z else None)

    def _rows(self, cases: Cases, episodes: Sequence[Episode], steps: int) -> dict[str, Array]:
        """Rows of the inputs of the sensed law, with the axis of loops second."""
        n, nv, D = len(cases), self.settings.robot.nv, self.settings.longest_delay
        noisy = any(np.any(one.noise["q"]) or np.any(one.noise["v"]) for one in episodes)
        noise = np.zeros((steps if noisy else 1, n if noisy else 1, 2 * nv))
        if noisy:
            for k, (case, one) in enumerate(zip(cases, episodes, strict=True)):
                drawn = drawn_noise(case, one, steps)
                noise[:, k, :nv], noise[:, k, nv:] = drawn["q"], drawn["v"]
        rows = {name: x[:steps, None] if len(x) > 1 else x[:, None] for name, x in self.law.rows.items()}
        if any(one.numbers for one in episodes):
            rows["numbers"] = np.stack([self._numbers(one)[:steps] for one in episodes], axis=1)
        late = np.zeros((1, n, D + 1))
        late[0, np.arange(n), [one.delay for one in episodes]] = 1.0
        return {"sensor_noise": noise, **rows, **({"late": late} if D else {})}

    def _numbers(self, episode: Episode) -> Array:
        """Numbers of the law in an episode, (1 or N, n)."""
        if not episode.numbers:
            return self.law.rows["numbers"]
        follower = copy.copy(self.controller)
        follower.controller = copy.copy(self._own)
        follower.set(**episode.numbers)
        if len(self.law.rows["numbers"]) == 1:
            return np.array(follower.controller._values[None])
        return np.asarray(follower.in_loop(self.settings.times).rows["numbers"])

    def _function(self) -> Function:
        if "law" not in self._made:
            self._made["law"] = _sensed_law(self.law, self.settings)
        return self._made["law"]


def _sensed_law(law: LoopLaw, settings: LoopSettings) -> Function:
    """The law of a state that sensors measure with noise and delay.

    Its memory is that of the law, the number of steps that were not ok, and the states of the last periods,
    newest first; `late` is 1 at the delay of the episode, else 0.
    """
    robot, D, f = settings.robot, settings.longest_delay, law.function
    m, nq, nv, n = robot.nq + robot.nv, robot.nq, robot.nv, law.memory_size
    measured = [item for item in f.inputs if item.name not in ("q", "v", "memory")]
    memory = Input("memory", (n + 1 + D * m,))
    inputs = [Input("q", (nq,)), Input("v", (nv,)), memory, Input("sensor_noise", (2 * nv,)), *measured]
    inputs += [Input("late", (D + 1,))] if D else []
    names = [item.name for item in f.outputs]

    def expressions() -> tuple[list[Expression], list[Expression]]:
        x = {item.name: ca.SX.sym(item.name, *(*item.shape, 1, 1)[:2]) for item in inputs}
        now, kept = ca.vertcat(x["q"], x["v"]), x["memory"]
        seen = now
        if D:
            seen = now * x["late"][0] + ca.reshape(kept[n + 1 :], m, D) @ x["late"][1:]
        state = {
            "q": robot.integrate(seen[:nq], x["sensor_noise"][:nv]),
            "v": seen[nq:] + x["sensor_noise"][nv:],
            "memory": kept[:n],
        }
        results = f.casadi.call([{**x, **state}[item.name] for item in f.inputs], True, False)
        after = results[names.index("memory_next")] if n else ca.SX(0, 1)
        wrong = results[names.index("status")][0] != 0 if "status" in names else 0
        history = ca.vertcat(now, kept[n + 1 :])[: D * m] if D else ca.SX(0, 1)
        following = ca.vertcat(after, kept[n] + wrong, history)
        return list(x.values()), [results[law.command], following]

    outputs = [Output(names[law.command], f.outputs[law.command].shape), Output("memory_next", memory.shape)]
    return Function(f"{f.name}_with_sensors", inputs, outputs, expressions)
