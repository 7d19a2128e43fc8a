# SPDX-License-Identifier: Apache-2.0
"""Drift of hosts and providers: a table with one line for each kind, as in `drifts`.

All consumers keep holding what is right, so a plan that changes an allocation is wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.places import RACK, Host
from tests.simulator.rows import AggregateRow, NodeRow, ProviderRow, uuid_of


@dataclass(frozen=True, slots=True)
class HostDrift:
    """One kind of drift. `act` plants it; `names` are the right defect names for it."""

    names: tuple[str, ...]
    act: Callable[[Cloud, Host], None]
    # Whether it can be repaired with what is known; else an operator has to.
    repairable: bool = False


def _set_provider(cloud: Cloud, uuid: str, **columns: object) -> None:
    row = cloud.providers[uuid]
    cloud.providers[uuid] = replace(row, generation=row.generation + 1, **columns)


def _forget_host(cloud: Cloud, host: Host) -> None:
    """The compute service was deleted, and deleting its provider failed."""
    cell = cloud.cells[host.cell]
    del cell.services[host.name]
    cell.nodes[host.name] = replace(cell.nodes[host.name], deleted=True)
    del cloud.host_mappings[host.name]


def _missing_provider(cloud: Cloud, host: Host) -> None:
    for uuid in host.tree:
        del cloud.providers[uuid]


def _clash(cloud: Cloud, host: Host) -> None:
    """nova-compute lost its `compute_id`: its node has a new uuid, unknown to Placement."""
    nodes = cloud.cells[host.cell].nodes
    nodes[host.name] = replace(nodes[host.name], uuid=uuid_of(f"new node of {host.name}"))


def _two_names(cloud: Cloud, host: Host) -> None:
    """The same, and its node has a provider of another name beside that with the node's name.

    A claim that is lost may be given on either of the two, until they are merged.
    """
    near = (one for one in cloud.servers.values() if host in (one.host, one.source))
    there = [uuid for server in near for uuid in cloud.consumers_of(server)]
    if not cloud.drift.keys().isdisjoint(there):
        raise Impossible("something of its servers is wrong already")
    _clash(cloud, host)
    new = uuid_of(f"new node of {host.name}")
    old = cloud.providers[host.root]
    cloud.providers[new] = ProviderRow(new, f"{host.name}-second", old.totals, traits=old.traits,
                                       aggregates=old.aggregates)  # fmt: skip


def _renamed(cloud: Cloud, host: Host) -> None:
    """The host was renamed: it has a new node and a new provider; the old provider stays."""
    cell, name = cloud.cells[host.cell], f"{host.name}.example.org"
    cell.nodes[host.name] = replace(cell.nodes[host.name], deleted=True)
    new = uuid_of(name)
    cell.nodes[name] = NodeRow(new, host.name, name)
    old = cloud.providers[host.root]
    cloud.providers[new] = ProviderRow(new, name, old.totals, traits=old.traits,
                                       aggregates=old.aggregates)  # fmt: skip


def _child(cloud: Cloud, host: Host) -> None:
    """A PCI device was removed, and its provider stays."""
    uuid = uuid_of(f"device of {host.name}")
    cloud.providers[uuid] = ProviderRow(
        uuid,
        f"{host.name}_0000:81:00.0",
        {"CUSTOM_GPU": 1},
        host.root,
        frozenset({"OWNER_NOVA", "COMPUTE_MANAGED_PCI_DEVICE"}),
    )


def _disowned_device(cloud: Cloud, host: Host) -> None:
    """The provider of a PCI device lacks the trait OWNER_NOVA."""
    _child(cloud, host)
    traits = frozenset({"COMPUTE_MANAGED_PCI_DEVICE"})
    _set_provider(cloud, uuid_of(f"device of {host.name}"), traits=traits)


def _overcommitted(cloud: Cloud, host: Host) -> None:
    totals = {**cloud.providers[host.root].totals, "MEMORY_MB": 1}
    _set_provider(cloud, host.root, totals=totals)


def _without_inventory(cloud: Cloud, host: Host) -> None:
    totals = dict(cloud.providers[host.root].totals)
    del totals["MEMORY_MB"]
    _set_provider(cloud, host.root, totals=totals)


def _disabled(cloud: Cloud, host: Host) -> None:
    """The service is disabled, and the provider lacks COMPUTE_STATUS_DISABLED."""
    services = cloud.cells[host.cell].services
    services[host.name] = replace(services[host.name], disabled=True)


def _disabled_while_down(cloud: Cloud, host: Host) -> None:
    """The same while its nova-compute is down, so that nobody corrects the trait."""
    _disabled(cloud, host)
    cloud.stopped.add(host.name)


def _enabled_while_down(cloud: Cloud, host: Host) -> None:
    """The service was enabled again while its nova-compute is down."""
    traits = cloud.providers[host.root].traits | {"COMPUTE_STATUS_DISABLED"}
    _set_provider(cloud, host.root, traits=traits)
    cloud.stopped.add(host.name)


def _disowned_while_down(cloud: Cloud, host: Host) -> None:
    _disowned(cloud, host)
    cloud.stopped.add(host.name)


def _stayed_in_aggregate(cloud: Cloud, host: Host) -> None:
    """The host left a host aggregate, and its provider is still in it."""
    row = cloud.providers[host.root]
    _set_provider(cloud, host.root, aggregates=row.aggregates | {RACK.uuid, FOREIGN})


def _forget_host_of_nova(cloud: Cloud, host: Host) -> None:
    """The same, and its children are known to be Nova's."""
    _forget_host(cloud, host)
    _set_provider(cloud, host.card, traits=frozenset({"OWNER_NOVA"}))


def _forget_used_host(cloud: Cloud, host: Host) -> None:
    """The same, and the allocation of a deleted instance is what Placement refused it for."""
    _forget_host_of_nova(cloud, host)
    old = next(one for one in cloud.servers.values() if one.name == "old")
    cloud.write(**{old.uuid: {host.root: {"VCPU": 1, "MEMORY_MB": 512}}})


def _disowned(cloud: Cloud, host: Host) -> None:
    traits = cloud.providers[host.root].traits - {"OWNER_NOVA"}
    _set_provider(cloud, host.root, traits=traits)


def _left_aggregate(cloud: Cloud, host: Host) -> None:
    """The host is in a host aggregate, and its provider is not in that aggregate."""
    rack = cloud.aggregates[RACK.uuid]
    cloud.aggregates[RACK.uuid] = replace(rack, hosts=rack.hosts | {host.name})


def _ratio_of_aggregate(cloud: Cloud, host: Host) -> None:
    """An operator gave the host a ratio in an aggregate, as the old filters of Nova read it."""
    fast = AggregateRow(
        uuid_of("fast"), "fast", frozenset({host.name}), (("cpu_allocation_ratio", "16.0"),)
    )
    cloud.aggregates[fast.uuid] = fast
    row = cloud.providers[host.root]
    _set_provider(cloud, host.root, aggregates=row.aggregates | {fast.uuid})


def _unmapped(cloud: Cloud, host: Host) -> None:
    del cloud.host_mappings[host.name]


def _service_renamed(cloud: Cloud, host: Host) -> None:
    """`host` became the FQDN: service and compute node have another name, instances the old one."""
    cell, name = cloud.cells[host.cell], f"{host.name}.example.org"
    cell.services[name] = replace(cell.services[host.name], host=name)
    cell.nodes[host.name] = replace(cell.nodes[host.name], host=name)
    cloud.host_mappings[name] = host.cell
    cloud.stopped.add(host.name)


def _both_renamed(cloud: Cloud, host: Host) -> None:
    """The same, and its node is new, with a provider of its own: one machine under two names."""
    cell, name = cloud.cells[host.cell], f"{host.name}.example.org"
    cell.services[name] = replace(cell.services[host.name], host=name)
    cell.nodes[name] = NodeRow(uuid_of(name), name, name)
    old = cloud.providers[host.root]
    cloud.providers[uuid_of(name)] = ProviderRow(uuid_of(name), name, old.totals, traits=old.traits)
    cloud.host_mappings[name] = host.cell
    cloud.stopped.add(host.name)


def _capitals(cloud: Cloud, host: Host) -> None:
    """The service got its name in other letters."""
    services = cloud.cells[host.cell].services
    services[host.name.upper()] = replace(services.pop(host.name), host=host.name.upper())


def _twin(cloud: Cloud, host: Host) -> None:
    """A host of the other cell has the same name; Nova's API knows one of them."""
    cell = cloud.cells["cell2" if host.cell == "cell1" else "cell1"]
    cell.services[host.name] = cloud.cells[host.cell].services[host.name]
    uuid = uuid_of(f"twin of {host.name}")
    cell.nodes[host.name] = NodeRow(uuid, host.name, host.name)
    old = cloud.providers[host.root]
    cloud.providers[uuid] = ProviderRow(uuid, f"twin-{host.name}", old.totals, traits=old.traits)


def _lost_nodes(cloud: Cloud, host: Host) -> None:
    """The table of compute nodes has lost its rows in one cell."""
    cloud.cells[host.cell].nodes.clear()


def _lost_mappings(cloud: Cloud, host: Host) -> None:
    cloud.host_mappings.clear()


def _lost_aggregates(cloud: Cloud, host: Host) -> None:
    cloud.aggregates = {u: replace(row, hosts=frozenset()) for u, row in cloud.aggregates.items()}


def _lost_instance_mappings(cloud: Cloud, host: Host) -> None:
    cloud.mappings.clear()


def _lost_services(cloud: Cloud, host: Host) -> None:
    cloud.cells[host.cell].services.clear()


# After these, an operator has to look; no plan may touch a claim that is right.
NAMES_AND_PARTS: dict[str, Callable[[Cloud, Host], None]] = {
    "service-renamed": _service_renamed,
    "both-renamed": _both_renamed,
    "capitals": _capitals,
    "twin": _twin,
    "lost-nodes": _lost_nodes,
    "lost-mappings": _lost_mappings,
    "lost-aggregates": _lost_aggregates,
    "lost-instance-mappings": _lost_instance_mappings,
    "lost-services": _lost_services,
}

# An aggregate that Nova does not have.
FOREIGN = uuid_of("of another service")
# These are planted on a host with a server, the others on a host without one.
IN_USE = frozenset({"overcommitted", "without-inventory"})
HOST_DRIFTS: dict[str, HostDrift] = {
    "forgotten": HostDrift(("orphaned-provider",), _forget_host),
    "missing": HostDrift(("missing-provider",), _missing_provider),
    "clash": HostDrift(("provider-identity-clash",), _clash),
    "two-names": HostDrift(("provider-identity-clash",), _two_names),
    "renamed": HostDrift(("duplicate-provider", "orphaned-provider"), _renamed),
    "child": HostDrift(("child-without-owner",), _child),
    "overcommitted": HostDrift(("overcommitted-inventory",), _overcommitted),
    "without-inventory": HostDrift(("allocation-without-inventory",), _without_inventory),
    "disabled": HostDrift(("status-trait-drift",), _disabled),
    "disowned": HostDrift(("owner-trait-missing",), _disowned),
    "disowned-device": HostDrift(("owner-trait-missing",), _disowned_device),
    "left-aggregate": HostDrift(("aggregate-drift",), _left_aggregate, repairable=True),
    "stayed-in-aggregate": HostDrift(("aggregate-drift",), _stayed_in_aggregate, repairable=True),
    "ratio-of-aggregate": HostDrift(("allocation-ratio-differs",), _ratio_of_aggregate),
    "disabled-while-down": HostDrift(("status-trait-drift",), _disabled_while_down, True),
    "enabled-while-down": HostDrift(("status-trait-drift",), _enabled_while_down, True),
    "disowned-while-down": HostDrift(("owner-trait-missing",), _disowned_while_down, True),
    "forgotten-in-use": HostDrift(
        ("orphaned-provider", "orphaned-allocation"), _forget_used_host, repairable=True
    ),
    "forgotten-with-children": HostDrift(("orphaned-provider",), _forget_host_of_nova, True),
    "unmapped": HostDrift(("host-mapping-missing",), _unmapped),
}
