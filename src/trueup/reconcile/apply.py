# SPDX-License-Identifier: Apache-2.0
"""Apply: a plan → the cloud. Each step: read its targets and guards, journal the intent, write."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta

from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found, Reply
from trueup.reconcile.clock import now
from trueup.reconcile.guards import broken
from trueup.reconcile.journal import Journal, Outcome, StepOutcome
from trueup.reconcile.pace import ONE_BY_ONE, Pace, Throttle, batches
from trueup.reconcile.plan import Plan
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.steps import Change, InstanceState, Step, Version, parts_of

# How often a write is tried if Placement refuses it because another write came in between.
ATTEMPTS = 4
# A request without an answer may still be carried out. After this time, twice as long as a request
# may take, it no longer can be.
LATE = timedelta(seconds=120)


def require_answers(plan: Plan, cloud: Cloud) -> None:
    """Ask every source that the plan will ask and write to, before anything is written.

    Raises Unreachable: a plan must not stop half applied because of a source that was silent
    before it began.
    """
    guards = [guard for step in plan.steps for guard in step.guards]
    instances = (guard for guard in guards if isinstance(guard, InstanceState))
    for guard in {one.cell: one for one in instances}.values():
        cloud.nova.instance_state(guard.cell, guard.uuid)
    targets = (change.target for step in plan.steps for change in step.changes)
    for target in {type(one): one for one in targets}.values():
        changes.read(target, cloud)


def apply(cloud: Cloud, journal: Journal, pace: Pace = ONE_BY_ONE) -> Iterator[StepOutcome]:
    """Attempt each step of a journal's plan in turn, from where an earlier attempt stopped.

    When a source stops answering, records the outcome of the step at hand (`unknown`: it may have
    been written), and raises what the cloud raises. Applying the plan again finds out.
    """
    throttle = Throttle(pace)

    def attempt_once(step: Step) -> _Ended:
        outcome = journal.outcome_of(step)
        # Only `done` is final: a refused step may be possible now.
        if outcome is not None and outcome.result == "done":
            return _Ended(outcome)
        throttle.wait()
        ended = _attempt(step, cloud, journal)
        journal.record(ended.outcome)
        return ended

    for group in batches(journal.plan.steps, pace.concurrency):
        with ThreadPoolExecutor(len(group)) as pool:
            attempts = [pool.submit(attempt_once, step) for step in group]
        for step, attempt in zip(group, attempts, strict=True):
            ended = attempt.result()
            yield step, ended.outcome
            if ended.stop is not None:
                raise ended.stop


def resolve_interrupted(cloud: Cloud, journal: Journal) -> None:
    """Record the outcome of steps that a run began and did not finish, by what the cloud holds.

    A step of several changes that was written in part is taken back.
    """
    for step in journal.plan.steps:
        if not journal.fate_open(step):
            continue
        found = _read(step, cloud)
        if Fate.WRITTEN in (fates := _fates(step, found)):
            complete = all(one is Fate.WRITTEN for one in fates)
            journal.record(
                _done(step, found) if complete else _taken_back(step, found, cloud, "interrupted")
            )
        else:
            journal.record(_not_written(step, journal, "interrupted before it was written"))


@dataclass(frozen=True, slots=True)
class _Ended:
    """How an attempt ended; `stop` is why no other step can be attempted."""

    outcome: Outcome
    stop: Exception | None = None


def _attempt(step: Step, cloud: Cloud, journal: Journal) -> _Ended:
    missing = [one for one in step.needs if not journal.is_done(one)]
    if missing:
        return _Ended(Outcome(step.id, "refused", f"it needs {missing[0]}, which is not done"))
    found = _read(step, cloud)
    fates = _fates(step, found)
    if journal.fate_open(step):
        # An earlier attempt may have been written: the targets say whether it was.
        if all(one is Fate.WRITTEN for one in fates):
            return _Ended(_done(step, found))
        foreign = [change for change, one in _with(step, fates) if one is Fate.FOREIGN]
    else:
        foreign = [change for change, one in _with(step, fates) if one is not Fate.UNWRITTEN]
    reasons = [words for change in foreign for words in _moved(change, found[change_key(change)])]
    reasons += [words for guard in step.guards for words in broken(guard, cloud)]
    if reasons:
        reason = "; ".join(reasons)
        if journal.fate_open(step) and Fate.WRITTEN in fates:
            return _Ended(_taken_back(step, found, cloud, reason))
        return _Ended(_not_written(step, journal, reason, foreign=bool(foreign)))
    journal.intend(step)
    return _write_all(step, found, cloud)


def change_key(change: Change) -> tuple[str, ...]:
    """A key that is different for each target of a step."""
    return (type(change.target).__name__, *parts_of(change.target))


def _read(step: Step, cloud: Cloud) -> dict[tuple[str, ...], Found]:
    return {change_key(one): changes.read(one.target, cloud) for one in step.changes}


def _fates(step: Step, found: dict[tuple[str, ...], Found]) -> list[Fate]:
    return [changes.fate(change, found[change_key(change)]) for change in step.changes]


def _with(step: Step, fates: Sequence[Fate]) -> Iterator[tuple[Change, Fate]]:
    yield from zip(step.changes, fates, strict=True)


def _moved(change: Change, found: Found) -> Iterator[str]:
    """Why a target is not as it was planned."""
    noun = changes.noun(change)
    if found.state == change.after != change.before:
        yield f"its {noun} are not what they were: somebody else has already made this change"
    elif found.state != change.before:
        yield f"its {noun} are not what they were"
    elif found.version != change.version:
        yield f"its {noun} were written since: {_versions(change.version, found.version)}"


def _versions(was: Version, found: Version) -> str:
    moved = (
        f"generation {was.get(part)}, now {found.get(part)}"
        for part in sorted(was.keys() | found.keys())
        if was.get(part) != found.get(part)
    )
    return ", ".join(moved)


def _done(step: Step, found: dict[tuple[str, ...], Found]) -> Outcome:
    versions = tuple(found[change_key(change)].version for change in step.changes)
    return Outcome(step.id, "done", versions=versions)


def _not_written(step: Step, journal: Journal, reason: str, foreign: bool = False) -> Outcome:
    """Refused; or unknown, while an earlier write without an answer may still be carried out.

    Once somebody else has written (`foreign`), it can no longer be: its version is outdated.
    """
    intended = journal.intended_at(step) if journal.fate_open(step) else None
    if intended is None or foreign or now() - intended > LATE:
        return Outcome(step.id, "refused", reason)
    return Outcome(
        step.id, "unknown", f"{reason}; an earlier write of it was not answered and may still come"
    )


@dataclass(frozen=True, slots=True)
class _Written:
    """How the write of one change ended: its result, and the version that it left."""

    result: str  # as journal.Result
    reason: str = ""
    version: Version | None = None
    request_id: str = ""
    stop: Exception | None = None


def _write_all(step: Step, found: dict[tuple[str, ...], Found], cloud: Cloud) -> _Ended:
    """Write every change that is not written yet; if one is refused, take the others back."""
    after: dict[tuple[str, ...], Found] = dict(found)
    requests: list[str] = []
    stop: Exception | None = None
    for change in step.changes:
        if changes.fate(change, found[change_key(change)]) is Fate.WRITTEN:
            continue
        written = _write(change, cloud)
        requests += [written.request_id] if written.request_id else []
        if written.result == "unknown":
            unknown = Outcome(step.id, "unknown", written.reason, request_ids=tuple(requests))
            return _Ended(_at(change, unknown), written.stop)
        if written.result == "refused":
            back = _taken_back(step, after, cloud, written.reason)
            return _Ended(_at(change, back), written.stop)
        after[change_key(change)] = Found(change.after, written.version or {})
        stop = written.stop
    versions = tuple(after[change_key(change)].version for change in step.changes)
    return _Ended(Outcome(step.id, "done", versions=versions, request_ids=tuple(requests)), stop)


def _at(change: Change, outcome: Outcome) -> Outcome:
    """The same end of a step, and at which target it came."""
    return replace(outcome, target=":".join((kind_of(change), *parts_of(change.target)[:1])))


def kind_of(change: Change) -> str:
    """The kind of a change's target, as a word: `allocations`, `port-binding`."""
    return str(change.target.__struct_config__.tag)


def _write(change: Change, cloud: Cloud) -> _Written:
    """Write one change. After any answer but success, the target itself says what happened."""
    written = _Written("refused")
    for _ in range(ATTEMPTS):
        try:
            reply = changes.write(change, cloud)
        except Unreachable as silence:
            reply = Reply(False, definite=False, reason=f"{silence.source}: {silence.reason}")
        except AccessDenied as denied:
            return _Written("refused", f"{denied.source}: {denied.reason}", stop=denied)
        if reply.accepted:
            return _accepted(change, reply, cloud)
        written = _judged(change, reply, cloud)
        if written.result != "refused" or not reply.conflict or written.version is None:
            break
    return written


def _accepted(change: Change, reply: Reply, cloud: Cloud) -> _Written:
    """An accepted write, with the version that it left: as the service said, or as it is now.

    If the version is not known, an undo refuses the step.
    """
    version, stop = reply.version, None
    if version is None:
        try:
            found = changes.read(change.target, cloud)
            version = found.version if found.state == change.after else {}
        except (Unreachable, AccessDenied) as silence:
            version, stop = {}, silence
    return _Written("done", version=version, request_id=reply.request_id, stop=stop)


def _judged(change: Change, reply: Reply, cloud: Cloud) -> _Written:
    """How a write ended that was not accepted. With a version, the target is as it was before.

    SAFETY: a refusal does not say that the write was not made. A load balancer that loses the
    answer sends the request to the next server, and that one answers 409. So a target that is as
    the change leaves it, at the version that only this change leaves, was written by us.
    """
    try:
        found = changes.read(change.target, cloud)
    except (Unreachable, AccessDenied) as silence:
        result = "refused" if reply.definite else "unknown"
        return _Written(result, reply.reason, request_id=reply.request_id, stop=silence)
    fate = changes.fate(change, found)
    if fate is Fate.WRITTEN:
        return _Written("done", version=found.version, request_id=reply.request_id)
    if fate is Fate.FOREIGN:
        return _Written("refused", reply.reason, request_id=reply.request_id)
    result = "refused" if reply.definite else "unknown"
    return _Written(result, reply.reason, found.version, reply.request_id)


def _taken_back(
    step: Step, found: dict[tuple[str, ...], Found], cloud: Cloud, reason: str
) -> Outcome:
    """Take back the written changes of a step, last first; the step is refused if that works."""
    for change in reversed(step.changes):
        state = found[change_key(change)]
        if changes.fate(change, state) is not Fate.WRITTEN:
            continue
        back = Change(change.target, change.after, change.before, state.version)
        if _write(back, cloud).result != "done":
            return Outcome(step.id, "unknown", f"{reason}; written in part, and not taken back")
    return Outcome(step.id, "refused", reason)
