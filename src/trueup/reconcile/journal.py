# SPDX-License-Identifier: Apache-2.0
"""Journal: the append-only record of one run of a plan, on disk before anything is written.

A file of JSON lines: the plan, then for each step what was intended and how it was settled. A run
has the name of its plan, so that applying the same plan again goes on where it stopped.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

import msgspec

from trueup.reconcile.clock import now
from trueup.reconcile.files import sync_folder
from trueup.reconcile.plan import Plan
from trueup.reconcile.steps import Step

Result = Literal["done", "refused"]


@dataclass(eq=False)
class RunUnknown(Exception):
    """There is no journal of that name."""

    run: str
    folder: str


@dataclass(eq=False)
class RunBusy(Exception):
    """Another process is applying the same run."""

    run: str


@dataclass(eq=False)
class JournalDamaged(Exception):
    """A line of a journal is none of ours: what the run did cannot be told."""

    path: str
    line: int
    reason: str


@dataclass(eq=False)
class JournalUnwritable(Exception):
    """The journal's folder cannot be written; without a journal nothing is applied."""

    folder: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """How a step ended. `generation` is the consumer's afterwards (None: it is gone)."""

    step: str
    result: Result
    reason: str = ""
    generation: int | None = None
    provider_generations: dict[str, int] = field(default_factory=dict)


class _Opened(msgspec.Struct, tag="plan"):
    at: datetime
    plan: Plan


class _Intended(msgspec.Struct, tag="intended"):
    at: datetime
    step: str


class _Settled(msgspec.Struct, tag="settled"):
    at: datetime
    settled: Settled


_Entry = _Opened | _Intended | _Settled


class Journal:
    """One run's journal, open for appending; also what it said before."""

    def __init__(self, plan: Plan, file: IO[bytes], entries: tuple[_Entry, ...]) -> None:
        self.plan = plan
        self.run = plan.id
        self.began_at = entries[0].at if entries else now()
        self._file = file
        self._intended = {entry.step for entry in entries if isinstance(entry, _Intended)}
        self._settled = {
            entry.settled.step: entry.settled for entry in entries if isinstance(entry, _Settled)
        }
        # The newest generation of each provider that this run itself has written to.
        self.provider_generations: dict[str, int] = {}
        for settled in self._settled.values():
            self.provider_generations.update(settled.provider_generations)

    def settled(self, step: Step) -> Settled | None:
        return self._settled.get(step.id)

    def was_intended(self, step: Step) -> bool:
        return step.id in self._intended

    @property
    def finished(self) -> bool:
        """Whether every step is done already."""
        return len(self.done) == len(self.plan.steps)

    @property
    def done(self) -> tuple[tuple[Step, Settled], ...]:
        """The steps that were written, in order, each with how it was settled."""
        pairs = ((step, self._settled.get(step.id)) for step in self.plan.steps)
        return tuple((step, ended) for step, ended in pairs if ended and ended.result == "done")

    def intend(self, step: Step) -> None:
        """Put on disk that this step is about to be written."""
        self._append(_Intended(at=now(), step=step.id))
        self._intended.add(step.id)

    def settle(self, settled: Settled) -> None:
        """Put on disk how a step ended."""
        self._append(_Settled(at=now(), settled=settled))
        self._settled[settled.step] = settled
        self.provider_generations.update(settled.provider_generations)

    def _append(self, entry: _Entry) -> None:
        _write(self._file, entry)


@contextmanager
def opened(plan: Plan, folder: Path) -> Iterator[Journal]:
    """The journal of this plan's run, begun or gone on with, for one process at a time.

    Raises RunBusy, JournalUnwritable, JournalDamaged.
    """
    path = _path(folder, plan.id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Unbuffered: nothing is left to be written when the disk is full and the file is closed.
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise JournalUnwritable(str(folder), error.strerror or str(error)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunBusy(plan.id) from error
        entries = _entries(file, path)
        if not entries:
            _write(file, _Opened(at=now(), plan=plan))
            sync_folder(folder)
        yield Journal(plan, file, entries)


def read(run: str, folder: Path) -> Journal:
    """What the journal of a run says, for looking at. Raises RunUnknown, JournalDamaged."""
    path = _path(folder, run)
    if not path.is_file():
        raise RunUnknown(run, str(folder))
    with path.open("rb") as file:
        try:
            entries = _entries(file, path)
        except JournalDamaged as damaged:
            if damaged.line > 1:
                raise
            # What does not begin with a plan never was a journal.
            raise RunUnknown(run, str(folder)) from damaged
        if not entries or not isinstance(entries[0], _Opened):
            raise RunUnknown(run, str(folder))
        return Journal(entries[0].plan, file, entries)


def runs(folder: Path) -> tuple[Journal, ...]:
    """Every run there is a journal of, in the order they began. Raises JournalDamaged."""
    found = []
    for path in folder.glob("*.jsonl"):
        # A run that was killed before its first line was written has done nothing.
        with suppress(RunUnknown):
            found.append(read(path.stem, folder))
    return tuple(sorted(found, key=lambda journal: journal.began_at))


def _path(folder: Path, run: str) -> Path:
    return folder / f"{run}.jsonl"


def _entries(file: IO[bytes], path: Path) -> tuple[_Entry, ...]:
    """The entries; a last line without its end was being written when the process died: no entry.

    It is cut off, so that what is appended next stands on a line of its own.
    """
    file.seek(0)
    content = file.read()
    whole, _, half = content.rpartition(b"\n")
    if half and file.writable():
        file.truncate(len(content) - len(half))
    lines = whole.split(b"\n") if whole else []
    return tuple(_entry(line, path, number) for number, line in enumerate(lines, 1))


def _entry(line: bytes, path: Path, number: int) -> _Entry:
    try:
        entry: _Entry = msgspec.json.decode(line, type=_Entry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalDamaged(str(path), number, str(error)) from error
    return entry


def _write(file: IO[bytes], entry: _Entry) -> None:
    line = msgspec.json.encode(entry) + b"\n"
    try:
        while line:
            line = line[file.write(line) :]
        # SAFETY: on disk before the call goes out, so that a crash never leaves an unknown write.
        os.fsync(file.fileno())
    except OSError as error:
        raise JournalUnwritable(
            str(Path(file.name).parent), error.strerror or str(error)
        ) from error
