# SPDX-License-Identifier: Apache-2.0
"""The simulated cloud as `apply` reads and writes it: in its present state."""

from collections.abc import Callable
from typing import Any

from tests.simulator.cloud import Cloud
from tests.simulator.facts_adapter import instance_of
from tests.simulator.places import CELLS
from tests.simulator.rows import ClaimRow, uuid_of
from trueup.reconcile.facts import FINAL_MIGRATION_STATUSES, Allocations, Holding
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.placement.client import WriteRefused
from trueup.reconcile.steps import InstanceMark, mark

Told = Callable[[str, Allocations | None, Allocations | None], None]


def allocations_of(claim: ClaimRow) -> Allocations:
    return Allocations(claim.amounts, claim.project, claim.user)


def holding_of(cloud: Cloud, consumer: str) -> Holding:
    """What Placement answers about a consumer now."""
    claim = cloud.ledger.get(consumer)
    return Holding(allocations_of(claim), claim.generation) if claim else Holding(None, None)


class WrittenTo:
    """Stands for `trueup.reconcile.sources.cloud.Cloud`."""

    def __init__(self, cloud: Cloud, before_write: Told) -> None:
        self.nova = _Nova(cloud)
        self.placement = _Placement(cloud, before_write)


class _Nova:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def mark(self, cell: str, uuid: str) -> InstanceMark | None:
        name = next(one for one in CELLS if uuid_of(one) == cell)
        rows = self._cloud.cells[name].read()
        if rows is None:
            raise Unreachable(name, "it is down")
        row = rows.servers.get(uuid)
        moving = any(
            move.server == uuid and move.status not in FINAL_MIGRATION_STATUSES
            for move in rows.migrations.values()
        )
        return mark(instance_of(row, name), moving) if row else None


class _Placement:
    def __init__(self, cloud: Cloud, before_write: Told) -> None:
        self._cloud = cloud
        self._before_write = before_write

    def holding(self, consumer: str) -> Holding:
        return holding_of(self._cloud, consumer)

    def provider_generation(self, uuid: str) -> int | None:
        provider = self._cloud.providers.get(uuid)
        return provider.generation if provider else None

    def replace(
        self,
        consumer: str,
        before: Allocations | None,
        after: Allocations | None,
        generation: int | None,
    ) -> None:
        """Write, or refuse if the consumer's generation is another, as Placement does."""
        claim = self._cloud.ledger.get(consumer)
        if (claim.generation if claim else None) != generation:
            raise WriteRefused(consumer, "the consumer's generation moved")
        self._before_write(consumer, before, after)
        owner: dict[str, Any] = {}
        if after:
            owner = {"project": after.project, "user": after.user}
        self._cloud.write(**{consumer: after.amounts if after else {}})
        if after:
            written = self._cloud.ledger[consumer]
            self._cloud.ledger[consumer] = ClaimRow(written.amounts, written.generation, **owner)
