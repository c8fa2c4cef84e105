"""Adaptive MPC: a controller with an online identifier (Algorithm 4, see docs/how-to/adaptive-mpc.md)."""

from __future__ import annotations

import copy
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import real_array, shown
from helicoid.control.following import Following
from helicoid.deprecation import former_attribute, renamed_arguments
from helicoid.errors import CompileError, InputError
from helicoid.mpc.loop.handover import possible
from helicoid.status import Status

if TYPE_CHECKING:
    from helicoid.identification.online.identifier import OnlineIdentifier
    from helicoid.mpc.loop.controller import Controller
    from helicoid.robot import Robot


class Adaptive:
    """MPC whose parameters θ are estimated online, and handed to the controller once they can be trusted.

    Every step: update the estimate with the measured torque, hand θ over if it is trustworthy, control. The θ
    that is handed over is physically consistent: every body has a positive mass and a possible inertia.

    Args:
        controller: a Controller of a parametric robot.
        identifier: an OnlineIdentifier of the same θ: for `robot.parametric("payload", payload_link=...)`
            it is `hc.OnlineIdentifier(robot, ("payload",), payload_link=...)`.
        learn_every: steps from one sample of the identifier to the next; it gets the mean torque in between.
        hand_over_every: steps from one hand-over to the next.
        time_constant: time (s) in which the controller's θ goes 63 % of the way to a new estimate, so that
            torques do not jump. Each θ on the way is consistent too: such parameters form a convex set.

    `step` never raises: where the identifier cannot use a sample, the controller continues with the θ it has,
    and `message` says so.

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
    (<Status.OK: 'ok'>, (10,))
    """

    measures = "q v tau"
    """Quantities that `step` takes."""

    @renamed_arguments(following="time_constant")
    def __init__(
        self,
        controller: Controller,
        identifier: OnlineIdentifier,
        learn_every: int = 1,
        hand_over_every: int = 10,
        time_constant: float = 0.03,
    ) -> None:
        robot = getattr(getattr(controller, "problem", None), "robot", None)
        if robot is None or not robot.theta.groups:
            raise InputError(
                "a controller of a parametric robot is needed: hc.mpc.Controller of a problem of "
                f"robot.parametric(...); got {shown(controller)}"
            )
        if not hasattr(identifier, "parametric"):
            raise InputError(f"identifier is an hc.OnlineIdentifier; got {shown(identifier)}")
        if (
            robot.theta.selection != identifier.parametric.theta.selection
            or robot.nv != identifier.parametric.nv
        ):
            raise InputError(
                f"the controller's robot is parametric in {robot.theta.selection}, the identifier finds "
                f"{identifier.parametric.theta.selection}: they must be the same"
            )
        if learn_every < 1 or hand_over_every < 1 or not time_constant >= 0:
            raise InputError(
                "learn_every and hand_over_every are at least 1 (steps), time_constant at least 0 (s); got "
                f"{learn_every}, {hand_over_every} and {time_constant}"
            )
        self.controller, self.identifier = controller, identifier
        self._learn_every, self._hand_over_every = int(learn_every), int(hand_over_every)
        interval = self._hand_over_every * controller.period
        self._share = 1.0 if time_constant == 0 else 1 - math.exp(-interval / time_constant)
        self._only_payload = robot.theta.groups == ("payload",)
        self._first_identifier = copy.deepcopy(vars(identifier))
        self._first_theta = controller.theta
        self._begin()

    def _begin(self) -> None:
        """The state before the first step, but for that of the controller and the identifier."""
        nv = self.controller.problem.robot.nv  # type: ignore[union-attr]
        self._impulse, self._n_torques, self._since, self._count = np.zeros(nv), 0, 0, 0
        self._applied, self._failure = np.zeros(nv), ""
        self.theta = self._first_theta.copy()
        """θ that the controller has now."""
        self.n_handed_over = 0
        """Number of hand-overs."""
        self.learning_seconds = 0.0
        """Time that identification and hand-over took in the last step (s)."""

    def reset(self) -> None:
        """Reset the controller, its θ and the identifier to what they were when this was constructed."""
        vars(self.identifier).clear()
        vars(self.identifier).update(copy.deepcopy(self._first_identifier))
        self.controller.set(theta=self._first_theta)
        self.controller.reset()
        self._begin()

    @renamed_arguments(tau_measured="tau")
    def step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        a: ArrayLike | None = None,
        wrenches: ArrayLike | None = None,
    ) -> Array:
        """The torque (nv) for a measured state.

        Args:
            tau: measured torque (nv) since the last step; by default the one that this returned then.
            a: measured accelerations (nv) that it causes; none are needed.
            wrenches: readings of six-axis sensors, (sensors, 6), with `a`: for an identifier of `wrenches`.
        """
        began = time.perf_counter()
        self._count += 1
        if wrenches is not None:
            tau = wrenches
        self._learn(q, v, self._applied if tau is None else tau, a)
        if self._count % self._hand_over_every == 0 and self.identifier.trustworthy:
            self._hand_over()
        self.learning_seconds = time.perf_counter() - began
        self._applied = self.controller.step(q, v)
        return self._applied.copy()

    def _learn(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, a: ArrayLike | None) -> None:
        """Update the estimate with a sample; an invalid one is left out."""
        self._since += 1
        try:
            if a is not None:
                self.identifier.update(q, v, a, tau)
            else:
                torque = real_array("tau", tau, copy=False)
                if torque.shape != self._impulse.shape:
                    raise InputError(f"tau has shape {torque.shape}, not {self._impulse.shape}")
                self._impulse += torque
                self._n_torques += 1
                if self._n_torques < self._learn_every:
                    return
                mean, self._n_torques = self._impulse / self._n_torques, 0
                self._impulse[:] = 0.0
                self.identifier.update_without_acceleration(q, v, mean, self._since * self.controller.period)
                self._since = 0
            self._failure = ""
        except Exception as error:  # whatever a foreign type raises: the loop must go on
            self._failure = f"left out by the identifier: {error}"

    def _hand_over(self) -> None:
        """Move the controller's θ towards the estimate."""
        try:
            # A lone payload has a closed form; of several bodies the torques identify combinations only.
            found = possible(self.identifier.estimate) if self._only_payload else self.identifier.theta
            theta = self.theta + self._share * (found - self.theta)
            self.controller.set(theta=theta)
        except Exception as error:
            self._failure = str(error)
            return
        self.theta = theta
        self.n_handed_over += 1

    @property
    def period(self) -> float:
        """Time between steps (s)."""
        return self.controller.period

    @property
    def robot(self) -> Robot | None:
        """The robot that is controlled."""
        return self.controller.robot

    @property
    def ok(self) -> bool:
        """Whether the controller's last step was ok."""
        return self.controller.ok

    @property
    def status(self) -> Status:
        """Status of the controller's last step, see `Controller`."""
        return self.controller.status

    @property
    def message(self) -> str:
        """Message of the controller's last step, and why the identifier left its sample out, if it did."""
        return "; ".join(text for text in (self.controller.message, self._failure) if text)

    details = former_attribute("details", "message")

    def set(self, **values: Any) -> None:
        """Change targets, weights, bounds or θ, as `Controller.set`; θ is also what `reset` returns to."""
        self.controller.set(**values)
        if "theta" in values:
            self.theta, self._first_theta = self.controller.theta, self.controller.theta

    def following(self, reference: Any = None, **references: Any) -> Following:
        """This controller with targets over time, see `Controller.following`."""
        return Following(self, reference, **references)

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of targets, see `Controller.targets`."""
        return self.controller.targets

    @property
    def postures(self) -> tuple[str, ...]:
        """Names of the `targets` that are configurations q (nq)."""
        return self.controller.postures

    def motion_reference(self, q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Targets that make the controller follow a motion, see `Controller.motion_reference`."""
        return self.controller.motion_reference(q, v, a)

    def export_c(self, folder: str | os.PathLike[str], name: str | None = None) -> list[Path]:
        """Refused: the identifier is not available as C.

        `adaptive.controller.export_c(folder)` writes the controller with the present θ, and a function
        `set_theta` through which an identifier of one's own hands over others.

        Raises:
            CompileError: always.
        """
        raise CompileError(
            "the identifier of an Adaptive controller cannot be exported as C; "
            "adaptive.controller.export_c(folder) writes its Controller, with the present θ and `set_theta`"
        )

    def __repr__(self) -> str:
        return f"Adaptive({self.controller!r}, θ handed over {self.n_handed_over} times)"
