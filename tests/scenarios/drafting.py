# SPDX-License-Identifier: Apache-2.0
"""Builds a small cloud part by part, as the facts that reading it would give."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.scenarios.attachments import Attachments
from tests.scenarios.names import aggregate_of, uuid_of
from trueup.reconcile.facts import (
    DOMAINS_OF,
    LIBVIRT,
    Allocations,
    BuildRequest,
    ComputeNode,
    ComputeService,
    Coverage,
    Domain,
    Facts,
    Flavor,
    Holding,
    HostAggregate,
    HostMapping,
    Instance,
    InstanceMapping,
    Inventory,
    LedgerFault,
    Migration,
    Owner,
    PciDevice,
    Provider,
    SourceStatus,
    Unsupported,
)

NOW = datetime(2026, 11, 21, 12, 0, 0)
OWNER = {"project": "a-project", "user": "a-user"}


@dataclass
class Draft:
    """Collects parts; `facts()` freezes them."""

    cells: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    providers: dict[str, Provider] = field(default_factory=dict)
    held: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    # The project and user of consumers that are of another owner than all others.
    owners: dict[str, dict[str, str]] = field(default_factory=dict)
    instances: list[Instance] = field(default_factory=list)
    migrations: list[Migration] = field(default_factory=list)
    nodes: list[ComputeNode] = field(default_factory=list)
    services: list[ComputeService] = field(default_factory=list)
    builds: dict[str, datetime | None] = field(default_factory=dict)
    # What the uuids of consumers and aggregates stand for.
    names: dict[str, str] = field(default_factory=dict)
    mappings: list[InstanceMapping] = field(default_factory=list)
    unmapped: set[str] = field(default_factory=set)
    # Where guests run, as the hypervisors say; None: they are not asked.
    guests: list[Domain] | None = None
    silent_hypervisors: list[str] = field(default_factory=list)
    # What libvirt keeps beside the definition of a domain, by host and uuid.
    kept_of_domains: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)
    reported: dict[str, datetime] = field(default_factory=dict)
    # The cell that each host is mapped to.
    host_cells: dict[str, str] = field(default_factory=dict)
    deleted_nodes: list[ComputeNode] = field(default_factory=list)
    host_aggregates: list[HostAggregate] = field(default_factory=list)
    pci_devices: list[PciDevice] = field(default_factory=list)
    ledger_faults: list[LedgerFault] = field(default_factory=list)
    writes: dict[str, datetime] = field(default_factory=dict)
    disabled_cells: set[str] = field(default_factory=set)
    attached: Attachments = field(default_factory=Attachments)

    def cell(self, name: str, silent: str = "", last_report: int | None = 0) -> None:
        """`last_report`: so many seconds ago a service of it reported; None: none ever did."""
        self.cells[uuid_of(name)] = name
        if last_report is not None:
            self.reported[uuid_of(name)] = NOW - timedelta(seconds=last_report)
        if silent:
            self.silent[name] = silent

    def mapping(self, name: str, cell: str, queued: bool = False) -> None:
        self.mappings.append(InstanceMapping(uuid_of(name), uuid_of(cell), "a-project", queued))

    def no_mapping(self, name: str) -> None:
        self.unmapped.add(uuid_of(name))

    def guest(
        self, name: str, host: str, state: str, devices: tuple[str, ...] = (), ours: bool = True,
        **kept: object,
    ) -> None:  # fmt: skip
        """`kept`: what libvirt keeps beside its definition."""
        self.guests = self.guests or []
        self.kept_of_domains[host, uuid_of(name)] = kept
        domain = Domain(uuid_of(name), host, name, state, ours=ours, host_devices=devices)
        self.guests.append(domain)

    def hypervisor(self, host: str, answers: bool) -> None:
        self.guests = self.guests or []
        if not answers:
            self.silent_hypervisors.append(host)

    def provider(
        self,
        name: str,
        amounts: dict[str, int],
        parent: str = "",
        sharing: bool = False,
        root: str = "",
        **fields: object,
    ) -> None:
        self.providers[uuid_of(name)] = Provider(
            uuid=uuid_of(name),
            name=name,
            generation=1,
            root=uuid_of(root or parent or name),
            inventories={kind: Inventory(total, 0, 1.0) for kind, total in amounts.items()},
            sharing=sharing,
            parent=uuid_of(parent) if parent else None,
            **fields,
        )

    def aggregate(self, word: str) -> str:
        """The uuid of the aggregate of this name."""
        uuid = aggregate_of(word)
        self.names[uuid] = word
        return uuid

    def set_inventories(self, name: str, **fields: Any) -> None:
        """These fields of each inventory of this provider."""
        row = self.providers[uuid_of(name)]
        inventories = {kind: replace(one, **fields) for kind, one in row.inventories.items()}
        self.providers[row.uuid] = replace(row, inventories=inventories)

    def host(
        self, name: str, cell: str, up: bool = False, node_uuid: str = "", seen: int | None = None
    ) -> None:
        """`seen`: its service reported so many seconds ago, and is forced down."""
        last_seen = NOW if up else NOW - timedelta(hours=1)
        if seen is not None:
            last_seen = NOW - timedelta(seconds=seen)
        number = len(self.nodes) + 1
        node = ComputeNode(node_uuid or uuid_of(name), uuid_of(cell), name, name, number)
        self.nodes.append(node)
        self.host_cells[name] = cell
        self.services.append(
            ComputeService(uuid_of(cell), name, forced_down=not up, last_seen=last_seen)
        )

    def belongs(self, name: str, compute: str) -> None:
        """The last compute node is one of several of this nova-compute."""
        self.nodes[-1] = replace(self.nodes[-1], host=compute)
        service = replace(self.services.pop(), host=compute)
        if service not in self.services:
            self.services.append(service)
        self.host_cells[compute] = self.host_cells.pop(name)

    def wrote(self, name: str, seconds: int) -> None:
        """Placement wrote an allocation of this provider so many seconds after our clock's time."""
        self.writes[uuid_of(name)] = NOW + timedelta(seconds=seconds)

    def forget(self, name: str, keep_service: bool = False) -> None:
        """The compute node of this name is deleted, and so is its service, unless that is kept."""
        [node] = [row for row in self.nodes if row.node == name]
        self.nodes.remove(node)
        gone = replace(node, deleted=True, updated_at=NOW - timedelta(days=1))
        self.deleted_nodes.append(gone)
        if not keep_service:
            self.services = [row for row in self.services if row.host != node.host]
            self.host_cells.pop(node.host, None)

    def rename(self, old: str, new: str, provider: str = "") -> None:
        """The host of this compute node has another node now, of another name.

        `provider` is the name of the new node's provider, if it has another name than the node.
        """
        self.forget(old, keep_service=True)
        [node] = [row for row in self.deleted_nodes if row.node == old]
        uuid = uuid_of(provider or new)
        self.nodes.append(replace(node, uuid=uuid, node=new, deleted=False))

    def device(self, host: str, address: str) -> None:
        """A PCI device of this host."""
        [node] = [row for row in self.nodes if row.host == host]
        self.pci_devices.append(
            PciDevice(node.cell, node.number, address, "10de", "20b0", "type-PCI", "available")
        )

    def server(self, name: str, cell: str, host: str | None, **details: object) -> None:
        fields: dict[str, object] = {
            "vm_state": "active",
            "task_state": None,
            "deleted": False,
            "hidden": False,
            # What is under way has just begun.
            "updated_at": NOW - timedelta(minutes=5 if details.get("task_state") else 1440),
        }
        self.instances.append(
            Instance(
                uuid=uuid_of(name),
                name=name,
                cell=uuid_of(cell),
                host=host,
                node=host,
                **(OWNER | fields | details),
            )
        )

    def move(
        self,
        name: str,
        kind: str,
        status: str,
        source: str,
        target: str | None = None,
        **fields: object,
    ) -> None:
        """`fields`: what its row has that does not follow from its instance and these names."""
        instance = next(row for row in self.instances if row.uuid == uuid_of(name))
        earlier = sum((row.instance, row.kind) == (instance.uuid, kind) for row in self.migrations)
        number = f"-{earlier + 1}" if earlier else ""
        if status == "finished":
            target = target or instance.host
        self.migrations.append(
            Migration(
                uuid=self.consumer(f"{kind}-of-{name}{number}"),
                instance=uuid_of(name),
                kind=kind,
                status=status,
                target_host=target,
                target_node=target,
                **({"cell": instance.cell, "source_host": source, "source_node": source} | fields),
            )
        )

    def holds(self, consumer: str, provider: str, amounts: dict[str, int]) -> None:
        self.held.setdefault(self.consumer(consumer), {})[uuid_of(provider)] = amounts

    def owned(self, consumer: str, fields: dict[str, str]) -> None:
        self.owners[self.consumer(consumer)] = OWNER | fields

    def consumer(self, name: str) -> str:
        """The uuid of a consumer; `web-without-dashes` is that of web, as 32 digits."""
        plain = name.removesuffix("-without-dashes")
        uuid = uuid_of(plain) if plain == name else uuid_of(plain).replace("-", "")
        self.names[uuid] = name
        return uuid

    def mapped_nowhere(self, name: str, age: int) -> None:
        """Nova mapped an instance to no cell, so many seconds ago."""
        self.names[uuid_of(name)] = name
        changed = NOW - timedelta(seconds=age)
        self.mappings.append(InstanceMapping(uuid_of(name), None, "a-project", False, changed))

    def facts(self) -> Facts:
        """The facts, with the holdings of every consumer and every instance."""
        answered = [
            SourceStatus(name, name not in self.silent, 1, self.silent.get(name, ""), "database")
            for name in self.cells.values()
        ]
        subjects = self.held.keys() | {row.uuid for row in (*self.instances, *self.migrations)}
        subjects |= {row.instance for row in self.mappings}
        heard = {uuid for uuid, name in self.cells.items() if name not in self.silent}
        lacking = tuple(
            Unsupported(DOMAINS_OF.format(host), "it is down") for host in self.silent_hypervisors
        )
        asked = () if self.guests is None else (SourceStatus(LIBVIRT, True, unsupported=lacking),)
        asked += (self.attached.status,) if self.attached.status else ()
        return Facts(
            taken_at=NOW,
            coverage=Coverage((SourceStatus("Placement", True), *answered, *asked)),
            cells=dict(self.cells),
            providers=dict(self.providers),
            consumers=dict(self.held),
            owners={uuid: Owner(**self._owner(uuid)) for uuid in self.held},
            instances=tuple(self.attached.of(row) for row in self.instances if row.cell in heard),
            migrations=tuple(row for row in self.migrations if row.cell in heard),
            compute_nodes=tuple(row for row in self.nodes if row.cell in heard),
            services=tuple(row for row in self.services if row.cell in heard),
            build_requests=tuple(
                BuildRequest(uuid, created_at=made) for uuid, made in sorted(self.builds.items())
            ),
            instance_mappings=tuple(self._mappings()),
            host_mappings=tuple(
                HostMapping(host, uuid_of(cell)) for host, cell in self.host_cells.items()
            ),
            deleted_compute_nodes=tuple(row for row in self.deleted_nodes if row.cell in heard),
            host_aggregates=tuple(self.host_aggregates),
            ledger_faults=tuple(self.ledger_faults),
            disabled_cells=frozenset(self.disabled_cells),
            heartbeats={cell: moment for cell, moment in self.reported.items() if cell in heard},
            ledger_writes=self.writes,
            domains=tuple(self.guests or ()),
            ports=tuple(self.attached.ports),
            pci_devices=tuple(
                row
                for row in (*self.pci_devices, *self.attached.on(self.nodes))
                if row.cell in heard
            ),
            chosen_providers=self.attached.chosen,
            holdings={
                uuid: holding_of(self.held.get(uuid), self._owner(uuid)) for uuid in subjects
            },
        )

    def _mappings(self) -> Iterator[InstanceMapping]:
        """Those that were named; others are mapped to the cell of their first living row."""
        yield from self.mappings
        cells: dict[str, str] = {}
        for row in sorted(self.instances, key=lambda row: bool(row.deleted)):
            cells.setdefault(row.uuid, row.cell)
        for uuid in sorted(cells.keys() - self.unmapped - {row.instance for row in self.mappings}):
            yield InstanceMapping(uuid, cells[uuid], "a-project", False)

    def _owner(self, uuid: str) -> dict[str, str]:
        return self.owners.get(uuid, OWNER)


def holding_of(
    amounts: dict[str, dict[str, int]] | None, owner: Mapping[str, str] = OWNER
) -> Holding:
    """The holding that Placement has for a consumer with these allocations."""
    if not amounts:
        return Holding(None, None)
    return Holding(Allocations(amounts=amounts, **owner), 1)


def flavor(amounts: dict[str, int], extra_specs: dict[str, str] | None = None) -> Flavor:
    """A flavor that requests these amounts."""
    return Flavor(
        name="a-flavor",
        vcpus=amounts["VCPU"],
        memory_mb=amounts["MEMORY_MB"],
        root_gb=amounts.get("DISK_GB", 0),
        ephemeral_gb=0,
        swap_mb=0,
        extra_specs=extra_specs or {},
    )
