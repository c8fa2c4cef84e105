"""Reference values by Pinocchio, in Helicoid's conventions.

Pinocchio puts linear before angular parts, sorts joints its own way, writes the angle of a continuous joint
as (cos, sin) and quaternions as (x, y, z, w). It understands mimic joints only where the source comes first
in the tree, which not every file grants. So by default every joint moves freely in Pinocchio's model here,
and the coupling q_p = G q + o of mimic joints is put on top: v_p = G v, τ = Gᵀ τ_p, M = Gᵀ M_p G.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin
from real_robots import Array, States, mimics

import helicoid as hc

REFERENCES = {
    "world": pin.ReferenceFrame.WORLD,
    "world_aligned": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    "body": pin.ReferenceFrame.LOCAL,
}
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


class Pinocchio:
    """Pinocchio's model of one file, called with batches of states in Helicoid's order."""

    def __init__(self, path: Path, robot: hc.Robot, base: str, own_mimics: bool = False) -> None:
        root = [pin.JointModelFreeFlyer()] if base == "floating" else []
        self.model = pin.buildModelFromUrdf(str(path), *root, mimic=own_mimics)
        self.data = self.model.createData()
        self.coupled = {} if own_mimics else mimics(path)
        self.G = np.zeros((self.model.nv, robot.nv))
        self._n_base = len(root)
        self._angles: list[tuple[slice, int, float, float]] = []  # Pinocchio's q, our q, multiplier, offset
        if root:
            self.G[:6, :6] = np.eye(6)[ANGULAR_FIRST]
        columns = {name: k for k, name in enumerate(robot.joint_names[len(root) :])}
        for joint, name in list(zip(self.model.joints, self.model.names, strict=True))[1 + len(root) :]:
            if joint.nq == 0:
                continue  # a mimic joint of Pinocchio's own
            source, k, o = self.coupled.get(name, (name, 1.0, 0.0))
            self.G[joint.idx_v, 6 * len(root) + columns[source]] = k
            where = slice(joint.idx_q, joint.idx_q + joint.nq)
            self._angles.append((where, 7 * len(root) + columns[source], k, o))
        assert np.linalg.matrix_rank(self.G) == robot.nv, "a joint of ours is none of Pinocchio's"

    def q(self, q: Array) -> Array:
        """Pinocchio's coordinates, (N, nq)."""
        result = np.zeros((len(q), self.model.nq))
        if self._n_base:
            result[:, :7] = q[:, [0, 1, 2, 4, 5, 6, 3]]
        for where, ours, k, o in self._angles:
            angle = k * q[:, ours] + o
            both = [angle] if where.stop - where.start == 1 else [np.cos(angle), np.sin(angle)]
            result[:, where] = np.stack(both, axis=1)
        return result

    def _each(self, states: States) -> Iterator[tuple[Array, Array, Array, Array]]:
        return zip(self.q(states.q), states.v @ self.G.T, states.a @ self.G.T, states.tau, strict=True)

    def mass_matrix(self, states: States) -> Array:
        """M, (N, nv, nv)."""
        full = [pin.crba(self.model, self.data, q, pin.Convention.LOCAL).copy() for q in self.q(states.q)]
        symmetric = np.array([np.triu(M) + np.triu(M, 1).T for M in full])
        return self.G.T @ symmetric.reshape(len(full), self.model.nv, self.model.nv) @ self.G

    def inverse_dynamics(self, states: States) -> Array:
        """τ, (N, nv)."""
        each = self._each(states)
        return np.array([self.G.T @ pin.rnea(self.model, self.data, q, v, a) for q, v, a, _ in each])

    def joint_wrenches(self, states: States, links: Sequence[str]) -> Array:
        """`data.f` of the joints that carry these links, (N, links, 6), angular first."""
        joints = [
            self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)].parentJoint for link in links
        ]
        found = []
        for q, v, a, _ in self._each(states):
            pin.rnea(self.model, self.data, q, v, a)
            found.append([self.data.f[joint].vector[ANGULAR_FIRST] for joint in joints])
        return np.array(found)

    def dynamics(self, states: States) -> dict[str, Array]:
        """Everything but forward dynamics, by the names that Robot has for it."""
        model, data, G = self.model, self.data, self.G
        found: dict[str, list[Array | float]] = {}

        def note(name: str, value: Array | float) -> None:
            found.setdefault(name, []).append(np.array(value))

        for q, v, _, _ in self._each(states):
            note("bias", G.T @ pin.nonLinearEffects(model, data, q, v))
            note("gravity", G.T @ pin.computeGeneralizedGravity(model, data, q))
            note("coriolis", G.T @ (pin.computeCoriolisMatrix(model, data, q, v) @ v))
            note("kinetic_energy", pin.computeKineticEnergy(model, data, q, v))
            note("potential_energy", pin.computePotentialEnergy(model, data, q))
            note("com_jacobian", pin.jacobianCenterOfMass(model, data, q) @ G)
            note("center_of_mass", data.com[0])
        both = {"mass_matrix": self.mass_matrix(states), "inverse_dynamics": self.inverse_dynamics(states)}
        return both | {name: np.array(values) for name, values in found.items()}

    def forward_dynamics(self, states: States, M: Array, h: Array) -> Array:
        """a by Pinocchio's ABA; with mimic joints, which that leaves free, from its M and h."""
        if self.coupled:
            return np.asarray(np.linalg.solve(M, (states.tau - h)[..., None])[..., 0], dtype=np.float64)
        full = [pin.aba(self.model, self.data, q, v, self.G @ tau) for q, v, _, tau in self._each(states)]
        return np.array(full) @ self.G

    def total_mass(self) -> float:
        """Mass of all that moves (kg)."""
        return float(pin.computeTotalMass(self.model))

    def frames(self, states: States, names: Sequence[str]) -> dict[tuple[str, ...], Array]:
        """Poses and, in each reference, Jacobians, their rates, velocities and accelerations.

        Keys are (quantity, frame) for poses and (quantity, frame, reference) for the others.
        """
        model, data = self.model, self.data
        ids = {name: model.getFrameId(name, pin.FrameType.BODY) for name in names}
        found: dict[tuple[str, ...], list[Array]] = {}
        for q, v, a, _ in self._each(states):
            pin.forwardKinematics(model, data, q, v, a)
            pin.computeJointJacobians(model, data, q)
            pin.computeJointJacobiansTimeVariation(model, data, q, v)
            pin.updateFramePlacements(model, data)
            for name, i in ids.items():
                found.setdefault(("pose", name), []).append(data.oMf[i].homogeneous)
                for reference, where in REFERENCES.items():
                    for quantity, value in self._frame(i, where):
                        found.setdefault((quantity, name, reference), []).append(value[ANGULAR_FIRST])
        return {key: np.array(values) for key, values in found.items()}

    def _frame(self, i: int, where: pin.ReferenceFrame) -> Iterator[tuple[str, Array]]:
        model, data = self.model, self.data
        if model.nv:
            yield "jacobian", pin.getFrameJacobian(model, data, i, where) @ self.G
            yield "jacobian_dot", pin.getFrameJacobianTimeVariation(model, data, i, where) @ self.G
        else:  # where nothing moves, asking for these two kills the process
            yield from ((name, np.zeros((6, 0))) for name in ("jacobian", "jacobian_dot"))
        yield "velocity", pin.getFrameVelocity(model, data, i, where).vector
        # The rate of the components: where axes and origin part ways, that is the classical acceleration.
        aligned = where == pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        acceleration = pin.getFrameClassicalAcceleration if aligned else pin.getFrameAcceleration
        yield "acceleration", acceleration(model, data, i, where).vector
