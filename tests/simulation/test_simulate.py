"""hc.simulate: physics that must hold, the ways to say what acts, batches, and how it fails."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid import InputError, Robot
from helicoid._typing import Array
from helicoid.compiler.evaluation.compiled import set_compile
from helicoid.simulation import SimulationError, running, simulate
from helicoid.simulation.equations import adaptive
from helicoid.simulation.inputs import start
from helicoid.simulation.running import run

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <dynamics damping="0.3" friction="0"/><limit effort="2" velocity="9"/></joint>
</robot>"""
INERTIA = 2 * 0.5**2 + 0.01


@pytest.fixture(scope="module")
def pendulum() -> Robot:
    return hc.load(PENDULUM)


@pytest.fixture(scope="module")
def arm() -> Robot:
    return hc.load("double_pendulum")


@pytest.fixture(scope="module")
def dog() -> Robot:
    return hc.load("quadruped", base="floating")


# Physics ----------------------------------------------------------------------------------------------


def test_small_swings_follow_the_closed_form(pendulum: Robot) -> None:
    """θ̈ + (d/I) θ̇ + (m g c/I) θ = 0 for small θ."""
    decay, stiffness = 0.3 / INERTIA / 2, 2 * 9.81 * 0.5 / INERTIA
    frequency = np.sqrt(stiffness - decay**2)
    motion = simulate(pendulum, [1e-4], None, 2.0, dt=0.01)
    t = motion.t
    exact = 1e-4 * np.exp(-decay * t) * (np.cos(frequency * t) + decay / frequency * np.sin(frequency * t))
    np.testing.assert_allclose(motion.q[:, 0], exact, rtol=0, atol=1e-9)


def test_energy_of_ten_seconds_of_a_free_double_pendulum(arm: Robot) -> None:
    motion = simulate(arm, [1.0, 0.5], None, 10.0, friction=False)
    swing = np.ptp(motion.kinetic_energy)
    assert swing > 1
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-9 * swing


def test_power_balance_with_friction_and_torque(arm: Robot) -> None:
    """Energy changes by the work of torque and friction."""
    tau = np.array([0.5, -0.2])
    motion = simulate(arm, [0.4, 0.2], [1.0, -1.0], 0.5, tau, dt=1e-3)
    friction_power = motion.v * (
        arm.inverse_dynamics(motion.q, motion.v, motion.a, friction=True)
        - arm.inverse_dynamics(motion.q, motion.v, motion.a, friction=False)
    )
    power = (motion.v @ tau) - friction_power.sum(axis=1)
    work = np.sum((power[1:] + power[:-1]) / 2) * 1e-3
    np.testing.assert_allclose(motion.energy[-1] - motion.energy[0], work, rtol=1e-4)


def test_free_flight_keeps_momentum(dog: Robot, rng: np.random.Generator) -> None:
    """Torques at the joints are internal: they change neither momentum; gravity changes the linear one."""
    v, tau = rng.normal(size=dog.nv), 0.1 * rng.normal(size=dog.nv)
    tau[:6] = 0
    motion = simulate(dog, None, v, 0.4, tau, dt=2e-3)
    momentum = dog.centroidal_momentum(motion.q, motion.v)
    mass = sum(body.inertia.mass for body in dog.model.bodies)
    fall = np.outer(motion.t, [0, 0, 0, 0, 0, -9.81 * mass])
    np.testing.assert_allclose(momentum, momentum[0] + fall, rtol=0, atol=1e-7)


def test_adaptive_methods_agree_with_small_steps(dog: Robot, rng: np.random.Generator) -> None:
    v, tau = rng.normal(size=dog.nv), rng.normal(size=(5, dog.nv))
    fine = simulate(dog, None, v, 0.1, tau, dt=0.02, substeps=20)
    for method in ("adaptive", "stiff"):
        motion = simulate(dog, None, v, 0.1, tau, 0.02, method, rtol=1e-9, atol=1e-11)  # type: ignore[arg-type]
        np.testing.assert_allclose(motion.q, fine.q, rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion.v, fine.v, rtol=0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(motion.q[:, 3:7], axis=1), 1, rtol=0, atol=1e-15)


def test_constrained_robot_moves_as_the_joint_that_the_constraint_replaces() -> None:
    """A point mass that slides in a plane, held on a circle, is a pendulum."""
    slider = hc.load("""
        <robot name="bead"><link name="base"/>
          <link name="cart"><inertial><mass value="1e-9"/>
            <inertia ixx="1e-9" ixy="0" ixz="0" iyy="1e-9" iyz="0" izz="1e-9"/></inertial></link>
          <link name="bead"><inertial><mass value="1"/>
            <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
          <joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
            <limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
          <joint name="z" type="prismatic"><parent link="cart"/><child link="bead"/><axis xyz="0 0 1"/>
            <limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
        </robot>""")
    bead = slider.constrain(holonomic=lambda q: q[0] ** 2 + q[1] ** 2 - 1)
    angle = 2.0
    truth = simulate_pendulum(angle, 2.0)
    for method, accuracy in (("rk4", 1e-7), ("adaptive", 1e-6)):
        motion = simulate(bead, [np.sin(angle), -np.cos(angle)], None, 2.0, dt=5e-3, method=method)  # type: ignore[arg-type]
        np.testing.assert_allclose(motion.q[:, 0], np.sin(truth), rtol=0, atol=accuracy)
        np.testing.assert_allclose(np.linalg.norm(motion.q, axis=1), 1, rtol=0, atol=1e-12)
        assert np.abs(np.sum(motion.q * motion.v, axis=1)).max() < 1e-10
    # The string carries the weight along it and the centripetal force: λ ∂φ/∂q with |∂φ/∂q| = 2.
    tension = np.sum(motion.v**2, axis=1) - 9.81 * motion.q[:, 1]
    np.testing.assert_allclose(
        np.abs(2 * motion.constraint_forces[:, 0]), np.abs(tension), rtol=1e-6, atol=1e-6
    )
    with pytest.raises(InputError, match="find_consistent"):
        simulate(bead, [1.0, 1.0], None, 0.1)
    with pytest.raises(InputError, match="v0 breaks the constraints"):
        simulate(bead, [1.0, 0.0], [1.0, 0.0], 0.1)


def simulate_pendulum(angle: float, duration: float) -> Array:
    """θ̈ = -9.81 sin θ at every 5 ms, by SciPy."""
    from scipy.integrate import solve_ivp

    t = 5e-3 * np.arange(round(duration / 5e-3) + 1)
    rate = lambda t, x: [x[1], -9.81 * np.sin(x[0])]  # noqa: E731
    return np.asarray(solve_ivp(rate, (0, duration), [angle, 0], "DOP853", t, rtol=1e-12, atol=1e-13).y[0])


# What acts --------------------------------------------------------------------------------------------


def test_ways_to_give_torques_agree(arm: Robot, rng: np.random.Generator) -> None:
    constant = rng.normal(size=2)
    as_series = simulate(arm, None, None, 0.1, np.tile(constant, (10, 1)), dt=0.01)
    with_last = simulate(arm, None, None, 0.1, np.tile(constant, (11, 1)), dt=0.01)
    as_callable = simulate(arm, None, None, 0.1, lambda t, q, v: constant, dt=0.01)
    disturbed = simulate(arm, None, None, 0.1, disturbance=constant, dt=0.01)
    both = simulate(arm, None, None, 0.1, 3 * constant, dt=0.01, disturbance=lambda t, q, v: -2 * constant)
    plain = simulate(arm, None, None, 0.1, constant, dt=0.01)
    for other in (as_series, with_last, as_callable, disturbed, both):
        np.testing.assert_allclose(other.q, plain.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.a, plain.a, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(as_callable.tau, np.tile(constant, (11, 1)))
    assert not disturbed.tau.any()
    np.testing.assert_array_equal(both.tau, 3 * plain.tau)


def test_controller_sees_each_sample_once(arm: Robot) -> None:
    seen = []

    def controller(t: float, q: Array, v: Array) -> Array:
        seen.append((t, q, v))
        return np.array([t, 0.0])

    motion = simulate(arm, [0.1, 0.2], None, 0.05, controller, dt=0.01, substeps=3)
    np.testing.assert_allclose([t for t, _, _ in seen], motion.t[:-1])
    np.testing.assert_array_equal([q for _, q, _ in seen], motion.q[:-1])
    np.testing.assert_array_equal([v for _, _, v in seen], motion.v[:-1])
    np.testing.assert_array_equal(motion.tau[:, 0], [*motion.t[:-1], motion.t[-2]])


def test_substeps_are_steps(arm: Robot) -> None:
    coarse = simulate(arm, [1.0, 0.0], None, 0.2, dt=0.02, substeps=4, method="euler")
    fine = simulate(arm, [1.0, 0.0], None, 0.2, dt=0.005, method="euler")
    np.testing.assert_allclose(coarse.q, fine.q[::4], rtol=0, atol=1e-13)


def test_saturation_cuts_at_the_effort_limit(pendulum: Robot) -> None:
    strong = simulate(pendulum, None, None, 0.05, [5.0], dt=0.01, saturate=True)
    np.testing.assert_array_equal(strong.tau, np.full((6, 1), 2.0))
    asked = simulate(pendulum, None, None, 0.05, lambda t, q, v: [-5.0], dt=0.01, saturate=True)
    np.testing.assert_array_equal(asked.tau, np.full((6, 1), -2.0))
    np.testing.assert_allclose(asked.q, -strong.q, rtol=0, atol=1e-15)
    assert simulate(pendulum, None, None, 0.05, [5.0], dt=0.01).tau[0] == 5.0


def test_wrench_acts_as_its_torque(pendulum: Robot) -> None:
    """A moment of 1.5 N·m about the axis, in body or world axes, is a torque of 1.5 N·m."""
    wrench = np.array([0, 1.5, 0, 0, 0, 0])
    truth = simulate(pendulum, None, None, 0.3, [1.5], dt=0.01)
    series = np.tile(wrench, (30, 1))
    for given in (wrench, series, lambda t, q, v: wrench):
        for axes in ("body", "world"):
            motion = simulate(pendulum, None, None, 0.3, dt=0.01, f_ext={"rod": given}, expressed_in=axes)  # type: ignore[arg-type]
            np.testing.assert_allclose(motion.q, truth.q, rtol=0, atol=1e-13)
            np.testing.assert_allclose(motion.a, truth.a, rtol=0, atol=1e-11)


def test_parameters_at_run_time(arm: Robot) -> None:
    parametric = arm.parametric("gravity", "friction")
    theta = parametric.parameters.values.copy()
    truth = simulate(arm, [1.0, 0.0], None, 0.2, dt=0.01)
    np.testing.assert_allclose(simulate(parametric, [1.0, 0.0], None, 0.2, dt=0.01).q, truth.q, atol=1e-13)
    theta[2] = -1.62
    moon = simulate(arm, [1.0, 0.0], None, 0.2, dt=0.01, gravity=(0, 0, -1.62))
    both = simulate(parametric, [1.0, 0.0], None, 0.2, dt=0.01, theta=[parametric.parameters.values, theta])
    np.testing.assert_allclose(both.q, [truth.q, moon.q], rtol=0, atol=1e-13)
    np.testing.assert_allclose(both.energy, [truth.energy, moon.energy], rtol=1e-12)
    with pytest.raises(InputError, match="theta belongs to parametric robots"):
        simulate(arm, theta=theta)


def test_friction_acts_by_default(pendulum: Robot) -> None:
    damped = simulate(pendulum, [1.0], None, 1.0, dt=0.01)
    free = simulate(pendulum, [1.0], None, 1.0, dt=0.01, friction=False)
    assert damped.energy[-1] < damped.energy[0] - 0.5
    assert abs(free.energy[-1] - free.energy[0]) < 1e-4


# Batches and compiled code ----------------------------------------------------------------------------


def test_batch_is_its_rollouts(dog: Robot, rng: np.random.Generator) -> None:
    q = np.array([dog.random(rng) for _ in range(3)])
    v, tau = rng.normal(size=(3, dog.nv)), rng.normal(size=(3, 6, dog.nv))
    wrench = {"FL_foot": rng.normal(size=(6, 6))}
    batch = simulate(dog, q, v, 0.06, tau, dt=0.01, f_ext=wrench)
    assert batch.q.shape == (3, 7, dog.nq) and batch.tau.shape == (3, 7, dog.nv) and batch.batch == 3
    for k in range(3):
        alone = simulate(dog, q[k], v[k], 0.06, tau[k], dt=0.01, f_ext=wrench)
        for name in ("q", "v", "a", "tau", "energy"):
            np.testing.assert_allclose(getattr(batch, name)[k], getattr(alone, name), rtol=0, atol=1e-10)
            np.testing.assert_array_equal(getattr(batch[k], name), getattr(batch, name)[k])


def test_controller_of_a_batch_gets_all_states(arm: Robot) -> None:
    start = np.array([[0.1, 0.0], [0.5, 0.2], [1.0, -0.3]])
    feedback = lambda t, q, v: -5 * q - v  # noqa: E731
    batch = simulate(arm, start, None, 0.1, feedback, dt=0.01)
    for k, q in enumerate(start):
        alone = simulate(arm, q, None, 0.1, feedback, dt=0.01)
        np.testing.assert_allclose(batch.q[k], alone.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(batch.tau[k], alone.tau, rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", ["rk4", "adaptive"])
def test_compiled_equals_interpreted(method: Any, rng: np.random.Generator) -> None:
    results = []
    tau = rng.normal(size=(5, 20, 2))
    feedback = lambda t, q, v: -q  # noqa: E731
    for on in (False, True):
        set_compile(on)
        robot = hc.load("double_pendulum")
        many = simulate(robot, [0.4, 0.1], None, 0.2, tau, 0.01, method)
        closed = simulate(robot, [0.4, 0.1], None, 0.2, feedback, 0.01, method)
        results.append((many.q, many.a, closed.q[None], closed.a[None]))
    for interpreted, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, interpreted, rtol=0, atol=1e-9)


# Failing ----------------------------------------------------------------------------------------------


def test_divergence_says_when_and_where_and_keeps_what_was_computed(pendulum: Robot) -> None:
    with pytest.raises(SimulationError, match=r"diverged at t = 0\.\d+ s.*'pivot'") as caught:
        simulate(pendulum, None, None, 1.0, lambda t, q, v: 100 * v + 1, dt=0.01)
    kept = caught.value.trajectory
    assert 2 <= len(kept) < 100
    assert np.all(np.isfinite(kept.q)) and np.all(np.abs(kept.v) < 1e8)
    stated = float(str(caught.value).split("t = ")[1].split(" s")[0])
    assert kept.t[-1] + 0.01 == pytest.approx(stated)
    assert kept.a.shape == kept.v.shape and np.all(np.isfinite(kept.tau))


def test_divergence_in_compiled_rollouts_names_the_rollout(arm: Robot) -> None:
    damping = arm.parametric("friction")
    theta = np.tile(damping.parameters.values, (3, 1))
    theta[1, :2] = -1e4
    with pytest.raises(SimulationError, match=r"rollout 1 diverged") as caught:
        simulate(damping, [0.1, 0.0], None, 5.0, dt=0.01, theta=theta)
    kept = caught.value.trajectory
    assert kept.batch == 3 and kept.q.shape[1] == len(kept.t) < 500
    assert np.all(np.isfinite(kept.v))


def test_absurd_rows_are_found_wherever_they_are_in_a_chunk() -> None:
    for bad in (1, 63, 64, 65, 700, 999):
        v = np.zeros((1000, 2, 3))

        def advance(first: int, last: int, v: Array = v, bad: int = bad) -> None:
            v[first + 1 : last + 1] = np.where(np.arange(first + 1, last + 1) >= bad, np.nan, 0)[
                :, None, None
            ]

        assert run(999, advance, v, one_by_one=False) == bad


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q0": [1.0]}, "q0 must have shape \\(2,\\)"),
        ({"q0": [np.nan, 0.0]}, "q0 has entries that are not finite"),
        ({"v0": np.zeros((2, 2, 2))}, "v0 must have shape"),
        ({"dt": 0.0}, "positive times"),
        ({"duration": 0.0105}, "no whole number of steps"),
        ({"substeps": 0}, "substeps is a whole number"),
        ({"method": "leapfrog"}, "method is one of"),
        ({"method": "adaptive", "substeps": 2}, "chooses its own steps"),
        ({"controller": np.zeros((3, 2))}, "the torque must have shape"),
        ({"controller": "zero"}, "must be numbers or a callable"),
        ({"controller": [np.inf, 0]}, "not finite"),
        ({"controller": lambda t, q, v: np.zeros(3)}, "controller must return"),
        ({"controller": lambda t, q, v: [np.nan, 0]}, "controller must return"),
        ({"controller": lambda t, q, v: None}, "got None"),
        ({"controller": lambda t, q, v: "off"}, "got 'off'"),
        ({"controller": np.zeros((0, 2)), "duration": 0}, "the torque must have shape"),
        ({"duration": "1"}, "positive times"),
        ({"dt": -1e-3}, "positive times"),
        ({"method": "adaptive", "rtol": np.nan}, "rtol is from"),
        ({"method": "stiff", "atol": -1.0}, "atol above 0"),
        ({"f_ext": [np.zeros(6)]}, "f_ext names links"),
        ({"f_ext": {"link_2": np.zeros(5)}}, "f_ext\\['link_2'\\] must have shape"),
        ({"f_ext": {"nothing": np.zeros(6)}}, "nothing"),
        ({"q0": np.zeros((3, 2)), "v0": np.zeros((4, 2))}, "one length; got 3, 4"),
    ],
)
def test_wrong_arguments_are_named(arm: Robot, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(hc.HelicoidError, match=message):
        simulate(arm, **{"duration": 0.01, **arguments})


def test_a_robot_is_no_name() -> None:
    with pytest.raises(InputError, match="takes a robot"):
        simulate("planar_2r")  # type: ignore[arg-type]


@pytest.mark.parametrize("controller", [None, [1.0, 2.0], [[1.0, 2.0]], lambda t, q, v: [1.0, 2.0]])
def test_no_duration_is_one_sample_with_its_forces(arm: Robot, controller: Any) -> None:
    tau = np.zeros((1, 2)) if controller is None else np.array([[1.0, 2.0]])
    f_ext = {"link_2": lambda t, q, v: np.ones(6)}
    motion = simulate(arm, [0.3, 0.2], [1.0, 0.0], 0, controller, f_ext=f_ext, friction=False)
    np.testing.assert_array_equal(motion.tau, tau)
    expected = arm.forward_dynamics([0.3, 0.2], [1.0, 0.0], tau[0], f_ext={"link_2": np.ones(6)})
    np.testing.assert_allclose(motion.a, [expected])


def test_nan_of_a_controller_says_when_and_where_and_keeps_what_was_computed(arm: Robot) -> None:
    def controller(t: float, q: Array, v: Array) -> Array:
        return np.array([[0.5, np.nan if t > 0.0095 else 0.2]] * 3)

    with pytest.raises(SimulationError, match=r"at 0\.01 s its answer for joint 'joint_2' is not") as caught:
        simulate(
            arm, np.zeros((3, 2)), duration=0.1, controller=controller, disturbance=lambda t, q, v: 0 * q
        )
    motion = caught.value.trajectory
    good = simulate(arm, np.zeros((3, 2)), duration=0.01, controller=[0.5, 0.2])
    for name in ("t", "q", "v", "tau", "a"):
        np.testing.assert_allclose(getattr(motion, name), getattr(good, name), atol=1e-13)


@pytest.mark.parametrize("method", ["adaptive", "stiff"])
def test_methods_that_choose_their_steps_do_not_follow_a_divergence_for_ever(
    arm: Robot, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive, "MAX_EVALUATIONS", 3000)
    with pytest.raises(
        SimulationError, match=r"diverged at t = 0.00\d s, where the velocity of joint"
    ) as caught:
        simulate(arm, [0.3, 0.2], None, 1.0, lambda t, q, v: 1e5 * v, method=method)
    assert np.all(np.isfinite(caught.value.trajectory.v))
    with pytest.raises(SimulationError, match="'joint_1' is inf"):
        simulate(arm, [0.3, 0.2], None, 1.0, [1e300, 0.0], method=method)


def test_quaternion_that_is_none_is_refused(dog: Robot) -> None:
    q = dog.neutral()
    q[3] = 1.1
    with pytest.raises(InputError, match="quaternion that is not unit"):
        simulate(dog, q, duration=0.01)
    q[3] = 1 + 1e-7
    assert simulate(dog, q, duration=0.0).q[0, 3] == 1.0


# Around it --------------------------------------------------------------------------------------------


def test_robot_without_joints_has_a_trajectory() -> None:
    motion = simulate(hc.load('<robot name="stone"><link name="stone"/></robot>'), duration=0.01)
    assert motion.q.shape == motion.a.shape == (11, 0)
    np.testing.assert_array_equal(motion.energy, np.zeros(11))
    assert motion.resample(dt=0.005).q.shape == (3, 0)


def test_acceleration_of_a_joint_that_friction_holds_is_zero() -> None:
    robot = hc.load(PENDULUM.replace('friction="0"', 'friction="2"'))
    tau = np.array([[1.5], [1.9], [2.5], [2.5]])  # at rest below its pivot, friction holds 2 N·m
    motion = simulate(robot, None, None, 0.004, tau, method="stiction")
    np.testing.assert_array_equal(motion.q[:3], np.zeros((3, 1)))
    np.testing.assert_array_equal(motion.a[:2], np.zeros((2, 1)))
    np.testing.assert_allclose(motion.a[2], (2.5 - 2.0) / INERTIA, rtol=1e-5)


def test_a_run_reports_its_progress(arm: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECK_INTERVAL", 0.0)
    told: list[tuple[str, float]] = []
    simulate(
        arm, duration=0.02, controller=lambda t, q, v: np.zeros(2), progress=lambda *now: told.append(now)
    )
    assert told == [("Simulating", pytest.approx(k / 20)) for k in range(1, 21)]


def test_the_first_chunk_is_one_row_whatever_its_substeps(arm: Robot) -> None:
    """A row may be a million substeps, and what interrupts waits for the end of a chunk."""
    chunks: list[int] = []
    v = np.zeros((200, 1, 2))
    running.run(199, lambda first, last: chunks.append(last - first), v, one_by_one=False)
    assert chunks[0] == 1 and sum(chunks) == 199


def test_interrupting_ends_it_between_chunks(arm: Robot) -> None:
    def controller(t: float, q: Array, v: Array) -> Array:
        if t > 0.05:
            raise KeyboardInterrupt
        return np.zeros(2)

    with pytest.raises(KeyboardInterrupt):
        simulate(arm, duration=1.0, controller=controller)
    assert simulate(arm, duration=0.01).q.shape == (11, 2)


INTERRUPTED = """
import os, signal, threading
import numpy as np
import helicoid as hc

hc.set_compile(True)
robot = hc.load("planar_2r")
before = hc.simulate(robot, [0.3, 0.2], duration=0.1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a script began in the background
try:
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    hc.simulate(robot, [0.3, 0.2], duration=1e4, dt=0.01, substeps=10_000)
except KeyboardInterrupt:
    after = hc.simulate(robot, [0.3, 0.2], duration=0.1)
    print("stopped", np.array_equal(before.q, after.q))
"""


def test_a_signal_stops_compiled_code_and_leaves_it_usable() -> None:
    # Hours of work without Python between the steps: only an interrupt can end it within the time.
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.split() == ["stopped", "True"]


@pytest.mark.parametrize("duration", [1e9, 1e300])
def test_samples_beyond_all_memory_are_refused(
    arm: Robot, duration: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "_memory", lambda: 1e6)
    with pytest.raises(hc.InputError, match=r"samples need .* GB, .* take a larger dt, with substeps"):
        simulate(arm, duration=duration)
    with pytest.raises(hc.InputError, match="fewer rollouts"):
        simulate(arm, np.zeros((100, arm.nq)), duration=1.0)
    assert len(simulate(arm, duration=1.0)) == 1001


@pytest.mark.parametrize("method", ["adaptive", "stiff"])
@pytest.mark.parametrize("speed", [1e9, 1e160, 1e300])
def test_methods_that_choose_their_steps_do_not_begin_what_has_no_end(
    arm: Robot, method: Any, speed: float
) -> None:
    with pytest.raises(hc.SimulationError, match=r"diverged at t = 0\.01 s") as caught:
        simulate(arm, v0=np.full(arm.nv, speed), duration=0.1, dt=0.01, method=method)
    assert len(caught.value.trajectory) == 1
