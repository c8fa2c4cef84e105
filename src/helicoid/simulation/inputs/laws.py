"""A control law that is a symbolic function, and a simulation that computes it inside its compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Expressions, Function, Input, Iteration, Output
from helicoid.errors import InputError
from helicoid.robot import Robot
from helicoid.simulation.equations import step_function
from helicoid.simulation.equations.actuated import ActuatedSystem
from helicoid.simulation.inputs.forces import Forces
from helicoid.simulation.running import Advance

_KEPT = 8  # laws for which a robot remembers its compiled loop


@dataclass(frozen=True, eq=False)
class LoopLaw:
    """A law of control that a simulation computes inside its compiled loop.

    Args:
        function: of some of t, q, v, states and memory, and further inputs; its output `u`, or its first
            one, are the controls, and `memory_next` what memory is one step later.
        memory: at the start; empty where the function has none.
        rows: the further inputs by name: (N, ...), row k for the step from k·dt on, or (1, ...) for all.
    """

    function: Function
    memory: Array = field(default_factory=lambda: np.zeros(0))
    rows: Mapping[str, Array] = field(default_factory=dict)

    def check(self, system: ActuatedSystem, n_steps: int) -> None:
        """Refuse a law that does not fit the system."""
        robot, name = system.robot, self.function.name
        known: dict[str, tuple[int, ...]] = {"t": (), "q": (robot.nq,), "v": (robot.nv,)}
        known |= {"states": (len(system.states),), "memory": self.memory.shape}
        for item in self.function.inputs:
            if item.name in self.rows:
                shape = self.rows[item.name].shape
                if shape[1:] != item.shape or shape[0] not in (1, n_steps, n_steps + 1):
                    raise InputError(
                        f"controller {name!r}: rows of {item.name!r} have shape {shape}; there are {n_steps} "
                        f"steps and {item.shape} in each"
                    )
            elif item.name not in known:
                raise InputError(f"controller {name!r}: nothing says what its input {item.name!r} is")
            elif known[item.name] != item.shape:
                raise InputError(
                    f"controller {name!r}: its input {item.name} has shape {item.shape}, where "
                    f"{robot.name!r} has {known[item.name]}"
                )
        shape, wanted = self.function.outputs[self.which].shape, (len(system.controls),)
        if shape != wanted and not (shape == () and wanted == (1,)):
            raise InputError(f"controller {name!r} gives {shape} numbers for the controls {system.controls}")

    @property
    def which(self) -> int:
        """The number of the output that is u."""
        names = [item.name for item in self.function.outputs]
        return names.index("u") if "u" in names else 0


@dataclass(frozen=True, eq=False)
class SymbolicLaw:
    """τ = law(t, q, v) as a `Function` or a CasADi function states it; called with numbers, it gives numbers.

    Args:
        source: the function, whose inputs are those of `names`, some of t, q and v.
        which: the output that is the torque, where there are several.
        call: the source as it is called with NumPy vectors, or with rows of a batch.
    """

    source: Function | ca.Function
    names: tuple[str, ...]
    which: int | None
    call: Callable[..., Any]

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        values = {"t": t, "q": q, "v": v}
        result = self.call(*(values[name] for name in self.names))
        return result if self.which is None else result[self.which]

    def expression(self, t: Expression, q: Expression, v: Expression) -> Expression | None:
        """The law as SX; None where it is no expression, as a CasADi function that calls Python."""
        function = self.source.casadi if isinstance(self.source, Function) else self.source
        values = {"t": t, "q": q, "v": v}
        shaped = [ca.reshape(values[name], *function.size_in(k)) for k, name in enumerate(self.names)]
        try:
            results = function.call(shaped, True, False)  # written out
        except (RuntimeError, NotImplementedError):
            return None
        torque = ca.vec(ca.densify(results[self.which or 0]))
        return torque if isinstance(torque, ca.SX) and torque.numel() == v.numel() else None


def loop_with_law(
    robot: Robot,
    law: SymbolicLaw,
    method: str,
    options: dict[str, Any],
    states: tuple[Array, Array],
    inputs: Sequence[Array],
    forces: Forces,
    times: Array,
    substeps: int,
) -> Advance | None:
    """Steps as those of `rollouts.fixed_steps`, each of which computes its torque first: all of it in C.

    Args:
        states: q and v, each (rows, rollouts, n); the caller fills row 0.
        inputs: θ, and the wrenches that the options name, each (rows or 1, rollouts or 1, size).
        forces: whose rows of torque are filled.

    None where the law is no expression.
    """
    limit = forces.limit
    key = law.source, law.names, law.which, method, hashable(options), limit is not None, substeps > 1
    loops: dict[Any, Function | None] = robot.memo("loops with laws", dict)
    if key not in loops:
        while len(loops) >= _KEPT:  # a program may make a new law again and again
            del loops[next(iter(loops))]
        loops[key] = _law_step(robot, law, method, options, limit, substeps > 1)
    step = loops[key]
    if step is None:
        return None
    torque = np.zeros((*states[1].shape[:2], robot.nv))
    counter = [np.zeros(states[0].shape[:2])] if substeps > 1 else []
    numbers = [[[float(substeps)]]] if substeps > 1 else []
    numbers.append([[float(times[1]) / substeps if len(times) > 1 else 0.0]])
    rows = [np.ascontiguousarray(times[:, None]), *inputs, *(np.array(number) for number in numbers)]
    loop = Iteration(step, [*states, torque, *counter], [forces.disturbance, *rows], substeps)

    def advance(first: int, last: int) -> None:
        loop.run(first, last)
        # The row after a step holds the torque that acted in it.
        forces.fill(first, torque[first + 1 : last + 1], times, states[1])

    return advance


def _law_step(
    robot: Robot, law: SymbolicLaw, method: str, options: dict[str, Any], limit: Array | None, held: bool
) -> Function | None:
    """`(q, v, tau, [count], disturbance, t, theta, ..., [substeps], dt)` -> the first ones, one step later.

    `tau` is what the law gave, before motors saturate. Where a sampling time has several steps, `count` is
    the number of those done since the last one, and the law's torque is kept until they are all done.
    """
    bare = step_function(robot, method, **options)
    q_in, v_in, tau_in, *others, dt_in = bare.inputs
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", robot.nq), ca.SX.sym("v", robot.nv)
    wanted = law.expression(t, q, v)
    if wanted is None:
        return None
    count = [Input("count", ())] if held else []
    total = [Input("substeps", ())] if held else []
    states = [q_in, v_in, tau_in, *count]
    inputs = [*states, Input("disturbance", (robot.nv,)), Input("t", ()), *others, *total, dt_in]

    def expressions() -> Expressions:
        names = {item.name: ca.SX.sym(item.name, *item.shape) for item in inputs} | {"t": t, "q": q, "v": v}
        tau, following = wanted, []
        if held:
            done = names["count"]
            tau = ca.if_else(done < 0.5, wanted, names["tau"])
            following = [ca.if_else(done + 1.5 > names["substeps"], 0, done + 1)]
        given = tau if limit is None else ca.fmax(ca.fmin(tau, limit), -limit)
        forces = [names[item.name] for item in others]
        q_next, v_next = bare(q, v, given + names["disturbance"], *forces, names["dt"])
        return list(names.values()), [q_next, v_next, tau, *following]

    outputs = [Output(f"{item.name}_next", item.shape) for item in states]
    return Function(f"{method}_step_with_law", inputs, outputs, expressions)


def hashable(options: dict[str, Any]) -> tuple[Any, ...]:
    """Options as a key."""
    return tuple(
        (key, tuple(np.ravel(value).tolist()) if key == "gravity" else value)
        for key, value in sorted(options.items())
    )


def check_law(name: str, sizes: dict[str, int], outputs: Sequence[str], robot: Robot) -> None:
    """Refuse a function whose inputs are not those of a law of this robot.

    Raises:
        InputError: which input or output does not fit, and what would.
    """
    known = {"t": 1, "q": robot.nq, "v": robot.nv}
    if not set(sizes) <= set(known):
        strange = ", ".join(one for one in sizes if one not in known)
        raise InputError(
            f"controller {name!r} has the inputs {', '.join(sizes)}; a controller's are some of t, q and v, "
            f"not {strange}"
        )
    for one, size in sizes.items():
        if size != known[one]:
            raise InputError(
                f"controller {name!r}: its input {one} has {size} numbers, where robot {robot.name!r} has "
                f"{known[one]}"
            )
    if len(outputs) > 1 and "tau" not in outputs:
        raise InputError(f"controller {name!r} has the outputs {', '.join(outputs)}, and none called tau")
