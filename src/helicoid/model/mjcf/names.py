"""Unique names for the links and joints of a compiled model, also where MJCF has none."""

from __future__ import annotations

from typing import Any


class Names:
    """Unique names; the elements that MJCF names keep their names, others are called after their body.

    Links, sites and the links between the joints of a body share one set of names, as all are frames.
    """

    def __init__(self, model: Any) -> None:
        own = [model.body(i).name for i in range(model.nbody)]
        self._named = {model.site(i).name for i in range(model.nsite)} - {"", *own}
        self._frames = {*own, *self._named}
        self.bodies = [name or self.frame(f"body_{i}") for i, name in enumerate(own)]
        own = [model.joint(i).name for i in range(model.njnt)]
        self._joints = set(own)
        of_body = [self.bodies[i] for i in model.jnt_bodyid]
        self.sites: list[str] = []  # in the order of the compiled model, once the reader has named them
        self.joints = [name or self.joint(f"{body}_joint") for name, body in zip(own, of_body, strict=True)]

    def frame(self, base: str) -> str:
        """A name for one more frame: `base`, numbered where a frame has that name already."""
        return fresh(base, self._frames)

    def joint(self, base: str) -> str:
        """A name for one more joint: `base`, numbered where a joint has that name already."""
        return fresh(base, self._joints)

    def site(self, name: str, body: str) -> str:
        """The frame of a site: its name, with `_site` where a body has the same."""
        if name in self._named:
            return name
        return self.frame(f"{name or body}_site")


def fresh(base: str, taken: set[str]) -> str:
    """`base`, numbered where it is taken; it then is."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
