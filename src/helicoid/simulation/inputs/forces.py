"""Inputs of a simulated system: commands, disturbances and wrenches, as numbers or as callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.arrays import float_array
from helicoid.errors import InputError
from helicoid.simulation.inputs.laws import LoopLaw
from helicoid.simulation.running import MAX_VELOCITY

Feedback = Callable[[float, Array, Array], ArrayLike]
"""`(t, q, v) -> force`, called once at the beginning of every time step. In a batch, q is (B, nq)."""
Force = ArrayLike | Feedback | None


class NotFinite(InputError):
    """A callable gave NaN or infinity for the step from row `row` on."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class SystemInputs:
    """Everything that acts on a simulated system, held constant from step to step.

    Arrays (steps or 1, rollouts or 1, size): `command`, the torque of the motors or the controls of a
    vehicle, within `limit` if there is one; `net`, that and the disturbance; `wrenches` by link. Rows of a
    callable are filled by `sample` before each step, rows of a law inside the loop by `fill` after it.

    Args:
        command: numbers, a callable `(t, q, v, ...)`, or a `LoopLaw`, which is evaluated inside the loop.
        names: of the entries of the command.
        noun: of the command, in messages.
    """

    def __init__(
        self,
        command: Any,
        n_steps: int,
        n_rollouts: int | None,
        names: Sequence[str],
        limit: Array | None = None,
        disturbance: Force = None,
        wrenches: Mapping[str, Force] | None = None,
        noun: str = "the torque",
    ) -> None:
        self.limit, self._many, self._names = limit, n_rollouts is not None, names
        size, shape = len(names), (n_steps, n_rollouts or 1)
        self.law = command if isinstance(command, LoopLaw) else None
        self.command = self._clipped(_series(noun, command, size, *shape))
        self.disturbance = _series("the disturbance", disturbance, size, *shape)
        given = dict(wrenches or {})
        self.wrenches = {link: _series(f"f_ext[{link!r}]", w, 6, *shape) for link, w in given.items()}
        self.disturbed = disturbance is not None
        self.net = np.ascontiguousarray(self.command + self.disturbance) if self.disturbed else self.command
        series = [("controller", command, self.command), ("disturbance", disturbance, self.disturbance)]
        series += [(f"f_ext[{link!r}]", w, self.wrenches[link]) for link, w in given.items()]
        self._feedbacks = [(name, value, rows) for name, value, rows in series if callable(value)]

    @property
    def sampled(self) -> bool:
        """Whether there are callables to evaluate before every step."""
        return bool(self._feedbacks)

    def evaluate_by_python(self, feedback: Feedback) -> None:
        """Evaluate the law as a callable, for solvers that are not compiled."""
        self.law = None
        self._feedbacks.insert(0, ("controller", feedback, self.command))

    def sample(self, k: int, t: float, states: Sequence[Array]) -> None:
        """Evaluate every callable for row k; states are (rows, rollouts, n), q and v first."""
        row = k if self._many else (k, 0)
        for name, feedback, rows in self._feedbacks:
            wanted = rows.shape[1:] if self._many else rows.shape[2:]
            found = feedback(t, *[x[row].copy() for x in states])
            answer = numbers(f"{name} must return", found, t, wanted, wanted[-1:])
            if not np.all(np.isfinite(answer)):
                for _, _, others in self._feedbacks:
                    others[k] = others[max(k - 1, 0)]
                self._add(k)
                raise NotFinite(self._message(name, t, answer), k)
            rows[k] = self._clipped(answer) if rows is self.command else answer
        self._add(k)

    def fill(self, first: int, commands: Array, times: Array, v: Array) -> None:
        """Record the commands (steps, rollouts, n) of a law inside the loop, for the rows from `first` on.

        Where velocities v (rows, rollouts, nv) have diverged, a command that is not finite is not its cause.
        """
        n = len(commands)
        if not np.isfinite(np.sum(commands)):  # one pass over memory; overflow is looked at closely
            finite = np.isfinite(commands).all(axis=(1, 2))
            n = n if finite.all() else int(np.argmin(finite))
        rows = slice(first, first + n)
        if not np.may_share_memory(self.command, commands):
            self.command[rows] = self._clipped(commands[:n])
        if self.disturbed:
            self.net[rows] = self.command[rows] + _part(self.disturbance, rows)
        k = first + n
        if n < len(commands) and np.all(np.abs(v[k]) < MAX_VELOCITY):
            shown = np.array(commands[n] if self._many else commands[n, 0])
            self.command[k], self.net[k] = self.command[max(k - 1, 0)], self.net[max(k - 1, 0)]
            raise NotFinite(self._message("controller", float(times[k]), shown), k)

    def _add(self, k: int) -> None:
        """Row k of `net`."""
        if self.disturbed:
            self.net[k] = self.command[min(k, len(self.command) - 1)]
            self.net[k] += self.disturbance[min(k, len(self.disturbance) - 1)]

    def _message(self, name: str, t: float, answer: Array) -> str:
        column = int(np.argwhere(~np.isfinite(answer))[0, -1])
        at = f"entry {column}" if name.startswith("f_ext") else f"joint {self._names[column]!r}"
        return f"{name} must return finite numbers; at {t:g} s its answer for {at} is not: {answer}"

    def _clipped(self, command: Array) -> Array:
        return command if self.limit is None else np.clip(command, -self.limit, self.limit)


def numbers(what: str, given: Any, t: float, *shapes: tuple[int, ...]) -> Array:
    """A value for time t (s) as an array of one of the shapes; a column (n, 1) serves as a vector.

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
    if callable(value) or isinstance(value, LoopLaw):
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
    array = float_array(value, f"{what} must be numbers or a callable (t, q, v)")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{what} has entries that are not finite")
    return array
