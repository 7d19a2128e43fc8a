# SPDX-License-Identifier: Apache-2.0
"""What a reader saw of the simulated cloud, as the Facts that a collect gives."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from tests.simulator.observing import Observed
from tests.simulator.places import BANDWIDTH, CELLS, HOSTS, POOL
from tests.simulator.rows import (
    PROJECT,
    USER,
    CellRows,
    FlavorRow,
    MigrationRow,
    PortRow,
    ServerRow,
    uuid_of,
)
from trueup.reconcile.facts import (
    NEUTRON,
    BuildRequest,
    ComputeNode,
    ComputeService,
    Coverage,
    Domain,
    Facts,
    Flavor,
    HostMapping,
    Instance,
    InstanceMapping,
    Inventory,
    Migration,
    Port,
    PortRequestGroup,
    Provider,
    SourceStatus,
)

_HUGE = 1_000_000
Cells = list[tuple[str, CellRows]]


def facts_of(seen: Observed) -> Facts:
    """The facts of a collect that read what was seen."""
    cells: Cells = [(name, rows) for name, rows in seen.cells.items() if rows is not None]
    named: Cells = [(name, rows) for name, rows in seen.named.items() if rows is not None]
    return Facts(
        taken_at=seen.taken_at,
        coverage=_coverage(seen),
        cells={uuid_of(name): name for name in CELLS},
        providers=_providers(seen),
        consumers={uuid: row.amounts for uuid, row in seen.ledger.items()},
        instances=tuple(_instances(cells, named)),
        migrations=tuple(
            _migration(row, name) for name, rows in cells for row in rows.migrations.values()
        ),
        compute_nodes=tuple(
            ComputeNode(HOSTS[host].root, uuid_of(name), host, host)
            for name, rows in cells
            for host in rows.services
        ),
        services=tuple(
            ComputeService(uuid_of(name), host, row.forced_down, row.last_seen)
            for name, rows in cells
            for host, row in rows.services.items()
        ),
        build_requests=tuple(map(BuildRequest, sorted(seen.builds))),
        host_mappings=tuple(HostMapping(one.name, uuid_of(one.cell)) for one in HOSTS.values()),
        instance_mappings=tuple(
            InstanceMapping(
                row.server, uuid_of(row.cell) if row.cell else None, PROJECT, row.queued_for_delete
            )
            for row in seen.mappings.values()
        ),
        ports=tuple(_port(row) for row in seen.ports if row.server),
        domains=tuple(
            Domain(uuid, host, uuid, "running", ours=True)
            for uuid, host in sorted(seen.guests or ())
        ),
    )


def instance_of(row: ServerRow, cell: str) -> Instance:
    """A row of `instances`; what a deleted one was asked to be is not read."""
    alive = not row.deleted
    return Instance(
        uuid=row.uuid,
        name=row.name,
        cell=uuid_of(cell),
        project=PROJECT,
        user=USER,
        host=row.host,
        node=row.host,
        vm_state=row.vm_state,
        task_state=row.task_state,
        deleted=bool(row.deleted),
        hidden=row.hidden,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
        archived=row.archived,
        volume_backed=row.volume_backed and alive,
        flavor=_flavor(row.flavor) if alive else None,
        old_flavor=_flavor(row.old_flavor) if alive and row.old_flavor else None,
        new_flavor=_flavor(row.new_flavor) if alive and row.new_flavor else None,
    )


def _coverage(seen: Observed) -> Coverage:
    silent = {name for name, rows in seen.cells.items() if rows is None}
    silent |= {name for name, rows in seen.named.items() if rows is None}
    cells = (
        SourceStatus(name, name not in silent, 1, "it is down" if name in silent else "")
        for name in CELLS
    )
    return Coverage((SourceStatus("Placement", True), *cells, SourceStatus(NEUTRON, True)))


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider, by uuid."""
    return {row.uuid: row for row in _all_providers()}


def _providers(seen: Observed) -> dict[str, Provider]:
    generations = seen.provider_generations
    return {
        uuid: replace(row, generation=generations.get(uuid, 1)) for uuid, row in providers().items()
    }


def _all_providers() -> Iterator[Provider]:
    for host in HOSTS.values():
        classes = ["VCPU", "MEMORY_MB", *(["PCPU"] if host.cell == "cell1" else [])]
        classes += [] if host.pool else ["DISK_GB"]
        yield _provider(host.root, host.name, host.root, tuple(classes))
        yield _provider(host.card, f"{host.name}-card", host.root, (BANDWIDTH,))
    yield _provider(POOL, "pool", POOL, ("DISK_GB",))


def _provider(uuid: str, name: str, root: str, classes: tuple[str, ...]) -> Provider:
    shared = frozenset(one.root for one in HOSTS.values() if one.pool) if uuid == POOL else None
    return Provider(
        uuid=uuid,
        name=name,
        generation=1,
        root=root,
        parent=None if uuid == root else root,
        inventories={kind: Inventory(_HUGE, 0, 1.0) for kind in classes},
        sharing=shared is not None,
        shares_with=shared or frozenset(),
    )


def _instances(cells: Cells, named: Cells) -> Iterator[Instance]:
    for name, rows in cells:
        for row in rows.servers.values():
            if not row.deleted:
                yield instance_of(row, name)
    for name, rows in named:
        for row in rows.servers.values():
            yield instance_of(row, name)


def _migration(row: MigrationRow, cell: str) -> Migration:
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
    )


@cache
def _flavor(row: FlavorRow) -> Flavor:
    return Flavor(
        name=row.name,
        vcpus=row.vcpus,
        memory_mb=row.memory_mb,
        root_gb=row.root_gb,
        ephemeral_gb=row.ephemeral_gb,
        swap_mb=row.swap_mb,
        extra_specs={"hw:cpu_policy": "dedicated"} if row.dedicated else {},
    )


def _port(row: PortRow) -> Port:
    group = PortRequestGroup(row.uuid, (), {BANDWIDTH: row.kilobits})
    return Port(
        id=row.uuid,
        device=row.server,
        device_owner="compute:nova",
        project=PROJECT,
        request_groups=(group,),
        allocation={row.uuid: row.provider} if row.provider else None,
    )
