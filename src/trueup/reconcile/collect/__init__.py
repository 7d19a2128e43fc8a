# SPDX-License-Identifier: Apache-2.0
"""Collect: a cloud → facts. Sources are read side by side, and each says whether it answered."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from trueup.reconcile.collect.coverage import (
    Cells,
    Heard,
    Progress,
    domains_of,
    facts_of,
    now,
    ports_of,
)
from trueup.reconcile.collect.garbage import garbage_left
from trueup.reconcile.collect.selected import collect_selected
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.facts import Facts
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.nova.cells import CellContents
from trueup.reconcile.sources.nova.databases import Cell
from trueup.reconcile.sources.placement.contract import Ledger

_SERVICES = 3


@garbage_left()
def collect(cloud: Cloud, progress: Progress, selection: Selection = EVERYTHING) -> Facts:
    """One picture of the cloud, or of what is selected of it.

    Raises SelectionUnknown, and Unreachable when Placement or Nova's API database does not answer,
    since without them nothing can be said; a cell that does not answer is named in the coverage.
    """
    if selection.narrows:
        return collect_selected(cloud, progress, selection)
    taken_at = now()
    cells = Cells(cloud, cloud.nova.cells())
    with ThreadPoolExecutor(_SERVICES) as pool:
        asked_ledger = pool.submit(
            lambda: cloud.placement.ledger(lambda done, total: progress("providers", done, total))
        )
        asked_registry = pool.submit(lambda: cloud.nova.registry(cells.every))
        asked_ports = pool.submit(lambda: ports_of(cloud, progress))
        _read(cloud, cells, progress)
        ledger, registry = asked_ledger.result(), asked_registry.result()
        ports, of_neutron = asked_ports.result()
    nodes = (row for one in cells.contents for row in one.compute_nodes)
    domains, of_libvirt = domains_of(cloud, nodes)
    _look_up(cloud, cells, ledger)
    heard = Heard(
        taken_at=taken_at,
        cells=cells,
        registry=registry,
        providers={**ledger.providers},
        consumers={**ledger.consumers},
        way=ledger.way,
        ports=ports,
        domains=domains,
        answers=(*of_neutron, *of_libvirt),
    )
    return facts_of(cloud, heard)


def with_holdings(facts: Facts, cloud: Cloud, consumers: Iterable[str]) -> Facts:
    """The same facts, and of these consumers also owner and generation."""
    return replace(facts, holdings=cloud.placement.holdings(consumers))


def _read(cloud: Cloud, cells: Cells, progress: Progress) -> None:
    """All that is not deleted in each cell."""
    counts: dict[str, int] = {}
    read: list[Cell] = []

    def contents(cell: Cell) -> CellContents:
        def counted(instances: int) -> None:
            counts[cell.uuid] = instances
            progress("instances", sum(counts.values()), 0)

        try:
            return cloud.nova.contents(cell, counted)
        finally:
            read.append(cell)
            progress("cells", len(read), len(cells.every))

    cells.ask(contents)


def _look_up(cloud: Cloud, cells: Cells, ledger: Ledger) -> None:
    """Ask every cell about the consumers that no cell told of."""
    known = {row.uuid for one in cells.contents for row in one.instances}
    unknown = ledger.consumers.keys() - known
    cells.ask(lambda cell: cloud.nova.lookup(cell, unknown))
