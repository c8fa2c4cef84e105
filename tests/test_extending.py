"""The cost of additions: a joint type one class, a friction term one row, an algorithm one entry.

Each test adds one from outside of the library, in the table that CONTRIBUTING names and nowhere else.
`tests/model/test_own_joint_type.py` takes a joint type through every package.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.dynamics.friction import TERMS, FrictionTerm
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.joints import TYPES
from helicoid.model.urdf.reader import read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text
from helicoid.robot.catalog import Catalog
from helicoid.robot.function import FunctionOf

SOURCES = Path(hc.__file__).parent
V, A = np.array([1.5, -0.5]), np.zeros(2)


def identifiers(path: Path) -> set[str]:
    """All names that a module uses or imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imported = {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    return used | attributes | imported


def test_joint_types_are_named_in_the_model_only() -> None:
    """Edits lock joints, add a floating base or a rotor, of given types; no algorithm knows a type."""
    classes = {cls.__name__ for cls in TYPES.values()}
    users = {
        str(path.relative_to(SOURCES)): found
        for path in SOURCES.rglob("*.py")
        if (found := identifiers(path) & classes) and path.name != "joints.py"
    }
    assert users == {
        "model/model.py": {"Floating"},
        "model/edits/drives.py": {"Revolute"},
        "model/edits/structure.py": {"Fixed"},
    }


@pytest.fixture
def drag(monkeypatch: pytest.MonkeyPatch) -> FrictionTerm:
    """A term that grows with the square of the velocity, as one more row of the table."""
    term = FrictionTerm(
        "drag", lambda j: j.v * ca.fabs(j.v), "N·m·s²/rad²", lambda effort, velocity: effort / velocity**2
    )
    monkeypatch.setitem(TERMS, "drag", term)  # type: ignore[arg-type]
    return term


def test_a_friction_term_is_one_row(drag: FrictionTerm, tmp_path: Path) -> None:
    """Joints state it; dynamics, parameters, URDF, simulation and regression include it."""
    plain = hc.load("planar_2r")
    robot = plain.with_joints(drag=[0.3, 0.2])
    q, expected = robot.neutral(), np.array([0.3, 0.2]) * V * np.abs(V)

    def friction(of: hc.Robot, *theta: Any) -> Any:
        with_it = of.inverse_dynamics(q, V, A, *theta, friction=True)
        return with_it - plain.inverse_dynamics(q, V, A)

    assert_allclose(friction(robot), expected, atol=1e-12)
    assert_allclose(friction(plain.parametric("drag"), [0.3, 0.2]), expected, atol=1e-12)
    assert_allclose(friction(hc.Robot(read_urdf_text(to_urdf_text(robot.model)))), expected, atol=1e-12)
    slowed = hc.simulate(robot, q, V, 0.2, dt=1e-3).energy
    free = hc.simulate(plain, q, V, 0.2, dt=1e-3).energy
    assert slowed[-1] < free[-1] - 1e-3
    regression = Regression(plain, ("inertia", "drag"))
    assert regression.parameters.names[-1] == "joint_2.drag"
    assert drag.label == "drag friction" and drag.is_velocity_curve and not drag.is_constant


def test_an_algorithm_is_one_function_and_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The entry gives it numbers, batches, symbols, derivatives, parameters, options, help and C."""

    def holding_power(model: Any, physics: Any, q: Any, v: Any) -> Any:
        from helicoid.dynamics.recursions.rnea import gravity

        return ca.dot(gravity(model, physics, q), v)

    entry = FunctionOf(holding_power, "q v -> P", "P = gᵀ v: the power against gravity (W).", ("gravity",))
    entry.__set_name__(Catalog, "holding_power")
    monkeypatch.setattr(Catalog, "holding_power", entry, raising=False)
    robot = hc.load("planar_2r")
    function, q = getattr(robot, "holding_power"), np.array([0.3, -0.7])  # noqa: B009
    expected = robot.gravity(q) @ V
    assert_allclose(function(q, V), expected)
    assert_allclose(function(np.array([q, q]), V), [expected, expected])
    assert_allclose(function(q, V, gravity=[0, 0, 0]), 0.0)
    assert_allclose(function.jacobian("v")(q, V), robot.gravity(q))
    assert isinstance(function(ca.SX.sym("q", 2), V), ca.SX)
    weightless = getattr(robot.parametric("gravity"), "holding_power")  # noqa: B009
    assert_allclose(weightless(q, V, [0.0, 0.0, 0.0]), 0.0)
    assert "the power against gravity (W)" in str(function.__doc__)
    assert any(path.suffix == ".c" for path in function.export_c(tmp_path))
