# SPDX-License-Identifier: Apache-2.0
"""Journals: the folder of all runs. A run has the name of its plan and a number.

Applying a plan again continues its last run, unless a step of that run was taken back. Then a new
run begins: it repeats the steps that were taken back, counts those in place as done, and finds out
what became of writes without an answer.
"""

import fcntl
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from math import inf
from pathlib import Path
from typing import IO

from trueup.reconcile.files import PRIVATE, sync_folder
from trueup.reconcile.plan import Plan, of_this_cloud
from trueup.reconcile.runs.journal import (
    Journal,
    JournalDamaged,
    JournalFormatUnknown,
    JournalUnwritable,
    Origin,
    StepOutcome,
    begun,
    continued,
)
from trueup.reconcile.steps import Step

_FOLDER_MODE = 0o700
# The clock by which file systems time files lags by up to this.
_COARSE_SECONDS = 2


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
class JournalUnreadable(Exception):
    """A journal or their folder cannot be read: it belongs to another account, or is not a file."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A journal that cannot be read, and why. The other journals are still listed."""

    run: str
    reason: str
    damage: JournalDamaged | None = None


@contextmanager
def applying(plan: Plan, folder: Path, origin: Origin) -> Iterator[Journal]:
    """The journal of this plan's run, new or continued, for one process at a time.

    Callers apply the plan in the journal, which has the current versions. Raises RunBusy,
    JournalUnwritable, JournalUnreadable, JournalDamaged, JournalFormatUnknown.
    """
    numbers = _numbers(plan.id, folder)
    last = _read(_path(folder, f"{plan.id}-{numbers[-1]}")) if numbers else None
    undone = last is not None and any(last.taken_back_by(step) for step in plan.steps)
    number = numbers[-1] + undone if numbers else 1
    with _locked(f"{plan.id}-{number}", folder) as (file, path):
        journal = continued(file, path)
        if journal is None:
            journal = begun(_as_left(plan, last), path.stem, origin, file)
            sync_folder(folder)
        journal.go_on_as(origin)
        # A continued run may have been killed before all of this was on disk.
        with _earlier(f"{plan.id}-{number - 1}", folder) as earlier:
            if earlier is not None:
                journal.go_on_from(earlier, _outcomes_elsewhere(earlier, folder))
        yield journal


def _outcomes_elsewhere(journal: Journal, folder: Path) -> Iterator[StepOutcome]:
    """The steps of a run that another run put in place, with the versions that it left."""
    for run, steps in redone(journal, folder).items():
        outcomes = {step.id: outcome for step, outcome in read(run, folder).in_place}
        yield from ((step, outcomes[step.id]) for step in steps if step.id in outcomes)


@contextmanager
def _earlier(run: str, folder: Path) -> Iterator[Journal | None]:
    """The journal of an earlier run, if there is one. Raises as `applying`."""
    if not _path(folder, run).is_file():
        yield None
        return
    with _locked(run, folder) as (file, path):
        yield continued(file, path)


def _as_left(plan: Plan, last: Journal | None) -> Plan:
    """The plan with the versions that its last run and the undo of that run left."""
    return replace(plan, steps=tuple(map(last.as_left, last.plan.steps))) if last else plan


@contextmanager
def reopened(run: str, folder: Path) -> Iterator[Journal]:
    """The journal of an existing run, for appending.

    Raises RunUnknown, RunBusy, JournalUnwritable, and as `read`.
    """
    name = find(run, folder)
    with _locked(name, folder) as (file, path):
        journal = continued(file, path)
        if journal is None:
            raise RunUnknown(run, str(folder))
        yield journal


def read(run: str, folder: Path) -> Journal:
    """What the journal of a run says.

    Raises RunUnknown, JournalUnreadable, JournalDamaged, JournalFormatUnknown.
    """
    journal = _read(_path(folder, find(run, folder)))
    if journal is None:
        raise RunUnknown(run, str(folder))
    return journal


def find(run: str, folder: Path) -> str:
    """The name of a run; for the name of a plan, that of its last run.

    Raises RunUnknown, JournalUnreadable.
    """
    if _path(folder, run) in _paths(folder):
        return run
    numbers = _numbers(run, folder)
    if not numbers:
        raise RunUnknown(run, str(folder))
    return f"{run}-{numbers[-1]}"


def runs(folder: Path) -> tuple[Journal | Unreadable, ...]:
    """Every run that has a journal, in the order they began; unreadable journals come last."""
    found: list[Journal] = []
    unreadable: list[Unreadable] = []
    try:
        paths = _paths(folder)
    except JournalUnreadable as closed:
        return (Unreadable(str(folder), closed.reason),)
    for path in paths:
        try:
            journal = _read(path)
        except JournalFormatUnknown as other:
            reason = f"its format is {other.found}, this Trueup reads {other.known}"
            unreadable.append(Unreadable(path.stem, reason))
        except JournalDamaged as damaged:
            reason = f"line {damaged.line} is damaged: {damaged.reason}"
            unreadable.append(Unreadable(path.stem, reason, damaged))
        except JournalUnreadable as closed:
            unreadable.append(Unreadable(path.stem, closed.reason))
        else:
            found += [journal] if journal else []
    return (*sorted(found, key=lambda journal: journal.began_at), *unreadable)


def last_for(reason: str, folder: Path, cells: Collection[str]) -> Journal | None:
    """The last run, other than an undo, with a step for this reason on the cloud with these cells.

    SAFETY: steps of a run with a damaged journal may still be written. Raises JournalDamaged if
    such a run is the last one.
    """

    def is_wanted(plan: Plan) -> bool:
        for_it = any(reason in step.because for step in plan.steps)
        return for_it and plan.undoes is None and of_this_cloud(plan, cells)

    every = runs(folder)
    found = [
        journal for journal in every if isinstance(journal, Journal) and is_wanted(journal.plan)
    ]
    for head, damage in _damaged(every, folder):
        later = not any(journal.began_at >= head.began_at for journal in found)
        if later and is_wanted(head.plan):
            raise damage
    return found[-1] if found else None


def interrupted(
    folder: Path, cells: Collection[str], since: datetime, plan_is_ours: Callable[[Plan], bool]
) -> tuple[Journal, ...]:
    """The runs that began since then and ended while the outcome of a step was unknown.

    Only runs of our plans for the cloud with these cells, oldest first, without undos.
    SAFETY: steps of a run with a damaged journal may still be written. Raises JournalDamaged if
    such a run may be one of them.
    """

    def is_wanted(one: Journal) -> bool:
        ours = one.plan.undoes is None and of_this_cloud(one.plan, cells)
        return ours and one.began_at >= since and plan_is_ours(one.plan)

    every = runs(folder)
    for head, damage in _damaged(every, folder):
        if is_wanted(head):
            raise damage
    journals = (journal for journal in every if isinstance(journal, Journal) and is_wanted(journal))
    return tuple(
        journal
        for journal in journals
        if any(
            journal.outcome_of(step) is None or journal.fate_open(step)
            for step in journal.plan.steps
        )
    )


def undos(original: Journal, folder: Path) -> tuple[str, ...]:
    """The runs that took back steps of this run, oldest first.

    SAFETY: raises JournalDamaged if one of them has a damaged journal, and may have taken a step
    back without a note in the journal of this run.
    """
    every = runs(folder)
    for head, damage in _damaged(every, folder):
        unnoted = (step for step in head.plan.steps if not original.taken_back_by(step))
        if head.plan.undoes == original.run and any(unnoted):
            raise damage
    journals = (journal for journal in every if isinstance(journal, Journal))
    return tuple(journal.run for journal in journals if journal.plan.undoes == original.run)


def opposites(journal: Journal, folder: Path) -> tuple[str, ...]:
    """The runs whose steps in place a run reverses, besides the run that it undoes.

    All runs of a plan, their undos and the undos of these are about the same steps: some write
    them, and the others take them back.
    """
    if journal.plan.undoes is None and journal.run.endswith("-1"):
        return ()
    every = {one.run: one for one in runs(folder) if isinstance(one, Journal)}
    plan, writes = _lineage(journal, every)
    found = (run for run, one in every.items() if _lineage(one, every) == (plan, not writes))
    return tuple(run for run in found if run != journal.plan.undoes)


def _lineage(journal: Journal, every: Mapping[str, Journal]) -> tuple[str, bool]:
    """The plan that a run is about in the end, by id, and whether the run writes or takes back."""
    writes = True
    while undone := every.get(journal.plan.undoes or ""):
        journal, writes = undone, not writes
    return journal.run.rpartition("-")[0], writes


def redone(original: Journal, folder: Path) -> dict[str, tuple[Step, ...]]:
    """The steps of a run that were taken back and are in place again, by the run that redid them.

    Raises as `read`.
    """
    found: dict[str, list[Step]] = {}
    for step in original.plan.steps:
        if by := _in_place_by(step, original, folder):
            found.setdefault(by.run, []).append(step)
    return {run: tuple(steps) for run, steps in found.items()}


def _in_place_by(step: Step, journal: Journal, folder: Path) -> Journal | None:
    """The run that put a step in place again after an undo; None if no run did.

    Each run reverses the run before it, so every second one puts the step in place again. An
    unreadable journal ends the search: the command names it.
    """
    last, again = journal, True
    with suppress(RunUnknown, JournalUnreadable, JournalDamaged, JournalFormatUnknown):
        while by := last.taken_back_by(step):
            last, again = read(by, folder), not again
    return last if again and last is not journal else None


def unread_since(run: str, folder: Path) -> tuple[Unreadable, ...]:
    """The unreadable journals that were written to after a run began.

    Each may belong to an undo of that run. Without a journal of the run, there are none. Raises
    JournalUnreadable, JournalDamaged, JournalFormatUnknown.
    """
    try:
        original = read(run, folder)
    except RunUnknown:
        return ()
    began = original.began_at.replace(tzinfo=UTC).timestamp() - _COARSE_SECONDS
    return tuple(
        unread
        for unread in runs(folder)
        if isinstance(unread, Unreadable)
        and not (unread.damage and _head(_path(folder, unread.run)))
        and _written_at(_path(folder, unread.run)) >= began
    )


def _written_at(path: Path) -> float:
    """When a file was last written, as a timestamp; infinity if that cannot be read."""
    try:
        return path.stat().st_mtime
    except OSError:
        return inf


def _damaged(
    every: Iterable[Journal | Unreadable], folder: Path
) -> Iterator[tuple[Journal, JournalDamaged]]:
    """The journals with a damaged line, as their first line has them, and the damage.

    Journals whose first line is damaged are left out: their plan is not known.
    """
    for journal in every:
        if isinstance(journal, Unreadable) and journal.damage:
            head = _head(_path(folder, journal.run))
            if head is not None:
                yield head, journal.damage


def _head(path: Path) -> Journal | None:
    """What the first line of a damaged journal says; None if that line is damaged."""
    with suppress(OSError, JournalDamaged, JournalFormatUnknown), path.open("rb") as file:
        return continued(BytesIO(file.readline()), path)
    return None


def _path(folder: Path, run: str) -> Path:
    return folder / f"{run}.jsonl"


def _paths(folder: Path) -> tuple[Path, ...]:
    """The journals in a folder, by name; empty without a folder. Raises JournalUnreadable.

    `Path.glob` would take a folder that may not be read for an empty one.
    """
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise JournalUnreadable(str(folder), error.strerror or str(error)) from error
    return tuple(folder / name for name in names if name.endswith(".jsonl"))


def _numbers(plan: str, folder: Path) -> list[int]:
    """The numbers of the runs of a plan, in order."""
    names = (path.stem for path in _paths(folder))
    matches = (re.fullmatch(rf"{re.escape(plan)}-(\d+)", name) for name in names)
    return sorted(int(match[1]) for match in matches if match)


def _read(path: Path) -> Journal | None:
    try:
        with path.open("rb") as file:
            return continued(file, path)
    except OSError as error:
        raise JournalUnreadable(str(path), error.strerror or str(error)) from error


@contextmanager
def _locked(run: str, folder: Path) -> Iterator[tuple[IO[bytes], Path]]:
    path = _path(folder, run)
    with ExitStack() as closed_at_the_end:
        try:
            folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            # Unbuffered: when the disk is full, closing has nothing left to write.
            file = closed_at_the_end.enter_context(open(path, "a+b", buffering=0, opener=_private))
        except OSError as error:
            raise JournalUnwritable(str(folder), error.strerror or str(error)) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunBusy(run) from error
        yield file, path


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE)
