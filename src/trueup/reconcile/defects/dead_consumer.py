# SPDX-License-Identifier: Apache-2.0
"""Dead consumer: it holds resources, and no cell has its instance or ever will.

Launchpad 1784074, 1773945: a server was deleted while it was scheduled. The proof is Nova's mapping
of it, which has named no cell for longer than the grace, without a build request; or an operator's
acknowledgement, as of an instance that was purged.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import fresh, unlisted_rows
from trueup.reconcile.rules.strangers import names_of_providers, never_built
from trueup.reconcile.steps import DomainIs, NoInstance, Step, allocations_step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    names_of,
)

NAME = "dead-consumer"
TITLE = "An instance was never built, or an operator says that it is gone, and it holds resources"
REMEDY = "Release all that it holds"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Consumers that no cell has, and that are dead by Nova's mapping or by an operator's word."""
    stated = names_of(options.acknowledgements, "dead-consumer", facts.taken_at.date())
    for consumer in sorted(_unknown(facts)):
        if never_built(consumer, facts, options):
            proof = "Nova mapped it to no cell, and it has no build request"
        elif consumer in stated:
            proof = "an operator says that its instance is gone"
        else:
            continue
        yield _judge(consumer, proof, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Release all that it holds, as long as no cell has an instance or a migration of it."""
    consumer = finding.subject.uuid
    if consumer not in facts.holdings or facts.holdings[consumer].allocations is None:
        return because("holds-nothing-now")
    if reason := unlisted_rows({consumer: None}, facts):
        return reason
    hosts = sorted(facts.hypervisors_that_answered)
    guards = (
        NoInstance(consumer),
        *(guard for cell in sorted(facts.cells) for guard in fresh(cell, facts)),
        *(DomainIs(host, consumer, None) for host in hosts),
    )
    return (allocations_step({consumer: None}, facts, (finding.id,), guards),)


def _unknown(facts: Facts) -> set[str]:
    """The consumers that are no instance or migration of any cell."""
    moves = {row.uuid for row in facts.migrations}
    return facts.consumers.keys() - facts.instance_rows.keys() - facts.builds - moves


def _judge(consumer: str, proof: str, facts: Facts) -> Verdict:
    subject, where = Subject("consumer", consumer), names_of_providers(consumer, facts)
    if domains := facts.domains_of.get(consumer):
        hosts = tuple(sorted({domain.host for domain in domains}))
        return Unchecked(subject, where, because("dead-with-domain", proof=proof, hosts=hosts))
    evidence: Evidence = {
        "proof": proof,
        "holds": holding(facts.consumers[consumer], facts.provider_names),
    }
    return Finding(NAME, subject, where, Severity.MEDIUM, evidence)
