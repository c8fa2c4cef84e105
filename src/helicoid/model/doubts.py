"""Warnings about a model: statements that are legal but probably not intended."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helicoid.model.model import Model


def doubts(model: Model) -> list[str]:
    """Warnings about statements that are legal in a model but probably not intended.

    >>> from helicoid.model.urdf.reader import read_urdf_text
    >>> doubts(read_urdf_text('<robot name="table"><link name="table"/></robot>'))
    []
    """
    return [f'{what} "{name}": {text}' for what, name, text in located_doubts(model)]


def located_doubts(model: Model) -> Iterator[tuple[str, str, str]]:
    """Each warning with the part that it is about: ("link" or "joint", name, text)."""
    for link in model.links:
        for text in link.inertia.doubts() if link.inertia is not None else ():
            yield "link", link.name, text
    carried = [body.inertia.mass for body in model.bodies]
    for i, body in reversed(list(enumerate(model.bodies))):
        if body.parent >= 0:
            carried[body.parent] += carried[i]
    for body, mass in zip(model.bodies, carried, strict=True):
        if mass == 0.0:
            yield "link", body.name, "it moves, but neither it nor anything that it carries has mass"
        elif body.inertia.mass == 0.0 and not np.any(body.joint.armature):
            yield "link", body.name, "it moves but has no mass"
    for joint in model.joints:
        if joint.limits is not None and joint.type.nv > 0:
            for quantity in ("velocity", "effort"):
                spring = quantity == "effort" and np.any(joint.stiffness)  # a passive joint
                if np.any(getattr(joint.limits, quantity) == 0.0) and not spring:
                    yield "joint", joint.name, f"its {quantity} limit is 0, which forbids any; kept as stated"
            if np.any(joint.limits.lower == joint.limits.upper):
                yield "joint", joint.name, "its lower and upper limits are equal; kept as stated"
