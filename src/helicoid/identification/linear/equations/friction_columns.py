"""The columns of friction terms over many samples: the table of `dynamics.friction`, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import casadi as ca

from helicoid.compiler import Function, Input, Output
from helicoid.dynamics.friction import TERMS, JointState, Selection


def linear_terms(selection: Selection | None = None) -> tuple[str, ...]:
    """Friction terms that are linear in their unknown; those of one rule of selection, where it is given."""
    rows = (term for term in TERMS.values() if not term.shapes)
    return tuple(term.name for term in rows if selection in (None, term.selection))


def nonnegative_groups() -> tuple[str, ...]:
    """Groups of unknowns that cannot be negative."""
    return ("armature", "elastic", *(term.name for term in TERMS.values() if term.nonnegative))


def velocity_curves() -> tuple[str, ...]:
    """Terms that are functions of velocity alone: they extrapolate to other speeds."""
    return tuple(name for name, term in TERMS.items() if term.is_velocity_curve)


def suffix(group: str) -> str:
    """End of the names of a group's unknowns, as in `joint_1.damping`."""
    return TERMS[group].suffix if group in TERMS else group


@cache
def friction_columns(terms: Sequence[str]) -> Function:
    """`(q, v, load, epsilon[, shape]) -> columns (terms)[, slopes (terms, shapes)]` of one joint.

    Shapes are those of all terms, in order: logarithms of widths, and signed ones as they are.
    """
    q, v, load, epsilon = (ca.SX.sym(name) for name in ("q", "v", "load", "epsilon"))
    names = shape_names(terms)
    s = ca.SX.sym("shape", len(names))
    values = {name: s[k] if signed(name, terms) else ca.exp(s[k]) for k, name in enumerate(names)}
    # Where ε = 0 the way is sign(v): there tanh(v / ε) of a tiny ε is that.
    way = ca.tanh(v / ca.fmax(epsilon, 1e-300))
    columns = [
        TERMS[term].column(JointState(q, v, way, load, [values[name] for name in TERMS[term].shapes]))
        for term in terms
    ]
    stacked = ca.SX(ca.densify(ca.vertcat(*columns)))
    scalars = {"q": q, "v": v, "load": load, "epsilon": epsilon}
    inputs: list[tuple[Input, ca.SX]] = [(Input(name, ()), symbol) for name, symbol in scalars.items()]
    outputs: list[tuple[Output, ca.SX]] = [(Output("columns", (len(terms),)), stacked)]
    if names:
        inputs.append((Input("shape", (len(names),)), s))
        slopes = ca.densify(ca.jacobian(stacked, s))
        outputs.append((Output("slopes", (len(terms), len(names))), slopes))
    return Function.from_expressions("friction_columns", inputs, outputs)


def shape_names(terms: Sequence[str]) -> tuple[str, ...]:
    """The shapes of terms, in order."""
    return tuple(name for term in terms for name in TERMS[term].shapes)


def signed(shape: str, terms: Sequence[str]) -> bool:
    """Whether a shape is not a width."""
    return any(shape in TERMS[term].signed for term in terms)
