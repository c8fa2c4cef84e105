"""Couplings: a polynomial between coordinates of two joints or lengths of tendons, or one that is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from helicoid._typing import Array
from helicoid.errors import ModelError
from helicoid.model.inertia import frozen_array

if TYPE_CHECKING:
    from helicoid.model.model import Model

_MAX_RESIDUAL = 1e-6  # rad or m, of a coupling whose joints are all locked; a larger one is an error


@dataclass(frozen=True, eq=False)
class Coupling:
    """y - y₀ = Σ c_k (x - x₀)^k of the coordinates or lengths y of `follower` and x of `source` (rad or m).

    A mimic joint is the linear case of joints, which needs no constraint; couplings are for the others.
    Without a `source` y is held at y₀ + c₀.
    """

    name: str
    follower: str
    source: str
    coefficients: Array
    reference: tuple[float, float] = (0.0, 0.0)
    between: Literal["joints", "tendons"] = "joints"

    def __post_init__(self) -> None:
        given = np.atleast_1d(np.asarray(self.coefficients, dtype=np.float64))
        if given.ndim != 1 or not given.size or not np.all(np.isfinite([*given, *self.reference])):
            raise ModelError(
                f"coupling {self.name!r}: coefficients are finite numbers c₀, c₁ ..., got {given}"
            )
        object.__setattr__(self, "coefficients", frozen_array(given, given.shape, "coefficients"))

    @property
    def ends(self) -> tuple[str, ...]:
        """The joints or tendons that it couples."""
        return (self.follower, self.source) if self.source else (self.follower,)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it couples; none where it couples tendons."""
        return self.ends if self.between == "joints" else ()

    def target(self, x: float) -> float:
        """y of a coordinate x of the source."""
        return self.reference[0] + float(np.polyval(self.coefficients[::-1], x - self.reference[1]))


def check_coupling(model: Model, coupling: Coupling) -> None:
    """Refuse a coupling of what does not exist, does not move or has several coordinates."""
    known = {one.name for one in model.tendons}
    for name in set(coupling.ends) - known if coupling.between == "tendons" else ():
        raise ModelError(f"coupling {coupling.name!r}: no tendon is called {name!r}")
    for name in coupling.joints:
        joint = model.joint(name)
        if not joint.type.nq == joint.type.nv == 1:
            raise ModelError(
                f"coupling {coupling.name!r}: joint {name!r} is {joint.type.kind} and has not one coordinate"
            )


def uncut_couplings(model: Model, joints: set[str], tendons: set[str], edit: str) -> tuple[Coupling, ...]:
    """The couplings of joints and tendons that are kept; one with only one end left cannot be."""
    kept = []
    for one in model.couplings:
        known = joints if one.between == "joints" else tendons
        left = [name for name in one.ends if name in known]
        if left and len(left) < len(one.ends):
            raise ModelError(f"{edit} would cut the coupling {one.name!r} of {' and '.join(one.ends)}")
        kept += [one] if left else []
    return tuple(kept)


def still_coupled(couplings: Sequence[Coupling], locked: Mapping[str, float]) -> tuple[Coupling, ...]:
    """The couplings that remain once joints are locked at coordinates: of a locked source, a held joint.

    Raises:
        ModelError: only the other joint of a coupling is locked, or its joints are locked where it does not
            hold.
    """
    remaining = []
    for one in couplings:
        if one.between == "tendons":
            remaining.append(one)
            continue
        if one.source in locked:
            held = one.target(locked[one.source])
            one = replace(one, source="", coefficients=np.array([held]), reference=(0.0, 0.0))
        if one.follower in locked and one.source:
            raise ModelError(
                f"joint {one.follower!r} is coupled to {one.source!r} by {one.name!r}: lock that one with it"
            )
        if one.follower not in locked:
            remaining.append(one)
            continue
        gap = abs(locked[one.follower] - one.target(0.0))
        if gap > _MAX_RESIDUAL:
            raise ModelError(
                f"coupling {one.name!r} would be locked open, by {gap:.3g}: lock its joints where it holds"
            )
    return tuple(remaining)
