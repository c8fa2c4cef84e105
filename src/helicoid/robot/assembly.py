"""Robots put together: attach, detach, rename and another base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from helicoid.dynamics import parametric
from helicoid.dynamics.constraints.equations import Closure, KinematicConstraint, UserConstraint, owners
from helicoid.errors import InputError, ModelError
from helicoid.model.connections.loops import placement
from helicoid.model.edits import assembly as edit
from helicoid.model.joint_type import JointType
from helicoid.model.model import Model
from helicoid.robot.constrained_states import ConstrainedStates
from helicoid.robot.data import RobotData

if TYPE_CHECKING:
    from helicoid.robot.robot import Robot


class Assembly(ConstrainedStates):
    """Base of `Robot` with the edits that put robots together."""

    def attach(
        self,
        other: Robot,
        to: str,
        pose: ArrayLike = (0.0, 0.0, 0.0),
        prefix: str = "",
        joint: str | JointType | None = None,
    ) -> Robot:
        """The robot with another one on its link `to`, or beside it on the "world".

        `pose` is the pose of the other's root link in the frame of `to`: a point (m) or a 4 × 4 matrix.
        `joint` connects them: None or "fixed", a kind ("prismatic", "planar", "floating" ...) with its
        default axis, or a joint type such as `helicoid.model.joints.Prismatic((0, 0, 1))`; it is called
        `<root link>_joint` and takes the place of the other's own base. `prefix` goes before all names of
        the other. Its limits, friction, springs, drives, mimic joints, loops, elastic elements, shapes and
        frames come along. Joints are in depth-first order: those attached follow the children that `to` has.

        Raises:
            ModelError: names that both have (the message proposes a prefix), no such link, or constraints of
                the other beside its loops, which are to be added after.

        >>> import helicoid as hc
        >>> arm, hand = hc.load("planar_2r"), hc.load("double_pendulum")
        >>> both = arm.attach(hand, to="tip", pose=[0, 0, 0.1], prefix="hand_")
        >>> len(both.joint_names), round(both.mass - arm.mass - hand.mass, 9)
        (4, 0.0)
        """
        added = [one.name for one in _as_robot(other, "attach").constraints.added]
        if added:
            raise ModelError(
                f"{other.name!r} has constraints beside its loops ({', '.join(added)}): attach it first, "
                "then add them"
            )
        if set(other.theta.groups) - set(self.theta.groups):
            raise ModelError(
                f"{other.name!r} is parametric: attach the plain robot, then call parametric on the result"
            )
        between = None if joint is None else edit.joint_type_of(joint, "attach")
        where = placement(pose, None, f"attach to {to!r}: its pose")
        model = edit.attach(self.model, other.model, to, where, prefix, between)
        robot = _edited(self, model)
        if self.actuators is None and other.actuators is None:
            return robot
        return robot.with_actuators(*self.motor_joints, *(prefix + name for name in other.motor_joints))

    def detach(self, link: str) -> Robot:
        """The robot without a link and all that it carries.

        >>> import helicoid as hc
        >>> arm = hc.load("planar_2r")
        >>> arm.attach(arm, to="tip", prefix="second_").detach("second_base_link").joint_names
        ['joint_1', 'joint_2']
        """
        return _edited(self, edit.detach(self.model, link))

    def rename(
        self,
        links: Mapping[str, str] | None = None,
        joints: Mapping[str, str] | None = None,
        prefix: str = "",
        name: str | None = None,
    ) -> Robot:
        """The same robot under other names: old names mapped to new ones, and a prefix for all others.

        >>> import helicoid as hc
        >>> hc.load("planar_2r").rename(joints={"joint_1": "shoulder"}, prefix="left_").joint_names
        ['shoulder', 'left_joint_2']
        """
        for what, given in (("links", links), ("joints", joints)):
            if not (given is None or isinstance(given, Mapping)):
                raise InputError(f"rename: {what} maps old names to new ones; got {given!r}")
        model = edit.renamed(self.model, links, joints, prefix, name)
        of_link = dict(zip(self.link_names, (one.name for one in model.links), strict=True))
        of_joint = dict(zip(self.joint_names, (one.name for one in model.independent_joints), strict=True))
        payload = self.theta.payload_link
        selection = parametric.select(model, self.theta.groups, of_link[payload] if payload else None)
        added = [_renamed(one, of_link, model) for one in self.constraints.added]
        kept = None if self.actuators is None else tuple(of_joint[one] for one in self.actuators)
        return _robot(model, selection, added, kept)


def with_base(robot: Robot, base: str | JointType) -> Robot:
    """The robot on another base: "fixed", "floating", or a joint that carries it from the world.

    `base` is a kind ("planar", "prismatic" ...) with its default axis, or a joint type such as
    `helicoid.model.joints.Prismatic((0, 1, 0))`. The joint is called `<kind>_base`, its parent is a new root
    link "world".

    >>> import helicoid as hc
    >>> mobile = hc.with_base(hc.load("ur5"), "planar")
    >>> mobile.joint_names[0], mobile.nv
    ('planar_base', 9)
    """
    return _edited(_as_robot(robot, "with_base"), edit.with_base(robot.model, base))


def _edited(robot: RobotData, model: Model) -> Robot:
    """The robot with a model in which its links have stayed where they were in the world."""
    selection = parametric.select(model, robot.theta.groups, robot.theta.payload_link or None)
    for one in robot.constraints.added:
        one.check(model)
    names = {joint.name for joint in model.independent_joints}
    kept = None if robot.actuators is None else tuple(name for name in robot.actuators if name in names)
    return _robot(model, selection, robot.constraints.added, kept)


def _robot(*parts: Any) -> Robot:
    from helicoid.robot.robot import Robot  # which derives from the class above

    return Robot(*parts)


def _as_robot(given: object, taker: str) -> Robot:
    from helicoid.robot.robot import as_robot

    return as_robot(given, taker)


def _renamed(one: KinematicConstraint, links: Mapping[str, str], model: Model) -> KinematicConstraint:
    """A constraint on the same robot under other names."""
    if isinstance(one, Closure):
        on = None if one.link_a is None else links[one.link_a]
        return replace(one, link_a=on, link_b=links[one.link_b])
    if isinstance(one, UserConstraint):
        return replace(one, joints=owners(model))
    return one
