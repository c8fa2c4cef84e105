"""Closed loops of any controller with `step`, one after the other: model predictive control, your own."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.control.following import Following
from helicoid.control.laws.step import CompiledLaw
from helicoid.errors import InputError
from helicoid.mpc.loop.controller import Controller
from helicoid.robot import Robot
from helicoid.simulation import SimulationError, simulate
from helicoid.simulation.inputs.stepped import Commanded, SteppedController, Targets
from helicoid.study.cases import Case
from helicoid.study.fingerprint import fingerprint
from helicoid.study.loops.loop_settings import LoopSettings, drawn_noise
from helicoid.study.loops.measures import Loops, Measure


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

    @cached_property
    def reference(self) -> dict[str, Array]:
        """References at the sampling times, (N + 1, ...) each; the only posture target is also `q_ref`.

        Empty where the controller follows none, or one that fails: then its steps are not ok.
        """
        if not isinstance(self.controller, Following):
            return {}
        try:
            rows = self.controller.samples(self.settings.times)
        except Exception:  # of the user's callable
            return {}
        names = getattr(self.controller.controller, "postures", ())
        postures = [
            x for name, x in rows.items() if name in names and x.shape[1:] == (self.settings.robot.nq,)
        ]
        return {"q_ref": postures[0], **rows} if len(postures) == 1 else rows

    @property
    def described(self) -> dict[str, Any]:
        """Settings of the loop for the record of a study."""
        return {
            **self.settings.described,
            "controller": type(self.controller).__name__,
            "targets": None if self.targets is None else fingerprint(self.targets),
            "reference": {name: float(np.sum(rows)) for name, rows in self.reference.items()},
        }

    def __call__(self, case: Case) -> dict[str, float]:
        loops = self._run(case)
        found = {name: np.asarray(x)[0] for name, x in self.measure(loops).items()}
        if case.replaying:
            case.keep(trajectory=loops.trajectory(0), reference=self.reference)
        return found

    def _run(self, case: Case) -> Loops:
        s = self.settings
        episode, times = s.of(case), s.times
        controller = fresh(self.controller)
        if episode.numbers:
            controller.set(**episode.numbers)
        sensors = _Sensors(s.robot, drawn_noise(case, episode, len(times) - 1), episode.delay)
        limit = s.robot.limits.effort if s.system is None else None
        friction = {"friction": s.friction}
        system = Commanded(s.robot, s.command_names, s.n_states, limit, friction, episode.theta)
        loop = SteppedController(controller, system, s.period, sensors, self.targets)
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
        trouble = np.array([loop.n_not_ok / max(len(times) - 1, 1)])
        return Loops(s, times, q, v, tau, episode.theta[None], trouble, self.reference, states)


class _Sensors:
    """Measurements of the true state with the noise (steps, nv) and the delay (periods) of an episode."""

    def __init__(self, robot: Robot, noise: Mapping[str, Array], delay: int) -> None:
        self._robot, self._noise, self._delay = robot, noise, delay
        self._history: list[tuple[Array, Array]] = []

    def __call__(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        k = len(self._history)
        self._history.append((q, v))
        q, v = self._history[max(0, k - self._delay)]
        return np.asarray(self._robot.integrate(q, self._noise["q"][k])), v + self._noise["v"][k], tau


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
