# SPDX-License-Identifier: Apache-2.0
"""The hosts and consumers of a rebuilt ledger that could not be checked, as lines. Pure.

SAFETY: an instance that the new ledger lacks keeps running, and Placement gives its resources to
others. So each one has a line, and an audit without findings does not hide it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.audit import Audit
from trueup.reconcile.expected import expected, open_reasons
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.claims import LostInMove, Missing, Moving, NotCertain, claim_of
from trueup.reconcile.rules.residence import Undetermined, provider_of
from trueup.reconcile.runbooks.rebuild_consumers import LedgerLine, not_judged
from trueup.reconcile.verdicts import CONSUMERS, Finding, amounts_in_words


def gaps(
    facts: Facts, old: Facts, result: Audit, left_out: Mapping[str, Reason]
) -> tuple[LedgerLine, ...]:
    """A line for each host and consumer of the new ledger that could not be checked.

    `facts` have the new ledger, `old` the old one, and `result` is the audit of `facts`. `left_out`
    says by uuid why compute nodes got no provider.
    """
    hosts = tuple(_hosts(facts, left_out))
    told = {line.uuid for line in hosts}
    reasons = {
        row.subject.uuid: row.reason for row in result.unchecked if row.subject.kind in CONSUMERS
    }
    lines = {
        uuid: _of_consumer(uuid, because("unchecked", reason), facts, old)
        for uuid, reason in _instances(facts, old.consumers, reasons)
    }
    for row in result.unchecked:
        kind, uuid = row.subject.kind, row.subject.uuid
        if uuid in lines or uuid in told:
            continue
        if kind in CONSUMERS:
            lines[uuid] = _of_consumer(uuid, because("unchecked", row.reason), facts, old)
        else:
            lines[uuid] = LedgerLine(
                kind, uuid, row.where, "", "", because("unchecked", row.reason)
            )
    return (*hosts, *lines.values())


def left(
    result: Audit, facts: Facts, old: Facts, lines: Iterable[LedgerLine]
) -> tuple[LedgerLine, ...]:
    """A line for each finding about the new ledger whose subject has no line yet."""
    told = {line.uuid for line in lines}
    found = (row for row in result.findings if row.subject.uuid not in told)
    return tuple(_of_finding(row, facts, old) for row in found)


def _of_finding(finding: Finding, facts: Facts, old: Facts) -> LedgerLine:
    kind, uuid = finding.subject.kind, finding.subject.uuid
    reason = because("left-to-plan", defect=finding.defect)
    if kind in CONSUMERS:
        return _of_consumer(uuid, reason, facts, old)
    return LedgerLine(kind, uuid, finding.where, "", "", reason)


def with_gaps(lines: Iterable[LedgerLine], gaps: Iterable[LedgerLine]) -> tuple[LedgerLine, ...]:
    """These lines with those of gaps; two lines about one consumer become one."""
    every = tuple(gaps)
    left = {(gap.kind, gap.uuid): gap for gap in every if gap.kind == "consumer"}
    merged: list[LedgerLine] = []
    for line in lines:
        gap = left.pop((line.kind, line.uuid), None)
        if gap is None:
            merged.append(line)
            continue
        reason = together((None if line.old == line.new else line.reason, gap.reason))
        merged.append(replace(line, reason=reason or gap.reason))
    others = (gap for gap in every if gap.kind != "consumer")
    return (*merged, *left.values(), *others)


def _hosts(facts: Facts, left_out: Mapping[str, Reason]) -> Iterator[LedgerLine]:
    """The hosts whose provider or inventory is not known."""
    for node in sorted(facts.compute_nodes, key=lambda row: (row.host, row.node, row.uuid)):
        found = provider_of(node, facts)
        reason = left_out.get(node.uuid)
        if isinstance(found, Undetermined):
            reason = reason or found.reason
        elif not found.inventories and node.hypervisor != IRONIC:
            reason = because("host-contents-unknown")
        if reason:
            yield LedgerLine("host", node.host, node.node, "", "", because("unchecked", reason))


def _instances(
    facts: Facts, held_before: Container[str], reasons: Mapping[str, Reason]
) -> Iterator[tuple[str, Reason]]:
    """The instances that were not judged or are left out, and why."""
    for uuid, instance in sorted(facts.alive.items()):
        claim = claim_of(uuid, facts)
        if isinstance(claim, NotCertain):
            yield uuid, claim.reason
        elif uuid in reasons:
            yield uuid, reasons[uuid]
        elif why := _left_out(instance, facts, held_before):
            yield uuid, why


def _left_out(instance: Instance, facts: Facts, held_before: Container[str]) -> Reason | None:
    """Why an instance lacks its allocations, and had none before either; or None."""
    claim = claim_of(instance.uuid, facts)
    if not isinstance(claim, Moving | Missing | LostInMove):
        return None
    moves = [row.uuid for row in facts.migrations_of.get(instance.uuid, ())]
    if any(consumer in held_before for consumer in (instance.uuid, *moves)):
        # Old allocations are unchanged; moves change theirs by themselves.
        return None
    for expectation in expected(instance, facts):
        if expectation.parts and not facts.consumers.get(expectation.consumer):
            why = not_judged(claim, facts.record(instance.uuid), facts)
            return why or open_reasons(expectation, facts.provider_names) or because("nothing-held")
    return None


def _of_consumer(uuid: str, reason: Reason, facts: Facts, old: Facts) -> LedgerLine:
    instance = facts.alive.get(uuid) or facts.deleted.get(uuid)
    before = amounts_in_words(old.consumers.get(uuid, {}), old.provider_names)
    after = amounts_in_words(facts.consumers.get(uuid, {}), facts.provider_names)
    name = instance.name if instance else ""
    return LedgerLine("consumer", uuid, name, before, after, reason)
