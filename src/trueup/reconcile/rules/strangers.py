# SPDX-License-Identifier: Apache-2.0
"""Strangers: consumers that are not an instance of any cell, and what is known of each. Pure."""

from collections.abc import Collection, Iterator
from datetime import timedelta

from trueup.reconcile.facts import Facts, canonical_uuid
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.verdicts import AuditOptions, LeftAlone, Subject, Unchecked


def row_lost(uuid: str, facts: Facts) -> Reason | None:
    """To which cell Nova maps an instance, if that cell answered and none has its row; or None.

    SAFETY: the mapping shows that it is Nova's instance, whose guest may still run. So it cannot be
    left alone like a stranger, and nothing shows that it was deleted.
    """
    mapping = facts.mappings.get(uuid)
    if mapping is None or mapping.cell is None or mapping.queued_for_delete:
        return None
    cell = facts.cells.get(mapping.cell, "")
    silent = {source.source for source in facts.coverage.missing}
    if uuid in facts.instance_rows or uuid in facts.builds or cell in silent:
        return None
    return because("row-lost", cell=cell) if cell else because("cell-unmapped")


def never_built(uuid: str, facts: Facts, options: AuditOptions) -> bool:
    """Whether Nova mapped an instance to no cell, and gave up: no cell will ever have it.

    Nova makes mapping and build request together. When the request is gone and the mapping is older
    than the grace, nothing builds the instance any more.
    """
    mapping = facts.mappings.get(uuid)
    if mapping is None or mapping.cell is not None or mapping.changed_at is None:
        return False
    if uuid in facts.builds or uuid in facts.instance_rows:
        return False
    return facts.taken_at - mapping.changed_at >= timedelta(seconds=options.grace_seconds)


def rows_lost(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Consumers that Nova maps to a cell, but that have no row in any cell."""
    for consumer in sorted(facts.consumers.keys() - facts.instance_rows.keys() - set(covered)):
        if reason := row_lost(consumer, facts):
            yield Unchecked(
                Subject("consumer", consumer), names_of_providers(consumer, facts), reason
            )


def strangers(facts: Facts, covered: Collection[str]) -> Iterator[LeftAlone]:
    """Consumers that are not instances: another service's, a boot, the source of a move.

    Other verdicts are already about the consumers in `covered`.
    """
    moves = {row.uuid: row for row in facts.migrations}
    instances = facts.alive.keys() | facts.deleted.keys()
    for consumer in sorted(facts.consumers.keys() - instances - set(covered)):
        if consumer in facts.builds:
            reason = because("build-request")
        elif move := moves.get(consumer):
            reason = (
                because("source-of-move")
                if move.under_way
                else because("consumer-of-move", kind=move.kind, status=move.status)
            )
        elif (written := canonical_uuid(consumer)) != consumer and written in instances:
            reason = because("instance-written-otherwise", instance=written)
        else:
            reason = _unknown_owner(consumer, facts)
        yield LeftAlone(Subject("consumer", consumer), names_of_providers(consumer, facts), reason)


def names_of_providers(consumer: str, facts: Facts) -> str:
    """The names of the providers whose resources a consumer holds."""
    names = (facts.provider_names.get(uuid, uuid) for uuid in facts.consumers[consumer])
    return ", ".join(sorted(names))


def _unknown_owner(consumer: str, facts: Facts) -> Reason:
    mapping = facts.mappings.get(consumer)
    if mapping is None:
        return because("owner-unknown")
    cell = facts.cells.get(mapping.cell or "", "")
    if cell in {source.source for source in facts.coverage.missing}:
        return because("mapped-to-silent-cell", cell=cell)
    return because("mapped-queued" if mapping.queued_for_delete else "mapped-without-row")
