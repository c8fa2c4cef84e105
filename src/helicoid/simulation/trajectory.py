"""A motion: states and torques over time, and what follows from them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.compiler.function import Function
from helicoid.errors import HelicoidError, InputError
from helicoid.robot import Robot
from helicoid.simulation import trajectory_files
from helicoid.simulation.archive import MAX_BYTES
from helicoid.simulation.resampling import between, linear, resampled_states

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Motion:
    """The functions of the robot that moved, and their inputs beside q and v: constants or series.

    `inputs` holds arrays (..., N + 1 or 1, size) by the names of the inputs; `gravity` is the option.
    """

    acceleration: Function
    inputs: Mapping[str, Array]
    gravity: ArrayLike | None

    def picked(self, rollout: int) -> Motion:
        """That of one rollout."""
        return self._mapped(lambda x: x if x.ndim == 2 else x[rollout if len(x) > 1 else 0])

    def held(self, rows: Any) -> Motion:
        """That of other times: row `rows[j]` of the inputs at time j."""
        return self._mapped(lambda x: x if x.shape[-2] == 1 else x[..., rows, :])

    def _mapped(self, change: Any) -> Motion:
        inputs = {name: change(value) for name, value in self.inputs.items()}
        return Motion(self.acceleration, inputs, self.gravity)


@dataclass(eq=False)
class Trajectory:
    """A motion of a robot, or a batch of motions side by side.

    Attributes:
        t: times (s), shape (N + 1,).
        q: coordinates (rad, m, quaternions unit), shape (N + 1, nq); a batch has its axis first,
            (B, N + 1, nq).
        v: velocities (rad/s, m/s), shape (N + 1, nv).
        tau: what the motors give (N·m, N), shape (N + 1, nv): row k acts from t[k] to t[k + 1], the last
            row repeats the one before.
        robot: whose motion it is; None when read from a file without naming the robot.

    What follows from these is computed when first asked for: `a`, the energies, `constraint_forces`.

    >>> import helicoid as hc
    >>> from helicoid.simulation import simulate
    >>> motion = simulate(hc.load("double_pendulum"), [0.5, 0.0], duration=0.2, dt=0.05)
    >>> motion
    Trajectory(double_pendulum, 5 samples, 0 to 0.2 s)
    >>> motion.a.shape, motion.energy.shape
    ((5, 2), (5,))
    >>> motion.resample(dt=0.1).t
    array([0. , 0.1, 0.2])
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    robot: Robot | None = None
    name: str = ""
    q_names: tuple[str, ...] = ()
    v_names: tuple[str, ...] = ()
    motion: Motion | None = field(default=None, repr=False)
    known: dict[str, Array] = field(default_factory=dict, repr=False)
    """What has been computed of it or was in its file, by name."""

    def __post_init__(self) -> None:
        if self.robot is not None:
            self.name, self.v_names = self.robot.name, self.robot.model.velocity_names
            self.q_names = self.robot.model.coordinate_names

    # What follows from the states -----------------------------------------------------------------------

    @property
    def a(self) -> Array:
        """Accelerations (rad/s², m/s²) that the forces of row k cause at its state, shape of v."""
        return self._derived("a")

    @property
    def kinetic_energy(self) -> Array:
        """T (J), one per sample."""
        return self._derived("kinetic_energy")

    @property
    def potential_energy(self) -> Array:
        """U (J), one per sample."""
        return self._derived("potential_energy")

    @property
    def energy(self) -> Array:
        """T + U (J), one per sample."""
        return self.kinetic_energy + self.potential_energy

    @property
    def constraint_forces(self) -> Array:
        """λ of the loops, contacts and other constraints, one row per sample; without any, (N + 1, 0)."""
        return self._derived("constraint_forces")

    def _derived(self, name: str) -> Array:
        if name not in self.known:
            if self.motion is None or self.robot is None:
                raise HelicoidError(f"this trajectory holds no {name}: its file had none")
            self.known.update(_compute(name, self, self.robot, self.motion))
        return self.known[name]

    # Parts and other times --------------------------------------------------------------------------------

    @property
    def batch(self) -> int | None:
        """The number of rollouts of a batch, None of a single motion."""
        return len(self.q) if self.q.ndim == 3 else None

    def __len__(self) -> int:
        return len(self.t) if self.batch is None else len(self.q)

    def __getitem__(self, rollout: int) -> Trajectory:
        """One motion of a batch."""
        if self.batch is None:
            raise InputError("this is a single trajectory; an index picks one of a batch")
        known = {name: values[rollout] for name, values in self.known.items()}
        motion = self.motion and self.motion.picked(rollout)
        arrays = self.q[rollout], self.v[rollout], self.tau[rollout]
        return Trajectory(self.t, *arrays, self.robot, self.name, self.q_names, self.v_names, motion, known)

    def resample(self, times: ArrayLike | None = None, dt: float | None = None) -> Trajectory:
        """The motion at other times, within those it covers: `times`, or every `dt` seconds.

        q follows the cubic that has the positions and velocities of both neighbours, in the tangent space of
        the left one; v is linear in between, torques and other forces are held.

        Raises:
            InputError: both or neither are given, or a time lies outside.
        """
        if self.robot is None:
            raise InputError("resampling moves on the robot's manifold: Trajectory.load(path, robot=...)")
        wanted = self._times(times, dt)
        left, s = between(self.t, wanted)
        states = resampled_states(self.robot, self.t, self.q, self.v, left, s)
        tau = self.tau[..., left, :]
        motion = self.motion and self.motion.held(left)
        known = {} if motion else {key: linear(x, left, s, self.q.ndim - 2) for key, x in self.known.items()}
        return Trajectory(wanted, *states, tau, self.robot, motion=motion, known=known)

    def _times(self, times: ArrayLike | None, dt: float | None) -> Array:
        if (times is None) == (dt is None):
            raise InputError("resample takes either times or dt")
        if dt is not None:
            if not 0 < dt < np.inf:
                raise InputError(f"dt must be positive (s), got {dt!r}")
            # A whole number of steps is not lost to rounding.
            return self.t[0] + dt * np.arange(int((self.t[-1] - self.t[0]) / dt * (1 + 1e-12)) + 1)
        try:
            wanted = np.asarray(times, dtype=np.float64).ravel()
        except (TypeError, ValueError) as error:
            raise InputError(f"times are numbers (s), got {times!r}") from error
        if wanted.size == 0:
            raise InputError("times is empty: a trajectory has at least one sample")
        return wanted

    # Files and pictures -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as a whole or not at all: `.npz` (NumPy, batches too) or `.csv` (one motion).

        The columns of a CSV file are `t`, `q.<joint>`, `v.<joint>`, `a.<joint>`, `tau.<joint>`,
        `kinetic_energy` and `potential_energy`; numbers are written so that reading gives them back exactly.
        """
        trajectory_files.save(self, Path(path))

    @staticmethod
    def load(
        path: str | os.PathLike[str], robot: Robot | None = None, max_bytes: float = MAX_BYTES
    ) -> Trajectory:
        """Read what `save` wrote; with its robot it can be resampled too.

        An .npz file that would expand to more than `max_bytes` is refused before it does.

        Raises:
            InputError: the file is no trajectory, or that of another robot.
        """
        return trajectory_files.load(Path(path), robot, max_bytes)

    def plot(self) -> Figure:
        """A matplotlib figure of coordinates, velocities, torques and energies over time."""
        from helicoid.simulation.trajectory_plot import plot

        return plot(self)

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"{self.batch} rollouts of "
        return f"Trajectory({self.name}, {batch}{len(self.t)} samples, {self.t[0]:g} to {self.t[-1]:g} s)"


def _compute(name: str, path: Trajectory, robot: Robot, motion: Motion) -> dict[str, Array]:
    """What was asked for, and what comes out with it."""
    lead = path.q.shape[:-1]
    n = math.prod(lead)
    q, v = path.q.reshape(n, robot.nq), path.v.reshape(n, robot.nv)
    inputs = {
        key: np.broadcast_to(value, (*lead, value.shape[-1])).reshape(n, value.shape[-1])
        for key, value in motion.inputs.items()
    }
    theta = {"theta": inputs["theta"]} if "theta" in inputs else {}
    if name == "kinetic_energy":
        return {name: robot.kinetic_energy(q, v, **theta).reshape(lead)}
    if name == "potential_energy":
        options = {} if motion.gravity is None else {"gravity": motion.gravity}
        return {name: robot.potential_energy(q, **theta, **options).reshape(lead)}
    result = motion.acceleration(q, v, **inputs)
    a, forces = result if isinstance(result, tuple) else (result, np.zeros((len(q), 0)))
    return {"a": a.reshape(*lead, robot.nv), "constraint_forces": forces.reshape(*lead, forces.shape[1])}
