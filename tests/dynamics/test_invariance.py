"""What a description may not change: the order of its joints, and how a body is cut into fixed links."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helicoid import Robot
from helicoid.geometry import se3
from helicoid.model.inertia import Inertia
from helicoid.model.joints import Fixed, Floating
from helicoid.model.model import WORLD, Model
from helicoid.model.parts import Joint, Link, Placement
from random_trees import Array, assert_close, few, models, seeds, spans, state


@few
@given(models(), st.randoms(use_true_random=False), seeds)
def test_order_of_links_and_joints(model: Model, random: object, seed: int) -> None:
    """Links and joints listed in another order: the same torque at every joint, mapped by name."""
    links, joints = list(model.links), list(model.joints)
    random.shuffle(links)  # type: ignore[attr-defined]
    random.shuffle(joints)  # type: ignore[attr-defined]
    one, other = Robot(model), Robot(model.replaced(links, joints))
    assert set(one.joint_names) == set(other.joint_names)
    q, v, a = state(one, seed)
    q_other, v_other, a_other = np.empty(one.nq), np.empty(one.nv), np.empty(one.nv)
    order = np.empty(one.nv, dtype=int)
    for name, (own_q, own_v) in spans(one).items():
        at_q, at_v = spans(other)[name]
        q_other[at_q], v_other[at_v], a_other[at_v] = q[own_q], v[own_v], a[own_v]
        order[own_v] = np.arange(other.nv)[at_v]
    tau = other.inverse_dynamics(q_other, v_other, a_other, friction=True)
    assert_close(tau[order], one.inverse_dynamics(q, v, a, friction=True))
    assert_close(other.mass_matrix(q_other)[np.ix_(order, order)], one.mass_matrix(q))
    frame = one.link_names[-1]
    assert_close(other.pose(frame)(q_other), one.pose(frame)(q), scale=1.0)


@few
@given(models(), seeds)
def test_fixed_joints_merge(model: Model, seed: int) -> None:
    """A body of several fixed links is the one link that has their mass together."""
    cut, whole = Robot(model), Robot(merged(model))
    assert (whole.n_bodies, whole.nv) == (cut.n_bodies, cut.nv)
    q, v, a = state(cut, seed)
    assert_close(whole.inverse_dynamics(q, v, a), cut.inverse_dynamics(q, v, a))
    assert_close(whole.kinetic_energy(q, v), cut.kinetic_energy(q, v))
    assert_close(whole.potential_energy(q), cut.potential_energy(q), scale=10.0)
    assert_close(whole.center_of_mass(q), cut.center_of_mass(q), scale=1.0)


def merged(model: Model) -> Model:
    """The model without fixed joints, by homogeneous matrices: mass moves as P -> T P Tᵀ."""
    carrier, at = {model.root: model.root}, {model.root: np.eye(4)}
    masses = {model.root: np.zeros((4, 4))}
    joints = []
    for joint in model.joints:
        T = at[joint.parent] @ matrix(joint.placement)
        if isinstance(joint.type, Fixed):
            carrier[joint.child], at[joint.child] = carrier[joint.parent], T
            continue
        carrier[joint.child], at[joint.child], masses[joint.child] = joint.child, np.eye(4), np.zeros((4, 4))
        placed = Placement(T[:3, :3], T[:3, 3])
        joints.append(
            Joint(
                joint.name,
                joint.type,
                carrier[joint.parent],
                joint.child,
                placed,
                armature=joint.armature,
                mimic=joint.mimic,
            )
        )
    for link in model.links:
        if link.inertia is not None:
            masses[carrier[link.name]] += at[link.name] @ link.inertia.pseudo @ at[link.name].T
    links = [Link(name, Inertia.from_pseudo(P)) for name, P in masses.items()]
    return Model(model.name, tuple(links), tuple(joints), model.floating)


def matrix(placement: Placement) -> Array:
    return np.asarray(se3.pose(placement.rotation, placement.translation))


@few
@given(models(floating=True), seeds)
def test_floating_base_is_a_floating_joint(model: Model, seed: int) -> None:
    """`base="floating"` adds what a description could say itself: a floating joint from the world."""
    stated = Model(
        "stated",
        (Link("world"), *model.links),
        (Joint("free", Floating(), "world", model.root), *model.joints),
    )
    one, other = Robot(model), Robot(stated)
    assert one.joint_names == ["floating_base", *other.joint_names[1:]]
    assert other.model.bodies[0].parent == WORLD
    q, v, a = state(one, seed)
    assert_close(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), 1e-14)
