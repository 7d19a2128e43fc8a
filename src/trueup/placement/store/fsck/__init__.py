# SPDX-License-Identifier: Apache-2.0
"""What can be wrong in the tables themselves, where no request can see or repair it.

One file for each defect, with `find(tx)` and `repair(tx, findings, incomplete)`. Nothing that
somebody may hold is ever deleted: rows are deleted only when what they belong to is gone.
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

__all__ = ["Finding", "Incomplete", "Repaired", "examine", "repair"]

# In the order of repair: merging forms saves a consumer from being made twice, and what is
# deleted may leave a consumer with nothing.
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
    """What a repair found, and what of it is left."""

    mended: tuple[Finding, ...]
    left: tuple[Finding, ...]


def examine(database: Database) -> tuple[Finding, ...]:
    """Everything that is wrong at one moment. Writes nothing."""
    with database.reading(snapshot=True) as tx:
        return tuple(finding for defect in _DEFECTS for finding in defect.find(tx))


def repair(database: Database, incomplete: Incomplete) -> Repaired:
    """Repair what can be repaired: all of it, or nothing.

    SAFETY: for a service that is stopped. If one writes meanwhile, the repair or that write fails.
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
