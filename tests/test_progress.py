"""Progress reports: to a terminal, or to a callable."""

from __future__ import annotations

import io
import math
import sys
import threading
import time

import pytest

from helicoid import progress
from helicoid.progress import UNKNOWN, reporting


class Terminal(io.StringIO):
    """A standard error that a person looks at."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, patience: float = 0.0) -> Terminal:
    """The terminal from now on; no fixture, because pytest replaces it between phases."""
    error = Terminal()
    monkeypatch.setattr(progress, "MIN_DURATION", patience)
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setenv("TERM", "xterm")
    return error


def wait_for(text: str, error: io.StringIO) -> bool:
    """Whether a text is seen; given up after many times the time that it takes."""
    end = time.monotonic() + 20
    while text not in error.getvalue() and time.monotonic() < end:
        time.sleep(0.01)
    return text in error.getvalue()


def test_long_work_is_shown_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with reporting(None, "Digging") as tell:
        assert wait_for("Digging", terminal)
        tell("Filling", 0.5)
        assert wait_for("Filling", terminal)


def test_quick_work_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch, patience=1e6)
    with reporting(None, "Digging") as tell:
        tell("Digging", 0.5)
    assert not terminal.getvalue()


def test_progress_is_silent_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MIN_DURATION", 0.0)
    for error in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", error)
        with reporting(None, "Digging") as tell:
            tell("Digging", 0.5)
        assert error is None or not error.getvalue()


def test_true_shows_it_anywhere_and_false_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MIN_DURATION", 0.0)
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    with reporting(True, "Digging"):
        pass
    assert "Digging" in error.getvalue()
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with reporting(False, "Digging") as tell:
        tell("Digging", 0.5)
    assert not terminal.getvalue()


def test_only_the_outermost_bar_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with reporting(None, "Digging"):
        assert wait_for("Digging", terminal)
        with reporting(None, "Resting") as tell:
            tell("Resting", 0.5)
    assert "Resting" not in terminal.getvalue()
    with reporting(None, "Resting"):
        assert wait_for("Resting", terminal)


def test_a_bar_ends_with_work_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    with pytest.raises(KeyboardInterrupt), reporting(None, "Digging"):
        raise KeyboardInterrupt
    with reporting(None, "Digging again"):
        assert wait_for("Digging again", terminal)


def test_a_callable_hears_the_end_of_good_work_only() -> None:
    heard: list[tuple[str, float]] = []
    with reporting(lambda *told: heard.append(told), "Digging") as tell:
        tell("Digging", -0.5)
        tell("Filling", 1.5)
    assert heard == [("Digging", 0.0), ("Filling", 1.0)]
    heard.clear()
    with reporting(lambda *told: heard.append(told), "Digging"):
        pass
    assert heard == [("Digging", 1.0)]
    heard.clear()
    with (
        pytest.raises(ValueError, match="stone"),
        reporting(lambda *told: heard.append(told), "Digging") as tell,
    ):
        tell("Digging", UNKNOWN)
        raise ValueError("stone")
    assert len(heard) == 1 and heard[0][0] == "Digging" and math.isnan(heard[0][1])


def test_a_callable_can_end_the_work() -> None:
    def stop(what: str, done: float) -> None:
        raise InterruptedError(what)

    with pytest.raises(InterruptedError, match="Digging"), reporting(stop, "Digging") as tell:
        tell("Digging", 0.0)


def test_work_without_progress_calls_is_polled() -> None:
    seen = threading.Event()

    def hear(what: str, done: float) -> None:
        if (what, done) == ("Solving, iteration 7", 0.7):
            seen.set()

    with reporting(hear, "Solving", watch=lambda: ("Solving, iteration 7", 0.7)):
        assert seen.wait(20)
