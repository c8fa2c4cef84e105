"""Identification without torque sensors, from commands and encoders, by output error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.linear.blas import one_blas_thread
from helicoid.identification.logs.filtering import Mask
from helicoid.identification.logs.log import Log
from helicoid.identification.logs.plausibility import check
from helicoid.identification.trajectory_matching.fit import (
    Fit,
    Settings,
    best_start,
    fit,
    with_dry_friction,
)
from helicoid.identification.trajectory_matching.initial import EquationError
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.result import (
    CommandIdentification,
    LeftOut,
    position_errors,
)
from helicoid.identification.trajectory_matching.rollouts.dry_friction import DryFrictionKind
from helicoid.identification.trajectory_matching.scaling import steps_per_sample
from helicoid.identification.trajectory_matching.servo import Servo
from helicoid.identification.trajectory_matching.unknowns import Unknowns
from helicoid.interrupts import interruptible
from helicoid.progress import Progress, reporting
from helicoid.robot import Robot

DEFAULT_GROUPS = ("viscous", "coulomb", "offset", "armature")
GROUPS = ("inertia", "viscous", "coulomb", "offset", "armature", "gain")
_STARTS = 3  # delays from which the output error is minimised
_HELD_OUT = 0.2  # of the windows: the last ones
_SUM_NOTE = (
    "Without v_command, kd and viscous friction act alike: viscous friction stays as described, and kd has "
    "the sum of both."
)
_SOFT_NOTE = "Dry friction is soft, as in MuJoCo: with exact dry friction positions err {:.3g} times as much."


@interruptible()
def identify_from_commands(
    robot: Robot,
    log: Log,
    servo: Servo | None = None,
    groups: Sequence[str] = DEFAULT_GROUPS,
    delay: float | Literal["common", "joint"] = "common",
    *,
    horizon: float = 0.5,
    max_delay: float = 0.05,
    iterations: int = 30,
    dry_friction: DryFrictionKind | Literal["auto"] = "auto",
    progress: Progress | bool | None = None,
) -> CommandIdentification:
    """Identify joints, servos and delays from commands and measured positions, without torques.

    Output error: windows of the log, `horizon` long (s), are simulated from free initial states under the
    commands of the log, and the unknowns are those that reproduce the measured positions, in the least
    squares sense. Windows whose error stands out (contact, a hand on the robot) are found by least trimmed
    squares, left out for the joints of that leg or arm, and listed in `result.excluded`. The search starts
    from equation errors at delays up to `max_delay`, and goes on from the best of them with exact
    sensitivities. Dry friction holds joints at rest, bodies stay consistent, friction and gains non-negative.

    Args:
        robot: its description, on a fixed base with joints of one coordinate.
        log: `q` with `q_command` (and, where sent, `v_command`, `tau_command`); without a servo `tau_command`
            alone, in N·m, or in A with "gain" among the groups. A command is held until the next sample.
        servo: the joint servos; gains that are None are unknown. None: torques are commanded.
        groups: of the unknowns: "viscous", "coulomb", "offset", "armature", "inertia" (physically consistent,
            near the description), "gain" (of `tau_command`: torque constants). What is not among them stays
            as described.
        delay: of the commands: "common" to all joints, one of each "joint", or known (s).
        horizon: length of a window (s).
        max_delay: largest delay of the multi-start (s).
        iterations: largest number of Gauss-Newton steps.
        dry_friction: where it holds a joint, "exact", or "mujoco": soft, as MuJoCo simulates friction loss by
            default, for logs of that simulator; by default the one with the smaller output error.
        progress: as in `identify`.

    Returns:
        The identified robot, servo and delays, with σ of all unknowns and errors of predicted positions on
        windows that were held out. With unknown kp and kd all torques scale together: described bodies, and
        gravity or inertia that moves, set the scale, and `sigma` says how well.

    >>> import numpy as np
    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> true, servo = robot.with_joints(damping=0.4, friction=0.3), hc.Servo(kp=60.0, kd=2.0, period=0.004)
    >>> t = np.arange(750) * 0.004
    >>> wanted = np.column_stack([0.8 * np.sin(4 * t), 0.6 * np.sin(6 * t) + 0.2 * np.cos(11 * t)])
    >>> def law(t, q, v):
    ...     return 60.0 * (wanted[round(t / 0.004)] - q) - 2.0 * v
    >>> moved = hc.simulate(true, wanted[0], None, 2.996, law, dt=0.004, method="stiction", substeps=8)
    >>> log = hc.Log.from_arrays(t, moved.q, q_command=wanted)
    >>> found = hc.identify_from_commands(robot, log, servo, groups=("viscous", "coulomb"))
    >>> bool(abs(found.parameters["joint_1.damping"] - 0.4) < 0.02)
    True
    """
    _check(robot, log, servo, groups, delay, horizon, max_delay, dry_friction)
    common = 1 if delay == "common" else robot.nv if delay == "joint" else 0
    known = 0.0 if isinstance(delay, str) else float(delay)
    notes = []
    if servo is not None and servo.kd is None and log.v_command is None and "viscous" in groups:
        groups = [group for group in groups if group != "viscous"]
        notes.append(_SUM_NOTE)
    unknowns = Unknowns(robot, groups, servo, common, known)
    if not len(unknowns):
        raise InputError("nothing is unknown: name groups, or leave gains or the delay to be identified")
    whole = Recording.of(robot, log, horizon, max(max_delay, known))
    with one_blas_thread(), reporting(progress, "Matching trajectories") as report:
        z = _initial(unknowns, whole, max_delay, common)
        substeps = steps_per_sample(unknowns, servo, whole, z[0])
        kinds = _kinds(unknowns, dry_friction)
        settings = Settings(servo, unknowns, horizon, max_delay, iterations, substeps, kinds[0])
        fitted = max(1, round((1 - _HELD_OUT) * len(whole.base)))
        earlier, counted = whole.chosen(slice(fitted)), np.ones((len(whole.base), robot.nv), dtype=bool)
        start = best_start(settings, earlier, z, report)
        first = fit(settings, earlier, start, report, counted[:fitted])
        for kind in kinds[1:]:
            first, ratio = with_dry_friction(settings, earlier, first, kind, report)
            if ratio < 1.0:
                settings = replace(settings, dry_friction=kind)
                notes.append(_SOFT_NOTE.format(1.0 / ratio))
        # The others count if they turn out to be like those that did.
        counted[:fitted], counted[fitted:] = first.counted, first.counted.all()
        final = fit(settings, whole, first.z, report, counted)
    return _result(settings, log, whole, fitted, first, final, notes)


def _kinds(unknowns: Unknowns, given: DryFrictionKind | Literal["auto"]) -> list[DryFrictionKind]:
    """The kinds of dry friction to choose from."""
    if given != "auto":
        return [given]
    dry = "coulomb" in unknowns.groups or any(np.any(j.friction > 0) for j in unknowns.robot.model.joints)
    return ["exact", "mujoco"] if dry else ["exact"]


def _check(
    robot: Robot,
    log: Log,
    servo: Servo | None,
    groups: Sequence[str],
    delay: float | str,
    horizon: float,
    max_delay: float,
    dry_friction: str,
) -> None:
    check(robot, log)
    if robot.theta.groups:
        raise InputError("identify_from_commands takes a robot of numbers; this one is parametric")
    if robot.constraints:
        raise InputError("identify_from_commands knows no constraints: take a robot without them")
    several = [body.joint.name for body in robot.model.bodies if body.joint.type.nq != 1]
    if several:
        raise InputError(
            f"servos move joints of one coordinate; {', '.join(several[:3])} has more: load the robot with "
            "base='fixed', or lock the joint"
        )
    if log.f_ext:
        raise InputError("identify_from_commands simulates without external wrenches: this log has some")
    needed = "tau_command" if servo is None else "q_command"
    if getattr(log, needed) is None:
        raise InputError(
            f"{log.source}: has no {needed}: give it in hc.Log.from_arrays(..., {needed}=...)"
            + ("; for position commands, pass servo=hc.Servo(kp, kd)" if servo is None else "")
        )
    if isinstance(groups, str) or any(group not in GROUPS for group in groups):
        raise InputError(f"groups names unknowns, some of {', '.join(GROUPS)}; got {groups!r}")
    if len(set(groups)) < len(groups):
        raise InputError(f"groups names each unknown once; got {groups!r}")
    if dry_friction not in ("auto", "exact", "mujoco"):
        raise InputError(f"dry_friction is 'auto', 'exact' or 'mujoco'; got {dry_friction!r}")
    if "gain" in groups and log.tau_command is None:
        raise InputError(f"{log.source}: 'gain' is that of tau_command, which it has not")
    if isinstance(delay, str) and delay not in ("common", "joint"):
        raise InputError(f"delay is 'common', 'joint' or a number (s); got {delay!r}")
    if not isinstance(delay, str) and not 0 <= delay < np.inf:
        raise InputError(f"delay is 0 or more (s); got {delay!r}")
    if not 0 < horizon < np.inf or not 0 < max_delay < np.inf:
        raise InputError(f"horizon and max_delay are times above 0 (s); got {horizon} and {max_delay}")
    if servo is not None:
        for name in ("kp", "kd"):
            servo.gain(name, robot.nv)
        servo.limits(robot)


def _initial(unknowns: Unknowns, recording: Recording, max_delay: float, delays: int) -> list[Array]:
    """z from equation errors, at the best delays of the grid."""
    equations = EquationError(unknowns, recording)
    nv = unknowns.robot.nv
    if not delays:
        return [equations.solve(np.full(nv, unknowns.known_delay))[0]]
    grid, errors = equations.starts(max_delay, each=delays > 1)
    best = np.argsort(errors, axis=0)[:_STARTS]
    return [equations.solve(np.broadcast_to(grid[row], (nv,)))[0] for row in best]


def _result(
    settings: Settings, log: Log, whole: Recording, fitted: int, first: Fit, final: Fit, notes: list[str]
) -> CommandIdentification:
    unknowns, servo, counted = settings.unknowns, settings.servo, final.counted
    held_out = fitted < len(whole.base) and bool(counted[fitted:].any(axis=0).all())
    chosen = slice(fitted, None) if held_out else slice(None)
    windows = whole.chosen(chosen)

    def errors(z: Array, recording: Recording, windows: slice) -> Array:
        return position_errors(settings.rollouts(recording), z, counted[windows])

    described = np.where(np.isfinite(unknowns.nominal), unknowns.nominal, final.z)
    described[unknowns.groups["delay"]] = 0.0
    excluded = _left_out(unknowns.robot, whole, counted)
    notes += [
        f"Matched {len(whole.base)} windows of {settings.horizon:g} s in {final.iterations} Gauss-Newton "
        f"steps; held-out errors are those of the last {len(whole.base) - fitted} of them, by a fit to the "
        "others."
    ]
    if servo is None and log.tau_command is not None:
        torque = np.abs(unknowns.servo_values(final.z).gain * log.tau_command)
        beyond = float(np.mean(np.any(torque > Servo().limits(unknowns.robot), axis=1)))
        if beyond > 0:
            notes.append(
                f"{100 * beyond:.2g} % of the commanded torques are beyond the robot's effort limits, where "
                "the simulation cuts them off."
            )
    if excluded:
        notes.append(_contact_note(whole, counted, excluded))
    moved = (windows.measured - windows.measured[:, :1]) ** 2
    return CommandIdentification(
        nominal=unknowns.robot,
        unknowns=unknowns,
        described_servo=servo,
        z=final.z,
        covariance=final.covariance,
        substeps=settings.substeps,
        dry_friction=settings.dry_friction,
        horizon=settings.horizon,
        training=errors(final.z, whole, slice(None)),
        held_out=errors(first.z, windows, chosen) if held_out else np.full(unknowns.robot.nv, np.nan),
        described=errors(described, windows, chosen),
        constant=np.sqrt(np.mean(moved, axis=(0, 1), where=counted[chosen][:, None])),
        excluded=excluded,
        notes=tuple(notes),
        logs=(log,),
    )


def _left_out(robot: Robot, whole: Recording, counted: Mask) -> tuple[LeftOut, ...]:
    """Stretches of windows that do not count for the same joints."""
    found: list[LeftOut] = []
    for base, joints in zip(whole.base, ~counted, strict=True):
        if joints.any():
            start, end = float(whole.t[base]), float(whole.t[base + whole.length])
            names = tuple(name for name, out in zip(robot.model.velocity_names, joints, strict=True) if out)
            if found and found[-1].joints == names and abs(found[-1].end - start) < 0.5 * whole.dt:
                start = found.pop().start
            found.append(LeftOut(start, end, names))
    return tuple(found)


def _contact_note(whole: Recording, counted: Mask, excluded: tuple[LeftOut, ...]) -> str:
    share, first = 1.0 - np.mean(counted, axis=0), excluded[0]
    names = ", ".join(first.joints[:3]) + (", ..." if len(first.joints) > 3 else "")
    return (
        f"Up to {100 * share.max():.2g} % of a joint's windows were left out, since their errors stand out "
        f"(contact?), the first at t = {first.start:.4g} s ({names}): see `excluded`."
    )
