# SPDX-License-Identifier: Apache-2.0
"""Audit: facts → what is wrong, what could not be checked, what was left alone. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from trueup.reconcile.audit.unexplained import unexplained
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Coverage, Facts, Instance, canonical_uuid, grouped, without_ports
from trueup.reconcile.garbage import garbage_left
from trueup.reconcile.rules.claims import Moving, claims
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.rules.nodes import judged_nodes, service_of
from trueup.reconcile.rules.residence import Undetermined, provider_of
from trueup.reconcile.verdicts import (
    Acknowledged,
    Acknowledgement,
    AuditOptions,
    Finding,
    LeftAlone,
    Muted,
    Subject,
    Unchecked,
    Verdicts,
    answer,
    with_choices,
)
from trueup.reconcile.wording import counted


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything that an audit of one set of facts says, in a fixed order."""

    taken_at: datetime
    coverage: Coverage
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    left_alone: tuple[LeftAlone, ...]
    acknowledged: tuple[Acknowledged, ...] = ()
    muted: tuple[Muted, ...] = ()

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """All findings, those that are muted too."""
        return (*self.findings, *(one.finding for one in self.muted))

    @property
    def incomplete(self) -> bool:
        """Whether the evidence leaves something open: a silent source, or a subject not checked."""
        return not self.coverage.complete or bool(self.unchecked)


@garbage_left()
def audit(facts: Facts, options: AuditOptions) -> Audit:
    """Ask every defect, then take out what the operator has acknowledged."""
    return answered(_audit(facts, options), options.acknowledgements)


def answered(result: Audit, acknowledgements: Iterable[Acknowledgement]) -> Audit:
    """The same audit, after these further acknowledgements have answered what they can."""
    verdicts = Verdicts(result.findings, result.unchecked, result.left_alone)
    rest = answer(verdicts, acknowledgements, result.taken_at.date())
    return replace(
        result,
        findings=rest.findings,
        unchecked=rest.unchecked,
        left_alone=rest.left_alone,
        acknowledged=(*result.acknowledged, *rest.acknowledged),
        muted=(*result.muted, *rest.muted),
    )


def judged(facts: Facts, options: AuditOptions) -> Facts:
    """The facts as these options judge them: which cells may be behind, and what was chosen."""
    fresh = with_choices(with_freshness(facts, options), options.acknowledgements)
    return without_ports(fresh) if options.without_ports else fresh


def _audit(facts: Facts, options: AuditOptions) -> Audit:
    facts = judged(facts, options)
    verdicts = [verdict for defect in DEFECTS for verdict in defect.find(facts, options)]
    findings = tuple(row for row in verdicts if isinstance(row, Finding))
    moving = tuple(_in_motion(facts))
    covered = {row.subject.uuid for row in (*verdicts, *moving)}
    covered |= {consumer for row in findings for consumer in row.consumers}
    lost = tuple(_rows_lost(facts, covered))
    covered |= {row.subject.uuid for row in lost}
    found = {row.subject for row in findings}
    return Audit(
        taken_at=facts.taken_at,
        coverage=facts.coverage,
        findings=findings,
        unchecked=(
            *_unjudged_hosts(facts, covered),
            *_without_service(facts),
            *lost,
            *(row for row in verdicts if isinstance(row, Unchecked)),
            *unexplained(facts, covered),
        ),
        left_alone=(
            *(row for row in moving if row.subject not in found),
            *_strangers(facts, covered),
            *(row for row in verdicts if isinstance(row, LeftAlone)),
        ),
    )


def _unjudged_hosts(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Hosts whose instances cannot be judged.

    A host without instances is left out if a finding or another verdict is about it already.
    """
    instances = Counter((row.cell, row.host, row.node) for row in facts.alive.values())
    for node in sorted(
        facts.compute_nodes, key=lambda row: (facts.cells[row.cell], row.host, row.node)
    ):
        if facts.hosts_in_scope is not None and node.host not in facts.hosts_in_scope:
            continue
        provider = provider_of(node, facts)
        if isinstance(provider, Undetermined):
            count = instances[node.cell, node.host, node.node]
            if not count and not {node.uuid, node.host}.isdisjoint(covered):
                continue
            yield Unchecked(
                Subject("host", node.host),
                facts.cells[node.cell],
                f"{provider.reason}; {counted(count, 'instance')} on it could not be checked",
            )


def _without_service(facts: Facts) -> Iterator[Unchecked]:
    """Hosts with a compute node and without a compute service, as after its row was deleted."""
    nodes = [node for node in judged_nodes(facts) if service_of(node, facts) is None]
    for (cell, host), rows in grouped(((one.cell, one.host), one) for one in nodes).items():
        yield Unchecked(
            Subject("host", host),
            ", ".join(one.node for one in rows),
            f"{facts.cells[cell]} has a compute node of it and no compute service: whether it is "
            "up, or disabled, could not be checked",
        )


def row_lost(uuid: str, facts: Facts) -> str:
    """Which cell Nova maps an instance to, if that answered and no cell has a row of it; or "".

    SAFETY: the mapping shows that it is Nova's instance, whose guest may still run. It is not a
    stranger that can be left alone, and nothing shows that it was deleted.
    """
    mapping = facts.mappings.get(uuid)
    if mapping is None or mapping.cell is None or mapping.queued_for_delete:
        return ""
    cell = facts.cells.get(mapping.cell, "")
    silent = {source.source for source in facts.coverage.missing}
    if uuid in facts.instance_rows or uuid in facts.builds or cell in silent:
        return ""
    lost = f"{cell}, which has no row of it: the row is lost, or was removed by hand"
    return f"Nova maps it to {lost if cell else 'a cell that has no cell mapping any more'}"


def _rows_lost(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Consumers that Nova maps to a cell, and of which no cell has a row."""
    for consumer in sorted(facts.consumers.keys() - facts.instance_rows.keys() - set(covered)):
        if reason := row_lost(consumer, facts):
            yield Unchecked(Subject("consumer", consumer), _names_of(consumer, facts), reason)


def _names_of(consumer: str, facts: Facts) -> str:
    """The names of the providers of which a consumer holds something."""
    names = (facts.provider_names.get(uuid, uuid) for uuid in facts.consumers[consumer])
    return ", ".join(sorted(names))


def _in_motion(facts: Facts) -> Iterator[LeftAlone]:
    for claim in claims(facts, Moving):
        instance = claim.instance
        subject, where = Subject("instance", instance.uuid), instance.host or ""
        yield LeftAlone(subject, where, claim.reason, _last_changed(instance, facts))


def _last_changed(instance: Instance, facts: Facts) -> datetime | None:
    """When Nova last changed an instance or its migration under way."""
    rows = (instance, facts.moving.get(instance.uuid))
    times = (row.updated_at or row.created_at for row in rows if row)
    return max((moment for moment in times if moment), default=None)


def _strangers(facts: Facts, covered: Collection[str]) -> Iterator[LeftAlone]:
    """Consumers that are no instance: another service's, a boot, the source of a move.

    `covered` are the consumers that another verdict already covers.
    """
    moves = {row.uuid: row for row in facts.migrations}
    instances = facts.alive.keys() | facts.deleted.keys()
    for consumer in sorted(facts.consumers.keys() - instances - set(covered)):
        if consumer in facts.builds:
            reason = "it has a build request"
        elif move := moves.get(consumer):
            reason = (
                "it holds the source of a migration under way"
                if move.under_way
                else f"it is of a {move.kind} that is {move.status}"
            )
        elif (written := canonical_uuid(consumer)) != consumer and written in instances:
            reason = f"it is instance {written}, written in another form"
        else:
            reason = "no instance in any cell that answered has its uuid; its owner is not known"
        yield LeftAlone(Subject("consumer", consumer), _names_of(consumer, facts), reason)
