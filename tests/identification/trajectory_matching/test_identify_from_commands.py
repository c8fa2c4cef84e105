"""Identification from commands and encoders: parameters of simulated robots, sensitivities, bad input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.identification.trajectory_matching.recording import Recording
from helicoid.identification.trajectory_matching.rollouts.dry_friction import DryFrictionKind
from helicoid.identification.trajectory_matching.rollouts.rollout import Rollouts
from helicoid.identification.trajectory_matching.rollouts.tangent import moving_together
from helicoid.identification.trajectory_matching.trimming import WindowErrors
from helicoid.identification.trajectory_matching.unknowns import Unknowns

pytestmark = pytest.mark.compiled

DT, PERIOD = 0.004, 0.002
KP, KD = np.array([400.0, 150.0]), np.array([25.0, 8.0])
TRUE = {"damping": [4.0, 1.5], "friction": [3.0, 1.5], "armature": [0.4, 0.2]}
ENCODER = 2 * np.pi / 2**16
STEPS = {"step": 2e-5}  # s, of the simulated robot: of first order, which delays it by half a step
MUJOCO = {"engine": "mujoco", "contacts": [], "end_stops": False, "method": "rk4", "substeps": 8}


def described() -> hc.Robot:
    return hc.load("planar_2r")


def true_robot() -> hc.Robot:
    names = described().joint_names
    return described().with_joints(
        **{field: dict(zip(names, values, strict=True)) for field, values in TRUE.items()}
    )


def wanted(n: int, seed: int = 0) -> Array:
    rng, t = np.random.default_rng(seed), np.arange(n) * DT
    f, phase = rng.uniform(0.2, 2.0, (5, 2)), rng.uniform(0, 2 * np.pi, (5, 2))
    wave = np.sin(2 * np.pi * f * t[:, None, None] + phase).sum(axis=1)
    return np.asarray(0.35 * wave * np.minimum(1.0, t / 0.3)[:, None])


Law = Callable[[Array, Array, Array], Array]


def recorded(
    command: Array,
    law: Law,
    delay: float | Array = 0.0,
    force: Any = None,
    period: float = PERIOD,
    plant: Mapping[str, Any] = STEPS,
) -> Array:
    """Encoder readings of the true robot under torques `law(command sent, q, v)`."""
    late = np.broadcast_to(delay, (2,))

    def torque(t: float, q: Array, v: Array) -> Array:
        sent = np.maximum(np.floor((t - late) / DT + 1e-6).astype(int), 0)
        return law(command[sent, np.arange(2)], q, v)

    options = dict(plant)
    if "step" in options:
        options |= {
            "method": "stiction",
            "substeps": round(period / options.pop("step")),
            "disturbance": force,
        }
    motion = hc.simulate(true_robot(), command[0], None, (len(command) - 1) * DT, torque, period, **options)
    return np.asarray(np.round(motion.q[:: round(DT / period)] / ENCODER) * ENCODER)


def servo_law(command: Array, q: Array, v: Array) -> Array:
    return np.asarray(KP * (command - q) - KD * v)


@cache
def default_log() -> hc.Log:
    return servo_log()


def servo_log(
    n: int = 2001, delay: float | Array = 0.012, force: Any = None, seed: int = 0, **plant: Any
) -> hc.Log:
    command = wanted(n, seed)
    q = recorded(command, servo_law, delay, force, plant=plant or STEPS)
    return hc.Log.from_arrays(np.arange(n) * DT, q, q_command=command)


SERVO = hc.Servo(KP, KD, PERIOD, limit=np.inf)


def found_values(found: Any, field: str) -> list[float]:
    return [found.parameters[f"{joint}.{field}"] for joint in described().joint_names]


def assert_joints(found: Any, tolerance: float) -> None:
    for field, values in TRUE.items():
        assert found_values(found, field) == pytest.approx(values, rel=tolerance)


def test_friction_armature_and_delay_of_a_servo() -> None:
    found = hc.identify_from_commands(described(), default_log(), SERVO, progress=False)
    assert found.success, found.message
    assert_joints(found, 0.03)
    assert found.delay == pytest.approx([0.012, 0.012], abs=1e-4)
    other = servo_log(1001, seed=1)
    z = np.array(found.z)
    for group, field in (("viscous", "damping"), ("coulomb", "friction"), ("armature", "armature")):
        z[found.unknowns.groups[group]] = TRUE[field]
    z[found.unknowns.groups["offset"]], z[found.unknowns.groups["delay"]] = 0.0, 0.012
    truth = replace(found, z=z).score(other)
    assert np.all(found.score(other) <= 1.2 * truth)
    assert np.all(found.held_out < 0.1 * found.described) and np.all(found.held_out < 0.1 * found.constant)
    assert found.robot.model.joints[0].friction[0] == found.parameters["joint_1.friction"]


def test_identify_takes_logs_without_torques() -> None:
    """The same result by `hc.identify`, whose options of linear fits are refused."""
    log = default_log()[:601]
    found = hc.identify(described(), log, servo=SERVO, groups=("viscous", "coulomb"), progress=False)
    other = hc.identify_from_commands(described(), log, SERVO, ("viscous", "coulomb"), progress=False)
    assert np.array_equal(found.z, other.z)
    unknown: Any = hc.identify(described(), log, groups=("viscous",), progress=False)
    assert unknown.servo.kp.shape == (2,) and unknown.described_servo == hc.Servo()
    with pytest.raises(InputError, match="identify_from_commands"):
        hc.identify(described(), log, cutoff=10.0)
    with pytest.raises(InputError, match="servo is for one log"):
        hc.identify(described(), [log], servo=SERVO)


def test_unknown_gains_and_a_delay_of_each_joint() -> None:
    """Bodies in known gravity set the scale; kd has the sum of its own and viscous friction."""
    log = servo_log(delay=np.array([0.008, 0.02]))
    found = hc.identify_from_commands(
        described(), log, hc.Servo(period=PERIOD, limit=np.inf), delay="joint", progress=False
    )
    assert found.delay == pytest.approx([0.008, 0.02], abs=5e-4)
    assert found.servo is not None
    assert found.servo.kp == pytest.approx(KP, rel=0.03)
    assert found.servo.kd == pytest.approx(KD + TRUE["damping"], rel=0.05)
    assert any("kd has the sum" in note for note in found.notes)


def test_commanded_currents() -> None:
    """Torque constants and friction from currents, without a servo."""
    constant = np.array([0.8, 1.3])
    command = 0.3 * wanted(2001)
    kept: list[Array] = []

    def law(sent: Array, q: Array, v: Array) -> Array:
        kept.append(0.3 * servo_law(sent, q, v) / constant)
        return constant * kept[-1]

    q = recorded(command, law, period=DT)
    currents = np.array(kept)[: len(q)]
    currents = np.vstack([currents, currents[-1:]])[: len(q)]
    log = hc.Log.from_arrays(np.arange(len(q)) * DT, q, tau_command=currents)
    groups = ("viscous", "coulomb", "offset", "armature", "gain")
    found = hc.identify_from_commands(described(), log, groups=groups, delay=0.0, horizon=0.2, progress=False)
    assert found.servo is None and not any("effort limits" in note for note in found.notes)
    assert found.gain == pytest.approx(constant, rel=0.02)
    assert found_values(found, "friction") == pytest.approx(TRUE["friction"], rel=0.1)


def test_windows_with_contact_are_left_out() -> None:
    """A push of 60 N·m for 0.4 s changes neither friction nor armature."""

    def push(t: float, q: Array, v: Array) -> Array:
        return np.array([60.0, 0.0]) if 3.2 < t < 3.6 else np.zeros(2)

    found = hc.identify_from_commands(described(), servo_log(1301, force=push), SERVO, progress=False)
    assert_joints(found, 0.03)
    assert found.excluded and all(one.start < 3.7 and one.end > 3.1 for one in found.excluded)


def test_light_contact_in_a_third_of_the_windows() -> None:
    """Pushes of 0.2 to 2 times the friction, of 30 to 300 ms, are all found, and nothing else is."""
    rng, starts = np.random.default_rng(5), 0.3 + 1.6 * np.arange(5)
    length, size = rng.uniform(0.03, 0.3, 5), np.geomspace(0.3, 3.0, 5)

    def push(t: float, q: Array, v: Array) -> Array:
        now = (t > starts) & (t < starts + length)
        return np.array([0.0, size @ now])

    found = hc.identify_from_commands(described(), servo_log(force=push), SERVO, progress=False)
    assert_joints(found, 0.03)
    for start, end in zip(starts, starts + length, strict=True):
        assert any(one.start < end and one.end > start for one in found.excluded)
    assert all(np.any((one.start < starts + length) & (one.end > starts)) for one in found.excluded)
    assert found.excluded[0].joints == tuple(described().joint_names)


def test_parts_that_move_by_themselves() -> None:
    """The legs of a hanging robot, and the whole of an arm."""
    assert np.array_equal(moving_together(hc.load("quadruped")), np.repeat(np.arange(4), 3))
    assert np.array_equal(moving_together(described()), [0, 0])


def test_only_the_part_in_contact_is_trimmed() -> None:
    """Of two parts one has errors that stand out in 4 of 10 windows."""
    residuals = np.random.default_rng(0).normal(size=(10, 100, 3))
    residuals[:4, :, 0] *= 100.0
    counted, part = np.ones((10, 3), dtype=bool), np.array([0, 0, 1])
    errors = WindowErrors.of(residuals, counted, np.full(3, 1e-9), part)
    trimmed = errors.unusual()
    assert trimmed.tolist() == [True, True, False]
    best = errors.best(trimmed)
    assert best.sum(axis=0).tolist() == [5, 5, 10] and not best[:4, :2].any()
    wanted = np.ones((10, 3), dtype=bool)
    wanted[:4, :2] = False
    assert np.array_equal(WindowErrors.of(residuals, best, np.full(3, 1e-9), part).regular(), wanted)


def test_the_dry_friction_of_mujoco() -> None:
    """It creeps where it holds a joint: the fit finds that out, and what MuJoCo simulated."""
    pytest.importorskip("mujoco")
    log = servo_log(**MUJOCO)
    found = hc.identify_from_commands(described(), log, SERVO, progress=False)
    assert found.dry_friction == "mujoco" and any("as in MuJoCo" in note for note in found.notes)
    assert_joints(found, 0.01)
    assert found.delay == pytest.approx([0.012, 0.012], abs=2e-6)
    exact = hc.identify_from_commands(described(), log, SERVO, dry_friction="exact", progress=False)
    assert exact.dry_friction == "exact" and np.all(exact.training > 1.5 * found.training)


@pytest.mark.slow
@pytest.mark.parametrize("plant", [{"step": 2e-6}, MUJOCO])
def test_uncertainty_covers_the_truth(plant: dict[str, Any]) -> None:
    """The scatter of the errors over σ is about 1, over logs that differ in motion."""
    pulls = []
    for seed in (10, 11):
        log = servo_log(1501, seed=seed, **plant)
        found = hc.identify_from_commands(described(), log, SERVO, progress=False)
        for field, values in TRUE.items():
            for joint, value in zip(described().joint_names, values, strict=True):
                k = found.parameters.names.index(f"{joint}.{field}")
                pulls.append((found.parameters.values[k] - value) / found.parameters.sigma[k])
    assert 0.2 < np.sqrt(np.mean(np.square(pulls))) < 1.7


def test_a_wrong_servo_is_reported() -> None:
    """Commands of another motion predict worse than positions that stay where they are."""
    log = servo_log(1501)
    other = replace(log, q_command=wanted(1501, seed=5) + 0.8)
    found = hc.identify_from_commands(described(), other, SERVO, progress=False, iterations=5)
    assert not found.success and "held-out positions err" in found.message


@pytest.mark.parametrize(("sampled", "dry_friction"), [(True, "exact"), (False, "exact"), (True, "mujoco")])
def test_sensitivities_are_those_of_small_steps(sampled: bool, dry_friction: DryFrictionKind) -> None:
    """Along the initial state and every unknown: bodies, friction, gains and delays."""
    servo = hc.Servo(period=PERIOD) if sampled else hc.Servo()
    groups = ("inertia", "viscous", "coulomb", "offset", "armature", "gain")
    unknowns = Unknowns(described(), groups, servo, 2, 0.0)
    log = servo_log(200)
    log = replace(log, tau_command=0.5 * wanted(200, seed=3), v_command=wanted(200, seed=4))
    recording = Recording.of(described(), log, 0.3, 0.02)
    rollouts = Rollouts(unknowns, servo, recording, 2, dry_friction)
    z = np.nan_to_num(unknowns.nominal)
    for group, values in (("kp", KP), ("kd", KD), ("delay", 0.0093), ("gain", 0.9)):
        z[unknowns.groups[group]] = values
    z[unknowns.groups["viscous"]], z[unknowns.groups["coulomb"]] = 3.0, 2.0
    start = recording.start()
    by = rollouts.flow(z, start, np.eye(len(z))).by

    def slope(moved: Callable[[float], Array], step: float = 1e-6) -> Array:
        return (moved(step) - moved(-step)) / (2 * step)

    def along_state(k: int) -> Callable[[float], Array]:
        unit = np.eye(4)[k]
        return lambda h: rollouts.positions(z, (start[0] + h * unit[:2], start[1] + h * unit[2:]), 1)

    moved = [along_state(k) for k in range(4)]
    moved += [
        lambda h, k=k: rollouts.positions(z + h * np.eye(len(z))[k], start, 1)  # type: ignore[misc]
        for k in range(len(z))
    ]
    for k, along in enumerate(moved):
        numeric = slope(along)
        # Steps in which a joint starts or stops to slide have one-sided derivatives: few, so a median.
        off = np.median(np.abs(numeric - by[..., k])) / max(np.abs(numeric).max(), 1e-6)
        assert off < 1e-3, (k, off)


@pytest.mark.slow
def test_consistent_bodies() -> None:
    """A wrong described body is corrected by its position errors, and can exist."""
    pi = np.array(described().parameters.values)
    wrong = described().with_parameters(np.concatenate([1.0 * pi[:10], 0.85 * pi[10:]]))
    groups = ("inertia", "viscous", "coulomb", "offset", "armature")
    found = hc.identify_from_commands(wrong, default_log(), SERVO, groups=groups, progress=False)
    q = np.array([[0.3, 0.4], [1.0, -0.5], [-0.7, 0.2]])
    truth, before, after = (np.asarray(robot.gravity(q)) for robot in (true_robot(), wrong, found.robot))
    assert np.abs(after - truth).max() < 0.2 * np.abs(before - truth).max()
    assert all(not body.inertia.doubts() for body in found.robot.model.bodies)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"servo": None}, "tau_command"),
        ({"groups": "viscous"}, "groups"),
        ({"groups": ("viscous", "viscous")}, "once"),
        ({"groups": ("mass",)}, "groups"),
        ({"groups": ("gain",)}, "tau_command"),
        ({"delay": -0.1}, "delay"),
        ({"delay": "each"}, "delay"),
        ({"horizon": 0.0}, "horizon"),
        ({"dry_friction": "soft"}, "dry_friction"),
        ({"horizon": 100.0}, "window"),
        ({"servo": hc.Servo(KP, KD, period=0.003)}, "period"),
        ({"servo": hc.Servo([1.0, 2.0, 3.0], KD)}, "kp"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        hc.identify_from_commands(described(), **({"log": default_log()[:301], "servo": SERVO} | change))


def test_servos_refuse_numbers_that_are_none() -> None:
    for bad in ({"kp": -1.0}, {"kd": np.nan}, {"period": 0.0}, {"limit": "none"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            hc.Servo(**bad)  # type: ignore[arg-type]


def test_robots_with_joints_of_several_coordinates_are_refused() -> None:
    robot = hc.load("planar_2r", base="floating")
    n = 50
    q = np.tile(robot.neutral(), (n, 1)) + np.outer(np.arange(n), np.r_[np.zeros(7), 0.01, 0.02])
    log = hc.Log.from_arrays(np.arange(n) * DT, q, q_command=np.zeros((n, robot.nv)))
    with pytest.raises(InputError, match="base='fixed'"):
        hc.identify_from_commands(robot, log, SERVO)
