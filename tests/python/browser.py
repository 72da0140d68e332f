"""A browser that tests can look through: Chromium, if this machine has one, spoken to over a pair of pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")


class Browser:
    """One tab. It collects what its console says."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        start = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", start, "bash", CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._answers: IO[bytes] = os.fdopen(ours_in, "rb")
        self._asked: IO[bytes] = os.fdopen(ours_out, "wb")
        self._number, self._session = 0, ""
        self.said: list[str] = []
        self._loaded: set[str] = set()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime"):
            self.ask(f"{domain}.enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command of the DevTools protocol and waits for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._asked.write(
            json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        self._asked.flush()
        while (answer := self._message()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser ended"
            text += byte
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.said.append(json.dumps(message["params"]))
        if message.get("method") == "Page.lifecycleEvent" and message["params"]["name"] == "load":
            self._loaded.add(message["params"]["loaderId"])
        return message

    def show(self, url: str) -> None:
        """Loads a page."""
        page = self.ask("Page.navigate", url=url)["loaderId"]
        while page not in self._loaded:
            self._message()

    def resize(self, width: int, mode: str) -> None:
        """Makes the window so wide, and light or dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}])

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._answers.close()
        self._asked.close()
