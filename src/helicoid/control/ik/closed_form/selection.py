"""All solutions of targets: by closed forms, values of redundant joints, or searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from helicoid._typing import Array
from helicoid.arrays import real_array
from helicoid.control.ik.branches import distinct
from helicoid.control.ik.closed_form.binding import Arm
from helicoid.control.ik.closed_form.recognition import ClosedForm, Recognised, recognise
from helicoid.control.ik.problem import IKProblem
from helicoid.control.ik.targets import numbers, starts
from helicoid.errors import InputError

DEFAULT_VALUES = 32  # of the redundant joints
MAX_VALUES = 10_000
MIN_SEPARATION = 0.1  # rad, m: solutions that searches find count as one below it
Redundancy = int | Mapping[str, ArrayLike] | None


class AllSolutions:
    """All solutions of a problem's targets.

    Args:
        search: solutions (k, nq) of one target by restarts, for problems without a closed form.
        is_free: which configurations (n, nq) count; all of them if None.
    """

    def __init__(
        self,
        problem: IKProblem,
        search: Callable[[Array], Array],
        is_free: Callable[[Array], NDArray[np.bool_]] | None = None,
    ) -> None:
        self.problem, self.search, self.is_free = problem, search, is_free
        self._grids: dict[int, Array] = {}

    @cached_property
    def _recognised(self) -> Recognised:
        return recognise(self.problem)

    @property
    def form(self) -> ClosedForm:
        """The closed form, or why there is none."""
        return self._recognised.form

    def of(self, target: Any, q0: Any, apart: float | None, redundancy: Redundancy) -> Any:
        """Solutions of a target (k, nq), or a list of them for targets with their axis first."""
        if q0 is None and apart is None and redundancy is None:
            quick = self._quick(target)
            if quick is not None:
                return quick
        self._check(apart, redundancy)
        problem = self.problem
        targets, many = numbers(problem, target)
        about = self._about(q0, len(targets))
        results = self._found(targets, about, q0, apart, redundancy)
        return results if many else results[0]

    def _quick(self, target: Any) -> Array | None:
        """Solutions of a plain array with default options; None where more is to be done."""
        usual = self._usual
        if (
            usual is None
            or self.is_free is not None
            or type(target) is not np.ndarray
            or target.shape != (4, 4)
        ):
            return None
        arm, near, given, final = usual
        found = arm.one(target, near, given)
        if found is None or not (final or len(found)):
            return None
        return found if self._in_order else self._full(found, self._default)

    @cached_property
    def _usual(self) -> tuple[Arm, Array, Array, bool] | None:
        """Solver, q0, values of redundant joints and whether an empty result is final, by default."""
        arm = self._recognised.arm
        if arm is None:
            return None
        near = np.ascontiguousarray(self._default[self._coordinates])
        return arm, near, self._given(None, None, self._default[None]), self.form.complete

    def _found(
        self, targets: Array, about: Array, q0: Any, apart: float | None, redundancy: Redundancy
    ) -> list[Array]:
        arm = self._recognised.arm
        if arm is None:
            return [self._searched(T, near, apart) for T, near in zip(targets, about, strict=True)]
        near, given = np.ascontiguousarray(about[:, self._coordinates]), self._given(redundancy, q0, about)
        found = zip(targets, about, arm.many(targets, near, given), strict=True)
        return [self._selected(T, a, q, apart) for T, a, q in found]

    def _selected(self, target: Array, about: Array, q: Array | None, apart: float | None) -> Array:
        """Solutions of a closed form that are free and apart; of a search where these prove nothing."""
        full = None if q is None else self._full(q, about)
        if full is not None and self.is_free is not None and len(full):
            full = full[self.is_free(full)]
        if full is None or not (len(full) or self.form.complete):  # narrow ranges of a joint that is free
            return self._searched(target, about, apart)
        return full if apart is None else distinct(self.problem, full, about, apart)

    def _searched(self, target: Array, about: Array, apart: float | None) -> Array:
        return distinct(self.problem, self.search(target), about, MIN_SEPARATION if apart is None else apart)

    @property
    def _coordinates(self) -> list[int]:
        screws = self._recognised.screws
        assert screws is not None, "a closed form has screws"
        return screws.coordinates

    def _about(self, q0: Any, n: int) -> Array:
        """The configurations (n, nq) that solutions are ordered by and that fixed coordinates have."""
        if q0 is None:
            return np.broadcast_to(self._default, (n, len(self._default)))
        return starts(self.problem, q0, n)

    @cached_property
    def _default(self) -> Array:
        return self.problem.default()

    def _full(self, q: Array, about: Array) -> Array:
        """Configurations of all joints."""
        if q.shape[1] == len(about) and self._in_order:
            return q
        found = np.repeat(about[None], len(q), axis=0)
        found[:, self._coordinates] = q
        return found

    @cached_property
    def _in_order(self) -> bool:
        return self._coordinates == list(range(self.problem.robot.nq))

    # Redundancy ---------------------------------------------------------------------------------------

    def _check(self, apart: float | None, redundancy: Redundancy) -> None:
        if apart is not None and not (
            isinstance(apart, (int, float, np.number)) and 0 <= float(apart) < np.inf
        ):
            raise InputError(f"apart is a distance (rad, m), zero or more; got {apart!r}")
        if redundancy is None:
            return
        form = self.form
        if not form.redundancy:
            why = form.message or "six joints have finitely many solutions"
            raise InputError(f"redundancy: no joint can be given a value: {why}")
        if isinstance(redundancy, Mapping):
            if set(redundancy) != set(form.redundancy):
                raise InputError(
                    f"redundancy: values are for {', '.join(form.redundancy)}; got {list(redundancy)}"
                )
        elif not isinstance(redundancy, (int, np.integer)) or not 1 <= redundancy <= MAX_VALUES:
            raise InputError(
                f"redundancy is a number of values, 1 to {MAX_VALUES}, or values by joint; got {redundancy!r}"
            )

    def _given(self, redundancy: Redundancy, q0: Any, about: Array) -> Array:
        """Values (samples, locked) of the redundant joints: a grid in their limits, and where q0 is."""
        locked = self._locked
        if isinstance(redundancy, Mapping):
            columns = [np.atleast_1d(real_array(name, redundancy[name])) for name in self.form.redundancy]
            mesh = np.meshgrid(*columns, indexing="ij")
            return np.ascontiguousarray(np.stack([part.ravel() for part in mesh], axis=1))
        count = DEFAULT_VALUES if redundancy is None else int(redundancy)
        if count not in self._grids:
            self._grids[count] = self._grid(count)
        grid = self._grids[count]
        if q0 is None or not locked:
            return grid
        return np.ascontiguousarray(np.vstack([about[:1, locked], grid]))

    @cached_property
    def _locked(self) -> list[int]:
        """Coordinates of the redundant joints."""
        recognised = self._recognised
        assert recognised.arm is not None, "a closed form has a solver"
        return [self._coordinates[k] for k in recognised.arm.family.locked]

    def _grid(self, count: int) -> Array:
        """Values spread over the ranges: evenly of one joint, a sequence of low discrepancy of several."""
        low, high = (bound[self._locked] for bound in self.problem.bounds)
        many = high - low > 2 * np.pi  # a whole turn has all there is, and endless joints have no middle
        low, high = np.where(many, -np.pi, low), np.where(many, np.pi, high)
        n = len(self._locked)
        if n == 0:
            return np.zeros((1, 0))
        share = (np.arange(count)[:, None] + 0.5) * (1 / count if n == 1 else _steps(n))
        return np.ascontiguousarray(low + (high - low) * np.mod(share, 1.0))


def _steps(n: int) -> Array:
    """Steps of the additive recurrence of n coordinates: powers of 1/φ, φ^{n+1} = φ + 1 (Roberts 2018)."""
    root = 2.0
    for _ in range(40):
        root = (1 + root) ** (1 / (n + 1))
    return np.asarray(root ** -np.arange(1.0, n + 1))
