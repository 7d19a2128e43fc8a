# SPDX-License-Identifier: Apache-2.0
"""A real Chromium without a window, driven over its debugging protocol.

The protocol goes through two pipes, as JSON that ends with a zero byte: no port, no library.
"""

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.processes import dies_with_its_parent
from tests.servers.skipping import skip_without

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SECONDS_TO_STOP = 20
_AS_3_AND_4 = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)


class PageFailed(Exception):
    """The browser refused a command, or a script on the page threw an error."""


class Browser:
    """One page. `complaints` are the errors and warnings of its console, in order."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[Mapping[str, Any]] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Open a page and wait until all of it is loaded."""
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(one["method"] == "Page.loadEventFired" for one in self._events):
            self._take(self._receive())

    def evaluate(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise PageFailed(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release a key, as `press("Tab", 9)`; of Enter the character comes with it."""
        text = {"text": "\r"} if key == "Enter" else {}
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window in pixels, and which colours its user prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, *, run: bool) -> None:
        """Whether the scripts of pages run, from the next page on; those of a test always do."""
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def processor_seconds(self) -> float:
        """How long the page's thread has worked since it began."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in metrics}["ThreadTime"]

    def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        """Give a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        content = memoryview(json.dumps(message).encode() + b"\0")
        while content:
            content = content[os.write(self._commands, content) :]
        while (answer := self._receive()).get("id") != self._number:
            self._take(answer)
        if "error" in answer:
            raise PageFailed(f"{method}: {answer['error']}")
        return answer["result"]

    def _receive(self) -> Mapping[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise PageFailed("the browser has ended")
            self._rest += more
        whole, _, self._rest = self._rest.partition(b"\0")
        return json.loads(whole)

    def _take(self, event: Mapping[str, Any]) -> None:
        if "method" not in event:
            return
        self._events.append(event)
        params = event.get("params", {})
        match event["method"]:
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(json.dumps(params["args"]))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        skip_without("chromium is missing: apt-get install chromium")
    reads, commands = os.pipe()
    answers, writes = os.pipe()
    with tempfile.TemporaryDirectory(prefix="trueup-chromium-", ignore_cleanup_errors=True) as at:
        process = _start(program, Path(at), reads, writes)
        os.close(reads)
        os.close(writes)
        try:
            yield Browser(commands, answers)
        finally:
            os.close(commands)
            os.close(answers)
            process.terminate()
            process.wait(_SECONDS_TO_STOP)


def _start(program: str, profile: Path, reads: int, writes: int) -> subprocess.Popen[bytes]:
    """Chromium reads commands from file 3, and writes answers to file 4."""
    # Higher numbers first: these two may be 4 and 3 themselves, and one would replace the other.
    reads, writes = (fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (reads, writes))
    words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    words += ["--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _AS_3_AND_4, str(reads), str(writes), *words, "about:blank"],
            pass_fds=(reads, writes),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=dies_with_its_parent(signal.SIGKILL),
        )
    finally:
        os.close(reads)
        os.close(writes)
