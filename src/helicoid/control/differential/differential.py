"""Differential kinematics: joint velocities that make tasks come true, within limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler import compile_kernel
from helicoid.control.differential import exporting
from helicoid.control.differential.formulation import Formulation, capsules_apart, levels_of
from helicoid.control.differential.limits import Limit, limits_at
from helicoid.control.differential.numbers import finite
from helicoid.control.qp.program import RUNTIME as QP_RUNTIME
from helicoid.control.qp.program import needs_compiler
from helicoid.control.tasks import Task
from helicoid.errors import InputError
from helicoid.robot.collision import Capsules
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
    "not started",
    "no target",
]
"""How a step went; the first six in the order of the enumeration in runtime/differential.h."""
_STATUSES: tuple[StepStatus, ...] = get_args(StepStatus)


class DifferentialIK:
    """Joint velocities v by which tasks come true, J v = velocity + gain e, as far as limits allow.

    "weighted" weighs all tasks against each other: min Σ w |J v - velocity - gain e|² + λ² |v - v0|².
    "strict" makes every task of the list, or every list of tasks in it, a level of its own that takes nothing
    from the ones before. Velocity, position and acceleration limits and the robot's constraints go before all
    tasks. λ² = damping² + error_damping |w e| keeps velocities bounded near singularities; v0 is for the null
    space.

    Args:
        tasks: what to achieve (`PoseTask`, `CenterOfMassTask`, ...), for "strict" the most important first.
        dt: time between steps (s).
        priorities: "weighted" or "strict".
        gain: how fast errors vanish (1/s), ė = -gain e; a number, or one for each task. At most 1/dt counts.
        acceleration: limits (rad/s², m/s²), a number or nv of them; None for none.
        solver: "qp" finds the best motion within limits. "projection" is the damped pseudo-inverse, strict by
            projections onto null spaces; limits then make the whole motion slower.
        damping, error_damping: see above.
        approach: how fast joints without limited acceleration go to the ends of their range at most, as a
            share of the distance (1/s); and how fast they return from beyond.
        self_distance: what links that are no neighbours stay apart by (m), approached in the same way; None
            for anything. Of `capsules`, by default those of `robot.capsules()`.

    A step is one call of compiled C. After the first it never raises, and v is finite and within its limits
    whatever q is; where q is no configuration, the last velocity dies away and `ok` is False. `set` changes
    targets and all other numbers by name; as long as a task has no target, nothing moves.

    Raises:
        CompileError: there is no C compiler.

    >>> import helicoid as hc
    >>> robot = hc.load("panda")
    >>> q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8])
    >>> hand = hc.control.PoseTask("panda_link8", name="hand")
    >>> ik = hc.control.DifferentialIK(robot, [hand, hc.control.PostureTask(q, weight=1e-6)], dt=0.01)
    >>> target = robot.pose("panda_link8")(q)
    >>> target[:3, 3] += [0, 0.1, -0.1]
    >>> ik.set(hand=target)
    >>> for _ in range(200):
    ...     q = robot.integrate(q, 0.01 * ik.step(q))
    >>> bool(np.abs(robot.pose("panda_link8")(q) - target).max() < 1e-4), ik.ok, ik.limits
    (True, True, ())
    """

    def __init__(
        self,
        robot: Robot,
        tasks: Task | Sequence[Task | Sequence[Task]],
        dt: float,
        priorities: Priorities = "weighted",
        *,
        gain: float | Sequence[float] = 10.0,
        acceleration: ArrayLike | None = None,
        solver: Literal["qp", "projection"] = "qp",
        damping: float = 1e-3,
        error_damping: float = 0.1,
        approach: float = 10.0,
        self_distance: float | None = None,
        capsules: Capsules | None = None,
    ) -> None:
        self.robot = as_robot(robot, "DifferentialIK")
        if priorities not in ("weighted", "strict"):
            raise InputError(f"priorities is 'weighted' or 'strict'; got {priorities!r}")
        if solver not in ("qp", "projection"):
            raise InputError(f"solver is 'qp' or 'projection'; got {solver!r}")
        levels = levels_of(self.robot, tasks)
        shapes, pairs = capsules_apart(self.robot, self_distance, capsules, solver)
        self.formulation = Formulation(
            self.robot, levels, priorities == "strict", acceleration is not None, shapes, pairs
        )
        self.numbers = self.formulation.numbers(
            dt, gain, acceleration, damping, error_damping, approach, self_distance or 0.0
        )
        self.solver = solver
        self._layout()
        self._p = self.numbers.values
        self._kernel = self._compiled()
        self._evaluate = self._kernel.evaluate
        self._memory[-2] = -1
        options: dict[str, Any] = {
            "gain": gain,
            "acceleration": acceleration,
            "solver": solver,
            "damping": damping,
        }
        options |= {"error_damping": error_damping, "approach": approach}
        options |= {"self_distance": self_distance, "capsules": capsules}
        self._arguments = (robot, [list(level) for level in levels], dt, priorities), options

    def __reduce__(self) -> tuple[Any, ...]:
        # What is compiled belongs to this process: a copy finds it in the cache.
        return _copied, (*self._arguments, self._p.copy(), self._memory.copy())

    runtimes = (RUNTIME, QP_RUNTIME)

    # The loop ---------------------------------------------------------------------------------------

    def step(self, q: ArrayLike) -> Array:
        """Velocities (nv) for the configuration q (nq), to be held for dt."""
        v = np.empty(self.robot.nv)
        try:
            self._evaluate((q, self._p), (v, self._memory))
        except ValueError:
            self._evaluate((self._as_configuration(q), self._p), (v, self._memory))
        return v

    def set(self, **values: ArrayLike) -> None:
        """Change numbers by name, all or, where one is refused, none.

        Of a task called "hand": `hand` is its target, `hand_velocity` how that moves (a number for each row
        of the task, rad/s before m/s), `hand_gain` and `hand_weight`. Of all: `velocity_limit` and
        `acceleration_limit` (nv), `position_lower` and `position_upper` (nq), `null_velocity` (nv),
        `damping`, `error_damping`, `approach`, `dt`.
        """
        if "acceleration_limit" in values and not self.formulation.accelerates:
            raise InputError("acceleration_limit needs DifferentialIK(acceleration=...) from the start")
        ends = []
        for name in ("position_lower", "position_upper"):
            entry = self.numbers[name]
            ends.append(entry.check(name, values.get(name, self._p[entry.at])))
        if np.any(ends[0] > ends[1]):
            raise InputError("position_lower must not exceed position_upper")
        self.numbers.set(values)

    def reset(self, v: ArrayLike = 0.0) -> None:
        """Forget what was: the next step begins at the velocity v, with nothing active."""
        self._memory[:] = 0
        self._memory[: self.robot.nv] = finite((self.robot.nv,))("v", v)
        self._memory[-2] = -1

    def export_c(self, folder: str | os.PathLike[str], name: str = "differential_ik") -> list[Path]:
        """Write this controller as a library in C99, with a program that checks it and a CMakeLists.txt.

        It needs math.h, allocates nothing and begins at rest with the numbers that are set now; `numbers` of
        its struct change them, at places that the header names.

        Returns:
            The files written.

        Raises:
            HelicoidError: the folder cannot be written to, or has files of these names that no export wrote.
        """
        kept, Q, V = self._memory.copy(), [], []
        rng = np.random.default_rng(0)
        q = self.robot.random(rng)
        self.reset()
        for _ in range(20):
            Q.append(q)
            V.append(self.step(q))
            q = self.robot.integrate(q, self.robot.nv**-0.5 * 0.01 * rng.normal(size=self.robot.nv))
        self._memory[:] = kept
        return exporting.export_c(self, folder, name, np.array(Q), np.array(V))

    # What is so -------------------------------------------------------------------------------------

    @property
    def status(self) -> StepStatus:
        """How the last step went."""
        code = int(self._memory[-2])
        if code == 3 and np.isnan(self._p).any():
            return "no target"
        return "not started" if code < 0 else _STATUSES[code]

    @property
    def ok(self) -> bool:
        """Whether the last velocity is the best within the limits."""
        return int(self._memory[-2]) == 0

    @property
    def iterations(self) -> int:
        """Steps of the active set in the last call."""
        return int(self._memory[-1])

    def error(self, task: str | Task) -> Array:
        """What was missing to a task at the last step, e(q); zeros before the first."""
        name = task if isinstance(task, str) else task.name
        tasks = zip(self.formulation.names, self.formulation.tasks, strict=True)
        known = [name in (one, other.name) for one, other in tasks]
        if True not in known:
            raise InputError(f"there is no task {name!r}; there are {', '.join(self.formulation.names)}")
        return self._memory[self._errors[known.index(True)]].copy()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits that the last velocity is at."""
        if not self.ok and self.status != "infeasible":
            return ()
        return tuple(limits_at(self.formulation, self.numbers, self._memory, self._lower, self._upper))

    # How it is made ---------------------------------------------------------------------------------

    def _layout(self) -> None:
        """The memory of runtime/differential.h."""
        rows = [task.rows(self.robot) for task in self.formulation.tasks]
        nv, n = self.robot.nv, self.robot.nv + self.formulation.n_rows
        self._lower, self._upper = slice(2 * nv + n, 2 * nv + 2 * n), slice(2 * nv + 2 * n, 2 * nv + 3 * n)
        starts = 2 * nv + 3 * n + np.cumsum([0, *rows])
        self._errors = [slice(a, b) for a, b in pairwise(starts)]
        self._memory = np.zeros(int(starts[-1]) + 2)

    @property
    def memory_size(self) -> int:
        """Numbers that a loop keeps."""
        return self._memory.size

    def definitions(self) -> str:
        """The sizes that runtime/differential.h needs, in C."""
        at = self.numbers
        levels = ", ".join(map(str, self.formulation.level_rows))
        sizes: dict[str, Any] = {
            "NQ": self.robot.nq,
            "NV": self.robot.nv,
            "NP": self._p.size,
            "NE": sum(task.rows(self.robot) for task in self.formulation.tasks),
            "NM": self.formulation.n_rows,
            "NC": self.formulation.constraint_rows,
            "STRICT": int(self.formulation.strict),
            "SCALED": int(self.solver == "projection"),
            "LEVELS": f"{{{levels}}}",
            "NL": len(self.formulation.level_rows),
            "P_DT": at["dt"].at.start,
            "P_APPROACH": at["approach"].at.start,
            "P_ACCELERATION": at["acceleration_limit"].at.start,
            "P_NULL_VELOCITY": at["null_velocity"].at.start,
        }
        return "".join(f"#define {name} {value}\n" for name, value in sizes.items())

    def data(self) -> ca.Function:
        """The function (q, p) that gives the program of a step."""
        q, p = ca.SX.sym("q", self.robot.nq), ca.SX.sym("p", self._p.size)
        return self.formulation.data(q, p, self.numbers.symbols(p))

    def _compiled(self) -> Any:
        text = f'{self.definitions()}#include "differential.c"\n'
        shapes = [(self.robot.nq,), (self._p.size,)], [(self.robot.nv,), (self._memory.size,)]
        with needs_compiler():
            return compile_kernel("the controller", text, self.runtimes, *shapes, {"data": self.data()})

    def _as_configuration(self, q: ArrayLike) -> Array:
        """q as the loop reads it. What is none is refused at the first step, a bad measurement later."""
        shape, got = (self.robot.nq,), repr(q)
        try:
            given = np.array(q, dtype=np.float64)
            if given.shape == shape:
                return given
            got = f"shape {given.shape}"
        except (TypeError, ValueError, OverflowError):
            pass
        if self._memory[-2] < 0:
            raise InputError(f"q must be numbers of shape {shape}; got {got}")
        return np.full(shape, np.nan)


def _copied(arguments: tuple[Any, ...], options: dict[str, Any], p: Array, memory: Array) -> DifferentialIK:
    made = DifferentialIK(*arguments, **options)
    made._p[:], made._memory[:] = p, memory
    return made
