"""Result of identification from commands: robot, servo and delays, predictions and their errors."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.identified_robot import identified_robot
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.logs.log import Log
from helicoid.identification.result import IdentifiedParameters
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.rollouts.dry_friction import DryFrictionKind
from helicoid.identification.trajectory_matching.rollouts.rollout import Rollouts
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.unknowns import Unknowns
from helicoid.pages.tables import table
from helicoid.robot import Robot


class LeftOut(NamedTuple):
    """A stretch of the log from `start` to `end` (s) that does not count for some joints."""

    start: float
    end: float
    joints: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CommandIdentification:
    """Result of `identify_from_commands`.

    Args:
        nominal: the robot as described.
        unknowns: names and places of the unknowns.
        described_servo: the servo as given.
        z, covariance: values of the unknowns, and their covariance, see `covariance.py`.
        substeps: time steps of slopes in a sample; positions are simulated with several times more.
        dry_friction: "exact" where joints rest that it holds, or "mujoco" where they creep as in MuJoCo.
        horizon: length of the windows (s).
        training: RMS error of the positions of each joint over windows of `horizon` (rad, m).
        held_out: the same on the last fifth of the log, by a fit to the rest: the error to expect; NaN where
            the log has one window.
        described: the same by the robot as described (unknown servo gains as identified), without delay.
        constant: the same by positions that stay where a window begins.
        excluded: stretches that were left out, (start, end, joints), in s.
        notes: sentences on what was found and left out.
        logs: what was fitted.
    """

    nominal: Robot
    unknowns: Unknowns
    described_servo: Servo | None
    z: Array
    covariance: Array
    substeps: int
    dry_friction: DryFrictionKind
    horizon: float
    training: Array
    held_out: Array
    described: Array
    constant: Array
    excluded: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    logs: tuple[Log, ...]

    @property
    def success(self) -> bool:
        """Whether the result is usable: finite, and predicts held-out positions no worse than described."""
        return not self._failure

    @property
    def message(self) -> str:
        """One sentence on `success`."""
        return self._failure or (
            f"identified {len(self.z)} parameters; positions over {self.horizon:g} s err by "
            f"{np.median(self.training):.2g} (RMS, median over the joints)"
        )

    @cached_property
    def _failure(self) -> str:
        if not np.isfinite(self.z).all():
            return "the fit diverged: parameters are not finite"
        if np.isnan(self.held_out).any():
            return ""
        for name, errors in (("the description", self.described), ("constant positions", self.constant)):
            ratio = np.sqrt(np.sum(self.held_out**2) / max(float(np.sum(errors**2)), 1e-300))
            if not ratio <= 1.0:
                return (
                    f"held-out positions err {ratio:.3g} times as much as those of {name}: the commands, "
                    "their delay or the kind of servo are likely others"
                )
        return ""

    @property
    def sigma(self) -> Array:
        """Standard deviation of each unknown."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def parameters(self) -> IdentifiedParameters:
        """The unknowns by name; unknown gains and delays have no described value (NaN)."""
        return IdentifiedParameters(self.unknowns.names, self.z, self.sigma, self.unknowns.nominal)

    @cached_property
    def robot(self) -> Robot:
        """The identified robot; terms that were not among the unknowns stay as described."""
        return identified_robot(self.unknowns.regression, self.z[: self.unknowns.x_size])

    @property
    def servo(self) -> Servo | None:
        """The servo with identified gains; None where torques are commanded."""
        if self.described_servo is None:
            return None
        values = self.unknowns.servo_values(self.z)
        return replace(self.described_servo, kp=values.kp, kd=values.kd)

    @property
    def delay(self) -> Array:
        """Delay of the command of each joint, (nv,) s."""
        return np.array(self.unknowns.servo_values(self.z).delay)

    @property
    def gain(self) -> Array:
        """Gains of `tau_command` (nv,): 1, or identified torque constants."""
        return np.array(self.unknowns.servo_values(self.z).gain)

    def score(self, log: Log, horizon: float | None = None) -> Array:
        """RMS errors (nv) of positions predicted over windows of `horizon` (s) from measured states."""
        return position_errors(self._rollouts(log, self.horizon if horizon is None else horizon), self.z)

    def predict(self, log: Log, horizon: float | None = None) -> tuple[Array, Array]:
        """Times (W, K) and positions (W, K, nv) of windows simulated from the log's smoothed states."""
        rollouts = self._rollouts(log, self.horizon if horizon is None else horizon)
        flow = rollouts.flow(self.z, rollouts.recording.start())
        return rollouts.recording.t[rollouts.recording.index], np.ascontiguousarray(flow.q.swapaxes(0, 1))

    def _rollouts(self, log: Log, horizon: float) -> Rollouts:
        if not 0 < horizon < np.inf:
            raise InputError(f"horizon is a time above 0 (s); got {horizon!r}")
        recording = Recording.of(self.nominal, log, horizon, float(self.delay.max()))
        return Rollouts(self.unknowns, self.described_servo, recording, self.substeps, self.dry_friction)

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the identified robot as a URDF."""
        self.robot.to_urdf(path)

    def __repr__(self) -> str:
        return (
            f"CommandIdentification({self.nominal.name!r}, {len(self.z)} parameters, positions over "
            f"{self.horizon:g} s err by {np.median(self.training):.2g} on the log, "
            f"{np.median(self.held_out):.2g} held out)"
        )

    def _repr_html_(self) -> str:
        """Errors joint by joint and the notes, for notebooks."""
        rows = [
            [name, *(f"{x:.3g}" for x in values)]
            for name, *values in zip(
                self.nominal.model.velocity_names, self.training, self.held_out, self.described, strict=True
            )
        ]
        title = f"{self.nominal.name}: {len(self.z)} parameters, output error over {self.horizon:g} s"
        return table(title, ["position error", "on the log", "held out", "as described"], rows, self.notes)


def position_errors(rollouts: Rollouts, z: Array, counted: Mask | None = None) -> Array:
    """RMS (nv) of simulated positions about the measured ones, from smoothed states; inf: unstable.

    Of all windows, or of the windows and joints (W, nv) that are `counted`.
    """
    flow = rollouts.flow(z, rollouts.recording.start())
    where = True if counted is None else counted[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        off = flow.q.swapaxes(0, 1) - rollouts.recording.measured
        squares = np.mean(off**2, axis=(0, 1), where=where)
    return np.where(np.isfinite(squares), np.sqrt(np.abs(squares)), np.inf)
