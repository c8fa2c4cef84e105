"""Couplings of joints or tendons as constraints: φ = y - y₀ - Σ c_k (x - x₀)^k, one row each."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from helicoid._typing import Expression
from helicoid.dynamics.constraints.equations import Equations
from helicoid.dynamics.kinematics.tendons import tendon_state
from helicoid.dynamics.tree import joint_coordinates, rate_matrix
from helicoid.model.connections.couplings import Coupling, check_coupling
from helicoid.model.model import Model


@dataclass(frozen=True, eq=False)
class CouplingConstraint:
    """The constraint of a coupling of the model."""

    coupling: Coupling

    @property
    def name(self) -> str:
        """The name of the coupling."""
        return self.coupling.name

    kind = "coupling"
    rows = 1
    bouncing = (False,)

    def check(self, model: Model) -> None:
        """Refuse joints that do not exist or have several coordinates."""
        check_coupling(model, self.coupling)

    def equations(self, model: Model, q: Expression) -> Equations:
        """φ and A."""
        one = self.coupling
        y, *x = _tendons(model, q, one) if one.between == "tendons" else _joints(model, q, one)
        δ = x[0] - one.reference[1] if x else ca.SX(0)
        target = ca.SX(0)
        for c in one.coefficients[::-1]:  # Horner's scheme
            target = target * δ + float(c)
        φ = y - one.reference[0] - target
        return Equations(φ, ca.jacobian(φ, q) @ rate_matrix(model, q))


def _joints(model: Model, q: Expression, coupling: Coupling) -> list[Expression]:
    bodies = {body.joint.name: body for body in model.bodies}
    return [joint_coordinates(bodies[name], q) for name in coupling.ends]


def _tendons(model: Model, q: Expression, coupling: Coupling) -> list[Expression]:
    tendons = {one.name: one for one in model.tendons}
    return [tendon_state(model, q, tendons[name]).length for name in coupling.ends]
