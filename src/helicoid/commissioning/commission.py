"""The procedure: from a description and a plant to an identified robot and checked controllers."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.commissioning import checks
from helicoid.commissioning.controllers import (
    SAFE_FREQUENCY,
    CommissionedControllers,
    computed_torque,
    joint_impedance,
    joint_inertia,
    task_space,
    tip,
    tracking_mpc,
)
from helicoid.commissioning.delay import inertia_uncertainty, loop_delay
from helicoid.commissioning.first_motion import FirstMotion
from helicoid.commissioning.margins import allowed_frequency, worst_margins
from helicoid.commissioning.motions import (
    MotionSettings,
    collision_along,
    dither_amplitude,
    planned_motion,
    random_torques,
    sampled,
    unchecked_collisions,
)
from helicoid.commissioning.plant import CheckedPlant
from helicoid.commissioning.plant.motion import record
from helicoid.commissioning.plant.recording import Recording
from helicoid.commissioning.plant.way_back import bring_back
from helicoid.commissioning.plant.wiring import likely_error
from helicoid.commissioning.result import RECORD, Commissioning, CommissioningStep, remove_former
from helicoid.commissioning.status import CommissioningStatus, CommissioningStopped, MotionInterrupted
from helicoid.commissioning.validation import observer_thresholds, validate
from helicoid.errors import HelicoidError, InputError
from helicoid.identification.identify import identify
from helicoid.identification.logs.log import Log
from helicoid.identification.result import Identification
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot, as_robot
from helicoid.robot.collision.scene import Scene

_OF_THE_MOTION = CommissioningStatus.LIMIT_REACHED, CommissioningStatus.NO_MOTION
_FIRST_GROUPS = "inertia", "armature", "viscous", "coulomb", "offset"
_LEFT_TO_VALIDATION = "gear", "current"  # diagnoses that large rotors cause as well


@interruptible()
def commission(
    robot: Robot,
    plant: Any,
    out: str | os.PathLike[str] = "commissioning",
    *,
    frame: str | None = None,
    scene: Scene | None = None,
    speed: float = 0.6,
    max_frequency: float = 40.0,
    mpc_period: float = 0.01,
    duration: float = 12.0,
    seed: int = 0,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> Commissioning:
    """Commission an arm: excite and identify it, validate the model, and make controllers with margins.

    1. A slow first motion under a cautious law, with small random torques: delay of the loop, first model.
    2. An optimised excitation trajectory (Swevers et al. 1997) under computed torque; identification.
    3. A motion that was not fitted: prediction intervals, tracking errors.
    4. Gains from the model, the delay and the period, with phase, gain and delay margins; MPC with the
       identified friction; a momentum observer with thresholds from the noise.
    5. A page, `report.html`, with what a person must know before the robot moves faster.

    Motions begin and end at rest where the robot stands, within the limits and clear of the scene. Each
    sample is compared with the limits; what is doubtful stops the procedure: the robot is braked, and the
    result has the reason, a remedy, and all that was recorded until then.

    Args:
        robot: an arm on a fixed base as described, with position, velocity and effort limits.
        plant: see `CommissioningPlant`: `hc.Plant`, MuJoCo, or a class of your own around a real robot.
        out: folder for recordings, the identified URDF and the report.
        frame: link of the task-space law; by default the last of the longest chain.
        scene: what the motions keep clear of.
        speed: share of the velocity limits that excitation and validation use, up to 0.8.
        max_frequency: bound on ω of the joint loops (rad/s), below elastic resonances, which no model has.
        mpc_period: time between steps of MPC (s).
        duration: of excitation and validation each (s).
        seed: of motions and random torques.
        resume: take recordings that are in `out` already, of the same robot and settings, and do not move.
        progress: how progress is shown, by default by a bar where it takes long; see `helicoid.progress`.

    Returns:
        `.success`, `.status`, `.message`, `.robot`, `.controllers`, `.report` and what led to them.

    Raises:
        InputError: an argument is not usable. What the plant does never raises.

    >>> import tempfile
    >>> import helicoid as hc
    >>> described = hc.load("planar_2r").with_joints(velocity=2.0, effort=100.0)
    >>> plant = hc.Plant(described.with_joints(damping=0.5), [0.0, 0.5], period=0.005)
    >>> result = hc.commission(described, plant, tempfile.mkdtemp(), duration=4.0, max_frequency=15.0)
    >>> result.success, str(result.status)
    (True, 'ok')
    """
    described = as_robot(robot, "commission")
    checks.check_arguments(speed, max_frequency, mpc_period, duration)
    procedure = _Procedure(
        described, CheckedPlant(described, plant), Path(out), frame, scene, speed, max_frequency, mpc_period,
        duration, seed, resume,
    )  # fmt: skip
    with reporting(progress, "Commissioning") as tell:
        return procedure.run(tell)


class _Procedure:
    """One commissioning: settings, and the result as it grows."""

    def __init__(
        self,
        robot: Robot,
        plant: CheckedPlant,
        out: Path,
        frame: str | None,
        scene: Scene | None,
        speed: float,
        max_frequency: float,
        mpc_period: float,
        duration: float,
        seed: int,
        resume: bool,
    ) -> None:
        self.robot, self.plant, self.scene, self.seed, self.resume = robot, plant, scene, seed, resume
        self.prior = robot  # of the identification: the description, with a load that was found
        self.speed, self.max_frequency, self.duration = speed, max_frequency, duration
        self.mpc_period = plant.period * max(round(mpc_period / plant.period), 1)
        self.frame = tip(robot) if frame is None else frame
        robot.model.frame(self.frame)
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{out}: no folder can be created there: {error}") from error
        settings = {"period": plant.period, "speed": speed, "duration": duration, "seed": seed}
        self.result = Commissioning(robot, out, plant.period, settings=settings, simulated=plant.simulated)
        self.tell: Callable[[str, float], None] = lambda what, done: None
        self._check_settings()

    def run(self, tell: Callable[[str, float], None]) -> Commissioning:
        """All steps; what is doubtful ends them."""
        self.tell = tell
        result = self.result
        try:
            checks.check_robot(self.robot)
            self._first()
            self._excitation()
            self._validation()
            self._controllers()
            result.message = "the identified model was validated, and the controllers have their margins"
        except CommissioningStopped as stopped:
            result.status, result.message = stopped.status, self._reason(stopped)
            result.keep_stopped(stopped.recording)
        except KeyboardInterrupt as interrupt:
            result.status, result.message = CommissioningStatus.INTERRUPTED, "between motions"
            if isinstance(interrupt, MotionInterrupted):
                result.message = str(interrupt)
                result.keep_stopped(interrupt.recording)
            raise
        finally:
            self.tell("Writing the report", 0.98)
            result.write()
        return result

    # Steps --------------------------------------------------------------------------------------------

    def _first(self) -> None:
        """A slow motion with the description: delay, first identification."""
        settings = MotionSettings(
            "first motion", 0.3 * self.speed, 0.6, 0.7 * self.duration, 3, self.seed, 30
        )

        def move(start: Array) -> Recording:
            self.tell("First motion: planning", 0.02)
            motion = planned_motion(self.robot, start, settings, self.scene)
            tell = self._telling("First motion", 0.08, 0.15)
            return FirstMotion(self.robot, self.plant, motion, self.seed).recorded(tell)

        recording = self._recorded("first_motion", move)
        self.result.notes.extend(unchecked_collisions(self.robot, self.scene, recording.q_ref[0]))
        self.result.delay = loop_delay(recording)
        self._done("first motion", f"{len(recording) * self.plant.period:.1f} s recorded")
        self._identify("first_motion", 0.15, _FIRST_GROUPS)

    def _excitation(self) -> None:
        """An optimised excitation trajectory, and identification from it."""
        settings = MotionSettings("excitation", self.speed, 0.8, self.duration, 5, self.seed + 1, 50)
        assert self.result.delay is not None
        again = not self.result.delay.measured
        recording = self._recorded("excitation", lambda start: self._tracked(settings, start, 0.25, again))
        self.result.notes.extend(checks.check_measured(self.robot, recording))
        checks.check_moved(self.robot, recording)
        delay = self.result.delay = loop_delay(recording) if again else self.result.delay
        if not delay.measured:
            self.result.notes.append(
                f"the delay of the loop was not measurable: {1e3 * delay.seconds:.0f} ms are assumed"
            )
        self._done("delay", delay.text, delay=delay.seconds)
        self._identify("excitation", 0.4)
        found = self.result.identification
        assert found is not None
        self._done("identification", found.message, held_out=found.held_out.relative, notes=len(found.notes))

    def _validation(self) -> None:
        """A motion that is not fitted."""
        settings = MotionSettings("validation", self.speed, 0.8, 0.7 * self.duration, 4, self.seed + 2, 20)
        recording = self._recorded("validation", lambda start: self._tracked(settings, start, 0.55))
        checks.check_measured(self.robot, recording)
        checks.check_moved(self.robot, recording)
        assert self.result.identification is not None
        found = self.result.validation = validate(self.result.identification, recording)
        self._done(
            "validation",
            f"torque error {100 * np.median(found.relative):.1f} % (median of joints), "
            f"{100 * found.coverage.min():.0f} % or more within the 95 % intervals",
            relative=found.relative,
            coverage=found.coverage,
            tracking=found.tracking,
        )

    def _controllers(self) -> None:
        """Laws, MPC and observer, each tried before it is handed out."""
        result, robot, period = self.result, self.result.robot, self.plant.period
        found, valid, recording = result.identification, result.validation, result.recordings["validation"]
        assert found is not None and valid is not None and result.delay is not None
        self.tell("Controllers", 0.7)
        frequency = self._frequency()
        result.frequency = frequency
        result.uncertainty = self._uncertainty()
        result.margins = worst_margins(frequency, result.delay.seconds, period, result.uncertainty)
        inertia = joint_inertia(robot, recording.q[:: max(len(recording) // 200, 1)])
        tool, note = task_space(robot, self.frame, 0.5 * frequency)
        result.notes.extend([note] if note else [])
        self.tell("Controllers: MPC", 0.75)
        mpc = tracking_mpc(robot, recording.q[0], 0.8 * frequency, self.mpc_period)
        self.tell("Controllers: observer", 0.92)
        thresholds = observer_thresholds(found, valid, recording, period)
        if thresholds.alarms:
            result.notes.append(
                f"the observer raised {thresholds.alarms} false alarms on the last part of the validation "
                "motion: its thresholds were raised to cover it, and are not verified"
            )
        result.detects = thresholds.detects
        result.controllers = CommissionedControllers(
            computed_torque(robot, frequency, period),
            joint_impedance(robot, frequency, inertia),
            tool,
            mpc,
            thresholds.observer,
            self.frame,
        )
        checks.check_controllers(result.controllers, recording)
        self._done(
            "controllers",
            f"frequency {frequency:.1f} rad/s, phase margin {result.margins.phase:.0f}°, gain margin "
            f"{result.margins.gain:.1f}, delay margin {1e3 * result.margins.delay:.1f} ms",
            frequency=frequency,
            detects=thresholds.detects,
            alarms=thresholds.alarms,
        )

    # Parts of steps -----------------------------------------------------------------------------------

    def _tracked(
        self, settings: MotionSettings, start: Array, done: float, random: bool = False
    ) -> Recording:
        """Plan a motion and follow it by computed torque with the model so far, and `random` torques."""
        self.tell(f"{settings.name.capitalize()}: planning", done)
        robot = self.result.robot
        motion = planned_motion(robot, start, settings, self.scene)
        law = computed_torque(robot, self._frequency(), self.plant.period)
        rows = sampled(motion, self.plant.period)
        tell = self._telling(settings.name.capitalize(), done + 0.08, done + 0.15)
        w = None
        if random:
            inertia = 2 * joint_inertia(robot, motion.q)  # of the commands' unit
            amplitude = dither_amplitude(self.robot, inertia, self.plant.period)
            w = random_torques(robot, amplitude, len(rows[0]), self.seed)
        try:
            return record(self.robot, self.plant, law, rows, w, tell)
        except CommissioningStopped as stopped:
            cautious = computed_torque(robot, min(self._frequency(), SAFE_FREQUENCY), self.plant.period)
            stopped.place = bring_back(self.robot, self.plant, motion, cautious, stopped)
            raise

    def _reason(self, stopped: CommissioningStopped) -> str:
        """Message of a stop, its likely cause, and where the arm is."""
        parts, recording = [str(stopped)], stopped.recording
        if stopped.status in _OF_THE_MOTION and recording is not None:
            error = None if stopped.braked is None else stopped.braked.error
            error = likely_error(self.robot, recording) if error is None else error
            parts += [f"likely {error.text}"] if error is not None else []
        return "; ".join([*parts, *([stopped.place] if stopped.place else [])])

    def _check_settings(self) -> None:
        """With `resume`, the recordings in the folder must be of the same settings; else they are removed."""
        path = self.result.out / RECORD
        if not self.resume:
            remove_former(self.result.out)
        if self.resume and path.exists():
            try:
                found = json.loads(path.read_text("utf-8"))
                before = found["robot"], found["settings"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}: not the record of a commissioning: {error!r}") from error
            if before != (self.robot.name, dict(self.result.settings)):
                raise InputError(
                    f"{path}: of {before[0]!r} with {before[1]}; leave out resume=, or take another folder"
                )

    def _recorded(self, name: str, move: Callable[[Array], Recording]) -> Recording:
        """The recording of a motion from where the robot stands; with `resume` the one in the folder."""
        path = self.result.out / f"{name}.npz"
        recording = Recording.load(path) if self.resume else None
        if recording is None:
            recording = move(self.plant.measure().q)
            recording.save(path)
        elif (n := recording.q.shape[1]) != self.robot.nq:
            raise InputError(f"{path}: of {n} joints; {self.robot.name!r} has {self.robot.nq}")
        self.result.recordings[name] = recording
        if meeting := collision_along(self.robot, recording.q_ref[::20], self.scene):
            self.result.notes.append(f"by their shapes or convex hulls, {meeting} meet on {path.stem}")
        return recording

    def _identify(self, name: str, done: float, groups: tuple[str, ...] | None = None) -> None:
        """Identify from a recording by name; the result must be usable."""
        self.tell("Identification", done)
        log = self.result.recordings[name].log(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # they are in the notes of the result
            found = self._fitted(self.prior, log, groups)
            if found.load is not None:  # not a doubtful log: a tool or a payload
                link, mass, *com = found.load
                self.prior = self.prior.with_payload(link, mass, com)
                self.result.notes.append(
                    f"the arm carries about {mass:.2g} kg on {link!r} that the description lacks: added"
                )
                found = self._fitted(self.prior, log, groups)
            self.result.identification = found
            found.report(self.result.out / "identification.html")
        if found.diagnosis and found.diagnosis_kind in _LEFT_TO_VALIDATION:
            self.result.notes.append(f"doubt, which the validation motion decides: {found.diagnosis}")
        elif not found.success:
            raise CommissioningStopped(CommissioningStatus.DOUBTFUL_IDENTIFICATION, found.message)
        found.to_urdf(self.result.out / "identified.urdf")

    @staticmethod
    def _fitted(robot: Robot, log: Log, groups: tuple[str, ...] | None) -> Identification:
        try:
            return identify(robot, log, groups=groups, progress=False)
        except HelicoidError as error:
            raise CommissioningStopped(CommissioningStatus.DOUBTFUL_IDENTIFICATION, str(error)) from error

    def _frequency(self) -> float:
        """ω of the joint loops for the measured delay.

        Raises:
            CommissioningStopped: no useful one has the margins.
        """
        assert self.result.delay is not None
        delay, uncertainty = self.result.delay.seconds, self._uncertainty()
        frequency = allowed_frequency(delay, self.plant.period, self.max_frequency, uncertainty)
        if not frequency:
            raise CommissioningStopped(
                CommissioningStatus.DOUBTFUL_CONTROLLER,
                f"with a delay of {1e3 * delay:.0f} ms, and joints that answer torques {1 + uncertainty:.2g} "
                "times as strongly as modelled, no joint loop has sufficient margins",
            )
        return frequency

    def _uncertainty(self) -> float:
        """Relative error of the modelled inertia that the margins cover."""
        assert self.result.delay is not None
        q = self.result.recordings["first_motion"].q
        return inertia_uncertainty(self.result.robot, q, self.result.delay)

    def _telling(self, what: str, begin: float, end: float) -> Callable[[float], None]:
        return lambda done: self.tell(what, begin + done * (end - begin))

    def _done(self, name: str, outcome: str, **figures: Any) -> None:
        self.result.steps.append(CommissioningStep(name, outcome, figures))
