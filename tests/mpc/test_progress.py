"""The line about a solution that takes long."""

from __future__ import annotations

import io
import sys
import time

import pytest

from helicoid.mpc import progress


class Terminal(io.StringIO):
    """A standard error that a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("kind", "seen"), [(Terminal, True), (io.StringIO, False)])
def test_only_a_terminal_sees_it(
    monkeypatch: pytest.MonkeyPatch, kind: type[io.StringIO], seen: bool
) -> None:
    error = kind()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress(lambda: "(iteration 7)"):
        end = time.monotonic() + 300
        while seen and "iteration 7" not in error.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert ("solving (iteration 7)" in error.getvalue()) is seen


def test_what_is_quick_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Terminal()
    monkeypatch.setattr(sys, "stderr", error)
    with progress.progress(lambda: "(iteration 7)"):
        pass
    assert not error.getvalue()
