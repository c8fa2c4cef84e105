"""Differential inverse kinematics: joint velocities that track tasks within limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.control.differential.formulation import OUTPUTS, VelocityProgram, capsules_apart
from helicoid.control.differential.limits import Limit, limits_at
from helicoid.control.program.controller import ProgramController
from helicoid.control.program.levels import Priorities, is_strict, levels_of
from helicoid.control.program.library import Library
from helicoid.control.program.loop import CompiledStep, qp_work
from helicoid.control.program.numbers import Numbers, finite
from helicoid.control.tasks import Task
from helicoid.deprecation import renamed_arguments
from helicoid.errors import InputError
from helicoid.robot.collision import Capsules
from helicoid.robot.robot import Robot, as_robot
from helicoid.status import Status

RUNTIME = Path(__file__).parent / "runtime"

_DATA = """\
DATA(q, p, first, second, A, lower, upper, errors, damping, wanted, scratch) \\
  {p}_data(q, p, first, second, A, lower, upper, errors, damping, wanted)"""


class DifferentialIK(ProgramController):
    """Joint velocities v that track tasks, J v = velocity + gain e, as far as limits allow.

    "weighted" minimises a weighted sum: min Σ w |J v - velocity - gain e|² + λ² |v - v0|².
    "strict" makes every task of the list, or every list of tasks in it, a level of its own that takes nothing
    from the ones before. Velocity, position and acceleration limits and the robot's constraints go before all
    tasks. λ² = λ₀² + κ |w e| keeps velocities bounded near singularities (damped least squares); v0 acts in
    the null space.

    Args:
        tasks: objectives (`PoseTask`, `CenterOfMassTask`, ...), for "strict" the most important first.
        dt: time between steps (s).
        priorities: "weighted" or "strict".
        gain: how fast errors vanish (1/s), ė = -gain e; a number, or one for each task. At most 1/dt counts.
        acceleration: limits (rad/s², m/s²), a number or nv of them; None for none.
        solver: "qp" finds the best motion within limits. "projection" is the damped pseudo-inverse, strict by
            projections onto null spaces; limits then make the whole motion slower.
        damping_factor, error_damping_factor: λ₀ and κ of λ above.
        approach: how fast joints without limited acceleration go to the ends of their range at most, as a
            share of the distance (1/s); and how fast they return from beyond.
        self_distance: what links that are no neighbours stay apart by (m), approached in the same way; None
            for anything. Of `capsules`, by default those of `robot.capsules()`.

    A step is one call of compiled C. After the first it never raises, and v is finite and within its limits
    whatever q is; where q is no configuration, the last velocity decays and `ok` is False. `set` changes
    targets and all other numbers by name; as long as a task has no target, nothing moves. Out of reach of
    its targets the robot comes to rest; as long as it moves without getting nearer, status is "no progress".

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

    command = "v"
    _decaying, _library_name = "velocity", "differential_ik"

    @renamed_arguments(damping="damping_factor", error_damping="error_damping_factor")
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
        damping_factor: float = 1e-3,
        error_damping_factor: float = 0.1,
        approach: float = 10.0,
        self_distance: float | None = None,
        capsules: Capsules | None = None,
    ) -> None:
        robot, strict = as_robot(robot, "DifferentialIK"), is_strict(priorities)
        if solver not in ("qp", "projection"):
            raise InputError(f"solver is 'qp' or 'projection'; got {solver!r}")
        levels = levels_of(robot, tasks)
        shapes, pairs = capsules_apart(robot, self_distance, capsules, solver)
        self.solver = solver
        self.formulation = VelocityProgram(robot, levels, strict, acceleration is not None, shapes, pairs)
        options: dict[str, Any] = {
            **{"gain": gain, "acceleration": acceleration},
            **{"damping_factor": damping_factor, "error_damping_factor": error_damping_factor},
            **{"approach": approach, "self_distance": self_distance},
        }
        loop = _compiled(self.formulation, self.formulation.numbers(dt, **options), solver)
        options |= {"solver": solver, "capsules": capsules}
        arguments = (robot, [list(level) for level in levels], dt, priorities)
        super().__init__(robot, self.formulation, loop, arguments, options)

    # In the loop ------------------------------------------------------------------------------------

    def step(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Velocities (nv) for the configuration q (nq), to be held for dt; a measured v is not used."""
        command = np.empty(self.robot.nv)
        try:
            self._evaluate((q, self._p), (command, self._memory))
        except ValueError:
            q = self._loop.as_vector("q", q, self.robot.nq)
            self._evaluate((q, self._p), (command, self._memory))
        return command

    def set(self, **values: ArrayLike) -> None:
        """Change numbers by name, all or, where one is refused, none.

        Of a task called "hand": `hand` is its target, `hand_velocity` how that moves (a number for each row
        of the task, rad/s before m/s), `hand_gain` and `hand_weight`. Of all: `velocity_limit` and
        `acceleration_limit` (nv), `position_lower` and `position_upper` (nq), `null_velocity` (nv),
        `damping_factor`, `error_damping_factor`, `approach`, `dt`.
        """
        if "acceleration_limit" in values and not self.formulation.accelerates:
            raise InputError("acceleration_limit needs DifferentialIK(acceleration=...) from the start")
        self._loop.set(values)

    def reset(self, v: ArrayLike = 0.0) -> None:
        """Clear the active set; the next step begins at the velocity v."""
        before = finite((self.robot.nv,))("v", v)
        self._loop.begin()
        self._memory[: self.robot.nv] = before

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Active limits of the last velocity."""
        if self.status not in (Status.OK, Status.INFEASIBLE, Status.NO_PROGRESS):
            return ()
        return tuple(limits_at(self.formulation, self._loop))

    def _contradiction(self) -> str:
        return f"active: {', '.join(f'{one.kind} of {one.joint}' for one in self.limits) or 'none'}"

    def _library(self) -> Library:
        return Library(
            what="Joint velocities from tasks, one call a step.",
            step="Velocities (nv) for a configuration (nq), to be held for dt; finite and within limits.",
            falling_back="Beyond the second, but for no progress, the last velocity decays.",
            kept="the last velocity first",
            inputs=("q",),
            outputs=OUTPUTS,
            result="v",
            macro=_DATA,
            runtime="differential.h",
            function="differential_step",
            work=_work(self.formulation),
            tolerance="1e-9",
        )


def _compiled(f: VelocityProgram, at: Numbers, solver: str) -> CompiledStep:
    """The step of runtime/differential.h: its memory and its sizes."""
    robot = f.robot
    rows = sum(task.rows(robot) for task in f.tasks)
    q, p = ca.SX.sym("q", robot.nq), ca.SX.sym("p", at.values.size)
    sizes: dict[str, Any] = {
        **{"NV": robot.nv, "NP": at.values.size, "NB": robot.nv + f.n_rows},
        **{"NE": rows, "NM": f.n_rows, "NC": f.constraint_rows},
        **{"STRICT": int(f.strict), "SCALED": int(solver == "projection")},
        **{"LEVELS": f"{{{', '.join(map(str, f.level_rows))}}}", "NL": len(f.level_rows)},
        "NLV": len(f.level_rows) * robot.nv,
        "GAINS": f"{{{', '.join(str(at[f'{name}_gain'].at.start) for name in f.names)}}}",
        "P_DT": at["dt"].at.start,
        "P_APPROACH": at["approach"].at.start,
        "P_VELOCITY": at["velocity_limit"].at.start,
        "P_ACCELERATION": at["acceleration_limit"].at.start,
        "P_NULL_VELOCITY": at["null_velocity"].at.start,
    }
    data, tasks = f.data(q, p, at.symbols(p)), zip(f.names, f.tasks, strict=True)
    return CompiledStep(robot, at, tasks, RUNTIME / "differential.c", sizes, data)


def _work(f: VelocityProgram) -> int:
    """STEP_WORK of runtime/differential.h; with less, the exported library does not compile."""
    nv, rows, m = f.robot.nv, f.level_rows, f.n_rows
    n, total = nv + m, sum(rows)
    levels = nv * nv + nv + (m + total) * nv + 4 * (n + total) + nv + qp_work(nv, m + total)
    data = (total if f.strict else nv) * (nv + 1) + m * nv + 2 * len(rows) + 5 * n
    return data + (levels if f.strict else qp_work(nv, m))
