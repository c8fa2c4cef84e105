"""Diagnosis of wrenches: the other sign, forces first, world axes, a sensor that is turned against its link.

Whatever a sensor carries, its readings (n, f) are Y(q, v, a) π with some π of positive mass, and a constant
offset in each channel. Readings in another convention are not: no π explains them, or only one of negative
mass. The description of the bodies is not used, so that an unknown load does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from helicoid._typing import Array
from helicoid.geometry import so3
from helicoid.identification.diagnosis.candidate import Candidate
from helicoid.identification.diagnosis.evidence import LoggedMotion, some_motion
from helicoid.identification.linear.equations.elastic_columns import elastic_wrench
from helicoid.identification.logs.preparation import Samples
from helicoid.robot import Robot

_MIN_SAMPLES = 20
_MAX_PLAUSIBLE_RESIDUAL = 0.35  # of the variation of the readings of a correct log
_MAX_RESIDUAL, _MAX_RATIO = 0.3, 0.5  # of a hypothesis: of the variation, and to that of the log as given
_MIN_MASS = 0.3  # fraction of the variation of the force that the mass explains, for its sign to count
_RESIDUAL_TIE = 1.3, 0.02  # ratio and difference within which the simplest hypothesis is taken
_RANK_TOLERANCE = 1e-6


class _Hypothesis(NamedTuple):
    """Convention of readings: sign, order of moment and force, axes. `turn` (3, 3) maps to the link's."""

    sign: float
    forces_first: bool
    world: bool
    turn: Array

    @property
    def free(self) -> int:
        """Number of departures from the convention; a turned sensor counts most."""
        turned = not np.array_equal(self.turn, np.eye(3))
        return int(self.sign < 0) + int(self.forces_first) + int(self.world) + 3 * int(turned)

    def texts(self) -> Iterator[str]:
        """Description of the error, and its remedy."""
        if self.forces_first:
            yield "has its forces first: give the moment, then the force, w[:, [3, 4, 5, 0, 1, 2]]"
        if self.sign < 0:
            yield (
                "has the other sign, that of the load's wrench on the arm: multiply it by -1, the log takes "
                "the wrench that carries the load"
            )
        if self.world:
            yield "is in world axes: rotate it into those of the link, n @ R and f @ R, R of robot.pose"
        if not np.array_equal(self.turn, np.eye(3)):
            rotation = so3.log(self.turn)
            angle = float(np.linalg.norm(rotation))
            axis = ", ".join(f"{x:.2g}" for x in np.round(rotation / angle, 2) + 0.0)
            yield (
                f"is in axes turned by {np.degrees(angle):.0f}° about ({axis}) of the link: describe the "
                "sensor's frame by robot.with_frame, and give the wrench under its name"
            )


def diagnose_wrenches(robot: Robot, links: Sequence[str], stretches: Sequence[Samples]) -> Candidate | None:
    """The simplest of the hypotheses that explain the readings of each sensor; None for plausible ones."""
    motion = some_motion(stretches)
    if len(motion.q) < _MIN_SAMPLES:
        return None
    wrong = {}
    for k, link in enumerate(links):
        found = _Readings(robot, link, motion, motion.tau[:, 6 * k : 6 * k + 6]).diagnosed()
        if found is not None:
            wrong[link] = found
    if not wrong:
        return None
    texts = [f"the wrench of {link!r} {text}" for link, one in wrong.items() for text in one.texts()]
    return Candidate("wrench", tuple(wrong), 0.0, "; ".join(texts), sum(one.free for one in wrong.values()))


class _Fit(NamedTuple):
    """Residual, relative to the variation of the readings, and the part that the mass has in the force."""

    residual: float
    mass: float


class _Readings:
    """Readings (N, 6) of one sensor during a motion, and the equations of what it carries."""

    def __init__(self, robot: Robot, link: str, motion: LoggedMotion, w: Array) -> None:
        Y = np.asarray(robot.wrench_regressor(link)(motion.q, motion.v, motion.a))
        carried = np.any(Y != 0, axis=(0, 1))
        self._masses = (np.arange(Y.shape[2]) % 10 == 0)[carried]
        self._Y = Y[:, :, carried] - Y[:, :, carried].mean(axis=0)  # beside a constant offset
        self._R = np.asarray(robot.pose(link)(motion.q))[:, :3, :3]
        known = elastic_wrench(robot, (link,), motion.q, motion.v)
        self._known = np.zeros_like(w) if known is None else known
        self._w = w

    def diagnosed(self) -> _Hypothesis | None:
        """The hypothesis on these readings, None where they are plausible as given."""
        given = _Hypothesis(1.0, False, False, np.eye(3))
        now = self._fits([given])[0]
        if now.residual < _MAX_PLAUSIBLE_RESIDUAL and now.mass > -_MIN_MASS:
            return None
        bound = _MAX_RESIDUAL if now.mass < -_MIN_MASS else min(_MAX_RESIDUAL, _MAX_RATIO * now.residual)
        tried = list(_hypotheses())
        good = [
            (fit.residual, one)
            for fit, one in zip(self._fits(tried), tried, strict=True)
            if fit.residual < bound and fit.mass > _MIN_MASS
        ]
        if not good:
            return None
        ratio, more = _RESIDUAL_TIE
        least = min(residual for residual, _ in good)
        alike = [pair for pair in good if pair[0] < ratio * least + more]
        return min(alike, key=lambda pair: (pair[1].free, pair[0]))[1]

    def _fits(self, hypotheses: Sequence[_Hypothesis]) -> list[_Fit]:
        """Least squares for each; readings of one order and kind of axes share their factors."""
        factors: dict[tuple[bool, bool], tuple[Array, Array, Array]] = {}
        found = []
        for one in hypotheses:
            y = self._in_link(one)
            key = one.forces_first, one.world
            if key not in factors:
                factors[key] = self._factor(y)
            weights, U, solution = factors[key]
            b = (y * weights).ravel()
            x = solution @ b
            size = max(float(np.linalg.norm(b)), 1e-300)
            residual = float(np.linalg.norm(b - U @ (U.T @ b))) / size
            weight = self._Y[:, 3:, self._masses] @ x[self._masses]
            share = float(np.sum(weight * y[:, 3:])) / max(float(np.sum(y[:, 3:] ** 2)), 1e-300)
            found.append(_Fit(residual, np.sign(x[self._masses].sum()) * abs(share)))
        return found

    def _in_link(self, one: _Hypothesis) -> Array:
        """Variation of the readings (N, 6) in the convention of a log, if they were given so."""
        w = self._w[:, [3, 4, 5, 0, 1, 2]] if one.forces_first else self._w
        n, f = (part @ one.turn.T for part in (w[:, :3], w[:, 3:]))
        if one.world:
            n, f = (np.einsum("nij,ni->nj", self._R, part) for part in (n, f))
        y = one.sign * np.hstack([n, f]) - self._known
        return np.asarray(y - y.mean(axis=0))

    def _factor(self, y: Array) -> tuple[Array, Array, Array]:
        """Weights of the channels, an orthonormal basis of the weighted columns, and their pseudo-inverse."""
        sizes = [np.sqrt(np.mean(y[:, part] ** 2)) for part in (slice(3), slice(3, 6))]
        weights = np.repeat([1.0 / max(float(size), 1e-12) for size in sizes], 3)
        A = (self._Y * weights[:, None]).reshape(-1, self._Y.shape[2])
        scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
        kept = s > _RANK_TOLERANCE * s[0]
        U, s, Vt = U[:, kept], s[kept], Vt[kept]
        return weights, U, (Vt.T / s @ U.T) / scale[:, None]


def _hypotheses() -> Iterator[_Hypothesis]:
    for sign, forces_first in product((1.0, -1.0), (False, True)):
        yield _Hypothesis(sign, forces_first, True, np.eye(3))
        for turn in _quarter_turns():
            yield _Hypothesis(sign, forces_first, False, turn)


def _quarter_turns() -> Iterator[Array]:
    """The 24 rotations that map axes to axes."""
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            turn = np.diag(signs)[list(order)]
            if np.linalg.det(turn) > 0:
                yield turn
