"""Trajectories: states and torques over time, and quantities that follow from them."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import HelicoidError, InputError
from helicoid.robot import Robot
from helicoid.simulation.trajectory import files, table
from helicoid.simulation.trajectory.archive import MAX_BYTES
from helicoid.simulation.trajectory.motion import FOLLOWING, MotionEquations
from helicoid.simulation.trajectory.resampling import (
    between,
    requested_times,
    resampled_quantities,
    resampled_states,
    rounding,
)
from helicoid.simulation.trajectory.sensitivity import (
    TrajectoryGradient,
    TrajectorySensitivity,
    gradient,
    sensitivity,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


class NoSuchRollout(InputError, IndexError):
    """An index beyond the rollouts of a batch; as an IndexError it also ends `for motion in batch`."""


@dataclass(eq=False)
class Trajectory:
    """A motion of a robot, or a batch of motions side by side.

    Attributes:
        t: times (s), shape (N + 1,).
        q: coordinates (rad, m, quaternions unit), shape (N + 1, nq); a batch has its axis first,
            (B, N + 1, nq).
        v: velocities (rad/s, m/s), shape (N + 1, nv).
        tau: torque of the motors (N·m, N), shape (N + 1, nv): row k acts from t[k] to t[k + 1], the last
            row repeats the one before.
        robot: the robot that moves; None when read from a file without naming the robot.

    Further quantities are computed at first use: `a`, the energies, `constraint_forces`. With contacts there
    are `contact_forces`, by `contact_names`.

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
    motion: MotionEquations | None = field(default=None, repr=False)
    known: dict[str, Array] = field(default_factory=dict, repr=False)
    """Further quantities, computed or read from a file, by name."""
    contact_names: tuple[str, ...] = ()
    grounds: tuple[Any, ...] = field(default=(), repr=False)
    """The grounds of the simulation."""

    def __post_init__(self) -> None:
        if self.robot is not None:
            self.name, self.v_names = self.robot.name, self.robot.model.velocity_names
            self.q_names = self.robot.model.coordinate_names

    # Derivatives --------------------------------------------------------------------------------------

    def sensitivity(self, *kinds: str) -> TrajectorySensitivity:
        """Derivatives of all states by "q0", "v0", "theta" or "tau", in compiled code; q0 and v0 by default.

        Variational equations of the discrete steps, so that the derivatives are exact for the simulated
        motion; one column for each element, side by side on SIMD lanes. Torques are held as they acted: a
        controller does not react. "tau" is a constant added to the torque of a joint at all times; for the
        torque of each sample, and for many parameters, see `gradient`. Derivatives by q are in its tangent
        space. Where friction has a kink (`smoothing=0`) they are one-sided.

        >>> import helicoid as hc
        >>> robot = hc.load("double_pendulum").parametric("inertia")
        >>> motion = hc.simulate(robot, [1.0, 0.5], duration=0.5)
        >>> by_start = motion.sensitivity("q0", "v0")
        >>> by_start.q.shape, by_start.columns[0]
        ((501, 2, 4), 'q0.joint_1')
        >>> motion.sensitivity("theta").of("theta")[1].shape
        (501, 2, 20)
        """
        return sensitivity(self, kinds)

    def gradient(self, dL_dq: ArrayLike | None = None, dL_dv: ArrayLike | None = None) -> TrajectoryGradient:
        """Gradient of a number L by q0, v0, theta and the torque of each sample, by the adjoint method.

        Args:
            dL_dq: ∂L/∂q of every sample in the tangent space, (N + 1, nv), or of the last one, (nv,).
            dL_dv: ∂L/∂v likewise.

        One pass forwards and one backwards, however many parameters there are.

        >>> import numpy as np
        >>> import helicoid as hc
        >>> motion = hc.simulate(hc.load("double_pendulum"), [1.0, 0.5], duration=0.5)
        >>> slope = motion.gradient(dL_dq=[1.0, 0.0])  # of the first angle at the end
        >>> np.allclose(slope.q0, motion.sensitivity("q0").q[-1, 0])
        True
        >>> slope.tau.shape
        (500, 2)
        """
        return gradient(self, dL_dq, dL_dv)

    # Quantities that follow from the states -------------------------------------------------------------

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

    @property
    def controls(self) -> Array:
        """Controls of a vehicle, shape (N + 1, nu); row k acts from t[k] to t[k + 1]."""
        return self._own("controls")

    @property
    def states(self) -> Array:
        """Actuator states of a vehicle, such as the speeds of rotors, shape (N + 1, nz)."""
        return self._own("states")

    @property
    def observed(self) -> Array:
        """Estimates of the observer that ran beside the simulation, shape (N + 1, n)."""
        return self._own("observed", "no observer ran beside the simulation")

    def _own(self, name: str, why: str = "it is not that of a vehicle") -> Array:
        if name not in self.known:
            raise HelicoidError(f"this trajectory has no {name}: {why}")
        return self.known[name]

    @property
    def contact_forces(self) -> Array:
        """Contact forces on the robot (N, world axes), (N + 1, contacts, 3): the mean from t[k] to t[k + 1].

        They are in the order of `contact_names`; without contacts it is (N + 1, 0, 3).
        """
        return self._of_contacts("contact_forces")

    @property
    def contact_points(self) -> Array:
        """Points where the contact forces act (m, world), (N + 1, contacts, 3); zeros without force."""
        return self._of_contacts("contact_points")

    @property
    def contact_residual(self) -> Array:
        """Residual of the contact conditions in the step from t[k] on (m/s), one per sample."""
        return self.known.get("contact_residual", np.zeros(self.q.shape[:-1]))

    @property
    def penetration(self) -> Array:
        """Largest penetration of the ground by a contact (m), one per sample."""
        return self.known.get("penetration", np.zeros(self.q.shape[:-1]))

    def _of_contacts(self, name: str) -> Array:
        return self.known.get(name, np.zeros((*self.q.shape[:-1], 0, 3)))

    def has(self, name: str) -> bool:
        """Whether a quantity is known or can be computed: `a`, an energy, `constraint_forces`, contacts."""
        known = name in ("t", "q", "v", "tau") or name in self.known
        return known or (self.motion is not None and name in FOLLOWING)

    def _derived(self, name: str) -> Array:
        if name not in self.known:
            if self.motion is None:
                raise HelicoidError(
                    f"this trajectory has no {name}, nor the equations of motion from which it follows"
                )
            self.known.update(self.motion.follows(name, self.q, self.v))
        return self.known[name]

    # Parts and other times --------------------------------------------------------------------------------

    @property
    def batch(self) -> int | None:
        """The number of rollouts of a batch, None of a single motion."""
        return len(self.q) if self.q.ndim == 3 else None

    def __len__(self) -> int:
        return len(self.t) if self.batch is None else len(self.q)

    def __getitem__(self, which: int | slice) -> Trajectory:
        """A part: samples of one trajectory, rollouts of a batch, or the samples between two times.

        - `trajectory[10:20]` are samples 10 to 19 of one motion, `trajectory[::10]` every tenth;
        - `batch[3]` is one motion of a batch, `batch[2:5]` a batch of three;
        - `trajectory[0.5:1.0]`, with numbers that are no integers, are times (s), as `between` takes them.
        """
        if isinstance(which, slice):
            if any(isinstance(bound, (float, np.floating)) for bound in (which.start, which.stop)):
                if which.step is not None:
                    raise InputError("times are sliced without a step; resample(dt=...) gives other times")
                return self.between(which.start, which.stop)
            return self._samples(which) if self.batch is None else self._rollouts(which)
        try:
            number = operator.index(which)
        except TypeError:
            raise InputError(
                f"a trajectory is indexed by integers, by slices of them or by slices of times; got {which!r}"
            ) from None
        if self.batch is None:
            raise InputError(
                f"an integer picks one motion of a batch, and this is a single one; its sample {number} is "
                f"trajectory.q[{number}], or trajectory[{number}:{number + 1}]"
            )
        if not -self.batch <= number < self.batch:
            raise NoSuchRollout(f"the batch has {self.batch} rollouts; there is none of number {number}")
        return self._rollouts(number)

    def between(self, start: float | None = None, end: float | None = None) -> Trajectory:
        """The samples from one time (s) to another, both included; None is the first or the last.

        >>> import helicoid as hc
        >>> motion = hc.simulate(hc.load("double_pendulum"), [0.5, 0.0], duration=0.2, dt=0.05)
        >>> motion.between(0.05, 0.12).t, motion[0.15:].t
        (array([0.05, 0.1 ]), array([0.15, 0.2 ]))

        Raises:
            InputError: there is no sample between them.
        """
        for given in (start, end):
            if not (given is None or isinstance(given, Real)):
                raise InputError(f"a trajectory is cut at times (s); got {given!r}")
        slack = rounding(self.t)
        first, last = (self.t[0] if start is None else start), (self.t[-1] if end is None else end)
        rows = np.flatnonzero((self.t >= first - slack) & (self.t <= last + slack))
        if not len(rows):
            raise InputError(
                f"no sample from {first:g} to {last:g} s; there are {len(self.t)} from {self.t[0]:g} to "
                f"{self.t[-1]:g} s"
            )
        return self._samples(slice(int(rows[0]), int(rows[-1]) + 1))

    def _samples(self, rows: slice) -> Trajectory:
        t = self.t[rows]
        if not len(t) or (rows.step or 1) < 0:
            raise InputError(f"{rows} picks no ascending samples out of {len(self.t)}")
        picked, axis = np.arange(len(self.t))[rows], self.q.ndim - 2
        known = {name: np.take(values, picked, axis) for name, values in self.known.items()}
        motion = self.motion and self.motion.held(rows)
        q, v, tau = (values[..., rows, :] for values in (self.q, self.v, self.tau))
        return self._part(t, q, v, tau, motion, known)

    def _rollouts(self, which: int | slice) -> Trajectory:
        if isinstance(which, slice) and not len(self.q[which]):
            raise InputError(f"{which} picks none of {self.batch} rollouts")
        known = {name: values[which] for name, values in self.known.items()}
        motion = self.motion and self.motion.picked(which)
        return self._part(self.t, self.q[which], self.v[which], self.tau[which], motion, known)

    def _part(
        self,
        t: Array,
        q: Array,
        v: Array,
        tau: Array,
        motion: MotionEquations | None,
        known: dict[str, Array],
    ) -> Trajectory:
        names = self.name, self.q_names, self.v_names
        return Trajectory(t, q, v, tau, self.robot, *names, motion, known, self.contact_names, self.grounds)

    def resample(self, times: ArrayLike | None = None, dt: float | None = None) -> Trajectory:
        """The motion at other times, within those it covers: `times`, or every `dt` seconds.

        q follows the cubic that has the positions and velocities of both neighbours, in the tangent space of
        the left one; v is linear in between, torques and other forces are held.

        Raises:
            InputError: both or neither are given, or a time lies outside.
        """
        if self.robot is None:
            raise InputError("resampling moves on the robot's manifold: Trajectory.load(path, robot=...)")
        wanted = requested_times(self.t, times, dt)
        left, s = between(self.t, wanted)
        states = resampled_states(self.robot, self.t, self.q, self.v, left, s)
        tau = self.tau[..., left, :]
        motion = self.motion and self.motion.held(left)
        known = resampled_quantities(self, motion, left, s)
        contacts = self.contact_names, self.grounds
        return Trajectory(wanted, *states, tau, self.robot, "", (), (), motion, known, *contacts)

    # Files and pictures -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, as a whole or not at all: `.npz` (NumPy, batches too) or `.csv` (one motion).

        The columns of a CSV file are `t`, `q.<joint>`, `v.<joint>`, `tau.<joint>`, and `a.<joint>`,
        `kinetic_energy`, `potential_energy` and `force.<contact>.x` (y, z) where they are known; numbers are
        written so that reading gives them back exactly.
        """
        files.save(self, Path(path))

    @staticmethod
    def load(
        path: str | os.PathLike[str], robot: Robot | None = None, max_bytes: float = MAX_BYTES
    ) -> Trajectory:
        """Read what `save` wrote; with its robot it can be resampled too.

        An .npz file that would expand to more than `max_bytes` is refused before it does.

        Raises:
            InputError: the file is no trajectory, or that of another robot.
        """
        return files.load(Path(path), robot, max_bytes)

    def plot(self) -> Figure:
        """A matplotlib figure of coordinates, velocities, torques, energies and contact forces over time."""
        from helicoid.simulation.trajectory.plot import plot

        return plot(self)

    def to_dataframe(self) -> DataFrame:
        """A pandas DataFrame with the columns of a CSV file (see `save`), and the time t (s) as its index.

        Of a batch, the index has two levels, `rollout` and `t`. Needs pandas: `pip install pandas`.

        >>> import helicoid as hc
        >>> motion = hc.simulate(hc.load("double_pendulum"), [0.5, 0.0], duration=0.2, dt=0.05)
        >>> frame = motion.to_dataframe()  # doctest: +SKIP
        >>> frame["q.joint_1"].max()  # doctest: +SKIP
        """
        return table.to_dataframe(self)

    def _repr_html_(self) -> str:
        return table.to_html(self)

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"{self.batch} rollouts of "
        return f"Trajectory({self.name}, {batch}{len(self.t)} samples, {self.t[0]:g} to {self.t[-1]:g} s)"
