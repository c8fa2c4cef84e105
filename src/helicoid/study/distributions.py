"""Distributions of varied values, drawn for many episodes at once.

A distribution is immutable, with `draw(rng, n)`, which returns n samples along the first axis, and
`described`, its parameters for the record of a study. Means and bounds may be vectors; so are samples then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from helicoid._typing import Array
from helicoid.errors import InputError
from helicoid.study.fingerprint import fingerprint


@runtime_checkable
class Distribution(Protocol):
    """Base of the distributions that `Study.vary` takes."""

    def draw(self, rng: np.random.Generator, n: int) -> Any:
        """Draw n values: (n,) numbers or strings, or (n, k)."""

    @property
    def described(self) -> dict[str, Any]:
        """Description by numbers and strings, for the record of a study."""


@dataclass(frozen=True, eq=False)
class _ContinuousDistribution:
    """Transformation of uniform or normal numbers with parameters `a` and `b`."""

    kind: str
    a: Array
    b: Array
    least: Array
    most: Array

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        a, b = self.a, self.b
        u = rng.random((n, *a.shape))
        if self.kind == "uniform":
            return a + (b - a) * u
        if self.kind == "log_uniform":
            return np.clip(np.exp(np.log(a) + (np.log(b) - np.log(a)) * u), a, b)
        # Inverse CDF of the truncated normal distribution: one uniform number per sample for any bounds.
        from scipy.special import ndtr, ndtri  # imported here: workers start faster

        mean, deviation = a, np.where(b > 0, b, 1.0)
        low, high = ndtr((self.least - mean) / deviation), ndtr((self.most - mean) / deviation)
        z = ndtri(np.clip(low + (high - low) * u, 1e-300, 1 - 1e-16))
        return np.clip(np.where(b > 0, mean + deviation * z, mean), self.least, self.most)

    @property
    def described(self) -> dict[str, Any]:
        parts = {"a": self.a, "b": self.b, "least": self.least, "most": self.most}
        return {"kind": self.kind, **{name: np.asarray(x).tolist() for name, x in parts.items()}}

    def __repr__(self) -> str:
        return f"{self.kind}({self.a.tolist()}, {self.b.tolist()})"


def normal(
    mean: ArrayLike, deviation: ArrayLike, least: ArrayLike = -np.inf, most: ArrayLike = np.inf
) -> Distribution:
    """Normal distribution with a mean and a standard deviation, truncated at `least` and `most`.

    >>> import numpy as np
    >>> masses = normal(2.0, 1.0, least=0.5).draw(np.random.default_rng(0), 1000)
    >>> masses.shape, bool(masses.min() >= 0.5)
    ((1000,), True)
    """
    m, s, low, high = _numbers("normal", mean, deviation, least, most)
    if np.any(s < 0) or not np.all(np.isfinite(m) & np.isfinite(s)):
        raise InputError(
            f"normal needs a finite mean and a standard deviation >= 0; got {mean!r}, {deviation!r}"
        )
    from scipy.special import ndtr

    scale = np.where(s > 0, s, 1.0)
    probability = ndtr((high - m) / scale) - ndtr((low - m) / scale)
    if np.any(np.where(s > 0, probability < 1e-12, (m < low) | (m > high))):
        raise InputError(f"normal: zero probability between {least!r} and {most!r}")
    return _ContinuousDistribution("normal", m, s, low, high)


def uniform(low: ArrayLike, high: ArrayLike) -> Distribution:
    """Uniform distribution from low to high, both finite.

    >>> import numpy as np
    >>> uniform([0.0, 10.0], [1.0, 20.0]).draw(np.random.default_rng(0), 5).shape
    (5, 2)
    """
    a, b = _numbers("uniform", low, high)
    if np.any(a > b) or not np.all(np.isfinite(a) & np.isfinite(b)):
        raise InputError(f"uniform needs finite bounds, low <= high; got {low!r} and {high!r}")
    return _ContinuousDistribution("uniform", a, b, a, b)


def log_uniform(low: ArrayLike, high: ArrayLike) -> Distribution:
    """Log-uniform distribution from low to high, both above 0: for gains, stiffness, friction.

    >>> import numpy as np
    >>> gains = log_uniform(1.0, 100.0).draw(np.random.default_rng(0), 1000)
    >>> bool(8 < np.median(gains) < 12)
    True
    """
    a, b = _numbers("log_uniform", low, high)
    if np.any(a > b) or np.any(a <= 0) or not np.all(np.isfinite(b)):
        raise InputError(f"log_uniform needs 0 < low <= high < inf; got {low!r} and {high!r}")
    return _ContinuousDistribution("log_uniform", a, b, a, b)


@dataclass(frozen=True, eq=False)
class _DiscreteDistribution:
    values: tuple[Any, ...]
    shares: tuple[float, ...]

    def draw(self, rng: np.random.Generator, n: int) -> Any:
        edges = np.cumsum(self.shares)
        which = np.searchsorted(edges / edges[-1], rng.random(n), side="right")
        return np.array(self.values)[np.minimum(which, len(self.values) - 1)]

    @property
    def described(self) -> dict[str, Any]:
        return {"kind": "choice", "values": list(self.values), "shares": list(self.shares)}


def choice(values: Sequence[float | str | bool], shares: Sequence[float] | None = None) -> Distribution:
    """Discrete distribution of values, uniform or with weights; integers are `choice(range(1, 7))`.

    >>> import numpy as np
    >>> print(choice(["rubber", "ice"], shares=[3, 1]).draw(np.random.default_rng(1), 4))
    ['rubber' 'ice' 'rubber' 'ice']
    """
    known = plain_values("choice", values)
    weights = [1.0] * len(known) if shares is None else [float(x) for x in shares]
    if len(weights) != len(known) or min(weights) < 0 or not 0 < sum(weights) < np.inf:
        raise InputError(
            f"choice needs a share >= 0 for each of its {len(known)} values, not all 0; got {shares!r}"
        )
    return _DiscreteDistribution(known, tuple(weights))


@dataclass(frozen=True, eq=False)
class OwnDraw:
    """Distribution by a callable `rng -> value`, called once per episode."""

    call: Callable[[np.random.Generator], Any]

    def draw(self, rng: np.random.Generator, n: int) -> Any:
        return np.array([self.call(rng) for _ in range(n)])

    @property
    def described(self) -> dict[str, Any]:
        return {"kind": "own", "code": fingerprint(self.call)}


def plain_values(name: str, values: Any) -> tuple[Any, ...]:
    """Numbers, booleans or strings of one type, as Python objects.

    Raises:
        InputError: empty, or of another type.
    """
    try:
        known = np.array(list(values))
    except (TypeError, ValueError):
        known = np.array([])
    if known.ndim != 1 or not len(known) or known.dtype.kind not in "biufU":
        raise InputError(
            f"{name} takes a list of numbers, booleans or strings, such as [4, 6, 8]; got {values!r}"
        )
    if known.dtype.kind == "f" and not np.all(np.isfinite(known)):
        raise InputError(f"{name}: all values must be finite; got {values!r}")
    return tuple(known.tolist())


def _numbers(name: str, *given: ArrayLike) -> list[Array]:
    try:
        arrays = [np.asarray(one, dtype=np.float64) for one in given]
        shape = np.broadcast_shapes(*(one.shape for one in arrays))
    except (TypeError, ValueError):
        raise InputError(f"{name} takes numbers, or vectors of one length; got {given}") from None
    if len(shape) > 1 or any(np.isnan(one).any() for one in arrays):
        raise InputError(f"{name} takes numbers, or vectors of one length; got {given}")
    return [np.array(np.broadcast_to(one, shape)) for one in arrays]
