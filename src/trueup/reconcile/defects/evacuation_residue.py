# SPDX-License-Identifier: Apache-2.0
"""Residue of an evacuation: an evacuated instance still holds resources of the host it left.

Launchpad 1829479: the source's nova-compute releases the claim when it comes back, and it may never
come back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.expected import covers, open_reasons
from trueup.reconcile.facts import Facts, Migration, last_change, outside_trees
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import running_source, same_status, sources_down
from trueup.reconcile.remedies.guarded_steps import guarded_step, no_guest
from trueup.reconcile.rules.claims import OnEvacuatedHost, claim_of, claims, evacuated_from
from trueup.reconcile.rules.moves import left_by, source_hosts
from trueup.reconcile.rules.should_hold import not_spare
from trueup.reconcile.steps import Guard, Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
    service_evidence,
)

NAME = "evacuation-residue"
TITLE = "An instance was evacuated, and still holds resources of the host it left"
REMEDY = "Release what it holds on the host it left, and keep the rest"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold an evacuation's source, or the target of one that failed."""
    return (_judge(claim, facts) for claim in claims(facts, OnEvacuatedHost))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace without the trees that it was evacuated from; the rest is kept."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    if held is None or not isinstance(claim, OnEvacuatedHost):
        return because("not-settled-now")
    left = evacuated_from(claim, facts)
    kept = outside_trees(held.amounts, left, facts)
    if not covers(kept, claim.wanted):
        return because("would-hold-less")
    after = {claim.instance.uuid: replace(held, amounts=kept)}
    every = (
        *sources_down(left, claim, facts),
        *_guests_on_targets(left, claim, facts),
        *same_status(left.values()),
    )
    return guarded_step(after, facts, finding, claim.instance, every)


def _guests_on_targets(
    left: Mapping[str, Migration], claim: OnEvacuatedHost, facts: Facts
) -> Iterator[Guard]:
    """Guards: no target of a failed evacuation has begun to run the guest."""
    for root, row in left.items():
        if root != left_by(row, facts):
            yield from no_guest(row.target_host or "", claim.instance, facts)


def _judge(claim: OnEvacuatedHost, facts: Facts) -> Verdict:
    left, names = evacuated_from(claim, facts), facts.provider_names
    where = ", ".join(sorted(names.get(root, root) for root in left))
    subject = Subject("instance", claim.instance.uuid)
    if reason := _obstacle(claim, left, facts):
        return Unchecked(subject, where, reason)
    kept = outside_trees(claim.held, left, facts)
    released = {uuid: held for uuid, held in claim.held.items() if uuid not in kept}
    return Finding(
        NAME,
        subject,
        where,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(claim.instance, facts),
            "evacuation": tuple(_evacuation(row, root, facts) for root, row in left.items()),
            "holds": holding(released, names),
        },
        since=last_change(left.values()),
    )


def _obstacle(claim: OnEvacuatedHost, left: Mapping[str, Migration], facts: Facts) -> Reason | None:
    """Why nothing may be released; None if it may."""
    names = facts.provider_names
    if reason := running_source(left, claim, facts):
        return reason
    kept, wanted = outside_trees(claim.held, left, facts), claim.wanted
    if not covers(kept, wanted):
        # SAFETY: a part of a claim, such as a port's bandwidth alone, does not prove that the
        # destination claimed it.
        keeps, should_hold = holding(kept, names), holding(wanted.known, names)
        reason = open_reasons(wanted, names)
        return because("kept-may-not-suffice", reason, keeps=keeps, should_hold=should_hold)
    return not_spare(kept, claim, facts)


def _evacuation(row: Migration, root: str, facts: Facts) -> Structure:
    """An evacuation as evidence, with the compute service of the host that it left."""
    services = tuple(host.service for host in source_hosts(row, facts) if host.service)
    return {
        "status": row.status,
        "source_host": row.source_host,
        **({} if root == left_by(row, facts) else {"target_host": row.target_host}),
        **service_evidence(services, facts.taken_at),
    }
