# SPDX-License-Identifier: Apache-2.0
"""Asks the sources of a cloud, records which of them answered, and makes facts with coverage."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import TypeVar

from trueup.reconcile.clock import now
from trueup.reconcile.collect.spelling import as_nodes_spell
from trueup.reconcile.facts import (
    NEUTRON,
    OWNERS,
    PLACEMENT,
    PORT_CLASSES,
    Amounts,
    ComputeNode,
    Coverage,
    Domain,
    Facts,
    Instance,
    LedgerFault,
    Migration,
    Owner,
    Port,
    Provider,
    SourceStatus,
    Unsupported,
    grouped,
)
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.libvirt import HostDomains, status_of
from trueup.reconcile.sources.notes import NOTHING_NOTED, Noted
from trueup.reconcile.sources.nova.contract import CellContents, NovaCell, Registry
from trueup.reconcile.threads import threads

# Called with the stage, the number done, and the total (0: not known).
Progress = Callable[[str, int, int], None]
Reply = TypeVar("Reply")

CELLS_AT_ONCE = 4
_API = "API"
OWNERS_NOT_READ = Unsupported(
    OWNERS,
    "over Placement's API each takes a request; use --placement-database, or select",
)


class Cells:
    """The cells of a cloud: what each returned so far, or why it no longer answers.

    SAFETY: a cell that failed to answer once is not asked again in this run, and coverage says so.
    """

    def __init__(self, cloud: Cloud, cells: Iterable[NovaCell]) -> None:
        self.every = tuple(cells)
        self._cloud = cloud
        self._contents: dict[NovaCell, list[CellContents]] = {cell: [] for cell in self.every}
        self._silent: dict[NovaCell, SourceStatus] = {}
        self._unlisted: Mapping[str, tuple[str, ...]] = {}

    @property
    def names(self) -> dict[str, str]:
        """The name of each cell, by uuid."""
        return {cell.uuid: cell.name for cell in self.every}

    @property
    def contents(self) -> list[CellContents]:
        """Everything that was read so far, cell by cell."""
        return [reply for contents in self._contents.values() for reply in contents]

    @property
    def instances(self) -> Iterator[Instance]:
        """The instance rows that were read, cell by cell.

        A database that compares without case returns an instance a second time for a consumer
        whose uuid is in upper case. Its rows are kept once.
        """
        for contents in self._contents.values():
            known: set[str] = set()
            for reply in contents:
                yield from (
                    self._with_ports(row) for row in reply.instances if row.uuid not in known
                )
                known |= {row.uuid for row in reply.instances}

    def add_ports(self, unlisted: Mapping[str, tuple[str, ...]]) -> None:
        """Ports, by instance, that Nova's network cache has and Neutron does not list."""
        self._unlisted = unlisted

    def _with_ports(self, row: Instance) -> Instance:
        more = self._unlisted.get(row.uuid)
        if not more or row.deleted:
            return row
        ports = tuple(dict.fromkeys((*row.ports_holding, *more)))
        return replace(row, ports_hold=True, ports_holding=ports)

    @property
    def heartbeats(self) -> dict[str, datetime]:
        """The time of the last report of any service of each cell, by the cell's uuid."""
        return {
            cell.uuid: max(moments)
            for cell, contents in self._contents.items()
            if (moments := [reply.heartbeat for reply in contents if reply.heartbeat])
        }

    @property
    def clocks_ahead(self) -> dict[str, timedelta]:
        """How far the clock of each cell's database is ahead of ours, by the cell's uuid."""
        return {
            cell.uuid: reply.ahead
            for cell, contents in self._contents.items()
            for reply in contents
            if reply.ahead is not None
        }

    def ask(self, question: Callable[[NovaCell], Reply]) -> dict[NovaCell, Reply]:
        """The reply of each cell that still answers. Replies of type CellContents are kept."""
        asked = [cell for cell in self.every if cell not in self._silent]
        with threads(CELLS_AT_ONCE) as pool:
            replies = [*pool.map(lambda cell: self._ask(cell, question), asked)]
        self._silence_copies()
        answered = zip(asked, replies, strict=True)
        return {
            cell: reply
            for cell, reply in answered
            if reply is not None and cell not in self._silent
        }

    def statuses(self) -> tuple[SourceStatus, ...]:
        """The status of each cell, for the coverage."""
        return tuple(self._silent.get(cell) or self._status(cell) for cell in self.every)

    def _ask(self, cell: NovaCell, question: Callable[[NovaCell], Reply]) -> Reply | None:
        try:
            reply = question(cell)
        except Unreachable as silence:
            self._silent[cell] = _silent(cell.name, self._cloud.nova.read_via, silence)
            return None
        if isinstance(reply, CellContents):
            self._contents[cell].append(reply)
        return reply

    def _silence_copies(self) -> None:
        """Count cells as silent that have the same services: they are one database, or copies.

        SAFETY: in both, each instance is alive, and nothing shows which row is Nova's. What the
        mapping of the other cell should lead to was not read.
        """
        owners = grouped(
            (row.uuid, cell)
            for cell, contents in self._contents.items()
            for reply in contents
            for row in reply.services
            if row.uuid
        )
        copies = dict.fromkeys(frozenset(cells) for cells in owners.values() if len({*cells}) > 1)
        for cells in copies:
            for cell in cells:
                others = " and ".join(sorted(other.name for other in cells if other != cell))
                silence = Unreachable(
                    cell.name,
                    f"it has the same services as {others}: their rows in cell_mappings lead to "
                    "one database, or one database is a copy of the other",
                )
                self._silent[cell] = _silent(cell.name, self._cloud.nova.read_via, silence)
                self._contents[cell] = []

    def _status(self, cell: NovaCell) -> SourceStatus:
        contents = self._contents[cell]
        noted = NOTHING_NOTED
        for reply in contents:
            noted = noted.and_also(reply.noted)
        rows = sum(reply.rows for reply in contents)
        return _answered(cell.name, self._cloud.nova.read_via, rows, noted)


@dataclass(frozen=True, slots=True)
class Collected:
    """Everything that was read of a cloud, source by source.

    `read_via` says how Placement was read, and `unsupported` what was not read of it. `owners` is
    None if Placement was not asked for them. `optional` holds the statuses of sources that not
    every cloud has.
    """

    taken_at: datetime
    cells: Cells
    registry: Registry
    providers: dict[str, Provider]
    consumers: dict[str, Amounts]
    owners: Mapping[str, Owner] | None
    read_via: str
    ports: tuple[Port, ...] = ()
    domains: tuple[Domain, ...] = ()
    hypervisors_asked: frozenset[str] | None = None
    optional: tuple[SourceStatus, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    ledger_faults: tuple[LedgerFault, ...] = ()
    ledger_writes: Mapping[str, datetime] = field(default_factory=dict)


def facts_of(cloud: Cloud, collected: Collected) -> Facts:
    """The facts, with their coverage."""
    nova, contents = cloud.nova, collected.cells.contents
    nodes = tuple(chain.from_iterable(reply.compute_nodes for reply in contents))
    registry = as_nodes_spell(collected.registry, (row for row in nodes if not row.deleted))
    services = tuple(chain.from_iterable(reply.services for reply in contents))
    not_read = Noted(unsupported=(*collected.unsupported, *_not_read(collected)))
    of_placement = _answered(
        PLACEMENT,
        collected.read_via,
        len(collected.providers),
        cloud.placement.noted().and_also(not_read),
    )
    of_registry = _answered(nova.registry_source, nova.read_via, registry.rows, registry.noted)
    optional = (_with_ports(status, cloud, collected) for status in collected.optional)
    statuses = (of_placement, of_registry, *collected.cells.statuses(), *optional)
    return Facts(
        taken_at=collected.taken_at,
        coverage=Coverage(statuses),
        cells=collected.cells.names,
        providers=collected.providers,
        consumers=collected.consumers,
        owners={**(collected.owners or {})},
        instances=tuple(collected.cells.instances),
        migrations=_migrations(contents, collected.consumers),
        compute_nodes=tuple(row for row in nodes if not row.deleted),
        services=tuple(row for row in services if not row.deleted),
        deleted_compute_nodes=tuple(row for row in nodes if row.deleted),
        deleted_services=tuple(row for row in services if row.deleted),
        heartbeats=collected.cells.heartbeats,
        clocks_ahead=collected.cells.clocks_ahead,
        ledger_writes=collected.ledger_writes,
        build_requests=registry.build_requests,
        disabled_cells=frozenset(cell.uuid for cell in collected.cells.every if cell.disabled),
        host_mappings=registry.host_mappings,
        instance_mappings=registry.instance_mappings,
        request_specs=registry.request_specs,
        specs={row.instance: row for row in registry.specs},
        host_aggregates=registry.host_aggregates,
        block_devices=tuple(chain.from_iterable(reply.block_devices for reply in contents)),
        pci_devices=tuple(chain.from_iterable(reply.pci_devices for reply in contents)),
        ports=collected.ports,
        domains=collected.domains,
        hypervisors_asked=collected.hypervisors_asked,
        ledger_faults=collected.ledger_faults,
    )


def _with_ports(status: SourceStatus, cloud: Cloud, collected: Collected) -> SourceStatus:
    """The status of a source. A Neutron that has lost all its ports counts as silent.

    SAFETY: an empty answer proves nothing. Acting on it would release the resources of every port.
    """
    asked = status.source == NEUTRON and status.answered and not collected.ports
    if not asked or cloud.neutron is None or not _ports_hold(collected.consumers):
        return status
    try:
        lost = not cloud.neutron.lists_any()
    except (Unreachable, AccessDenied) as silence:
        return _silent(NEUTRON, _API, silence)
    words = "it lists no port at all, and Placement has resources that ports hold"
    return replace(status, answered=False, reason=words) if lost else status


def _ports_hold(consumers: Mapping[str, Amounts]) -> bool:
    every = (held for amounts in consumers.values() for held in amounts.values())
    return any(name.startswith(PORT_CLASSES) for held in every for name in held)


def _not_read(collected: Collected) -> tuple[Unsupported, ...]:
    return (OWNERS_NOT_READ,) if collected.owners is None else ()


def _migrations(
    contents: Iterable[CellContents], consumers: Mapping[str, Amounts]
) -> tuple[Migration, ...]:
    """Each migration once; a deleted migration only if it has allocations.

    A migration may be read twice: by its uuid, and with its instance.
    """
    every = dict.fromkeys(chain.from_iterable(reply.migrations for reply in contents))
    return tuple(row for row in every if not row.deleted or row.uuid in consumers)


def ports_of(
    cloud: Cloud, progress: Progress, devices: Iterable[str] | None = None
) -> tuple[tuple[Port, ...], tuple[SourceStatus, ...]]:
    """The ports and Neutron's status; both are empty if the cloud offers no Neutron."""
    if cloud.neutron is None or not cloud.neutron.offered():
        return (), ()
    try:
        ports = cloud.neutron.ports(lambda seen: progress("ports", seen, 0), devices)
    except (Unreachable, AccessDenied) as silence:
        return (), (_silent(NEUTRON, _API, silence),)
    return ports, (_answered(NEUTRON, _API, len(ports), NOTHING_NOTED),)


class HypervisorReplies:
    """The replies of a cloud's hypervisors so far. Each hypervisor is asked at most once."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._replies: dict[str, HostDomains] = {}

    def ask(self, nodes: Iterable[ComputeNode]) -> None:
        """Ask for the domains on the hosts of these nodes, if those have any."""
        if self._cloud.hypervisors is not None:
            there = {row.host for row in nodes if not row.deleted and row.is_of_libvirt}
            hosts = there - self._replies.keys()
            replies = self._cloud.hypervisors.domains(sorted(hosts))
            self._replies |= {reply.host: reply for reply in replies}

    @property
    def asked(self) -> frozenset[str]:
        """The hosts whose hypervisors were asked."""
        return frozenset(self._replies)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(chain.from_iterable(row.domains for _, row in sorted(self._replies.items())))

    @property
    def guests_of_nova(self) -> frozenset[str]:
        """The uuids of the domains that Nova made."""
        return frozenset(domain.uuid for domain in self.domains if domain.ours)

    def statuses(self) -> tuple[SourceStatus, ...]:
        """The status of libvirt, for the coverage; empty if no hypervisors are configured."""
        if self._cloud.hypervisors is None:
            return ()
        return (replace(status_of(self._replies.values()), answered_at=now()),)


def _silent(source: str, read_via: str, silence: Unreachable | AccessDenied) -> SourceStatus:
    return SourceStatus(
        source, answered=False, reason=silence.reason, read_via=read_via, answered_at=now()
    )


def _answered(source: str, read_via: str, rows: int, noted: Noted) -> SourceStatus:
    return SourceStatus(
        source=source,
        answered=True,
        rows=rows,
        read_via=read_via,
        answered_at=now(),
        unread=noted.unread,
        unread_rows=noted.unread_rows,
        lost_rows=noted.lost_rows,
        unsupported=noted.unsupported,
    )
