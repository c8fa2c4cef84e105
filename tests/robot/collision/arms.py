"""Robots whose links are capsules, written as URDF."""

from __future__ import annotations

import helicoid as hc


def urdf(shapes: list[str], axis: str = "0 1 0", length: float = 0.4) -> str:
    """A chain with one joint between links whose collision elements are given; joints `length` (m) apart."""
    text = ['<robot name="arm">']
    for k, shape in enumerate(shapes):
        text.append(
            f'<link name="link_{k}"><inertial><origin xyz="0 0 {length / 2}"/><mass value="1"/>'
            f'<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>'
        )
        if k:
            at = length if k > 1 else 0.1
            text.append(
                f'<joint name="joint_{k}" type="revolute">'
                f'<parent link="link_{k - 1}"/><child link="link_{k}"/><origin xyz="0 0 {at}"/>'
                f'<axis xyz="{axis}"/>'
                '<limit lower="-2.9" upper="2.9" velocity="4" effort="60"/></joint>'
            )
    return "\n".join([*text, "</robot>"])


def collision(geometry: str, z: float = 0.2) -> str:
    """A collision element at a height above its link's frame."""
    return f'<collision><origin xyz="0 0 {z}"/><geometry>{geometry}</geometry></collision>'


def capsule_arm(links: int = 3) -> hc.Robot:
    """A planar arm of capsules on a ball."""
    rod = collision('<capsule radius="0.05" length="0.3"/>')
    base = collision('<sphere radius="0.08"/>', 0.0)
    return hc.load(urdf([base, *[rod] * links]))
