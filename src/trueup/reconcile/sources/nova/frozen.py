# SPDX-License-Identifier: Apache-2.0
"""A Nova that says what the facts say, for ever: the one that a rehearsal asks."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)
from trueup.reconcile.steps import InstanceState, instance_state


class FrozenNova:
    """Reads facts in place of Nova, as `contract.Nova` says."""

    read_via = "facts"
    registry_source = "facts"

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def cells(self) -> tuple[NovaCell, ...]:
        return tuple(NovaCell(uuid, name, url="") for uuid, name in self._facts.cells.items())

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        facts = self._facts
        return Registry(
            build_requests=facts.build_requests,
            host_mappings=facts.host_mappings,
            instance_mappings=facts.instance_mappings,
            request_specs=facts.request_specs,
            specs=tuple(facts.specs.values()),
            host_aggregates=facts.host_aggregates,
        )

    def contents(self, cell: NovaCell, counted: CountInstances = lambda _: None) -> CellContents:
        rows = [row for row in self._rows(cell.uuid) if not row.deleted]
        counted(len(rows))
        hosts = self.hosts(cell)
        return replace(
            self._contents(cell, rows, {row.uuid for row in rows}),
            compute_nodes=hosts.compute_nodes,
            services=hosts.services,
            heartbeat=hosts.heartbeat,
        )

    def hosts(self, cell: NovaCell) -> CellContents:
        facts = self._facts
        return CellContents(
            compute_nodes=tuple(row for row in facts.compute_nodes if row.cell == cell.uuid),
            services=tuple(row for row in facts.services if row.cell == cell.uuid),
            heartbeat=facts.heartbeats.get(cell.uuid),
        )

    def service_reports(self, cell: NovaCell, host: str) -> CellContents:
        found = self.hosts(cell)
        services = tuple(row for row in found.services if row.host == host)
        return CellContents(services=services, heartbeat=found.heartbeat)

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        rows = [
            row
            for row in self._rows(cell.uuid)
            if wanted.projects is None or row.project in wanted.projects
        ]
        living = {
            row.uuid: row.uuid
            for row in rows
            if not row.deleted and (wanted.hosts is None or row.host in wanted.hosts)
        }
        deleted = {row.uuid: row.uuid for row in rows if row.deleted and wanted.deleted}
        return InstanceIds(living, deleted)

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        wanted = set(uuids)
        rows = [row for row in self._rows(cell.uuid) if row.uuid in wanted and not row.deleted]
        return self._contents(cell, rows, wanted)

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        wanted = set(uuids)
        rows = [row for row in self._rows(cell.uuid) if row.uuid in wanted]
        return self._contents(cell, rows, wanted | set(moves_of))

    def instance_state(self, cell: str, uuid: str) -> InstanceState | None:
        """The state of an instance as the facts have it; None if it has no row in that cell."""
        rows = [row for row in self._rows(cell) if row.uuid == uuid]
        if not rows:
            return None
        moves = (row for row in self._facts.migrations if row.instance == uuid)
        # A row that was archived besides one that is not tells of an earlier life.
        row = min(rows, key=lambda one: one.archived)
        return instance_state(row, moving=any(one.under_way for one in moves))

    def close(self) -> None:
        pass

    def _rows(self, cell: str) -> list[Instance]:
        return [row for row in self._facts.instances if row.cell == cell]

    def _contents(
        self, cell: NovaCell, rows: Iterable[Instance], moved: Collection[str]
    ) -> CellContents:
        facts = self._facts
        return CellContents(
            instances=tuple(rows),
            migrations=tuple(
                row
                for row in facts.migrations
                if row.cell == cell.uuid and (row.instance in moved or row.uuid in moved)
            ),
            block_devices=tuple(row for row in facts.block_devices if row.instance in moved),
            pci_devices=tuple(
                row for row in facts.pci_devices if row.cell == cell.uuid and row.instance in moved
            ),
        )
