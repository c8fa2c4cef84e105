"""Descriptions of a robot and of its functions: `help()`, notebooks, the reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from helicoid._typing import Array
from helicoid.pages.tables import table
from helicoid.robot.functions.options import RULES, FunctionOptions

if TYPE_CHECKING:
    from helicoid.compiler import Function
    from helicoid.robot.data import RobotData
    from helicoid.robot.function import FunctionSpec

INPUTS = {
    "q": "configuration (rad, m, unit quaternions)",
    "q0": "configuration to start from (rad, m, unit quaternions)",
    "q1": "configuration to reach (rad, m, unit quaternions)",
    "v": "velocity (rad/s, m/s)",
    "a": "acceleration (rad/s², m/s²)",
    "a_dot": "rate of the acceleration (rad/s³, m/s³)",
    "a_ddot": "second rate of the acceleration (rad/s⁴, m/s⁴)",
    "tau": "generalised force (N·m, N)",
    "dv": "tangent vector (rad, m)",
    "v_r": "reference velocity (rad/s, m/s)",
    "a_r": "reference acceleration (rad/s², m/s²)",
    "theta": "the parameters that `robot.theta` names",
}
_SIZES = {"q": "nq", "q0": "nq", "q1": "nq"}


def class_text(spec: FunctionSpec, choose: Callable[..., Any] | None = None) -> str:
    """The documentation of a function of any robot, with sizes by name.

    Of a function that belongs to a frame, the parameters and the text of `choose` describe its arguments.
    """
    inputs = {name: _SIZES.get(name, "nv") for name in spec.inputs}
    if spec.physical:
        inputs["theta"] = "only of a parametric robot"
    outputs = {name: ", ".join(map(str, shape)) for name, shape in spec.outputs.items()}
    name, doc = spec.name, inspect.cleandoc(spec.doc)
    if choose is not None:
        name += f"({', '.join(list(inspect.signature(choose).parameters)[1:])})"
        doc += "\n\n" + inspect.cleandoc(choose.__doc__ or "")
    call = f"{name}({', '.join(spec.inputs)}) -> {', '.join(spec.outputs)}"
    return _text(call, doc, inputs, outputs, spec.options)


def function_text(function: Function, spec: FunctionSpec) -> str:
    """The documentation of the function of one robot, with its sizes."""
    inputs, outputs = (
        {item.name: ", ".join(map(str, item.shape)) for item in items}
        for items in (function.inputs, function.outputs)
    )
    of = f"({', '.join(map(repr, spec.arguments))})" if spec.arguments else ""
    call = f"{spec.name}{of}({', '.join(inputs)}) -> {', '.join(outputs)}"
    return _text(call, inspect.cleandoc(spec.doc), inputs, outputs, spec.options)


def parameters(function: Function, allowed: Iterable[str], options: FunctionOptions) -> inspect.Signature:
    """Signature: inputs, and by keyword `out` and the options with their present values."""
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(item.name, either) for item in function.inputs]
    own += [inspect.Parameter("out", keyword, default=None)]
    own += [inspect.Parameter(name, keyword, default=getattr(options, name)) for name in allowed]
    return inspect.Signature(own, return_annotation=", ".join(item.name for item in function.outputs))


def _text(
    call: str, doc: str, inputs: Mapping[str, str], outputs: Mapping[str, str], options: Iterable[str]
) -> str:
    """Plain text that Markdown shows as it stands."""
    lines = [f"`{call}`", "", doc, "", "Inputs, as vectors or batches (N, n):", ""]
    lines += [f"- `{name}` ({size}): {_input(name)}" for name, size in inputs.items()]
    lines += ["", "Returns:", ""]
    lines += [f"- `{name}` ({size})" if size else f"- `{name}`, a number" for name, size in outputs.items()]
    allowed = {name: RULES[name].meaning for name in options}
    if allowed:
        lines += ["", "Options, by keyword:", "", *(f"- `{name}`: {text}" for name, text in allowed.items())]
    return "\n".join(lines)


def _input(name: str) -> str:
    return INPUTS.get(name, "wrench (n, f) on the link (N·m, N)")


def to_html(robot: RobotData) -> str:
    """The robot in a line, and its joints in a table: indices in q and v, and limits."""
    names = ("joint", "type", "q", "v", "range", "velocity", "effort")
    rows = []
    for joint in robot.model.independent_joints:
        q, v = robot.index(joint.name)
        limits = joint.range
        cells = [
            joint.name,
            joint.type.kind,
            _places(q),
            _places(v),
            f"{_numbers(limits.lower)} … {_numbers(limits.upper)}",
            _numbers(limits.velocity),
            _numbers(limits.effort),
        ]
        rows.append(cells)
    return table(f"{robot!r}, {robot.mass:.4g} kg move", names, rows)


def _places(part: slice) -> str:
    return str(part.start) if part.stop == part.start + 1 else f"{part.start}:{part.stop}"


def _numbers(values: Array) -> str:
    """The value, or those that differ; nothing where there is no limit."""
    if not np.any(np.isfinite(values)):
        return "∞" if np.all(values > 0) else "-∞"
    same = np.unique(values)
    return ", ".join(f"{x:.4g}" for x in (same if len(same) == 1 else values))
