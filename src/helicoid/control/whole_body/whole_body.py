"""Whole-body control: torques that track tasks under contacts, friction cones and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.laws.torque import Friction
from helicoid.control.program.controller import ProgramController
from helicoid.control.program.levels import Priorities, bounded_coordinates, is_strict, levels_of
from helicoid.control.program.library import Library
from helicoid.control.tasks import Task
from helicoid.control.whole_body import compiled
from helicoid.control.whole_body.contacts import Contact, named, world_forces
from helicoid.control.whole_body.formulation import AccelerationProgram
from helicoid.control.whole_body.limits import Held, limits_at, not_returning
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError
from helicoid.interrupts import interruptible
from helicoid.robot.robot import Robot, as_robot
from helicoid.status import Status


class WholeBody(ProgramController):
    """Torques τ that track tasks as far as contacts, friction and limits allow.

    Accelerations a and forces f of contacts are chosen together, in one quadratic program, such that
    M a + h = Sᵀ τ + Jᵀ f and contacts that are on do not move. Tasks of motion follow
    ë + 2 ζ ω ė + ω² e = 0. "weighted" minimises a weighted sum; "strict" makes every task of the list,
    or every list of tasks in it, a level that takes nothing from the ones before.

    Args:
        robot: on a floating or a fixed base; its own constraints, such as closed loops, are kept.
        tasks: objectives, for "strict" the most important first.
        contacts: `PointContact`, `SurfaceContact`, or names of links that touch the ground by their origins.
        dt: time between steps (s).
        priorities: "weighted" or "strict".
        frequency, damping_ratio: ω (rad/s) and ζ of all tasks, or of each; of a momentum, ω is its gain.
        acceleration: limits of joints (rad/s², m/s²), a number or nv of them; None for none.
        braking: the deceleration that joints can be counted on for (rad/s², m/s²) where limits of position
            and velocity come near; more than this is asked of none.
        approach: how fast joints return from beyond their range, as a share of the distance (1/s).
        ramp: how long the force of a contact takes to come or to go (s) when that is switched.
        contact_rate: κ (1/s), at which the velocity of a contact decays: J a + J̇ v = -κ J v.
        acceleration_weight, force_weight: weights of |a|² and |f|², the regularisation of the program.
        friction: whether the joints' friction is compensated, "none" or "measured".
        decay: what is left of the last torque after a step that has no measurement, from 0 to 1.

    A step is one call of compiled C. It never raises, and τ is finite and within its limits whatever q and v
    are; where they are not finite the last torque decays. `ok` and `status` say so. Where limits
    contradict each other, status is "infeasible": accelerations that limits demand of joints beyond them are
    dropped first, such that the robot keeps its balance, then accelerations yield, then all by the least
    distance, and `violations` names them.

    Raises:
        CompileError: there is no C compiler.

    >>> import helicoid as hc
    >>> robot = hc.load("quadruped", base="floating")
    >>> q = robot.neutral()
    >>> q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    >>> trunk = hc.control.PoseTask("trunk", robot.pose("trunk")(q), name="trunk")
    >>> tasks = [trunk, hc.control.PostureTask(q, weight=1e-3)]
    >>> feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    >>> wb = hc.control.WholeBody(robot, tasks, feet, dt=0.002)
    >>> tau = wb.step(q, np.zeros(18))
    >>> wb.ok, bool(abs(sum(f[2] for f in wb.forces.values()) / robot.mass - 9.81) < 1e-3)
    (True, True)
    >>> wb.contact("FL_foot", active=False)
    """

    command = "tau"
    _decaying, _library_name = "torque", "whole_body"

    @renamed_arguments(
        damping="acceleration_weight", force_damping="force_weight", contact_damping="contact_rate"
    )
    @interruptible()
    def __init__(
        self,
        robot: Robot,
        tasks: Task | Sequence[Task | Sequence[Task]],
        contacts: Contact | str | Sequence[Contact | str],
        dt: float,
        priorities: Priorities = "weighted",
        *,
        frequency: ArrayLike = 10.0,
        damping_ratio: ArrayLike = 1.0,
        acceleration: ArrayLike | None = None,
        braking: ArrayLike = 100.0,
        approach: float = 10.0,
        ramp: float = 0.0,
        contact_rate: float = 20.0,
        acceleration_weight: float = 1e-6,
        force_weight: float = 1e-8,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        robot, strict = as_robot(robot, "WholeBody"), is_strict(priorities)
        if friction not in ("none", "measured"):
            raise InputError(f"friction is 'none' or 'measured'; got {friction!r}")
        if not robot.actuated:
            raise InputError(f"WholeBody: {robot.name!r} has no actuators")
        if odd := bounded_coordinates(robot)[1]:
            raise InputError(
                f"WholeBody keeps limits of coordinates that are the integral of a velocity; coordinates "
                f"{odd} of {robot.name!r} are not: remove their limits"
            )
        levels = levels_of(robot, tasks, "WholeBody")
        made = named(contacts, robot)
        self.formulation = AccelerationProgram(robot, levels, strict, made, friction)
        options: dict[str, Any] = {
            **{"acceleration": acceleration, "braking": braking, "approach": approach, "ramp": ramp},
            **{"contact_rate": contact_rate, "acceleration_weight": acceleration_weight},
            **{"force_weight": force_weight, "decay": decay},
            **{"frequency": frequency, "damping_ratio": damping_ratio},
        }
        loop = compiled.loop(self.formulation, self.formulation.numbers(dt, **options))
        arguments = (robot, [list(level) for level in levels], made, dt, priorities)
        super().__init__(robot, self.formulation, loop, arguments, {**options, "friction": friction})

    # In the loop ------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Torques (nv, zeros where no actuator is) for a state q (nq), v (nv), to be held for dt."""
        tau = np.empty(self.robot.nv)
        try:
            self._evaluate((q, v, self._p), (tau, self._memory))
        except ValueError:
            q = self._loop.as_vector("q", q, self.robot.nq)
            v = self._loop.as_vector("v", v, self.robot.nv)
            self._evaluate((q, v, self._p), (tau, self._memory))
        return tau

    def contact(self, name: str, active: bool) -> None:
        """Switch a contact on or off, by its name; forces rise and fall as `ramp` says."""
        self._loop.set({f"{self._contact_name(name)}_active": float(bool(active))})

    def set(self, contacts: Sequence[str] | None = None, **values: ArrayLike) -> None:
        """Change numbers by name, all or, where one is refused, none.

        `contacts` are the names of those that are on, all others are off. Of a task called "hand": `hand` is
        its target, `hand_velocity` and `hand_acceleration` how that moves, `hand_weight`, `hand_frequency`
        and `hand_damping_ratio`; of a momentum `_rate` and `_gain`. Of a contact called "foot":
        `foot_friction`, `foot_normal`, `foot_min_force`, `foot_max_force`. Of all: `torque_limit` (of the
        actuators), `velocity_limit`, `acceleration_limit` and `braking` (nv), `position_lower` and
        `position_upper` (nq), `ramp`, `approach`, `contact_rate`, `acceleration_weight`,
        `force_weight`, `decay`, `dt`, and `theta` of a parametric robot.
        """
        changes: dict[str, ArrayLike] = dict(values)
        if contacts is not None:
            on = {
                self._contact_name(name) for name in ([contacts] if isinstance(contacts, str) else contacts)
            }
            changes |= {f"{name}_active": float(name in on) for name in self.formulation.contact_names}
        self._loop.set(changes)

    @property
    def accelerations(self) -> Array:
        """a of the last step (nv), as its model has them."""
        return self._memory[self._loop.at["x"]][: self.robot.nv].copy()

    @property
    def forces(self) -> Mapping[str, Array]:
        """Force of the ground on each contact, world axes: f (3), or (n, f) (6) of a sole."""
        return world_forces(self.formulation.contacts, self._memory[self._loop.at["forces"]])

    @property
    def stacked_forces(self) -> Array:
        """`forces` of all contacts in one array, in their order: for loops that read them in every step."""
        return self._memory[self._loop.at["forces"]].copy()

    @property
    def contacts(self) -> tuple[str, ...]:
        """The contacts that held in the last step."""
        on = self._memory[self._loop.at["is_on"]]
        return tuple(one.name for one, held in zip(self.formulation.contacts, on, strict=True) if held)

    @property
    def limits(self) -> tuple[Held, ...]:
        """Active limits of the last step."""
        if self.status not in (Status.OK, Status.INFEASIBLE, Status.NO_CONTACT):
            return ()
        return tuple(limits_at(self.formulation, self._loop))

    @property
    def violations(self) -> tuple[Held, ...]:
        """The limits that the last step exceeds; none unless it is infeasible."""
        return tuple(one for one in self.limits if one.excess > 0)

    def _contradiction(self) -> str:
        exceeded = [f"{one.kind} of {one.of} by {one.excess:.3g}" for one in self.violations]
        beyond = ", ".join(not_returning(self.formulation, self._loop))
        return f"exceeded: {', '.join(exceeded) or 'none beyond rounding'}" + (
            f"; beyond limits of position or velocity, and not returning: {beyond}" if beyond else ""
        )

    def _library(self) -> Library:
        return compiled.library(self.formulation, self._loop)

    def _contact_name(self, name: str) -> str:
        f = self.formulation
        for own, one in zip(f.contact_names, f.contacts, strict=True):
            if name in (own, one.name):
                return own
        known = ", ".join(one.name for one in f.contacts)
        raise InputError(f"there is no contact {name!r}; there are {known or 'none'}")
