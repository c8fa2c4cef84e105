"""What every part of a robot's class builds on: a model, and functions made of it when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler.function import Function
from helicoid.dynamics import parametric
from helicoid.dynamics.constraints.equations import Constraint
from helicoid.dynamics.tree import rate_matrix
from helicoid.errors import InputError
from helicoid.model.model import Model
from helicoid.robot.function import Options, Recipe, RobotFunction, Shape


class RobotBase:
    """A model, which of its parameters are inputs, what holds it back, and the functions made so far.

    `added` are constraints beside the loops of the model; `actuators` the joints that have one, None for all
    that can.
    """

    def __init__(
        self,
        model: Model,
        selection: parametric.Selection | None = None,
        added: Sequence[Constraint] = (),
        actuators: tuple[str, ...] | None = None,
    ) -> None:
        self.model = model
        self.selection = selection or parametric.Selection()
        self.added = tuple(added)
        self.actuators = actuators
        self._functions: dict[tuple[Recipe, Options], RobotFunction] = {}

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies; what is fixed together is one body."""
        return len(self.model.bodies)

    @property
    def parameters(self) -> parametric.Parameters:
        """Names and values: of θ for a parametric robot, else the inertial ones, 10 per moving body."""
        if self.selection.groups:
            return self.selection.parameters(self.model)
        return parametric.inertial_parameters(self.model)

    def function(self, recipe: Recipe, options: Options) -> RobotFunction:
        """The Function of a recipe with options; made once."""
        key = (recipe, options)
        if key not in self._functions:
            self._functions.setdefault(key, RobotFunction(self, recipe, options))
        return self._functions[key]

    def compile(self, *functions: str, batch: bool = False) -> None:
        """Compile functions ahead of time, several at once: `robot.compile("inverse_dynamics", "gravity")`.

        With `batch`, the code for batches too.
        """
        chosen = [self._named(name) for name in functions]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda function: function.compile(batch), chosen))

    def _named(self, name: str) -> Function:
        made = [key for key, value in members(type(self)).items() if isinstance(value, Made)]
        if name not in made:
            raise InputError(f"a robot has no function {name!r}; there are: {', '.join(made)}")
        function: Function = getattr(self, name)
        return function

    @cached_property
    def tangent(self) -> ca.Function | None:
        """q -> Γ(q) of q̇ = Γ v, or None where v is q̇."""
        if self.nq == self.nv:
            return None
        q = ca.SX.sym("q", self.nq)
        return ca.Function("tangent", [q], [ca.densify(rate_matrix(self.model, q))])


class Made:
    """A function made of an algorithm, found by attribute."""

    def __init__(
        self,
        algorithm: Callable[..., Expression],
        inputs: str,
        outputs: Mapping[str, Shape],
        options: tuple[str, ...] = (),
        physical: bool = True,
        columns: Callable[[Model], Sequence[str]] | None = None,
    ) -> None:
        names = tuple(inputs.split())
        self._recipe = Recipe(
            "", algorithm, names, tuple(outputs.items()), physical, options, columns=columns
        )

    def __set_name__(self, owner: type, name: str) -> None:
        self._recipe = replace(self._recipe, name=name)

    def __get__(self, robot: RobotBase | None, owner: type) -> Any:
        if robot is None:
            return self
        function = robot.function(self._recipe, Options())
        # The next look-up finds it in the instance and does not come here.
        robot.__dict__[self._recipe.name] = function
        return function


def members(cls: type) -> dict[str, Any]:
    """The attributes of a class and its bases, as they are defined and not as an instance shows them."""
    return {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
