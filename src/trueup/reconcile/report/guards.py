# SPDX-License-Identifier: Apache-2.0
"""Guards in words: the sentence that must still be true when a step is written."""

from collections.abc import Iterator, Mapping

from trueup.reconcile.facts import InstanceState
from trueup.reconcile.steps import (
    AgentsDown,
    AggregatesOf,
    AggregatesOfHost,
    AllocationsOf,
    CellFresh,
    DomainDefinition,
    DomainIs,
    Guard,
    HostEmpty,
    InventoriesOf,
    MigrationState,
    NodeGone,
    NodeIs,
    NoInstance,
    NotShared,
    PlaceGuard,
    PortBinding,
    ProviderNode,
    ServiceDown,
    ServiceRecord,
    ServiceSetting,
    Target,
    TraitsOf,
    Tree,
    VersionIs,
    WholeProvider,
    parts_of,
)

_TARGETS: dict[type, str] = {
    AllocationsOf: "the allocations of",
    ProviderNode: "provider",
    InventoriesOf: "the inventories of provider",
    TraitsOf: "the traits of provider",
    AggregatesOf: "the aggregates of provider",
    Tree: "the inventories and allocations of",
    PortBinding: "the binding of port",
    ServiceRecord: "the record of the compute service of",
    DomainDefinition: "the definition of domain",
    WholeProvider: "the whole of provider",
}


def guard_in_words(guard: Guard, names: Mapping[str, str]) -> str:
    """`instance 9a1d… is on host h1, active, without a task, not deleted, not moving`."""
    match guard:
        case InstanceState():
            return f"instance {guard.uuid} is {', '.join(_instance(guard))}"
        case NoInstance(uuid):
            return f"no cell has an instance or a migration {uuid}, and it has no build request"
        case MigrationState(_, instance, migration, status):
            return f"migration {migration} of instance {instance} has the status {status}"
        case VersionIs(target):
            return f"nobody has written {_target(target)} since the plan was made"
        case ServiceDown(_, host):
            return f"the nova-compute of {host} does not report, or is forced down"
        case CellFresh(cell, seconds):
            called = names.get(cell, cell)
            return f"some service of cell {called} has reported within the last {seconds} s"
        case DomainIs(host, domain, None):
            return f"the hypervisor of {host} has no domain {domain}"
        case DomainIs(host, domain, state):
            return f"the hypervisor of {host} has domain {domain}, and it is {state}"
    return _of_place(guard)


def _of_place(guard: PlaceGuard) -> str:
    match guard:
        case ServiceSetting(_, host, disabled):
            return f"the compute service of {host} is {'disabled' if disabled else 'enabled'}"
        case AggregatesOfHost(host, ()):
            return f"host {host} is in no host aggregate"
        case AggregatesOfHost(host, aggregates):
            return f"host {host} is in these host aggregates and no other: {' '.join(aggregates)}"
        case NotShared(aggregates):
            return f"no provider shares by one of these aggregates: {' '.join(aggregates)}"
        case NodeIs(_, host, node):
            return f"host {host} has compute node {node}"
        case NodeGone(node, name, _, host):
            namesake = f" or one named {name}" if name else ""
            service = f", and host {host} has no compute service" if host else ""
            return f"no cell has a compute node {node}{namesake}{service}"
        case HostEmpty(host):
            return f"no instance is on host {host}, and no migration is under way from or to it"
        case AgentsDown(host):
            return f"no network agent of host {host} is alive"


def _instance(guard: InstanceState) -> Iterator[str]:
    yield f"on host {guard.host}" if guard.host else "on no host"
    if guard.node and guard.node != guard.host:
        yield f"on compute node {guard.node}"
    if guard.vm_state:
        yield guard.vm_state
    yield f"in the task {guard.task_state}" if guard.task_state else "without a task"
    yield "deleted" if guard.deleted else "not deleted"
    yield "moving" if guard.moving else "not moving"
    if guard.updated_at:
        yield f"last updated at {guard.updated_at:%Y-%m-%d %H:%M:%S} UTC"


def _target(target: Target) -> str:
    return f"{_TARGETS[type(target)]} {' '.join(parts_of(target))}"
