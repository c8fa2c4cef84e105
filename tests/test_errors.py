"""Warnings name the line of whoever caused them, however deep in Helicoid they arise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import helicoid as hc
from helicoid.errors import warn

MASSLESS = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="0"/>
  <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  </robot>"""


BODY = """<robot name="b"><link name="b"><inertial><mass value="2"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"""


CAUSES: dict[str, Callable[[Path], object]] = {
    "massless": lambda _: hc.load(MASSLESS),
    "chain": lambda _: hc.load("quadruped").chain("trunk", "FL_hip"),
    "no motor": lambda _: hc.mpc.Problem(hc.load(BODY, "floating"), horizon=2, dt=0.1),
    "URDF": lambda folder: hc.load("planar_2r").with_contact("tip", at=[1, 0, 0]).to_urdf(folder / "r.urdf"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_warnings_name_the_line_of_the_user(cause: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CAUSES[cause](tmp_path)
    assert caught and {one.filename for one in caught} == {__file__}


def test_a_warning_is_shown_once_for_a_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn(hc.PerformanceWarning("once"))
    assert [str(one.message) for one in caught] == ["once"]
