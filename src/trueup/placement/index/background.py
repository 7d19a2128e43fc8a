# SPDX-License-Identifier: Apache-2.0
"""A background task: runs at intervals, in a thread of its own, while requests are answered."""

import logging
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread

_PAUSE_SECONDS_MAX = 2.0
"""The longest pause, if runs are short."""
_TIME_SHARE_MIN = 0.025
"""The least share of its time that a process spends on the task, if runs are long."""
_EARLIER_MAX = 0.5
"""The share of a pause by which the next run may begin earlier.

PERF: otherwise workers that start together run it at the same moments. With two workers on two
processors, each run then took twice as long, and requests waited for a processor.
"""
_LATE_SECONDS = 3.0
_WAIT_SECONDS_MAX = 10.0

_SWITCH_SECONDS = 0.0001
"""How long this thread may run while requests wait.

PERF: a request waits for its turn four or five times. At the usual half a millisecond each, that is
longer than the rest of the request.
"""

_log = logging.getLogger(__name__)


class BackgroundTask:
    """Runs a function as long as `ask` is called. Safe for several threads.

    After each run there is a pause. The first `ask` after it starts the next run without waiting.
    An `ask` much later waits, which limits the age of the results after an idle time, or where the
    web server lets no other thread run between two requests.
    """

    def __init__(
        self,
        run: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ):
        """`chance` returns a number from 0 to 1."""
        self._run, self._now, self._chance = run, now, chance
        self._lock = Lock()
        self._thread: Thread | None = None
        self._due_at = now() + self._pause_seconds(0.0)
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
            # Requests that need the same resource report the error to their clients.
            _log.warning("%s failed, and will be tried again: %s", self._run.__qualname__, error)
        finally:
            ended = self._now()
            with self._lock:
                took = ended - began
                # PERF: otherwise all requests would wait for the end of each long run.
                self._late_seconds = max(_LATE_SECONDS, 2 * took)
                self._due_at = ended + self._pause_seconds(took)
                self._thread = None

    def _pause_seconds(self, took_seconds: float) -> float:
        """The pause after a run."""
        longest = max(_PAUSE_SECONDS_MAX, took_seconds / _TIME_SHARE_MIN)
        return longest * (1 - _EARLIER_MAX * self._chance())


@contextmanager
def short_turns() -> Iterator[None]:
    """Shorten the turns of this process's threads while the block runs."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
