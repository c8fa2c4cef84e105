"""A Function of a robot: the same Function, with options that choose among its variants."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler.function import Expressions, Function
from helicoid.compiler.signature import Input, Output
from helicoid.dynamics.external import body_wrenches, check_movable
from helicoid.dynamics.physics import SMOOTHING, Physics
from helicoid.errors import InputError
from helicoid.model.model import Model

if TYPE_CHECKING:
    from helicoid.robot.base import RobotBase

Shape = tuple[int | str, ...]

_PASSED_ON = ("stabilisation", "restitution")  # options that an algorithm takes by their names

RATES = {"q": "v", "v": "a", "a": "a_dot", "a_dot": "a_ddot", "tau": "tau_dot"}


@dataclass(frozen=True)
class Options:
    """What changes the expression of a function. Each combination is a Function of its own."""

    gravity: tuple[float, float, float] | None = None
    friction: bool | None = None
    smoothing: float = SMOOTHING
    f_ext: tuple[str, ...] = ()
    expressed_in: str = "body"
    stabilisation: float = 0.0
    restitution: float = 0.0

    def updated(self, allowed: Iterable[str], name: str, changes: Mapping[str, Any]) -> Options:
        """These options with some changed; refused unless the function `name` has them."""
        for option in changes:
            if option not in allowed:
                known = ", ".join(allowed) or "none"
                raise InputError(f"{name} has no option {option!r}; its options are: {known}")
        return replace(self, **{option: _checked(option, value) for option, value in changes.items()})


def _checked(option: str, value: Any) -> Any:
    if option == "gravity":
        vector = _numbers(value)
        if vector.shape != (3,) or not np.all(np.isfinite(vector)):
            raise InputError(f"gravity needs three finite numbers (m/s²), got {value!r}")
        return tuple(float(x) for x in vector)
    if option == "friction":
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"friction is True or False, got {value!r}")
        return bool(value)
    if option == "smoothing":
        width = _numbers(value)
        if width.shape != () or not 0 <= width < np.inf:
            raise InputError(f"smoothing is a velocity, 0 for the exact sign; got {value!r}")
        return float(width)
    if option == "stabilisation":
        rate = _numbers(value)
        if rate.shape != () or not 0 <= rate < np.inf:
            raise InputError(f"stabilisation is a rate (1/s), 0 for none; got {value!r}")
        return float(rate)
    if option == "restitution":
        share = _numbers(value)
        if share.shape != () or not 0 <= share <= 1:
            raise InputError(f"restitution is from 0 (sticks) to 1 (keeps its speed), got {value!r}")
        return float(share)
    if option == "expressed_in":
        if value not in ("body", "world"):
            raise InputError(f"expressed_in is 'body' or 'world', got {value!r}")
        return value
    links = (value,) if isinstance(value, str) else value
    if not isinstance(links, Iterable) or not all(isinstance(link, str) for link in links):
        raise InputError(f"f_ext names links, got {value!r}")
    return tuple(links)


def _numbers(value: Any) -> Array:
    """A float64 array, or NaN for what is no number."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, NotImplementedError):
        return np.array(np.nan)


@dataclass(frozen=True)
class Recipe:
    """How a function is made: its algorithm, the names of its inputs, its outputs and its options.

    Sizes in a shape are numbers, "nq", "nv", "3nv" or "10n" (ten for each body). A `physical` algorithm takes
    the physics after the model. Of several outputs, the algorithm returns a tuple. `columns` names the last
    axis of a regressor.
    """

    name: str
    algorithm: Callable[..., Expression]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, Shape], ...]
    physical: bool = True
    options: tuple[str, ...] = ()
    arguments: tuple[Hashable, ...] = ()
    columns: Callable[[Model], Sequence[str]] | None = None


class RobotFunction(Function):
    """A `Function` whose call also takes the options that `options` names.

    `with_options` gives the variant itself, to differentiate, inspect or export.
    """

    def __init__(self, robot: RobotBase, recipe: Recipe, options: Options) -> None:
        self._robot, self._recipe, self._options = robot, recipe, options
        inputs = _inputs(robot, recipe, options)
        sizes = {"nq": robot.nq, "nv": robot.nv, "3nv": 3 * robot.nv, "10n": 10 * robot.n_bodies}
        outputs = [
            Output(name, tuple(sizes[n] if isinstance(n, str) else n for n in shape))
            for name, shape in recipe.outputs
        ]
        super().__init__(recipe.name, inputs, outputs, self._expressions)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the last axis of a regressor: the parameter that each column multiplies."""
        if self._recipe.columns is None:
            raise InputError(f"{self.name} is no regressor: its columns have no names of their own")
        return tuple(self._recipe.columns(self._robot.model))

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that this function takes."""
        return self._recipe.options

    def with_options(self, **options: Any) -> RobotFunction:
        """The variant with these options: `gravity`, `friction`, `smoothing`, `f_ext`, `expressed_in`.

        Here `f_ext` names links; the variant takes one more input `f_ext_<link>` (6) for each.
        """
        updated = self._options.updated(self.options, self.name, options)
        for link in updated.f_ext:
            check_movable(self._robot.model, link)
        return self._robot.function(self._recipe, updated)

    def _variant(self, **options: Any) -> Callable[..., Any]:
        wrenches = options.get("f_ext", {})
        if not isinstance(wrenches, Mapping):
            raise InputError(f"{self.name}: f_ext maps link names to wrenches, such as {{'tool0': w}}")
        variant = self.with_options(**options)
        names = _wrench_names(wrenches)
        return partial(variant, **{names[link]: wrench for link, wrench in wrenches.items()})

    def _expressions(self) -> Expressions:
        symbols = [ca.SX.sym(i.name, *i.shape) for i in self.inputs]
        by_name = dict(zip((i.name for i in self.inputs), symbols, strict=True))
        model, recipe, options = self._robot.model, self._recipe, self._options
        operands: list[Any] = [by_name[name] for name in recipe.inputs]
        if recipe.physical:
            operands.insert(0, self._physics(by_name.get("theta")))
        if options.f_ext:
            names = _wrench_names(options.f_ext)
            acting = {link: by_name[names[link]] for link in options.f_ext}
            operands.append(body_wrenches(model, by_name["q"], acting, options.expressed_in))
        numbers = {key: getattr(options, key) for key in recipe.options if key in _PASSED_ON}
        result = recipe.algorithm(model, *operands, *recipe.arguments, **numbers)
        return symbols, list(result) if isinstance(result, tuple) else [result]

    def _physics(self, theta: Expression | None) -> Physics:
        options, selection = self._options, self._robot.selection
        physics = selection.physics(self._robot.model, theta)
        has_friction = "friction" in self.options
        if has_friction and options.friction is None:
            # Parameters of friction that are asked for as inputs are meant to enter.
            options = replace(options, friction="friction" in selection.groups)
        if has_friction and not options.friction:
            physics = physics.without_friction()
        if options.gravity is not None:
            if "gravity" in selection.groups:
                raise InputError(f"{self.name}: gravity is part of theta here; it cannot be an option too")
            physics = replace(physics, gravity=ca.SX(np.array(options.gravity)))
        return replace(physics, smoothing=options.smoothing)


def _inputs(robot: RobotBase, recipe: Recipe, options: Options) -> list[Input]:
    sizes = {"q": robot.nq, "q0": robot.nq, "q1": robot.nq}
    inputs = [
        Input(
            name,
            (sizes.get(name, robot.nv),),
            tangent=robot.tangent if name in sizes else None,
            rate=RATES.get(name),
        )
        for name in recipe.inputs
    ]
    if recipe.physical and robot.selection.groups:
        inputs.append(Input("theta", (len(robot.parameters),)))
    return inputs + [Input(name, (6,)) for name in _wrench_names(options.f_ext).values()]


def _wrench_names(links: Iterable[str]) -> dict[str, str]:
    """An input name for each link: identifiers, distinct even where link names differ in odd signs only."""
    names: dict[str, str] = {}
    for link in links:
        name = "f_ext_" + re.sub(r"[^0-9a-zA-Z_]", "_", link)
        while name in names.values():
            name += "_"
        names[link] = name
    return names
