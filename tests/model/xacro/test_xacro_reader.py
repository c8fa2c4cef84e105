"""xacro files, against what the library `xacro` itself expands them to, and what is refused."""

from __future__ import annotations

import importlib.metadata
import os
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import helicoid as hc
from helicoid.model.urdf.roots import Roots
from helicoid.model.urdf.xacro.documents import Written
from helicoid.model.urdf.xacro.expressions import ExpressionError, Namespace, evaluate
from helicoid.model.urdf.xacro.library import Expansion

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
PARTS = f"""<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.4"/>
  <xacro:macro name="segment" params="name parent:=^|base angle:='0 0 ${{pi / 4}}' *shape **more">
    <link name="${{name}}">
      {INERTIAL}
      <collision><geometry><xacro:insert_block name="shape"/></geometry></collision>
      <xacro:insert_block name="more"/>
    </link>
    <joint name="${{name}}_joint" type="revolute">
      <parent link="${{parent}}"/> <child link="${{name}}"/>
      <origin xyz="${{length}} 0 0" rpy="${{angle}}"/>
      <axis xyz="0 0 1"/>
      <limit lower="${{-limits.angle}}" upper="${{limits['angle']}}" velocity="2" effort="10"/>
    </joint>
  </xacro:macro>
</robot>
"""
MAIN = f"""<?xml version="1.0"?>
<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="tip" default="short"/>
  <xacro:arg name="segments" default="2"/>
  <xacro:property name="limits" value="${{xacro.load_yaml('limits.yaml')}}"/>
  <xacro:include filename="$(find arm_parts)/urdf/parts.xacro"/>
  <link name="base">{INERTIAL}</link>
  <xacro:property name="base" value="base"/>
  <xacro:macro name="chain" params="n parent">
    <xacro:if value="${{n > 0}}">
      <xacro:segment name="link_${{n}}" parent="${{parent}}"><sphere radius="${{round(0.1 / n, 3)}}"/>
        <more><visual><geometry>
          <box size="${{' '.join([str(0.1 * k) for k in range(1, 4)])}}"/>
        </geometry></visual></more>
      </xacro:segment>
      <xacro:chain n="${{n - 1}}" parent="link_${{n}}"/>
    </xacro:if>
  </xacro:macro>
  <xacro:chain n="$(arg segments)" parent="${{base}}"/>
  <xacro:unless value="$(eval segments > 2)"><link name="$(arg tip)"/>
    <joint name="tip" type="fixed"><parent link="base"/><child link="$(arg tip)"/></joint></xacro:unless>
  <xacro:call macro="segment" name="last" angle="0 0 $(optenv NOT_SET_ANYWHERE 0.5)">
    <box size="1 1 1"/><more/>
  </xacro:call>
</robot>
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A package `arm` with the main file, and beside it the package `arm_parts`."""
    for folder in ("arm/urdf", "arm_parts/urdf"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "arm" / "package.xml").write_text("<package><name>arm</name></package>")
    (tmp_path / "arm" / "urdf" / "arm.urdf.xacro").write_text(MAIN)
    (tmp_path / "arm" / "urdf" / "limits.yaml").write_text("angle: !degrees 120\n")
    (tmp_path / "arm_parts" / "urdf" / "parts.xacro").write_text(PARTS)
    (tmp_path / "secret.xacro").write_text('<robot><link name="secret"/></robot>')
    return tmp_path


def load(files: Path, **options: Any) -> hc.Robot:
    packages = {"arm_parts": files / "arm_parts"}
    return hc.load(files / "arm" / "urdf" / "arm.urdf.xacro", packages=packages, **options)


def changed(files: Path, old: str, new: str, name: str = "arm/urdf/arm.urdf.xacro") -> None:
    text = (files / name).read_text()
    assert old in text
    (files / name).write_text(text.replace(old, new))


def test_macros_blocks_includes_arguments_and_yaml(files: Path) -> None:
    robot = load(files)
    assert robot.name == "made"
    assert robot.joint_names == ["link_2_joint", "link_1_joint", "last_joint"]
    assert np.allclose(robot.limits.upper, np.radians(120)) and "short" in robot.link_names
    longer = load(files, arguments={"segments": 5, "tip": "end"})
    assert (longer.nv, "end" in longer.link_names) == (6, False)
    assert "end" in load(files, arguments={"tip": "end"}).link_names


def expanded_by_the_library(path: Path, folders: dict[str, Path], mappings: list[str]) -> str:
    """The URDF that `xacro` prints, in a process of its own, with `$(find)` told the folders."""
    code = (
        "import sys, xacro.substitution_args as s, xacro; "
        f"s._eval_find = { ({k: str(v) for k, v in folders.items()})!r}.__getitem__; "
        "sys.argv = ['xacro', *sys.argv[1:]]; xacro.main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code, str(path), *mappings], capture_output=True, text=True, check=True
    ).stdout


def same(one: hc.Robot, other: hc.Robot, folder: str) -> None:
    one.to_urdf(f"{folder}/one.urdf")
    other.to_urdf(f"{folder}/other.urdf")
    assert Path(folder, "one.urdf").read_text() == Path(folder, "other.urdf").read_text()


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_the_robot_is_that_of_the_library(files: Path, tmp_path: Path) -> None:
    path = files / "arm" / "urdf" / "arm.urdf.xacro"
    text = expanded_by_the_library(path, {"arm_parts": files / "arm_parts"}, ["segments:=3"])
    same(load(files, arguments={"segments": "3"}), hc.load(text), str(tmp_path))


@pytest.mark.filterwarnings("ignore::helicoid.DoubtfulModelWarning")
def test_a_robot_in_use_is_that_of_the_library(tmp_path: Path) -> None:
    """The quadrotor of example-robot-data, whose properties, macros and units are those of its authors."""
    try:
        known = importlib.metadata.files("example-robot-data") or ()
    except importlib.metadata.PackageNotFoundError:
        known = ()
    paths = [Path(str(one.locate())).resolve() for one in known if one.name == "quadrotor_base.urdf.xacro"]
    if not paths:
        pytest.skip("the robot is part of example-robot-data")
    path, folder = paths[0], paths[0].parents[1]
    packages = {"hector_description": folder}
    named = tmp_path / "named.xacro"
    named.write_text(
        '<robot name="quadrotor" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<xacro:include filename="$(find hector_description)/robots/{path.name}"/>'
        "<xacro:quadrotor_base_macro/></robot>"
    )
    text = expanded_by_the_library(named, packages, [])
    robot = hc.load(named, packages=packages)
    assert robot.link_names
    same(robot, hc.load(text), str(tmp_path))


def test_errors_name_file_and_line_of_the_xacro(files: Path) -> None:
    line = 1 + PARTS[: PARTS.index("<origin")].count("\n")
    call = 1 + MAIN[: MAIN.index("<xacro:segment name")].count("\n")
    changed(files, 'xyz="${length} 0 0"', 'xyz="${lenght} 0 0"', "arm_parts/urdf/parts.xacro")
    with pytest.raises(
        hc.HelicoidError, match=rf"parts.xacro:{line}: name 'lenght' is not defined"
    ) as raised:
        load(files)
    assert f"arm.urdf.xacro:{call}" in str(raised.value)
    changed(files, "${lenght} 0 0", "${length} 0", "arm_parts/urdf/parts.xacro")
    with pytest.raises(hc.HelicoidError, match=rf"parts.xacro:{line}: joint \"link_2_joint\": origin xyz"):
        load(files)  # of the URDF reader, in lines of the xacro


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("$(find arm_parts)", "$(find arm_prats)", r"arm.urdf.xacro:6: the folder of package 'arm_prats'"),
        ("$(find arm_parts)/urdf/parts.xacro", "../../secret.xacro", r":6: .*secret.xacro is not read"),
        ("$(find arm_parts)/urdf/parts.xacro", "/etc/passwd", r"/etc/passwd is not read"),
        ("$(find arm_parts)/urdf/parts.xacro", "missing.xacro", r":6: there is no file .*missing.xacro"),
        ("$(find arm_parts)/urdf/parts.xacro", "arm.urdf.xacro", r"includes itself"),
        ("limits.yaml", "/etc/passwd", "/etc/passwd is not read"),
        ("limits.yaml", "missing.yaml", "there is no file"),
        ('<xacro:arg name="tip" default="short"/>', "", "argument 'tip' has no value"),
        ('parent="${base}"', "", r"arm.urdf.xacro:\d+: Undefined parameters \[parent\]"),
        ('value="${n > 0}"', 'value="perhaps"', "not a boolean"),
        ('<xacro:call macro="segment"', '<xacro:call macro="segmnt"', "unknown macro name: xacro:segmnt"),
        ('<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY a "b">]>', "DOCTYPE"),
        ("</robot>", "", "faulty XML"),
        ("$(arg segments)", "1000000", "without end"),
        ("${n - 1}", "${n}", "without end"),
        ("$(arg segments)", "${__import__('os').getpid()}", "'__import__' is not allowed"),
        ("$(arg segments)", "$(eval open.read)", "name 'open' is not defined"),
    ],
)
def test_what_is_wrong_or_dangerous_is_refused(files: Path, old: str, new: str, match: str) -> None:
    changed(files, old, new)
    with pytest.raises(hc.HelicoidError, match=match):
        load(files)


def test_an_unknown_argument_is_refused(files: Path) -> None:
    with pytest.raises(hc.InputError, match="no argument 'segment'"):
        load(files, arguments={"segment": 3})
    with pytest.raises(hc.InputError, match="arguments are values by name"):
        load(files, arguments=[3])
    with pytest.raises(hc.InputError, match="URDF is read without arguments"):
        hc.load("<robot name='a'><link name='b'/></robot>", arguments={"a": 1})


NAMES = {
    "a": 3,
    "s": "text",
    "l": [1, 2],
    "d": {"k": 1},
    "math": Namespace(pi=3.0),
    "str": str,
    "range": range,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * a + -1", 5),
        ("a if a > 2 and not a == 4 else 0", 3),
        ("[k * k for k in range(4) if k % 2]", [1, 9]),
        ("{str(k): j for k, j in [(1, 2)]}", {"1": 2}),
        ("s.upper()[1:3] + '%.2f' % math.pi", "EX3.00"),
        ("d['k'] + d.k + l[-1] + (1 << 3)", 12),
        ("1 < a <= 3 in (3, 4)", True),
        ("'-'.join(['a', 'b']).replace('-', '+')", "a+b"),
    ],
)
def test_expressions(text: str, value: Any) -> None:
    assert evaluate(text, NAMES) == value
    assert text.startswith("d[") or eval(text, {}, {**NAMES, "math": __import__("math")}) in (value, "EX3.14")


@pytest.mark.parametrize(
    "text",
    [
        "().__class__.__bases__",
        "(lambda: ().__class__)()",
        "[x.__class__ for x in [1]]",
        "'{0.__class__}'.format(1)",
        "s.format_map(d)",
        "f'{s.__class__}'",
        "(x := 1)",
        "9 ** 9 ** 9",
        "(1 << 99999999)",
        "s * 10 ** 9",
        "'%999999999d' % 1",
        "[k for k in range(99999) for j in range(99999)]",
        "s.join([s] * 99999)",
        "print(1)",
        "str.mro()",
        "range.__init__",
        "d.pop('k')",
        "await a",
        "l.append(1)",
        "1 +" * 5000 + "1",
        "(" * 5000,
        "a b",
    ],
)
def test_expressions_that_reach_for_more_are_refused(text: str) -> None:
    with pytest.raises((ExpressionError, NameError)):
        evaluate(text, NAMES)
    assert NAMES["d"] == {"k": 1}


def test_growth_is_bounded(files: Path) -> None:
    doubled = "".join(f'<xacro:property name="p{k + 1}" value="${{p{k}}}${{p{k}}}"/>' for k in range(60))
    bombs = [
        f'<xacro:property name="p0" value="aaaa"/>{doubled}<link name="${{p60}}"/>',
        "".join(
            f'<xacro:macro name="m{k + 1}" params=""><xacro:m{k}/><xacro:m{k}/></xacro:macro>'
            for k in range(60)
        )
        + '<xacro:macro name="m0" params=""><link name="a"/></xacro:macro><xacro:m60/>',
        f'<xacro:macro name="q" params="a:={"x" * 2000}\'"/>',
    ]
    for bomb in bombs:
        text = f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{bomb}</robot>'
        with pytest.raises(hc.HelicoidError):
            hc.load(text)


def test_the_library_of_others_stays_as_it_is() -> None:
    import xml.dom.minidom as dom

    import xacro

    assert xacro.safe_eval.__module__ == "xacro"
    before = dom.Element.writexml
    hc.load(
        '<robot name="r"><xacro:if value="true"><link name="a"/></xacro:if></robot>'.replace(
            "<r", "<r"
        ).replace('name="r"', 'name="r" xmlns:xacro="x"')
    )
    assert dom.Element.writexml is before


def mutated(text: str, rng: random.Random) -> str:
    pieces = [
        "<",
        ">",
        '"',
        "'",
        "${",
        "}",
        "$(",
        ")",
        "xacro:",
        "/",
        "..",
        "*",
        "9**9",
        "[",
        "lambda: ",
        "__",
        " ",
        "\0",
    ]
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(8)
        if kind > 3:  # a word or number in place of another
            words = list(re.finditer(r"[\w.]+", text))
            old, new = rng.choice(words), rng.choice(words).group()
            text = text[: old.start()] + rng.choice([new, "0", "-1", "1e9", ""]) + text[old.end() :]
        elif kind == 0:
            text = text[:at] + text[at + rng.randint(1, 20) :]
        elif kind == 1:
            text = text[:at] + rng.choice(pieces) + text[at:]
        elif kind == 2:
            end = rng.randrange(len(text))
            text = text[:at] + text[end : end + rng.randint(1, 200)] + text[at:]
        else:
            text = (
                text[: max(at, 1)] if rng.random() < 0.1 else text[:at] + rng.choice(pieces) + text[at + 1 :]
            )
    return text


def sweep(files: Path, n: int, seed: int) -> tuple[int, int]:
    """Numbers of robots and of errors among mutated files."""
    rng, found = random.Random(seed), [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(n):
            in_parts = rng.random() < 0.5
            (files / "arm_parts/urdf/parts.xacro").write_text(mutated(PARTS, rng) if in_parts else PARTS)
            (files / "arm/urdf/arm.urdf.xacro").write_text(MAIN if in_parts else mutated(MAIN, rng))
            try:
                load(files)
                found[0] += 1
            except hc.HelicoidError as error:
                assert str(error)
                found[1] += 1
    return found[0], found[1]


def test_mutated_files_are_a_robot_or_an_error_of_ours(files: Path) -> None:
    robots, errors = sweep(files, 150, 0)
    assert robots + errors == 150 and robots and errors


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_mutated_files(files: Path, seed: int) -> None:
    robots, errors = sweep(files, 5000, seed)
    assert robots + errors == 5000 and min(robots, errors) > 100


def test_places_survive_copies(files: Path) -> None:
    path = os.fspath(files / "arm" / "urdf" / "arm.urdf.xacro")
    made: Written = Expansion(path, Roots(path, {"arm_parts": files / "arm_parts"}), {}).expand(MAIN.encode())
    assert len(made.places) == made.text.count("\n")
    for text, place in zip(made.text.splitlines(), made.places, strict=True):
        assert place is not None
        if text.startswith("<origin"):
            assert "<origin" in PARTS.splitlines()[place.line - 1] and place.file.endswith("parts.xacro")
