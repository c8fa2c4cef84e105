"""Whole-body control: torques by which tasks come true, with feet on the ground and limits kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import compile_kernel
from helicoid.control.differential.formulation import bounded_coordinates, levels_of
from helicoid.control.laws.torque import Friction
from helicoid.control.qp.program import RUNTIME as QP_RUNTIME
from helicoid.control.qp.program import needs_compiler
from helicoid.control.tasks import Task
from helicoid.control.whole_body import exporting
from helicoid.control.whole_body.contacts import Contact, named, world_forces
from helicoid.control.whole_body.formulation import Formulation
from helicoid.control.whole_body.limits import Held, limits_at
from helicoid.errors import InputError
from helicoid.interrupts import interruptible
from helicoid.robot.robot import Robot, as_robot

RUNTIME = Path(__file__).parent / "runtime"

Priorities = Literal["weighted", "strict"]
StepStatus = Literal[
    "solved",
    "infeasible",
    "out of iterations",
    "not finite",
    "not convex",
    "bad measurement",
    "no contact",
    "not started",
    "no target",
]
"""How a step went; the first seven in the order of the enumeration in runtime/whole_body.h."""
_STATUSES: tuple[StepStatus, ...] = get_args(StepStatus)


class WholeBody:
    """Torques τ by which tasks come true as far as contacts, friction and limits allow.

    Accelerations a and forces f of contacts are chosen together, in one quadratic program, such that
    M a + h = Sᵀ τ + Jᵀ f and contacts that are on do not move. Tasks of motion follow
    ë + 2 ζ ω ė + ω² e = 0. "weighted" weighs tasks against each other; "strict" makes every task of the list,
    or every list of tasks in it, a level that takes nothing from the ones before.

    Args:
        robot: on a floating or a fixed base; its own constraints, such as closed loops, are kept.
        tasks: what to achieve, for "strict" the most important first.
        contacts: `PointContact`, `SurfaceContact`, or names of links that touch the ground by their origins.
        dt: time between steps (s).
        priorities: "weighted" or "strict".
        frequency, damping_ratio: ω (rad/s) and ζ of all tasks, or of each; of a momentum, ω is its gain.
        acceleration: limits of joints (rad/s², m/s²), a number or nv of them; None for none.
        braking: the deceleration that joints can be counted on for (rad/s², m/s²) where limits of position
            and velocity come near; more than this is asked of none.
        approach: how fast joints return from beyond their range, as a share of the distance (1/s).
        ramp: how long the force of a contact takes to come or to go (s) when that is switched.
        contact_damping: contacts that move, come to rest at this rate (1/s).
        damping, force_damping: weights of |a|² and of |f|², which decide where no task does.
        friction: whether the joints' friction is compensated, "none" or "measured".
        decay: what is left of the last torque after a step that has no measurement, from 0 to 1.

    A step is one call of compiled C. It never raises, and τ is finite and within its limits whatever q and v
    are; where they are not finite the last torque dies away. `ok` and `status` say so. Where limits
    contradict each other, status is "infeasible": accelerations yield first, then all by the least distance,
    and `violations` names them.

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
        contact_damping: float = 20.0,
        damping: float = 1e-6,
        force_damping: float = 1e-8,
        friction: Friction = "none",
        decay: float = 0.95,
    ) -> None:
        self.robot = as_robot(robot, "WholeBody")
        if priorities not in ("weighted", "strict"):
            raise InputError(f"priorities is 'weighted' or 'strict'; got {priorities!r}")
        if friction not in ("none", "measured"):
            raise InputError(f"friction is 'none' or 'measured'; got {friction!r}")
        if not self.robot.actuated:
            raise InputError(f"WholeBody: no actuator drives anything of {self.robot.name!r}")
        if odd := bounded_coordinates(self.robot)[1]:
            raise InputError(
                f"WholeBody keeps limits of coordinates that are the integral of a velocity; coordinates "
                f"{odd} of {self.robot.name!r} are not: take their limits off"
            )
        levels = levels_of(self.robot, tasks, "WholeBody")
        made = named(contacts, self.robot)
        self.formulation = Formulation(self.robot, levels, made, priorities == "strict", friction)
        options: dict[str, Any] = {
            **{"acceleration": acceleration, "braking": braking, "approach": approach, "ramp": ramp},
            **{"contact_damping": contact_damping, "damping": damping, "force_damping": force_damping},
            "decay": decay,
        }
        self.numbers = self.formulation.numbers(dt, frequency, damping_ratio, **options)
        self._p = self.numbers.values
        self._layout()
        self._kernel = self._compiled()
        self._evaluate = self._kernel.evaluate
        self._begin()
        options |= {"frequency": frequency, "damping_ratio": damping_ratio, "friction": friction}
        self._arguments = (robot, [list(level) for level in levels], made, dt, priorities), options

    def __reduce__(self) -> tuple[Any, ...]:
        # What is compiled belongs to this process: a copy finds it in the cache.
        return _copied, (*self._arguments, self._p.copy(), self._memory.copy())

    runtimes = (RUNTIME, QP_RUNTIME)

    # The loop ---------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Torques (nv, zeros where no actuator is) for a state q (nq), v (nv), to be held for dt."""
        tau = np.empty(self.robot.nv)
        try:
            self._evaluate((q, v, self._p), (tau, self._memory))
        except ValueError:
            q, v = self._as_vector("q", q, self.robot.nq), self._as_vector("v", v, self.robot.nv)
            self._evaluate((q, v, self._p), (tau, self._memory))
        return tau

    def contact(self, name: str, active: bool) -> None:
        """Switch a contact on or off, by its name; forces rise and fall as `ramp` says."""
        self.numbers.set({f"{self._contact_name(name)}_active": float(bool(active))})

    def set(self, contacts: Sequence[str] | None = None, **values: ArrayLike) -> None:
        """Change numbers by name, all or, where one is refused, none.

        `contacts` are the names of those that are on, all others are off. Of a task called "hand": `hand` is
        its target, `hand_velocity` and `hand_acceleration` how that moves, `hand_weight`, `hand_frequency`
        and `hand_damping_ratio`; of a momentum `_rate` and `_gain`. Of a contact called "foot":
        `foot_friction`, `foot_normal`, `foot_min_force`, `foot_max_force`. Of all: `torque_limit` (of the
        actuators), `velocity_limit`, `acceleration_limit` and `braking` (nv), `position_lower` and
        `position_upper` (nq), `ramp`, `approach`, `contact_damping`, `damping`, `force_damping`, `decay`,
        `dt`, and `theta` of a parametric robot.
        """
        changes: dict[str, ArrayLike] = dict(values)
        if contacts is not None:
            on = {
                self._contact_name(name) for name in ([contacts] if isinstance(contacts, str) else contacts)
            }
            changes |= {f"{name}_active": float(name in on) for name in self.formulation.contact_names}
        ends = []
        for name in ("position_lower", "position_upper"):
            entry = self.numbers[name]
            ends.append(entry.check(name, changes.get(name, self._p[entry.at])))
        if np.any(ends[0] > ends[1]):
            raise InputError("position_lower must not exceed position_upper")
        self.numbers.set(changes)

    def reset(self) -> None:
        """Forget what was: the next step begins without a ramp, with nothing active."""
        self._begin()

    def export_c(self, folder: str | os.PathLike[str], name: str = "whole_body") -> list[Path]:
        """Write this controller as a library in C99, with a program that checks it and a CMakeLists.txt.

        It needs math.h, allocates nothing and begins with the numbers that are set now; `numbers` of its
        struct change them, at places that the header names.

        Returns:
            The files written.

        Raises:
            HelicoidError: the folder cannot be written to, or has files of these names that no export wrote.
        """
        kept, states, torques = self._memory.copy(), [], []
        rng = np.random.default_rng(0)
        q = self.robot.random(rng)
        self._begin()
        for _ in range(20):
            v = 0.1 * rng.normal(size=self.robot.nv)
            states.append(np.concatenate([q, v]))
            torques.append(self.step(q, v))
            q = self.robot.integrate(q, 0.01 * v)
        self._memory[:] = kept
        return exporting.export_c(self, folder, name, np.array(states), np.array(torques))

    # What is so -------------------------------------------------------------------------------------

    @property
    def status(self) -> StepStatus:
        """How the last step went."""
        code = int(self._memory[self._at["info"]][0])
        if code == 3 and np.isnan(self._p).any():
            return "no target"
        return "not started" if code < 0 else _STATUSES[code]

    @property
    def ok(self) -> bool:
        """Whether the last torque is the best within all limits, and something holds the robot."""
        return int(self._memory[self._at["info"]][0]) == 0

    @property
    def details(self) -> str:
        """In words, what the last step could not do; empty where all is well."""
        if self.status == "infeasible":
            told = [f"{one.kind} of {one.of} by {one.excess:.3g}" for one in self.violations]
            return "limits contradict each other; exceeded: " + (", ".join(told) or "none beyond rounding")
        if self.status == "no contact":
            return "no contact holds the floating base: it falls, whatever the motors do"
        if self.status == "no target":
            missing = [name for name in self.numbers.names if np.isnan(self._p[self.numbers[name].at]).any()]
            return f"no target was set for {', '.join(missing)}"
        return "" if self.ok or self.status == "not started" else "the last good torque dies away"

    @property
    def accelerations(self) -> Array:
        """a of the last step (nv), as its model has them."""
        return self._memory[self._at["x"]][: self.robot.nv].copy()

    @property
    def forces(self) -> Mapping[str, Array]:
        """What the ground does to each contact, world axes: f (3), or (n, f) (6) of a sole."""
        return world_forces(self.formulation.contacts, self._memory[self._at["forces"]])

    @property
    def contacts(self) -> tuple[str, ...]:
        """The contacts that held in the last step."""
        on = self._memory[self._at["is_on"]]
        return tuple(one.name for one, held in zip(self.formulation.contacts, on, strict=True) if held)

    @property
    def iterations(self) -> int:
        """Steps of the active set in the last call."""
        return int(self._memory[self._at["info"]][1])

    @property
    def limits(self) -> tuple[Held, ...]:
        """What held the last step back."""
        return tuple(limits_at(self)) if self.status in ("solved", "infeasible", "no contact") else ()

    @property
    def violations(self) -> tuple[Held, ...]:
        """The limits that the last step exceeds; none unless it is infeasible."""
        return tuple(one for one in self.limits if one.excess > 0)

    def error(self, task: str | Task) -> Array:
        """What was missing to a task of motion or momentum at the last step; zeros before the first."""
        name = task if isinstance(task, str) else task.name
        for own, other, at in self._errors:
            if name in (own, other):
                return self._memory[at].copy()
        known = ", ".join(own for own, _, _ in self._errors)
        raise InputError(f"there is no task of motion {name!r}; there are {known or 'none'}")

    # How it is made ---------------------------------------------------------------------------------

    def _layout(self) -> None:
        """The memory of runtime/whole_body.h."""
        f, nv = self.formulation, self.robot.nv
        limits = f.n_variables + f.n_cones + len(self.robot.actuated)
        measured = [(n, t) for n, t in zip(f.names, f.tasks, strict=True) if t.of in ("motion", "momentum")]
        rows = [task.rows(self.robot) for _, task in measured]
        contacts = len(f.contacts)
        sizes = {
            **{"torque": nv, "wanted": nv, "x": f.n_variables, "forces": f.n_forces, "state": limits},
            **{"lower": f.n_variables, "upper": f.n_variables, "cap": contacts, "is_on": contacts},
            **{"fall": contacts, "errors": sum(rows), "info": 3},
        }
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self._at = {name: slice(a, b) for name, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}
        starts = self._at["errors"].start + np.cumsum([0, *rows])
        self._errors = [
            (name, task.name, slice(int(start), int(start) + count))
            for (name, task), start, count in zip(measured, starts[:-1], rows, strict=True)
        ]
        self._memory = np.zeros(ends[-1])

    def _begin(self) -> None:
        self._memory[:] = 0
        self._memory[self._at["info"].start] = -1

    @property
    def memory_size(self) -> int:
        """Numbers that a loop keeps."""
        return self._memory.size

    def definitions(self) -> str:
        """The sizes that runtime/whole_body.h needs, in C."""
        return exporting.definitions(self)

    def data(self) -> ca.Function:
        """The function (q, v, p) that gives the data of a step."""
        robot = self.robot
        q, v = ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
        p = ca.SX.sym("p", self._p.size)
        return self.formulation.data(q, v, p, self.numbers.symbols(p))

    def _compiled(self) -> Any:
        text = f'{self.definitions()}#include "whole_body.c"\n'
        inputs = [(self.robot.nq,), (self.robot.nv,), (self._p.size,)]
        outputs = [(self.robot.nv,), (self._memory.size,)]
        with needs_compiler():
            return compile_kernel(
                "the controller", text, self.runtimes, inputs, outputs, {"data": self.data()}
            )

    def _contact_name(self, name: str) -> str:
        f = self.formulation
        for own, one in zip(f.contact_names, f.contacts, strict=True):
            if name in (own, one.name):
                return own
        known = ", ".join(one.name for one in f.contacts)
        raise InputError(f"there is no contact {name!r}; there are {known or 'none'}")

    def _cone_rows(self) -> Iterator[Array]:
        for one, name in zip(self.formulation.contacts, self.formulation.contact_names, strict=True):
            yield np.array(ca.DM(one.cone(ca.SX(float(self._p[self.numbers[f"{name}_friction"].at][0])))))

    def _as_vector(self, name: str, given: ArrayLike, size: int) -> Array:
        """A measurement as the loop reads it. What is none is refused at the first step, a bad one later."""
        got = repr(given)
        try:
            vector = np.array(given, dtype=np.float64)
            if vector.shape == (size,):
                return vector
            got = f"shape {vector.shape}"
        except (TypeError, ValueError, OverflowError):
            pass
        if self._memory[self._at["info"]][0] < 0:
            raise InputError(f"{name} must be numbers of shape {(size,)}; got {got}")
        return np.full(size, np.nan)


def _copied(arguments: tuple[Any, ...], options: dict[str, Any], p: Array, memory: Array) -> WholeBody:
    made = WholeBody(*arguments, **options)
    made._p[:], made._memory[:] = p, memory
    return made
