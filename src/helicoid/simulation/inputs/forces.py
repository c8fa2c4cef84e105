"""What acts on a simulated robot: torques, disturbances and wrenches, given as numbers or as callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.simulation.running import ABSURD

Feedback = Callable[[float, Array, Array], ArrayLike]
"""`(t, q, v) -> force`, called once at the beginning of every time step. In a batch, q is (B, nq)."""
Force = ArrayLike | Feedback | None


class NotFinite(InputError):
    """A callable gave NaN or infinity for the step from row `row` on."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class Forces:
    """Arrays (steps or 1, rollouts or 1, size) of everything that acts, held constant from step to step.

    `tau` is what the motors give, within `limit` if there is one; `net` is that and the `disturbance`;
    `wrenches` are per link. Rows of a callable are filled by `sample` as the simulation gets there, or by
    `fill` where the simulation itself computes what the controller answers.
    """

    def __init__(
        self,
        tau: Force,
        disturbance: Force,
        wrenches: Mapping[str, Force],
        n_steps: int,
        n_rollouts: int | None,
        names: Sequence[str],
        limit: Array | None,
    ) -> None:
        self.limit, self._many, self._names = limit, n_rollouts is not None, names
        nv = len(names)
        shape = n_steps, n_rollouts or 1
        self.tau = self._clipped(_series("the torque", tau, nv, *shape))
        self.disturbance = _series("the disturbance", disturbance, nv, *shape)
        self.wrenches = {link: _series(f"f_ext[{link!r}]", w, 6, *shape) for link, w in wrenches.items()}
        self.net = self.tau if disturbance is None else np.ascontiguousarray(self.tau + self.disturbance)
        given = [("controller", tau, self.tau), ("disturbance", disturbance, self.disturbance)]
        given += [(f"f_ext[{link!r}]", w, self.wrenches[link]) for link, w in wrenches.items()]
        self._feedbacks = [(name, value, rows) for name, value, rows in given if callable(value)]

    @property
    def sampled(self) -> bool:
        """Whether anything has to be asked for at every step."""
        return bool(self._feedbacks)

    @property
    def constant(self) -> bool:
        """Whether nothing changes with time."""
        return all(len(values) == 1 for values in (self.net, *self.wrenches.values()))

    def sample(self, k: int, t: float, q: Array, v: Array) -> None:
        """Ask every callable for row k; q and v are (rollouts, n)."""
        state = (q, v) if self._many else (q[0], v[0])
        for name, feedback, rows in self._feedbacks:
            wanted = rows.shape[1:] if self._many else rows.shape[2:]
            answer = self._answer(name, feedback, t, state, wanted)
            if not np.all(np.isfinite(answer)):
                for _, _, asked in self._feedbacks:
                    asked[k] = asked[max(k - 1, 0)]
                self._add(k)
                raise NotFinite(self._complaint(name, t, answer), k)
            rows[k] = self._clipped(answer) if rows is self.tau else answer
        self._add(k)

    @property
    def only_law(self) -> Feedback | None:
        """The controller, where it is all that has to be asked for."""
        asked = [feedback for name, feedback, _ in self._feedbacks]
        return asked[0] if len(asked) == 1 and self._feedbacks[0][0] == "controller" else None

    def fill(self, first: int, answers: Array, times: Array, v: Array) -> None:
        """Take what the controller answered (steps, rollouts, nv) for the rows from `first` on.

        Where velocities v (rows, rollouts, nv) are beyond reason, no answer is the controller's fault.
        """
        finite = np.isfinite(answers).all(axis=(1, 2))
        n = len(answers) if finite.all() else int(np.argmin(finite))
        rows = slice(first, first + n)
        self.tau[rows] = self._clipped(answers[:n])
        if self.net is not self.tau:
            self.net[rows] = self.tau[rows] + _part(self.disturbance, rows)
        k = first + n
        if n < len(answers) and np.all(np.abs(v[k]) < ABSURD):
            self.tau[k], self.net[k] = self.tau[max(k - 1, 0)], self.net[max(k - 1, 0)]
            shown = answers[n] if self._many else answers[n, 0]
            raise NotFinite(self._complaint("controller", float(times[k]), shown), k)

    def _add(self, k: int) -> None:
        """Row k of `net`."""
        if self.net is not self.tau:
            self.net[k] = self.tau[min(k, len(self.tau) - 1)]
            self.net[k] += self.disturbance[min(k, len(self.disturbance) - 1)]

    def _answer(
        self, name: str, feedback: Feedback, t: float, state: tuple[Array, ...], wanted: tuple[int, ...]
    ) -> Array:
        return numbers(
            f"{name} must return", feedback(t, *(part.copy() for part in state)), t, wanted, wanted[-1:]
        )

    def _complaint(self, name: str, t: float, answer: Array) -> str:
        column = int(np.argwhere(~np.isfinite(answer))[0, -1])
        at = f"entry {column}" if name.startswith("f_ext") else f"joint {self._names[column]!r}"
        return f"{name} must return finite numbers; at {t:g} s its answer for {at} is not: {answer}"

    def _clipped(self, tau: Array) -> Array:
        return tau if self.limit is None else np.clip(tau, -self.limit, self.limit)


def numbers(what: str, given: Any, t: float, *shapes: tuple[int, ...]) -> Array:
    """What was given for time t (s) as an array of one of the shapes; a column (n, 1) serves as a vector.

    Raises:
        InputError: it is no array of numbers, or has another shape.
    """
    try:
        answer = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):  # of CasADi: a symbol has no value
        answer = np.empty(0)
    if answer.shape not in shapes and answer.ndim == 2 and answer.shape[1] == 1:
        answer = answer[:, 0]
    if given is None or answer.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in dict.fromkeys(shapes))
        raise InputError(f"{what} {wanted} finite numbers; at {t:g} s got {given!r}")
    return answer


def _part(values: Array, rows: slice) -> Array:
    return values[rows] if len(values) > 1 else values


def _series(what: str, value: Force, size: int, n_steps: int, n_rollouts: int) -> Array:
    """The force as (steps or 1, rollouts or 1, size)."""
    if value is None:
        return np.zeros((1, 1, size))
    if callable(value):
        return np.zeros((max(n_steps, 1), n_rollouts, size))
    array = _numbers(what, value)
    if array.shape in ((size,), (size, 1)):  # a column, as CasADi has vectors
        return array.reshape(1, 1, size)
    n_steps = max(n_steps, 1)  # a simulation of no duration still has a row, and a force that acts in it
    lengths = (n_steps, n_steps + 1)
    if array.ndim == 2 and array.shape[1] == size and len(array) in (1, *lengths):
        return array[:n_steps, None, :].copy()
    if array.ndim == 3 and array.shape[::2] == (n_rollouts, size) and array.shape[1] in (1, *lengths):
        return np.ascontiguousarray(array[:, :n_steps].transpose(1, 0, 2))
    batch = f", or ({n_rollouts}, {n_steps}, {size}) for each rollout" if n_rollouts > 1 else ""
    raise InputError(
        f"{what} must have shape ({size},) to stay constant, ({n_steps}, {size}) for each step{batch}; "
        f"got {array.shape}"
    )


def _numbers(what: str, value: Any) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers or a callable (t, q, v); got {value!r}") from error
    if not np.all(np.isfinite(array)):
        raise InputError(f"{what} has entries that are not finite")
    return array
