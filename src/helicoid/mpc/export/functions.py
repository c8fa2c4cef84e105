"""The functions of a problem's nodes as C99, for a controller in another program."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import casadi as ca

from helicoid._typing import Expression
from helicoid.compiler import Function, export_library
from helicoid.mpc.solver.nodes.stage import Stages


def export_c(stages: Stages, folder: str | os.PathLike[str]) -> list[Path]:
    """Write `stage` and `end`, a node on the path and the last one; see `Problem.export_c`."""
    plain = replace(stages, lanes=1)  # without padding
    system = plain.system
    nz, nx = plain.nzp, plain.nxp
    following = ca.SX.sym("x_next", system.x.numel())
    inputs = {"x": system.x, "u": system.u, "x_next": following, "p": plain.parameter_symbol}
    inputs |= {"theta": system.theta, "h": system.h}
    functions = {}
    for name, function in (("stage", plain.stage()), ("end", plain.end())):
        used = {k: v for k, v in inputs.items() if name == "stage" or k in ("x", "p", "theta")}
        # The disturbance is estimated in a controller only.
        none = ca.SX.zeros(system.disturbance.numel())
        given = [ca.vertcat(v, none) if k == "theta" else v for k, v in used.items()]
        values = list(function.call(given))
        outputs: dict[str, Expression] = {"cost": values[0], "gradient": values[1]}
        if name == "stage":
            outputs["gap"] = values.pop(2)
        rows = plain.path_rows if name == "stage" else plain.end_rows
        general = sum(row.box is None for row in rows)
        if rows:
            outputs["rows"] = values[2][: len(rows)]
        outputs["hessian"] = ca.reshape(values[3], nz, nz)
        if general:
            outputs["jacobian"] = ca.reshape(values[4], nz, values[4].numel() // nz).T[:general, :]
        if name == "stage":
            dynamics = plain.system.resolve([system.differentiate(plain.gap(following))])[0]
            (dynamics,) = ca.substitute([dynamics], [system.disturbance], [none])
            outputs["dynamics"] = ca.densify(dynamics) if nx else dynamics
        named = {k: v for k, v in used.items() if v.numel()}
        functions[name] = Function.from_expressions(name, named, outputs)
    return export_library("problem", functions, folder)
