"""The costs of a problem: squares of residuals with weights and targets that change at run time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array, Expression
from helicoid.dynamics import configuration
from helicoid.errors import InputError
from helicoid.geometry import so3
from helicoid.mpc.system import System
from helicoid.mpc.terms import Cost, Parameter

if TYPE_CHECKING:
    from helicoid.robot import Robot


class CostTerms(ABC):
    """Ways to add a cost. Each has a name; see `Problem.set` for what that makes settable."""

    robot: Robot | None
    system: System
    _costs: list[Cost]
    _parameters: list[Parameter]
    _initial_free: Array

    @property
    @abstractmethod
    def intervals(self) -> int:
        """Number of intervals of the grid."""

    @abstractmethod
    def _changed(self) -> None:
        """What was made of the terms so far is no longer true."""

    def parameter(self, name: str, value: ArrayLike) -> Expression:
        """A named number or vector for expressions of one's own: its symbol.

        `value` is what it starts with, for all nodes alike; `set` takes a row for each node too.
        """
        return self._parameter(name, np.asarray(value, dtype=np.float64))

    def _parameter(self, name: str, value: Array, size: int | None = None) -> Expression:
        """A parameter of `size` (by default that of the value); the value may have a row for each node."""
        nodes = self.intervals + 1
        if size is None:
            size = max(1, value.size)
        if value.shape != (nodes, size):
            if value.size != size:
                raise InputError(
                    f"{name!r} takes {size} numbers, or ({nodes}, {size}) for each node; "
                    f"got shape {value.shape}"
                )
            value = np.tile(value.reshape(1, size), (nodes, 1))
        if not np.isfinite(value).all():
            raise InputError(f"{name!r} must be finite, got {value[0]}")
        self._check_new(name)
        symbol = ca.SX.sym(name, size)
        self._parameters.append(Parameter(name, symbol, value))
        self._changed()
        return symbol

    def _check_new(self, name: str) -> None:
        taken = {parameter.name for parameter in self._parameters}
        if not name.isidentifier() or name in taken or name == "theta":
            raise InputError(f"{name!r} is taken or is no identifier: name the term otherwise with name=...")

    def add_cost(
        self,
        name: str,
        expression: Expression,
        weight: ArrayLike,
        end_weight: ArrayLike | None = None,
        square: bool = True,
    ) -> None:
        """½ w |r|² of any residual r of the symbols, on the path and, with `end_weight`, at the end.

        With `square=False` the cost is w times the expression, a number, by its exact second derivatives,
        which should be positive semidefinite where it matters. A weight is a number or one for each element;
        where it is zero, on the path or at the end, the cost is left out and `set` cannot bring it in.
        """
        expression = self._column(expression, f"cost {name!r}")
        if not square and expression.numel() != 1:
            raise InputError(f"cost {name!r}: needs a number if not square, got {expression.shape}")
        size = max(np.size(weight), np.size(0 if end_weight is None else end_weight))
        if size not in (1, expression.numel()):
            raise InputError(f"cost {name!r}: weight must have 1 or {expression.numel()} numbers")
        ends = end_weight is not None and bool(np.any(np.asarray(end_weight) != 0))
        if ends and self._needs_control(expression):
            raise InputError(f"cost {name!r} depends on the control, which the last node does not have")
        values = np.tile(
            np.broadcast_to(np.asarray(weight, dtype=np.float64), (size,)), (self.intervals + 1, 1)
        )
        values[-1] = 0.0 if end_weight is None else end_weight
        if not np.all(values >= 0) or not np.isfinite(values).all():
            raise InputError(f"cost {name!r}: weights must be finite and not negative")
        self._check_new(f"{name}_weight")
        symbol = ca.SX.sym(f"{name}_weight", size)
        on_path = bool(np.any(values[0] != 0)) or not ends
        cost = Cost(name, expression, symbol, square, on_path, ends)
        self._parameters.append(Parameter(f"{name}_weight", symbol, values, cost))
        self._costs.append(cost)
        self._changed()

    def _column(self, expression: Expression, what: str) -> Expression:
        """An expression of the problem's symbols as a column of SX."""
        try:
            column = ca.SX(expression)
        except NotImplementedError:
            kind = type(expression).__name__
            raise InputError(f"{what}: needs CasADi SX of the problem's symbols, got {kind}") from None
        if column.shape[1] != 1 or column.numel() == 0:
            raise InputError(f"{what}: needs a column, got shape {column.shape}")
        system = self.system
        known = [system.x, system.u, system.theta, system.h]
        known += [y.symbol for y in system.intermediates] + [p.symbol for p in self._parameters]
        free = ca.Function("f", known, [column], {"allow_free": True}).get_free()
        if free:
            raise InputError(
                f"{what}: {', '.join(map(str, free))} are no symbols of this problem; "
                "problem.parameter makes one for a number of your own"
            )
        return column

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """A term that is refused leaves no parameters behind, so that it can be added once more."""
        count = len(self._parameters)
        try:
            yield
        except InputError:
            del self._parameters[count:]
            self._changed()
            raise

    def _needs_control(self, expression: Expression) -> bool:
        system = self.system
        symbols = ca.vertcat(system.u, *(y.symbol for y in system.intermediates))
        return bool(ca.depends_on(expression, symbols))

    def _robot(self) -> Robot:
        if self.robot is None:
            raise InputError("this term needs a robot; of an ODE, use add_cost and add_constraint")
        return self.robot

    # Of a robot ------------------------------------------------------------------------------------------

    def add_position_cost(
        self,
        frame: str,
        target: ArrayLike,
        weight: ArrayLike,
        end_weight: ArrayLike | None = None,
        name: str = "position",
    ) -> None:
        """½ w |p(q) - target|² of a frame's origin in the world (m)."""
        p = self._robot().pose(frame)(self.system.symbols["q"])[:3, 3]
        with self._undone_on_error():
            wanted = self._parameter(name, np.asarray(target, float), 3)
            self.add_cost(name, p - wanted, weight, end_weight)

    def add_orientation_cost(
        self,
        frame: str,
        target: ArrayLike,
        weight: ArrayLike,
        end_weight: ArrayLike | None = None,
        name: str = "orientation",
    ) -> None:
        """½ w |log(R_targetᵀ R(q))|², the angle (rad) between a frame and a target rotation (3 × 3)."""
        R = self._robot().pose(frame)(self.system.symbols["q"])[:3, :3]
        with self._undone_on_error():
            wanted = ca.reshape(self._parameter(name, np.asarray(target, float), 9), 3, 3).T
            self.add_cost(name, so3.log(wanted.T @ R), weight, end_weight)

    def add_pose_cost(
        self,
        frame: str,
        target: ArrayLike,
        weight: ArrayLike,
        end_weight: ArrayLike | None = None,
        name: str = "pose",
    ) -> None:
        """Orientation and position in one, residual (rad, rad, rad, m, m, m), for a target pose (4 × 4)."""
        T = self._robot().pose(frame)(self.system.symbols["q"])
        with self._undone_on_error():
            wanted: Any = ca.reshape(self._parameter(name, np.asarray(target, float), 16), 4, 4).T
            turn = so3.log(wanted[:3, :3].T @ T[:3, :3])
            self.add_cost(name, ca.vertcat(turn, T[:3, 3] - wanted[:3, 3]), weight, end_weight)

    def add_posture_cost(
        self,
        target: ArrayLike,
        weight: ArrayLike,
        end_weight: ArrayLike | None = None,
        name: str = "posture",
    ) -> None:
        """½ w |q ⊖ target|²: distance of the joints from a posture (nq), in the tangent space (nv)."""
        robot = self._robot()
        with self._undone_on_error():
            wanted = self._parameter(name, np.asarray(target, float), robot.nq)
            residual = configuration.difference(robot.model, wanted, self.system.symbols["q"])
            self.add_cost(name, residual, weight, end_weight)

    def add_velocity_cost(
        self, weight: ArrayLike, end_weight: ArrayLike | None = None, name: str = "velocity"
    ) -> None:
        """½ w |v|² of the joints."""
        self.add_cost(name, self.system.symbols["v"], weight, end_weight)

    def add_torque_cost(
        self, weight: ArrayLike, reference: ArrayLike | None = None, name: str = "torque"
    ) -> None:
        """½ w |τ - τ_ref|²; the reference is gravity g(q), or given numbers (nv), settable as `name`."""
        robot = self._robot()
        q, tau, theta = self.system.symbols["q"], self.system.symbols["tau"], self.system.theta
        with self._undone_on_error():
            if reference is None:
                held: Any = robot.gravity(q, *([theta] if robot.selection.groups else []))
            else:
                held = self._parameter(name, np.asarray(reference, float), robot.nv)
            self.add_cost(name, tau - held, weight)

    def add_control_cost(self, weight: ArrayLike, name: str = "control") -> None:
        """½ w |u|² of the controls: accelerations or torques."""
        self.add_cost(name, self.system.u, weight)

    def add_control_rate_cost(self, weight: ArrayLike, name: str = "control_rate") -> None:
        """½ w |(u - u_before) / h|²: jerk where the controls are accelerations.

        The control before the first is free, unless a Controller knows what it applied.
        """
        if "previous" not in self.system.symbols:
            self.system = self.system.with_previous_control()
            self._initial_free = np.append(self._initial_free, np.ones(self.system.nu, dtype=bool))
        rate = (self.system.u - self.system.symbols["previous"]) / self.system.length
        self.add_cost(name, rate, weight)
