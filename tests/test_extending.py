"""The cost of additions: each test adds one from outside of the library, in the table that lists its kind.

The table of docs/how-to/extending.md has a row for each; `tests/model/test_own_joint_type.py` takes a joint
type through every package.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import helicoid as hc
from helicoid.aerial import bundled as aircraft
from helicoid.control.laws.torque import JointTrackingLaw, Torque
from helicoid.control.program.numbers import Number
from helicoid.dynamics.friction import TERMS, FrictionTerm
from helicoid.identification.excitation.collision import covering_spheres
from helicoid.identification.linear.equations.regression import Regression
from helicoid.model.formats import FORMATS, Format
from helicoid.model.joints import TYPES
from helicoid.model.model import Model
from helicoid.model.parts import Geometry, Joint, Link
from helicoid.model.shapes import PRIMITIVES, Primitive
from helicoid.model.urdf.reader import read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text
from helicoid.mpc.costs import cost_of
from helicoid.mpc.terms import Terms, _adds
from helicoid.robot.catalog import Catalog
from helicoid.robot.function import FunctionOf
from helicoid.view.drawing import triangles

SOURCES = Path(hc.__file__).parent
DOCS = Path(__file__).parents[1] / "docs" / "how-to" / "extending.md"
V, A = np.array([1.5, -0.5]), np.zeros(2)


def identifiers(path: Path) -> set[str]:
    """All names that a module uses or imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imported = {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    return used | attributes | imported


def mentions(path: Path, names: set[str]) -> bool:
    """Whether the text has one of these names: parsing all modules takes seconds."""
    text = path.read_text(encoding="utf-8")
    return any(name in text for name in names)


def test_joint_types_are_named_in_the_model_only() -> None:
    """Edits lock joints, add a floating base or a rotor, of given types; no algorithm knows a type."""
    classes = {cls.__name__ for cls in TYPES.values()}
    users = {
        str(path.relative_to(SOURCES)): found
        for path in SOURCES.rglob("*.py")
        if path.name != "joints.py" and mentions(path, classes) and (found := identifiers(path) & classes)
    }
    assert users == {
        "model/model.py": {"Floating"},
        "model/edits/drives.py": {"Revolute"},
        "model/edits/assembly.py": {"Fixed", "Floating"},
        "model/edits/structure.py": {"Fixed"},
        "model/mjcf/reader.py": {"Fixed"},
        "model/sdf/reader.py": {"Fixed"},
        "model/urdf/srdf.py": {"Floating"},
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


def test_a_cost_is_one_function_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line makes it a method of a problem, with its signature and its documentation."""

    def height_cost(symbols: Any, frame: str, height: float, weight: float, name: str = "height") -> Any:
        """½ w (z(q) − height)² of a frame's origin (m)."""
        target = symbols.parameter(name, height, 1)
        error = symbols.robot.pose(frame)(symbols["q"])[2, 3] - target.symbol
        return cost_of(symbols, name, error, weight, 10 * weight, parameters=[target])

    monkeypatch.setattr(Terms, "add_height_cost", _adds(height_cost), raising=False)
    robot = hc.load("planar_2r").with_joints(effort=200.0)
    problem: Any = hc.mpc.Problem(robot, horizon=10, dt=0.05)
    problem.add_height_cost("tip", 0.3, weight=1000.0)
    problem.add_velocity_cost(0.01, end_weight=1.0)
    problem.add_control_cost(1e-6)
    assert "z(q)" in str(problem.add_height_cost.__doc__)
    for height in (0.3, 0.5):
        problem.set(height=height)
        plan = problem.solve([0.3, 0.8], [0.0, 0.0])
        assert plan.success
        assert_allclose(np.asarray(robot.pose("tip")(plan.q[-1]))[2, 3], height, atol=0.01)


def test_costs_and_constraints_are_listed_in_one_table() -> None:
    """`mpc/terms.py` alone names them; the problem itself adds those that belong to every plan."""
    table = SOURCES / "mpc" / "terms.py"
    modules = [*(SOURCES / "mpc" / "costs").glob("*.py"), *(SOURCES / "mpc" / "constraints").glob("*.py")]
    inherent = {"hold_constraints", "duration_constraint", "foot_constraints"}
    defined = {
        node.name
        for path in modules
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and re.search("^[a-z].*(_costs?|_constraints?)$", node.name)
    }
    assert len(defined) >= 15 and defined - inherent <= identifiers(table)
    users = {
        path.relative_to(SOURCES).as_posix(): found
        for path in SOURCES.rglob("*.py")
        if path not in (table, *modules)
        and mentions(path, defined)
        and (found := identifiers(path) & defined)
    }
    assert users == {"mpc/structure.py": inherent}


@dataclass(frozen=True, eq=False, repr=False)
class DistanceTask(hc.control.Task):
    """e = d* - |p(q)|, the distance of a frame's origin from the origin of the world (m), one row."""

    frame: str = "tip"
    target: Any = None
    weight: Any = 1.0
    name: str = "distance"
    kinds, shape = (("linear", 1),), (1,)

    def check(self, robot: hc.Robot) -> None:
        robot.model.frame(self.frame)

    def measure(self, robot: hc.Robot, q: Any) -> Any:
        return ca.norm_2(robot.pose(self.frame)(q)[:3, 3])

    def error(self, robot: hc.Robot, q: Any, target: Any) -> Any:
        return target - self.measure(robot, q)

    def jacobian(self, robot: hc.Robot, q: Any, target: Any) -> Any:
        p, J = robot.pose(self.frame)(q)[:3, 3], robot.jacobian(self.frame, "world_aligned")(q)
        return p.T @ J[3:, :] / ca.norm_2(p)


@pytest.mark.needs_compiler
def test_a_task_is_one_class() -> None:
    """Inverse kinematics, differential kinematics and whole-body control take it."""
    robot, q0 = hc.load("planar_2r").with_joints(effort=200.0, velocity=5.0), np.array([0.3, 0.8])
    task = DistanceTask(target=[0.7])

    def distance(q: Any) -> float:
        return float(np.linalg.norm(np.asarray(robot.pose("tip")(q))[:3, 3]))

    solution = hc.control.InverseKinematics(robot, [task])(q0=q0)
    assert solution.success and abs(distance(solution.q) - 0.7) < 1e-6
    differential = hc.control.DifferentialIK(robot, [task], 0.01)
    q = q0
    for _ in range(200):
        q = robot.integrate(q, 0.01 * differential.step(q))
    assert differential.ok and abs(distance(q) - 0.7) < 1e-3
    whole = hc.control.WholeBody(robot, [task, hc.control.PostureTask(q0, weight=1e-3)], [], 0.002)
    motion = hc.simulate(robot, q0, [0.0, 0.0], 1.5, whole, dt=0.002)
    assert abs(distance(motion.q[-1]) - 0.7) < 0.02


def test_tasks_are_exported_by_their_package() -> None:
    """`hc.control` takes the names from `control/tasks/__init__.py`."""
    named = identifiers(SOURCES / "control" / "__init__.py")
    for name in hc.control.tasks.__all__:
        assert getattr(hc.control, name) is getattr(hc.control.tasks, name)
        assert name in hc.control.__all__ and name not in named


class GravityAndDamping(JointTrackingLaw):
    """τ = g(q) + d (v_ref - v)."""

    def __init__(self, robot: hc.Robot, damping: Any) -> None:
        super().__init__(robot, "gravity_and_damping", {"damping": Number(damping, (robot.nv,), 0.0)})

    def _torque(self, x: Mapping[str, Any], effort: Any) -> Torque:
        return Torque(self.robot.gravity(x["q"]) + x["damping"] * (x["v_ref"] - x["v"]))


@pytest.mark.needs_compiler
def test_a_control_law_is_one_class(tmp_path: Path) -> None:
    """It answers the protocol, runs inside the compiled loop of a simulation and is written as C."""
    robot, q = hc.load("planar_2r"), np.array([0.3, 0.8])
    law = GravityAndDamping(robot, 2.0)
    assert isinstance(law, hc.control.ControllerProtocol)
    assert_allclose(law.step(q, V, q_ref=q), robot.gravity(q) - 2 * V)
    law.set(damping=10.0)
    assert_allclose(law.step(q, V, q_ref=q), robot.gravity(q) - 10 * V)
    assert law.ok and np.isfinite(law.step([np.nan, 0.0], V, q_ref=q)).all() and not law.ok
    motion = hc.simulate(robot, q, V, 1.0, law.following(q_ref=q), dt=1e-3)
    assert motion.kinetic_energy[-1] < 0.05 * motion.kinetic_energy[0]
    assert any(path.suffix == ".c" for path in law.export_c(tmp_path))


@pytest.fixture
def cone(monkeypatch: pytest.MonkeyPatch) -> Primitive:
    """A cone about z, its base below and its tip above, as one more row of the table."""
    row = Primitive(
        {"radius": 1, "length": 1},
        lambda r, length: np.pi * r**2 * length / 3,
        spheres=lambda r, length: np.array([[0, 0, length / 2, 0]]),
        circles=lambda r, length: np.array([[-length / 2, r]]),
    )
    monkeypatch.setitem(PRIMITIVES, "cone", row)
    return row


CONE = """<robot name="cone"><link name="body">
  <inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><cone radius="0.1" length="0.3"/></geometry></collision>
</link></robot>"""


def test_a_contact_shape_is_one_row(cone: Primitive) -> None:
    """URDF, contacts, capsules, spheres of excitation trajectories and the viewer read it."""
    robot = hc.load(CONE, base="floating")
    assert 'cone radius="0.1" length="0.3"' in to_urdf_text(robot.model)
    q0 = np.array([0.0, 0.0, 0.25, 1.0, 0.0, 0.0, 0.0])
    fall = hc.simulate(robot, q0, np.zeros(6), 1.5, dt=1e-3, ground=hc.Ground(), contacts="collision")
    assert_allclose(fall.q[-1][2], 0.15, atol=2e-3)  # stands on its base
    assert_allclose(fall.q[-1][3:], [1, 0, 0, 0], atol=1e-3)
    drawn = triangles.primitive(Geometry("cone", (0.1, 0.3)))
    a, b, c = (drawn.vertices[drawn.faces[:, k]] for k in range(3))
    assert_allclose(np.einsum("ij,ij->", a, np.cross(b, c)) / 6, cone.volume(0.1, 0.3), rtol=0.01)
    (capsule,) = robot.capsules()
    from_axis = np.linalg.norm(
        drawn.vertices - np.clip(drawn.vertices[:, 2:], capsule.start[2], capsule.end[2]) * [0, 0, 1], axis=1
    )
    assert from_axis.max() <= capsule.radius + 1e-9
    spheres, meshes = covering_spheres(robot.model)
    gaps = [np.linalg.norm(drawn.vertices - one.center, axis=1) - one.radius for one in spheres]
    assert np.min(gaps, axis=0).max() <= 1e-9 and not meshes


def test_shapes_are_named_in_their_table_only() -> None:
    """But for readers of scenes, a cylinder between spheres (a capsule), sides of a box, lone spheres."""
    collision = SOURCES / "robot" / "collision"
    users = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if collision / "scene" not in path.parents
        and re.search(r"""kind\b.{0,6}["'](box|cylinder|capsule|sphere)["']""", path.read_text("utf-8"))
    }
    own = ("capsules.py", "distances/rows.py", "spheres/spheres.py")
    assert users == {"walking/anatomy.py", *(f"robot/collision/{name}" for name in own)}


def test_an_aircraft_is_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JSON file beside the others makes it a bundled vehicle."""
    numbers = aircraft.numbers("firefly")
    heavier = {**numbers, "name": "heavy", "mass": numbers["mass"] + 0.5}
    (tmp_path / "heavy.json").write_text(json.dumps(heavier))
    lighter = hc.aerial.load("firefly")
    monkeypatch.setattr(aircraft.resources, "files", lambda name: tmp_path)
    assert aircraft.names() == ["heavy"]
    vehicle = hc.aerial.load("heavy")
    assert_allclose(vehicle.robot.mass - lighter.robot.mass, 0.5)
    assert vehicle.trim().success


def test_a_description_format_is_one_reader_and_one_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`hc.load` chooses it by the file's ending and by the root element of a text."""

    def read(text: str, floating: bool, name: str, folder: str) -> Model:
        root = ET.fromstring(text)
        links = [Link("base"), *(Link(one.attrib["name"]) for one in root)]
        joints = [
            Joint(f"to_{b.name}", TYPES["revolute"](), a.name, b.name) for a, b in itertools.pairwise(links)
        ]
        return Model(root.attrib["name"], tuple(links), tuple(joints), floating)

    monkeypatch.setitem(FORMATS, "chain", Format("chain", (".chain",), read))
    text = '<!-- a <robot> --><chain name="two"><rod name="upper"/><rod name="lower"/></chain>'
    for ending in ("two.chain", "two.xml"):
        (tmp_path / ending).write_text(text)
        assert hc.load(tmp_path / ending).joint_names == hc.load(text).joint_names == ["to_upper", "to_lower"]
    assert hc.load("planar_2r").name == "planar_2r"


ADDITIONS = {
    "joint type": test_joint_types_are_named_in_the_model_only,
    "algorithm": test_an_algorithm_is_one_function_and_one_entry,
    "friction term": test_a_friction_term_is_one_row,
    "cost or constraint of MPC": test_a_cost_is_one_function_and_one_line,
    "task": test_a_task_is_one_class,
    "control law": test_a_control_law_is_one_class,
    "contact shape": test_a_contact_shape_is_one_row,
    "aircraft": test_an_aircraft_is_one_file,
    "description format": test_a_description_format_is_one_reader_and_one_row,
}


def test_the_documented_counts() -> None:
    """Each row of the table has a test here, counts the places that it names, and they exist."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in DOCS.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| addition")
    ]
    assert [row[0] for row in rows] == list(ADDITIONS)
    for addition, files, *_ in rows:
        count, _, places = files.partition(":")
        kinds = [re.findall(r"`([\w/.]+)`", one)[0] for one in places.split(", ")]
        assert int(count) == len(kinds), addition
        assert all((SOURCES / one).exists() for one in kinds), addition
