"""Equations and inputs of a trajectory, from which accelerations, energies and forces follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from helicoid._typing import Array
from helicoid.errors import HelicoidError
from helicoid.robot import Robot
from helicoid.simulation.equations import acceleration

FOLLOWING = ("a", "constraint_forces", "kinetic_energy", "potential_energy")
"""Quantities that follow from states and inputs."""


@dataclass(frozen=True, eq=False)
class MotionEquations:
    """The equations of motion of a trajectory, and their inputs beside q and v.

    Attributes:
        robot: the robot that moved.
        inputs: arrays (..., N + 1 or 1, size) by the names of the inputs: tau, theta, f_ext_<link>.
        method, options: which equations, as `equations.acceleration` takes them.
        substeps: steps of the integrator between two samples.
    """

    robot: Robot
    inputs: Mapping[str, Array]
    method: str = "rk4"
    options: Mapping[str, Any] = field(default_factory=dict)
    substeps: int = 1

    @property
    def smooth(self) -> bool:
        """Whether accelerations follow from the state; with contacts they follow from impulses."""
        return self.method not in ("time_stepping", "mujoco")

    def picked(self, rollouts: int | slice) -> MotionEquations:
        """Inputs of one rollout of a batch, or of a slice of them; inputs with one row hold for all."""
        only = 0 if isinstance(rollouts, int) else slice(None)
        return self._mapped(lambda x: x[rollouts if len(x) > 1 else only])

    def held(self, rows: Any) -> MotionEquations:
        """Inputs at other times: row `rows[j]` of the inputs at time j."""
        return self._mapped(lambda x: x if x.shape[-2] == 1 else x[..., rows, :])

    def _mapped(self, change: Callable[[Array], Array]) -> MotionEquations:
        return replace(self, inputs={name: change(value) for name, value in self.inputs.items()})

    def follows(self, name: str, q: Array, v: Array) -> dict[str, Array]:
        """A quantity of `FOLLOWING` at the states (..., N + 1, n), and those computed with it."""
        lead, n, robot = q.shape[:-1], math.prod(q.shape[:-1]), self.robot
        q, v = q.reshape(n, robot.nq), v.reshape(n, robot.nv)
        inputs = {
            key: np.broadcast_to(value, (*lead, value.shape[-1])).reshape(n, value.shape[-1])
            for key, value in self.inputs.items()
        }
        theta = inputs["theta"]
        if name == "kinetic_energy":
            return {name: robot.kinetic_energy(q, v, theta).reshape(lead)}
        if name == "potential_energy":
            gravity = {key: value for key, value in self.options.items() if key == "gravity"}
            return {name: robot.potential_energy(q, theta, **gravity).reshape(lead)}
        if self.method == "mujoco":  # which has reported accelerations, and keeps constraints softly
            if robot.constraints:
                raise HelicoidError("MuJoCo's constraint forces are not recorded")
            return {name: np.zeros((*lead, 0))}
        result = acceleration(robot, self.method, **self.options)(q, v, **inputs)
        a, forces = result if isinstance(result, tuple) else (result, np.zeros((n, 0)))
        return {"a": a.reshape(*lead, robot.nv), "constraint_forces": forces.reshape(*lead, forces.shape[1])}
