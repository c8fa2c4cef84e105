"""Every consumer of a robot as a function of the robot and of options, and a small robot with its variants.

A consumer counts a property if its output changes when only that property of the robot does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.model.connections.fluid import Fluid, FluidElement

NEUTRAL_GRAVITY, TILTED_GRAVITY = (0.0, 0.0, -9.81), (3.0, 0.0, -8.0)
Q, V, A = np.array([0.3, 0.8, -0.5]), np.array([0.5, -0.4, 0.6]), np.array([0.2, 0.1, -0.3])
TAU = np.array([12.0, 6.0, 2.0])
DT = 0.01


def _link(name: str, length: float) -> str:
    """A rod of 2 kg/m."""
    mass = 2 * length
    inertia = mass * length**2 / 12
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.001" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def arm(ball: float = 0.01) -> hc.Robot:
    """A planar arm with three joints; its base and tip are balls of that radius (m)."""
    sphere = f'<collision><geometry><sphere radius="{ball}"/></geometry></collision>'
    lengths = {"link_1": 0.5, "link_2": 0.4, "link_3": 0.3}
    parts = [f'<link name="base">{sphere}</link>']
    parent, at = "base", 0.0
    for k, (name, length) in enumerate(lengths.items(), start=1):
        parts.append(_link(name, length))
        parts.append(f"""<joint name="joint_{k}" type="revolute"><parent link="{parent}"/>
        <child link="{name}"/><origin xyz="{at} 0 0"/><axis xyz="0 -1 0"/>
        <limit lower="-2.5" upper="2.5" velocity="4" effort="60"/></joint>""")
        parent, at = name, length
    parts.append(f"""<link name="tip">{sphere}</link><joint name="flange" type="fixed"><parent link="link_3"/>
    <child link="tip"/><origin xyz="0.3 0 0"/></joint>""")
    return hc.load(f'<robot name="arm">{"".join(parts)}</robot>')


def wet() -> hc.Robot:
    """The arm with a box in water on its second link."""
    robot = arm()
    water = FluidElement("box", "link_2", Fluid(1000.0, 1e-3), np.array([0.1, 0.2, 0.3]))
    return robot.with_model(replace(robot.model, fluid=(water,)))


DRIVE = hc.Drive(gear_ratio=50, rotor_inertia=1e-4, torque_limit=60.0)

VARIANTS: dict[str, Callable[[], hc.Robot]] = {
    "friction": lambda: arm().with_joints(damping=0.7, friction=0.5),
    "joint springs": lambda: arm().with_joints(stiffness=4.0, rest=0.2),
    "elastic elements": lambda: arm().with_spring("world", "link_2", 80.0, 0.3, point_a=(0, 0, 1)),
    "fluid forces": wet,
    "armature": lambda: arm().with_joints(armature=0.2),
    "drives": lambda: arm().with_drives({"joint_2": DRIVE, "joint_3": DRIVE}, full_rotor=True),
    "gravity vector": arm,  # an option, TILTED_GRAVITY in place of the default
    "effort limits": lambda: arm().with_joints(effort=[20.0, 8.0, 1.6]),
    "position and velocity limits": lambda: arm().with_joints(
        lower=-1.0, upper={"joint_1": 0.302, "joint_2": 1.2, "joint_3": 0.4}, velocity=0.7
    ),
    "collision pairs": lambda: arm(ball=0.4),
}


# Simulation and derivatives ---------------------------------------------------------------------------------


def _simulated(method: Any) -> Callable[..., Any]:
    def run(robot: hc.Robot, **options: Any) -> Any:
        motion = hc.simulate(robot, Q, V, 0.1, TAU, dt=DT, method=method, **options)
        return motion.q, motion.v

    return run


def in_mujoco(robot: hc.Robot, **options: Any) -> Any:
    """Base and tip approach each other: large ones touch."""
    q, v = [0.3, 1.4, 0.5], [0.5, 3.0, 2.0]
    motion = hc.simulate(robot, q, v, 0.1, TAU, dt=DT, engine="mujoco", **options)
    return motion.q, motion.v


def sensitivity(robot: hc.Robot, **options: Any) -> Any:
    found = hc.simulate(robot, Q, V, 0.05, TAU, dt=DT, **options).sensitivity("q0", "v0")
    return found.q, found.v


def derivatives(robot: hc.Robot, **options: Any) -> Any:
    return robot.inverse_dynamics_derivatives(Q, V, A, **options)


def exported(robot: hc.Robot, **options: Any) -> Any:
    """The C code of inverse dynamics, as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        robot.inverse_dynamics.with_options(**options).export_c(folder)
        (source,) = Path(folder).rglob("inverse_dynamics.c")
        return np.frombuffer(source.read_bytes(), np.uint8)


# Optimal control --------------------------------------------------------------------------------------------


def _planned(formulation: Any, scene: bool = False) -> Callable[..., Any]:
    def run(
        robot: hc.Robot,
        limits: bool = False,
        self_collision: bool = False,
        gravity: Any = None,
        **options: Any,
    ) -> Any:
        robot = robot if gravity is None else robot.parametric("gravity")
        problem = hc.mpc.Problem(robot, horizon=8, dt=0.05, formulation=formulation, **options)
        problem.add_posture_cost([0.9, 1.4, 0.3], 10.0)
        problem.add_velocity_cost(0.1)
        problem.add_torque_cost(1e-3)
        if limits:
            problem.add_limits()
        if self_collision:
            problem.add_self_collision(margin=0.3)
        if scene:
            obstacles = hc.Scene()
            obstacles.add("ball", hc.Sphere(0.2), pose=arm().pose("tip")([0.9, 1.4, 0.3]))
            problem.add_scene(obstacles, margin=0.01)
        if gravity is not None:
            problem.set(theta=gravity)
        plan = problem.solve(Q, V)
        return plan.q, plan.tau

    return run


# Control laws -----------------------------------------------------------------------------------------------


def _stepped(law: Any, gravity: Any, *arguments: Any) -> Any:
    if gravity is not None:
        law.set(theta=gravity)
    return law.step(*arguments)


def _with(robot: hc.Robot, gravity: Any) -> hc.Robot:
    return robot if gravity is None else robot.parametric("gravity")


def computed_torque(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.ComputedTorque(_with(robot, gravity), 12.0, **options)
    return _stepped(law, gravity, Q, V, Q + 0.1, V, A)


def joint_impedance(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.JointImpedance(_with(robot, gravity), 200.0, 5.0, **options)
    return _stepped(law, gravity, Q, V, Q + 0.1)


def task_space(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.TaskSpaceControl(_with(robot, gravity), "tip", 12.0, rows=(3, 5), **options)
    return _stepped(law, gravity, Q, V, arm().pose("tip")(Q + 0.4))


def operational_space(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    motion = [0, 1, 0, 1, 0, 0]
    law = hc.control.OperationalSpaceControl(_with(robot, gravity), "tip", 12.0, motion=motion, **options)
    return _stepped(law, gravity, Q, V, arm().pose("tip")(Q + 0.4), [0, 0, 0, 0, 0, 4.0])


def adaptive(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.AdaptiveControl(_with(robot, gravity), 12.0, 2.0, dt=DT, **options)
    return _stepped(law, gravity, Q, V, Q + 0.1, V, A)


def _tasks() -> list[Any]:
    return [
        hc.control.PositionTask("tip", arm().pose("tip")(Q + 0.3)[:3, 3], name="tip"),
        hc.control.PostureTask(Q + 0.4, weight=0.1),
    ]


def prioritised(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.PrioritisedInverseDynamics(_with(robot, gravity), _tasks(), 12.0, **options)
    return _stepped(law, gravity, Q, V)


def whole_body(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.WholeBody(_with(robot, gravity), _tasks(), [], DT, **options)
    return _stepped(law, gravity, Q, V)


def differential_ik(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.DifferentialIK(_with(robot, gravity), _tasks(), DT, **options)
    return law.step(Q, V)


def observer(robot: hc.Robot, gravity: Any = None, **options: Any) -> Any:
    law = hc.control.MomentumObserver(_with(robot, gravity), gain=20.0, dt=DT, **options)
    _stepped(law, gravity, Q, V, TAU)
    return law.step(Q + DT * V, V + 0.1, TAU)


def inverse_kinematics(robot: hc.Robot, **options: Any) -> Any:
    target = arm().pose("tip")([-1.2, 1.4, 1.8])
    found = hc.control.InverseKinematics(robot, "tip", **options)(target, q0=[-0.8, 1.4, 1.8])
    return found.q, np.array([float(found.success)])


# Planning and identification --------------------------------------------------------------------------------


def _path(robot: hc.Robot) -> Any:
    """To a goal where base and tip are near each other, and which narrow limits leave out."""
    return hc.plan(robot, [0.3, 0.8, -0.5], [-0.8, 1.4, 1.8], seed=0)


def path(robot: hc.Robot) -> Any:
    try:
        found = _path(robot)
    except hc.HelicoidError:  # start or goal are beyond limits
        return np.zeros(1)
    return np.array([found.length if found.success else 0.0])


def timed_path(robot: hc.Robot, **options: Any) -> Any:
    try:
        return np.array([_path(robot).timed(velocity=30.0, grid=40, dt=0.05, **options).duration])
    except hc.HelicoidError:  # no path, or none within limits
        return np.zeros(1)


def time_optimal(robot: hc.Robot, **options: Any) -> Any:
    path = np.array([[0.3, 0.8, -0.5], [-0.2, 0.4, 0.2], [-0.8, 0.6, 0.3]])
    motion = hc.control.time_optimal(path, robot, grid=40, dt=0.05, **options)
    return np.array([motion.duration])


def excitation(robot: hc.Robot, **options: Any) -> Any:
    found = hc.excitation(robot, 4.0, harmonics=3, iterations=12, rate=20.0, progress=False, **options)
    return found.q


def _log() -> hc.Log:
    t = np.arange(300) / 100.0
    w, phase = np.array([2.0, 3.0, 4.5]), np.array([0.0, 1.0, 2.0])
    angle = np.outer(t, w) + phase
    q, v, a = 0.6 * np.sin(angle), 0.6 * w * np.cos(angle), -0.6 * w**2 * np.sin(angle)
    return hc.Log.from_arrays(t, q, v, a, arm().inverse_dynamics(q, v, a))


def identified(robot: hc.Robot, **options: Any) -> Any:
    fixed = {"groups": ("inertia",), "cutoff": None, "regularisation": 1.0, "lag": 0.0, "progress": False}
    return hc.identify(robot, _log(), **(fixed | options)).predict(_log())


CONSUMERS: dict[str, Callable[..., Any]] = {
    'hc.simulate, "rk4"': _simulated("rk4"),
    'hc.simulate, "stiction"': _simulated("stiction"),
    'hc.simulate, "time_stepping"': _simulated("time_stepping"),
    'hc.simulate, engine="mujoco"': in_mujoco,
    "Trajectory.sensitivity": sensitivity,
    "robot.inverse_dynamics_derivatives": derivatives,
    "robot.inverse_dynamics.export_c": exported,
    'hc.mpc.Problem, "inverse_dynamics"': _planned("inverse_dynamics"),
    'hc.mpc.Problem, "forward_dynamics"': _planned("forward_dynamics"),
    "hc.mpc.Problem, add_scene": _planned("inverse_dynamics", scene=True),
    "ComputedTorque": computed_torque,
    "JointImpedance": joint_impedance,
    "TaskSpaceControl": task_space,
    "OperationalSpaceControl": operational_space,
    "AdaptiveControl": adaptive,
    "PrioritisedInverseDynamics": prioritised,
    "WholeBody": whole_body,
    "DifferentialIK": differential_ik,
    "InverseKinematics": inverse_kinematics,
    "MomentumObserver": observer,
    "hc.plan": path,
    "PlannedPath.timed": timed_path,
    "hc.control.time_optimal": time_optimal,
    "hc.excitation": excitation,
    "hc.identify": identified,
}


def output(consumer: str, robot: hc.Robot, options: dict[str, Any]) -> Array:
    """Everything that a consumer gives, as one vector."""
    given = CONSUMERS[consumer](robot, **options)
    parts = given if isinstance(given, tuple) else (given,)
    return np.concatenate([np.asarray(getattr(part, "tau", part), np.float64).ravel() for part in parts])


def differs(one: Array, other: Array) -> bool:
    """Whether two outputs differ beyond the tolerance of an iterative solver."""
    if one.shape != other.shape:
        return True
    return bool(np.abs(one - other).max() > 1e-6 * (1 + np.abs(one).max()))


def answer(consumer: str, prop: str, option: dict[str, Any] | None) -> str:
    """ "counts", "option", "refused" or "no" (no influence), by trying.

    `option` is tried where the property has no influence without it.
    """
    variant = VARIANTS[prop]()
    if prop != "gravity vector":
        try:
            if differs(output(consumer, arm(), {}), output(consumer, variant, {})):
                return "counts"
        except hc.HelicoidError:
            return "refused"
    if option is None:
        return "no"
    try:
        plain = {**option, "gravity": NEUTRAL_GRAVITY} if prop == "gravity vector" else option
        return (
            "option" if differs(output(consumer, arm(), plain), output(consumer, variant, option)) else "no"
        )
    except hc.HelicoidError:
        return "refused"
