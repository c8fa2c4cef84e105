"""A headless Chromium, driven through its DevTools protocol: just enough to look at a page and click."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = (
    *(
        "--headless",
        "--no-sandbox",
        "--no-first-run",
        "--remote-debugging-port=0",
        "--remote-allow-origins=*",
    ),
    *("--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Page:
    """One tab. `errors` collects what the console and uncaught exceptions complain of."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._number = socket, 0
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif message["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str([value.get("value") or value for value in params["args"]]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url: str, width: int = 640, height: int = 420, scale: float = 1.0) -> None:
        """A page; a scale below 1 gives fewer pixels, which are drawn the faster."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        options = {"returnByValue": True, "awaitPromise": True}
        result = self.call("Runtime.evaluate", expression=expression, **options)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, condition: str | Callable[[], bool], seconds: float = 60.0) -> None:
        """Until a JavaScript expression or a Python function is true."""
        end = time.monotonic() + seconds
        while not (self.evaluate(condition) if isinstance(condition, str) else condition()):
            assert time.monotonic() < end, f"waited in vain for {condition}; console: {self.errors}"
            time.sleep(0.1)

    def png(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def pixels(self) -> NDArray[np.int16]:
        """The picture, (height, width, 3)."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.png())).convert("RGB"), dtype=np.int16)

    def click(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({selector!r}).click()")

    def press(self, key: str, times: int = 1) -> None:
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


@contextmanager
def browser() -> Iterator[Page]:
    """A tab of a Chromium of its own, with a profile of its own; both are gone afterwards."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(prefix="helicoid-chromium-", ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            port = _port(Path(profile) / "DevToolsActivePort")
            with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            with connect(tabs[0]["webSocketDebuggerUrl"], max_size=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            process.wait(timeout=20)


def _port(file: Path) -> str:
    end = time.monotonic() + 30
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < end, "Chromium did not start"
        time.sleep(0.05)
    return file.read_text().split()[0]
