# SPDX-License-Identifier: Apache-2.0
"""Guards: each is read again right before a write, and names what no longer holds."""

from collections.abc import Iterator, Sequence

from trueup.reconcile import changes
from trueup.reconcile.clock import now, oldest_age
from trueup.reconcile.facts import ComputeService, InstanceState
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


def broken(guard: Guard, cloud: Cloud) -> Iterator[str]:
    """Why a guard does not hold, in words. Raises Unreachable and AccessDenied."""
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
                yield f"{' '.join(parts_of(target))} was written since the plan was made"
        case ServiceDown():
            yield from _service(guard, cloud)
        case CellFresh():
            yield from _cell(guard, cloud)
        case DomainIs():
            yield from _domain(guard, cloud)
        case _:
            yield from _of_place(guard, cloud)


def _of_place(guard: PlaceGuard, cloud: Cloud) -> Iterator[str]:
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
    """The steps of which every guard holds. Raises Unreachable and AccessDenied.

    PERF: the instances of a cell are read in one query; the age of a cell and each compute node,
    which many steps may have in common, once.
    """
    guards = [guard for step in steps for guard in step.guards]
    instances = [guard for guard in guards if isinstance(guard, InstanceState)]
    states = {
        cell: cloud.nova.instance_states(cell, [one.uuid for one in instances if one.cell == cell])
        for cell in {one.cell for one in instances}
    }
    shared = {
        guard: not any(broken(guard, cloud))
        for guard in {one for one in guards if isinstance(one, CellFresh | NodeIs)}
    }

    def holds(guard: Guard) -> bool:
        match guard:
            case InstanceState(cell, uuid):
                return not any(_differences(guard, states[cell].get(uuid)))
            case CellFresh() | NodeIs():
                return shared[guard]
        return not any(broken(guard, cloud))

    return tuple(step for step in steps if all(map(holds, step.guards)))


def _instance(guard: InstanceState, cloud: Cloud) -> Iterator[str]:
    found = cloud.nova.instance_states(guard.cell, [guard.uuid])
    yield from _differences(guard, found.get(guard.uuid))


def _differences(guard: InstanceState, found: InstanceState | None) -> Iterator[str]:
    if found is None:
        yield f"instance {guard.uuid} is gone from its cell"
        return
    if guard.cell != found.cell:
        yield f"{_cell_words(found.cell)}, and the plan is for its row in cell {guard.cell}"
    for name in _OF_INSTANCE:
        was, is_now = getattr(guard, name), getattr(found, name)
        compared = name != "updated_at" or guard.updated_at is not None
        if compared and was != is_now:
            words = name.replace("_", " ")
            yield f"the instance's {words} was {was or 'none'}, it is {is_now or 'none'}"
    if guard.deleted != found.deleted:
        yield "the instance was deleted since" if found.deleted else "the instance is back"
    if guard.moving != found.moving:
        yield "a migration of the instance began" if found.moving else "its migration ended"


def _cell_words(cell: str) -> str:
    if not cell:
        return "the instance mapping names no cell"
    return f"cell {cell} has the instance too, or its instance mapping names that cell"


def _no_instance(uuid: str, cloud: Cloud) -> Iterator[str]:
    cells = cloud.nova.cells()
    for cell in cells:
        found = cloud.nova.lookup(cell, [uuid])
        known = {row.uuid for row in found.instances} | {row.uuid for row in found.migrations}
        if uuid in known:
            yield f"{cell.name} has an instance or a migration {uuid}"
        if found.noted.lost_rows:
            yield f"{cell.name} has a row that cannot be read, and may be of {uuid}"
    builds = cloud.nova.registry(cells, [uuid]).build_requests
    if any(row.instance == uuid for row in builds):
        yield "it has a build request"


def _migration(guard: MigrationState, cloud: Cloud) -> Iterator[str]:
    cell = _cell_of(guard.cell, cloud)
    rows = cloud.nova.lookup(cell, [], moves_of=[guard.instance]).migrations if cell else ()
    found = [row.status for row in rows if row.uuid == guard.migration]
    if not found:
        yield f"migration {guard.migration} is gone from its cell"
    elif found[0] != guard.status:
        yield f"the migration's status was {guard.status}, it is {found[0]}"


def _service(guard: ServiceDown, cloud: Cloud) -> Iterator[str]:
    services = [row for row in _services(guard.cell, guard.host, cloud) if not row.deleted]
    if any(row.is_up(now()) for row in services):
        yield f"the nova-compute of {guard.host} was down, it is up"
    elif not services and _has_node(guard, cloud):
        # SAFETY: its row may have been deleted by hand, and it may be up.
        yield f"{guard.host} has a compute node and no compute service: it may be up"


def _has_node(guard: ServiceDown, cloud: Cloud) -> bool:
    cell, host = _cell_of(guard.cell, cloud), guard.host.casefold()
    nodes = cloud.nova.hosts(cell).compute_nodes if cell else ()
    return any(not row.deleted and row.host.casefold() == host for row in nodes)


def _cell(guard: CellFresh, cloud: Cloud) -> Iterator[str]:
    cell = _cell_of(guard.cell, cloud)
    found = cloud.nova.service_reports(cell, "") if cell else None
    if found is None or found.heartbeat is None:
        yield "no service of the cell has ever reported"
        return
    half = guard.seconds / 2
    if found.ahead is not None and -found.ahead.total_seconds() > half:
        yield (
            f"our clock is {-found.ahead.total_seconds():.0f} s ahead of that of the cell's "
            "database: by it services look down that are up"
        )
    age = oldest_age(found.heartbeat, now(), found.ahead).total_seconds()
    if age > guard.seconds:
        yield (
            f"no service of the cell has reported for {age:.0f} s: its database may be a copy that "
            "lags behind"
        )


def _domain(guard: DomainIs, cloud: Cloud) -> Iterator[str]:
    if cloud.hypervisors is None:
        yield f"the hypervisor of {guard.host} is not asked; name it with --libvirt"
        return
    [answer] = cloud.hypervisors.domains([guard.host])
    if answer.reason:
        yield f"the hypervisor of {guard.host} does not answer: {answer.reason}"
        return
    states = [row.state for row in answer.domains if row.uuid == guard.domain]
    found = states[0] if states else None
    if found != guard.state:
        yield f"the domain on {guard.host} was {guard.state}, it is {found}"


def _setting(guard: ServiceSetting, cloud: Cloud) -> Iterator[str]:
    services = _services(guard.cell, guard.host, cloud)
    words = {True: "disabled", False: "enabled"}
    if not services:
        yield f"the compute service of {guard.host} is gone"
    elif any(row.disabled != guard.disabled for row in services):
        was, found = words[guard.disabled], words[not guard.disabled]
        yield f"the compute service of {guard.host} was {was}, it is {found}"


def _aggregates(host: str, aggregates: tuple[str, ...], cloud: Cloud) -> Iterator[str]:
    found = cloud.nova.registry(cloud.nova.cells(), ()).aggregates_of(host)
    if tuple(sorted(found)) != aggregates:
        yield f"the host aggregates of {host} are not what they were"


def _sharing(aggregates: tuple[str, ...], cloud: Cloud) -> Iterator[str]:
    query = f"member_of=in:{','.join(aggregates)}&required={SHARING_TRAIT}"
    found = cloud.placement.document(f"/resource_providers?{query}")
    for row in found["resource_providers"]:
        yield f"{row['name']} shares by an aggregate that the step leaves: what it shares is lost"


def _node(guard: NodeIs, cloud: Cloud) -> Iterator[str]:
    cell = _cell_of(guard.cell, cloud)
    nodes = cloud.nova.compute_nodes(cell, guard.node) if cell else ()
    if not any(
        (row.uuid, row.host) == (guard.node, guard.host) for row in nodes if not row.deleted
    ):
        yield f"compute node {guard.node} of {guard.host} is gone"


def _node_gone(guard: NodeGone, cloud: Cloud) -> Iterator[str]:
    for cell in cloud.nova.cells():
        nodes = cloud.nova.compute_nodes(cell, guard.node, guard.name)
        living = [row for row in nodes if not row.deleted]
        if any(row.uuid == guard.node or row.node == guard.name for row in living):
            yield f"{cell.name} has the compute node {guard.name or guard.node} again"
        here = bool(guard.host) and cell.uuid == guard.cell
        if here and any(not row.deleted for row in _services(cell.uuid, guard.host, cloud)):
            yield f"{cell.name} has a compute service of {guard.host} again"


def _host_empty(host: str, cloud: Cloud) -> Iterator[str]:
    for cell in cloud.nova.cells():
        on_host = cloud.nova.instance_ids(cell, InstanceFilter(frozenset([host]))).living
        yield from (f"instance {uuid} is on {host}" for uuid in sorted(on_host))
        for move in cloud.nova.moves_at(cell, host):
            if move.under_way:
                yield f"{move.kind} {move.uuid} of instance {move.instance} is {move.status}"


def _agents(host: str, cloud: Cloud) -> Iterator[str]:
    if cloud.neutron is None:
        yield f"Neutron is not asked, which knew that no network agent of {host} is alive"
        return
    for agent in cloud.neutron.agents(host):
        if agent.alive:
            yield f"{agent.kind} {agent.id} of {host} is alive"


def _services(cell: str, host: str, cloud: Cloud) -> tuple[ComputeService, ...]:
    known = _cell_of(cell, cloud)
    return cloud.nova.service_reports(known, host).services if known else ()


def _cell_of(uuid: str, cloud: Cloud) -> NovaCell | None:
    return next((cell for cell in cloud.nova.cells() if cell.uuid == uuid), None)
