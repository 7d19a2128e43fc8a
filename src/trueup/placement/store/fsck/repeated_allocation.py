# SPDX-License-Identifier: Apache-2.0
"""Several rows of one consumer, provider and class: requests show one of them, and count all.

They are added up, so that the provider's usage does not change; an audit finds wrong amounts.
"""

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import func, select, update

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.fsck.split_uuid import add_up
from trueup.placement.store.rows import providers as provider_rows
from trueup.placement.store.tables import allocations, consumers

DEFECT = "repeated_allocation"

_KEY = (
    allocations.c.consumer_id,
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
)


def find(tx: Transaction) -> list[Finding]:
    """One finding for each consumer with such rows."""
    repeated = tx.execute(select(*_KEY).group_by(*_KEY).having(func.count() > 1))
    classes = Counter(row.consumer_id for row in repeated)
    return [
        Finding(
            defect=DEFECT,
            subject=f"consumer {uuid}",
            evidence=f"has several rows for one provider and class, {count} times",
            remedy="add the rows up, so that usage stays",
            rows=uuid,
        )
        for uuid, count in sorted(classes.items())
    ]


def repair(tx: Transaction, findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Leave each of these consumers one row for each provider and class."""
    for finding in findings:
        provider_rows.bump_generations(tx, add_up(tx, finding.rows))
        # A client that has read the consumer before must read it again.
        mine = update(consumers).where(consumers.c.uuid == finding.rows)
        tx.execute(mine.values(generation=consumers.c.generation + 1))
