# SPDX-License-Identifier: Apache-2.0
"""Apply: writes a plan. For each step: read targets and guards, journal the intent, write.

PERF: neighbouring steps that only create allocations are written in one request
(`batch_creation`). Each of them still has its own intent and outcome, and is undone by itself.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found
from trueup.reconcile.clock import now
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import InstanceState
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.runs.batch_creation import Created, create_together
from trueup.reconcile.runs.guard_checks import broken
from trueup.reconcile.runs.journal import Journal, JournalUnwritable, Outcome, StepOutcome
from trueup.reconcile.runs.one_change import CONTESTED, Ended, by_somebody_else, write_change
from trueup.reconcile.runs.pace import ONE_BY_ONE, Bundle, Pace, Throttle, batches, bundles
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.steps import Change, PortBinding, Step, Tree, Version, parts_of
from trueup.reconcile.verdicts import Need

# A request without an answer may still be carried out for this long: twice the timeout.
LATE = timedelta(seconds=120)


def require_answers(plan: Plan, cloud: Cloud) -> None:
    """Ask every source that the plan will ask and write to, before anything is written.

    Raises Unreachable: a source that is silent from the start must not stop a plan half applied.
    SAFETY: a cell that no guard asks may know better by now, so findings that needed every cell
    when they were planned need every cell again. What is taken back was proved before.
    """
    if plan.undoes is None and any(_of_every_cell(row.defect) for row in plan.findings):
        for cell in cloud.nova.cells():
            cloud.nova.service_reports(cell, "")
    guards = [guard for step in plan.steps for guard in step.guards]
    instances = (guard for guard in guards if isinstance(guard, InstanceState))
    for guard in {instance.cell: instance for instance in instances}.values():
        cloud.nova.instance_states(guard.cell, [guard.uuid])
    targets = (change.target for step in plan.steps for change in step.changes)
    for target in {type(target): target for target in targets}.values():
        changes.read(target, cloud)


def _of_every_cell(name: str) -> bool:
    """Whether a defect is found only if every source has answered."""
    return any(name == defect.NAME and Need.COMPLETE in defect.NEEDS for defect in DEFECTS)


def apply(cloud: Cloud, journal: Journal, pace: Pace = ONE_BY_ONE) -> Iterator[StepOutcome]:
    """Attempt each step of a journal's plan in turn, from where an earlier attempt stopped.

    When a source stops answering, records the outcome of the current step (`unknown`: it may have
    been written), and raises what the cloud raises. Applying the plan again finds out.
    """
    throttle = Throttle(pace)

    def attempt_once(bundle: Bundle) -> _Attempted:
        attempted = _Attempted()
        try:
            for step, ended in _attempts(bundle, cloud, journal, throttle):
                attempted.outcomes.append((step, ended.outcome))
                if ended.stop is not None:
                    raise ended.stop
        except (Unreachable, AccessDenied, JournalUnwritable) as stop:
            attempted.stop = stop
        return attempted

    for group in batches(bundles(journal.plan.steps, pace), pace.concurrency):
        throttle.hold()
        with ThreadPoolExecutor(len(group)) as pool:
            attempts = [pool.submit(attempt_once, bundle) for bundle in group]
        for attempt in attempts:
            attempted = attempt.result()
            yield from attempted.outcomes
            if attempted.stop is not None:
                raise attempted.stop


def resolve_interrupted(cloud: Cloud, journal: Journal) -> tuple[StepOutcome, ...]:
    """Record the outcome of steps that a run began and did not finish, by the state of the cloud.

    A step of several changes that was written in part is taken back. Returns those steps.
    """
    in_part: list[StepOutcome] = []
    for step in journal.plan.steps:
        if not journal.fate_open(step):
            continue
        _tidy(step, cloud)
        found = _read(step, cloud)
        fates = _fates(step, found, journal)
        if all(fate is Fate.WRITTEN for fate in fates):
            journal.record(_done(step, found))
        elif Fate.WRITTEN in fates:
            outcome = _taken_back(step, found, cloud, journal, because("interrupted-in-part"))
            if outcome.result == "refused" and not outcome.partly:
                outcome = replace(outcome, reason=because("interrupted-taken-back"))
            journal.record(outcome)
            in_part.append((step, outcome))
        else:
            journal.record(_not_written(step, journal, because("interrupted")))
    return tuple(in_part)


@dataclass(slots=True)
class _Attempted:
    """How the steps of a bundle ended; `stop` is the error that prevents all further steps."""

    outcomes: list[StepOutcome] = field(default_factory=list)
    stop: Exception | None = None


def _attempts(
    bundle: Bundle, cloud: Cloud, journal: Journal, throttle: Throttle
) -> Iterator[tuple[Step, Ended]]:
    """Attempt the steps of a bundle, in one request if possible, and record their outcomes."""
    # Only `done` is final: a refused step may be possible now.
    fresh = [
        step for step in bundle if not journal.is_done(step.id) and not journal.fate_open(step)
    ]
    created = Created()
    if len(fresh) > 1:
        with throttle.turn():
            created = create_together(fresh, cloud, journal)
    for step in bundle:
        outcome = journal.outcome_of(step)
        if step.id in created.ended:
            yield step, created.ended[step.id]
        elif outcome is not None and outcome.result == "done":
            ended = _read_again(step, outcome, cloud, journal)
            if ended.outcome != outcome:
                journal.record(ended.outcome)
            yield step, ended
        else:
            with throttle.turn():
                ended = _attempt(step, cloud, journal, sent=step.id in created.failed)
            journal.record(ended.outcome)
            yield step, ended


def _read_again(step: Step, outcome: Outcome, cloud: Cloud, journal: Journal) -> Ended:
    """The outcome of a step that is done already, if its targets still are as the step left them.

    SAFETY: the journal is not the cloud: Placement may have been restored from a backup, or another
    client has written since. Targets that later steps of the run changed are not compared.
    """
    steps = journal.plan.steps
    later = steps[steps.index(step) + 1 :]
    changed = {part for other in later if journal.outcome_of(other) for part in _touched(other)}
    lost = [
        changes.noun(change)
        for change in step.changes
        if changed.isdisjoint(_touched(step))
        and changes.read(change.target, cloud).state != change.after
    ]
    if not lost:
        return Ended(outcome)
    reason = because("written-before-lost", noun=lost[0])
    return Ended(Outcome(step.id, "refused", reason))


def _touched(step: Step) -> frozenset[str]:
    """Everything that a step changes, and the providers whose tree it replaces."""
    trees = (change.target for change in step.changes if isinstance(change.target, Tree))
    return step.subjects | {uuid for tree in trees for uuid in tree.providers}


def _attempt(step: Step, cloud: Cloud, journal: Journal, sent: bool) -> Ended:
    """Attempt one step alone. `sent`: a request with other steps just failed.

    If the step is in place now although that request was refused, the step is contested.
    """
    missing = [needed for needed in step.needs if not journal.is_done(needed)]
    if missing:
        return Ended(Outcome(step.id, "refused", because("needs-step", step=missing[0])))
    if journal.fate_open(step):
        _tidy(step, cloud)
    found = _read(step, cloud)
    fates = _fates(step, found, journal)
    outcome = journal.outcome_of(step)
    begun = sent or journal.fate_open(step) or (outcome is not None and outcome.partly)
    if begun:
        # An earlier attempt may have been written: the targets say whether it was.
        if all(fate is Fate.WRITTEN for fate in fates):
            done = _done(step, found)
            contested = sent and not journal.fate_open(step)
            return Ended(replace(done, reason=CONTESTED, contested=True) if contested else done)
        foreign = [change for change, fate in _with(step, fates) if fate is Fate.FOREIGN]
    else:
        foreign = [change for change, fate in _with(step, fates) if fate is not Fate.UNWRITTEN]
    reasons = [
        reason for change in foreign for reason in _differences(change, found[change_key(change)])
    ]
    reasons += [reason for guard in step.guards for reason in broken(guard, cloud)]
    if reason := together(reasons):
        if begun and Fate.WRITTEN in fates:
            return Ended(_taken_back(step, found, cloud, journal, reason))
        return Ended(_not_written(step, journal, reason, foreign=bool(foreign)))
    journal.intend(step)
    return _write_all(step, found, cloud, journal)


def change_key(change: Change) -> tuple[str, ...]:
    """A key for the target of a change, unique within a step."""
    return (type(change.target).__name__, *parts_of(change.target))


def _tidy(step: Step, cloud: Cloud) -> None:
    for change in step.changes:
        changes.tidy(change, cloud)


def _read(step: Step, cloud: Cloud) -> dict[tuple[str, ...], Found]:
    return {change_key(change): changes.read(change.target, cloud) for change in step.changes}


def _fates(step: Step, found: dict[tuple[str, ...], Found], journal: Journal) -> list[Fate]:
    return [
        changes.fate(change, found[change_key(change)], sent)
        for change, sent in zip(step.changes, journal.sent(step), strict=True)
    ]


def _with(step: Step, fates: Sequence[Fate]) -> Iterator[tuple[Change, Fate]]:
    yield from zip(step.changes, fates, strict=True)


def _differences(change: Change, found: Found) -> Iterator[Reason]:
    """Why a target is not as it was planned."""
    noun = changes.noun(change)
    if found.state == change.after != change.before:
        yield by_somebody_else(change)
    elif found.state != change.before:
        yield because("target-differs", noun=noun)
    elif found.version != change.version:
        yield because(
            "target-rewritten", noun=noun, versions=_versions(change.version, found.version)
        )


def _versions(was: Version, found: Version) -> tuple[str, ...]:
    return tuple(
        f"generation {was.get(part)}, now {found.get(part)}"
        for part in sorted(was.keys() | found.keys())
        if was.get(part) != found.get(part)
    )


def _done(step: Step, found: dict[tuple[str, ...], Found]) -> Outcome:
    versions = tuple(found[change_key(change)].version for change in step.changes)
    return Outcome(step.id, "done", versions=versions)


def _not_written(step: Step, journal: Journal, reason: Reason, foreign: bool = False) -> Outcome:
    """Refused; or unknown, while an earlier write without an answer may still be carried out.

    Once another client has written (`foreign`), that write fails: its version is outdated.
    """
    intended = journal.intended_at(step) if journal.fate_open(step) else None
    if intended is None or foreign or now() - intended > LATE:
        return Outcome(step.id, "refused", reason)
    return Outcome(step.id, "unknown", because("earlier-write-open", reason))


def _write_all(
    step: Step, found: dict[tuple[str, ...], Found], cloud: Cloud, journal: Journal
) -> Ended:
    """Write every change that is not written yet; if one is refused, take the others back."""
    after: dict[tuple[str, ...], Found] = dict(found)
    requests: list[str] = []
    stop: Exception | None = None
    ours = contested = False
    for change, fate in _with(step, _fates(step, found, journal)):
        if fate is Fate.WRITTEN:
            ours = True
            continue
        intend_at = partial(_intend_at, journal, step, change)
        written = write_change(change, cloud, intend_at, caused=ours, insist=ours)
        requests += [written.request_id] if written.request_id else []
        if written.result == "unknown" and (written.stop or not ours):
            unknown = Outcome(step.id, "unknown", written.reason, request_ids=tuple(requests))
            return Ended(_at(change, unknown), written.stop)
        if written.result != "done":
            back = _taken_back(step, after, cloud, journal, written.reason, contested)
            if written.result == "unknown":
                late = because("write-may-come", back.reason)
                back = replace(back, result="unknown", reason=late, partly=False)
            return Ended(_at(change, back), written.stop)
        after[change_key(change)] = Found(change.after, written.version or {})
        stop = written.stop
        contested = contested or written.contested
        ours = ours or not written.contested
    versions = tuple(after[change_key(change)].version for change in step.changes)
    reason = CONTESTED if contested else None
    outcome = Outcome(step.id, "done", reason, versions, tuple(requests), contested=contested)
    return Ended(outcome, stop)


def _intend_at(journal: Journal, step: Step, change: Change, version: Version) -> None:
    """Journal that a change of this step is about to be written at another version."""
    pairs = zip(step.changes, journal.sent(step), strict=True)
    journal.intend_at(step, tuple(version if other is change else sent for other, sent in pairs))


def _at(change: Change, outcome: Outcome) -> Outcome:
    """The same end of a step, with the target where it came."""
    return replace(outcome, target=_name(change))


def _name(change: Change) -> str:
    return ":".join((kind_of(change), *parts_of(change.target)[:1]))


def kind_of(change: Change) -> str:
    """The kind of a change's target, as a word: `allocations`, `port-binding`."""
    return str(change.target.__struct_config__.tag)


def _taken_back(
    step: Step,
    found: dict[tuple[str, ...], Found],
    cloud: Cloud,
    journal: Journal,
    reason: Reason | None,
    contested: bool = False,
) -> Outcome:
    """Take back the written changes of a step, last first; the step is refused if that works.

    A change that cannot be taken back is named, and the other changes are still taken back. If one
    of them can never be taken back, all stay: the next plan handles the rest of the step.
    SAFETY: if one change is contested, another client may be about to write the others.
    """
    if contested:
        return Outcome(
            step.id, "unknown", because("several", reason, because("in-part", CONTESTED))
        )
    fates = _fates(step, found, journal)
    written = [change for change, fate in _with(step, fates) if fate is Fate.WRITTEN]
    if lasting := next(filter(None, map(changes.permanent, written)), None):
        reason = because("several", reason, because("in-part", lasting))
        return Outcome(step.id, "refused", reason, partly=True)
    # PARITY: Nova takes ports back in the order in which it wrote them; none depends on another.
    ports = [change for change in written if isinstance(change.target, PortBinding)]
    left: list[str] = []
    for change in (*ports, *(earlier for earlier in reversed(written) if earlier not in ports)):
        version = found[change_key(change)].version
        back = Change(change.target, change.after, change.before, version)
        if write_change(back, cloud, caused=True, insist=True).result != "done":
            left.append(_name(change))
    if left:
        reason = because("not-taken-back", reason, targets=tuple(left))
        return Outcome(step.id, "unknown", reason, left=tuple(left))
    return Outcome(step.id, "refused", reason)
