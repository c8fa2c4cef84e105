"""Bad MJCF: an error of ours or a robot, for bombs, missing files, odd includes and mutated texts."""

from __future__ import annotations

import os
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import helicoid as hc
from mjcf_scenes import ACTUATORS, NUMBERS, SCENE, TENDONS

BODY = '<body name="b"><joint/>{}<geom type="mesh" mesh="m"/><geom size=".1" mass="1"/></body>'
INERTIAL = '<inertial pos="0 0 .1" mass="1" diaginertia="1 1 1"/>'
ASSETS = (
    '<asset><mesh name="m" file="gone.stl"/><texture name="t" type="2d" file="gone.png"/>'
    '<material name="c" texture="t"/></asset>'
)
BOMBS = {
    "entities": '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mujoco model="&b;"/>',
    "file": '<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/hostname">]><mujoco model="&a;"/>',
    "replicate": '<mujoco><worldbody><replicate count="200"><replicate count="2e3"><geom size="1"/>'
    "</replicate></replicate></worldbody></mujoco>",
    "height field": '<mujoco><asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'
    "</mujoco>",
}
RICH = SCENE.format(
    f"<tendon>{TENDONS['fixed'].format(NUMBERS)}</tendon><actuator>{''.join(ACTUATORS.values())}</actuator>"
    '<equality><joint joint1="j1" joint2="j2" polycoef="0 1 .2 0 0"/><weld site1="on_a" site2="on_c"/>'
    "</equality>"
)
WORDS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e308",
    "1e-320",
    "",
    "99999999999",
    "abc",
    "1 2 3",
    "0 0 0",
    "world",
    "ball",
]


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused_with_their_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.xml"
    path.write_text("\n" + BOMBS[kind])
    with pytest.raises(hc.HelicoidError, match=r"bomb.xml:2: .*(refused|more than)"):
        hc.load(path)
    with pytest.raises(hc.HelicoidError, match=r"<text>:1: .*(refused|more than)"):
        hc.load(BOMBS[kind])


def test_dynamics_need_no_meshes_and_textures() -> None:
    text = f"<mujoco>{ASSETS}<worldbody>{BODY.format(INERTIAL)}</worldbody></mujoco>"
    with pytest.warns(hc.DoubtfulModelWarning, match=r"missing.*mesh 'gone\.stl', texture 'gone\.png'"):
        robot = hc.load(text)
    np.testing.assert_allclose(robot.gravity([0.0]), 0.0)
    np.testing.assert_allclose(robot.mass, 1.0)
    assert robot.model.link("b").visuals[0].filename.endswith("gone.stl")
    with pytest.raises(hc.HelicoidError, match=r"gone\.stl"):  # its mass would come from the mesh
        hc.load(text.replace(INERTIAL, ""))


@pytest.mark.parametrize("file", ["self.xml", "nothing.xml", "../../../../../../etc/hostname", "/dev/zero"])
def test_includes_that_cannot_be(file: str, tmp_path: Path) -> None:
    path = tmp_path / "self.xml"
    path.write_text(f'<mujoco><include file="{file}"/></mujoco>')
    with pytest.raises(hc.HelicoidError, match=r"self\.xml"):
        hc.load(path)


BALL = '<mujocoinclude><worldbody><body name="b"><joint/><geom size=".1"/></body></worldbody></mujocoinclude>'


def test_files_elsewhere_are_not_included_unless_their_folder_is_given(tmp_path: Path) -> None:
    """What lies beside the description's folder belongs to it, or all that its package has."""
    package, other = tmp_path / "package", tmp_path / "other"
    for folder in (package / "robots" / "arm", package / "parts", other):
        folder.mkdir(parents=True)
    path = package / "robots" / "arm" / "main.xml"
    (package / "robots" / "ball.xml").write_text(BALL)
    (package / "parts" / "ball.xml").write_text(BALL)
    (other / "nested.xml").write_text('<mujocoinclude><include file="ball.xml"/></mujocoinclude>')
    (other / "ball.xml").write_text(BALL)

    def names(file: str, packages: dict[str, Path] | None = None) -> list[str]:
        path.write_text(f'<mujoco>\n<include file="{file}"/></mujoco>')
        return hc.load(path, packages=packages).link_names

    assert names("../ball.xml") == ["world", "b"]
    for file in ("../../parts/ball.xml", str(other / "nested.xml")):
        with pytest.raises(hc.HelicoidError, match=r"main\.xml:2: .* is not included: .* packages="):
            names(file)
    assert names("../../parts/ball.xml", {"parts": package / "parts"}) == ["world", "b"]
    assert names(str(other / "nested.xml"), {"other": other}) == ["world", "b"]
    (package / "package.xml").write_text("<package/>")
    assert names("../../parts/ball.xml") == ["world", "b"]
    with pytest.raises(hc.HelicoidError, match=r"main\.xml:2: .* is not included"):
        names("../../../other/ball.xml")


def test_bombs_of_included_files_and_meshes_without_end(tmp_path: Path) -> None:
    (tmp_path / "main.xml").write_text('<mujoco><include file="bomb.xml"/></mujoco>')
    (tmp_path / "bomb.xml").write_text("\n" + BOMBS["replicate"].replace("mujoco>", "mujocoinclude>"))
    with pytest.raises(hc.HelicoidError, match=r"bomb\.xml:2: .*more than"):
        hc.load(tmp_path / "main.xml")
    os.mkfifo(tmp_path / "endless.stl")
    text = ASSETS.replace("gone.stl", str(tmp_path / "endless.stl"))
    with pytest.raises(hc.HelicoidError, match=r"<text>:1: .*endless\.stl is not a regular file"):
        hc.load(f"<mujoco>{text}</mujoco>")


def test_meshes_from_elsewhere_are_a_warning(tmp_path: Path) -> None:
    mesh, folder = tmp_path / "meshes" / "m.obj", tmp_path / "package" / "robots"
    for place in (mesh.parent, folder):
        place.mkdir(parents=True)
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    path = folder / "robot.xml"
    asset = '<compiler meshdir="../../meshes"/><asset><mesh name="m" file="m.obj"/></asset>'
    path.write_text(f"<mujoco>{asset}<worldbody>{BODY.format('')}</worldbody></mujoco>")
    with pytest.warns(hc.DoubtfulModelWarning, match=r"read outside of .*/package, .*: /.*/m\.obj"):
        hc.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hc.load(path, packages={"meshes": mesh.parent}).nv == 1


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to three attributes, elements or characters replaced."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.randrange(5)
        values, elements = list(re.finditer(r'"([^"]*)"', text)), list(re.finditer(r"<\w+[^<>]*/>", text))
        if kind == 0 and text:
            at = rng.randrange(len(text))
            text = text[:at] + text[at + rng.randrange(1, 30) :]
        elif kind == 1 and elements:
            one, at = rng.choice(elements).group(), rng.choice(elements).start()
            text = text[:at] + one * rng.choice([1, 2]) + text[at:]
        elif values:
            value = rng.choice(values)
            text = text[: value.start(1)] + rng.choice(WORDS) + text[value.end(1) :]
    return text


def sweep(seeds: range) -> int:
    """Load a mutated text for each seed; the number of robots."""
    robots = 0
    for seed in seeds:
        try:
            robots += hc.load(mutated(RICH, random.Random(seed))).nv > 0
        except hc.HelicoidError:
            continue
    return robots


@pytest.mark.filterwarnings("ignore")
def test_mutated_texts() -> None:
    assert 5 < sweep(range(60)) < 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_mutated_texts() -> None:
    assert sweep(range(1000, 4000)) > 300
