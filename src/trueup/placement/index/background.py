# SPDX-License-Identifier: Apache-2.0
"""A background task: it runs now and then, in a thread of its own, while requests are answered."""

import logging
import time
from collections.abc import Callable
from threading import Lock, Thread

_PAUSE_SECONDS_MIN = 2.0
_TIME_SHARE_MAX = 0.05
"""The share of its time that a process may spend on the task."""
_LATE_SECONDS = 3.0
_WAIT_SECONDS_MAX = 10.0

_log = logging.getLogger(__name__)


class BackgroundTask:
    """Runs a function while somebody asks for its results. Safe for several threads.

    After each run there is a pause. Whoever asks after the pause starts the next run, and does not
    wait for it. Whoever asks much later waits, so that results have a largest age: nobody asked for
    some time, or the web server lets no other thread run between two requests.
    """

    def __init__(self, run: Callable[[], None], now: Callable[[], float] = time.monotonic):
        self._run, self._now = run, now
        self._lock = Lock()
        self._thread: Thread | None = None
        self._due_at = now() + _PAUSE_SECONDS_MIN
        self._late_seconds = _LATE_SECONDS

    def ask(self) -> None:
        """Start a run if it is time for one, and wait for it if it is late."""
        asked_at = self._now()
        if asked_at < self._due_at:
            return
        with self._lock:
            if self._thread is None and asked_at >= self._due_at:
                self._thread = Thread(target=self._run_once, name=__name__, daemon=True)
                self._thread.start()
            thread, is_late = self._thread, asked_at >= self._due_at + self._late_seconds
        if thread is not None and is_late:
            thread.join(_WAIT_SECONDS_MAX)

    def _run_once(self) -> None:
        began = self._now()
        try:
            self._run()
        except Exception as error:
            # Requests that need the same resource report it to their clients.
            _log.warning("%s failed, and will be tried again: %s", self._run.__qualname__, error)
        finally:
            ended = self._now()
            with self._lock:
                took = ended - began
                pause = max(_PAUSE_SECONDS_MIN, took / _TIME_SHARE_MAX)
                # PERF: else all requests would wait for the end of each run that takes as long.
                self._late_seconds = max(_LATE_SECONDS, 2 * took)
                self._due_at = ended + pause
                self._thread = None
