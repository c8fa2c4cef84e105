"""A part of the suite, `--part 2/4`: whole files, so that tests that share a build stay together.

Files are dealt out by their processor times in `tests/times.json` (by `--record-times`): the longest
first, each to the part that has least. So parts are the same on every machine. In this order they run, too,
so that with `--dist loadfile`, a file to a process, no process ends long after the others. Times are recorded
with the long sweeps, which take most of them; files that are gone are dropped.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

TIMES = Path(__file__).with_name("times.json")
_SECONDS_OF_AN_UNKNOWN_FILE = 2.0
_STARTED = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="run one part of the suite only, such as 2/4")
    parser.addoption(
        "--record-times", action="store_true", help=f"write the files' processor times to {TIMES.name}"
    )


def file_of(nodeid: str) -> str:
    return nodeid.split("::")[0]


def parts(files: list[str], n: int, times: dict[str, float]) -> list[set[str]]:
    """The files of each of n parts."""
    groups: list[set[str]] = [set() for _ in range(n)]
    sums = [0.0] * n
    seconds = {name: times.get(name, _SECONDS_OF_AN_UNKNOWN_FILE) for name in files}
    for name in sorted(files, key=lambda name: (-seconds[name], name)):
        least = sums.index(min(sums))
        groups[least].add(name)
        sums[least] += seconds[name]
    return groups


def known_times() -> dict[str, float]:
    times: dict[str, float] = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    return times


def pytest_configure(config: pytest.Config) -> None:
    config.option.loadscopereorder = False  # xdist's own: the file with most tests first


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    times, given = known_times(), config.getoption("--part")
    items.sort(key=lambda item: -times.get(file_of(item.nodeid), _SECONDS_OF_AN_UNKNOWN_FILE))
    if not given:
        return
    try:
        k, n = map(int, given.split("/"))
        assert 1 <= k <= n
    except (ValueError, AssertionError):
        raise pytest.UsageError(f"--part is K/N with K from 1 to N, such as 2/4; got {given!r}") from None
    chosen = parts(sorted({file_of(item.nodeid) for item in items}), n, times)[k - 1]
    config.hook.pytest_deselected(items=[item for item in items if file_of(item.nodeid) not in chosen])
    items[:] = [item for item in items if file_of(item.nodeid) in chosen]


def _processor_time() -> float:
    """Seconds of this process and of its children that ended (compilers, workers), busy machine or not."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_STARTED] = _processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    now = _processor_time()
    report.processor_time = now - item.stash[_STARTED]  # type: ignore[attr-defined]  # xdist sends it along
    item.stash[_STARTED] = now
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--record-times"):
        return
    times = known_times()
    new: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                new[file_of(report.nodeid)] += report.processor_time  # type: ignore[attr-defined]
    times |= {name: round(seconds, 1) for name, seconds in new.items()}
    times = {name: seconds for name, seconds in times.items() if (TIMES.parents[1] / name).exists()}
    TIMES.write_text(json.dumps(dict(sorted(times.items())), indent=1) + "\n", encoding="utf-8")
