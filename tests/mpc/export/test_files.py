"""Files of an export: valid names in C, and no file of others overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import casadi as ca
import pytest

import helicoid as hc
from helicoid.compiler.code.c_names import c_identifier
from helicoid.compiler.export.texts import c_text
from helicoid.mpc import Controller, Problem
from mpc.problems import arm

pytestmark = pytest.mark.needs_compiler


@pytest.fixture(scope="module")
def controller() -> Controller:
    return Controller(arm())


def test_every_name_that_can_be_set_has_a_function(controller: Controller, tmp_path: Path) -> None:
    controller.export_c(tmp_path)
    header = (tmp_path / "planar_2r.h").read_text()
    for name in controller.problem.names:
        assert re.search(rf"\bint planar_2r_set_{name}\(", header), name
    source = (tmp_path / "planar_2r.c").read_text()
    assert "malloc" not in source
    for path in (tmp_path / "runtime").rglob("*.[ch]"):
        assert "fprintf" not in path.read_text(), path


def test_files_of_others_are_left_alone(controller: Controller, tmp_path: Path) -> None:
    foreign = tmp_path / "runtime" / "loop" / "loop.h"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("/* mine */\n")
    with pytest.raises(hc.HelicoidError, match=r"loop\.h.*not written by Helicoid"):
        controller.export_c(tmp_path)
    assert foreign.read_text() == "/* mine */\n" and [path.name for path in tmp_path.iterdir()] == ["runtime"]
    foreign.unlink()
    first = {path: path.read_text() for path in controller.export_c(tmp_path)}
    assert {path: path.read_text() for path in controller.export_c(tmp_path)} == first


@pytest.mark.slow
def test_names_cannot_leave_their_place(tmp_path: Path) -> None:
    """Of a robot, of joints in labels, of a parameter in another alphabet."""
    x, u = ca.SX.sym('x*/ #error "', 1), ca.SX.sym("u")
    problem = Problem.from_ode(x, u, u, horizon=2, dt=0.1)
    target = problem.parameter("größe", 1.0)
    problem.add_cost("state", x - target, 1.0, end_weight=1.0)
    problem.add_cost("effort", u, 1.0)
    problem.add_constraint("bound", u, -1, 1, labels=['a"; */ #error \\'])
    files = Controller(problem).export_c(tmp_path, name='../double; #error "')
    assert {path.parent for path in files} == {
        tmp_path,
        *(tmp_path / "runtime" / part for part in ("", "loop", "qp")),
    }
    prefix = c_identifier('../double; #error "')
    texts = [(tmp_path / f"{prefix}{suffix}").read_text() for suffix in (".h", ".c")]
    assert f"int {prefix}_set_{c_identifier('größe')}(" in texts[0]
    assert all("#error" not in text for text in texts)


def test_texts_keep_only_what_is_harmless() -> None:
    assert c_text('a*/b"c\\d\n??/e%é') == "a__b_c_d____e__"
    assert c_text("velocity_limit: joint-1 (x)") == "velocity_limit: joint-1 (x)"


def test_what_was_set_is_what_it_begins_with(controller: Controller, tmp_path: Path) -> None:
    controller.set(position=[0.123456789012345, 0.0, 0.5])
    controller.step([0.1, 0.2], [0.0, 0.0])
    controller.export_c(tmp_path)
    source = (tmp_path / "planar_2r.c").read_text()
    assert "0.123456789012345" in source
    assert "first_good_x" not in source  # it has not started
