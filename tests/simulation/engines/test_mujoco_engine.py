"""MuJoCo as the engine of `simulate`, against Helicoid's own engine, MuJoCo's bindings, and closed forms."""

from __future__ import annotations

import pickle
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np
import pytest

import helicoid as hc
from helicoid._typing import Array

pytestmark = pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")

SCENE = """
<mujoco model="push">
  <option timestep="0.001" cone="elliptic"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1" friction="0.6"/>
    <body name="box" pos="0 0 0.2">
      <freejoint name="box"/>
      <geom name="box" type="box" size="0.1 0.05 0.1" mass="1"/>
    </body>
    <body name="arm" pos="-0.3 0 0.12">
      <joint name="push" type="slide" axis="1 0 0" damping="2" armature="0.1"/>
      <geom type="sphere" size="0.05" mass="0.5"/>
      <body name="wrist" pos="0.05 0 0"><joint name="turn" type="ball" damping="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.1" size="0.02" mass="0.1"/></body>
    </body>
  </worldbody>
  <actuator><position joint="push" kp="100"/></actuator>
  <keyframe><key name="home" qpos="0 0 0.2 1 0 0 0 0 1 0 0 0"/></keyframe>
</mujoco>
"""

BOX = """
<mujoco><worldbody><body name="b" pos="0 0 0.1"><freejoint/>
  <geom type="box" size="0.1 0.1 0.1" mass="2"/>
</body></worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def ur5() -> hc.Robot:
    return hc.load("ur5")


@pytest.fixture(scope="module")
def scene() -> hc.Robot:
    return hc.load(SCENE)


def moved(robot: hc.Robot, q0: Any = None, **options: Any) -> hc.Trajectory:
    return hc.simulate(robot, q0, engine="mujoco", progress=False, **options)


Q = np.array([0.3, -1.2, 1.6, -1.9, -1.5, 0.4])


def test_smooth_motion_is_that_of_our_runge_kutta_method(ur5: hc.Robot, rng: np.random.Generator) -> None:
    robot = ur5.with_joints(armature=0.1)
    tau, more = rng.normal(size=(100, 6)), rng.normal(size=6)
    for options in ({}, {"expressed_in": "world", "gravity": (0.0, 1.0, -3.0)}):
        given: dict[str, Any] = dict(
            v0=0.3 * np.ones(6), duration=0.1, controller=tau, disturbance=more, substeps=2, **options
        )
        ours = hc.simulate(robot, Q, method="rk4", **given)
        there = moved(robot, Q, method="rk4", contacts=[], **given)
        assert np.allclose(there.q, ours.q, rtol=0, atol=1e-12)
        assert np.allclose(there.v, ours.v, rtol=0, atol=1e-11)
        assert np.allclose(there.a, ours.a, rtol=1e-8, atol=1e-8)
        assert np.array_equal(there.tau, ours.tau)
        assert np.allclose(there.energy, ours.energy, rtol=0, atol=1e-9)


def test_wrenches_act_in_the_axes_of_their_sampling_time(ur5: hc.Robot, rng: np.random.Generator) -> None:
    robot = ur5.with_joints(armature=0.1)
    w = {"tool0": rng.normal(size=6), "forearm_link": lambda t, q, v: np.full(6, t)}
    errors = []
    for framed in ("body", "world"):
        for dt in (2e-3, 5e-4):
            given: dict[str, Any] = dict(duration=0.1, dt=dt, f_ext=w, expressed_in=framed, method="rk4")
            ours, there = hc.simulate(robot, Q, **given), moved(robot, Q, contacts=[], **given)
            errors.append(np.abs(there.q[-1] - ours.q[-1]).max())
    assert max(errors) < 1e-3
    assert errors[1] < errors[0] / 2.5 and errors[3] < errors[2] / 2.5  # of the first order


def test_smooth_motion_on_a_floating_base(rng: np.random.Generator) -> None:
    robot = hc.load("quadruped", base="floating")
    q0 = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    v0, tau = rng.normal(size=robot.nv), np.r_[np.zeros(6), rng.normal(size=robot.nv - 6)]
    errors = []
    for substeps in (1, 4):  # of the fourth order both, in coordinates that differ
        given: dict[str, Any] = dict(v0=v0, duration=0.04, dt=4e-3, controller=tau, method="rk4")
        given |= {"friction": False, "substeps": substeps}
        ours = hc.simulate(robot, q0, **given)
        there = moved(robot, q0, contacts=[], end_stops=False, **given)
        assert np.allclose(there.a[0], ours.a[0], rtol=1e-9, atol=1e-9)
        errors.append(np.abs(there.q - ours.q).max())
    assert errors[1] < max(errors[0] / 60, 1e-11)


def test_a_scene_moves_as_in_mujoco_itself(scene: hc.Robot) -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data = mujoco.MjData(model)
    rows, q0 = [], scene.keyframes["home"].q
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for k in range(400):
        rows.append(np.concatenate([data.qpos, data.qvel]))
        data.qfrc_applied[6] = 20 * np.cos(2e-4 * k)
        mujoco.mj_step(model, data)
    rows.append(np.concatenate([data.qpos, data.qvel]))
    qpos, qvel = np.split(np.array(rows), [model.nq], axis=1)

    def push(t: float, q: Array, v: Array) -> Array:
        return np.r_[np.zeros(6), 20 * np.cos(0.2 * t), np.zeros(3)]

    there = moved(scene, q0, duration=0.4, controller=push)
    assert np.array_equal(there.q, scene.mujoco.q(qpos)) or np.allclose(
        there.q, scene.mujoco.q(qpos), rtol=0, atol=1e-12
    )
    assert np.allclose(there.v, scene.mujoco.v(qpos, qvel), rtol=0, atol=1e-12)
    assert there.q[-1, 0] > 0.02  # it has pushed the box
    force = dict(zip(there.contact_names, there.contact_forces[-1], strict=True))
    assert set(force) == {"box", "arm", "wrist"}
    arm = [there.contact_names.index(link) for link in ("arm", "wrist")]
    assert there.contact_forces[:, arm, 0].sum(axis=1).min() < -0.5


def test_a_box_at_rest_weighs_what_it_weighs_and_slides_by_its_friction() -> None:
    box = hc.load(BOX)
    for mu in (0.3, 0.7):
        ground = hc.Ground(friction=mu)
        rest = moved(box, [0, 0, 0.1, 1, 0, 0, 0], duration=0.5, ground=ground)
        assert np.allclose(rest.contact_forces[-1], [[0, 0, 2 * 9.81]], rtol=1e-3, atol=1e-2)
        assert abs(rest.contact_points[-1, 0, 2]) < 2e-3 and 0 < rest.penetration[-1] < 2e-3
        incline = 9.81 * np.array([0.6, 0.0, -0.8])
        slide = moved(box, rest.q[-1], duration=0.3, ground=ground, gravity=incline)
        a = np.polyfit(slide.t[100:], slide.v[100:, 3], 1)[0]
        assert np.isclose(a, 9.81 * (0.6 - 0.8 * mu), atol=0.02)


def test_a_height_field_lies_as_ours() -> None:
    heights = np.array([[0.0, 0.3, 0.1], [0.2, 0.5, 0.0]])
    ball = hc.load(
        '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.02" mass="1"/></body></worldbody>'
        "</mujoco>"
    )
    field = hc.Ground(heights=heights, spacing=(0.5, 0.8), origin=(-0.2, 0.1), friction=5.0, height=0.1)
    for x, y in ((-0.1, 0.2), (0.3, 0.1), (0.5, 0.7), (-0.15, 0.8)):
        q0 = [x, y, 1.0, 1, 0, 0, 0]
        there = moved(ball, q0, duration=0.6, ground=field)
        touched = np.flatnonzero(np.abs(there.contact_forces[:, 0]).max(axis=1) > 0)[0]
        # MuJoCo's surface is two triangles in each cell, ours is bilinear.
        at = there.q[touched, :3]
        assert abs(at[2] - 0.02 - float(field.height_at(at[0], at[1]))) < 0.06


def test_points_alone_touch_the_ground() -> None:
    box = hc.load(BOX)
    corners = [(x, y, -0.15) for x, y in ((0.1, 0.1), (0.1, -0.2), (-0.1, 0.1), (-0.1, -0.2))]
    points = [hc.ContactPoint("b", corner, radius=0.01) for corner in corners]
    rest = moved(box, [0, 0, 0.16, 1, 0, 0, 0], duration=1.0, ground=hc.Ground(), contacts=points)
    assert rest.contact_names == ("b.0", "b.1", "b.2", "b.3")
    force = rest.contact_forces[-1, :, 2]
    assert np.isclose(force.sum(), 2 * 9.81, rtol=1e-3)
    assert np.allclose(force[[0, 2]], 2 * 9.81 / 3, rtol=0.02)  # twice those of the farther corners
    assert np.allclose(rest.contact_points[-1, :, :2], np.array(corners)[:, :2], atol=0.02)
    assert 0.13 < rest.q[-1, 2] < 0.16  # the box itself would rest at 0.1


def test_laws_in_the_loop_equal_those_called_from_python(ur5: hc.Robot) -> None:
    law = hc.control.ComputedTorque(ur5, frequency=10.0)
    following = law.following({"q_ref": Q + 0.2})
    options: dict[str, Any] = {"duration": 0.1, "contacts": [], "saturate": True, "disturbance": np.ones(6)}
    there = moved(ur5, Q, controller=following, **options)
    by_hand = moved(ur5, Q, controller=lambda t, q, v: law.step(q, v, q_ref=Q + 0.2), **options)
    assert np.allclose(there.q, by_hand.q, rtol=0, atol=1e-12)
    assert np.allclose(there.tau, by_hand.tau, rtol=0, atol=1e-9)
    assert np.all(np.abs(there.tau) <= ur5.limits.effort)


def test_a_law_with_memory_and_a_longer_period() -> None:
    robot, goal = hc.load("planar_2r"), {"q_ref": [0.5, -0.3]}
    law, other = (hc.control.AdaptiveControl(robot, frequency=5.0, damping=10.0, dt=5e-3) for _ in range(2))
    there = moved(robot, [0.1, 0.0], duration=0.2, controller=law.following(goal), contacts=[])
    held = np.zeros(2)

    def by_hand(t: float, q: Array, v: Array) -> Array:
        nonlocal held
        if round(t / 1e-3) % 5 == 0:
            held = other.step(q, v, **goal)
        return held

    again = moved(robot, [0.1, 0.0], duration=0.2, controller=by_hand, contacts=[])
    assert np.allclose(there.q, again.q, rtol=0, atol=1e-12)
    assert np.abs(there.q[-1] - [0.1, 0.0]).max() > 0.01
    assert np.array_equal(there.tau[0], there.tau[4]) and not np.array_equal(there.tau[4], there.tau[5])


def test_velocity_commands_observers_and_sensors(ur5: hc.Robot) -> None:
    ik = hc.control.DifferentialIK(ur5, [hc.control.PositionTask("tool0")], dt=2e-3)
    target = ur5.pose("tool0")(Q)[:3, 3] + [0.02, 0.01, -0.02]
    observer = hc.control.MomentumObserver(ur5, gain=50.0, dt=1e-3)
    push = np.array([0.0, 2.0, 0, 0, 0, 0])
    following = ik.following({"tool0_position": target})
    there = moved(
        ur5,
        Q,
        duration=0.6,
        controller=following,
        observer=observer,
        disturbance=push,
        contacts=[],
        friction=False,
    )
    assert np.linalg.norm(ur5.pose("tool0")(there.q[-1])[:3, 3] - target) < 5e-3
    assert np.allclose(there.observed[-1], push, atol=0.1)
    seen = hc.Sensors(noise={"q": 1e-4}, delay=0.01, rate=100, accelerations=True)(there)
    assert seen.q.shape == (61, 6) and np.allclose(seen.q[50], there.q[490], atol=1e-3)


def test_batches_equal_single_rollouts_and_mujocos_own(scene: hc.Robot, rng: np.random.Generator) -> None:
    q0 = np.tile(scene.keyframes["home"].q, (5, 1))
    q0[:, 2] += np.linspace(0, 0.1, 5)
    tau = np.zeros((5, 200, 10))
    tau[:, :, 6] = rng.normal(size=(5, 1))
    batch = moved(scene, q0, duration=0.2, controller=tau)
    for k in (0, 4):
        alone = moved(scene, q0[k], duration=0.2, controller=tau[k])
        assert np.array_equal(batch.q[k], alone.q) and np.array_equal(batch[k].a, alone.a)
    model = mujoco.MjModel.from_xml_string(SCENE)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    data, full = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((5, mujoco.mj_stateSize(model, full)))
    for k in range(5):
        data.qpos[:] = scene.mujoco.qpos(q0[k])
        mujoco.mj_getState(model, data, start[k], full)
    applied = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    states, _ = mujoco.rollout.rollout(
        [model] * 5, [data], start, control=tau, control_spec=applied, nstep=200
    )
    qpos = states[:, :, 1 : 1 + model.nq]
    assert np.allclose(scene.mujoco.q(qpos[:, :, :]), batch.q[:, 1:], rtol=0, atol=1e-12)


def test_batches_of_laws(ur5: hc.Robot) -> None:
    following = hc.control.JointImpedance(ur5, stiffness=100.0, damping=20.0).following({"q_ref": Q})
    starts = Q + np.linspace(-0.1, 0.1, 4)[:, None]
    batch = moved(ur5, starts, duration=0.05, controller=following, contacts=[])
    for k in range(4):
        alone = moved(ur5, starts[k], duration=0.05, controller=following, contacts=[])
        assert np.array_equal(batch.q[k], alone.q)


def test_parameters_at_run_time(ur5: hc.Robot) -> None:
    load = hc.payload(3.0, [0.0, 0.0, 0.1], 0.01 * np.eye(3))
    groups = "payload", "friction", "armature", "gravity"
    parametric = ur5.parametric(*groups, payload_link="tool0")
    theta = parametric.theta.values.copy()
    theta[parametric.theta.slices["payload"]] = load
    theta[parametric.theta.slices["friction"]] = np.r_[np.full(6, 0.5), np.zeros(6)]
    theta[parametric.theta.slices["armature"]] = 0.1
    theta[parametric.theta.slices["gravity"]] = [1.0, 0.0, -5.0]
    given: dict[str, Any] = {"theta": theta, "duration": 0.1, "method": "rk4"}
    ours = hc.simulate(parametric, Q, **given)
    there = moved(parametric, Q, contacts=[], **given)
    assert np.allclose(there.q, ours.q, rtol=0, atol=1e-10)


def test_without_a_compiler_the_loop_is_the_same(scene: hc.Robot, ur5: hc.Robot) -> None:
    q0 = scene.keyframes["home"].q
    law = hc.control.JointImpedance(ur5, stiffness=100.0, damping=20.0).following({"q_ref": Q})

    def runs() -> list[hc.Trajectory]:
        push = np.r_[np.zeros(6), 5.0, np.zeros(3)]
        return [
            moved(scene, q0, duration=0.05, substeps=2, controller=push),
            moved(ur5, Q + 0.1, duration=0.02, controller=law, contacts=[]),
        ]

    compiled = runs()
    hc.set_compile(False)
    try:
        slow = runs()
    finally:
        hc.set_compile(True)
    for one, other in zip(compiled, slow, strict=True):
        assert np.allclose(one.q, other.q, rtol=0, atol=1e-12)
        assert np.allclose(one.a, other.a, rtol=1e-9, atol=1e-8)
        assert np.allclose(one.contact_forces, other.contact_forces, rtol=1e-9, atol=1e-9)
        assert np.allclose(one.contact_points, other.contact_points, rtol=1e-9, atol=1e-9)
        assert np.allclose(one.penetration, other.penetration, rtol=1e-9, atol=1e-12)


def test_shapes_that_overlap_at_the_start_do_not_push_each_other() -> None:
    shape = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="l{k}">{inertial}{shape}</link>' for k in range(4))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0.08 0 0"/><axis xyz="0 0 1"/></joint>'
        for k in range(3)
    )
    robot = hc.load(f'<robot name="r">{links}{joints}</robot>')
    with pytest.warns(hc.DoubtfulMotionWarning, match="'l1' and 'l3'"):
        there = moved(robot, duration=0.1)
    assert np.abs(there.v).max() < 1e-9


def test_edits_count_in_robots_that_were_read_from_mjcf() -> None:
    body = '<body><joint name="hinge" axis="0 1 0" pos="0 0 1"/><geom size=".1"/></body>'
    robot = hc.load(f'<mujoco><option integrator="RK4"/><worldbody>{body}</worldbody></mujoco>')
    damped = robot.with_joints(damping=3.0)
    given = {"q0": [1.0], "duration": 0.3, "dt": 1e-3, "method": "rk4"}
    with pytest.warns(hc.DoubtfulMotionWarning, match="edited since it was read"):
        motion = hc.simulate(damped, engine="mujoco", **given)
    np.testing.assert_allclose(motion.q, hc.simulate(damped, **given).q, atol=1e-9)
    framed = hc.simulate(robot.with_frame("tip", "body_1", [0, 0, 1]), engine="mujoco", **given)
    np.testing.assert_allclose(framed.q, hc.simulate(robot, **given).q, atol=1e-9)
    assert abs(motion.q[-1] - framed.q[-1]) > 1e-2


def test_what_mujoco_cannot_do_is_an_error(scene: hc.Robot, ur5: hc.Robot) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"method": "stiction"}, "its own methods"),
        ({"smoothing": 0.1}, "smoothing"),
        ({"ground": hc.Ground(restitution=0.5)}, "restitution"),
        ({"ground": hc.Ground(friction=np.inf)}, "finite"),
        ({"contacts": "all"}, "ContactPoint"),
        ({"contacts": [hc.ContactPoint("tool0")]}, "something to touch"),
        ({"theta": np.zeros((2, 0)), "q0": np.zeros((2, 6))}, "one theta"),
    ]
    for options, text in cases:
        q0 = options.pop("q0", None)
        with pytest.raises(hc.HelicoidError, match=text):
            moved(ur5, q0, duration=0.01, **options)
    with pytest.raises(hc.InputError, match="engine is one of"):
        hc.simulate(ur5, duration=0.01, engine="bullet")  # type: ignore[arg-type]
    with pytest.raises(hc.InputError, match="vehicle"):
        hc.simulate(hc.aerial.load("hummingbird"), duration=0.01, engine="mujoco")
    known = pickle.loads(pickle.dumps(scene))
    with pytest.raises(hc.InputError, match="compiled MuJoCo model"):
        moved(known, scene.keyframes["home"].q, duration=0.01, ground=hc.Ground())
    with pytest.raises(hc.HelicoidError, match="sensitivities follow"):
        moved(ur5, Q, duration=0.01, contacts=[]).sensitivity()


def test_what_diverges_is_said_with_the_states_before(ur5: hc.Robot) -> None:
    with pytest.raises(hc.SimulationError, match="diverged") as raised:
        moved(ur5, Q, duration=1.0, controller=lambda t, q, v: 1e4 * v + 1, contacts=[], end_stops=False)
    assert np.isfinite(raised.value.trajectory.q).all()
