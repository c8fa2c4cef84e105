"""Plans in a second thread: taken when they are due, waited for or told to be late."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from helicoid.status import Status
from helicoid.walking.replanning import Replanning


class SlowController:
    """Plans that take as long as the test wants; the number of the plan stands for its motion."""

    def __init__(self) -> None:
        self.status, self.message, self.plans, self.iterations = Status.OK, "", 0, 1
        self.go = threading.Event()
        self.go.set()

    def __getstate__(self) -> dict[str, Any]:
        return {"status": self.status, "message": "", "plans": self.plans, "iterations": 1}

    def reset(self) -> None:
        self.plans = 0

    def set(self, **numbers: Any) -> None:
        self.numbers = numbers

    def start(self, q: Any, v: Any) -> None:
        self.started_at = q

    def step(self, q: Any, v: Any) -> None:
        assert self.go.wait(30.0)
        self.plans += 1

    def motion(self) -> tuple[int, np.ndarray]:
        return self.plans, np.zeros((21, 6))


Q = np.zeros(6)


def replanning(real_time: bool) -> tuple[Replanning, SlowController]:
    controller = SlowController()
    return Replanning(controller, 0.02, real_time, 0.025), controller  # type: ignore[arg-type]


def test_a_plan_takes_effect_once_after_its_delay() -> None:
    plans, _ = replanning(False)
    assert not plans.started and plans.take(0.0) is None
    plans.begin(0.1, Q, Q, lambda: {"turn": 1.0})
    assert plans.under_way and plans.take(0.118) is None
    plan = plans.take(0.12)
    assert plan is not None and (plan.time, plan.motion[0], plan.status) == (0.1, 1, Status.OK)
    assert plans.take(0.14) is None and plans.started and not plans.under_way


def test_in_real_time_a_late_plan_is_not_waited_for() -> None:
    plans, controller = replanning(True)
    controller.go.clear()
    plans.begin(0.0, Q, Q, dict)
    assert plans.take(0.03) is None and plans.late
    controller.go.set()
    plans.wait()
    assert plans.take(0.032) is not None and not plans.late


def test_a_reset_discards_the_plan_under_way() -> None:
    plans, controller = replanning(False)
    plans.begin(0.0, Q, Q, dict)
    plans.reset()
    assert plans.take(1.0) is None and not plans.started and controller.plans == 0


def test_a_copy_begins_anew_and_errors_reach_the_loop() -> None:
    plans, controller = replanning(False)
    plans.begin(0.0, Q, Q, dict)
    plans.wait()
    controller.go.clear()
    controller.go.set()
    twin = pickle.loads(pickle.dumps(plans))
    assert not twin.under_way and not twin.started and plans.take(1.0) is not None

    def broken(q: Any, v: Any) -> None:
        raise ValueError("solver")

    controller.step = broken  # type: ignore[method-assign]
    plans.begin(0.0, Q, Q, dict)
    with pytest.raises(ValueError, match="solver"):
        plans.take(1.0)


def test_after_a_disturbance_plans_take_more_iterations_for_a_while() -> None:
    plans, controller = replanning(False)
    pushed = Q.copy()
    pushed[3] = 0.4  # m/s, beside a plan that stands
    taken = []
    for k in range(60):
        controller.status = Status.INFEASIBLE if k == 30 else Status.OK
        plans.now(0.025 * k, Q, pushed if k == 3 else Q, dict)
        taken.append(controller.iterations)
    after = 20
    assert taken[:3] == [1] * 3 and taken[3 : 3 + after] == [4] * after
    assert taken[3 + after : 31] == [1] * (28 - after)
    assert taken[31 : 31 + after] == [4] * after and taken[31 + after :] == [1] * (29 - after)
