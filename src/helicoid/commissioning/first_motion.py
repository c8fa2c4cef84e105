"""The first motion, with the description alone: attempts, each with more gain where a joint is held back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning import checks
from helicoid.commissioning.controllers import FIRST_RATIO, assumed_armature, first_law, joint_inertia
from helicoid.commissioning.motions import dither_amplitude, random_torques, sampled
from helicoid.commissioning.plant import CheckedPlant
from helicoid.commissioning.plant.motion import record
from helicoid.commissioning.plant.recording import Recording, held_torque
from helicoid.commissioning.plant.way_back import NOT_BROUGHT_BACK, off_start, way_back
from helicoid.commissioning.status import CommissioningStopped
from helicoid.identification.excitation.excitation import Excitation
from helicoid.robot import Robot

_REST = 0.5  # s before the motion
_RATIO_STEP, _MAX_RATIO = 5.0, 1e4  # of assumed armature over described inertia


class FirstMotion:
    """A motion with the description alone, recorded on the plant.

    A joint that its friction, its rotor or a load holds back gets more gain in the next attempt.
    """

    def __init__(self, robot: Robot, plant: CheckedPlant, motion: Excitation, seed: int) -> None:
        self.robot, self.plant, self.motion, self.seed = robot, plant, motion, seed
        self._inertia = joint_inertia(robot, motion.q)
        self._ratio = np.full(robot.nv, FIRST_RATIO)
        self._held = np.zeros(robot.nv)

    def recorded(self, tell: Callable[[float], None]) -> Recording:
        """The recording of the attempt that succeeded.

        Raises:
            CommissioningStopped: none did, for a reason that more gain does not mend, or the arm could not be
                brought back.
        """
        while True:
            try:
                return self._attempt(tell)
            except CommissioningStopped as stopped:
                if not self._gain_raised(stopped):
                    raise
                self._bring_back(stopped)

    def _armature(self) -> Array:
        return assumed_armature(self.robot, self._inertia, self._ratio)

    def _attempt(self, tell: Callable[[float], None]) -> Recording:
        period, armature = self.plant.period, self._armature()
        law = first_law(self.robot, armature, period)
        rows = sampled(self.motion, period, _REST)
        amplitude = dither_amplitude(self.robot, self._inertia + armature, period)
        w = random_torques(self.robot, amplitude, len(rows[0]), self.seed)
        w[: round(_REST / period)] = 0.0
        recording = record(self.robot, self.plant, law, rows, w, tell, self._held)
        checks.check_measured(self.robot, recording)
        checks.check_moved(self.robot, recording)
        return recording

    def _gain_raised(self, stopped: CommissioningStopped) -> bool:
        """Raise the gain of the joints that lagged behind; False where that is no remedy."""
        if stopped.braked is not None and not stopped.braked.may_move:
            return False
        lagging = checks.lagging_joints(self.robot, stopped.recording)
        if not np.any(lagging) or np.any(self._ratio[lagging] > _MAX_RATIO):
            return False
        self._ratio[lagging] *= _RATIO_STEP
        return True

    def _bring_back(self, stopped: CommissioningStopped) -> None:
        """Move slowly back to the start, along the motion as it came."""
        period, duration = self.plant.period, self.motion.series.duration
        along = max(len(stopped.recording) * period - _REST, 0.0)
        along = 0.0 if along > duration - 2 * period else along  # a whole motion has ended at its start
        attempt = stopped
        while True:
            held = np.zeros(self.robot.nv) if attempt.braked is None else attempt.braked.held
            rows, left = way_back(self.robot, self.motion, along, self.plant.measure().q, period)
            law = first_law(self.robot, self._armature(), period)
            try:
                recording = record(self.robot, self.plant, law, rows, bias=held)
                break
            except CommissioningStopped as again:
                if not self._gain_raised(again):
                    raise CommissioningStopped(
                        again.status,
                        str(stopped),
                        again.recording,
                        again.braked,
                        NOT_BROUGHT_BACK.format(again),
                    ) from again
                attempt, along = again, float(left[min(len(again.recording), len(left) - 1)])
        self._held = held_torque(law.robot, recording)
        if off := off_start(self.robot, self.motion, recording):
            raise CommissioningStopped(
                stopped.status, str(stopped), recording, place=NOT_BROUGHT_BACK.format(off)
            )
