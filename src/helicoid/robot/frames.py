"""Functions that belong to a frame: `robot.pose` is called with a frame and gives its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, get_args, overload

from helicoid.arrays import shown
from helicoid.dynamics.forces.external import check_movable
from helicoid.dynamics.kinematics.frames import Reference, check_reference
from helicoid.dynamics.recursions.joint_wrenches import Carried
from helicoid.dynamics.task_space.coordinates import pose_task
from helicoid.dynamics.task_space.dynamics import Rows, check_rank, twist_task
from helicoid.errors import InputError
from helicoid.model.model import Model
from helicoid.robot.function import FunctionSpec, RobotFunction
from helicoid.robot.functions.description import class_text

if TYPE_CHECKING:
    from helicoid.robot.data import RobotData

P = ParamSpec("P")
Chosen = tuple[Hashable, ...]
"""Arguments of an algorithm after its inputs."""


def several_links(what: str, links: Sequence[str]) -> tuple[str, ...]:
    """Names of links as a tuple.

    Raises:
        InputError: a single name, whose letters would be taken for names, or what is no name.

    >>> several_links("wrenches", ["tool0"])
    ('tool0',)
    """
    try:
        named: tuple[Any, ...] = () if isinstance(links, str) else tuple(links)
    except Exception:  # nothing to iterate over, such as an array of no dimensions
        named = (None,)
    if isinstance(links, str) or not all(isinstance(link, str) for link in named):
        raise InputError(f"{what} is a list of links, such as ['tool0']; got {shown(links)}")
    return named


class FrameFunction(Generic[P]):
    """The functions of a robot for each frame, such as `robot.pose`; each is created once.

    >>> import helicoid as hc
    >>> robot = hc.load("planar_2r")
    >>> robot.pose("tip")
    Function pose(q[2]) -> T[4, 4]
    >>> robot.pose("tip") is robot.pose(frame="tip")
    True
    """

    def __init__(
        self, robot: RobotData, spec: FunctionSpec, choose: Callable[Concatenate[Model, P], Chosen]
    ) -> None:
        self._robot, self._spec, self._choose = robot, spec, choose
        self._made: dict[Any, RobotFunction] = {}
        self.__name__ = spec.name
        self.__doc__ = class_text(spec, choose)
        self.__signature__ = _signature(choose)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> RobotFunction:
        """The function of a frame."""
        if not kwargs:
            try:
                return self._made[args]
            except (KeyError, TypeError, NotImplementedError):  # new, or no names
                pass
        try:
            named = self.__signature__.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InputError(f"{self._spec.name}{self.__signature__}: {error}") from None
        if not isinstance(named["frame"], str):
            call = f"robot.{self._spec.name}(frame)({', '.join(self._spec.inputs)})"
            raise InputError(
                f"{self._spec.name} is of a frame: call {call} with the name of a link, such as "
                f"{self._robot.link_names[-1]!r}; got {type(named['frame']).__name__}"
            )
        arguments = self._choose(self._robot.model, *args, **kwargs)
        function = self._robot.function(replace(self._spec, arguments=arguments))
        if not kwargs:
            with suppress(TypeError):  # such as rows as a list
                self._made[args] = function
        return function

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._robot, self._spec.name)

    def __repr__(self) -> str:
        frames = ", ".join(self._robot.link_names)
        return f"{self._spec.name}{self.__signature__} of {self._robot.name!r}; frames: {frames}"


class FrameFunctionOf(Generic[P]):
    """Functions of a robot that belong to a frame, found by attribute.

    `choose` takes the model and the user's arguments, checks them, and returns the arguments of the algorithm
    after its inputs; its parameters are those of the attribute.
    """

    def __init__(
        self,
        choose: Callable[Concatenate[Model, P], Chosen],
        algorithm: Callable[..., Any],
        signature: str,
        doc: str,
        options: tuple[str, ...] = (),
        physical: bool = True,
        columns: Callable[[Model], Sequence[str]] | None = None,
        knows: tuple[str, ...] = (),
    ) -> None:
        self.spec = FunctionSpec("", algorithm, signature, doc, options, physical, columns, knows)
        self.choose = choose

    def __set_name__(self, owner: type, name: str) -> None:
        self.spec = replace(self.spec, name=name)
        self.__doc__ = class_text(self.spec, self.choose)
        self.__signature__ = _signature(self.choose)

    @overload
    def __get__(self, robot: None, owner: type) -> FrameFunctionOf[P]: ...
    @overload
    def __get__(self, robot: RobotData, owner: type) -> FrameFunction[P]: ...
    def __get__(self, robot: RobotData | None, owner: type) -> FrameFunctionOf[P] | FrameFunction[P]:
        if robot is None:
            return self
        # Cached in the instance, where the next look-up finds it.
        found = robot.__dict__[self.spec.name] = FrameFunction(robot, self.spec, self.choose)
        return found

    def __repr__(self) -> str:
        return f"FrameFunctionOf({self.spec.name}{_signature(self.choose)}: {self.spec.signature})"


def _signature(choose: Callable[..., Chosen]) -> inspect.Signature:
    own = inspect.signature(choose)
    return own.replace(parameters=list(own.parameters.values())[1:], return_annotation="Function")


def of_frame(model: Model, frame: str) -> Chosen:
    """`frame` is the name of a link."""
    model.frame(frame)
    return (frame,)


def of_carried_frame(model: Model, frame: str) -> Chosen:
    """`frame` is the name of a link that moves; a sensor's own frame is one of `robot.with_frame`."""
    check_movable(model, frame)
    return (frame,)


def of_sensor(model: Model, frame: str, carried: Carried = "body") -> Chosen:
    """`frame` is the name of a link that moves; a sensor's own frame is one of `robot.with_frame`.

    `carried` is "body", all that the joint of the frame's body carries, or "link": the frame's link with the
    links that are fixed to it, and all beyond.
    """
    check_movable(model, frame)
    if not isinstance(carried, str) or carried not in get_args(Carried):
        raise InputError(f"carried is 'body' or 'link'; got {shown(carried)}")
    return frame, carried


def of_reference(model: Model, frame: str, reference: Reference = "world") -> Chosen:
    """`frame` is the name of a link.

    `reference` is the frame of twists (ω, v): "world" in world axes, v of the point that passes the
    world's origin; "world_aligned" in world axes, v of the frame's origin; "body" in the frame's axes, v of
    its origin.
    """
    model.frame(frame)
    check_reference(reference)
    return frame, reference


def of_task(
    model: Model, frame: str, reference: Reference = "world_aligned", rows: Rows = "all", damping: float = 0.0
) -> Chosen:
    """`frame` is the name of a link.

    J is `jacobian(frame, reference)`, or its `rows`: "all", "angular", "linear", or numbers from 0 to 5.
    With a `damping` λ above 0, Λ is (J M⁻¹ Jᵀ + λ² 1)⁻¹, which exists at singularities too.
    """
    task = twist_task(frame, reference, rows, damping)
    check_rank(model, task)
    return (task,)


def of_rows(model: Model, frame: str, reference: Reference = "world_aligned", rows: Rows = "all") -> Chosen:
    """`frame` is the name of a link.

    J is `jacobian(frame, reference)`, or its `rows`: "all", "angular", "linear", or numbers from 0 to 5, also
    where fewer velocities move the frame.
    """
    model.frame(frame)
    return (twist_task(frame, reference, rows),)


def of_force(model: Model, frame: str, reference: Reference = "world_aligned", rows: Rows = "all") -> Chosen:
    """`frame` is the name of a link.

    J is `jacobian(frame, reference)`, or its `rows`: "all", "angular", "linear", or numbers from 0 to 5.
    """
    return of_task(model, frame, reference, rows)


def of_coordinates(
    model: Model, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
) -> Chosen:
    """`frame` is the name of a link.

    `position`: "cartesian", "cylindrical" or "spherical". `orientation`: "rpy", an intrinsic Euler order
    such as "zyx", "rotation_vector", "quaternion" or "angle_axis". Either may be None, to leave it out. The
    orientation "dual_quaternion" stands for both.
    """
    model.frame(frame)
    return (pose_task(frame, orientation, position),)


def of_minimal_coordinates(
    model: Model, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
) -> Chosen:
    """`frame` is the name of a link.

    `position`: "cartesian", "cylindrical" or "spherical". `orientation`: "rpy", an intrinsic Euler order
    such as "zyx", or "rotation_vector": as many coordinates as there are freedoms. Either may be None, to
    leave it out.
    """
    model.frame(frame)
    task = pose_task(frame, orientation, position, minimal=True)
    check_rank(model, task)
    return (task,)
