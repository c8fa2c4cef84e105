"""Closed loops of any controller with `step`, one after the other: model predictive control, your own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.laws.step import Step
from helicoid.errors import InputError
from helicoid.mpc.controller import Controller
from helicoid.mpc.loop.adaptive import Adaptive
from helicoid.simulation.plant import Plant
from helicoid.study.cases import Case
from helicoid.study.distributions import code_digest
from helicoid.study.loops.loop_settings import LoopSettings, OneLoop, drawn_noise
from helicoid.study.loops.measures import Loops, Measure


@dataclass(frozen=True, eq=False)
class SingleLoop:
    """An episode for `Study`; see `closed_loop`."""

    controller: Any
    settings: LoopSettings
    reference: Mapping[str, Array]
    targets: Callable[[float], Mapping[str, ArrayLike]] | None
    measure: Measure
    _plants: dict[bool, Plant] = field(default_factory=dict, repr=False)

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
        """For the record of a study."""
        return {
            **self.settings.described,
            "controller": type(self.controller).__name__,
            "targets": None if self.targets is None else code_digest(self.targets),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plants": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __call__(self, case: Case) -> dict[str, float]:
        loops = self._run(case)
        found = {name: np.asarray(x)[0] for name, x in self.measure(loops).items()}
        if case.replaying:
            case.keep(trajectory=loops.trajectory(0))
        return found

    def _run(self, case: Case) -> Loops:
        settings, robot = self.settings, self.settings.robot
        one = settings.of(case)
        times = settings.times
        steps = len(times) - 1
        plant, controller = self._plant(one), fresh(self.controller)
        if one.numbers:
            controller.set(**one.numbers)
        noise = drawn_noise(case, one, steps)
        q, v = np.empty((steps + 1, robot.nq)), np.empty((steps + 1, robot.nv))
        tau, trouble = np.zeros((steps + 1, robot.nv)), 0
        for k in range(steps):
            q[k], v[k] = plant.q, plant.v
            if self.targets is not None:
                controller.set(**self.targets(float(times[k])))
            late = max(0, k - one.delay)
            seen = np.asarray(robot.integrate(q[late], noise["q"][k])), v[late] + noise["v"][k]
            asked = {name: rows[k] for name, rows in self.reference.items()}
            wanted = (
                controller.step(*seen, plant.tau) if _learns(controller) else controller.step(*seen, **asked)
            )
            trouble += not getattr(controller, "ok", True)
            plant.apply(wanted)
            tau[k] = plant.tau
        q[-1], v[-1], tau[-1] = plant.q, plant.v, tau[max(0, steps - 1)]
        q, v, tau, theta = (x[None] for x in (q, v, tau, one.theta))
        share = np.array([trouble / max(steps, 1)])
        known, method = self.reference, settings.method
        return Loops(robot, times, q, v, tau, theta, share, known, method, settings.friction)

    def _plant(self, one: OneLoop) -> Plant:
        s = self.settings
        theta = one.theta if len(one.theta) else None
        return Plant(
            s.robot, one.q0, one.v0, theta=theta, period=s.period, substeps=s.substeps, friction=s.friction
        )


def fresh(controller: Any) -> Any:
    """The controller as if it had never made a step, whatever it did before.

    >>> import helicoid as hc
    >>> law = hc.control.JointImpedance(hc.load("planar_2r"), 100.0, 20.0)
    >>> tau = law.step([0.1, 0.0], [0.0, 0.0], q_ref=[0.2, 0.3])
    >>> print(fresh(law).status, law.status, sep=", ")
    not started, ok
    """
    if isinstance(controller, Step):
        again = copy.copy(controller)  # a step replaces its memory and changes nothing in place
        again.reset()
        return again
    if isinstance(controller, Controller):
        return copy.copy(controller)  # with the same compiled problem, and a loop of its own
    return copy.deepcopy(controller)


def _learns(controller: Any) -> bool:
    return isinstance(controller, Adaptive)
