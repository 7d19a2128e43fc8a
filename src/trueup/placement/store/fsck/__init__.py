# SPDX-License-Identifier: Apache-2.0
"""Defects of the tables themselves, which no request can see or repair.

One file for each defect, with `find(tx)` and `repair(tx, findings, incomplete)`. Allocations that
may be in use are never deleted: a row is deleted only when the row that it belongs to is gone.
"""

from dataclasses import dataclass

from trueup.placement.store.engine.changes import EVERYTHING, note
from trueup.placement.store.engine.database import Database
from trueup.placement.store.fsck import (
    allocation_without_inventory,
    broken_root,
    dangling_row,
    dead_consumer,
    ownerless_allocation,
    repeated_allocation,
    split_uuid,
)
from trueup.placement.store.fsck.findings import Finding, Incomplete

# In the order of repair: merging forms saves a consumer from being made twice, and a deleted
# allocation may have been the last one of a consumer.
_DEFECTS = (
    split_uuid,
    dangling_row,
    repeated_allocation,
    ownerless_allocation,
    broken_root,
    allocation_without_inventory,
    dead_consumer,
)


@dataclass(frozen=True, slots=True)
class Repaired:
    """The findings that a repair mended, and those that are left."""

    mended: tuple[Finding, ...]
    left: tuple[Finding, ...]


def examine(database: Database) -> tuple[Finding, ...]:
    """All findings at one moment. Writes nothing."""
    with database.reading(snapshot=True) as tx:
        return tuple(finding for defect in _DEFECTS for finding in defect.find(tx))


def repair(database: Database, incomplete: Incomplete) -> Repaired:
    """Repair all repairable findings in one transaction.

    SAFETY: stop the service first. If one writes meanwhile, the repair or that write fails.
    """
    database.add_own_tables()
    mended: list[Finding] = []
    left: list[Finding] = []
    with database.transaction(alone=True) as tx:
        for defect in _DEFECTS:
            found = defect.find(tx)
            repairable = [finding for finding in found if finding.repairable]
            if repairable:
                defect.repair(tx, repairable, incomplete)
                note(tx, EVERYTHING)
            mended += repairable
            left += [finding for finding in found if not finding.repairable]
    return Repaired(tuple(mended), tuple(left))
