"""Functions of a robot: specification, options, documentation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.compiler import Expressions, Function, Input, MatrixProgram, Output
from helicoid.dynamics.forces.external import body_wrenches, check_movable
from helicoid.dynamics.parametric import term_groups
from helicoid.dynamics.physics import Physics
from helicoid.errors import InputError
from helicoid.model.model import Model
from helicoid.robot.functions.description import class_text, function_text, parameters
from helicoid.robot.functions.options import FunctionOptions

if TYPE_CHECKING:
    from helicoid.robot.data import RobotData

Shape = tuple[int | str, ...]

_PASSED_ON = ("stabilisation", "restitution")  # options that an algorithm takes by their names
_RATES = {"q": "v", "v": "a", "a": "a_dot", "a_dot": "a_ddot", "tau": "tau_dot"}
_CONFIGURATIONS = ("q", "q0", "q1")
_SIZES = {**dict.fromkeys(_CONFIGURATIONS, "nq"), "u": "na"}
"""Names of the sizes of inputs; nv where there is none."""


@dataclass(frozen=True)
class FunctionSpec:
    """Specification of a function of any robot.

    Args:
        name: of the attribute of the robot.
        algorithm: takes the model, the physics if `physical`, the inputs, `f_ext` if that is an option and
            given, and `arguments`; returns an expression, or a tuple of several outputs.
        signature: inputs and outputs, such as "q v -> M[nv,nv] g[nv] T". Sizes are numbers or names of
            `Robot.sizes`; "rows" is the size of the task in `arguments`.
        doc: equation, meaning and units; inputs, outputs and options are listed automatically.
        options: names of options that it takes.
        physical: it depends on masses, friction or gravity, and so on theta.
        columns: names of the last axis of a regressor.
        knows: attributes of the robot that the algorithm takes by name ("constraints", "actuated").
        arguments: further arguments of the algorithm: a frame, a task.
        loops: takes the model, the physics, the inputs and the symbols of all of them, and returns the
            program with loops that computes the same, or None; see `robot.functions.loops`.
    """

    name: str
    algorithm: Callable[..., Any]
    signature: str
    doc: str = field(default="", compare=False)
    options: tuple[str, ...] = ()
    physical: bool = True
    columns: Callable[[Model], Sequence[str]] | None = None
    knows: tuple[str, ...] = ()
    arguments: tuple[Hashable, ...] = ()
    loops: Callable[..., MatrixProgram | None] | None = None

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, without theta and external wrenches."""
        return tuple(self.signature.partition("->")[0].split())

    @cached_property
    def outputs(self) -> dict[str, Shape]:
        """Names and shapes of the outputs."""
        found = re.findall(r"(\w+)(?:\[([^\]]*)\])?", self.signature.partition("->")[2])
        return {
            name: tuple(int(n) if n.isdecimal() else n for n in sizes.split(",") if n)
            for name, sizes in found
        }


class RobotFunction(Function):
    """A `Function` whose call also takes the options that `options` names.

    `with_options` gives the variant itself, to differentiate, inspect or export. Where a robot is not
    parametric, an empty `theta` may be given as if it were, so that callers need no case distinction.
    """

    def __init__(self, robot: RobotData, spec: FunctionSpec, options: FunctionOptions) -> None:
        self._robot, self._spec, self._options = robot, spec, options
        sizes = robot.sizes | ({"rows": getattr(spec.arguments[0], "size", 0)} if spec.arguments else {})
        shapes = [
            tuple(sizes[n] if isinstance(n, str) else n for n in shape) for shape in spec.outputs.values()
        ]
        if options.parameters is not None:
            shapes = [(*shape[:-1], len(options.parameters)) for shape in shapes]
        outputs = [Output(name, shape) for name, shape in zip(spec.outputs, shapes, strict=True)]
        super().__init__(spec.name, _inputs(robot, spec, options), outputs, self._expressions, self._loops)
        self._no_theta = spec.physical and "theta" not in self._input_names
        # Of the instance, since each function has its own; `help` and notebooks read it.
        self.__doc__ = function_text(self, spec)
        self.__signature__ = parameters(self, spec.options, options)

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Compute the outputs; see `Function` for the three ways of calling."""
        if self._no_theta:
            at = len(self._spec.inputs)
            if len(args) > at and _is_empty(args[at]):
                args = args[:at] + args[at + 1 :]
            if "theta" in kwargs and _is_empty(kwargs["theta"]):
                del kwargs["theta"]
        return super().__call__(*args, out=out, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._robot, self._spec, self._options)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the last axis of a regressor: the parameter that each column multiplies."""
        if self._spec.columns is None:
            raise InputError(f"{self.name} is no regressor: its columns have no names")
        known = tuple(self._spec.columns(self._robot.model))
        chosen = self._options.parameters
        return known if chosen is None else tuple(known[k] for k in self._places(chosen))

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that this function takes."""
        return self._spec.options

    def with_options(self, **options: Any) -> RobotFunction:
        """The variant with these options: `gravity`, `friction`, `smoothing`, `f_ext`, `expressed_in`.

        Here `f_ext` names links; the variant takes one more input `f_ext_<link>` (6) for each.
        """
        updated = self._options.updated(self.options, self.name, options)
        for link in updated.f_ext:
            check_movable(self._robot.model, link)
        if updated.parameters is not None:
            self._places(updated.parameters)
        return self._robot.function(self._spec, updated)

    def _variant(self, **options: Any) -> Callable[..., Any]:
        wrenches = options.get("f_ext", {})
        if not isinstance(wrenches, Mapping):
            raise InputError(f"{self.name}: f_ext maps link names to wrenches, such as {{'tool0': w}}")
        variant = self.with_options(**options)
        names = wrench_names(wrenches)
        return partial(variant, **{names[link]: wrench for link, wrench in wrenches.items()})

    def _expressions(self) -> Expressions:
        symbols = [ca.SX.sym(i.name, *i.shape) for i in self.inputs]
        by_name = dict(zip((i.name for i in self.inputs), symbols, strict=True))
        robot, spec, options = self._robot, self._spec, self._options
        operands: list[Any] = [by_name[name] for name in spec.inputs]
        if spec.physical:
            operands.insert(0, self._physics(by_name.get("theta", ca.SX(0, 1))))
        if options.f_ext:
            names = wrench_names(options.f_ext)
            acting = {link: by_name[names[link]] for link in options.f_ext}
            operands.append(body_wrenches(robot.model, by_name["q"], acting, options.expressed_in))
        known = {name: getattr(robot, name) for name in spec.knows}
        known |= {name: getattr(options, name) for name in spec.options if name in _PASSED_ON}
        result = spec.algorithm(robot.model, *operands, *spec.arguments, **known)
        if options.parameters is not None:
            places = self._places(options.parameters)
            result = result[:, places] if result.shape[1] > 1 else result[places]
        return symbols, list(result) if isinstance(result, tuple) else [result]

    def _loops(self) -> MatrixProgram | None:
        """The program with loops for compiled code, if there is one for this robot."""
        if self._spec.loops is None:
            return None
        symbols = [ca.SX.sym(i.name, *i.shape) for i in self.inputs]
        by_name = dict(zip((i.name for i in self.inputs), symbols, strict=True))
        physics = self._physics(by_name.get("theta", ca.SX(0, 1)))
        operands = [by_name[name] for name in self._spec.inputs]
        return self._spec.loops(self._robot.model, physics, *operands, symbols=symbols)

    def _places(self, names: tuple[str, ...]) -> list[int]:
        """The columns of a regressor that have these names."""
        known = tuple(self._spec.columns(self._robot.model)) if self._spec.columns else ()
        names = tuple(re.sub(r"\.mass$", ".m", name) for name in names)
        for name in names:
            if name not in known:
                near = difflib.get_close_matches(name, known, 3) or known[:3]
                raise InputError(f"{self.name} has no column {name!r}; near it: {', '.join(near)}")
        if not names or len(set(names)) < len(names):
            raise InputError(f"{self.name}: parameters names each column once; got {list(names)!r}")
        return [known.index(name) for name in names]

    def _physics(self, theta: Expression) -> Physics:
        options, own = self._options, self._robot.theta
        physics = own.selection.physics(self._robot.model, theta)
        has_friction = "friction" in self.options
        if has_friction and options.friction is None:
            # By default friction is on if its parameters are part of theta.
            options = replace(options, friction=bool({"friction", *term_groups()} & set(own.groups)))
        if has_friction and not options.friction:
            physics = physics.without_friction()
        if options.gravity is not None:
            if "gravity" in own.groups:
                raise InputError(f"{self.name}: gravity is part of theta here; it cannot be an option too")
            physics = replace(physics, gravity=ca.SX(np.array(options.gravity)))
        return replace(physics, smoothing=options.smoothing)


def _restored(robot: RobotData, spec: FunctionSpec, options: FunctionOptions) -> RobotFunction:
    """The function, after unpickling or copying."""
    return robot.function(spec, options)


class FunctionOf:
    """A function of a robot, found by attribute: `FunctionSpec` without a name, which the attribute gives."""

    def __init__(
        self,
        algorithm: Callable[..., Any],
        signature: str,
        doc: str,
        options: tuple[str, ...] = (),
        physical: bool = True,
        columns: Callable[[Model], Sequence[str]] | None = None,
        knows: tuple[str, ...] = (),
        loops: Callable[..., MatrixProgram | None] | None = None,
    ) -> None:
        self.spec = FunctionSpec(
            "", algorithm, signature, doc, options, physical, columns, knows, loops=loops
        )

    def __set_name__(self, owner: type, name: str) -> None:
        self.spec = replace(self.spec, name=name)
        self.__doc__ = class_text(self.spec)

    @overload
    def __get__(self, robot: None, owner: type) -> FunctionOf: ...
    @overload
    def __get__(self, robot: RobotData, owner: type) -> RobotFunction: ...
    def __get__(self, robot: RobotData | None, owner: type) -> FunctionOf | RobotFunction:
        if robot is None:
            return self
        function = robot.function(self.spec)
        # Cached in the instance, where the next look-up finds it.
        robot.__dict__[self.spec.name] = function
        return function

    def __repr__(self) -> str:
        return f"FunctionOf({self.spec.name}: {self.spec.signature})"


def _inputs(robot: RobotData, spec: FunctionSpec, options: FunctionOptions) -> list[Input]:
    inputs = [
        Input(
            name,
            (robot.sizes[_SIZES.get(name, "nv")],),
            tangent=robot.tangent if name in _CONFIGURATIONS else None,
            rate=_RATES.get(name),
        )
        for name in spec.inputs
    ]
    if spec.physical and len(robot.theta):
        inputs.append(Input("theta", (len(robot.theta),)))
    return inputs + [Input(name, (6,)) for name in wrench_names(options.f_ext).values()]


def _is_empty(value: Any) -> bool:
    return bool(value.numel() == 0 if isinstance(value, (ca.SX, ca.MX, ca.DM)) else np.size(value) == 0)


def wrench_names(links: Iterable[str]) -> dict[str, str]:
    """An input name for each link: distinct identifiers, even if links differ in special characters only."""
    names: dict[str, str] = {}
    for link in links:
        name = "f_ext_" + re.sub(r"[^0-9a-zA-Z_]", "_", link)
        while name in names.values():
            name += "_"
        names[link] = name
    return names
