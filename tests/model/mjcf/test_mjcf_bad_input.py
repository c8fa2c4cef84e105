"""Bad MJCF: an error of ours or a robot, for bombs, missing files, odd includes and mutated texts."""

from __future__ import annotations

import random
import re
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


@pytest.mark.parametrize("file", ["self.xml", "nothing.xml", "../../../../../../etc/hostname"])
def test_includes_that_cannot_be(file: str, tmp_path: Path) -> None:
    path = tmp_path / "self.xml"
    path.write_text(f'<mujoco><include file="{file}"/></mujoco>')
    with pytest.raises(hc.HelicoidError, match=r"self\.xml"):
        hc.load(path)


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
