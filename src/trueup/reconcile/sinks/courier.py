# SPDX-License-Identifier: Apache-2.0
"""Couriers: one thread for each sink, so that a slow or lost sink holds nothing up."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition, Thread

from trueup.reconcile.sinks.message import Message, Sink

Say = Callable[[str], None]
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 0.5, 30.0
# When nothing more will come: how often the last messages are tried, and for how long at most.
_LAST_TRIES = 3
_LAST_SECONDS = 30.0


class Couriers:
    """Bring every message to every sink, in order, and try again while a sink does not take it.

    `say` gets a sentence when a sink fails for the first time, and one when messages were lost.
    `again` is what to do about these, in words.
    """

    def __init__(self, sinks: Iterable[Sink], say: Say, subject: str, again: str) -> None:
        self._couriers = [_Courier(sink, say, subject, again) for sink in sinks]

    def send(self, message: Message) -> None:
        for courier in self._couriers:
            courier.send(message)

    def close(self) -> None:
        """Nothing more will come: wait for what is on its way, and say what was lost."""
        for courier in self._couriers:
            courier.end()
        for courier in self._couriers:
            courier.wait()


class _Courier:
    def __init__(self, sink: Sink, say: Say, subject: str, again: str) -> None:
        self._sink, self._say, self._subject, self._again = sink, say, subject, again
        self._waiting: deque[Message] = deque()
        self._changed = Condition()
        self._ended: float | None = None
        self._sent = 0
        self._reason = ""
        # A daemon: Ctrl-C while it waits for a sink ends the command.
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        with self._changed:
            self._waiting.append(message)
            self._changed.notify()

    def end(self) -> None:
        with self._changed:
            self._ended = time.monotonic()
            self._changed.notify()

    def wait(self) -> None:
        try:
            self._thread.join()
        finally:
            if lost := len(self._waiting):
                every = self._sent + lost
                reason = self._reason or "it was not waited for"
                self._say(
                    f"{lost} of {every} messages about {self._subject} did not reach "
                    f"{self._sink.name}: {reason}. {self._again}"
                )

    def _work(self) -> None:
        tries = 0
        while message := self._next():
            try:
                reason = self._sink.send(message)
            except Exception as error:
                # SAFETY: whatever is wrong with a sink, it must not become an error of the run.
                reason = f"{type(error).__name__}: {error}"
            if not reason:
                self._waiting.popleft()
                self._sent += 1
                tries = 0
                continue
            if not self._reason:
                self._say(
                    f"{self._sink.name} fails: {reason}. "
                    "The run continues; the message is sent again."
                )
            self._reason = reason
            tries += 1
            if self._given_up(tries):
                return

    def _next(self) -> Message | None:
        """The message that is to be sent now; None if there is none, and none will come."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended is not None)
            return self._waiting[0] if self._waiting else None

    def _given_up(self, tries: int) -> bool:
        """Whether to stop, after so many tries of a message; else some time has passed."""
        with self._changed:
            if self._ended is None:
                pause = min(_PAUSE_SECONDS * 2.0 ** min(tries - 1, 10), _PAUSE_SECONDS_MAX)
                self._changed.wait_for(lambda: self._ended is not None, pause)
                return False
        if tries >= _LAST_TRIES or time.monotonic() - self._ended > _LAST_SECONDS:
            return True
        time.sleep(_PAUSE_SECONDS)
        return False
