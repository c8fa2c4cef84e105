"""Random models by `mujoco.MjSpec`, with every element that Helicoid reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import mujoco
import numpy as np
from hypothesis import strategies as st

FEATURES = (
    *(
        "free",
        "ball",
        "references",
        "springs",
        "dampers",
        "armature",
        "friction",
        "inertials",
        "compensation",
    ),
    *("equalities", "loops", "fixed tendons", "spatial tendons", "actuators", "fluid", "keyframes"),
)
_GEOMS = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}


@st.composite
def specifications(draw: Any) -> mujoco.MjSpec:
    """A model of a random tree with some of the features."""
    features = draw(st.sets(st.sampled_from(FEATURES)))
    return random_spec(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), features)


def random_spec(rng: np.random.Generator, features: Collection[str] = FEATURES) -> mujoco.MjSpec:
    """One of up to six bodies."""
    return _Builder(rng, features).spec


class _Builder:
    def __init__(self, rng: np.random.Generator, features: Collection[str]) -> None:
        self.rng, self.on, self.spec = rng, set(features), mujoco.MjSpec()
        self.single: list[str] = []  # joints of one coordinate
        self.balls: list[str] = []
        self.sites: list[str] = []
        self.wraps: list[str] = []
        self.tendons: list[str] = []
        self.spec.compiler.degree = False
        self.spec.option.gravity = rng.normal(size=3) * 5
        if "fluid" in self.on:
            self.spec.option.density, self.spec.option.viscosity = rng.uniform(0, 20), rng.uniform(0, 1)
            self.spec.option.wind = rng.normal(size=3)
        bodies = [self.spec.worldbody]
        self._site(bodies[0])
        for k in range(int(rng.integers(2, 7))):
            parent = bodies[rng.integers(len(bodies))]
            bodies.append(self._body(parent, k))
        self._connections(bodies)

    def _placed(self) -> dict[str, Any]:
        return {"pos": self.rng.normal(size=3) * 0.3, "quat": _quaternion(self.rng)}

    def _body(self, parent: Any, k: int) -> Any:
        rng = self.rng
        body = parent.add_body(name=f"b{k}", **self._placed())
        if "free" in self.on and parent is self.spec.worldbody and rng.random() < 0.5:
            self._joint(body, mujoco.mjtJoint.mjJNT_FREE)
        else:
            ball = "ball" in self.on and rng.random() < 0.4
            kinds = [mujoco.mjtJoint.mjJNT_SLIDE] + [mujoco.mjtJoint.mjJNT_HINGE] * (not ball)
            for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
                self._joint(body, kinds[rng.integers(len(kinds))])
            if ball:  # nothing else may turn the body, or its mass matrix could be singular
                self._joint(body, mujoco.mjtJoint.mjJNT_BALL)
        for _ in range(int(rng.integers(1, 4))):
            self._geom(body)
        if "inertials" in self.on and rng.random() < 0.5:
            moments = np.sort(rng.uniform(0.01, 0.1, 3))
            body.mass, body.ipos, body.iquat = rng.uniform(0.5, 3), rng.normal(size=3) * 0.1, _quaternion(rng)
            body.inertia, body.explicitinertial = np.minimum(moments, moments[:2].sum() * 0.99), True
        if "compensation" in self.on and rng.random() < 0.5:
            body.gravcomp = rng.uniform(0, 1.5)
        for _ in range(int(rng.integers(0, 3))):
            self._site(body)
        return body

    def _joint(self, body: Any, kind: Any) -> None:
        rng, name = self.rng, f"j{len(self.spec.joints)}"
        joint = body.add_joint(name=name, type=kind)
        single = kind in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
        if kind != mujoco.mjtJoint.mjJNT_FREE:
            joint.pos = rng.normal(size=3) * 0.2 * (rng.random() < 0.7)
        if single:
            joint.axis = rng.normal(size=3)
            self.single.append(name)
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            self.balls.append(name)
        if "references" in self.on and single:
            joint.ref, joint.springref = rng.normal(size=2)
        if "springs" in self.on and rng.random() < 0.6:
            _set(joint, "stiffness", rng.uniform(0.1, 20))
        if "dampers" in self.on and rng.random() < 0.6:
            _set(joint, "damping", rng.uniform(0.1, 3))
        if "armature" in self.on and rng.random() < 0.6:
            joint.armature = rng.uniform(0.01, 1)
        if "friction" in self.on and rng.random() < 0.6:
            joint.frictionloss = rng.uniform(0.1, 3)

    def _geom(self, body: Any) -> None:
        rng, kind = self.rng, str(self.rng.choice(list(_GEOMS)))
        name, size = f"g{len(self.spec.geoms)}", np.zeros(3)
        size[: _GEOMS[kind]] = rng.uniform(0.03, 0.2, _GEOMS[kind])
        geom = body.add_geom(
            name=name, type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"), size=size, **self._placed()
        )
        if "fluid" in self.on and rng.random() < 0.4:
            geom.fluid_ellipsoid, geom.fluid_coefs = 1.0, rng.uniform(0, 2, 5)
        if kind in ("sphere", "cylinder"):
            self.wraps.append(name)

    def _site(self, body: Any) -> None:
        self.sites.append(f"s{len(self.sites)}")
        body.add_site(name=self.sites[-1], **self._placed())

    def _connections(self, bodies: list[Any]) -> None:
        rng, spec = self.rng, self.spec
        if "fixed tendons" in self.on and self.single:
            self._fixed_tendon()
        if "spatial tendons" in self.on and len(self.sites) > 2:
            self._spatial_tendon()
        if "equalities" in self.on and len(self.single) > 1:
            a, b = rng.choice(self.single, 2, replace=False)
            equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=str(a), name2=str(b))
            numbers = np.zeros(len(equality.data))
            numbers[:2] = rng.normal(size=2)
            if rng.random() < 0.5:
                numbers[2:5] = rng.normal(size=3)
            equality.data = numbers
        if "loops" in self.on and len(bodies) > 2:
            a, b = rng.choice(len(bodies) - 1, 2, replace=False)
            kind = [mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD][rng.integers(2)]
            spec.add_equality(type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, name1=f"b{a}", name2=f"b{b}")
        if "actuators" in self.on:
            for k in range(int(rng.integers(1, 5))):
                self._actuator(k)
        if "keyframes" in self.on:
            spec.add_key(name="home", time=rng.uniform(0, 2))

    def _numbers(self, tendon: Any) -> None:
        rng = self.rng
        self.tendons.append(tendon.name)
        _set(tendon, "stiffness", rng.uniform(0, 30))
        _set(tendon, "damping", rng.uniform(0, 3))
        tendon.springlength = np.sort(rng.uniform(0, 0.5, 2))
        tendon.frictionloss = rng.uniform(0.1, 1) * (rng.random() < 0.5)

    def _fixed_tendon(self) -> None:
        tendon = self.spec.add_tendon(name="fixed")
        for name in self.rng.choice(self.single, min(3, len(self.single)), replace=False):
            tendon.wrap_joint(str(name), self.rng.normal())
        self._numbers(tendon)
        if "armature" in self.on:  # of one joint: MuJoCo leaves out what couples branches
            tendon = self.spec.add_tendon(name="geared", armature=self.rng.uniform(0.1, 1))
            tendon.wrap_joint(str(self.rng.choice(self.single)), self.rng.normal())
            self._numbers(tendon)

    def _spatial_tendon(self) -> None:
        rng, tendon = self.rng, self.spec.add_tendon(name="spatial")
        path = [str(name) for name in rng.choice(self.sites, 3, replace=False)]
        tendon.wrap_site(path[0])
        if self.wraps and rng.random() < 0.5:
            tendon.wrap_geom(str(rng.choice(self.wraps)), "")
        tendon.wrap_site(path[1])
        if rng.random() < 0.5:
            tendon.wrap_pulley(2.0)
            tendon.wrap_site(path[1])
        tendon.wrap_site(path[2])
        self._numbers(tendon)

    def _actuator(self, k: int) -> None:
        rng, kinds = self.rng, mujoco.mjtTrn
        targets = [(kinds.mjTRN_JOINT, name) for name in self.single + self.balls]
        targets += [(kinds.mjTRN_JOINTINPARENT, name) for name in self.balls]
        targets += [(kinds.mjTRN_TENDON, name) for name in self.tendons]
        targets += [(kinds.mjTRN_SITE, name) for name in self.sites]
        kind, name = targets[rng.integers(len(targets))]
        actuator = self.spec.add_actuator(name=f"a{k}", trntype=kind, target=name, gear=rng.normal(size=6))
        if kind == kinds.mjTRN_SITE and rng.random() < 0.5:
            actuator.refsite = str(rng.choice([one for one in self.sites if one != name] or [name]))
        choice = rng.integers(4)
        if choice == 0:
            actuator.set_to_motor()
        elif choice == 1:
            actuator.set_to_position(kp=rng.uniform(1, 20), kv=rng.uniform(0.1, 2))
        elif choice == 2:
            actuator.set_to_velocity(kv=rng.uniform(1, 20))
        else:
            actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_AFFINE, mujoco.mjtBias.mjBIAS_AFFINE
            actuator.gainprm[:3], actuator.biasprm[:3] = rng.normal(size=3), rng.normal(size=3)
        if rng.random() < 0.4:
            actuator.forcelimited, actuator.forcerange = 1, [-rng.uniform(0.1, 5), rng.uniform(0.1, 5)]
        if rng.random() < 0.4:
            actuator.ctrllimited, actuator.ctrlrange = 1, [-rng.uniform(0.1, 1), rng.uniform(0.1, 1)]


def _set(element: Any, name: str, value: float) -> None:
    """Stiffness or damping, which MuJoCo 4 states as a polynomial."""
    given = getattr(element, name)
    if np.ndim(given):
        given[0] = value
    else:
        setattr(element, name, value)


def _quaternion(rng: np.random.Generator) -> Any:
    given = rng.normal(size=4)
    return given / np.linalg.norm(given)
