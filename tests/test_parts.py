"""The parts of the suite are the whole suite, once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parts import parts

files = st.lists(st.text("abc", min_size=1, max_size=4), unique=True, max_size=20)
times = st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(0, 100))


@given(files, st.integers(1, 6), times)
def test_every_file_is_in_one_part(files: list[str], n: int, times: dict[str, float]) -> None:
    groups = parts(files, n, times)
    assert len(groups) == n
    assert sorted(name for group in groups for name in group) == sorted(files)


def test_no_part_is_longer_than_the_mean_and_one_file() -> None:
    times = {str(k): float(k) for k in range(1, 40)}
    sums = [sum(times[name] for name in group) for group in parts(list(times), 4, times)]
    assert max(sums) <= sum(times.values()) / 4 + max(times.values())
