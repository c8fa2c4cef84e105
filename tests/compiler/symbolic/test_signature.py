"""Names and shapes that no function can have."""

from __future__ import annotations

import casadi as ca
import pytest

from helicoid.compiler.symbolic.signature import Input, Output
from helicoid.errors import HelicoidError


def test_wrong_inputs_and_outputs_are_refused():
    q = ca.SX.sym("q", 4)
    tangent = ca.Function("N", [q], [q[:, [0, 0, 0]]])
    for make, message in [
        (lambda: Input("out", (2,)), "cannot be called 'out'"),
        (lambda: Input("2x", (2,)), "not a Python identifier"),
        (lambda: Output("lambda", (2,)), "not a Python identifier"),
        (lambda: Output("_y", ()), "without leading underscore"),
        (lambda: Input("x", (2, 3, 4)), "more than two axes"),
        (lambda: Input("x", 3), "shape must be a tuple of sizes"),
        (lambda: Output("x", (-1,)), "shape must be a tuple of sizes"),
        (lambda: Input("x", (3,), tangent=tangent), "its tangent must be one matrix"),
        (lambda: Input("x", (4, 1), tangent=tangent), "its tangent must be one matrix"),
    ]:
        with pytest.raises(HelicoidError, match=message):
            make()
    assert Input("x", (4,), tangent=tangent).rate_shape == (3,)
