"""All controllers of the library, each with plausible inputs: a new one is added to this list alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

import helicoid as hc
from helicoid._typing import Array
from helicoid.control import PositionTask, PostureTask

START = np.array([0.3, 0.8])
STEPS = 4


@dataclass(frozen=True)
class Case:
    """A controller, the system that it commands, and references for `step`.

    Args:
        make: makes the controller.
        plant: robot or vehicle that `hc.simulate` moves.
        q, v: measured state; at rest unless v is given.
        references: that `step` needs, by name.
        target: references for `following`; by default `references`.
        number: name of a number that `set` takes, and its value.
        slow, slow_c: whether it, or its C, takes long to build.
        keeps_state: whether a copy by pickle goes on with the state of the loop; else it begins anew.
        exports: whether it can be written as C.
    """

    make: Callable[[], Any]
    plant: Callable[[], Any]
    q: Array
    v: Array | None = None
    references: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] | None = None
    number: tuple[str, Any] = ("decay", 0.5)
    slow: bool = False
    slow_c: bool = False
    keeps_state: bool = True
    exports: bool = True

    @cached_property
    def recorded(self) -> tuple[Any, Array]:
        """The controller, made once, and the commands of its first steps."""
        controller = self.make()
        assert controller.status is hc.Status.NOT_STARTED and not controller.ok
        return controller, self.run(controller)

    @property
    def controller(self) -> Any:
        """The controller, reset."""
        controller = self.recorded[0]
        controller.reset()
        return controller

    def step(self, controller: Any, q: Any, v: Any) -> Any:
        """One step with the references, and the measured torque where it is measured."""
        measured = {"tau": np.zeros(self.robot.nv)} if "tau" in _measured(controller) else {}
        if isinstance(controller, hc.mpc.Adaptive):
            return controller.step(q, v, np.zeros(self.robot.nv))
        return controller.step(q, v, **measured, **self.references)

    def run(self, controller: Any) -> Array:
        """Commands of the first steps."""
        return np.array([self.step(controller, *self.state(k)) for k in range(STEPS)])

    def state(self, k: int) -> tuple[Array, Array]:
        """Measured q and v of the step k."""
        dv = 0.01 * np.sin(np.arange(self.robot.nv) + 1.0 + k)
        v = 0.1 * dv if self.v is None else self.v + 0.1 * dv
        return np.asarray(self.robot.integrate(self.q, dv)), v

    @property
    def robot(self) -> Any:
        """The robot of the plant."""
        return getattr(self.plant(), "robot", self.plant())

    def following(self) -> Any:
        """The controller with its reference over time."""
        target = dict(self.references) if self.target is None else self.target
        return self.controller.following(**target)

    @property
    def limits(self) -> tuple[Array, Array]:
        """Least and largest command."""
        controller, plant = self.recorded[0], self.plant()
        if hasattr(plant, "control_limits"):
            return plant.control_limits
        limits, command = plant.limits, getattr(controller, "command", "tau")
        most = {"tau": limits.effort, "v": limits.velocity}.get(command, np.inf)
        return -np.asarray(most), np.asarray(most)


def _measured(controller: Any) -> list[str]:
    return str(getattr(controller, "measures", "q v")).split()


@cache
def arm() -> hc.Robot:
    return hc.load("planar_2r").with_joints(effort=200.0, velocity=5.0)


@cache
def parametric() -> hc.Robot:
    return arm().parametric("payload", payload_link="tip")


@cache
def quad() -> Any:
    return hc.aerial.load("hummingbird")


@cache
def aircraft() -> Any:
    return hc.aerial.load("aerosonde")


@cache
def dog() -> hc.Robot:
    return hc.load("quadruped", base="floating")


def _stance() -> Array:
    q = dog().neutral()
    q[7:] = np.tile([0.0, 0.8, -1.6], 4)
    return q


def _tasks() -> list[Any]:
    tip = np.asarray(arm().pose("tip")(START))[:3, 3] + [0.02, 0.0, 0.01]
    return [PositionTask("tip", tip, weight=[1.0, 0.0, 1.0], name="tip"), PostureTask(START, weight=1e-3)]


@cache
def _problem() -> Any:
    problem = hc.mpc.Problem(parametric(), horizon=8, dt=0.01)
    problem.add_posture_cost(START, weight=100.0, end_weight=10.0)
    problem.add_velocity_cost(0.1)
    problem.add_control_cost(1e-4)
    problem.add_limits()
    return problem


def _adaptive() -> Any:
    identifier = hc.OnlineIdentifier(arm(), ("payload",), payload_link="tip")
    return hc.mpc.Adaptive(hc.mpc.Controller(_problem()), identifier)


def _walker() -> Any:
    gait = hc.walking.Gait.trot("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    return hc.walking.Walker(dog(), _stance(), gait, foot_radius=0.02)


def _hover() -> Array:
    q = quad().robot.neutral()
    q[2] = 1.0
    return q


@cache
def _cruise() -> tuple[Array, Array]:
    level = aircraft().trim(speed=25.0)
    q = np.array(level.q)
    q[2] = 100.0
    return q, np.array(level.v)


def _autopilot() -> Any:
    return hc.aerial.Autopilot(aircraft(), [hc.aerial.Line([0, 0, 100], [1000, 0, 100])], 25.0, dt=0.02)


_control = hc.control
_Q, _T = {"q_ref": START + 0.01}, {"T_ref": np.asarray(arm().pose("tip")(START))}
_GAIN = ("frequency", 5.0)
_AUTOPILOT = ("l1_period", 9.0)


def _of_arm(make: Callable[[hc.Robot], Any], **options: Any) -> Case:
    return Case(lambda: make(arm()), arm, START, **options)


def _of_quad(make: Callable[[Any], Any], **options: Any) -> Case:
    return Case(lambda: make(quad()), quad, _hover(), **options)


CASES: dict[str, Case] = {
    "JointImpedance": _of_arm(
        lambda r: _control.JointImpedance(r, 50.0, 5.0), references=_Q, number=("stiffness", 20.0)
    ),
    "ComputedTorque": _of_arm(
        lambda r: _control.ComputedTorque(r, 5.0, integral=1.0, dt=0.002), references=_Q, number=_GAIN
    ),
    "TaskSpaceControl": _of_arm(
        lambda r: _control.TaskSpaceControl(r, "tip", 5.0, rows=(3, 5)), references=_T, number=_GAIN
    ),
    "OperationalSpaceControl": _of_arm(
        lambda r: _control.OperationalSpaceControl(r, "tip", 5.0, motion=(1, 1, 1, 1, 1, 0)),
        references={**_T, "wrench_ref": np.zeros(6)},
        number=_GAIN,
    ),
    "PrioritisedInverseDynamics": _of_arm(
        lambda r: _control.PrioritisedInverseDynamics(r, _tasks(), 5.0),
        target={"posture": START},
        number=_GAIN,
    ),
    "AdaptiveControl": _of_arm(
        lambda r: _control.AdaptiveControl(r, 5.0, 5.0, dt=0.002), references=_Q, number=_GAIN
    ),
    "MomentumObserver": _of_arm(
        lambda r: _control.MomentumObserver(r, gain=50.0, dt=0.002), number=("gain", 20.0)
    ),
    "DifferentialIK": _of_arm(
        lambda r: _control.DifferentialIK(r, _tasks(), 0.002),
        target={"posture": START},
        number=("tip_gain", 3.0),
        slow_c=True,
    ),
    "DifferentialIK, strict": _of_arm(
        lambda r: _control.DifferentialIK(r, _tasks(), 0.002, "strict"), number=("tip_gain", 3.0), slow=True
    ),
    "WholeBody": _of_arm(
        lambda r: _control.WholeBody(r, _tasks(), [], 0.002), number=("tip_weight", 2.0), slow_c=True
    ),
    "WholeBody, strict": _of_arm(
        lambda r: _control.WholeBody(r, _tasks(), [], 0.002, "strict"), number=("tip_weight", 2.0), slow=True
    ),
    "mpc.Controller": Case(
        lambda: hc.mpc.Controller(_problem()),
        arm,
        START,
        number=("posture", START),
        keeps_state=False,
        slow_c=True,
    ),
    "mpc.Adaptive": Case(_adaptive, arm, START, number=("posture", START), keeps_state=False, exports=False),
    "AttitudeControl": _of_quad(lambda u: hc.aerial.AttitudeControl(u), number=_GAIN),
    "AltitudeControl": _of_quad(
        lambda u: hc.aerial.AltitudeControl(u), references={"height": 1.0}, number=_GAIN
    ),
    "PositionControl": _of_quad(
        lambda u: hc.aerial.PositionControl(u), references={"position": [0.0, 0.0, 1.0]}, number=_GAIN
    ),
    "GeometricControl": _of_quad(
        lambda u: hc.aerial.GeometricControl(u), references={"position": [0.0, 0.0, 1.0]}, number=_GAIN
    ),
    "LinearQuadraticControl": _of_quad(
        lambda u: hc.aerial.LinearQuadraticControl(u), references={"position": [0.0, 0.0, 1.0]}
    ),
    "Autopilot": Case(_autopilot, aircraft, *_cruise(), number=_AUTOPILOT, slow_c=True),
    "Walker": Case(_walker, dog, _stance(), slow=True, keeps_state=False),
}
