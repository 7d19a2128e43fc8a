# SPDX-License-Identifier: Apache-2.0
"""An observation of the simulated cloud as Facts, equal to those that `collect` returns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from tests.simulator.observing import Observed
from tests.simulator.places import BANDWIDTH, CELLS, METAL_CLASS, SHARES
from tests.simulator.rows import (
    PROJECT,
    USER,
    AggregateRow,
    CellRows,
    FlavorRow,
    MappingRow,
    MigrationRow,
    NodeRow,
    PortRow,
    ProviderRow,
    ServerRow,
    ServiceRow,
    uuid_of,
)
from trueup.reconcile.facts import (
    DOMAINS_OF,
    LIBVIRT,
    NEUTRON,
    BuildRequest,
    ComputeNode,
    ComputeService,
    Coverage,
    Domain,
    Facts,
    Flavor,
    HostAggregate,
    HostMapping,
    Instance,
    InstanceMapping,
    Inventory,
    Migration,
    Owner,
    Port,
    PortRequestGroup,
    Provider,
    SourceStatus,
    Unsupported,
)

Cells = list[tuple[str, CellRows]]


def facts_of(seen: Observed) -> Facts:
    """The facts that `collect` returns when it reads the same."""
    cells: Cells = [(name, rows) for name, rows in seen.cells.items() if rows is not None]
    named: Cells = [(name, rows) for name, rows in seen.named.items() if rows is not None]
    return Facts(
        taken_at=seen.taken_at,
        coverage=_coverage(seen),
        cells={uuid_of(name): name for name in CELLS},
        providers={uuid: _provider(row, seen.providers) for uuid, row in seen.providers.items()},
        consumers={uuid: row.amounts for uuid, row in seen.ledger.items()},
        owners={uuid: Owner(row.project, row.user) for uuid, row in seen.ledger.items()},
        instances=tuple(_with_copies(row, seen) for row in _instances(cells, named)),
        migrations=tuple(_migrations(cells, named)),
        compute_nodes=tuple(row for row in _nodes(cells) if not row.deleted),
        deleted_compute_nodes=tuple(row for row in _nodes(cells) if row.deleted),
        services=tuple(
            service_of(row, name) for name, rows in cells for row in rows.services.values()
        ),
        heartbeats={
            uuid_of(name): max(row.last_seen for row in rows.services.values())
            for name, rows in cells
            if rows.services
        },
        build_requests=tuple(map(BuildRequest, sorted(seen.builds))),
        host_mappings=tuple(HostMapping(*pair) for pair in _mapped_hosts(seen)),
        host_aggregates=tuple(map(aggregate_of, seen.aggregates)),
        instance_mappings=tuple(mapping_of(row) for row in seen.mappings.values()),
        ports=tuple(_port(row) for row in seen.ports if row.server),
        domains=tuple(
            Domain(uuid, host, uuid, "running", ours=True)
            for uuid, host in sorted(seen.guests or ())
        ),
    )


def _with_copies(row: Instance, seen: Observed) -> Instance:
    """The instance with the ports that Nova's network cache has, and Neutron does not list."""
    hidden = [port for port in seen.hidden_ports if port.server == row.uuid]
    if not hidden:
        return row
    return replace(row, ports_hold=True, ports_holding=tuple(port.uuid for port in hidden))


def instance_of(row: ServerRow, cell: str) -> Instance:
    """A row of `instances`. The flavor of a deleted instance is not read."""
    alive = not row.deleted
    return Instance(
        uuid=row.uuid,
        name=row.name,
        cell=uuid_of(cell),
        project=PROJECT,
        user=USER,
        host=row.host,
        node=row.node or row.host,
        vm_state=row.vm_state,
        power_state=row.power_state,
        task_state=row.task_state,
        deleted=bool(row.deleted),
        hidden=row.hidden,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
        archived=row.archived,
        deleted_by_hand=row.deleted == 1,
        volume_backed=row.volume_backed and alive,
        flavor=_flavor(row.flavor) if alive else None,
        old_flavor=_flavor(row.old_flavor) if alive and row.old_flavor else None,
        new_flavor=_flavor(row.new_flavor) if alive and row.new_flavor else None,
    )


def mapping_of(row: MappingRow) -> InstanceMapping:
    """A row of `instance_mappings`. When it changed is read only before a cell is chosen."""
    cell = uuid_of(row.cell) if row.cell else None
    changed_at = None if row.cell else row.changed_at
    return InstanceMapping(row.server, cell, PROJECT, row.queued_for_delete, changed_at)


def service_of(row: ServiceRow, cell: str) -> ComputeService:
    """A row of `services`."""
    return ComputeService(
        uuid_of(cell),
        row.host,
        row.forced_down,
        row.last_seen,
        disabled=row.disabled,
        # The newest one of Nova 34: its nova-compute sets OWNER_NOVA.
        version=74,
    )


def _coverage(seen: Observed) -> Coverage:
    silent = {name for name, rows in seen.cells.items() if rows is None}
    silent |= {name for name, rows in seen.named.items() if rows is None}
    cells = (
        SourceStatus(name, name not in silent, 1, "it is down" if name in silent else "")
        for name in CELLS
    )
    silent_hosts = (DOMAINS_OF.format(host) for host in sorted(seen.silent_hypervisors))
    lacking = tuple(Unsupported(what, "it is off") for what in silent_hosts)
    asked = () if seen.guests is None else (SourceStatus(LIBVIRT, True, unsupported=lacking),)
    neutron = SourceStatus(NEUTRON, True, answered_at=seen.read_until)
    return Coverage((SourceStatus("Placement", True), *cells, neutron, *asked))


def _provider(row: ProviderRow, every: Mapping[str, ProviderRow]) -> Provider:
    roots = (other for other in every.values() if other.parent is None and other != row)
    near = (other.uuid for other in roots if other.aggregates & row.aggregates)
    sharing = SHARES in row.traits
    return Provider(
        uuid=row.uuid,
        name=row.name,
        generation=row.generation,
        root=row.parent or row.uuid,
        parent=row.parent,
        inventories={
            kind: Inventory(total, row.reserved, 1.0) for kind, total in row.totals.items()
        },
        sharing=sharing,
        shares_with=frozenset(near) if sharing else frozenset(),
        traits=row.traits,
        aggregates=row.aggregates,
    )


def _nodes(cells: Cells) -> Iterator[ComputeNode]:
    for name, rows in cells:
        for row in rows.nodes.values():
            yield node_of(row, name)


def node_of(row: NodeRow, cell: str) -> ComputeNode:
    """A row of `compute_nodes`."""
    kind = "ironic" if row.metal else "QEMU"
    return ComputeNode(row.uuid, uuid_of(cell), row.host, row.name, 0, kind, row.deleted)


def aggregate_of(row: AggregateRow) -> HostAggregate:
    """A host aggregate with its hosts and metadata."""
    return HostAggregate(row.uuid, row.name, tuple(sorted(row.hosts)), dict(row.metadata))


def _mapped_hosts(seen: Observed) -> Iterator[tuple[str, str]]:
    return ((host, uuid_of(cell)) for host, cell in seen.host_mappings.items())


def _instances(cells: Cells, named: Cells) -> Iterator[Instance]:
    for name, rows in cells:
        for row in rows.servers.values():
            if not row.deleted:
                yield instance_of(row, name)
    read = {(name, uuid) for name, rows in cells for uuid, row in rows.servers.items()
            if not row.deleted}  # fmt: skip
    for name, rows in named:
        for row in rows.servers.values():
            if (name, row.uuid) not in read:
                yield instance_of(row, name)


def _migrations(cells: Cells, named: Cells) -> Iterator[Migration]:
    for name, rows in cells:
        for row in rows.migrations.values():
            if not row.deleted and not row.archived:
                yield migration_of(row, name)
    for name, rows in named:
        for row in rows.migrations.values():
            if row.deleted or row.archived:
                yield migration_of(row, name)


def migration_of(row: MigrationRow, cell: str) -> Migration:
    """A row of `migrations`."""
    return Migration(
        uuid=row.uuid,
        cell=uuid_of(cell),
        instance=row.server,
        kind=row.kind,
        status=row.status,
        source_host=row.source,
        source_node=row.source,
        target_host=row.target,
        target_node=row.target,
        created_at=row.created_at,
        updated_at=row.updated_at,
        between_cells=row.between_cells,
        deleted=bool(row.deleted) or row.archived,
    )


def extra_specs_of(row: FlavorRow) -> dict[str, str]:
    """The extra specs of a flavor that asks for dedicated processors, or for bare metal."""
    if row.metal:
        none = {f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
        return {**none, f"resources:{METAL_CLASS}": "1"}
    return {"hw:cpu_policy": "dedicated"} if row.dedicated else {}


@cache
def _flavor(row: FlavorRow) -> Flavor:
    return Flavor(
        name=row.name,
        vcpus=row.vcpus,
        memory_mb=row.memory_mb,
        root_gb=row.root_gb,
        ephemeral_gb=row.ephemeral_gb,
        swap_mb=row.swap_mb,
        extra_specs=extra_specs_of(row),
    )


def profile_of(row: PortRow) -> dict[str, str]:
    """The binding profile of a port, in the format of a Neutron with one group for each port."""
    return {"allocation": row.provider} if row.provider else {}


def _port(row: PortRow) -> Port:
    group = PortRequestGroup(row.uuid, (), {BANDWIDTH: row.kilobits})
    return Port(
        id=row.uuid,
        device=row.server,
        device_owner="compute:nova",
        project=PROJECT,
        request_groups=(group,),
        allocation={row.uuid: row.provider} if row.provider else None,
        profile=profile_of(row),
        revision=row.revision,
    )
