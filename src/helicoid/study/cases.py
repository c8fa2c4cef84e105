"""What an episode is given: its values and random numbers of its own, the same whoever asks and when."""

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


class Case(Mapping[str, Any]):
    """One episode: `case["mass"]`, `case.index`, `case.rng`, `case.seed`.

    `keep` takes what is worth seeing when the episode is run again by `Study.replay`, such as its trajectory;
    while a study runs it does nothing.
    """

    def __init__(
        self, study_seed: int, index: int, values: Mapping[str, Any], kept: dict[str, Any] | None
    ) -> None:
        self.index = index
        self._study_seed, self._values, self._kept = study_seed, values, kept
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of this episode alone."""
        if self._rng is None:
            self._rng = np.random.default_rng(_sequence(self._study_seed, _EPISODE, self.index))
        return self._rng

    @property
    def seed(self) -> int:
        """A seed of this episode alone, for what takes a number (63 bits)."""
        state = _sequence(self._study_seed, _EPISODE, self.index).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))

    @property
    def replaying(self) -> bool:
        """Whether somebody will look at what is kept."""
        return self._kept is not None

    def keep(self, **things: Any) -> None:
        """What `Study.replay` should show, such as trajectory=...; dropped while a study runs."""
        if self._kept is not None:
            self._kept.update(things)

    def __getitem__(self, name: str) -> Any:
        return _known(self._values, name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """The value of this name, or `default` where nothing of the name varies."""
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Case({self.index}: {', '.join(f'{k}={v}' for k, v in self._values.items())})"


class Cases(Sequence[Case]):
    """Many episodes side by side: `cases["mass"]` is an array, an entry for each; `cases[k]` is a `Case`."""

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
        """Some of them, by their places here; a place may be repeated."""
        values = {name: value[places] for name, value in self._values.items()}
        return Cases(self._study_seed, self.indices[places], values, self._kept)

    @property
    def names(self) -> tuple[str, ...]:
        """What varies."""
        return tuple(self._values)

    @property
    def replaying(self) -> bool:
        """Whether somebody will look at what is kept; it is that of the first case."""
        return self._kept is not None

    def keep(self, **things: Any) -> None:
        """As `Case.keep`."""
        if self._kept is not None:
            self._kept.update(things)

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Cases({len(self)}: {', '.join(self._values)})"


@dataclass(frozen=True)
class Sampler:
    """Which values every episode has: drawn for `varied`, in turn for `grids`.

    Values of an episode depend on the seed, its index and the name, and on nothing else: they are drawn in
    blocks of episodes from a stream for each name and block, and what is not asked for is dropped.
    """

    seed: int
    varied: Mapping[str, Distribution]
    grids: Mapping[str, tuple[Any, ...]]

    @property
    def n_grid(self) -> int:
        """Points of the grid: 1 where there is none."""
        return int(np.prod([len(values) for values in self.grids.values()], dtype=np.int64))

    def cases(self, indices: Any, kept: dict[str, Any] | None = None) -> Cases:
        """The cases of these episodes."""
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
    """As if spawned from the study's seed, one after the other."""
    return np.random.SeedSequence(seed, spawn_key=key)


def _known(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        known = ", ".join(values) or "nothing: study.vary(name, ...) and study.grid(name, ...) do that"
        raise InputError(f"nothing called {name!r} varies in this study; there is {known}")
    return values[name]


def _plain(value: Any) -> Any:
    """Python's own number or word; a vector stays an array."""
    return value.item() if isinstance(value, np.generic) else value
