"""Every kind of controller in `hc.simulate`: stepped once in its period, compiled where it is symbolic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.errors import InputError
from helicoid.simulation.inputs.stepped import Commanded, SteppedController

Q0 = np.array([0.1, 0.5])
GOAL = np.array([0.3, 0.2])


@pytest.fixture(scope="module")
def robot() -> hc.Robot:
    return hc.load("planar_2r")


def reference(t: float) -> dict[str, Any]:
    return {"q_ref": GOAL + 0.1 * np.sin(5 * t), "v_ref": 0.5 * np.cos(5 * t) * np.ones(2)}


class Counting:
    """Counts the steps of a controller, and runs it step by step in Python."""

    def __init__(self, controller: Any) -> None:
        self._controller, self.steps = controller, 0
        self.period = controller.period
        controller.reset()

    def step(self, q: Any, v: Any, t: float) -> Any:
        self.steps += 1
        return self._controller.step(q, v, t=t)


def laws(robot: hc.Robot, dt: float | None) -> dict[str, Any]:
    control = hc.control
    return {
        "computed torque": control.ComputedTorque(robot, frequency=20.0, integral=10.0, dt=dt or 1e-3),
        "impedance": control.JointImpedance(robot, stiffness=100.0, damping=20.0),
    }


@pytest.mark.parametrize("name", ["computed torque", "impedance"])
@pytest.mark.parametrize("substeps", [1, 2])
def test_compiled_laws_equal_steps_in_python(robot: hc.Robot, name: str, substeps: int) -> None:
    run = {"duration": 0.05, "dt": 1e-3, "substeps": substeps}
    law = laws(robot, None)[name]
    looped = hc.simulate(robot, Q0, controller=law.following(reference), **run)
    stepped = hc.simulate(robot, Q0, controller=Counting(law.following(reference)), **run)
    for part in ("q", "v", "tau"):
        np.testing.assert_allclose(getattr(looped, part), getattr(stepped, part), rtol=0, atol=1e-12)
    starts = np.stack([Q0, -Q0, 2 * Q0])
    batch = hc.simulate(robot, starts, controller=law.following(reference), **run)
    for k, q0 in enumerate(starts):
        alone = hc.simulate(robot, q0, controller=Counting(law.following(reference)), **run)
        np.testing.assert_allclose(batch[k].q, alone.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(batch[k].tau, alone.tau, rtol=0, atol=1e-10)


def test_a_law_in_the_loop_keeps_its_period(robot: hc.Robot) -> None:
    law = laws(robot, 4e-3)["computed torque"]
    run = {"duration": 0.04, "dt": 1e-3}
    looped = hc.simulate(robot, Q0, controller=law.following(reference), **run)
    counting = Counting(law.following(reference))
    stepped = hc.simulate(robot, Q0, controller=counting, **run)
    assert counting.steps == 10
    held = looped.tau[:-1].reshape(10, 4, 2)
    np.testing.assert_array_equal(held, np.repeat(held[:, :1], 4, axis=1))
    np.testing.assert_allclose(looped.q, stepped.q, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match=r"no multiple of dt = 0\.003 s"):
        hc.simulate(robot, Q0, controller=law.following(reference), duration=0.03, dt=3e-3)


@pytest.mark.parametrize("name", ["computed torque", "impedance"])
def test_a_law_without_its_reference_is_refused(robot: hc.Robot, name: str) -> None:
    with pytest.raises(InputError, match=r"needs q_ref.*law\.following\(reference\)"):
        hc.simulate(robot, Q0, controller=laws(robot, None)[name], duration=0.01)


def test_a_law_follows_a_trajectory(robot: hc.Robot) -> None:
    motion = hc.simulate(robot, Q0, duration=0.1, controller=[1.0, -0.5])
    law = hc.control.ComputedTorque(robot, frequency=50.0)
    moved = hc.simulate(robot, Q0, duration=0.1, controller=law.following(motion), friction=False)
    assert np.abs(moved.q - motion.q).max() < 2e-3


@pytest.mark.needs_compiler
def test_whole_body_control_is_stepped_once_in_its_period(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = hc.load("planar_2r")
    tasks = [hc.control.PostureTask(GOAL)]
    controller = hc.control.WholeBody(robot, tasks, [], dt=2e-3)
    calls, step = [], controller.step

    def counted(q: Any, v: Any) -> Any:
        calls.append(1)
        return step(q, v)

    monkeypatch.setattr(controller, "step", counted)
    moved = hc.simulate(robot, Q0, duration=0.02, dt=1e-3, controller=controller)
    assert len(calls) == 10
    np.testing.assert_array_equal(moved.tau[0:-1:2], moved.tau[1::2])
    with pytest.raises(InputError, match="no multiple of dt"):
        hc.simulate(robot, Q0, duration=0.03, dt=3e-3, controller=controller)


@pytest.mark.needs_compiler
def test_velocity_commands_act_through_an_inner_loop(robot: hc.Robot) -> None:
    strong = robot.with_joints(effort=np.inf)
    ik = hc.control.DifferentialIK(strong, [hc.control.PostureTask(GOAL)], dt=0.01, gain=5.0)
    moved = hc.simulate(strong, Q0, duration=1.5, dt=2e-3, controller=ik, friction=True)
    np.testing.assert_allclose(moved.q[-1], GOAL, atol=2e-3)
    ik.reset()
    for k in range(0, 250, 5):  # the velocity at the end of a period is the one that was commanded
        commanded = ik.step(moved.q[k], moved.v[k])
        np.testing.assert_allclose(moved.v[k + 5], commanded, atol=2e-3)
    weak = robot.with_joints(effort=0.5)
    tired = hc.simulate(weak, Q0, duration=0.1, dt=2e-3, controller=ik, gravity=[0, 0, 0])
    assert np.abs(tired.tau).max() == 0.5
    floating = hc.load("quadruped", base="floating")
    ik = hc.control.DifferentialIK(floating, [hc.control.PostureTask(floating.neutral())], dt=0.01)
    with pytest.raises(InputError, match="commands joint velocities"):
        hc.simulate(floating, duration=0.1, dt=0.01, controller=ik)


def test_observers_alone_and_beside_a_controller(robot: hc.Robot) -> None:
    observer = hc.control.MomentumObserver(robot, dt=1e-3, gain=200.0)
    run = {"duration": 0.1, "dt": 1e-3, "friction": False}
    push = np.array([0.5, -0.2])
    alone = hc.simulate(robot, Q0, controller=observer, disturbance=push, **run)
    assert not np.any(alone.tau)
    np.testing.assert_allclose(alone.observed[-1], push, atol=5e-3)
    for controller in (laws(robot, None)["impedance"].following(GOAL), lambda t, q, v: 2 * (GOAL - q)):
        observer.reset()
        beside = hc.simulate(robot, Q0, controller=controller, observer=observer, disturbance=push, **run)
        np.testing.assert_allclose(beside.observed[-1], push, atol=2e-2)
        assert beside.observed.shape == (101, 2)
    with pytest.raises(InputError, match="observes one robot"):
        hc.simulate(robot, np.zeros((2, 2)), observer=observer, **run)


def test_an_observer_in_place_of_a_controller_gets_the_torque_that_acts(robot: hc.Robot) -> None:
    class Observer:
        command, seen = "residual", np.zeros(2)

        def step(self, q: Any, v: Any, tau: Any) -> Any:
            self.seen = np.maximum(self.seen, np.abs(tau))
            return np.ones(2)

    observer = Observer()
    loop = SteppedController(observer, Commanded(robot, robot.model.velocity_names), 1e-3)
    assert not any(np.any(loop(t, Q0, Q0)) for t in (0.0, 1e-3, 2e-3)) and not np.any(observer.seen)


@pytest.mark.slow
@pytest.mark.needs_compiler
def test_model_predictive_and_adaptive_controllers(robot: hc.Robot) -> None:
    parametric = robot.parametric("payload", payload_link="tip")
    problem = hc.mpc.Problem(parametric, horizon=10, dt=0.01)
    problem.add_posture_cost(GOAL, 10.0, end_weight=10.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-3)
    for adaptive in (False, True):
        controller: Any = hc.mpc.Controller(problem)
        if adaptive:
            identifier = hc.OnlineIdentifier(robot, ("payload",), payload_link="tip")
            controller = hc.mpc.Adaptive(controller, identifier)
        moved = hc.simulate(robot, Q0, duration=0.1, dt=5e-3, controller=controller, friction=False)
        np.testing.assert_array_equal(moved.tau[0:-1:2], moved.tau[1::2])
        assert np.linalg.norm(moved.q[-1] - GOAL) < np.linalg.norm(Q0 - GOAL)


def test_flight_laws_with_and_without_references() -> None:
    vehicle = hc.aerial.load("hummingbird")
    law = hc.aerial.GeometricControl(vehicle)
    run = {"duration": 0.05, "dt": 1e-3}
    followed = hc.simulate(vehicle, controller=law.following(position=[0.1, 0, 0]), **run)
    law.reset()
    stepped = hc.simulate(vehicle, controller=lambda t, q, v: law.step(q, v, position=[0.1, 0, 0]), **run)
    np.testing.assert_allclose(followed.q, stepped.q, rtol=0, atol=1e-12)
    hovering = hc.simulate(vehicle, controller=law, **run)
    assert np.isfinite(hovering.controls).all()


def test_stiff_friction_is_named_where_a_simulation_diverges() -> None:
    ur5 = hc.load("ur5").with_joints(damping=[3, 3, 2, 0.6, 0.6, 0.5], friction=[5, 6, 4, 1, 1, 0.8])
    with pytest.raises(hc.SimulationError, match=r"joint friction, .* stiff: take method='stiction'"):
        hc.simulate(ur5, v0=np.ones(6), duration=1.0, dt=1e-3)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("substeps", [1, 2])
def test_a_law_with_memory_runs_inside_the_loop_with_contacts(robot: hc.Robot, substeps: int) -> None:
    law = laws(robot, 2e-3)["computed torque"]
    world = {"ground": hc.Ground(height=-10.0), "contacts": [hc.ContactPoint("tip")]}
    run = {"duration": 0.02, "dt": 1e-3, "substeps": substeps, **world}
    looped = hc.simulate(robot, Q0, controller=law.following(reference), **run)
    stepped = hc.simulate(robot, Q0, controller=Counting(law.following(reference)), **run)
    np.testing.assert_allclose(looped.q, stepped.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(looped.tau, stepped.tau, rtol=0, atol=1e-9)


def test_frames_are_references_inside_the_loop(robot: hc.Robot) -> None:
    """A pose is a matrix: its rows must reach the compiled code in their order."""
    arm = hc.load("ur5")
    q0 = np.array([0.3, -1.0, 1.2, 0.2, 0.4, 0.1])
    law = hc.control.TaskSpaceControl(arm, "tool0", frequency=10.0)
    T = np.array(arm.pose("tool0")(q0))
    T[:3, 3] += [0.02, -0.01, 0.03]
    run = {"duration": 0.02, "dt": 1e-3}
    looped = hc.simulate(arm, q0, controller=law.following(T), **run)
    stepped = hc.simulate(arm, q0, controller=Counting(law.following(T)), **run)
    np.testing.assert_allclose(looped.q, stepped.q, rtol=0, atol=1e-12)
    world = {"ground": hc.Ground(height=-10.0), "contacts": [hc.ContactPoint("tool0")], "end_stops": False}
    touching = hc.simulate(arm, q0, controller=law.following(T), **run, **world)
    compared = hc.simulate(arm, q0, controller=Counting(law.following(T)), **run, **world)
    np.testing.assert_allclose(touching.q, compared.q, rtol=0, atol=1e-12)
