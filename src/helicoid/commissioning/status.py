"""Results of a commissioning, each with its remedy, and the exception by which a step ends the procedure."""

from __future__ import annotations

from enum import Enum
from typing import Any

from helicoid.errors import HelicoidError


class CommissioningStatus(str, Enum):
    """Result of a commissioning; a string, so that `status == "ok"` works. `remedy` says what to do.

    >>> print(CommissioningStatus.NO_MOTION.remedy)
    Release the brakes, enable the drives, and check that torque commands reach every joint.
    """

    OK = "ok"
    UNSUITABLE_ROBOT = "unsuitable robot"
    PLANT_FAILED = "plant failed"
    BAD_MEASUREMENT = "bad measurement"
    NO_MOTION = "no motion"
    LIMIT_REACHED = "limit reached"
    NO_EXCITATION = "no excitation"
    DOUBTFUL_IDENTIFICATION = "doubtful identification"
    FAILED_VALIDATION = "failed validation"
    DOUBTFUL_CONTROLLER = "doubtful controller"
    INTERRUPTED = "interrupted"

    @property
    def remedy(self) -> str:
        """Remedy in one sentence."""
        return _REMEDIES[self]

    def __str__(self) -> str:
        return str(self.value)


class CommissioningStopped(HelicoidError):
    """Ends the procedure.

    `recording` holds the samples of the motion until then, if there are any, `braked` how the brake ended,
    and `place` says where the arm is.
    """

    def __init__(
        self,
        status: CommissioningStatus,
        message: str,
        recording: Any = None,
        braked: Any = None,
        place: str = "",
    ) -> None:
        super().__init__(message)
        self.status, self.recording, self.braked, self.place = status, recording, braked, place


class MotionInterrupted(KeyboardInterrupt):
    """Ctrl-C during a motion; the robot was braked. `recording` has the samples until then."""

    def __init__(self, recording: Any, place: str) -> None:
        seconds = recording.t[-1] if len(recording) else 0.0
        super().__init__(f"after {seconds:.1f} s of a motion; {place}")
        self.recording = recording


_REMEDIES = {
    CommissioningStatus.OK: "Nothing: read the report before the robot moves faster than it was validated.",
    CommissioningStatus.UNSUITABLE_ROBOT: "State the missing limits in the description, with "
    "robot.with_joints(velocity=..., effort=..., lower=..., upper=...), or lock the joint.",
    CommissioningStatus.PLANT_FAILED: "Make measure() and apply(tau) answer as CommissioningPlant describes.",
    CommissioningStatus.BAD_MEASUREMENT: "Check the sensors: every sample needs finite q and v, "
    "and torques with the signs of the commands.",
    CommissioningStatus.NO_MOTION: "Release the brakes, enable the drives, and check that torque commands "
    "reach every joint.",
    CommissioningStatus.LIMIT_REACHED: "Check signs, zero positions and units of the joints and the payload; "
    "then try a lower speed=.",
    CommissioningStatus.NO_EXCITATION: "Move the robot away from its limits and obstacles, or give it more "
    "clearance in the scene.",
    CommissioningStatus.DOUBTFUL_IDENTIFICATION: "Read identification.html: it names the joint and the "
    "likely error of the log.",
    CommissioningStatus.FAILED_VALIDATION: "Look for what the model lacks at the joints named: loose parts, "
    "cables, temperature, elastic joints, another payload.",
    CommissioningStatus.DOUBTFUL_CONTROLLER: "Lower max_frequency=, or shorten the delay of the loop.",
    CommissioningStatus.INTERRUPTED: "Run it again; with resume=True the motions that were completed count.",
}
