# SPDX-License-Identifier: Apache-2.0
"""The notification hook: a command that gets news as JSON. It never stops the watching."""

import os
import shlex
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from trueup.reconcile.report.audit_document import moment
from trueup.reconcile.verdicts import Severity
from trueup.reconcile.watch.memory import Memory, News, Sighting

FORMAT = 1
HOOK_SECONDS = 30.0
_WORDS_MAX = 300


@dataclass(frozen=True, slots=True)
class Hook:
    """A command, as a shell splits it into words; no shell runs it."""

    command: tuple[str, ...]
    seconds: float = HOOK_SECONDS

    def run(self, document: dict[str, Any]) -> str:
        """Give the command a document. Returns why that failed; empty if it worked."""
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"it cannot be started: {error}"
        try:
            _, output = process.communicate(msgspec.json.encode(document) + b"\n", self.seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"it did not end within {self.seconds:g} s, and was killed"
        except BaseException:
            _kill(process)
            raise
        if not process.returncode:
            return ""
        words = " ".join(output.decode(errors="replace").split())[:_WORDS_MAX]
        return f"it ended with {process.returncode}" + (f": {words}" if words else "")


def hook_of(text: str) -> Hook:
    """The hook of a command line. Raises ValueError for an invalid one."""
    words = shlex.split(text)
    if not words:
        raise ValueError("it is empty")
    return Hook(tuple(words))


def news_document(memory: Memory, news: News, interval: timedelta) -> dict[str, Any]:
    """What the hook gets: what appeared, what is gone, and how many there are now."""
    last = memory.rounds[-1]
    confirmed = memory.confirmed(interval)
    counts = Counter(sighting.severity for sighting in confirmed)
    return {
        "format": FORMAT,
        "at": moment(last.at),
        "complete": last.state == "complete",
        "unchecked": last.unchecked,
        "findings": len(confirmed),
        "by_severity": {severity.value: counts[severity] for severity in Severity},
        "appeared": [_row(sighting) for sighting in news.appeared],
        "gone": list(news.gone),
    }


def _row(one: Sighting) -> dict[str, Any]:
    return {
        "id": one.id,
        "defect": one.defect,
        "severity": one.severity.value,
        "subject": one.uuid,
        "where": one.where,
        "since": moment(one.since) if one.since else None,
        "first_seen": moment(one.first_seen),
        "returned": one.returned,
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command and its child processes."""
    # It was not waited for, so no other process can have its number.
    with suppress(PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
