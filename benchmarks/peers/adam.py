"""adam-robotics with CasADi: the terms of a floating base, put together as its users do."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from adam.casadi import KinDynComputations

from benchmarks.harness.calls import Call
from benchmarks.harness.subjects import GRAVITY, QUANTITIES, State, Subject
from benchmarks.peers import Peer, Unfit, version_of
from benchmarks.peers.symbolic import derivative


class Library(Peer):
    """adam with one robot that stands on the ground: its base at rest, the rows of its joints."""

    version = version_of("adam-robotics")
    remark = (
        "adam gives CasADi matrices; making arrays of them is not timed. Its ID is M a + h, for it has no "
        "inverse dynamics with accelerations, and its forward dynamics is that of a floating base only"
    )

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        if subject.n_base:
            raise Unfit("with a floating base its inputs are others")
        self._terms = KinDynComputations(
            subject.urdf, subject.joints, gravity=np.array([*GRAVITY, 0.0, 0.0, 0.0])
        )
        self._functions: dict[str, ca.Function] = {}

    def call(self, label: str, state: State) -> Call | None:
        if label.startswith("FD") or label == "Y":
            return None
        if label not in self._functions:
            self._functions[label] = self._function(label)
        inputs = QUANTITIES[label].inputs
        arguments = {name: getattr(state, name) for name in inputs}
        is_matrix = label == "M" or label.startswith("∂")
        return Call(
            f"result = f({', '.join(inputs)})",
            {"f": self._functions[label], **arguments},
            lambda after: np.array(after["result"]) if is_matrix else np.ravel(after["result"]),
        )

    def _function(self, label: str) -> ca.Function:
        terms, H, still = self._terms, np.eye(4), np.zeros(6)
        q, v, a = (ca.SX.sym(name, self.subject.robot.nv) for name in ("q", "v", "a"))

        def function(inputs: list[Any], expression: Any) -> ca.Function:
            return ca.Function("f", inputs, [ca.densify(expression)], terms.f_opts)

        if label == "G":
            return function([q], terms.gravity_term(H, q)[6:])
        if label == "C":
            return function([q, v], terms.coriolis_term(H, q, still, v)[6:])
        M = terms.mass_matrix(H, q)[6:, 6:]
        if label == "M":
            return function([q], M)
        tau = M @ a + terms.bias_force(H, q, still, v)[6:]
        return function([q, v, a], tau) if label == "ID" else derivative(label, tau, q, v, a, terms.f_opts)
