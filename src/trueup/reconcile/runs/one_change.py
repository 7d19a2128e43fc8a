# SPDX-License-Identifier: Apache-2.0
"""Writes one change. After any answer but success, the target's state says what happened."""

from collections.abc import Callable
from dataclasses import dataclass

from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Reply
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.runs.journal import Outcome, Result
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.steps import Change, Version

# How often a write is tried if Placement refuses it because of a concurrent write.
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt of a step ended; `stop` is why no other step can be attempted."""

    outcome: Outcome
    stop: Exception | None = None


# Why it is not known whether a change is ours.
CONTESTED = because("contested")


@dataclass(frozen=True, slots=True)
class Written:
    """How the write of one change ended: its result, and the version that it left."""

    result: Result
    reason: Reason | None = None
    version: Version | None = None
    request_id: str = ""
    stop: Exception | None = None
    contested: bool = False


def by_somebody_else(change: Change) -> Reason:
    """Why a change that is in place already is refused."""
    return because("made-by-somebody-else", noun=changes.noun(change))


def answered(change: Change, reply: Reply) -> Reason:
    """The answer of a service; or that nothing was sent, because the target is not as planned."""
    return reply.reason or because("target-differs", noun=changes.noun(change))


def said_by(error: Unreachable | AccessDenied) -> Reason:
    """The answer, or the silence, of a source."""
    return because("source-says", source=error.source, error=error.reason)


def write_change(
    change: Change,
    cloud: Cloud,
    intend_at: Callable[[Version], None] = lambda _: None,
    caused: bool = False,
    insist: bool = False,
) -> Written:
    """Write one change, and say how that ended.

    `intend_at` journals another version for the write. `caused`: our previous write may cause this
    change: with a compute service, Nova deletes its providers. `insist`: a part of the step is
    written already, so after an answer that leaves the result open, such as a proxy's 503, the
    change is written again if its target is unchanged. SAFETY: at the same version, which a service
    accepts once only, or which is compared right before.
    """
    written, sent = Written("refused"), change.version

    def before_retry(version: Version) -> None:
        nonlocal sent
        intend_at(version)
        sent = version

    for _ in range(ATTEMPTS):
        try:
            reply = changes.write(change, cloud, before_retry)
        except Unreachable as silence:
            reply = Reply(False, definite=False, reason=said_by(silence))
        except AccessDenied as denied:
            return Written("refused", said_by(denied), stop=denied)
        if reply.accepted:
            return _accepted(change, reply, cloud)
        written = judged(change, sent, reply, cloud, caused)
        if written.result == "unknown" and insist and written.stop is None:
            caused = True
        elif written.result != "refused" or not reply.conflict or written.version is None:
            break
    return written


def _accepted(change: Change, reply: Reply, cloud: Cloud) -> Written:
    """An accepted write, with the version that it left: from the answer, or read again.

    If the version is not known, an undo refuses the step.
    """
    version, stop = reply.version, None
    if version is None:
        try:
            found = changes.read(change.target, cloud)
            version = found.version if found.state == change.after else {}
        except (Unreachable, AccessDenied) as silence:
            version, stop = {}, silence
    return Written("done", version=version, request_id=reply.request_id, stop=stop)


def judged(
    change: Change, sent: Version, reply: Reply, cloud: Cloud, caused: bool = False
) -> Written:
    """How a write that was not accepted ended. With a version, the target is as it was before.

    `sent` is the version of the last write; `write_change` explains `caused`. If the target cannot
    be read, nothing is known.
    """
    unwritten: Result = "refused" if reply.definite else "unknown"
    try:
        if not reply.definite:
            changes.tidy(change, cloud)
        found = changes.read(change.target, cloud)
    except (Unreachable, AccessDenied) as silence:
        return Written(
            "unknown", answered(change, reply), request_id=reply.request_id, stop=silence
        )
    fate = changes.fate(change, found, sent)
    if fate is Fate.WRITTEN:
        return _in_place(change, found.version, reply, caused)
    if fate is Fate.FOREIGN:
        return Written("refused", answered(change, reply), request_id=reply.request_id)
    return Written(unwritten, answered(change, reply), found.version, reply.request_id)


def _in_place(change: Change, version: Version, reply: Reply, caused: bool) -> Written:
    """Who wrote a change that was not accepted and is in place, at our version.

    SAFETY: after a refusal the change may still be ours. A load balancer that loses the answer
    sends the request to the next server, which refuses it. But another run of an equal plan leaves
    the same state at the same version, and gets the same refusal. So the step is done and
    contested: an undo of it could destroy another client's work. The change is ours if the service
    did not answer, and another client's if we did not send it.
    """
    if caused or (reply.sent and not reply.refused_by_service):
        return Written("done", version=version, request_id=reply.request_id)
    if not reply.sent:
        return Written("refused", by_somebody_else(change))
    return Written("done", CONTESTED, version, reply.request_id, contested=True)
