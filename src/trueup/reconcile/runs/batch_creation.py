# SPDX-License-Identifier: Apache-2.0
"""Creates the allocations of several consumers in one request, although each is its own step.

PERF: the targets and guards of all steps are read in parallel, and the journal needs one fsync for
all intents and one for all outcomes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found, Reply
from trueup.reconcile.plan import merged
from trueup.reconcile.runs.guard_checks import unbroken
from trueup.reconcile.runs.journal import Journal, Outcome
from trueup.reconcile.runs.one_change import Ended, Written, answered, judged, said_by
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.steps import Held, Step, Version


@dataclass(frozen=True, slots=True)
class Created:
    """How the steps ended, by id. `failed` are the steps whose request was refused, or failed.

    The caller attempts every step that is not in `ended` alone, so that no step stops another.
    """

    ended: Mapping[str, Ended] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()


def create_together(steps: Sequence[Step], cloud: Cloud, journal: Journal) -> Created:
    """Write in one request the creations whose targets and guards are as planned.

    SAFETY: as for a single step, each target is read before its intent is in the journal. So an
    intent proves that no other client had made this change by then.
    """
    ready = unbroken(_unwritten(steps, cloud), cloud)
    if len(ready) < 2:
        return Created()
    journal.intend(*ready)
    reply = _reply(ready, cloud, journal)
    ended = (
        _accepted(ready, reply) if reply.accepted else _not_accepted(ready, reply, cloud, journal)
    )
    journal.record(*(attempt.outcome for attempt in ended.values()))
    if any(attempt.stop for attempt in ended.values()):
        return Created(ended)
    # SAFETY: while the request may still be carried out, no step of it is sent again.
    alone = {"refused", "unknown"} if reply.finished else {"refused"}
    failed = frozenset(step_id for step_id in ended if ended[step_id].outcome.result in alone)
    return Created({step_id: ended[step_id] for step_id in ended if step_id not in failed}, failed)


def _reply(steps: Sequence[Step], cloud: Cloud, journal: Journal) -> Reply:
    """Placement's answer to the one request.

    The request has its own policy: an account that may not send it may write the steps singly.
    """

    def before_retry(named: Version) -> None:
        for step in steps:
            journal.intend_at(step, (_own(step, named),))

    try:
        return changes.write(merged(steps).changes[0], cloud, before_retry)
    except Unreachable as silence:
        return Reply(False, definite=False, finished=False, reason=said_by(silence))
    except AccessDenied as denied:
        return Reply(False, sent=False, reason=said_by(denied))


def _unwritten(steps: Sequence[Step], cloud: Cloud) -> tuple[Step, ...]:
    """The steps whose consumers still hold nothing, as planned."""
    holdings = cloud.placement.holdings(consumer for step in steps for consumer in step.consumers)

    def unwritten(step: Step) -> bool:
        [change] = step.changes
        [consumer] = step.consumers
        holding = holdings[consumer]
        found = Found(Held({consumer: holding.allocations}), {consumer: holding.generation})
        return changes.fate(change, found) is Fate.UNWRITTEN

    return tuple(filter(unwritten, steps))


def _own(step: Step, version: Version) -> Version:
    """The part of a request's version that is about this step."""
    return {consumer: version[consumer] for consumer in step.consumers}


def _accepted(steps: Sequence[Step], reply: Reply) -> dict[str, Ended]:
    ended = {}
    for step in steps:
        [change] = step.changes
        # A consumer that held nothing may have had a generation: then it was written at that one.
        left = _own(step, reply.version) if reply.version else changes.version_after(change)
        versions = (left or {},)
        ended[step.id] = Ended(Outcome(step.id, "done", None, versions, _requests(reply)))
    return ended


def _not_accepted(
    steps: Sequence[Step], reply: Reply, cloud: Cloud, journal: Journal
) -> dict[str, Ended]:
    """How each step of a request that was not accepted ended, by the state of its target.

    SAFETY: as with a single step, a refused request may have been carried out.
    """
    ended: dict[str, Ended] = {}
    stop: Exception | None = None
    for step in steps:
        [change] = step.changes
        # If Placement does not answer for the first target, the others are not read.
        written = Written("unknown", answered(change, reply))
        if stop is None:
            written = judged(change, journal.sent(step)[0], reply, cloud)
            stop = written.stop
        versions = (written.version or {},) if written.result == "done" else ()
        outcome = Outcome(
            step.id,
            written.result,
            written.reason,
            versions,
            _requests(reply),
            contested=written.contested,
        )
        ended[step.id] = Ended(outcome, stop)
    return ended


def _requests(reply: Reply) -> tuple[str, ...]:
    return (reply.request_id,) if reply.request_id else ()
