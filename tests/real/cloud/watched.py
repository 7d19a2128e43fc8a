# SPDX-License-Identifier: Apache-2.0
"""`trueup watch` beside a cloud: its rounds, its memory, and whether what it confirms is so."""

import contextlib
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy

from tests.real.cloud.discrepancies import Discrepancy, discrepancies, settled
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.site import program

NAME = "trueup-watch"
ROUND_SECONDS = 30
CONFIRMED_AFTER = timedelta(seconds=60)
_LOOK_SECONDS = 2
# How long before its round is written down an audit may have read.
_AUDIT_SECONDS = timedelta(seconds=20)


@dataclass
class Diary:
    """Each event with its time, in a file, and how often each kind was."""

    file: Path
    counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, text: str = "") -> None:
        line = " ".join(f"{kind}: {text}".split()) if text else kind
        with self._lock, self.file.open("a") as log:
            self.counts[kind] += 1
            log.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")


@dataclass
class Observer:
    """Looks at the cloud and at what the watch remembers, in a thread of its own.

    A confirmed finding is right if, while its round read or since, plain SQL saw the same subject
    wrong while nothing was under way with it. It is judged once.
    """

    cloud: Cloud
    diary: Diary
    planted: dict[str, str] = field(default_factory=dict)
    true: dict[str, str] = field(default_factory=dict)
    false: list[str] = field(default_factory=list)
    memory_kib: list[int] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    sightings: list[dict[str, Any]] = field(default_factory=list)
    # When each finding was seen first, by any round.
    seen: dict[str, datetime] = field(default_factory=dict)
    _snapshots: deque[tuple[datetime, dict[str, Discrepancy]]] = field(
        default_factory=lambda: deque(maxlen=60)
    )
    _stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def _state(self) -> Path:
        return self.cloud.site.state("watch")

    def start_watch(self) -> None:
        environment = self.cloud.site.client_environment | {
            "TRUEUP_NOVA_CONF": str(self.cloud.site.nova_conf)
        }
        words = ("--interval", ROUND_SECONDS, "--listen", "127.0.0.1:0", "--state-dir", self._state)
        command = [program("trueup", "trueup"), "watch", *words]
        self.cloud.processes.start(NAME, command, environment)

    def run(self) -> None:
        try:
            while not self._stopped.wait(_LOOK_SECONDS):
                self.look()
        except Exception as error:
            # Whatever it is: a day that nobody observed has shown nothing.
            self.false.append(f"the observer failed: {error!r}")
            self.diary.note("FALSE", self.false[-1])

    def stop(self) -> None:
        self._stopped.set()

    def look(self) -> None:
        # The database may have been killed: the next look is soon.
        with contextlib.suppress(sqlalchemy.exc.SQLAlchemyError):
            self._snapshots.append((_now(), discrepancies(self.cloud)))
        with contextlib.suppress(FileNotFoundError):
            memory = json.loads((self._state / "watch.json").read_text())["memory"]
            if len(memory["rounds"]) > len(self.rounds):
                self._round(memory)
            self._judge(memory)

    def _round(self, memory: dict[str, Any]) -> None:
        last = memory["rounds"][-1]
        self.memory_kib.append(resident_kib(self.cloud.processes.pid(NAME)))
        self.sightings, self.rounds = memory["sightings"], memory["rounds"]
        for one in self.sightings:
            if one["id"] not in self.seen:
                self.seen[one["id"]] = _moment(one["first_seen"])
                self.diary.note("found", one["id"])
        text = f"{last['state']}, {len(self.sightings)} findings, {last.get('unchecked', 0)} not"
        reason = f" ({last['reason']})" if last.get("reason") else ""
        self.diary.note("round", f"{text} checked, {self.memory_kib[-1]} KiB{reason}")

    def _judge(self, memory: dict[str, Any]) -> None:
        if not self._snapshots or not memory["rounds"]:
            return
        read_at = _moment(memory["rounds"][-1]["at"])
        for one in memory["sightings"]:
            steady = _moment(one["last_seen"]) - _moment(one["first_seen"])
            known = one["id"] in self.true or one["id"] in self.false or one["id"] in self.planted
            if known or steady < CONFIRMED_AFTER or self._snapshots[-1][0] < read_at:
                continue
            self._say_what_is_so(one, read_at)

    def _say_what_is_so(self, one: dict[str, Any], read_at: datetime) -> None:
        since = read_at - _AUDIT_SECONDS
        for at, found in reversed(self._snapshots):
            wrong = {row.subject: row for row in settled(found)}.get(one["uuid"])
            if at >= since and wrong:
                self.true[one["id"]] = str(wrong)
                self.diary.note("Nova's own", f"{one['id']} confirmed; by SQL, {wrong}")
                return
        self.false.append(one["id"])
        self.diary.note("FALSE", f"{one['id']} confirmed; SQL sees nothing wrong")


@contextlib.contextmanager
def observing(cloud: Cloud, diary: Diary) -> Iterator[Observer]:
    observer = Observer(cloud, diary)
    observer.start_watch()
    thread = threading.Thread(target=observer.run)
    thread.start()
    try:
        yield observer
    finally:
        observer.stop()
        thread.join()


def resident_kib(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    assert found, "the watch has ended"
    return int(found[1])


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)
