# SPDX-License-Identifier: Apache-2.0
"""Migrations of instances, of every kind and status, under way or over."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

# Statuses after which Nova never touches a migration again. With any other status a migration is
# under way; an unconfirmed resize is `finished`, which is not final.
FINAL_MIGRATION_STATUSES = frozenset(
    {"confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"}
)


@dataclass(frozen=True, slots=True)
class Migration:
    """A row of a cell's `migrations`: a move of one instance, under way or over.

    `uuid` is the consumer that holds the source's share during the move. Nova marks the migrations
    of an instance as `deleted` when it deletes the instance; such migrations are read only if they
    have allocations.
    """

    uuid: str
    cell: str
    instance: str
    kind: str
    status: str
    source_host: str | None
    source_node: str | None
    target_host: str | None = None
    target_node: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    between_cells: bool = False
    deleted: bool = False

    @property
    def under_way(self) -> bool:
        return not self.deleted and self.status not in FINAL_MIGRATION_STATUSES


def last_change(migrations: Iterable[Migration]) -> datetime | None:
    """The latest change of these migrations; None if Nova has no time for any of them."""
    return max((row.updated_at for row in migrations if row.updated_at), default=None)
