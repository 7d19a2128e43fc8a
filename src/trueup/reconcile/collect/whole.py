# SPDX-License-Identifier: Apache-2.0
"""Collects a whole cloud: the ledger first, then the facts that explain it."""

from functools import partial as bound

from trueup.reconcile.clock import now
from trueup.reconcile.collect.cached_ports import with_unlisted_ports
from trueup.reconcile.collect.coverage import (
    Cells,
    Collected,
    HypervisorReplies,
    Progress,
    facts_of,
    ports_of,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.nova.contract import CellContents, NovaCell
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.threads import threads


def collect_whole(cloud: Cloud, progress: Progress) -> Facts:
    """Facts about everything in the cloud. Raises as `collect`."""
    taken_at = now()
    cells = Cells(cloud, cloud.nova.cells())
    # SAFETY: the ledger is read first. A change that Nova makes in a cell meanwhile is newer than
    # these facts, so it is left alone. In the reverse order, a move would look like drift.
    ledger = cloud.placement.ledger(lambda done, total: progress("providers", done, total))
    with threads(1) as pool:
        asked_ports = pool.submit(lambda: ports_of(cloud, progress))
        # A build request is deleted after its instance is made in a cell.
        registry = cloud.nova.registry(cells.every)
        nova_has = [aggregate.uuid for aggregate in registry.host_aggregates]
        ledger = cloud.placement.with_aggregates(ledger, nova_has)
        _read_cells(cloud, cells, progress)
        ports, of_neutron = asked_ports.result()
    with_unlisted_ports(cloud, cells, ledger.consumers, ports, of_neutron)
    nodes = (row for reply in cells.contents for row in reply.compute_nodes)
    hypervisors = HypervisorReplies(cloud)
    hypervisors.ask(nodes)
    _look_up_unknown(cloud, cells, ledger, hypervisors.guests_of_nova)
    collected = Collected(
        taken_at=taken_at,
        cells=cells,
        registry=registry,
        providers={**ledger.providers},
        consumers={**ledger.consumers},
        owners=ledger.owners,
        read_via=ledger.read_via,
        ledger_faults=ledger.faults,
        ledger_writes=ledger.written,
        ports=ports,
        domains=hypervisors.domains,
        hypervisors_asked=hypervisors.asked,
        optional=(*of_neutron, *hypervisors.statuses()),
    )
    return facts_of(cloud, collected)


def _read_cells(cloud: Cloud, cells: Cells, progress: Progress) -> None:
    """Read everything in each cell that is not deleted."""
    counts: dict[str, int] = {}
    read: list[NovaCell] = []

    def contents(cell: NovaCell) -> CellContents:
        def counted(instances: int) -> None:
            counts[cell.uuid] = instances
            progress("instances", sum(counts.values()), 0)

        try:
            return cloud.nova.contents(cell, counted)
        finally:
            read.append(cell)
            progress("cells", len(read), len(cells.every))

    cells.ask(contents)


def _look_up_unknown(cloud: Cloud, cells: Cells, ledger: Ledger, guests: frozenset[str]) -> None:
    """Ask every cell about the uuids that no cell has listed: consumers, guests of Nova's domains,
    and instances of migrations that have allocations. A consumer may be a deleted migration.
    """
    asked = frozenset[str]()
    wanted = ledger.consumers.keys() | guests
    while unknown := (wanted | _instances_of_moves(cells, ledger)) - _known(cells) - asked:
        cells.ask(bound(cloud.nova.lookup, uuids=unknown))
        asked |= unknown


def _known(cells: Cells) -> frozenset[str]:
    """The instances and migrations that were read."""
    instances = {row.uuid for reply in cells.contents for row in reply.instances}
    return frozenset(instances | {row.uuid for reply in cells.contents for row in reply.migrations})


def _instances_of_moves(cells: Cells, ledger: Ledger) -> frozenset[str]:
    """The instances of migrations that have allocations."""
    moves = (row for reply in cells.contents for row in reply.migrations)
    return frozenset(row.instance for row in moves if row.uuid in ledger.consumers)
