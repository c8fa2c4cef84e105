"""The constraints of a problem: limits, frames in boxes and half-spaces, distances, final states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Expression
from helicoid.dynamics import configuration
from helicoid.errors import InputError
from helicoid.mpc.costs import CostTerms
from helicoid.mpc.shapes import Shape, distance
from helicoid.mpc.terms import Constraint, vector
from helicoid.mpc.terms import mask as chosen_elements

if TYPE_CHECKING:
    pass


class ConstraintTerms(CostTerms):
    """Ways to add a constraint.

    All take `soft`: None for a hard constraint, else the price of exceeding it by one scaled unit, or a pair
    (price, price of the square). Bounds change at run time as `<name>_lower` and `<name>_upper`.
    """

    _constraints: list[Constraint]

    def add_constraint(
        self,
        name: str,
        expression: Expression,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        soft: float | tuple[float, float] | None = None,
        on_path: bool = True,
        at_end: bool | None = None,
        scale: ArrayLike = 1.0,
        labels: Sequence[str] | None = None,
    ) -> None:
        """lower ≤ expression ≤ upper for any expression of the problem's symbols; equal bounds fix it.

        It holds at every node on the path (at the first, whose state is given, only if the control enters)
        and at the end, unless it depends on the control. `scale` multiplies the rows, to make them of order
        one.
        """
        expression = self._column(expression, f"constraint {name!r}")
        if not name.isidentifier() or any(one.name == name for one in self._constraints):
            raise InputError(f"constraint {name!r}: needs a name that is an identifier and no other one has")
        controlled = self._needs_control(expression)
        if at_end and controlled:
            raise InputError(f"constraint {name!r} depends on the control, which the last node does not have")
        ends = (not controlled) if at_end is None else at_end
        if not on_path and not ends:
            raise InputError(f"constraint {name!r} would hold nowhere: neither on the path nor at the end")
        size = expression.numel()
        low, high = (vector(bound, size, f"constraint {name!r}", infinite=True) for bound in (lower, upper))
        if np.any(low > high):
            raise InputError(f"constraint {name!r}: lower bounds exceed upper bounds in {low} and {high}")
        price, price2 = soft if isinstance(soft, tuple) else (soft, 0.0)
        if price is not None and not (price >= 0 and price2 >= 0 and 0 < price + price2 < np.inf):
            raise InputError(
                f"constraint {name!r}: the price of a soft constraint must be positive, got {soft}"
            )
        shown = tuple(labels) if labels is not None else tuple(f"row {k}" for k in range(size))
        factors = vector(scale, size, f"constraint {name!r}: scale")
        if len(shown) != size or not np.all(factors > 0):
            raise InputError(f"constraint {name!r}: needs {size} labels and positive scales")
        self._constraints.append(
            Constraint(
                name,
                expression,
                low,
                high,
                factors,
                on_path,
                ends,
                price,
                price2,
                shown,
            )
        )
        self._changed()

    # Of a robot ------------------------------------------------------------------------------------------

    def add_limits(
        self,
        position: float | None = 1.0,
        velocity: float | None = 1.0,
        torque: float | None = 1.0,
        soft: float | tuple[float, float] | None = None,
    ) -> None:
        """The robot's own limits, each times a factor; None leaves one out.

        A factor of a range shrinks it towards its middle. They are called `position_limit`, `velocity_limit`
        and `torque_limit`. Coordinates without limit are left out.
        """
        robot = self._robot()
        if any(factor is not None and not 0 < factor < np.inf for factor in (position, velocity, torque)):
            raise InputError(
                "factors of limits are positive, or None to leave one out; "
                f"got {position}, {velocity}, {torque}"
            )
        symbols, limits, model = self.system.symbols, robot.limits, robot.model
        if position is not None:
            lower, upper = limits.lower, limits.upper
            turning = {k for part in model.quaternions for k in range(robot.nq)[part]}
            limited = np.isfinite(lower) | np.isfinite(upper)
            at = [k for k in range(robot.nq) if limited[k] and k not in turning]
            low, high = lower[at], upper[at]
            both = np.isfinite(low) & np.isfinite(high)
            half = np.where(both, np.subtract(high, low, where=both, out=np.full(len(at), 2.0)) / 2, 1.0)
            # A range on one side only has no middle to shrink to.
            inward = np.where(both, (1 - position) * half, 0.0)
            labels = [model.coordinate_names[k] for k in at]
            scale = 1 / np.maximum(half, 1e-3)
            self._add_rows(
                "position_limit", symbols["q"][at], low + inward, high - inward, scale, labels, soft
            )
        for factor, name, key, bound in (
            (velocity, "velocity_limit", "v", limits.velocity),
            (torque, "torque_limit", "tau", limits.effort),
        ):
            if factor is not None:
                at = [k for k in range(robot.nv) if np.isfinite(bound[k]) and bound[k] > 0]
                if key == "tau":
                    at = [k for k in at if k in robot.actuated]
                high = factor * bound[at]
                labels = [model.velocity_names[k] for k in at]
                self._add_rows(name, symbols[key][at], -high, high, 1 / high, labels, soft)

    def _add_rows(
        self,
        name: str,
        expression: Expression,
        lower: ArrayLike,
        upper: ArrayLike,
        scale: ArrayLike,
        labels: Sequence[str],
        soft: float | tuple[float, float] | None,
    ) -> None:
        if len(labels):
            self.add_constraint(name, expression, lower, upper, soft, scale=scale, labels=labels)

    def add_frame_box(
        self,
        frame: str,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        soft: float | tuple[float, float] | None = None,
        name: str = "frame_box",
        on_path: bool = True,
        at_end: bool = True,
    ) -> None:
        """lower ≤ p(q) ≤ upper: the origin of a frame in a box of the world (m)."""
        p = self._robot().pose(frame)(self.system.symbols["q"])[:3, 3]
        labels = [f"{axis} of {frame}" for axis in "xyz"]
        self.add_constraint(name, p, lower, upper, soft, on_path, at_end, 5.0, labels)

    def add_half_space(
        self,
        frame: str,
        normal: ArrayLike,
        offset: float,
        soft: float | tuple[float, float] | None = None,
        name: str = "half_space",
    ) -> None:
        """n · p(q) ≥ offset (m): the origin of a frame on one side of a plane; n is normalised."""
        n = vector(normal, 3, f"constraint {name!r}: normal")
        if not np.any(n):
            raise InputError(f"constraint {name!r}: the normal of a plane must not be zero")
        n = n / np.linalg.norm(n)
        p = self._robot().pose(frame)(self.system.symbols["q"])[:3, 3]
        self.add_constraint(name, ca.dot(p, n), offset, soft=soft, scale=5.0, labels=[frame])

    def add_distance(
        self,
        one: Shape,
        other: Shape,
        margin: float = 0.0,
        soft: float | tuple[float, float] | None = None,
        name: str | None = None,
    ) -> None:
        """At least `margin` (m) between two spheres or capsules, on links or in the world.

        A shape without a link is an obstacle; its points are parameters `<name>_point`, `<name>_start` or
        `<name>_end`, so that obstacles may move.
        """
        robot = self._robot()
        name = name or f"distance_{sum(c.name.startswith('distance_') for c in self._constraints)}"
        with self._undone_on_error():
            segments = []
            for shape in (one, other):
                points = []
                for label, point in shape.points.items():
                    if shape.link is None:
                        points.append(self._parameter(f"{name}_{label}", np.asarray(point, float), 3))
                    else:
                        T = robot.pose(shape.link)(self.system.symbols["q"])
                        points.append(T[:3, :3] @ ca.SX(np.asarray(point, float)) + T[:3, 3])
                segments.append(points)
            gap = distance(segments[0], segments[1]) - one.radius - other.radius
            label = f"{one.link or 'obstacle'} and {other.link or 'obstacle'}"
            self.add_constraint(name, gap, margin, soft=soft, scale=5.0, labels=[label])

    def set_final(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        x: ArrayLike | None = None,
        mask: ArrayLike = True,
        soft: float | tuple[float, float] | None = None,
    ) -> None:
        """The state at the end: a configuration, a velocity, or (of an ODE) x; `mask` chooses elements.

        The targets are parameters `final_q`, `final_v`, `final_x`. A mask is for one of them at a time.
        """
        for key, target in (("q", q), ("v", v), ("x", x)):
            if target is None:
                continue
            if (key == "x") != (self.robot is None):
                raise InputError("a robot's final state is given by q and v, that of an ODE by x")
            # Of an ODE without what a problem adds to its state, such as a free duration.
            symbol = self.system.symbols[key]
            with self._undone_on_error():
                wanted = self._parameter(f"final_{key}", np.asarray(target, float), symbol.numel())
                if key == "q":
                    error = configuration.difference(self._robot().model, wanted, symbol)
                else:
                    error = symbol - wanted
                chosen = np.flatnonzero(chosen_elements(mask, error.numel(), f"final {key}"))
                labels = [f"{key}[{k}]" for k in chosen]
                self.add_constraint(
                    f"final_{key}_error", error[chosen.tolist()], 0.0, 0.0, soft, on_path=False, labels=labels
                )
