"""Robot: a model and the functions made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from helicoid.dynamics import parametric
from helicoid.model import edit
from helicoid.model.inertia import Array
from helicoid.model.model import Model
from helicoid.model.parts import Limits
from helicoid.robot_dynamics import DynamicsFunctions
from helicoid.robot_frames import FrameFunctions


class Robot(DynamicsFunctions, FrameFunctions):
    """A robot: what it is (`model`) and its kinematics and dynamics as `Function`s.

    Every function is called with NumPy vectors, with batches (N, n), or with CasADi expressions.

    >>> import helicoid as hc
    >>> robot = hc.load("double_pendulum")
    >>> robot.mass_matrix(robot.neutral()).shape
    (2, 2)
    """

    @property
    def name(self) -> str:
        """The robot's name in its description."""
        return self.model.name

    @property
    def joint_names(self) -> list[str]:
        """The joints that own coordinates, in the order of q and v."""
        return [joint.name for joint in self.model.independent_joints]

    @property
    def link_names(self) -> list[str]:
        """Every link; each is a frame."""
        return [link.name for link in self.model.links]

    @cached_property
    def limits(self) -> Limits:
        """lower, upper (nq), velocity, effort (nv); infinite where unlimited."""
        ranges = [joint.range for joint in self.model.independent_joints]
        columns = [np.concatenate([np.zeros(0), *(r[k] for r in ranges)]) for k in range(4)]
        for column in columns:
            column.setflags(write=False)
        return Limits(*columns)

    def neutral(self) -> Array:
        """The configuration in which every joint is at its zero."""
        parts = [joint.type.neutral() for joint in self.model.independent_joints]
        return np.concatenate([np.zeros(0), *parts])

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A configuration drawn uniformly within the limits; `rng` may be a seed."""
        generator = np.random.default_rng(rng)
        parts = [
            joint.type.random(generator, joint.range.lower, joint.range.upper)
            for joint in self.model.independent_joints
        ]
        return np.concatenate([np.zeros(0), *parts])

    def __repr__(self) -> str:
        base = "floating" if self.model.floating else "fixed"
        theta = f", theta[{len(self.parameters)}]" if self.selection.groups else ""
        return f"Robot({self.name!r}, nq={self.nq}, nv={self.nv}, {self.n_bodies} bodies, {base} base{theta})"

    # Other robots -------------------------------------------------------------------------------------

    def parametric(self, *groups: str, payload_link: str | None = None) -> Robot:
        """The same robot whose dynamics take one more input, `theta`.

        `groups`: any of "inertia", "friction", "armature", "gravity", "payload", in the order wanted. The
        result's `parameters` holds θ's names and nominal values. A payload is ten inertial parameters in
        the frame of `payload_link` (by default the only tip).

        >>> import helicoid as hc
        >>> robot = hc.load("double_pendulum").parametric("gravity")
        >>> robot.parameters.names
        ('gravity.x', 'gravity.y', 'gravity.z')
        """
        return Robot(self.model, parametric.select(self.model, groups, payload_link))

    def chain(self, root: str, tip: str) -> Robot:
        """The joints between two links, with what is fixed to them; moving side branches are cut."""
        return self._edited(edit.chain(self.model, root, tip))

    def lock(self, positions: Mapping[str, ArrayLike]) -> Robot:
        """Joints frozen at given coordinates; their bodies merge."""
        return self._edited(edit.lock(self.model, positions))

    def with_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> Robot:
        """A body fixed to a link: center of mass (m) and inertia about it (kg·m²) in the link's frame."""
        return self._edited(edit.with_payload(self.model, link, mass, com, inertia))

    def with_parameters(self, pi: ArrayLike) -> Robot:
        """Other inertial parameters, in the order of `parameters`: 10 per moving body."""
        return self._edited(edit.with_parameters(self.model, pi))

    def reroot(self, link: str) -> Robot:
        """The same robot standing on another of its links."""
        return self._edited(edit.reroot(self.model, link))

    def _edited(self, model: Model) -> Robot:
        payload = self.selection.payload_link or None
        return Robot(model, parametric.select(model, self.selection.groups, payload))

    def to_urdf(self, path: str | os.PathLike[str]) -> None:
        """Write the robot as a URDF file; reading it gives the same dynamics."""
        from helicoid.model.urdf_writer import write_urdf

        write_urdf(self.model, path)
