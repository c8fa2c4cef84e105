"""Drake: a MultibodyPlant whose state is set anew for each call, for it remembers results of a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces

from benchmarks.harness.calls import Call
from benchmarks.harness.coordinates import Base, Coordinates
from benchmarks.harness.subjects import State, Subject
from benchmarks.peers import Peer, version_of
from helicoid._typing import Array

_STATEMENTS = {
    "G": "set_q(context, q); result = -plant.CalcGravityGeneralizedForces(context)",
    "C": "set_q(context, q); set_v(context, v); result = plant.CalcBiasTerm(context)",
    "ID": (
        "set_q(context, q); set_v(context, v); plant.CalcForceElementsContribution(context, forces); "
        "result = plant.CalcInverseDynamics(context, a, forces)"
    ),
    "M": "set_q(context, q); result = plant.CalcMassMatrix(context)",
    "FD (ABA)": (
        "set_q(context, q); set_v(context, v); torques.FixValue(context, tau); result = port.Eval(context)"
    ),
}
_BASE = Base(q=(3, 4, 5, 6, 0, 1, 2), linear_first=False, world_linear=True, world_angular=True)


class Library(Peer):
    """Drake with one robot."""

    version = version_of("drake")

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        plant = MultibodyPlant(0.0)
        Parser(plant).AddModelsFromString(subject.urdf, "urdf")
        if not subject.n_base:
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(subject.robot.model.root))
        plant.Finalize()
        moving = [plant.get_joint(index) for index in plant.GetJointIndices()]
        moving = [joint for joint in moving if joint.num_velocities() == 1]
        moving.sort(key=lambda joint: joint.velocity_start())
        self._coordinates = Coordinates(subject, [joint.name() for joint in moving], _BASE)
        self._names = {
            "plant": plant,
            "context": plant.CreateDefaultContext(),
            "set_q": plant.SetPositions,
            "set_v": plant.SetVelocities,
            "forces": MultibodyForces(plant),
            "torques": plant.get_applied_generalized_force_input_port(),
            "port": plant.get_generalized_acceleration_output_port(),
        }

    def call(self, label: str, state: State) -> Call | None:
        if label not in _STATEMENTS or (label == "C" and self._coordinates.drifts):
            return None

        def answer(after: Mapping[str, Any]) -> Array:
            result = np.asarray(after["result"])
            if label == "M":
                return self._coordinates.matrices(state, [result])
            if label.startswith("FD"):
                return self._coordinates.acceleration(state, result)
            return self._coordinates.force(state, result)

        return Call(_STATEMENTS[label], {**self._names, **self._coordinates.state(state)._asdict()}, answer)
