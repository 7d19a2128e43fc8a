# SPDX-License-Identifier: Apache-2.0
"""Guards: each is read again right before a write. A broken guard says why it does not hold."""

from collections.abc import Iterator, Sequence

from trueup.reconcile import changes
from trueup.reconcile.clock import now, oldest_age
from trueup.reconcile.facts import ComputeService, InstanceState
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.nova.contract import InstanceFilter, NovaCell
from trueup.reconcile.sources.placement.contract import SHARING_TRAIT
from trueup.reconcile.steps import (
    AgentsDown,
    AggregatesOfHost,
    CellFresh,
    DomainIs,
    Guard,
    HostEmpty,
    MigrationState,
    NodeGone,
    NodeIs,
    NoInstance,
    NotShared,
    PlaceGuard,
    ServiceDown,
    ServiceSetting,
    Step,
    VersionIs,
    parts_of,
)

_OF_INSTANCE = ("host", "node", "vm_state", "task_state", "updated_at")


def broken(guard: Guard, cloud: Cloud) -> Iterator[Reason]:
    """Why a guard does not hold. Raises Unreachable and AccessDenied."""
    match guard:
        case InstanceState():
            yield from _instance(guard, cloud)
        case NoInstance(uuid):
            yield from _no_instance(uuid, cloud)
        case MigrationState():
            yield from _migration(guard, cloud)
        case VersionIs(target, version):
            found = changes.read(target, cloud).version
            if found != version:
                yield because("target-written", target=" ".join(parts_of(target)))
        case ServiceDown():
            yield from _service(guard, cloud)
        case CellFresh():
            yield from _cell(guard, cloud)
        case DomainIs():
            yield from _domain(guard, cloud)
        case _:
            yield from _of_place(guard, cloud)


def _of_place(guard: PlaceGuard, cloud: Cloud) -> Iterator[Reason]:
    match guard:
        case ServiceSetting():
            yield from _setting(guard, cloud)
        case AggregatesOfHost(host, aggregates):
            yield from _aggregates(host, aggregates, cloud)
        case NotShared(aggregates):
            yield from _sharing(aggregates, cloud)
        case NodeIs():
            yield from _node(guard, cloud)
        case NodeGone():
            yield from _node_gone(guard, cloud)
        case HostEmpty(host):
            yield from _host_empty(host, cloud)
        case AgentsDown(host):
            yield from _agents(host, cloud)


def unbroken(steps: Sequence[Step], cloud: Cloud) -> tuple[Step, ...]:
    """The steps whose guards all hold. Raises Unreachable and AccessDenied.

    PERF: the instances of a cell are read in one query. The age of a cell and each compute node,
    which many steps may share, are read once.
    """
    guards = [guard for step in steps for guard in step.guards]
    instances = [guard for guard in guards if isinstance(guard, InstanceState)]
    states = {
        cell: cloud.nova.instance_states(
            cell, [instance.uuid for instance in instances if instance.cell == cell]
        )
        for cell in {instance.cell for instance in instances}
    }
    shared = {
        guard: not any(broken(guard, cloud))
        for guard in {guard for guard in guards if isinstance(guard, CellFresh | NodeIs)}
    }

    def holds(guard: Guard) -> bool:
        match guard:
            case InstanceState(cell, uuid):
                return not any(_differences(guard, states[cell].get(uuid)))
            case CellFresh() | NodeIs():
                return shared[guard]
        return not any(broken(guard, cloud))

    return tuple(step for step in steps if all(map(holds, step.guards)))


def _instance(guard: InstanceState, cloud: Cloud) -> Iterator[Reason]:
    found = cloud.nova.instance_states(guard.cell, [guard.uuid])
    yield from _differences(guard, found.get(guard.uuid))


def _differences(guard: InstanceState, found: InstanceState | None) -> Iterator[Reason]:
    if found is None:
        yield because("instance-gone", instance=guard.uuid)
        return
    if guard.cell != found.cell:
        if found.cell:
            yield because("cell-has-it-too", cell=found.cell, planned=guard.cell)
        else:
            yield because("mapping-without-cell", planned=guard.cell)
    for name in _OF_INSTANCE:
        was, is_now = getattr(guard, name), getattr(found, name)
        compared = name != "updated_at" or guard.updated_at is not None
        if compared and was != is_now:
            words = name.replace("_", " ")
            yield because("instance-changed", what=words, was=_text(was), found=_text(is_now))
    if guard.deleted != found.deleted:
        yield because("instance-deleted" if found.deleted else "instance-back")
    if guard.moving != found.moving:
        yield because("migration-began" if found.moving else "migration-ended")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _no_instance(uuid: str, cloud: Cloud) -> Iterator[Reason]:
    cells = cloud.nova.cells()
    for cell in cells:
        found = cloud.nova.lookup(cell, [uuid])
        known = {row.uuid for row in found.instances} | {row.uuid for row in found.migrations}
        if uuid in known:
            yield because("cell-has-instance", cell=cell.name, instance=uuid)
        if found.noted.lost_rows:
            yield because("row-may-be-of-instance", cell=cell.name, instance=uuid)
    builds = cloud.nova.registry(cells, [uuid]).build_requests
    if any(row.instance == uuid for row in builds):
        yield because("build-request")


def _migration(guard: MigrationState, cloud: Cloud) -> Iterator[Reason]:
    cell = _cell_of(guard.cell, cloud)
    rows = cloud.nova.lookup(cell, [], moves_of=[guard.instance]).migrations if cell else ()
    found = [row.status for row in rows if row.uuid == guard.migration]
    if not found:
        yield because("migration-gone", migration=guard.migration)
    elif found[0] != guard.status:
        yield because("migration-status", was=guard.status, found=found[0])


def _service(guard: ServiceDown, cloud: Cloud) -> Iterator[Reason]:
    services = [row for row in _services(guard.cell, guard.host, cloud) if not row.deleted]
    if any(row.is_up(now()) for row in services):
        yield because("nova-compute-up", host=guard.host)
    elif not services and _has_node(guard, cloud):
        # SAFETY: its row may have been deleted by hand, and it may be up.
        yield because("node-without-service-up", host=guard.host)


def _has_node(guard: ServiceDown, cloud: Cloud) -> bool:
    cell, host = _cell_of(guard.cell, cloud), guard.host.casefold()
    nodes = cloud.nova.hosts(cell).compute_nodes if cell else ()
    return any(not row.deleted and row.host.casefold() == host for row in nodes)


def _cell(guard: CellFresh, cloud: Cloud) -> Iterator[Reason]:
    cell = _cell_of(guard.cell, cloud)
    found = cloud.nova.service_reports(cell, "") if cell else None
    if found is None or found.heartbeat is None:
        yield because("never-reported")
        return
    half = guard.seconds / 2
    if found.ahead is not None and -found.ahead.total_seconds() > half:
        yield because("clock-ahead", ahead=round(-found.ahead.total_seconds()))
    age = oldest_age(found.heartbeat, now(), found.ahead).total_seconds()
    if age > guard.seconds:
        yield because("reports-old", age=round(age))


def _domain(guard: DomainIs, cloud: Cloud) -> Iterator[Reason]:
    if cloud.hypervisors is None:
        yield because("hypervisor-not-asked", host=guard.host)
        return
    [answer] = cloud.hypervisors.domains([guard.host])
    if answer.reason:
        yield because("hypervisor-unreachable", host=guard.host, error=answer.reason)
        return
    states = [row.state for row in answer.domains if row.uuid == guard.domain]
    found = states[0] if states else None
    if found != guard.state:
        yield because("domain-changed", host=guard.host, was=guard.state, found=found)


def _setting(guard: ServiceSetting, cloud: Cloud) -> Iterator[Reason]:
    services = _services(guard.cell, guard.host, cloud)
    words = {True: "disabled", False: "enabled"}
    if not services:
        yield because("service-gone", host=guard.host)
    elif any(row.disabled != guard.disabled for row in services):
        was, found = words[guard.disabled], words[not guard.disabled]
        yield because("service-changed", host=guard.host, was=was, found=found)


def _aggregates(host: str, aggregates: tuple[str, ...], cloud: Cloud) -> Iterator[Reason]:
    found = cloud.nova.registry(cloud.nova.cells(), ()).aggregates_of(host)
    if tuple(sorted(found)) != aggregates:
        yield because("host-aggregates-changed", host=host)


def _sharing(aggregates: tuple[str, ...], cloud: Cloud) -> Iterator[Reason]:
    query = f"member_of=in:{','.join(aggregates)}&required={SHARING_TRAIT}"
    found = cloud.placement.document(f"/resource_providers?{query}")
    for row in found["resource_providers"]:
        yield because("aggregate-shared", provider=row["name"])


def _node(guard: NodeIs, cloud: Cloud) -> Iterator[Reason]:
    cell = _cell_of(guard.cell, cloud)
    nodes = cloud.nova.compute_nodes(cell, guard.node) if cell else ()
    if not any(
        (row.uuid, row.host) == (guard.node, guard.host) for row in nodes if not row.deleted
    ):
        yield because("node-gone", node=guard.node, host=guard.host)


def _node_gone(guard: NodeGone, cloud: Cloud) -> Iterator[Reason]:
    for cell in cloud.nova.cells():
        nodes = cloud.nova.compute_nodes(cell, guard.node, guard.name)
        living = [row for row in nodes if not row.deleted]
        if any(row.uuid == guard.node or row.node == guard.name for row in living):
            yield because("node-back", cell=cell.name, node=guard.name or guard.node)
        here = bool(guard.host) and cell.uuid == guard.cell
        if here and any(not row.deleted for row in _services(cell.uuid, guard.host, cloud)):
            yield because("service-back", cell=cell.name, host=guard.host)


def _host_empty(host: str, cloud: Cloud) -> Iterator[Reason]:
    for cell in cloud.nova.cells():
        on_host = cloud.nova.instance_ids(cell, InstanceFilter(frozenset([host]))).living
        for uuid in sorted(on_host):
            yield because("instance-on-host", instance=uuid, host=host)
        for move in cloud.nova.moves_at(cell, host):
            if move.under_way:
                yield because(
                    "move-on-host",
                    kind=move.kind,
                    move=move.uuid,
                    instance=move.instance,
                    status=move.status,
                )


def _agents(host: str, cloud: Cloud) -> Iterator[Reason]:
    if cloud.neutron is None:
        yield because("neutron-not-configured", host=host)
        return
    for agent in cloud.neutron.agents(host):
        if agent.alive:
            yield because("agent-alive", kind=agent.kind, agent=agent.id, host=host)


def _services(cell: str, host: str, cloud: Cloud) -> tuple[ComputeService, ...]:
    known = _cell_of(cell, cloud)
    return cloud.nova.service_reports(known, host).services if known else ()


def _cell_of(uuid: str, cloud: Cloud) -> NovaCell | None:
    return next((cell for cell in cloud.nova.cells() if cell.uuid == uuid), None)
