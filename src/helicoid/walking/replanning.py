"""Plans by model predictive control, computed in a second thread while the control loop goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.mpc import Controller
from helicoid.status import Status

_MAX_DEVIATION = 0.15  # m/s, of the trunk from the former plan, beyond which one iteration is not enough
_ITERATIONS_AFTER = 4  # of the optimiser, after a disturbance
_DISTURBED_PLANS = 20  # that take them after a disturbance


class TimedPlan(NamedTuple):
    """A plan: the time of its measurement (s), its motion (`Controller.motion`), and how the solver ended.

    `seconds` is the processor time that it took.
    """

    time: float
    motion: tuple[Array, Array, Array, Mapping[str, Array]]
    status: Status
    message: str
    seconds: float


class Replanning:
    """One plan at a time, which takes effect `delay` seconds after its measurement.

    The compiled solver releases the interpreter's lock, so that the control loop runs beside it. While a
    plan is under way, the second thread alone uses `controller`. A pickle waits for it and leaves it out.

    A plan goes on from the former one by the iterations of `controller`, as a rule a single one. After a
    disturbance, which is a trunk that deviates from the former plan or a plan that is not valid, plans
    take more iterations for a while: the former plan is then too far from the next to be corrected by one.

    Args:
        controller: of the plans, whose nodes are `interval` (s) apart.
        delay: of a plan (s); with 0, plans are computed within the step.
        real_time: a plan that is late is taken when it is ready, instead of waited for.
    """

    def __init__(self, controller: Controller, delay: float, real_time: bool, interval: float) -> None:
        self.controller, self.delay, self.real_time = controller, delay, real_time
        self._iterations, self._interval = controller.iterations, interval
        self._thread: ThreadPoolExecutor | None = None
        self._under_way: Future[TimedPlan] | None = None
        self.reset()

    def __getstate__(self) -> dict[str, Any]:
        self.wait()
        return self.__dict__ | {"_thread": None, "_under_way": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._started = False  # a copy of the MPC has not started

    def reset(self) -> None:
        """Discard the plan under way; the next one begins without a warm start."""
        self.wait()
        self._under_way, self._due, self._started, self.late = None, 0.0, False, False
        self._former: TimedPlan | None = None
        self._disturbed = 0
        self.controller.reset()

    def wait(self) -> None:
        """Wait until the plan under way is computed."""
        if self._under_way is not None:
            wait([self._under_way])

    @property
    def started(self) -> bool:
        """Whether there has been a plan since the last reset."""
        self.wait()
        return self._started

    def now(self, t: float, q: Array, v: Array, numbers: Callable[[], Mapping[str, Any]]) -> TimedPlan:
        """The plan from a state measured at t (s), with `numbers()` for `Controller.set`."""
        began = time.thread_time()
        self.controller.set(**numbers())
        if not self._started:
            self.controller.start(q, v)
            self._started = True
        self._disturbed = _DISTURBED_PLANS if self._deviates(t, v) else max(self._disturbed - 1, 0)
        self.controller.iterations = max(self._iterations, _ITERATIONS_AFTER if self._disturbed else 1)
        self.controller.step(q, v)
        status, message = self.controller.status, self.controller.message
        seconds = time.thread_time() - began
        self._former = TimedPlan(t, self.controller.motion(), status, message, seconds)
        return self._former

    def _deviates(self, t: float, v: Array) -> bool:
        """Whether the trunk moves otherwise than by the former plan, or that was not valid."""
        if self._former is None:
            return False
        planned = self._former.motion[1]
        at = planned[min(round((t - self._former.time) / self._interval), len(planned) - 1), 3:6]
        deviation = float(np.linalg.norm(v[3:6] - at))
        return self._former.status is not Status.OK or not deviation <= _MAX_DEVIATION

    def begin(self, t: float, q: Array, v: Array, numbers: Callable[[], Mapping[str, Any]]) -> None:
        """Begin to plan in the second thread."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "helicoid plan")
        self._due = t + self.delay
        self._under_way = self._thread.submit(self.now, t, q.copy(), v.copy(), numbers)

    @property
    def under_way(self) -> bool:
        """Whether a plan has begun and has not been taken."""
        return self._under_way is not None

    def take(self, t: float) -> TimedPlan | None:
        """The plan that takes effect at t (s), once; None where there is none."""
        if self._under_way is None or t < self._due - 1e-9:
            return None
        self.late = self.real_time and not self._under_way.done()
        if self.late:
            return None
        plan, self._under_way = self._under_way.result(), None
        return plan
