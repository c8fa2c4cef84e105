"""Link poses as C on vectors of float32, generated from the symbolic kinematics of one robot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import numpy as np

from helicoid._typing import Array, Expression
from helicoid.compiler import Program, UnsupportedOperation
from helicoid.dynamics.tree import joint_coordinates
from helicoid.model.model import WORLD, Model

NEGLIGIBLE = 1e-9  # of a rotation or m: π/2 written with 12 digits leaves terms that double the operations

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def kinematics_source(model: Model, bodies: Sequence[int]) -> str:
    """The C function `hp_kinematics(q, pose)`: rows of R then p, 12 vectors, of each of the bodies.

    Terms below `NEGLIGIBLE` are left out, which float32 could not tell from zero.

    Raises:
        UnsupportedOperation: a joint type has an operation that has no counterpart on vectors of floats.
    """
    q = ca.SX.sym("q", model.nq)
    poses = body_poses(model, q)
    wanted = [ca.vertcat(ca.vec(poses[body][0].T), poses[body][1]) for body in bodies]
    function = ca.Function("kinematics", [q], [ca.densify(ca.cse(ca.vertcat(ca.SX(0, 1), *wanted)))])
    lines = "\n".join(f"  {line}" for line in _statements(Program.from_casadi(function)))
    return f"static void hp_kinematics(const hp_v *q, hp_v *pose) {{\n  (void)q, (void)pose;\n{lines}\n}}\n"


def body_poses(model: Model, q: Expression) -> list[tuple[Expression, Expression]]:
    """R_0i and p_0i of every body, constants cleaned of what is negligible."""
    poses: list[tuple[Expression, Expression]] = []
    for body in model.bodies:
        R_j, p_j = body.joint.type.pose(joint_coordinates(body, q))
        R_0, p_0 = _cleaned(body.placement.rotation), _cleaned(body.placement.translation)
        R, p = R_0 @ R_j, p_0 + R_0 @ p_j
        if body.parent != WORLD:
            above, at = poses[body.parent]
            R, p = above @ R, at + above @ p
        poses.append((R, p))
    return poses


def _cleaned(values: Array) -> Expression:
    whole = np.rint(values)
    return ca.sparsify(ca.SX(np.where(np.abs(values - whole) < NEGLIGIBLE, whole, values)))


def _statements(program: Program) -> Iterator[str]:
    """One statement a value; the sine and the cosine of one angle are computed together."""
    angles: set[int] = set()
    names: list[str] = []
    for number, value in enumerate(program.values):
        names.append(f"v{number}")
        arguments = [names[k] for k in value.arguments]
        match value.operation:
            case "constant":
                names[-1] = (
                    f"({np.float32(value.constant)!s}f)" if value.constant % 1 else f"({value.constant}f)"
                )
            case "input":
                yield f"const hp_v v{number} = q[{value.place[1]}];"
            case "sin" | "cos" as operation:
                angle = value.arguments[0]
                if angle not in angles:
                    angles.add(angle)
                    yield f"hp_v s{angle}, c{angle};"
                    yield f"hp_sincos({_vector(arguments[0])}, &s{angle}, &c{angle});"
                names[-1] = f"{operation[0]}{angle}"
            case "neg":
                yield f"const hp_v v{number} = -{arguments[0]};"
            case "sqrt":
                yield f"const hp_v v{number} = hp_sqrt({_vector(arguments[0])});"
            case operation if operation in _BINARY:
                first = _vector(arguments[0])  # at least one operand is a vector
                yield f"const hp_v v{number} = {first} {_BINARY[operation]} {arguments[1]};"
            case operation:
                raise UnsupportedOperation(
                    f"planning has no counterpart of {operation!r} on float32 vectors, which a joint type of "
                    "this robot uses"
                )
    for element, number in enumerate(program.outputs[0]):
        yield f"pose[{element}] = {_vector(names[number])};"


def _vector(name: str) -> str:
    """An operand as a vector: a constant is spread over the lanes."""
    return f"hp_splat{name}" if name.startswith("(") else name
