"""Closed loops of any controller with `step`, one after the other: model predictive control, your own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.following import Following
from helicoid.control.laws.step import CompiledLaw
from helicoid.errors import InputError
from helicoid.mpc.controller import Controller
from helicoid.simulation import SimulationError, simulate
from helicoid.simulation.inputs.controllers import Commanded, SteppedController, is_observer
from helicoid.study.cases import Case
from helicoid.study.distributions import code_digest
from helicoid.study.loops.loop_settings import Episode, LoopSettings, drawn_noise
from helicoid.study.loops.measures import Loops, Measure

Targets = Callable[[float], Mapping[str, ArrayLike]]


@dataclass(frozen=True, eq=False)
class SingleLoop:
    """An episode for `Study`; see `closed_loop`."""

    controller: Any
    settings: LoopSettings
    targets: Targets | None
    measure: Measure

    batch = False

    def __post_init__(self) -> None:
        period = getattr(self.controller, "period", None)
        if period is not None and abs(period - self.settings.period) > 1e-9:
            raise InputError(
                f"the controller's period is {period:g} s, the loop's {self.settings.period:g} s: make them "
                "equal with closed_loop(..., period=...)"
            )

    @property
    def described(self) -> dict[str, Any]:
        """Settings of the loop for the record of a study."""
        return {
            **self.settings.described,
            "controller": type(self.controller).__name__,
            "targets": None if self.targets is None else code_digest(self.targets),
        }

    def __call__(self, case: Case) -> dict[str, float]:
        loops = self._run(case)
        found = {name: np.asarray(x)[0] for name, x in self.measure(loops).items()}
        if case.replaying:
            case.keep(trajectory=loops.trajectory(0))
        return found

    def _run(self, case: Case) -> Loops:
        s = self.settings
        episode, times = s.of(case), s.times
        controller = fresh(self.controller)
        if episode.numbers:
            controller.set(**episode.numbers)
        noise = drawn_noise(case, episode, len(times) - 1)
        loop = _MeasuredController(controller, self.targets, s, episode, noise)
        options: dict[str, Any] = {"states0": episode.states0, "seed": case.rng}
        if s.system is None:
            options = {"method": None if s.world else s.method, "friction": s.friction, "saturate": True}
        theta = episode.theta if len(episode.theta) else None
        options |= {"substeps": s.substeps, "theta": theta, "progress": False, **s.world}
        try:
            moved = simulate(s.plant, episode.q0, episode.v0, s.duration, loop, s.period, **options)
        except SimulationError as error:
            moved = error.trajectory
        tau = moved.controls if s.system is not None else moved.tau
        q, v, tau = (_completed(x, len(times))[None] for x in (moved.q, moved.v, tau))
        states = _completed(moved.states, len(times))[None] if s.n_states else None
        trouble = np.array([loop.trouble / max(len(times) - 1, 1)])
        return Loops(s, times, q, v, tau, episode.theta[None], trouble, {}, states)


class _MeasuredController:
    """A controller as a callable `(t, q, v, ...)` whose sensors have noise and delay."""

    def __init__(
        self,
        controller: Any,
        targets: Targets | None,
        settings: LoopSettings,
        episode: Episode,
        noise: Mapping[str, Array],
    ) -> None:
        self._controller, self._targets, self._noise, self._delay = controller, targets, noise, episode.delay
        self._robot, self._period = settings.robot, settings.period
        limit = settings.robot.limits.effort if settings.system is None else None
        options = {"friction": settings.friction}
        system = Commanded(
            settings.robot, settings.command_names, settings.n_states, limit, options, episode.theta
        )
        self._n = len(settings.command_names)
        self._command = SteppedController(controller, system, settings.period)
        self._history: list[tuple[Array, Array]] = []
        self.trouble = 0

    def __call__(self, t: float, q: Array, v: Array, *states: Array) -> Any:
        k = len(self._history)
        self._history.append((q, v))
        if self._targets is not None:
            self._controller.set(**self._targets(t))
        q, v = self._history[max(0, k - self._delay)]
        q, v = np.asarray(self._robot.integrate(q, self._noise["q"][k])), v + self._noise["v"][k]
        command = self._command(t, q, v, *states)
        self.trouble += not getattr(self._controller, "ok", True)
        return np.zeros(self._n) if is_observer(self._controller) else command


def _completed(rows: Array, n: int) -> Array:
    """The rows (n, ...); those after a divergence are NaN."""
    return np.concatenate([rows, np.full((n - len(rows), *rows.shape[1:]), np.nan)])


def fresh(controller: Any) -> Any:
    """A copy of the controller as it was before its first step; its numbers stay.

    >>> import helicoid as hc
    >>> law = hc.control.JointImpedance(hc.load("planar_2r"), 100.0, 20.0)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.3])
    >>> str(fresh(law).status), str(law.status)
    ('not started', 'ok')
    """
    if isinstance(controller, Following):
        again = copy.copy(controller)
        again.controller = fresh(controller.controller)
        again.reset()
        return again
    if isinstance(controller, CompiledLaw):
        law = copy.copy(controller)  # a step replaces its memory and changes nothing in place
        law.reset()
        return law
    if isinstance(controller, Controller):
        return copy.copy(controller)  # with the same compiled problem, and its own loop
    return copy.deepcopy(controller)
