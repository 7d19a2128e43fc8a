# SPDX-License-Identifier: Apache-2.0
"""Remarks: a sentence about each instance and consumer without a verdict in an audit. Pure.

Verdicts are about wrong, unusual or unknown subjects. Remarks cover all others.
"""

from collections.abc import Iterator

from trueup.reconcile.audit.audit import Audit
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import Claim, NotCertain, OnNoHost, Right, all_claims
from trueup.reconcile.rules.unoffered import unoffered_classes
from trueup.reconcile.verdicts import Finding, LeftAlone, Remark, Subject, Unchecked


def remarks(facts: Facts, audit: Audit) -> Iterator[Remark]:
    """A remark about every instance and consumer without a verdict; `audit` is of these facts."""
    covered = _covered(audit)
    for claim in all_claims(facts):
        instance = claim.instance
        if instance.uuid not in covered:
            right, reason = _word(claim, facts)
            yield Remark(Subject("instance", instance.uuid), instance.host or "", reason, right)
    moves = {row.uuid: row for row in facts.migrations}
    for consumer in sorted(facts.consumers.keys() - facts.alive.keys() - covered):
        names = facts.provider_names
        where = ", ".join(sorted(names.get(uuid, uuid) for uuid in facts.consumers[consumer]))
        move = moves.get(consumer)
        reason = (
            because("holds-for-instance", instance=move.instance)
            if move
            else because("nothing-known")
        )
        yield Remark(Subject("consumer", consumer), where, reason, right=False)


def _covered(audit: Audit) -> frozenset[str]:
    rows: list[Finding | Unchecked | LeftAlone]
    rows = [*audit.every_finding, *audit.unchecked, *audit.left_alone]
    named = {row.acknowledgement.name for row in audit.acknowledged if row.answered}
    others = {consumer for row in audit.every_finding for consumer in row.consumers}
    return frozenset({row.subject.uuid for row in rows} | named | others)


def _word(claim: Claim, facts: Facts) -> tuple[bool, Reason]:
    if names := unoffered_classes(facts).get(claim.instance.uuid):
        return False, because("class-nowhere", classes=tuple(names))
    if isinstance(claim, NotCertain):
        return False, claim.reason
    if isinstance(claim, OnNoHost):
        return True, because("on-no-host")
    if isinstance(claim, Right):
        return True, because("right")
    return False, because("changed-while-read")
