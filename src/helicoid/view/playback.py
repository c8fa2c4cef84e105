"""Playback controls in a viser panel: play and pause, time, speed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

_FRAME_TIME = 1 / 60  # s between two frames
_SPEEDS = {"0.1×": 0.1, "0.25×": 0.25, "0.5×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0}


class Playback:
    """Controls of time between `start` and `end` (s); `show(t)` is called with each new time.

    A separate thread advances the time after `play(True)`, until `close`.
    """

    def __init__(self, gui: Any, start: float, end: float, show: Callable[[float], None]) -> None:
        self._start, self._end, self._show = start, end, show
        self._playing, self._closed = threading.Event(), threading.Event()
        self._lock = threading.RLock()  # after a pause returns, the time is not advanced any more
        self._button = gui.add_button("play")
        step = max((end - start) / 1000, 1e-6)
        self._slider = gui.add_slider("time (s)", start, max(end, start + step), step, start)
        self._speed = gui.add_dropdown("speed", tuple(_SPEEDS), initial_value="1×")
        self._loop = gui.add_checkbox("loop", True)
        self._button.on_click(lambda _: self.play(not self._playing.is_set()))
        self._slider.on_update(self._on_update)
        self._thread = threading.Thread(target=self._run, name="helicoid playback", daemon=True)
        self._thread.start()

    @property
    def time(self) -> float:
        """Current time (s)."""
        return float(self._slider.value)

    def play(self, on: bool) -> None:
        """Play from the current time (from the start if at the end), or pause."""
        with self._lock:
            if on and self.time >= self._end:
                self._slider.value = self._start
            self._button.label = "pause" if on else "play"
            (self._playing.set if on else self._playing.clear)()

    def close(self) -> None:
        """Stop the playback thread."""
        self._closed.set()
        self._playing.set()
        self._thread.join()

    def _on_update(self, event: Any) -> None:
        if event.client is not None:  # None: moved by the playback thread
            self.play(False)
            self._show(self.time)

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._closed.is_set():
            if not self._playing.is_set():
                self._playing.wait()
                last = time.perf_counter()
                continue
            now = time.perf_counter()
            with self._lock:
                if self._playing.is_set() and not self._closed.is_set():
                    self._advance(now - last)
            last = now
            time.sleep(max(0.0, _FRAME_TIME - (time.perf_counter() - now)))

    def _advance(self, elapsed: float) -> None:
        t = min(self.time + elapsed * _SPEEDS[self._speed.value], self._end)
        self._slider.value = t
        self._show(t)
        if t >= self._end and self._loop.value:
            self._slider.value = self._start
        elif t >= self._end:
            self.play(False)


def sample(times: np.ndarray, t: float) -> int:
    """Index of the last sample at or before t."""
    return int(np.clip(np.searchsorted(times, t + 1e-9, side="right") - 1, 0, len(times) - 1))
