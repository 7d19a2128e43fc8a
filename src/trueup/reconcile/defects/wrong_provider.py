# SPDX-License-Identifier: Apache-2.0
"""Wrong provider: a settled instance holds resources of another host, and none of its own.

`heal_allocations` calls such an instance "up-to-date".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.expected import open_reasons, pinned_otherwise
from trueup.reconcile.facts import Amounts, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import guests_on, running_source, sources_down
from trueup.reconcile.remedies.guarded_steps import guarded_step
from trueup.reconcile.rules.claims import Elsewhere, claim_of, claims, elsewhere
from trueup.reconcile.steps import NodeGone, Step
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

NAME = "wrong-provider"
TITLE = "An instance holds its resources on a host where it is not"
REMEDY = "Let it hold what it should on its own host, and nothing on the other host"
SEVERITIES = (Severity.HIGH,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold resources of other hosts, and none of their own."""
    return (_judge(claim, facts) for claim in claims(facts, Elsewhere))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace: what it should hold on its own host, and nothing on the other."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    if held is None or not isinstance(claim, Elsewhere) or _obstacle(claim, facts):
        return because("own-claim-unknown")
    after = {claim.instance.uuid: replace(held, amounts=_right_amounts(claim, facts))}
    [root] = elsewhere(claim, facts)
    nodes = facts.nodes_by_uuid.get(root, ())
    former = facts.deleted_nodes_by_uuid.get(root, ())[-1:] if not nodes else ()
    guards = (
        *(NodeGone(node.uuid, "", node.cell, "") for node in former),
        *guests_on([root], claim, facts),
        *sources_down([root], claim, facts, others=False),
    )
    return guarded_step(after, facts, finding, claim.instance, guards)


def _right_amounts(claim: Elsewhere, facts: Facts) -> Amounts:
    """What it should hold on its own host.

    SAFETY: resources of a pool that does not share with the other host are kept, because it is not
    known why the instance holds them.
    """
    roots = elsewhere(claim, facts)
    kept = {
        uuid: amounts
        for uuid, amounts in claim.held.items()
        if (provider := facts.providers.get(uuid))
        and provider.sharing
        and not provider.shares_with & roots
    }
    return kept | dict(claim.wanted.known)


def _classes(holdings: Iterable[Mapping[str, int]]) -> frozenset[str]:
    """The resource classes; VCPU and PCPU count as one, because the host decides which it is."""
    names = {name for held in holdings for name in held}
    return frozenset("VCPU" if name == "PCPU" else name for name in names)


def _judge(claim: Elsewhere, facts: Facts) -> Verdict:
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    where = ", ".join(sorted(names.get(root, root) for root in elsewhere(claim, facts)))
    if reason := _obstacle(claim, facts):
        return Unchecked(
            subject,
            where,
            because(
                "holds-elsewhere",
                reason,
                host=claim.instance.host,
                holds=holding(claim.held, names),
            ),
        )
    return Finding(
        NAME,
        subject,
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "holds": holding(claim.held, names),
            "should_hold": holding(_right_amounts(claim, facts), names),
        },
    )


def _obstacle(claim: Elsewhere, facts: Facts) -> Reason | None:
    """Why the remedy may be wrong; or None."""
    roots, wanted = elsewhere(claim, facts), claim.wanted
    if len(roots) > 1:
        return because("which-host-unknown")
    [root] = roots
    if root not in facts.nodes_by_uuid and root not in facts.deleted_nodes_by_uuid:
        return because(
            "provider-of-no-node-merge",
            host=claim.instance.host,
            root=root,
            provider=claim.provider.root,
        )
    if reason := running_source(roots, claim, facts, others=False):
        return reason
    if wanted.open:
        return open_reasons(wanted, facts.provider_names)
    if not wanted.known:
        return because("claim-unknown")
    if reason := pinned_otherwise(claim.instance, wanted):
        return reason
    if strange := _classes(claim.held.values()) - _classes(wanted.known.values()):
        # SAFETY: the remedy would release it, and it is not known why the instance holds it.
        return because("classes-unexpected", classes=tuple(sorted(strange)))
    return None
