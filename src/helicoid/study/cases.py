"""Cases: the varied values and the random generator of each episode, reproducible by seed and index."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helicoid.errors import InputError
from helicoid.study.distributions import Distribution

_BLOCK = 256  # episodes whose values are drawn together
_EPISODE, _VALUES = 0, 1  # streams of the study's seed


class _Replayed:
    """Objects that an episode, in a batch the first one, stores for `Study.replay`."""

    _kept: dict[str, Any] | None

    @property
    def replaying(self) -> bool:
        """Whether `Study.replay` runs the episode."""
        return self._kept is not None

    def keep(self, **things: Any) -> None:
        """Store objects for `Study.replay`, such as trajectory=...; no effect while a study runs."""
        if self._kept is not None:
            self._kept.update(things)


class Case(_Replayed, Mapping[str, Any]):
    """One episode: `case["mass"]`, `case.index`, `case.rng`, `case.seed`.

    `keep` stores objects for `Study.replay`, such as a trajectory; while a study runs it does nothing.
    """

    def __init__(
        self, study_seed: int, index: int, values: Mapping[str, Any], kept: dict[str, Any] | None
    ) -> None:
        self.index = index
        self._study_seed, self._values, self._kept = study_seed, values, kept
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """Random generator of this episode."""
        if self._rng is None:
            self._rng = np.random.default_rng(_sequence(self._study_seed, _EPISODE, self.index))
        return self._rng

    @property
    def seed(self) -> int:
        """Seed of this episode (63 bits)."""
        state = _sequence(self._study_seed, _EPISODE, self.index).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))

    def __getitem__(self, name: str) -> Any:
        return _known(self._values, name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """Value of this name, or `default` if it is not varied."""
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Case({self.index}: {', '.join(f'{k}={v}' for k, v in self._values.items())})"


class Cases(_Replayed, Sequence[Case]):
    """Batch of episodes: `cases["mass"]` is an array with an entry for each; `cases[k]` is a `Case`."""

    def __init__(
        self, study_seed: int, indices: Any, values: Mapping[str, Any], kept: dict[str, Any] | None = None
    ) -> None:
        self._study_seed, self.indices, self._values, self._kept = study_seed, indices, values, kept

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return _known(self._values, key)
        if isinstance(key, slice):
            return self.chosen(np.arange(len(self))[key])
        index = int(self.indices[key])
        return Case(self._study_seed, index, {n: _plain(v[key]) for n, v in self._values.items()}, self._kept)

    def chosen(self, places: Any) -> Cases:
        """Selection by position; a position may be repeated."""
        values = {name: value[places] for name, value in self._values.items()}
        return Cases(self._study_seed, self.indices[places], values, self._kept)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the varied values."""
        return tuple(self._values)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Cases({len(self)}: {', '.join(self._values)})"


@dataclass(frozen=True)
class Sampler:
    """Values of every episode: random for `varied`, over all combinations for `grids`.

    Values depend on the seed, the index of the episode and the name alone: they are drawn in blocks of
    episodes, from one stream per name and block.
    """

    seed: int
    varied: Mapping[str, Distribution]
    grids: Mapping[str, tuple[Any, ...]]

    @property
    def n_grid(self) -> int:
        """Number of points of the grid; 1 without grids."""
        return int(np.prod([len(values) for values in self.grids.values()], dtype=np.int64))

    def cases(self, indices: Any, kept: dict[str, Any] | None = None) -> Cases:
        """Cases of these episodes."""
        indices = np.asarray(indices, dtype=np.int64)
        values = {name: self._drawn(name, indices) for name in self.varied}
        point = indices % self.n_grid
        for name, options in reversed(list(self.grids.items())):  # the last one changes fastest
            values[name] = np.array(options)[point % len(options)]
            point = point // len(options)
        ordered = {name: values[name] for name in (*self.varied, *self.grids)}
        return Cases(self.seed, indices, ordered, kept)

    def _drawn(self, name: str, indices: Any) -> Any:
        blocks = indices // _BLOCK
        parts, places = [], np.empty(len(indices), dtype=np.int64)
        for k, block in enumerate(np.unique(blocks)):
            stream = _sequence(self.seed, _VALUES, zlib.crc32(name.encode()), int(block))
            drawn = np.asarray(self.varied[name].draw(np.random.default_rng(stream), _BLOCK))
            if drawn.ndim not in (1, 2) or len(drawn) != _BLOCK or drawn.dtype.kind not in "biufU":
                raise InputError(
                    f"vary({name!r}): a value is a number, a word or a vector of numbers; got an array "
                    f"{drawn.shape} of {drawn.dtype} for {_BLOCK} of them"
                )
            own = blocks == block
            places[own] = k * _BLOCK + indices[own] % _BLOCK
            parts.append(drawn)
        return np.concatenate(parts)[places] if parts else np.zeros(0)


def _sequence(seed: int, *key: int) -> np.random.SeedSequence:
    """Seed sequence spawned from that of the study."""
    return np.random.SeedSequence(seed, spawn_key=key)


def _known(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        known = ", ".join(values) or "nothing: use study.vary(name, ...) or study.grid(name, ...)"
        raise InputError(f"nothing called {name!r} varies in this study; there is {known}")
    return values[name]


def _plain(value: Any) -> Any:
    """Python number or string; a vector stays an array."""
    return value.item() if isinstance(value, np.generic) else value
