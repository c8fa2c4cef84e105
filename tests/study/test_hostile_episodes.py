"""Episodes that do to their process what no episode should: each is one row, and no other is lost."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import helicoid as hc
from helicoid.study.results.folder import StudyWarning
from helicoid.workers import child

TIME_LIMIT = 10.0  # s


def hang() -> None:
    while True:
        time.sleep(0.01)


def hang_in_c() -> None:
    """Hold the interpreter's lock for ever."""
    ctypes.PyDLL(None).pause()


def block_all_signals_and_hang() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
    hang()


def ignore_the_alarm_and_hang() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    hang()


def catch_the_alarm_and_hang() -> None:
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    hang()


def fork_and_exit_both() -> None:
    os.fork()
    os._exit(3)


def fork_and_exit_the_first() -> None:
    if os.fork() != 0:
        os._exit(3)


def fork_and_hang_in_the_second() -> None:
    if os.fork() == 0:
        hang()


def fork_and_exit_with_a_second_that_hangs() -> None:
    if os.fork() != 0:
        os._exit(3)
    hang()


def fork_and_hang_in_the_first() -> None:
    if os.fork() != 0:
        hang()


def fork_and_raise_in_both() -> None:
    os.fork()
    raise ValueError("twice")


def fork_and_leave_the_second_by_system_exit() -> None:
    if os.fork() == 0:
        sys.exit(4)


def leave_a_thread() -> None:
    threading.Thread(target=hang, daemon=True).start()


def leave_a_thread_that_is_no_daemon() -> None:
    threading.Thread(target=hang).start()


def close_the_standard_streams() -> None:
    for descriptor in range(3):
        os.close(descriptor)


def write_into_every_file() -> None:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"garbage" * 100)
        except OSError:
            continue


def close_everything_and_hang() -> None:
    os.closerange(0, 1024)
    hang()


def write_a_lot() -> None:
    for _ in range(64):
        os.write(1, bytes(1 << 14) + b"\xff\n")


def overflow() -> None:
    overflow()


def exhaust_memory() -> None:
    np.ones(1 << 50)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
    np.ones(1 << 24)


def limit_processor_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    while True:
        pass


def remove_the_working_directory() -> None:
    place = tempfile.mkdtemp()
    os.chdir(place)
    shutil.rmtree(place)


def change_the_environment() -> None:
    os.environ.clear()
    sys.path.clear()
    sys.argv.clear()


def ignore_all_signals() -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


def leave_the_group() -> None:
    os.setsid()


def raise_this(kind: type[BaseException], *args: Any) -> Callable[[], None]:
    def act() -> None:
        raise kind(*args)

    return act


def send_myself(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


class Unspeakable(Exception):
    """An exception that cannot be written or pickled."""

    def __str__(self) -> str:
        raise RuntimeError

    def __reduce__(self) -> Any:
        raise RuntimeError


class Kind(NamedTuple):
    """A hostile act.

    Args:
        act: what the episode does before it returns its result.
        error: expression for the error of its row; None where it has a result in spite of all.
        ends: whether it ends without a time limit.
    """

    act: Callable[[], Any]
    error: str | None = None
    ends: bool = True


STOPPED = "stopped after 10 s"
KINDS = {
    "raises": Kind(raise_this(ValueError, "no"), "ValueError: no"),
    "raises what cannot be written": Kind(raise_this(Unspeakable), "its message raises"),
    "raises KeyboardInterrupt": Kind(raise_this(KeyboardInterrupt), "KeyboardInterrupt"),
    "raises GeneratorExit": Kind(raise_this(GeneratorExit), "GeneratorExit"),
    "raises StopIteration": Kind(raise_this(StopIteration), "StopIteration"),
    "raises a base exception": Kind(raise_this(BaseException, "odd"), "BaseException: odd"),
    "sys.exit": Kind(lambda: sys.exit(2), "SystemExit: 2"),
    "os._exit": Kind(lambda: os._exit(3), "exited with code 3"),
    "os._exit(0)": Kind(lambda: os._exit(0), "exited with code 0"),
    "kills itself": Kind(send_myself(signal.SIGKILL), "SIGKILL"),
    "terminates itself": Kind(send_myself(signal.SIGTERM), "SIGTERM"),
    "segmentation fault": Kind(send_myself(signal.SIGSEGV), "SIGSEGV"),
    "aborts": Kind(os.abort, "SIGABRT"),
    "an alarm of its own": Kind(lambda: (signal.alarm(1), hang()), "SIGALRM"),
    "stops itself": Kind(send_myself(signal.SIGSTOP), "SIGSTOP"),
    "interrupts itself": Kind(send_myself(signal.SIGINT)),
    "hangs": Kind(hang, STOPPED, ends=False),
    "hangs in C": Kind(hang_in_c, STOPPED, ends=False),
    "blocks all signals and hangs": Kind(block_all_signals_and_hang, STOPPED, ends=False),
    "ignores the alarm and hangs": Kind(ignore_the_alarm_and_hang, STOPPED, ends=False),
    "catches the alarm and hangs": Kind(catch_the_alarm_and_hang, STOPPED, ends=False),
    "forks, both return": Kind(lambda: (os.fork(), None)),
    "forks by C, both return": Kind(lambda: ctypes.CDLL(None).fork()),
    "forks twice": Kind(lambda: (os.fork(), os.fork())),
    "forks, both raise": Kind(fork_and_raise_in_both, "ValueError: twice"),
    "forks, both exit": Kind(fork_and_exit_both, "exited with code 3"),
    "forks, the first exits": Kind(fork_and_exit_the_first, "exited with code 3"),
    "forks, the first exits, the second hangs": Kind(fork_and_exit_with_a_second_that_hangs, "code 3"),
    "forks, the first hangs": Kind(fork_and_hang_in_the_first, STOPPED, ends=False),
    "forks, the second hangs": Kind(fork_and_hang_in_the_second),
    "forks, the second leaves": Kind(fork_and_leave_the_second_by_system_exit),
    "leaves a thread": Kind(leave_a_thread),
    "leaves a thread that is no daemon": Kind(leave_a_thread_that_is_no_daemon),
    "closes the standard streams": Kind(close_the_standard_streams),
    "closes everything": Kind(lambda: os.closerange(3, 1024), "the process "),
    "closes everything and hangs": Kind(close_everything_and_hang, "closed its connection"),
    "writes into every file": Kind(write_into_every_file, "wrote something else into its connection"),
    "writes a lot": Kind(write_a_lot),
    "recursion": Kind(overflow, "RecursionError"),
    "memory": Kind(exhaust_memory, "MemoryError"),
    "limits its memory": Kind(limit_memory, "MemoryError"),
    "limits its processor time": Kind(limit_processor_time, "SIG|stopped after"),
    "removes its working directory": Kind(remove_the_working_directory),
    "changes the environment": Kind(change_the_environment),
    "ignores all signals": Kind(ignore_all_signals),
    "leaves its process group": Kind(leave_the_group, "PermissionError"),
}
RESULTS = {  # instead of a dict of numbers
    "what cannot be pickled": (lambda: {"x": threading.Lock()}, "an episode returns numbers"),
    "no dict": (lambda: [1.0], "an episode returns a dict"),
    "too many numbers": (lambda: {"x": np.zeros(30_000)}, "30,000 numbers"),
    "a name that is taken": (lambda: {"error": 1.0}, "that column is taken"),
}


def make(act: Callable[[], Any], returned: Callable[[], Any] | None = None) -> hc.Study:
    """A study whose second episode is hostile."""

    def episode(case: Any) -> Any:
        if case.index == 1:
            act()
            if returned is not None:
                return returned()
        return {"x": case["mass"] + case.rng.normal()}

    study = hc.Study(episode, seed=2)
    study.vary("mass", hc.study.uniform(1.0, 2.0))
    return study


def check(study: hc.Study, error: str | None, **options: Any) -> None:
    """Three rows, with this error in the second, and the numbers of a study without hostile acts."""
    if error is None:
        table = study.run(3, workers=1, **options)
    else:
        with pytest.warns(StudyWarning, match="1 of 3 episodes failed"):
            table = study.run(3, workers=1, **options)
    assert table["episode"].tolist() == [0, 1, 2]
    quiet = make(lambda: None).run(3, on="here")
    if error is None:
        assert np.array_equal(table["x"], quiet["x"])
        assert table.n_failed == 0
    else:
        assert re.search(error, table[1]["error"])
        assert np.array_equal(table["x"][[0, 2]], quiet["x"][[0, 2]])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "_MAX_STOPPED_TIME", 1.0)
    monkeypatch.setattr(child, "_MAX_DYING_TIME", 1.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("limit", [None, TIME_LIMIT], ids=["no limit", "limit"])
@pytest.mark.parametrize(
    "name",
    [
        name
        if name
        in ("stops itself", "forks, both return", "blocks all signals and hangs", "raises KeyboardInterrupt")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in KINDS
    ],
)
def test_a_hostile_episode_is_one_row(name: str, limit: float | None) -> None:
    kind = KINDS[name]
    if limit is None and not kind.ends:
        pytest.skip("without a time limit an episode may take for ever")
    check(make(kind.act), kind.error, time_limit=limit)


@pytest.mark.parametrize("name", RESULTS)
def test_an_invalid_result_after_a_valid_one_is_one_row(name: str) -> None:
    returned, error = RESULTS[name]
    study = make(lambda: None, returned)
    with pytest.warns(StudyWarning, match="1 of 3 episodes failed"):
        table = study.run(3, on="here")
    assert table["episode"].tolist() == [0, 1, 2]
    assert error in table[1]["error"]


@pytest.mark.slow
def test_many_forks_among_many_episodes_lose_no_row_and_give_none_twice() -> None:
    def episode(case: Any) -> dict[str, float]:
        if case.index % 4 == 1:
            os.fork()
        return {"x": case.index + case.rng.normal()}

    table = hc.Study(episode, seed=1).run(40, workers=2)
    assert table["episode"].tolist() == list(range(40))
    calm = hc.Study(lambda case: {"x": case.index + case.rng.normal()}, seed=1).run(40, on="here")
    assert np.array_equal(table["x"], calm["x"])


def test_no_process_that_an_episode_forked_outlives_the_study(tmp_path: Any) -> None:
    def episode(case: Any) -> dict[str, float]:
        pid = os.fork()
        if pid == 0:
            hang()
        return {"pid": float(pid)}

    table = hc.Study(episode).run(2, workers=1)
    until = time.monotonic() + 60.0
    for pid in table["pid"].astype(int):
        while os.path.exists(f"/proc/{pid}") and not _is_zombie(pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert not os.path.exists(f"/proc/{pid}") or _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def test_workers_have_the_arguments_of_the_main_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--gain", "7"])
    table = hc.Study(lambda case: {"gain": float(sys.argv[2])}).run(2, workers=1)
    assert table["gain"].tolist() == [7.0, 7.0]
