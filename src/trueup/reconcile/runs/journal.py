# SPDX-License-Identifier: Apache-2.0
"""Journal: the append-only record of one run, on disk before anything is written.

A file of JSON lines: the plan and who applies it, then for each step its intent, its outcome, and
the run that took it back, and who else went on with it. Each line has a digest of all entries up to
its own, so that an edited journal is detected. `journals` handles folders of journals.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import IO, Literal

import msgspec

from trueup.reconcile.clock import now
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step, Version, at_versions

FORMAT = 1
DIGEST_LENGTH = 16
# unknown: whether the write was made is not known yet; a later run or an undo finds out.
Result = Literal["done", "refused", "unknown"]


@dataclass(eq=False)
class JournalDamaged(Exception):
    """A line of a journal is damaged or was edited, so what the run did is not known."""

    path: str
    line: int
    reason: str


@dataclass(eq=False)
class JournalFormatUnknown(Exception):
    """The journal was written by another version of Trueup."""

    path: str
    found: int
    known: int


@dataclass(eq=False)
class JournalUnwritable(Exception):
    """The journal's folder cannot be written; without a journal nothing is applied."""

    folder: str
    reason: str


@dataclass(frozen=True, slots=True)
class Approval:
    """A signature of a plan: a principal of the allowed signers, and the key's fingerprint."""

    by: str
    key: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The account and the host that began a run, the endpoint of Placement, and who approved it.

    `unattended`: `trueup watch --repair` began it, and no person.
    """

    user: str = ""
    host: str = ""
    endpoint: str = ""
    approvals: tuple[Approval, ...] = ()
    unattended: bool = False

    @property
    def account(self) -> str:
        """The account and the host, as `operator@controller`."""
        return "@".join(filter(None, (self.user, self.host)))


# Nothing is known yet.
NOBODY = Origin()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended. `versions` are the versions that its changes left behind.

    `target` is the target whose write was not accepted: kind and uuid, as `port-binding:0c72…`.
    `contested`: the change is in place, but whether this run or another client made it is not
    known. `partly`: the step is refused, and a part of it was written that can never be taken back.
    `left`: the targets, as in `target`, that were written and that a service did not take back.
    """

    step: str
    result: Result
    reason: Reason | None = None
    versions: tuple[Version, ...] = ()
    request_ids: tuple[str, ...] = ()
    target: str = ""
    contested: bool = False
    partly: bool = False
    left: tuple[str, ...] = ()


StepOutcome = tuple[Step, Outcome]


def is_lost(outcome: Outcome) -> bool:
    """Whether the run wrote the step before, and the cloud is not as it left it."""
    return outcome.reason is not None and outcome.reason.name == "written-before-lost"


def done_by_reason(outcomes: Iterable[StepOutcome]) -> dict[str, bool]:
    """For each reason of a step, such as a finding: whether every step for it is done."""
    done: dict[str, bool] = {}
    for step, outcome in outcomes:
        for reason in step.because:
            done[reason] = done.get(reason, True) and outcome.result == "done"
    return done


class _Opened(msgspec.Struct, tag="plan"):
    format: int
    at: datetime
    run: str
    origin: Origin
    plan: Plan


class _Intended(msgspec.Struct, tag="intended", omit_defaults=True):
    at: datetime
    step: str
    # The version of each change, where a refusal named another version than the plan.
    versions: tuple[Version, ...] | None = None


class _Recorded(msgspec.Struct, tag="recorded"):
    at: datetime
    outcome: Outcome


class _TakenBack(msgspec.Struct, tag="taken-back"):
    at: datetime
    step: str
    by: str
    versions: tuple[Version, ...]


class _GoneOn(msgspec.Struct, tag="gone-on"):
    at: datetime
    origin: Origin


class _Line(msgspec.Struct):
    digest: str
    entry: msgspec.Raw


class _Header(msgspec.Struct):
    type: str
    format: int


Entry = _Opened | _Intended | _Recorded | _TakenBack | _GoneOn


class Journal:
    """The journal of one run, open for appending or only for reading."""

    def __init__(self, file: IO[bytes], opened: _Opened, digest: str) -> None:
        self.plan = opened.plan
        self.run = opened.run
        self._origins = [opened.origin]
        self.began_at = opened.at
        self.ended_at = opened.at
        self._file = file
        self._digests = [digest]
        self._failure: JournalUnwritable | None = None
        self._lock = Lock()
        self._intended: dict[str, datetime] = {}
        self._sent: dict[str, tuple[Version, ...]] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._outcome_times: dict[str, datetime] = {}
        self._taken_back: dict[str, _TakenBack] = {}
        # How many lines there were when somebody last began a step of it, or went on with it.
        self.lines_of_own = 1

    @property
    def origin(self) -> Origin:
        """Who applied it last, or applies it."""
        return self._origins[-1]

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Who began it, and who went on with it, in order."""
        return tuple(self._origins)

    @property
    def unattended(self) -> bool:
        """Whether it was begun, or went on, without a person."""
        return any(origin.unattended for origin in self._origins)

    @property
    def digests(self) -> tuple[str, ...]:
        """The digest of each line, in order."""
        return tuple(self._digests)

    @property
    def head(self) -> tuple[int, str]:
        """The number of the last line, and its digest, which is of all lines."""
        with self._lock:
            return len(self._digests), self._digests[-1]

    def outcome_of(self, step: Step) -> Outcome | None:
        return self._outcomes.get(step.id)

    def outcome_at(self, step: Step) -> datetime | None:
        return self._outcome_times.get(step.id)

    def intended_at(self, step: Step) -> datetime | None:
        """When the step was last about to be written; None: it never was."""
        return self._intended.get(step.id)

    def sent(self, step: Step) -> tuple[Version, ...]:
        """The version at which each change of a step was last written, or will be."""
        return self._sent.get(step.id) or tuple(change.version for change in step.changes)

    def fate_open(self, step: Step) -> bool:
        """Whether the journal leaves open if the step was written."""
        outcome = self.outcome_of(step)
        return step.id in self._intended and (outcome is None or outcome.result == "unknown")

    def taken_back_by(self, step: Step) -> str | None:
        """The run that took the step back."""
        entry = self._taken_back.get(step.id)
        return entry.by if entry else None

    def as_left(self, step: Step) -> Step:
        """The step with the versions that its undo left; unchanged if there was no undo."""
        entry = self._taken_back.get(step.id)
        return at_versions(step, entry.versions) if entry else step

    def is_done(self, step_id: str) -> bool:
        outcome = self._outcomes.get(step_id)
        return outcome is not None and outcome.result == "done"

    @property
    def finished(self) -> bool:
        """Whether every step is done already."""
        return all(self.is_done(step.id) for step in self.plan.steps)

    @property
    def interrupted(self) -> bool:
        """Whether the run began, and stopped before every step had an outcome."""
        results = [outcome.result for outcome in self._outcomes.values()]
        every = len(results) == len(self.plan.steps) and "unknown" not in results
        began = bool(self._intended) and not self._taken_back
        return began and not every and "refused" not in results

    @property
    def half_done(self) -> bool:
        """Whether some steps, but not all, are or may be in place."""
        is_open = any(self.fate_open(step) for step in self.plan.steps)
        return is_open or 0 < len(self.in_place) < len(self.plan.steps)

    @property
    def in_place(self) -> tuple[StepOutcome, ...]:
        """The steps that were written and not taken back, in order, each with its outcome."""
        return tuple(
            (step, self._outcomes[step.id])
            for step in self.plan.steps
            if self.is_done(step.id) and step.id not in self._taken_back
        )

    @property
    def contested(self) -> tuple[Step, ...]:
        """The steps in place that this run or another client wrote, in order."""
        return tuple(step for step, outcome in self.in_place if outcome.contested)

    @property
    def partly(self) -> tuple[StepOutcome, ...]:
        """The refused steps with a written part that can never be taken back, in order."""
        pairs = ((step, self._outcomes.get(step.id)) for step in self.plan.steps)
        return tuple((step, outcome) for step, outcome in pairs if outcome and outcome.partly)

    @property
    def attempted(self) -> tuple[StepOutcome, ...]:
        """The steps attempted so far, in order; a step without an outcome is `unknown`."""
        pairs = ((step, self._outcomes.get(step.id)) for step in self.plan.steps)
        return tuple(
            (step, outcome or Outcome(step.id, "unknown"))
            for step, outcome in pairs
            if outcome or step.id in self._intended
        )

    def intend(self, *steps: Step) -> None:
        """Put on disk that these steps are about to be written."""
        self._append(*(_Intended(at=now(), step=step.id) for step in steps))

    def intend_at(self, step: Step, versions: tuple[Version, ...]) -> None:
        """Put on disk that this step is about to be written at these versions."""
        self._append(_Intended(at=now(), step=step.id, versions=versions))

    def record(self, *outcomes: Outcome) -> None:
        """Put on disk how steps ended."""
        self._append(*(_Recorded(at=now(), outcome=outcome) for outcome in outcomes))

    def take_back(self, step_id: str, by: str, versions: tuple[Version, ...]) -> None:
        """Put on disk that another run took this step back, and the versions it left."""
        self._append(_TakenBack(at=now(), step=step_id, by=by, versions=versions))

    def go_on_as(self, origin: Origin) -> None:
        """Put on disk who goes on with the run, unless that is known."""
        if origin != self.origin:
            self._append(_GoneOn(at=now(), origin=origin))

    def go_on_from(self, earlier: "Journal", elsewhere: Iterable[StepOutcome] = ()) -> None:
        """Put on disk the steps that an earlier run of this plan left in place, and its open steps.

        `elsewhere`: steps that another run has put in place again. SAFETY: an open step keeps the
        time of its intent, and from now on belongs to this run alone: a late write of it is not
        taken for another client's.
        """
        own = self._intended.keys() | self._outcomes.keys()
        left = (*earlier.in_place, *elsewhere)
        in_place = [outcome for step, outcome in left if step.id not in own]
        open_steps = [step for step in earlier.plan.steps if earlier.fate_open(step)]
        intents = [
            _Intended(earlier._intended[step.id], step.id, earlier._sent.get(step.id))
            for step in open_steps
            if step.id not in own
        ]
        if in_place or intents:
            self._append(*(_Recorded(at=now(), outcome=outcome) for outcome in in_place), *intents)
        if open_steps:
            reason = because("run-goes-on", run=self.run)
            earlier.record(*(Outcome(step.id, "refused", reason) for step in open_steps))

    def take(self, entry: Entry, digest: str) -> None:
        """Learn from an entry on disk, whose line has this digest."""
        self._digests.append(digest)
        self.ended_at = max(self.ended_at, entry.at)
        if isinstance(entry, _Intended | _GoneOn):
            self.lines_of_own = len(self._digests)
        match entry:
            case _Intended():
                self._intended[entry.step] = entry.at
                # SAFETY: an intent without versions leaves those of an earlier write without an
                # answer, which may still come.
                if entry.versions is not None:
                    self._sent[entry.step] = entry.versions
                # SAFETY: the outcome of an earlier attempt says nothing about this one. A step
                # that counted as refused would be written and never taken back.
                self._outcomes.pop(entry.step, None)
                self._outcome_times.pop(entry.step, None)
            case _Recorded():
                self._outcomes[entry.outcome.step] = entry.outcome
                self._outcome_times[entry.outcome.step] = entry.at
                if entry.outcome.result != "unknown":
                    self._sent.pop(entry.outcome.step, None)
            case _TakenBack():
                self._taken_back[entry.step] = entry
            case _GoneOn():
                self._origins.append(entry.origin)

    def _append(self, *entries: Entry) -> None:
        with self._lock:
            # The failed write may have left a part of a line, which the next run cuts off.
            if self._failure is not None:
                raise self._failure
            try:
                digests = _write(self._file, entries, self._digests[-1])
            except JournalUnwritable as failure:
                self._failure = failure
                raise
            for entry, digest in zip(entries, digests, strict=True):
                self.take(entry, digest)


def begun(plan: Plan, run: str, origin: Origin, file: IO[bytes]) -> Journal:
    """A new journal in an empty file. Raises JournalUnwritable."""
    opened = _Opened(format=FORMAT, at=now(), run=run, origin=origin, plan=plan)
    [digest] = _write(file, [opened], "")
    return Journal(file, opened, digest)


def continued(file: IO[bytes], path: Path) -> Journal | None:
    """The journal in a file; None if it has no whole first line: then its run did nothing.

    An incomplete last line was being written when the process died. It is not an entry. If the file
    is open for writing, it is cut off, so that the next entry begins a line. Raises JournalDamaged,
    JournalFormatUnknown.
    """
    file.seek(0)
    content = file.read()
    whole, _, half = content.rpartition(b"\n")
    if half and file.writable():
        file.truncate(len(content) - len(half))
    if not whole:
        return None
    first, *rest = whole.split(b"\n")
    _refuse_other_formats(first, path)
    opened, digest = _entry(first, path, 1, "")
    if not isinstance(opened, _Opened):
        raise JournalDamaged(str(path), 1, "it does not begin with a plan")
    journal = Journal(file, opened, digest)
    for number, line in enumerate(rest, 2):
        entry, digest = _entry(line, path, number, digest)
        journal.take(entry, digest)
    return journal


def _refuse_other_formats(first: bytes, path: Path) -> None:
    try:
        header = msgspec.json.decode(msgspec.json.decode(first, type=_Line).entry, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalDamaged(str(path), 1, str(error)) from error
    if header.type == "plan" and header.format != FORMAT:
        raise JournalFormatUnknown(str(path), header.format, FORMAT)


def _entry(line: bytes, path: Path, number: int, before: str) -> tuple[Entry, str]:
    """The entry of a line, and the line's digest. `before` is the digest of the line before."""
    try:
        found = msgspec.json.decode(line, type=_Line)
        entry: Entry = msgspec.json.decode(found.entry, type=Entry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalDamaged(str(path), number, str(error)) from error
    # SAFETY: an undo writes the state before the step, as the journal has it.
    if found.digest != _digest(before, bytes(found.entry)):
        raise JournalDamaged(str(path), number, "it, or a line before it, was edited")
    return entry, found.digest


def _digest(before: str, content: bytes) -> str:
    return hashlib.sha256(before.encode() + content).hexdigest()[:DIGEST_LENGTH]


def _write(file: IO[bytes], entries: Sequence[Entry], before: str) -> list[str]:
    """Put entries on disk as the next lines, and return the digests of those lines.

    PERF: one fsync for all of them.
    """
    digests: list[str] = []
    lines = b""
    for entry in entries:
        content = msgspec.json.encode(entry)
        digests.append(before := _digest(before, content))
        lines += msgspec.json.encode(_Line(before, msgspec.Raw(content))) + b"\n"
    folder = str(Path(file.name).parent)
    try:
        while lines:
            lines = lines[file.write(lines) :]
        # SAFETY: on disk before the call goes out, so that a crash never leaves an unknown write.
        os.fsync(file.fileno())
        links = os.fstat(file.fileno()).st_nlink
    except OSError as error:
        raise JournalUnwritable(folder, error.strerror or str(error)) from error
    # SAFETY: a file without a name is gone when this process ends.
    if not links:
        raise JournalUnwritable(folder, "it was deleted while the run went on")
    return digests
