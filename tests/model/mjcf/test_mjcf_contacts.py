"""Exclusions, masks and explicit pairs of MJCF are disabled collision pairs of the robot."""

from __future__ import annotations

import mujoco
import numpy as np

import helicoid as hc

BODY = '<body name="{0}" pos="0 0 {1}"><freejoint/><geom name="{0}" size=".1" {2}/></body>'


def scene(masks: list[str], contact: str = "") -> str:
    bodies = "".join(BODY.format("abcd"[k], k, mask) for k, mask in enumerate(masks))
    return f"<mujoco><worldbody>{bodies}</worldbody><contact>{contact}</contact></mujoco>"


def touching(text: str) -> set[frozenset[str]]:
    """The pairs that MuJoCo finds with all bodies in one place."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos.reshape(-1, 7)[:, :3] = 0.0
    mujoco.mj_forward(model, data)
    bodies = model.geom_bodyid[np.array(data.contact.geom).reshape(-1, 2)]
    return {frozenset(model.body(int(one)).name for one in pair) for pair in bodies}


def test_pairs_that_may_touch_are_those_of_mujoco() -> None:
    masks = ['contype="1" conaffinity="2"', 'contype="2" conaffinity="1"', 'contype="4" conaffinity="0"', ""]
    for contact in ("", '<exclude body1="b" body2="d"/>', '<pair geom1="a" geom2="c"/>'):
        text = scene(masks, contact)
        everything = {frozenset((x, y)) for x in "abcd" for y in "abcd" if x < y}
        assert everything - hc.load(text).model.semantics.disabled == touching(text)
