"""Laws of control: identities of the closed loop, limits, and what happens to what is not finite."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc
from control.ball import shoulder
from helicoid._typing import Array
from helicoid.control import (
    AdaptiveControl,
    ComputedTorque,
    JointImpedance,
    MomentumObserver,
    OperationalSpaceControl,
    TaskSpaceControl,
)
from helicoid.model.inertia import Inertia

FRAME = "panda_link8"
Q = np.array([0.1, -0.3, 0.2, -2.0, 0.1, 1.9, 0.7])


@pytest.fixture(scope="module")
def panda() -> hc.Robot:
    return hc.load("panda").with_joints(effort=1e4, friction=0, damping=0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def laws(robot: hc.Robot) -> dict[str, object]:
    return {
        "joint impedance": JointImpedance(robot, 100.0, 10.0),
        "computed torque": ComputedTorque(robot, 10.0, integral=10.0, dt=1e-3),
        "adaptive": AdaptiveControl(robot, 10.0, 5.0, dt=1e-3),
    }


def test_impedance_is_a_spring_and_a_damper(panda: hc.Robot, rng: np.random.Generator) -> None:
    K, D = rng.uniform(10, 100, 7), rng.uniform(1, 10, 7)
    law = JointImpedance(panda, K, D)
    q, v, q_ref, v_ref = Q, rng.normal(size=7), Q + 0.1 * rng.normal(size=7), rng.normal(size=7)
    expected = K * (q_ref - q) + D * (v_ref - v) + panda.gravity(q)
    np.testing.assert_allclose(law.step(q, v, q_ref, v_ref), expected, rtol=1e-12)


def test_without_gravity_compensation_it_sags_by_what_the_stiffness_says() -> None:
    robot, K = hc.load("double_pendulum"), 200.0
    law = JointImpedance(robot, K, 20.0, gravity=False)
    reference = np.array([0.7, -0.4])
    motion = hc.simulate(
        robot, reference, duration=8.0, dt=2e-3, controller=lambda t, q, v: law.step(q, v, reference)
    )
    np.testing.assert_allclose(motion.q[-1] - reference, -robot.gravity(motion.q[-1]) / K, atol=1e-6)
    assert np.abs(motion.q[-1] - reference).max() > 0.01


def test_computed_torque_makes_double_integrators(panda: hc.Robot, rng: np.random.Generator) -> None:
    ω, ζ = rng.uniform(2, 20, 7), rng.uniform(0.3, 1.5, 7)
    law = ComputedTorque(panda, ω, ζ)
    q, v, q_ref, v_ref, a_ref = Q, *(0.3 * rng.normal(size=7) for _ in range(4))
    a = panda.forward_dynamics(q, v, law.step(q, v, q_ref, v_ref, a_ref))
    np.testing.assert_allclose(a, a_ref + 2 * ζ * ω * (v_ref - v) + ω**2 * (q_ref - q), rtol=1e-9, atol=1e-9)


def test_the_loop_has_the_frequency_and_damping_asked_for() -> None:
    robot, ω, ζ, dt = hc.load("double_pendulum"), 8.0, 0.2, 1e-4
    law = ComputedTorque(robot, ω, ζ)
    motion = hc.simulate(
        robot, [0.2, 0.0], duration=1.5, dt=dt, controller=lambda t, q, v: law.step(q, v, np.zeros(2))
    )
    e, v, a = motion.q[:-1, 0], motion.v[:-1, 0], np.diff(motion.v[:, 0]) / dt
    (damping, stiffness), *_ = np.linalg.lstsq(np.column_stack([v, e]), -a, rcond=None)
    assert np.sqrt(stiffness) == pytest.approx(ω, rel=0.01)
    assert damping / (2 * np.sqrt(stiffness)) == pytest.approx(ζ, rel=0.01)


def test_the_integral_takes_what_a_constant_torque_leaves() -> None:
    robot, push = hc.load("double_pendulum"), np.array([1.0, -0.5])
    left = []
    for k in (0.0, 400.0):
        law = ComputedTorque(robot, 10.0, integral=k, dt=1e-3)
        motion = hc.simulate(
            robot,
            [0.0, 0.0],
            duration=4.0,
            dt=1e-3,
            controller=lambda t, q, v, law=law: law.step(q, v, np.zeros(2)) + push,
        )
        left.append(np.abs(motion.q[-1]).max())
    assert left[0] > 1e-3 and left[1] < 1e-2 * left[0]


@pytest.mark.parametrize("rows", ["all", "linear", (0, 4, 5)])
def test_task_space_is_the_equation_of_the_textbook(
    panda: hc.Robot, rng: np.random.Generator, rows: str | tuple[int, ...]
) -> None:
    law = TaskSpaceControl(panda, FRAME, frequency=7.0, damping_ratio=0.8, rows=rows, damping_factor=0.0)
    v, posture = rng.normal(size=7), Q + 0.2
    T = panda.pose(FRAME)(Q + 0.05)
    twist, a_ref = rng.normal(size=6), rng.normal(size=6)
    chosen = list(range(6)) if rows == "all" else [3, 4, 5] if rows == "linear" else list(rows)
    Λ, μ, p = panda.task_dynamics(FRAME, rows=rows)(Q, v)
    J = panda.jacobian(FRAME, "world_aligned")(Q)
    N = panda.null_space_projector(FRAME, rows=rows)(Q)
    now = panda.pose(FRAME)(Q)
    e = np.concatenate([hc.geometry.so3.log(T[:3, :3] @ now[:3, :3].T), T[:3, 3] - now[:3, 3]])
    a = (a_ref + 2 * 0.8 * 7.0 * (twist - J @ v) + 49.0 * e)[chosen]
    τ_0 = panda.mass_matrix(Q) @ (25.0 * (posture - Q) - 10.0 * v) + panda.bias(Q, v)
    expected = J[chosen].T @ (Λ @ a + μ + p) + N.T @ τ_0
    np.testing.assert_allclose(law.step(Q, v, T, twist, a_ref, posture), expected, rtol=1e-8, atol=1e-7)


def test_posture_does_not_move_the_frame(panda: hc.Robot) -> None:
    law = TaskSpaceControl(panda, FRAME, stiffness=500.0, damping_factor=0.0)
    T, J = panda.pose(FRAME)(Q), panda.jacobian(FRAME, "world_aligned")(Q)
    one, other = (
        panda.forward_dynamics(Q, np.zeros(7), law.step(Q, np.zeros(7), T, q_posture=p)) for p in (Q, Q + 1)
    )
    np.testing.assert_allclose(J @ (one - other), 0, atol=1e-9)
    assert np.abs(one - other).max() > 1.0


def test_a_frame_deflects_as_its_stiffness_says(panda: hc.Robot) -> None:
    stiffness = np.array([50.0, 50.0, 50.0, 400.0, 500.0, 600.0])
    law = TaskSpaceControl(panda, FRAME, stiffness=stiffness)
    T, force = panda.pose(FRAME)(Q), np.array([0.0, 0.0, 0.0, 10.0, 0.0, 5.0])
    J = panda.jacobian(FRAME, "world_aligned")
    motion = hc.simulate(
        panda,
        Q,
        duration=3.0,
        dt=2e-3,
        controller=lambda t, q, v: law.step(q, v, T, q_posture=Q) + J(q).T @ force,
    )
    moved = panda.pose(FRAME)(motion.q[-1])[:3, 3] - T[:3, 3]
    np.testing.assert_allclose(moved, force[3:] / stiffness[3:], atol=2e-4)


def test_force_and_motion_do_not_disturb_each_other(panda: hc.Robot, rng: np.random.Generator) -> None:
    law = OperationalSpaceControl(panda, FRAME, motion=(1, 1, 1, 1, 1, 0), damping_factor=0.0)
    T, v = panda.pose(FRAME)(Q), np.zeros(7)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    J, n = panda.jacobian(FRAME, "world_aligned")(Q), R[:, 2]
    still = law.step(Q, v, T, np.zeros(6), axes=R, q_posture=Q)
    pressed = law.step(Q, v, T, np.concatenate([np.zeros(3), -10 * n]), axes=R, q_posture=Q)
    np.testing.assert_allclose(pressed - still, J.T @ np.concatenate([np.zeros(3), -10 * n]), atol=1e-9)
    T_far = T.copy()
    T_far[:3, 3] += 0.2 * n  # along the direction of force, where motion is not controlled
    np.testing.assert_allclose(law.step(Q, v, T_far, np.zeros(6), axes=R, q_posture=Q), still, atol=1e-9)
    sideways = T.copy()
    sideways[:3, 3] += 0.01 * R[:, 0]
    a = panda.forward_dynamics(Q, v, law.step(Q, v, sideways, np.zeros(6), axes=R, q_posture=Q))
    np.testing.assert_allclose((J @ a)[3:], 400 * 0.01 * R[:, 0], atol=1e-8)


def test_a_measured_force_is_brought_to_what_is_asked_for(panda: hc.Robot) -> None:
    law = OperationalSpaceControl(
        panda, FRAME, motion=(1, 1, 1, 1, 1, 0), force_gain=5.0, force_limit=4.0, dt=1e-2
    )
    T, wanted, felt = panda.pose(FRAME)(Q), np.array([0, 0, 0, 0, 0, -10.0]), np.array([0, 0, 0, 0, 0, -9.0])
    J = panda.jacobian(FRAME, "world_aligned")(Q)
    first = law.step(Q, np.zeros(7), T, wanted, felt, q_posture=Q)
    for _ in range(20):
        later = law.step(Q, np.zeros(7), T, wanted, felt, q_posture=Q)
    np.testing.assert_allclose(later - first, J.T @ [0, 0, 0, 0, 0, -1.0], atol=1e-9)  # 20 · 0.01 · 5 · 1 N
    for _ in range(500):
        later = law.step(Q, np.zeros(7), T, wanted, felt, q_posture=Q)
    np.testing.assert_allclose(later - first, J.T @ [0, 0, 0, 0, 0, -4.0], atol=1e-9)  # at force_limit


def divergence(P_hat: Array, P: Array) -> float:
    """log(|P̂|/|P|) + tr(P̂⁻¹ P) - 4, zero where they are equal."""
    ratio = np.linalg.solve(P_hat, P)
    return float(-np.log(np.linalg.det(ratio)) + np.trace(ratio) - 4)


def physical(parameters: Array) -> list[Array]:
    """Pseudo-inertias of all bodies; all are positive definite."""
    all_of = [Inertia.from_parameters(pi).pseudo for pi in parameters.reshape(-1, 10)]
    assert all(np.linalg.eigvalsh(P)[0] > 0 for P in all_of)
    return all_of


@pytest.mark.slow
def test_learning_never_raises_the_lyapunov_function_and_stays_physical() -> None:
    """For an arm with an unmodelled load of 3 kg."""
    told = hc.load("double_pendulum").with_joints(effort=1e4)
    robot = told.with_payload("tip", 3.0, [0.1, 0.05, 0.0], np.diag([0.02, 0.03, 0.02]))
    true = [body.inertia.pseudo for body in robot.model.bodies]
    w, dt, Λ = np.array([1.7, 2.9]), 5e-4, 5.0
    ends = []
    for rate in (0.0, 3.0):
        law, V = AdaptiveControl(told, Λ, 20.0, rate, dt=dt), [np.inf]

        def control(t: float, q: Array, v: Array, law: AdaptiveControl = law, V: list[float] = V) -> Array:
            q_ref, v_ref, a_ref = 0.6 * np.sin(w * t), 0.6 * w * np.cos(w * t), -0.6 * w**2 * np.sin(w * t)
            if law.number("rate") > 0 and round(t / dt) % 40 == 0:
                s = v_ref + Λ * (q_ref - q) - v
                learned = sum(map(divergence, physical(law.parameters), true)) / law.number("rate")
                V.append(0.5 * s @ robot.mass_matrix(q) @ s + learned)
            return law.step(q, v, q_ref, v_ref, a_ref)

        motion = hc.simulate(
            robot, [0.1, -0.1], duration=4.0, dt=dt, controller=control, method="semi_implicit_euler"
        )
        if rate > 0:
            assert np.diff(V).max() < 1e-4 * V[1] and V[-1] < V[1]
        ends.append(np.abs(0.6 * np.sin(motion.t[:, None] * w) - motion.q)[-2000:].max())
    assert ends[1] < 0.3 * ends[0]


@pytest.mark.parametrize("kind", ["joint impedance", "computed torque", "adaptive"])
def test_what_is_not_finite_never_gets_through(kind: str, rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r")
    law = laws(robot)[kind]
    q, v, nan = np.array([0.1, 0.2]), np.zeros(2), np.full(2, np.nan)
    good = law.step(q, v, q)
    assert law.ok and law.status == "ok"
    for bad in (
        nan,
        nan * np.inf,
        np.array([np.inf, 0.0]),
        np.array([1e200, 0.0]),
        "x",
        [1.0],
        None,
        [q, q],
        [q],
    ):
        before = np.abs(good).max()
        good = law.step(bad, v, q)
        assert np.isfinite(good).all() and not law.ok and law.status == "bad measurement"
        assert np.abs(good).max() < before
    law.step(q, v, nan)
    assert law.status == "bad reference" and not law.ok
    law.reset()
    first = law.step(q, v, q)
    assert law.ok
    np.testing.assert_array_equal(first, laws(robot)[kind].step(q, v, q))


def test_quaternions_are_normalised_and_invalid_ones_are_reported() -> None:
    robot = shoulder()
    q, v = np.array([0.6, 0.0, 0.8, 0.0, 0.3]), np.full(4, 0.1)
    law, other = JointImpedance(robot, 10.0, 1.0), np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    good = law.step(q, v, other)
    rounded = np.append(1.01 * q[:4], q[4:])
    np.testing.assert_allclose(law.step(rounded, v, other), good, atol=1e-12)
    assert law.ok
    for length in (0.0, 0.5, 2.0):
        law.step(np.append(length * q[:4], q[4:]), v, other)
        assert law.status == "bad measurement"
        law.step(q, v, np.append(length * other[:4], 0.0))
        assert law.status == "bad reference"


@pytest.mark.parametrize("kind", ["joint impedance", "computed torque", "adaptive"])
def test_torques_stay_within_effort_limits(kind: str) -> None:
    robot = hc.load("planar_2r").with_joints(effort=[5.0, 1.0])
    law = laws(robot)[kind]
    tau = law.step([0.0, 0.0], [0.0, 0.0], [3.0, -3.0])
    assert (np.abs(tau) <= [5.0, 1.0]).all()
    assert law.status == "saturated" and not law.ok and "joint_1 is held at its limit of 5" in law.message


def test_the_observer_detects_an_external_force_and_its_link(panda: hc.Robot) -> None:
    observer = MomentumObserver(panda, dt=1e-3, gain=100.0, frame=FRAME)
    law = ComputedTorque(panda, 15.0)
    force = np.array([0.0, 0.0, 0.0, 0.0, 15.0, -5.0])
    J = panda.jacobian(FRAME, "world_aligned")
    seen: list[bool] = []

    def control(t: float, q: Array, v: Array) -> Array:
        tau = law.step(q, v, Q + 0.2 * np.sin(t))
        observer.step(q, v, tau)
        seen.append(observer.contact)
        return tau + (J(q).T @ force if t > 0.3 else 0.0)

    hc.simulate(panda, Q, duration=0.5, dt=1e-3, controller=control, method="semi_implicit_euler")
    assert not any(seen[:301]) and all(seen[311:])
    np.testing.assert_allclose(observer.wrench, force, atol=0.3)


def test_wrong_numbers_are_refused_by_name() -> None:
    robot = hc.load("planar_2r")
    law = ComputedTorque(robot, 10.0, integral=5.0, dt=1e-3)
    for numbers, words in (
        ({"frequency": -1.0}, "frequency must be above 0"),
        ({"frequency": [1.0, 2.0, 3.0]}, "frequency is one number or has shape"),
        ({"stiffness": 3.0}, "no number 'stiffness'; there are: frequency"),
        ({"damping_ratio": np.nan}, "damping_ratio must be finite"),
        ({"integral": 1e9}, "integral must stay below"),
        ({"frequency": 20.0, "damping_ratio": "x"}, "damping_ratio must be numbers"),
    ):
        with pytest.raises(hc.InputError, match=words):
            law.set(**numbers)
    np.testing.assert_array_equal(law.number("frequency"), [10.0, 10.0])  # all or nothing
    law.set(frequency=20.0)
    np.testing.assert_array_equal(law.number("frequency"), [20.0, 20.0])
    with pytest.raises(hc.InputError, match="needs an actuator for every velocity"):
        JointImpedance(hc.load("quadruped", base="floating"), 1.0, 1.0)
    with pytest.raises(hc.InputError, match="takes a robot"):
        ComputedTorque("panda", 1.0)  # type: ignore[arg-type]
    with pytest.raises(hc.HelicoidError, match="nowhere"):
        TaskSpaceControl(robot, "nowhere", frequency=1.0)
    with pytest.raises(hc.InputError, match="either frequency or stiffness"):
        TaskSpaceControl(robot, "tip")
    with pytest.raises(hc.InputError, match="1 for motion and 0 for force"):
        OperationalSpaceControl(hc.load("panda"), FRAME, motion=(1, 1, 1, 1, 1, 0.5))
    with pytest.raises(hc.InputError, match="gain must stay below"):
        MomentumObserver(robot, gain=2000.0, dt=1e-3)
    with pytest.raises(hc.InputError, match=r"shape"):
        JointImpedance(robot, 1.0, 1.0).step([1.0], [0.0, 0.0], [0.0, 0.0])


def test_a_parametric_robot_takes_what_is_learned(rng: np.random.Generator) -> None:
    robot = hc.load("planar_2r").parametric("payload")
    law = ComputedTorque(robot, 10.0)
    heavy = np.array(robot.theta.values)
    heavy[0] = 2.0
    q, v = np.array([0.3, 0.2]), np.array([0.1, -0.4])
    law.set(theta=heavy)
    tau = law.step(q, v, q)
    expected = robot.inverse_dynamics(q, v, -20.0 * v, heavy)
    np.testing.assert_allclose(tau, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["impedance", "computed torque", "task space", "observer", "adaptive"])
def test_friction_is_that_of_the_parameters(kind: str) -> None:
    """Of a parametric robot θ says what friction is, and `set` changes it."""
    plain = hc.load("planar_2r").with_joints(damping=0.4, friction=0.2)
    robot = plain.parametric("friction") if kind != "adaptive" else plain
    q, v, T = np.array([0.3, 0.2]), np.array([0.5, -0.7]), plain.pose("tip")([0.4, 0.3])

    def made(robot: hc.Robot, friction: str) -> Array:
        law = {
            "impedance": lambda: JointImpedance(robot, 10.0, 1.0, friction=friction),
            "computed torque": lambda: ComputedTorque(robot, 10.0, friction=friction),
            "task space": lambda: TaskSpaceControl(robot, "tip", 5.0, rows=(3, 5), friction=friction),
            "observer": lambda: MomentumObserver(robot, dt=1e-3, friction=friction),
            "adaptive": lambda: AdaptiveControl(robot, 5.0, 2.0, dt=1e-3, friction=friction),
        }[kind]()
        if robot.theta.groups:
            law.set(theta=2 * np.array(robot.theta.values))
        if kind == "observer":
            return np.array([law.step(q, v, np.zeros(2)) for _ in range(2)])[1] / -(1e-3 * 100.0)
        return law.step(q, v, T) if kind == "task space" else law.step(q, v, q, v)

    twice = plain.with_joints(damping=0.8, friction=0.4) if kind != "adaptive" else plain
    expected = twice.inverse_dynamics(q, v, np.zeros(2), friction=True) - twice.bias(q, v)
    assert np.abs(expected).min() > 0.3
    found = made(robot, "measured") - made(robot, "none")
    np.testing.assert_allclose(found, expected if kind != "observer" else -expected, rtol=1e-6)


@pytest.mark.parametrize("wrong", [2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3))])
def test_what_is_no_rotation_is_a_bad_reference(panda: hc.Robot, wrong: Array) -> None:
    T, v = panda.pose(FRAME)(Q), np.zeros(7)
    bad = T.copy()
    bad[:3, :3] = wrong
    press = OperationalSpaceControl(panda, FRAME, motion=(1, 1, 1, 1, 1, 0))
    task = TaskSpaceControl(panda, FRAME, frequency=5.0)
    good = press.step(Q, v, T, np.zeros(6))
    task.step(Q, v, T)
    assert press.ok and task.ok
    assert np.allclose(press.step(Q, v, T, np.zeros(6), axes=wrong), 0.95 * good)
    assert press.status == "bad reference"
    press.step(Q, v, bad, np.zeros(6))
    assert press.status == "bad reference" and not press.ok
    task.step(Q, v, bad)
    assert task.status == "bad reference" and not task.ok
    place = TaskSpaceControl(panda, FRAME, frequency=5.0, rows="linear")
    place.step(Q, v, bad)  # how it is turned is not asked for
    assert place.ok


def test_less_important_tasks_take_nothing_from_more_important_ones(panda: hc.Robot) -> None:
    """By the textbook's recursion with NumPy's pseudo-inverse, and by what the first task feels."""
    v = np.array([0.1, -0.2, 0.3, 0.1, -0.1, 0.2, 0.1])
    T = panda.pose(FRAME)(Q + 0.03)
    hand, elbow = (
        hc.control.PositionTask(FRAME, T[:3, 3]),
        hc.control.PositionTask("panda_link4", [0.1, 0.2, 0.6]),
    )
    posture = hc.control.PostureTask(Q + 0.4)
    tasks = [hand, elbow, posture]
    law = hc.control.PrioritisedInverseDynamics(panda, tasks, frequency=[9.0, 6.0, 3.0], damping_factor=0.0)
    a, N = np.zeros(7), np.eye(7)
    rows = [(FRAME, T[:3, 3], 9.0), ("panda_link4", np.array([0.1, 0.2, 0.6]), 6.0)]
    for frame, point, ω in rows:
        J = panda.jacobian(frame, "world_aligned")(Q)[3:]
        drift = (panda.jacobian_dot(frame, "world_aligned")(Q, v) @ v)[3:]
        wanted = ω**2 * (point - panda.pose(frame)(Q)[:3, 3]) - 2 * ω * J @ v
        inverse = np.linalg.pinv(J @ N, rcond=1e-6)
        a = a + N @ inverse @ (wanted - drift - J @ a)
        N = N @ (np.eye(7) - inverse @ J @ N)
    a = a + N @ np.linalg.pinv(N, rcond=1e-6) @ (9.0 * 0.4 - 6.0 * v - a)
    found = panda.forward_dynamics(Q, v, law.step(Q, v))
    np.testing.assert_allclose(found, a, rtol=1e-3)
    law.set(panda_link8_position=T[:3, 3] + 0.01)
    moved = panda.forward_dynamics(Q, v, law.step(Q, v))
    J = panda.jacobian(FRAME, "world_aligned")(Q)[3:]
    np.testing.assert_allclose(J @ (moved - found), 81.0 * 0.01 * np.ones(3), rtol=1e-4)
    with pytest.raises(hc.InputError, match="panda_link8 position"):
        law.set(panda_link8_position=[np.nan, 0.0, 0.0])
    with pytest.raises(hc.InputError, match="none was given"):
        hc.control.PrioritisedInverseDynamics(panda, [hc.control.PositionTask(FRAME)])
