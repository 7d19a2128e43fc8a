# SPDX-License-Identifier: Apache-2.0
"""One UUID written in several forms, which Placement takes for several consumers or providers.

Consumers of one project and user are merged under the canonical form. Their allocations are added
up, so that no provider's usage changes; an audit finds wrong amounts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.fsck.removal import delete_rows
from trueup.placement.store.rows import providers as provider_rows
from trueup.placement.store.tables import allocations, consumers, providers

DEFECT = "split_uuid"

_HEX_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Split:
    """The canonical form, and all the forms that are in the tables."""

    canonical: str
    forms: tuple[str, ...]


def find(tx: Transaction) -> list[Finding]:
    """One finding for each UUID of several forms."""
    held_by = tx.scalars(select(allocations.c.consumer_id).distinct())
    owners = {row.uuid: row for row in tx.execute(_owners())}
    of_consumers = splits({*held_by, *owners})
    of_providers = splits(tx.scalars(select(providers.c.uuid)))
    return [
        *(_of_consumer(split, owners) for split in of_consumers),
        *(_of_provider(split) for split in of_providers),
    ]


def repair(tx: Transaction, findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Merge the forms of each of these consumers."""
    for finding in findings:
        _merge(tx, finding.rows)


def splits(uuids: Iterable[str]) -> list[Split]:
    """The UUIDs that are written in several forms; other text is ignored."""
    forms: dict[str, set[str]] = defaultdict(set)
    for uuid in uuids:
        forms[uuid.replace("-", "").lower()].add(uuid)
    return [
        Split(_canonical(digits), tuple(sorted(written)))
        for digits, written in sorted(forms.items())
        if len(written) > 1 and len(digits) == _HEX_DIGITS
    ]


def _canonical(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _owners() -> Any:
    return select(
        consumers.c.id, consumers.c.uuid, consumers.c.project_id, consumers.c.user_id
    ).order_by(consumers.c.id)


def _of_consumer(split: Split, owners: dict[str, Any]) -> Finding:
    known = [owners[form] for form in split.forms if form in owners]
    one_owner = len({(row.project_id, row.user_id) for row in known}) <= 1
    return Finding(
        defect=DEFECT,
        subject=f"consumer {split.canonical}",
        evidence=f"is written as {', '.join(split.forms)}",
        remedy="merge them, and add up their allocations"
        if one_owner
        else "none: the forms belong to different projects or users",
        repairable=one_owner,
        rows=split,
    )


def _of_provider(split: Split) -> Finding:
    return Finding(
        defect=DEFECT,
        subject=f"provider {split.canonical}",
        evidence=f"is written as {', '.join(split.forms)}",
        remedy="none: the database does not tell which of them the host uses; move the contents "
        "of the other one through the API, and delete it",
        repairable=False,
    )


def _merge(tx: Transaction, split: Split) -> None:
    holds = allocations.c.consumer_id
    tx.execute(
        update(allocations).where(holds.in_(split.forms)).values(consumer_id=split.canonical)
    )
    _keep_one_row(tx, split)
    changed = add_up(tx, split.canonical)
    provider_rows.bump_generations(tx, changed)


def _keep_one_row(tx: Transaction, split: Split) -> None:
    known = list(tx.execute(_owners().where(consumers.c.uuid.in_(split.forms))))
    if not known:
        return
    kept = next((row for row in known if row.uuid == split.canonical), known[0])
    delete_rows(tx, consumers, [row.id for row in known if row.id != kept.id])
    change = update(consumers).where(consumers.c.id == kept.id)
    # A client that has read the consumer before must read it again.
    tx.execute(change.values(uuid=split.canonical, generation=consumers.c.generation + 1))


def add_up(tx: Transaction, consumer_uuid: str) -> set[int]:
    """Leave a consumer one row for each provider and class, and return the ids of the providers."""
    query = select(
        allocations.c.id,
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        allocations.c.used,
    ).where(allocations.c.consumer_id == consumer_uuid)
    rows: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in tx.execute(query.order_by(allocations.c.id)):
        rows[row.resource_provider_id, row.resource_class_id].append(row)
    for first, *others in rows.values():
        if others:
            used = first.used + sum(row.used for row in others)
            change = update(allocations).where(allocations.c.id == first.id)
            tx.execute(change.values(used=used))
            delete_rows(tx, allocations, [row.id for row in others])
    return {provider_id for provider_id, _ in rows}
