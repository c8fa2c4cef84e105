"""The table of functions: what each says of itself, to people, to tools and to type checkers."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import helicoid as hc
from helicoid.dynamics.physics import Physics
from helicoid.dynamics.recursions.crba import mass_matrix
from helicoid.model.model import Model
from helicoid.robot.catalog import OF_FRAMES, PLAIN
from helicoid.robot.function import FunctionOf, FunctionSpec, RobotFunction

ROBOT = hc.load("planar_2r")
HELD = ROBOT.with_contact("tip", kind="normal")


def text(thing: object) -> str:
    return pydoc.plain(pydoc.render_doc(thing))


@pytest.mark.parametrize("name", PLAIN)
def test_every_function_says_what_it_is(name: str) -> None:
    function = getattr(HELD, name)
    shown = text(function)
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [*(item.name for item in function.inputs), "out", *function.options]
    for item in (*function.inputs, *function.outputs):
        assert f"- `{item.name}`" in shown and ", ".join(map(str, item.shape)) in shown
    for option in function.options:
        assert f"- `{option}`: " in shown
    assert "A `Function` whose call also takes" not in shown  # the text of the class
    stated = inspect.getdoc(getattr(hc.Robot, name)) or ""
    equation = inspect.cleandoc(getattr(hc.Robot, name).spec.doc)
    assert equation in stated and equation.splitlines()[0] in shown and "Returns:" in stated


@pytest.mark.parametrize("name", OF_FRAMES)
def test_every_function_of_a_frame_says_what_it_is(name: str) -> None:
    of_frame = getattr(HELD, name)
    assert next(iter(inspect.signature(of_frame).parameters)) == "frame"
    shown = text(of_frame)
    assert "`frame` is the name of a link" in shown and "Returns:" in shown
    assert inspect.getdoc(getattr(hc.Robot, name)) == inspect.getdoc(of_frame)
    rows = {"rows": (3,)} if "rows" in inspect.signature(of_frame).parameters else {}
    orientation = {"orientation": None} if "orientation" in inspect.signature(of_frame).parameters else {}
    if name != "analytic_task_dynamics":  # needs three freedoms
        assert "'tip'" in text(of_frame("tip", **rows, **orientation))


def test_each_equation_is_its_own() -> None:
    docs = [getattr(hc.Robot, name).spec.doc for name in (*PLAIN, *OF_FRAMES)]
    assert len(set(docs)) == len(docs) and all(len(doc.strip()) > 8 for doc in docs)


def test_a_variant_shows_its_options_and_wrenches() -> None:
    variant = ROBOT.inverse_dynamics.with_options(gravity=(0, 0, 0), f_ext=["tip"])
    signature = inspect.signature(variant)
    assert list(signature.parameters)[:4] == ["q", "v", "a", "f_ext_tip"]
    assert signature.parameters["gravity"].default == (0.0, 0.0, 0.0)
    assert "- `f_ext_tip` (6): wrench" in (variant.__doc__ or "")


def test_documentation_outlives_the_first_compiled_call() -> None:
    function = hc.load("double_pendulum").gravity
    before = function.__doc__, str(inspect.signature(function))
    function.compile()
    function([0.0, 1.0])
    assert (function.__doc__, str(inspect.signature(function))) == before
    assert "balances gravity" in text(function)


def test_the_class_has_the_table_in_order() -> None:
    assert isinstance(hc.Robot.inverse_dynamics, FunctionOf)
    assert PLAIN[:2] == ("inverse_dynamics", "forward_dynamics") and OF_FRAMES[0] == "pose"
    assert isinstance(ROBOT.inverse_dynamics, RobotFunction)


@pytest.mark.slow
def test_a_type_checker_knows_the_functions(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "use.py"
    file.write_text(
        "import helicoid as hc\n"
        "robot = hc.load('panda')\n"
        "reveal_type(robot.inverse_dynamics)\n"
        "reveal_type(robot.jacobian('panda_link8', reference='body'))\n"
        "robot.jacobian('panda_link8', reference='sideways')\n"
        "robot.inverse_dynamic\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert said.count("helicoid.robot.function.RobotFunction") == 2, said
    assert 'Argument "reference"' in said and 'has no attribute "inverse_dynamic"' in said


# --- an algorithm from outside ----------------------------------------------------------------------


def momentum(model: Model, physics: Physics, q: ca.SX, v: ca.SX) -> ca.SX:
    """p = M(q) v."""
    return mass_matrix(model, physics, q) @ v


def test_an_algorithm_of_ones_own_is_a_function_like_any_other(rng: np.random.Generator) -> None:
    spec = FunctionSpec("momentum", momentum, "q v -> p[nv]", "p = M v (N·m·s).")
    own = ROBOT.function(spec)
    assert own is ROBOT.function(replace(spec)) and "p = M v" in text(own)
    q, v = rng.normal(size=(2, 4, 2))
    np.testing.assert_allclose(own(q, v), np.einsum("nij,nj->ni", ROBOT.mass_matrix(q), v), atol=1e-12)
    np.testing.assert_allclose(own.jacobian("v")(q[0], v[0]), ROBOT.mass_matrix(q[0]), atol=1e-12)
    loaded = ROBOT.parametric("inertia")
    theta = 2 * loaded.theta.values
    np.testing.assert_allclose(loaded.function(spec)(q, v, theta), 2 * own(q, v), atol=1e-12)


# --- theta, where there is none ---------------------------------------------------------------------


def test_an_empty_theta_is_as_good_as_none() -> None:
    q, v, empty = np.array([0.3, 0.4]), np.array([1.0, 2.0]), np.zeros(0)
    np.testing.assert_array_equal(ROBOT.gravity(q, empty), ROBOT.gravity(q))
    np.testing.assert_array_equal(ROBOT.gravity(q, theta=empty), ROBOT.gravity(q))
    np.testing.assert_array_equal(ROBOT.bias(q, v, ROBOT.theta.values, friction=True), ROBOT.bias(q, v))
    wrench = {"tip": np.arange(6.0)}
    loaded = ROBOT.inverse_dynamics(q, v, v, f_ext=wrench)
    np.testing.assert_array_equal(ROBOT.inverse_dynamics(q, v, v, empty, f_ext=wrench), loaded)
    variant = ROBOT.inverse_dynamics.with_options(f_ext="tip")
    np.testing.assert_array_equal(variant(q, v, v, empty, wrench["tip"]), loaded)
    symbol = ca.SX.sym("q", 2)
    assert ca.is_equal(ROBOT.gravity(symbol, ca.SX(0, 1)), ROBOT.gravity(symbol), 9)
    assert ROBOT.gravity(ca.MX.sym("q", 2), ca.MX(0, 1)).shape == (2, 1)
    np.testing.assert_array_equal(ROBOT.gravity(np.tile(q, (3, 1)), empty), ROBOT.gravity(np.tile(q, (3, 1))))
    with pytest.raises(hc.InputError):
        ROBOT.gravity(q, np.ones(3))


def test_an_empty_theta_goes_to_compiled_code_too() -> None:
    robot = hc.load("double_pendulum")
    q = np.array([0.3, 0.4])
    robot.compile("gravity")
    np.testing.assert_array_equal(robot.gravity(q, np.zeros(0)), robot.gravity(q))


def test_theta_names_values_and_slices() -> None:
    robot = ROBOT.parametric("gravity", "payload", payload_link="tip")
    assert robot.theta.slices == {"gravity": slice(0, 3), "payload": slice(3, 13)}
    assert robot.theta.groups == ("gravity", "payload") and robot.theta.payload_link == "tip"
    assert robot.parameters is robot.theta and len(robot.theta) == 13
    assert len(ROBOT.theta) == 0 and ROBOT.theta.groups == () and len(ROBOT.parameters) == 20


# --- frames -----------------------------------------------------------------------------------------


def test_a_frame_function_is_made_once() -> None:
    assert ROBOT.pose("tip") is ROBOT.pose(frame="tip") is ROBOT.pose("tip")
    assert ROBOT.jacobian("tip") is ROBOT.jacobian("tip", "world") is not ROBOT.jacobian("tip", "body")
    assert ROBOT.task_inertia("tip", rows=[3, 5]) is ROBOT.task_inertia("tip", rows=(3, 5))


@pytest.mark.parametrize("wrong", [np.zeros(2), 3, None, ca.SX.sym("q", 2)])
def test_a_configuration_in_place_of_a_frame_is_reported(wrong: object) -> None:
    hint = r"call robot.pose\(frame\)\(q\) with the name of a link, such as 'tip'"
    with pytest.raises(hc.InputError, match=hint):
        ROBOT.pose(wrong)  # type: ignore[arg-type]


def test_wrong_arguments_of_a_frame_are_reported() -> None:
    with pytest.raises(hc.InputError, match=r"jacobian.*missing a required argument: 'frame'"):
        ROBOT.jacobian()  # type: ignore[call-arg]
    with pytest.raises(hc.InputError, match="got an unexpected keyword argument 'referense'"):
        ROBOT.jacobian("tip", referense="body")  # type: ignore[call-arg]
    with pytest.raises(hc.ModelError, match="no frame of 'planar_2r' is called 'tap'; did you mean 'tip'"):
        ROBOT.pose("tap")
