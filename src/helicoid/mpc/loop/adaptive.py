"""Adaptive MPC: a controller with an online identifier (Algorithm 4, see docs/how-to/adaptive-mpc.md)."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.mpc.loop.handover import possible

if TYPE_CHECKING:
    from helicoid.identification.online.identifier import OnlineIdentifier
    from helicoid.mpc.controller import Controller


class Adaptive:
    """A controller whose parameters θ are those that an identifier has found, as soon as they can be trusted.

    Every step: learn from the measured torque, hand θ over if it is trustworthy, control. What is handed
    over is physically possible: no body of negative mass, none that could not exist.

    Args:
        controller: a Controller of a parametric robot.
        identifier: an OnlineIdentifier of the same θ: for `robot.parametric("payload", payload_link=...)`
            it is `hc.OnlineIdentifier(robot, ("payload",), payload_link=...)`.
        learn_every: steps from one sample of the identifier to the next; it gets the mean torque in between.
        hand_over_every: steps from one hand-over to the next.
        following: time (s) in which the controller's θ goes 63 % of the way to a new estimate, so that
            torques do not jump. What lies in between is possible too: such parameters form a convex set.

    `step` never raises: where the identifier cannot use a sample, the controller goes on with the θ it has,
    and `status` says so.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> problem = hc.mpc.Problem(robot.parametric("payload", payload_link="tip"), horizon=10, dt=0.01)
    >>> problem.add_posture_cost([1.0, 0.5], weight=100.0, end_weight=10.0)
    >>> problem.add_velocity_cost(0.1)
    >>> problem.add_control_cost(1e-4)
    >>> identifier = hc.OnlineIdentifier(robot, ("payload",), payload_link="tip")
    >>> adaptive = hc.mpc.Adaptive(hc.mpc.Controller(problem), identifier)
    >>> tau = adaptive.step([1.0, 0.5], [0.0, 0.0], [0.0, 0.0])
    >>> adaptive.status, adaptive.theta.shape
    ('solved', (10,))
    """

    def __init__(
        self,
        controller: Controller,
        identifier: OnlineIdentifier,
        learn_every: int = 1,
        hand_over_every: int = 10,
        following: float = 0.03,
    ) -> None:
        robot = controller.problem.robot
        if robot is None or not robot.theta.groups:
            raise InputError("the controller's problem needs a parametric robot: robot.parametric(...)")
        if (
            robot.theta.selection != identifier.parametric.theta.selection
            or robot.nv != identifier.parametric.nv
        ):
            raise InputError(
                f"the controller's robot is parametric in {robot.theta.selection}, the identifier finds "
                f"{identifier.parametric.theta.selection}: they must be the same"
            )
        if learn_every < 1 or hand_over_every < 1 or not following >= 0:
            raise InputError(
                "learn_every and hand_over_every are at least 1 (steps), following at least 0 (s); got "
                f"{learn_every}, {hand_over_every} and {following}"
            )
        self.controller, self.identifier = controller, identifier
        self._learn_every, self._hand_over_every = int(learn_every), int(hand_over_every)
        interval = self._hand_over_every * controller.period
        self._share = 1.0 if following == 0 else 1 - math.exp(-interval / following)
        self._only_payload = robot.theta.groups == ("payload",)
        self._impulse, self._heard, self._since, self._count = np.zeros(robot.nv), 0, 0, 0
        self._trouble = ""
        self.theta = controller.theta
        """θ that the controller has now."""
        self.n_handed_over = 0
        """How often it was handed over."""
        self.learning_seconds = 0.0
        """Time that learning and handing over took in the last step."""

    def step(self, q: ArrayLike, v: ArrayLike, tau_measured: ArrayLike, a: ArrayLike | None = None) -> Array:
        """The torque (nv) for a measured state.

        `tau_measured` (nv) are the torques that acted until now, and `a` (nv) the accelerations they cause,
        where a sensor has them; otherwise none are needed.
        """
        began = time.perf_counter()
        self._count += 1
        self._learn(q, v, tau_measured, a)
        if self._count % self._hand_over_every == 0 and self.identifier.trustworthy:
            self._hand_over()
        self.learning_seconds = time.perf_counter() - began
        return self.controller.step(q, v)

    def _learn(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, a: ArrayLike | None) -> None:
        """One sample for the identifier; one that is of no use is left out."""
        self._since += 1
        try:
            if a is not None:
                self.identifier.update(q, v, a, tau)
            else:
                torque = np.asarray(tau, dtype=np.float64)
                if torque.shape != self._impulse.shape:
                    raise InputError(f"tau_measured has shape {torque.shape}, not {self._impulse.shape}")
                self._impulse += torque
                self._heard += 1
                if self._heard < self._learn_every:
                    return
                mean, self._heard = self._impulse / self._heard, 0
                self._impulse[:] = 0.0
                self.identifier.update_without_acceleration(q, v, mean, self._since * self.controller.period)
                self._since = 0
            self._trouble = ""
        except (HelicoidError, np.linalg.LinAlgError, TypeError, ValueError) as error:
            self._trouble = f"left out by the identifier: {error}"

    def _hand_over(self) -> None:
        try:
            # A lone payload has a closed form; several bodies share what torques tell of them.
            found = possible(self.identifier.estimate) if self._only_payload else self.identifier.theta
            theta = self.theta + self._share * (found - self.theta)
            self.controller.set(theta=theta)
        except (HelicoidError, np.linalg.LinAlgError) as error:
            self._trouble = str(error)
            return
        self.theta = theta
        self.n_handed_over += 1

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return self.controller.period

    @property
    def ok(self) -> bool:
        """Whether the controller's last step went well."""
        return self.controller.ok

    @property
    def status(self) -> str:
        """How the controller's last step went: one of the words that `Controller` lists."""
        return self.controller.status

    @property
    def details(self) -> str:
        """What the controller says of its last step, and the identifier if it could not learn; else empty."""
        return "; ".join(text for text in (self.controller.details, self._trouble) if text)

    def set(self, **values: ArrayLike) -> None:
        """Change targets, weights or bounds, as `Controller.set`."""
        self.controller.set(**values)

    def __repr__(self) -> str:
        return f"Adaptive({self.controller!r}, θ handed over {self.n_handed_over} times)"
