"""Constraint equations: φ(q) = 0 (holonomic) or A(q) v = 0 (Pfaffian), and their derivatives.

Each constraint states rows of φ(q) and of A(q), with φ̇ = A v. A Pfaffian one has no φ: its rows there are
zero. Loops and contacts hold a frame b to a frame a. With d the position of b and R its rotation, both seen
from a, and ω, ḋ the velocity of b against a in the axes of a, their rows are

- position: φ = d, φ̇ = ḋ;
- axis: φ = (-R_yz, R_xz), which for small angles are those about x and y; φ̇ from Ṙ = ω̃ R;
- rotation: φ = 2 sin(θ/2) n of the rotation by θ about n, φ̇ = cos(θ/2) ω + ½ ω × φ.

Only the joints between the two frames enter, not those that move both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.tree import Pose, along_motion, joint_motion, rate_matrix
from helicoid.errors import ModelError
from helicoid.model.connections.loops import KinematicLoop
from helicoid.model.model import WORLD, Frame, Model
from helicoid.model.parts import Placement


class KinematicConstraint(Protocol):
    """Interface of a kinematic constraint."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def bouncing(self) -> tuple[bool, ...]:
        """Mask of the rows with restitution at an impact."""

    def equations(self, model: Model, q: Expression) -> Equations:
        """φ(q), rows, and A(q), rows × nv."""

    def check(self, model: Model) -> None:
        """Raise ModelError unless it applies to this model."""


class Equations(NamedTuple):
    """φ and A of φ(q) = 0 and A(q) v = 0."""

    position: Expression
    jacobian: Expression


Constraints = Sequence[KinematicConstraint]


def equations(model: Model, q: Expression, constraints: Constraints) -> Equations:
    """φ(q) and A(q) of all constraints, one below the other."""
    parts = [constraint.equations(model, q) for constraint in constraints]
    return Equations(
        ca.vertcat(ca.SX.zeros(0, 1), *(part.position for part in parts)),
        ca.vertcat(ca.SX.zeros(0, model.nv), *(part.jacobian for part in parts)),
    )


def constraint_position(model: Model, q: Expression, *, constraints: Constraints) -> Expression:
    """φ(q), k (m, rad): zero where the constraints hold, and in Pfaffian rows."""
    return equations(model, q, constraints).position


def constraint_jacobian(model: Model, q: Expression, *, constraints: Constraints) -> Expression:
    """A(q), k × nv, with φ̇ = A v."""
    return equations(model, q, constraints).jacobian


def constraint_bias(model: Model, q: Expression, v: Expression, *, constraints: Constraints) -> Expression:
    """Ȧ v, k: the constraints require A a = -Ȧ v."""
    # One directional derivative of the vector A v, and not Ȧ times v: fewer operations.
    return along_motion(model, constraint_jacobian(model, q, constraints=constraints) @ v, q, v)


# Closures of two frames -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Closure:
    """Frame b on a link held to frame a on another, or in the world where `link_a` is None.

    `parts` are "position" (3 rows), "normal" (its z alone), "touch" (3, but of the position only z counts),
    "axis" (2) and "rotation" (3).
    """

    name: str
    kind: str
    link_a: str | None
    link_b: str
    placement_a: Placement
    placement_b: Placement
    parts: tuple[str, ...]
    bouncing: tuple[bool, ...]

    @property
    def rows(self) -> int:
        """Number of equations."""
        return len(self.bouncing)

    def check(self, model: Model) -> None:
        """Refuse links that do not exist or do not move against each other."""
        a, b = self._frames(model)
        if a.body == b.body:
            other = "the world" if self.link_a is None else f"{self.link_a!r}"
            raise ModelError(f"{self.name!r}: link {self.link_b!r} does not move against {other}")

    def _frames(self, model: Model) -> tuple[Frame, Frame]:
        a = Frame(WORLD, Placement()) if self.link_a is None else model.frame(self.link_a)
        b = model.frame(self.link_b)
        return Frame(a.body, a.placement @ self.placement_a), Frame(b.body, b.placement @ self.placement_b)

    def equations(self, model: Model, q: Expression) -> Equations:
        """φ and A of the parts, one below the other."""
        d, R, d_dot, ω = relative_motion(model, q, *self._frames(model))
        rows = []
        for part in self.parts:
            if part == "position":
                rows.append(Equations(d, d_dot))
            elif part == "normal":
                rows.append(Equations(d[2], d_dot[2, :]))
            elif part == "touch":
                rows.append(Equations(ca.vertcat(0, 0, d[2]), d_dot))
            elif part == "axis":
                rows.append(_axis(R, ω))
            else:
                rows.append(_rotation(R, ω))
        return Equations(*(ca.vertcat(*column) for column in zip(*rows, strict=True)))


def closure(loop: KinematicLoop) -> Closure:
    """Constraint of a kinematic loop of the model."""
    parts = {"point": ("position",), "line": ("position", "axis"), "pose": ("position", "rotation")}
    ends = loop.link_a, loop.link_b, loop.placement_a, loop.placement_b
    return Closure(loop.name, loop.kind, *ends, parts[loop.kind], (False,) * loop.rows)


def _axis(R: Expression, ω: Expression) -> Equations:
    x, y, z = R[0, 2], R[1, 2], R[2, 2]
    # ż = ω × z, of which -ẏ and ẋ
    return Equations(ca.vertcat(-y, x), ca.vertcat(z * ω[0, :] - x * ω[2, :], z * ω[1, :] - y * ω[2, :]))


def _rotation(R: Expression, ω: Expression) -> Equations:
    # 2 cos(θ/2); at half a turn the floor leaves φ finite, where it would be 0/0.
    w = ca.sqrt(ca.fmax(1 + ca.trace(R), 1e-24))
    φ = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]) / w
    return Equations(φ, (w * ω - ca.skew(φ) @ ω) / 2)


def relative_motion(model: Model, q: Expression, a: Frame, b: Frame) -> tuple[Expression, ...]:
    """d, R of frame b seen from a, and the 3 × nv matrices of ḋ and ω, in the axes of a."""
    above = [_ancestors(model, frame.body) for frame in (a, b)]
    common = next((body for body in above[0] if body in above[1]), WORLD)
    (R_a, p_a), ω_a, v_a = _moving_frame(model, q, a, common)
    (R_b, p_b), ω_b, v_b = _moving_frame(model, q, b, common)
    d, R = R_a.T @ (p_b - p_a), R_a.T @ R_b
    ω_carried = R_a.T @ ω_a
    d_dot = R_a.T @ (v_b - v_a) + ca.skew(d) @ ω_carried
    return d, R, d_dot, R_a.T @ ω_b - ω_carried


def _ancestors(model: Model, body: int) -> list[int]:
    """A body and those that carry it, up to the root."""
    found = []
    while body != WORLD:
        found.append(body)
        body = model.bodies[body].parent
    return found


def _moving_frame(
    model: Model, q: Expression, frame: Frame, base: int
) -> tuple[Pose, Expression, Expression]:
    """Pose of a frame seen from the body `base` that carries it, and the Jacobians of ω and of its origin."""
    path, body = [], frame.body
    while body != base:
        path.append(model.bodies[body])
        body = path[-1].parent
    R, p = ca.SX.eye(3), ca.SX.zeros(3)
    poses = []
    for one in reversed(path):
        motion = joint_motion(one, q)
        R, p = R @ motion.R, p + R @ motion.p
        poses.append((one, R, p, motion.S))
    p = p + R @ ca.SX(frame.placement.translation)
    R = R @ ca.SX(frame.placement.rotation)
    ω, v = ca.SX(3, model.nv), ca.SX(3, model.nv)
    for one, R_i, p_i, S in poses:
        for k in range(S.shape[1]):
            column = one.v.start + k
            angular = one.multiplier * (R_i @ S[:3, k])
            ω[:, column] += angular
            v[:, column] += one.multiplier * (R_i @ S[3:, k]) + ca.cross(angular, p - p_i)
    return (R, p), ω, v


# User-defined constraints -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UserConstraint:
    """φ(q) = 0 ("holonomic") or A(q) v = 0 ("pfaffian") by an expression, kept as a CasADi function of q.

    It is written in the coordinates of the joints `joints`, and of no other robot.
    """

    name: str
    kind: str
    function: ca.Function
    rows: int
    joints: tuple[str, ...]

    @property
    def bouncing(self) -> tuple[bool, ...]:
        """The rows with restitution at an impact: holonomic ones, not Pfaffian ones."""
        return (self.kind == "holonomic",) * self.rows

    def check(self, model: Model) -> None:
        """Refuse a robot with other coordinates."""
        if owners(model) != self.joints:
            raise ModelError(
                f"constraint {self.name!r} is written in the coordinates of the joints "
                f"{', '.join(self.joints)}; make this edit first and constrain the robot after it"
            )

    def equations(self, model: Model, q: Expression) -> Equations:
        """φ and A, or zeros and A."""
        value = self.function(q)
        if self.kind == "pfaffian":
            return Equations(ca.SX(self.rows, 1), value)
        return Equations(value, ca.jacobian(value, q) @ rate_matrix(model, q))


def owners(model: Model) -> tuple[str, ...]:
    """Joints with coordinates of their own, each with its type: models with equal tuples have the same q."""
    return tuple(f"{joint.name} ({joint.type.kind})" for joint in model.independent_joints)


def user_constraint(model: Model, kind: str, written: object, name: str) -> UserConstraint:
    """Constraint defined by a Python function of a symbol q, checked."""
    if not callable(written):
        raise ModelError(f"constraint {name!r}: {kind} takes a function of q, such as lambda q: q[0] - q[1]")
    q = ca.SX.sym("q", model.nq)
    try:
        value = written(q)
    except (RuntimeError, IndexError) as error:  # CasADi's, such as an index beyond the last coordinate
        raise ModelError(
            f"constraint {name!r}: {kind} cannot be computed from q, which has nq = {model.nq} entries "
            f"({', '.join(model.coordinate_names)}): {str(error).strip().splitlines()[-1]}"
        ) from error
    try:
        value = value if isinstance(value, ca.SX) else ca.vertcat(*(ca.SX(part) for part in value))
    except (TypeError, NotImplementedError) as error:
        raise ModelError(f"constraint {name!r}: no expression of q: {value!r}") from error
    expected = (value.shape[0], 1 if kind == "holonomic" else model.nv)
    if kind == "pfaffian" and value.shape == (model.nv, 1) and model.nv > 1:
        value, expected = value.T, (1, model.nv)
    if value.shape != expected or 0 in expected:
        shape = "a column φ(q)" if kind == "holonomic" else f"rows of nv = {model.nv} entries A(q)"
        raise ModelError(f"constraint {name!r}: {kind} needs {shape}, got shape {value.shape}")
    for k in range(value.shape[0]):
        still = value[k, :].is_zero() if kind == "pfaffian" else not ca.depends_on(value[k], q)
        if still:
            raise ModelError(
                f"constraint {name!r}: row {k} has no effect, as it does not depend on the motion"
            )
    others = [symbol.name() for symbol in ca.symvar(value) if not ca.depends_on(q, symbol)]
    if others:
        raise ModelError(f"constraint {name!r} depends on {', '.join(others)}; it may depend on q alone")
    function = ca.Function("constraint", [q], [ca.densify(value)])
    return UserConstraint(name, kind, function, value.shape[0], owners(model))
