# SPDX-License-Identifier: Apache-2.0
"""The services we talk to: one file each, that reads facts and writes steps."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from trueup.reconcile.sources.libvirt import Hypervisors
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.cells import CellContents, Counted, Found
from trueup.reconcile.sources.nova.databases import Cell
from trueup.reconcile.sources.nova.queries import Narrowing
from trueup.reconcile.sources.nova.registry import Registry
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.steps import InstanceMark


class Nova(Protocol):
    """Nova, from its databases or over its API. Every method raises Unreachable or AccessDenied.

    `way` is how it is read, `registry_source` what coverage calls that which is in no cell.
    """

    way: str
    registry_source: str

    def cells(self) -> tuple[Cell, ...]: ...

    def registry(self, cells: Iterable[Cell], uuids: Iterable[str] | None = ...) -> Registry: ...

    def contents(self, cell: Cell, counted: Counted = ...) -> CellContents: ...

    def hosts(self, cell: Cell) -> CellContents: ...

    def found(self, cell: Cell, narrowing: Narrowing) -> Found: ...

    def instances(self, cell: Cell, uuids: Iterable[str]) -> CellContents: ...

    def lookup(
        self, cell: Cell, uuids: Iterable[str], moves_of: Iterable[str] = ...
    ) -> CellContents: ...

    def mark(self, cell: str, uuid: str) -> InstanceMark | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Cloud:
    """One cloud's services, connected; without `neutron` or `hypervisors`, those are not asked."""

    nova: Nova
    placement: Placement
    neutron: Neutron | None = None
    hypervisors: Hypervisors | None = None

    def close(self) -> None:
        self.nova.close()
        self.placement.close()
