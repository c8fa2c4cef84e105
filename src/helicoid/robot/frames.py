"""The functions of a robot that belong to a frame: where it is, how it moves, and dynamics in task space."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from helicoid._typing import Expression
from helicoid.compiler.function import Function
from helicoid.dynamics import kinematics
from helicoid.dynamics.kinematics import Reference
from helicoid.dynamics.task_space import coordinates as task_coordinates
from helicoid.dynamics.task_space import dynamics as task_space
from helicoid.dynamics.task_space.coordinates import PoseTask, pose_task
from helicoid.dynamics.task_space.dynamics import Rows, TwistTask, check_rank, twist_task
from helicoid.robot.base import RobotBase
from helicoid.robot.function import Options, Recipe, Shape


class FrameFunctions(RobotBase):
    """Methods that give the function of a frame."""

    def pose(self, frame: str) -> Function:
        """`(q) -> T`: the frame of a link seen from the world, 4 × 4."""
        return self._kinematic("pose", kinematics.pose, "q", "T", (4, 4), frame)

    def jacobian(self, frame: str, reference: Reference = "world") -> Function:
        """`(q) -> J`, 6 × nv, with twist (ω, v) = J v in the reference `world`, `world_aligned` or `body`."""
        return self._kinematic("jacobian", kinematics.jacobian, "q", "J", (6, "nv"), frame, reference)

    def jacobian_dot(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> J̇`, 6 × nv."""
        return self._kinematic(
            "jacobian_dot", kinematics.jacobian_dot, "q v", "J_dot", (6, "nv"), frame, reference
        )

    def velocity(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> twist` (ω, v) of a link's frame, 6."""
        return self._kinematic("velocity", kinematics.velocity, "q v", "twist", (6,), frame, reference)

    def acceleration(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v, a) -> twist_dot`: rate of the twist's components, 6."""
        return self._kinematic(
            "acceleration", kinematics.acceleration, "q v a", "twist_dot", (6,), frame, reference
        )

    # Task space ---------------------------------------------------------------------------------------

    def jacobian_dot_times_velocity(self, frame: str, reference: Reference = "world") -> Function:
        """`(q, v) -> J̇ v`, 6: the rate of the twist when no joint accelerates."""
        return self._kinematic(
            "jacobian_dot_times_velocity",
            task_space.jacobian_dot_times_velocity,
            "q v",
            "J_dot_v",
            (6,),
            frame,
            reference,
        )

    def task_inertia(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> Λ = (J M⁻¹ Jᵀ)⁻¹`: the inertia that a frame feels.

        J is `jacobian(frame, reference)`, or its `rows`: "all", "angular", "linear", or numbers from 0 to 5.
        With a damping λ > 0 it is (J M⁻¹ Jᵀ + λ² 1)⁻¹, which exists at singularities too.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> robot.task_inertia("tip", rows=(3, 5))([0.0, 1.0]).shape
        (2, 2)
        """
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_inertia", task_space.task_inertia, "q", {"Lambda": (task.size, task.size)}, task
        )

    def task_coriolis(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q, v) -> μ` of F = Λ ẍ + μ + p; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task("task_coriolis", task_space.task_coriolis, "q v", {"mu": (task.size,)}, task)

    def task_gravity(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> p` of F = Λ ẍ + μ + p; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_gravity", task_space.task_gravity, "q", {"p": (task.size,)}, task, ("gravity",)
        )

    def task_dynamics(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q, v) -> Λ, μ, p` of F = Λ ẍ + μ + p, cheaper than one by one; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "task_dynamics", task_space.task_dynamics, "q v", _task_outputs(task.size), task, ("gravity",)
        )

    def dynamically_consistent_inverse(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> J̄ = M⁻¹ Jᵀ Λ`, nv × rows, with J J̄ = 1; arguments as in `task_inertia`."""
        task = self._twist_task(frame, reference, rows, damping)
        outputs: dict[str, Shape] = {"J_bar": ("nv", task.size)}
        return self._task(
            "dynamically_consistent_inverse", task_space.dynamically_consistent_inverse, "q", outputs, task
        )

    def null_space_projector(
        self,
        frame: str,
        reference: Reference = "world_aligned",
        rows: Rows = "all",
        damping: float = 0.0,
    ) -> Function:
        """`(q) -> N = 1 - J̄ J`, nv × nv: J N = 0, and Nᵀ τ moves nothing of the task."""
        task = self._twist_task(frame, reference, rows, damping)
        return self._task(
            "null_space_projector", task_space.null_space_projector, "q", {"N": ("nv", "nv")}, task
        )

    def task_coordinates(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q) -> χ`: a frame's position, then its orientation, seen from the world.

        `position`: "cartesian", "cylindrical" or "spherical". `orientation`: "rpy", an intrinsic Euler order
        such as "zyx", "rotation_vector", "quaternion" or "angle_axis". Either may be None, to leave it out.
        The orientation "dual_quaternion" stands for both.

        >>> import helicoid as hc
        >>> robot = hc.load("planar_2r")
        >>> print(robot.task_coordinates("tip", orientation=None, position="spherical")([0.0, 0.0]))
        [1.8 0. 1.5708]
        """
        task = self._pose_task(frame, orientation, position)
        return self._task(
            "task_coordinates",
            task_coordinates.task_coordinates,
            "q",
            {"chi": (task.size,)},
            task,
            physical=False,
        )

    def analytic_jacobian(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q) -> J_A`, with χ̇ = J_A v; arguments as in `task_coordinates`."""
        task = self._pose_task(frame, orientation, position)
        outputs: dict[str, Shape] = {"J_A": (task.size, "nv")}
        return self._task(
            "analytic_jacobian", task_coordinates.analytic_jacobian, "q", outputs, task, physical=False
        )

    def analytic_task_dynamics(
        self, frame: str, orientation: str | None = "rpy", position: str | None = "cartesian"
    ) -> Function:
        """`(q, v) -> Λ, μ, p` of F = Λ χ̈ + μ + p with τ = J_Aᵀ F, in minimal coordinates χ of the frame."""
        task = self._pose_task(frame, orientation, position, minimal=True)
        check_rank(self.model, task)
        return self._task(
            "analytic_task_dynamics",
            task_space.task_dynamics,
            "q v",
            _task_outputs(task.size),
            task,
            ("gravity",),
        )

    def _twist_task(self, frame: str, reference: Reference, rows: Rows, damping: float) -> TwistTask:
        task = twist_task(frame, reference, rows, damping)
        check_rank(self.model, task)
        return task

    def _pose_task(
        self, frame: str, orientation: str | None, position: str | None, minimal: bool = False
    ) -> PoseTask:
        self.model.frame(frame)
        return pose_task(frame, orientation, position, minimal)

    def _task(
        self,
        name: str,
        algorithm: Callable[..., Expression],
        inputs: str,
        outputs: Mapping[str, Shape],
        task: TwistTask | PoseTask,
        options: tuple[str, ...] = (),
        physical: bool = True,
    ) -> Function:
        names, named = tuple(inputs.split()), tuple(outputs.items())
        recipe = Recipe(name, algorithm, names, named, physical, options, (task,))
        return self.function(recipe, Options())

    def _kinematic(
        self,
        name: str,
        algorithm: Callable[..., Expression],
        inputs: str,
        output: str,
        shape: Shape,
        *arguments: str,
    ) -> Function:
        self.model.frame(arguments[0])
        kinematics.check_reference(*arguments[1:])
        names = tuple(inputs.split())
        recipe = Recipe(name, algorithm, names, ((output, shape),), physical=False, arguments=arguments)
        return self.function(recipe, Options())


def _task_outputs(size: int) -> dict[str, Shape]:
    return {"Lambda": (size, size), "mu": (size,), "p": (size,)}
