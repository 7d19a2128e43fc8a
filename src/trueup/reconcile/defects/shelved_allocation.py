# SPDX-License-Identifier: Apache-2.0
"""Shelved allocation: an instance is shelved and offloaded, and still holds resources.

Launchpad 1798688, 1713796, 1862633: an offloaded instance is on no host and should hold nothing
until it is unshelved.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import abandoned_host, guarded_step
from trueup.reconcile.rules.claims import HeldWithoutHost, claim_of, claims
from trueup.reconcile.rules.moves import first_that_may_run, uncleaned
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "shelved-allocation"
TITLE = "An instance is shelved and offloaded, and still holds resources"
REMEDY = "Release all that it and its migrations hold"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION
_OFFLOADED = "shelved_offloaded"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Instances on no host that hold something."""
    return (_judge(claim, facts) for claim in claims(facts, HeldWithoutHost))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Release all that it and its migrations hold, at once."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, HeldWithoutHost):
        return because("not-offloaded-now")
    holders = (claim.instance.uuid, *claim.record.moves)
    after = {holder: None for holder in holders if facts.holdings[holder].allocations is not None}
    if not after:
        return because("nothing-held-now")
    guards = (
        guard
        for row in uncleaned(claim.record)
        for guard in abandoned_host(row, claim.instance, facts)
    )
    return guarded_step(after, facts, finding, claim.instance, tuple(guards))


def _judge(claim: HeldWithoutHost, facts: Facts) -> Verdict:
    record, names = claim.record, facts.provider_names
    every = [held for held in (record.own, *record.moves.values()) if held]
    where = ", ".join(sorted({names.get(uuid, uuid) for held in every for uuid in held}))
    subject = Subject("instance", claim.instance.uuid)
    holds = tuple(row for held in every for row in holding(held, names))
    if claim.instance.vm_state != _OFFLOADED:
        state = claim.instance.vm_state
        reason = because("delete-failed-build") if state == "error" else None
        return Unchecked(
            subject, where, because("holds-on-no-host", reason, holds=holds, vm_state=state)
        )
    if reason := first_that_may_run(uncleaned(record), record, facts):
        # SAFETY: that host may still run the guest; freeing its capacity would hide it.
        return Unchecked(subject, where, because("offloaded-holds", reason, holds=holds))
    return Finding(
        NAME,
        subject,
        where,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(claim.instance, facts),
            "holds": holds,
        },
        consumers=tuple(sorted(record.moves)),
    )
