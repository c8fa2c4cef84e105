"""Forces of a fluid on boxes and ellipsoids of links: drag, lift and added mass without a state of the fluid.

With ω and v the velocity of a shape relative to the fluid, in its own axes, density ρ and viscosity β:

- a box of edges b, with mean edge d: f = -3 π d β v - ½ ρ b_j b_k |v_i| v_i and
  n = -π d³ β ω - ρ b_i (b_j⁴ + b_k⁴) |ω_i| ω_i / 64 for i, j, k cyclic;
- an ellipsoid: Stokes' and quadratic drag between those of its blunt and its slender side, the lift of Kutta
  and Magnus, and the velocity terms of the added mass (Andersen, Pesavento, Wang 2005).

Both are the models of MuJoCo, as its documentation states them in "Fluid forces".
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from helicoid._typing import Expression
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.tree import JointMotion, from_parent, gather, joint_motions, joint_velocity, to_parent
from helicoid.dynamics.tree import world_poses as poses_of
from helicoid.model.connections.fluid import FluidElement
from helicoid.model.model import WORLD, Model

_TINY = 1e-60  # under square roots, so that their derivatives exist at rest
_MIN_VALUE = 1e-15  # of denominators, as in MuJoCo


def fluid_torque(model: Model, physics: Physics, q: Expression, v: Expression) -> Expression:
    """Torque that balances the fluid, nv (N·m or N); none in a physics without friction."""
    acting = fluid_wrenches(model, physics, q, v)
    if not acting:
        return ca.SX.zeros(model.nv)
    motions = joint_motions(model, q)
    carried = [acting.get(k, ca.SX.zeros(6)) for k in range(len(model.bodies))]
    for k in reversed(range(len(carried))):
        parent = model.bodies[k].parent
        if parent != WORLD:
            carried[parent] = carried[parent] + to_parent(motions[k], carried[k])
    return -gather(model, [motion.S.T @ f for motion, f in zip(motions, carried, strict=True)])


def fluid_wrenches(model: Model, physics: Physics, q: Expression, v: Expression) -> dict[int, Expression]:
    """Per body, the wrench (n, f) of the fluid on it, about its origin in its axes."""
    acting: dict[int, Expression] = {}
    if not (physics.passive_damping and model.fluid):
        return acting
    motions = joint_motions(model, q)
    twists: list[Expression] = []
    for body, motion in zip(model.bodies, motions, strict=True):
        own = motion.S @ joint_velocity(body, v)
        twists.append(own if body.parent == WORLD else own + from_parent(motion, twists[body.parent]))
    windy = any(one.fluid.wind.any() for one in model.fluid)
    poses = poses_of(model, motions) if windy else []
    for one in model.fluid:
        frame = model.frame(one.link)
        if frame.body == WORLD:
            continue
        placed = frame.placement @ one.placement
        at = JointMotion(ca.SX(placed.rotation), ca.SX(placed.translation), ca.SX(6, 0))
        relative = from_parent(at, twists[frame.body])
        if one.fluid.wind.any():
            R = poses[frame.body][0] @ at.R
            relative -= ca.vertcat(ca.SX.zeros(3), R.T @ ca.SX(one.fluid.wind))
        wrench = to_parent(at, _wrench(one, relative[:3], relative[3:]))
        acting[frame.body] = acting.get(frame.body, ca.SX.zeros(6)) + wrench
    return acting


def _wrench(element: FluidElement, ω: Expression, v: Expression) -> Expression:
    return _on_box(element, ω, v) if element.ellipsoid is None else _on_ellipsoid(element, ω, v)


def _on_box(element: FluidElement, ω: Expression, v: Expression) -> Expression:
    b, ρ, β = element.size, element.fluid.density, element.fluid.viscosity
    d = b.mean()
    n, f = -np.pi * d**3 * β * ω, -3 * np.pi * d * β * v
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        n[i] -= ρ * b[i] * (b[j] ** 4 + b[k] ** 4) / 64 * ca.fabs(ω[i]) * ω[i]
        f[i] -= ρ * b[j] * b[k] / 2 * ca.fabs(v[i]) * v[i]
    return ca.vertcat(n, f)


def _on_ellipsoid(element: FluidElement, ω: Expression, v: Expression) -> Expression:
    c, ρ = element.ellipsoid, element.fluid.density
    assert c is not None
    p, L = ρ * ca.SX(c.virtual_mass) * v, ρ * ca.SX(c.virtual_inertia) * ω
    added = ca.vertcat(ca.cross(p, v) + ca.cross(L, ω), ca.cross(p, ω))
    return c.scale * (added + _drag_and_lift(element, ω, v))


def _drag_and_lift(element: FluidElement, ω: Expression, v: Expression) -> Expression:
    c, s, ρ, β = element.ellipsoid, element.size, element.fluid.density, element.fluid.viscosity
    assert c is not None
    d_mid, d_max = np.sort(s)[1:]
    pairs = np.array([s[1] * s[2], s[2] * s[0], s[0] * s[1]])
    speed = _norm(v)
    # Area that the ellipsoid presents to the flow; its normal there is `normal` / √denominator, of which the
    # cosine to the velocity counts.
    denominator, numerator = ca.dot(ca.SX(pairs**4), v * v), ca.dot(ca.SX(pairs**2), v * v)
    area = np.pi * ca.sqrt(denominator / ca.fmax(numerator, _MIN_VALUE) + _TINY)
    cosine = numerator / ca.fmax(speed * denominator, _MIN_VALUE)
    normal = ca.SX(pairs**2) * v
    circulation = ca.cross(normal, v) * (c.kutta_lift * ρ * cosine * area)
    volume = 4 / 3 * np.pi * float(np.prod(s))
    lift = ca.cross(circulation, v) + ca.cross(ω, v) * (c.magnus_lift * ρ * volume)
    # Stokes' drag of a sphere of the same mean axis, and quadratic drag.
    D = 2 / 3 * float(s.sum())
    blunt = c.blunt_drag * area + c.slender_drag * (np.pi * d_max * d_mid - area)
    f = lift - (3 * np.pi * D * β + ρ * speed * blunt) * v
    largest = 8 / 15 * np.pi * d_mid * d_max**4
    about = 8 / 15 * np.pi * s * np.array([max(s[1], s[2]), max(s[2], s[0]), max(s[0], s[1])]) ** 4
    moments = c.angular_drag * about + c.slender_drag * (largest - about)
    n = -(np.pi * D**3 * β + ρ * _norm(ca.SX(moments) * ω)) * ω
    return ca.vertcat(n, f)


def _norm(x: Expression) -> Expression:
    return ca.sqrt(ca.sumsqr(x) + _TINY)
