"""urdf2casadi as installed: CasADi functions that CasADi compiles in place with -Ofast."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from urdf2casadi import urdfparser

from benchmarks.harness.calls import Call
from benchmarks.harness.subjects import GRAVITY, QUANTITIES, State, Subject
from benchmarks.peers import Peer, Unfit, version_of
from benchmarks.peers.symbolic import derivative, in_other_thread
from benchmarks.report import published


class Library(Peer):
    """urdf2casadi with one chain."""

    version = version_of("urdf2casadi")
    remark = "urdf2casadi gives CasADi matrices; making arrays of them is not timed"
    compiles = True
    interpreted = False
    """Whether CasADi's virtual machine evaluates its functions, to compare numbers without compiling."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        joints = subject.robot.model.joints
        if subject.n_base or any(a.child != b.parent for a, b in pairwise(joints)):
            raise Unfit("it knows chains on a fixed base only")
        self._ends = subject.robot.model.root, joints[-1].child
        self._functions: dict[str, ca.Function] = {}

    def call(self, label: str, state: State) -> Call | None:
        if label == "Y":
            return None
        if label not in self._functions:
            self._functions[label] = in_other_thread(lambda: self._function(label))
        inputs = QUANTITIES[label].inputs
        arguments = {name: getattr(state, name) for name in inputs}
        is_matrix = label == "M" or label.startswith("∂")
        return Call(
            f"result = f({', '.join(inputs)})",
            {"f": self._functions[label], **arguments},
            lambda after: np.array(after["result"]) if is_matrix else np.ravel(after["result"]),
        )

    def _function(self, label: str) -> ca.Function:
        if label in published.LABELS:
            return self.plain(label) if self.interpreted else self._made(self._parser(), label)
        q, v, a = (ca.SX.sym(name, self.subject.robot.nv) for name in ("q", "v", "a"))
        return derivative(label, self.plain("ID")(q, v, a), q, v, a, self.options())

    def plain(self, label: str) -> ca.Function:
        """A function that is not compiled, to be counted or differentiated."""
        parser = self._parser()
        parser.func_opts = {}
        return self._made(parser, label)

    def options(self) -> dict[str, Any]:
        """Options with which it compiles its functions."""
        options: dict[str, Any] = self._parser().func_opts
        return options

    def _made(self, parser: Any, label: str) -> ca.Function:
        ends, g = self._ends, list(GRAVITY)
        made: dict[str, Callable[[], ca.Function]] = {
            "G": lambda: parser.get_gravity_rnea(*ends, g),
            "C": lambda: parser.get_coriolis_rnea(*ends),
            "ID": lambda: parser.get_inverse_dynamics_rnea(*ends, gravity=g),
            "M": lambda: parser.get_inertia_matrix_crba(*ends),
            "FD (CRBA)": lambda: parser.get_forward_dynamics_crba(*ends, g),
            "FD (ABA)": lambda: parser.get_forward_dynamics_aba(*ends, g),
        }
        return made[label]()

    def _parser(self) -> Any:
        options: dict[str, Any] = urdfparser.URDFparser.func_opts
        # Its own options; only the files that it compiles from go with their folder, not with the function.
        jit = {**options["jit_options"], "cleanup": False}
        parser = urdfparser.URDFparser({**options, "jit_options": jit, "jit_cleanup": False})
        parser.from_string(self.subject.urdf)
        return parser
